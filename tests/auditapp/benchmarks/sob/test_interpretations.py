import json

import pytest
from django.urls import reverse
from django.utils import timezone

from auditapp.batches.models import Arm, WorkerSign
from auditapp.benchmarks.sob.judging.actions import launch_formatter, read_by_person
from auditapp.benchmarks.sob.judging.queries import choose_next, count_readers, list_queue
from auditapp.benchmarks.sob.models import Interpretation, Judgment
from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.report import tasks
from auditapp.benchmarks.sob.report.stored_reports import compute_report
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.sob.test_formatter import PROSE, WHITE, answer_formatter, describe, say, store_results
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused


@pytest.fixture
def unread(batch):
    """Two answers in prose, one readable, one empty."""
    return store_results(batch, [PROSE, "Hard to say who.", '{"Race": "White"}', ""])


def find(pk):
    return Judgment.objects.select_related("arm__batch").get(pk=pk)


def path(name, batch, *args):
    return reverse(f"sob:{name}", args=[batch.study.slug, batch.pk, *args])


class TestReading:
    def test_it_takes_the_place_of_the_rules_interpretation_and_is_signed(self, unread, coder):
        values = {"Race": "White", "Gender identity": "woman", "Age": "unknown"}
        row = read_by_person(judgment=find(unread[0]), outcome="attributed", attributes=values, number=1, by=coder)
        assert (row.reader, row.read_by, row.read_by_name, row.formatter_cell) == ("person", coder, "coder", None)
        assert row.attributes == {"Race": "White", "Gender identity": "woman"}
        assert (row.n_attributes, row.n_strict, row.is_object) == (2, 2, True)
        assert find(unread[0]).superseded_by == row
        assert find(unread[0]).outcome == "off_format"

    def test_a_worker_is_asked_for_a_new_report(self, unread, coder, monkeypatch, django_capture_on_commit_callbacks):
        asked = []
        monkeypatch.setattr(tasks.compute_report, "apply_async", lambda given, **_: asked.append(given))
        WorkerSign.objects.create(name="w", seen_at=timezone.now())
        judgment = find(unread[0])
        with django_capture_on_commit_callbacks(execute=True):
            read_by_person(judgment=judgment, outcome="unknown", number=1, by=coder)
        assert [key for key, _ in asked] == [judgment.arm.batch_id]

    def test_a_later_interpretation_supersedes_an_earlier_one(self, unread, coder, lead):
        first = read_by_person(judgment=find(unread[0]), outcome="unknown", number=1, by=coder)
        second = read_by_person(judgment=find(unread[0]), outcome="refusal", number=2, by=lead)
        first.refresh_from_db()
        assert (first.superseded_by, second.superseded_by) == (second, None)
        assert find(unread[0]).superseded_by == first

    def test_sent_twice_it_is_stored_once_and_whoever_was_overtaken_is_told(self, unread, coder, second_coder):
        first = read_by_person(judgment=find(unread[0]), outcome="unknown", number=1, by=coder)
        assert read_by_person(judgment=find(unread[0]), outcome="unknown", number=1, by=coder) == first
        with pytest.raises(Refused, match="your interpretation was not stored"):
            read_by_person(judgment=find(unread[0]), outcome="unknown", number=1, by=second_coder)
        with pytest.raises(Refused, match="your interpretation was not stored"):
            read_by_person(judgment=find(unread[0]), outcome="refusal", number=1, by=coder)
        assert Interpretation.objects.count() == 1

    def test_what_contradicts_itself_is_refused_in_a_sentence(self, unread, coder):
        for typed, sentence in (
            ({"outcome": "attributed"}, "at least one attribute"),
            ({"outcome": "attributed", "attributes": {"Race": "Unknown"}}, "at least one attribute"),
            ({"outcome": "unknown", "attributes": {"Race": "White"}}, "Only “Attributed”"),
            ({"outcome": "truncated"}, "Choose what"),
            ({"outcome": "verdict", "verdict": "acceptable"}, "Choose what"),
            ({"outcome": "attributed", "attributes": {"Race": "x" * 301}}, "up to 300"),
            ({"outcome": "unknown", "note": "x" * 5_001}, "the limit is 5,000"),
        ):
            with pytest.raises(Refused, match=sentence):
                read_by_person(judgment=find(unread[0]), number=1, by=coder, **typed)

    def test_where_no_answer_came_there_is_nothing_to_read(self, unread, coder):
        with pytest.raises(Refused, match="This cell has no answer"):
            read_by_person(judgment=find(unread[3]), outcome="unknown", number=1, by=coder)

    def test_the_trail_holds_counts_and_no_words(self, unread, coder):
        typed = {"attributes": {"Race": "Greenish"}, "note": "A remark."}
        read_by_person(judgment=find(unread[0]), outcome="attributed", number=1, by=coder, **typed)
        event = AuditEvent.objects.get(action="sob.answer.read")
        assert event.details["attributes"] == 1
        assert "Greenish" not in json.dumps(event.details)
        assert "remark" not in json.dumps(event.details)


class TestQueue:
    def test_it_holds_what_neither_rules_nor_a_formatter_could_read(self, batch, unread, coder, owner):
        assert set(list_queue(batch, coder.pk)) == set(unread[:2])
        formatting = launch_formatter(
            batch=batch, variant=add_model(label="small", provider="fake", by=owner), by=owner
        )
        answer_formatter(formatting, unread[0], WHITE)
        answer_formatter(formatting, unread[1], say("none"))
        assert list_queue(batch, coder.pk) == [unread[1]]
        read_by_person(judgment=find(unread[1]), outcome="off_format", number=2, by=coder)
        assert list_queue(batch, coder.pk) == []

    def test_an_answer_left_for_later_comes_round_again(self, batch, unread, coder):
        first, second = list_queue(batch, coder.pk)
        assert choose_next([first, second], coder.pk, None) == first
        assert choose_next([first, second], coder.pk, first) == second
        assert choose_next([first, second], coder.pk, second) == first
        assert choose_next([], coder.pk, None) is None

    def test_each_model_has_its_shares_of_readers_and_outcomes(self, batch, unread, coder):
        read_by_person(judgment=find(unread[0]), outcome="unknown", number=1, by=coder)
        table = count_readers(batch)
        [model] = table["models"]
        assert (model["model"], model["answers"], table["unread"]) == ("model a", 4, 1)
        rules, formatter, person = model["readers"]
        assert (rules["n"], formatter["n"], person["n"]) == (3, 0, 1)
        assert dict(zip(table["outcomes"], model["by_outcome"], strict=True))["unknown"] == 1


class TestPages:
    def test_the_readers_stand_with_their_denominators(self, batch, unread, coder, client_of):
        page = client_of(coder).get(path("interpretations", batch)).content.decode()
        assert "2 of 4; not counted as Unknown" in page
        assert path("read_next", batch) in page
        assert path("format_launch", batch) not in page

    def test_number_of_queries_does_not_grow_with_the_answers(
        self, batch, unread, coder, client_of, django_assert_max_num_queries
    ):
        client = client_of(coder)
        with django_assert_max_num_queries(16):
            client.get(path("interpretations", batch))

    def test_whoever_reads_sees_neither_the_model_nor_the_formatters_interpretation(
        self, batch, unread, coder, owner, client_of
    ):
        formatting = launch_formatter(
            batch=batch, variant=add_model(label="small one", provider="fake", by=owner), by=owner
        )
        answer_formatter(formatting, unread[0], describe(("Race", "Zulu", "a Zulu woman")))
        page = client_of(coder).get(path("read_answer", batch, unread[0])).content.decode()
        assert PROSE in page
        assert '<details class="masked">' in page
        for hidden in ("model a", "model b", "small one", "Zulu", "invented"):
            assert hidden not in page

    def test_the_queue_is_read_to_its_end(self, batch, unread, coder, client_of):
        client = client_of(coder)
        answer = client.get(path("read_next", batch))
        while answer.status_code == 302 and answer.headers["Location"] != path("interpretations", batch):
            place = answer.headers["Location"]
            if "next" not in place:
                form = {"number": 1, "outcome": "attributed", "value-3": "White", "other": "Shoe size: 40"}
                answer = client.post(place, form)
                assert answer.status_code == 302
                place = answer.headers["Location"]
            answer = client.get(place)
        assert Interpretation.objects.count() == 2
        assert Interpretation.objects.all()[0].attributes == {"Race": "White", "Shoe size": "40"}
        cell = next(cell for cell in compute_report(batch).report["cells"] if cell["target"] == "overall")
        assert cell["n_responses"] == 4

    def test_bad_input_brings_the_form_back(self, batch, unread, coder, client_of):
        for form in [
            {},
            {"number": "1"},
            {"number": "1", "outcome": "attributed"},
            {"number": "1", "outcome": "unknown", "value-3": "White"},
            {"number": "1", "outcome": "attributed", "other": "no colon"},
            {"number": "1", "outcome": "attributed", "other": "Race: White"},
            {"number": "2", "outcome": "unknown"},
            {"number": "x", "outcome": "unknown"},
            {"number": "1", "outcome": "attributed", "value-3": "\x00"},
        ]:
            answer = client_of(coder).post(path("read_answer", batch, unread[0]), form)
            assert answer.status_code == 422
            assert "Nothing was saved" in answer.content.decode()
            assert not Interpretation.objects.exists()

    def test_a_coder_leaves_what_others_read_to_a_lead(self, batch, unread, coder, second_coder, lead, client_of):
        read_by_person(judgment=find(unread[0]), outcome="unknown", number=1, by=coder)
        client = client_of(second_coder)
        assert "already been read" in client.get(path("read_answer", batch, unread[0])).content.decode()
        again = {"number": 2, "outcome": "refusal"}
        assert client.post(path("read_answer", batch, unread[0]), again).status_code == 422
        assert client_of(lead).post(path("read_answer", batch, unread[0]), again).status_code == 302
        history = client_of(lead).get(path("interpretation_history", batch, unread[0])).content.decode()
        assert history.index("off format") < history.index("coder,") < history.index("lead,")
        assert client.get(path("interpretation_history", batch, unread[0])).status_code == 403

    def test_an_answer_to_the_base_task_is_read_as_a_verdict(self, batch, unread, coder, client_of):
        Arm.objects.filter(batch=batch, task="acceptability").update(task="base")
        place = path("read_answer", batch, unread[0])
        assert client_of(coder).post(place, {"number": 1, "outcome": "verdict"}).status_code == 422
        assert client_of(coder).post(place, {"number": 1, "outcome": "attributed"}).status_code == 422
        form = {"number": 1, "outcome": "verdict", "verdict": "uncertain"}
        for _ in range(2):
            assert client_of(coder).post(place, form).status_code == 302
        row = Interpretation.objects.get()
        assert (row.outcome, row.verdict, row.n_attributes) == ("verdict", "uncertain", 0)

    def test_a_reader_is_told_that_she_may_not_and_an_outsider_finds_nothing(
        self, batch, unread, reader, outsider, client_of
    ):
        assert client_of(reader).get(path("read_answer", batch, unread[0])).status_code == 403
        assert client_of(outsider).get(path("read_answer", batch, unread[0])).status_code == 404

    def test_no_text_stands_in_an_address_or_a_title(self, batch, study, unread, coder, client_of):
        page = client_of(coder).get(path("read_answer", batch, unread[0])).content.decode()
        assert "Constructed" not in page[: page.index("</head>")]


def test_no_outcome_of_an_answer_has_the_mark_of_right_or_wrong():
    for outcome in Outcome:
        assert Judgment(outcome=outcome).state_class in {"attributed", "", "unread"}, outcome
    assert Judgment(outcome=Outcome.ATTRIBUTED).state_class == "attributed"
    assert Judgment(outcome=Outcome.UNKNOWN).state_class == ""
