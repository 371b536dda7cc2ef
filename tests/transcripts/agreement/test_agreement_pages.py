import csv
import io
import re

import lxml.html
import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.transcripts.agreement.cast import BALANCE, COMPASSION, settle, stage_dispute
from tests.transcripts.blinding.cast import find_form, unblind_on
from tests.transcripts.coding.cast import find_code, last_event, put
from tests.transcripts.rounds.cast import answers, open_round
from transcripts.agreement.label_tables import count_turns, count_uses
from transcripts.agreement.models import Adjudication
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.actions import unblind_interview
from transcripts.charts.figures import judge_reliability
from transcripts.coding.blind import BlindTable
from transcripts.coding.models import Memo, Unblinding
from transcripts.corpus.actions import import_file
from transcripts.rounds.actions import lock_round
from transcripts.studies.actions import set_method

AGREEMENT, DISAGREEMENTS, QUEUE = (
    "/studies/culture/agreement/",
    "/studies/culture/disagreements/",
    "/studies/culture/adjudication/",
)
THEMES = {"family": "themes"}
POOLED = {**THEMES, "model": "*"}


@pytest.fixture
def dispute(study, owner, lead, coder, second_coder):
    return stage_dispute(study, owner, coder, second_coder)


def be_codebook(dispute, by):
    set_method(study=dispute.study, family="themes", method="codebook", reason="x", by=by)


def unblind_all(client, page=AGREEMENT, query="family=themes"):
    assert unblind_on(client, f"{page}?{query}")["Location"] == f"{page}?{query}"


def bring_more(dispute, by):
    """One more interview, with a model of its own."""
    line = '{"id": "more", "model": "Model C", "turns": [{"role": "model", "text": "It depends. Ask first."}]}'
    import_file(study=dispute.study, name="more.jsonl", data=line.encode(), by=by)
    return dispute.study.interviews.get(external_id="more")


def text_of(client, path, **query):
    answer = client.get(path, query)
    assert answer.status_code == 200, path
    return answer.content.decode()


class TestOpening:
    def test_lead_sees_figures_only_after_saying_that_she_knows_what_follows(self, dispute, lead, client_of):
        be_codebook(dispute, lead)
        client = client_of(lead)
        before = text_of(client, AGREEMENT, **THEMES)
        assert "Others’ labels in 2 interviews are hidden from you" in before
        assert "PABAK" not in before
        here = f"{AGREEMENT}?family=themes"
        assert unblind_on(client, here, confirmed=False).status_code == 422
        assert not Unblinding.objects.exists()
        assert unblind_on(client, here)["Location"] == here
        assert "PABAK" in text_of(client, AGREEMENT, **THEMES)
        assert {each.where for each in Unblinding.objects.all()} == {"agreement"}

    def test_nothing_is_computed_or_taken_out_while_all_of_it_is_closed(self, dispute, lead, client_of):
        client = client_of(lead)
        computed = client.post(f"{AGREEMENT}compute/", {**THEMES, "reason": "A reviewer asks."})
        be_codebook(dispute, lead)
        taken_out = client.post(f"{AGREEMENT}download/", THEMES)
        for answer in (computed, taken_out):
            assert answer.status_code == 409
            page = answer.content.decode()
            assert "Unblind the interviews first" in page
        # Both answered a form; the way back is the page that shows the table.
        form = find_form(taken_out.content.decode())
        assert form is not None
        back = client.post(form["action"], {"token": form["token"], "confirmed": "on"})["Location"]
        assert back == f"{AGREEMENT}?family=themes"
        assert not AuditEvent.objects.filter(action__in=["agreement.computed", "agreement.exported"]).exists()

    def test_figures_are_of_the_interviews_one_has_opened(self, dispute, lead, client_of):
        be_codebook(dispute, lead)
        client = client_of(lead)
        unblind_on(client, f"{AGREEMENT}?family=themes&model=Model+A")
        page = text_of(client, AGREEMENT, **POOLED)
        assert "these figures cover the 1 interview that is unblinded for you, out of 2" in page
        assert "3 sentences</a> decided by two or more" in page

    def test_figures_of_one_model_offer_the_interviews_of_the_others_too(self, dispute, lead, client_of):
        be_codebook(dispute, lead)
        client = client_of(lead)
        unblind_on(client, f"{AGREEMENT}?family=themes&model=Model+A")
        assert find_form(text_of(client, AGREEMENT, family="themes")) is not None

    def test_the_part_of_the_overview_reads_the_codings_once(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        client = client_of(reader)
        with CaptureQueriesContext(connection) as queries:
            page = text_of(client, f"{AGREEMENT}so-far/")
        assert "3 disagreements</a> not adjudicated yet, out of 6 units" in page
        assert sum("FROM coding_decision" in query["sql"] for query in queries) == 1

    def test_figures_of_codes_applied_once_per_answer_say_that_they_compare_sentences(
        self, dispute, coder, second_coder, reader, client_of
    ):
        set_method(study=dispute.study, family="failure_modes", method="codebook", reason="x", by=reader)
        be_codebook(dispute, reader)
        warning = "agreement about the answers can be higher than these figures say"
        assert warning in text_of(client_of(reader), AGREEMENT, family="failure_modes")
        assert warning not in text_of(client_of(reader), AGREEMENT, **THEMES)

    def test_reader_has_nothing_to_open(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        assert "PABAK" in text_of(client_of(reader), AGREEMENT, **THEMES)
        assert find_form(text_of(client_of(reader), AGREEMENT, **THEMES)) is None

    def test_interview_that_nobody_or_one_coder_read_needs_no_opening(self, dispute, lead, coder, client_of):
        put(answers(bring_more(dispute, lead))[0], find_code(dispute.study, BALANCE), coder)
        unblind_all(client_of(lead), DISAGREEMENTS)
        assert set(Unblinding.objects.values_list("interview", flat=True)) == {talk.pk for talk in dispute.talks}


class TestTable:
    def test_the_chart_says_what_the_table_says_with_a_verdict(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        page = text_of(client_of(reader), AGREEMENT, **THEMES, model="Model A")
        assert 'data-table="codes-table"' in page
        assert '<details class="chart-table" id="codes-table">' in page
        table = page.partition('id="codes-table"')[2]
        [value] = set(re.findall(r'aria-label="Balance: (\d\.\d\d), few; few turns: 1, a verdict needs 10"', page))
        assert f'<td class="num">{value}</td>' in table
        assert f'href="{AGREEMENT}units/?family=themes&amp;model=Model+A&amp;code={BALANCE}"' in page

    def test_a_pair_has_the_mark_of_the_turns_that_it_shares(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        pairs = text_of(client_of(reader), AGREEMENT, **POOLED, code=BALANCE).partition('id="pairs-title"')[2]
        assert re.search(
            r'coder and second_coder<br><span class="mark"><span class="visually-hidden">Note: </span>few \(\d turns?\)',
            pairs,
        )
        assert "Few: fewer than 10 turns in which both decided. Nothing is concluded from it." in pairs

    def test_it_begins_with_one_model_and_pools_them_only_where_that_is_asked(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        client = client_of(reader)
        first = text_of(client, AGREEMENT, **THEMES)
        assert '<option value="Model A" selected>' in first
        assert "by code: Themes, Model A" in first
        assert "Pooled:" not in first
        assert "3 sentences</a> decided by two or more" in first
        together = text_of(client, AGREEMENT, **POOLED)
        assert "by code: Themes, 2 models together" in together
        told = " ".join(str(lxml.html.fromstring(together).xpath("string()")).split())
        assert "the figures combine 2 models: Model A (3 sentences), Model B (3 sentences)." in told
        answer = client.post(f"{AGREEMENT}download/", THEMES)
        assert {row["model"] for row in csv.DictReader(io.StringIO(answer.content.decode()))} == {"Model A"}

    def test_of_a_study_with_one_model_nothing_is_left_out(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        dispute.study.interviews.update(model_label="Model A")
        page = text_of(client_of(reader), AGREEMENT, **THEMES)
        assert "6 sentences</a> decided by two or more" in page
        assert "Pooled:" not in page

    def test_twelve_uses_in_three_turns_are_three_cases(self):
        """As in the demo: 12 uses by two people, of 7 sentences in 3 turns, with alpha .82 and an interval from -.01."""
        turns = np.array([1] * 3 + [2] * 2 + [3] * 2 + [*range(4, 12)])
        labels = np.zeros((1, 2, 15), dtype=bool)
        labels[0, 0, :6], labels[0, 1, 1:7] = True, True
        decided = np.ones((2, 15), dtype=bool)
        table = BlindTable("sentence", np.arange(15), np.arange(15), turns, turns, (1, 2), ("c",), decided, labels)
        assert (count_uses(table), count_turns(table)) == ({"c": 12}, {"c": 3})
        assert judge_reliability(0.82, -0.01, 3).words == "few turns: 3, a verdict needs 10"

    def test_counts_of_two_coders_link_to_their_sentences(self, dispute, lead, client_of):
        be_codebook(dispute, lead)
        client = client_of(lead)
        unblind_all(client)
        page = text_of(client, AGREEMENT, **POOLED)
        cells = dict(re.findall(rf'href="([^"]*code={BALANCE}[^"]*cell=(?:\w+))">(\d+)<', page))
        counts = {link.rpartition("=")[2]: int(count) for link, count in cells.items()}
        assert counts == {"both": 2, "only_a": 2, "only_b": 0, "neither": 2}
        for link, count in cells.items():
            units = client.get(link.replace("&amp;", "&")).content.decode()
            assert units.count("<article") == int(count), link

    def test_page_says_on_what_and_how_it_was_computed(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        page = text_of(client_of(reader), AGREEMENT, **POOLED, seed=7)
        for words in ("Labels: blind", "Unit: sentence", "seed 7", "1000 resamples", "nobody used the code"):
            assert words in page
        assert page.count("Few turns:") == 1
        assert "few (applied in 2 turns)" in page
        assert 'class="interval"' not in page, "two turns give none"

    def test_selection_narrows_what_is_compared(self, dispute, lead, coder, second_coder, reader, client_of):
        be_codebook(dispute, lead)
        open_round(dispute.study, lead, coder, second_coder, overlap_percent=100, models=["Model B"])
        client = client_of(reader)
        for query, units in (
            ({}, "3 sentences"),
            ({"model": "*"}, "6 sentences"),
            ({"model": "Model A"}, "3 sentences"),
            ({"round": "1"}, "3 sentences"),
            ({"model": "*", "coders": [coder.pk, second_coder.pk]}, "6 sentences"),
            ({"model": "*", "first_version": "1", "last_version": "1"}, "6 sentences"),
        ):
            assert f"{units}</a> decided by two or more" in text_of(client, AGREEMENT, **THEMES, **query), query
        assert "No sentence was decided by two coders here" in text_of(client, AGREEMENT, **THEMES, coders=[coder.pk])

    @pytest.mark.parametrize(
        "query",
        [{"family": "nothing"}, {"round": "9"}, {"model": "x"}, {"coders": ["0"]}, {"seed": "-1"}, {"seed": "x"}],
    )
    def test_wrong_selection_is_422_in_words(self, dispute, lead, reader, client_of, query):
        be_codebook(dispute, lead)
        for path in (AGREEMENT, f"{AGREEMENT}units/", DISAGREEMENTS, QUEUE):
            answer = client_of(reader).get(path, query)
            assert answer.status_code == 422, path
            assert "form-errors" in answer.content.decode()

    def test_file_holds_the_table_and_is_on_record(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        answer = client_of(reader).post(f"{AGREEMENT}download/", POOLED)
        rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
        [everybody] = [row for row in rows if row["scope"] == "all" and row["code_id"] == BALANCE]
        [pair] = [row for row in rows if row["scope"] == "pair" and row["code_id"] == BALANCE]
        assert {everybody["both"], everybody["neither"]} == {"2"}
        assert {pair["coder_a"], pair["coder_b"]} == {"coder", "second_coder"}
        assert float(pair["raw"]) == float(everybody["raw"]) == pytest.approx(4 / 6)
        assert pair["mark"] == everybody["mark"] == "few"
        event = last_event(dispute.study)
        assert event.action == "agreement.exported"
        basis = {
            "family": "themes",
            "blinding": "blind",
            "codebook_version": 1,
            "first_version": None,
            "last_version": None,
            "round": None,
            "model": None,
            "coders": ["coder", "second_coder"],
            "seed": event.details["seed"],
            "resamples": event.details["resamples"],
            "turns": event.details["turns"],
            "interviews": 2,
            "hidden_interviews": 0,
        }
        assert event.details == {"format": "csv", "rows": len(rows), "sha256": answer["X-Content-SHA256"], **basis}
        assert answer["Content-Disposition"].endswith('-agreement-themes.csv"')
        told = ["" if value is None else str(value).replace("'", '"').replace(", ", ",") for value in basis.values()]
        assert {tuple(row[name] for name in basis) for row in rows} == {tuple(told)}

    def test_files_of_one_name_rest_on_the_same(self, dispute, lead, reader, client_of):
        be_codebook(dispute, lead)
        names = []
        for asked in ({}, {"seed": "7"}, {"first_version": "1"}, {"first_version": "1", "seed": "7"}):
            answer = client_of(reader).post(f"{AGREEMENT}download/", {**POOLED, **asked})
            [row, *_] = csv.DictReader(io.StringIO(answer.content.decode()))
            assert (row["first_version"], row["seed"]) == (
                asked.get("first_version", ""),
                asked.get("seed", row["seed"]),
            )
            names.append(answer["Content-Disposition"])
        assert names[0] == names[1]
        assert len(set(names)) == 3
        assert "-agreement-themes-narrowed-" in names[2]

    def test_a_file_says_how_many_interviews_are_hidden_from_who_took_it(self, dispute, lead, client_of):
        be_codebook(dispute, lead)
        first = dispute.study.interviews.earliest("pk")
        unblind_interview(study=dispute.study, interview=first, by=lead, where="agreement")
        answer = client_of(lead).post(f"{AGREEMENT}download/", POOLED)
        [row, *_] = csv.DictReader(io.StringIO(answer.content.decode()))
        assert (row["interviews"], row["hidden_interviews"]) == ("1", "1")
        assert "-agreement-themes-narrowed-" in answer["Content-Disposition"]

    def test_coder_sees_no_figures(self, dispute, lead, coder, client_of):
        be_codebook(dispute, lead)
        for path in (AGREEMENT, f"{AGREEMENT}units/", QUEUE):
            assert client_of(coder).get(path, THEMES).status_code == 403


class TestReflexive:
    def test_no_figure_is_shown_and_none_can_be_downloaded(self, dispute, reader, client_of):
        page = text_of(client_of(reader), AGREEMENT, **THEMES)
        assert "deliberately reports no coefficient" in page
        assert "PABAK" not in page
        assert client_of(reader).post(f"{AGREEMENT}download/", THEMES).status_code == 422
        assert client_of(reader).post(f"{AGREEMENT}compute/", THEMES).status_code == 403

    def test_figures_are_shown_once_with_the_reason_that_is_kept(self, dispute, lead, client_of):
        client = client_of(lead)
        unblind_all(client, DISAGREEMENTS)
        events = AuditEvent.objects.filter(action="agreement.computed")
        assert client.post(f"{AGREEMENT}compute/", {**THEMES, "reason": " "}).status_code == 422
        assert client.post(f"{AGREEMENT}compute/", {**THEMES, "reason": "x" * 2_001}).status_code == 422
        assert not events.exists()
        page = client.post(f"{AGREEMENT}compute/", {**THEMES, "reason": "A reviewer asks."}).content.decode()
        assert "PABAK" in page
        assert "A reviewer asks." in page
        assert events.get().details == {"method": "reflexive", "reason": "A reviewer asks."}
        assert events.get().target == "family:themes"
        assert "PABAK" not in text_of(client, AGREEMENT, **THEMES)


class TestDisagreements:
    def test_both_readings_stand_side_by_side_with_question_notes_and_own_memo(self, dispute, reader, lead, client_of):
        page = text_of(client_of(reader), DISAGREEMENTS, **THEMES)
        assert page.count("<article") == 3
        assert "3 of 6 sentences that two or more coders decided" in page
        for words in ("Does background matter?", "Weighs in silence.", "coder", "second_coder", "none applies"):
            assert words in page
        assert "Adjudicate them" not in page
        assert "Write a memo on it" not in page
        client = client_of(lead)
        unblind_all(client, DISAGREEMENTS)
        page = text_of(client, DISAGREEMENTS, **THEMES)
        [first, *_] = re.findall(r'href="([^"]*)"[^>]*>Write a memo on it', page)
        assert first == f"/studies/culture/memos/new/?sentence={dispute.differing[0].pk}"
        assert client.get(first).status_code == 200

    def test_list_can_be_narrowed_to_a_code(self, dispute, reader, client_of):
        client = client_of(reader)
        assert text_of(client, DISAGREEMENTS, **THEMES, code=BALANCE).count("<article") == 2
        assert text_of(client, DISAGREEMENTS, **THEMES, code=COMPASSION).count("<article") == 2
        assert text_of(client, DISAGREEMENTS, **THEMES, code=BALANCE, model="Model A").count("<article") == 1

    def test_memos_of_others_are_absent(self, dispute, coder, reader, client_of):
        from uuid import uuid4

        from transcripts.coding.actions import write_memo

        write_memo(
            study=dispute.study,
            interview=dispute.talks[0],
            sentence=dispute.differing[0],
            text="For my eyes.",
            by=coder,
            idempotency_key=uuid4(),
        )
        assert Memo.objects.exists()
        assert "For my eyes." not in text_of(client_of(reader), DISAGREEMENTS, **THEMES)

    def test_coder_sees_nothing_before_the_lock_and_opens_after_it(self, dispute, lead, coder, second_coder, client_of):
        client = client_of(coder)
        round_ = open_round(dispute.study, lead, coder, second_coder, overlap_percent=100, models=["Model A"])
        page = text_of(client, DISAGREEMENTS, **THEMES)
        assert "Nothing can be unblinded yet" in page
        assert "second_coder" not in page.replace('value="', "")[: page.index("<main") - 1]
        assert find_form(page) is None
        assert not Unblinding.objects.exists()
        lock_round(round_=round_, by=lead)
        assert "Others’ labels in 1 interview are hidden from you" in text_of(client, DISAGREEMENTS, **THEMES)
        unblind_all(client, DISAGREEMENTS)
        assert Unblinding.objects.get().interview == dispute.talks[0]
        page = text_of(client, DISAGREEMENTS, **THEMES)
        assert page.count("<article") == 1
        assert "(you)" in page

    def test_coders_of_a_reliability_family_see_nothing_of_each_other_even_after_the_lock(
        self, dispute, lead, coder, second_coder, client_of
    ):
        set_method(study=dispute.study, family="themes", method="reliability", reason="x", by=lead)
        lock_round(round_=open_round(dispute.study, lead, coder, second_coder, overlap_percent=100), by=lead)
        client = client_of(coder)
        assert "coded for reliability" in text_of(client, DISAGREEMENTS, **THEMES)
        assert find_form(text_of(client, DISAGREEMENTS, **THEMES)) is None
        assert "<article" not in text_of(client, DISAGREEMENTS, **THEMES)

    def test_words_of_the_study_are_shown_as_text(self, dispute, lead, coder, reader, client_of):
        note = "<script>alert(1)</script>"
        put(
            dispute.differing[0],
            find_code(dispute.study, "theme.models_metamodels"),
            coder,
            level="latent",
            note=note,
        )
        page = text_of(client_of(reader), DISAGREEMENTS, **THEMES)
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page

    def test_list_costs_as_many_queries_for_one_as_for_many(
        self, dispute, reader, client_of, django_assert_num_queries
    ):
        client = client_of(reader)
        for query in ({"model": "Model A"}, {}):
            with django_assert_num_queries(26 if query else 25):
                text_of(client, DISAGREEMENTS, **THEMES, **query)


class TestQueue:
    @pytest.fixture
    def client(self, dispute, lead, client_of):
        """The lead, who has opened everything."""
        be_codebook(dispute, lead)
        client = client_of(lead)
        unblind_all(client, QUEUE)
        return client

    def form(self, client, **query):
        page = text_of(client, QUEUE, **THEMES, **query)
        part = page[page.index('id="verdict"') :]
        return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', part))

    def test_queue_goes_from_one_open_passage_to_the_next_and_counts(self, dispute, client, coder):
        assert "0 of 3 disagreements decided; 6 passages were compared" in text_of(client, QUEUE, **THEMES)
        choices = [
            {"outcome": str(coder.pk)},
            {"outcome": "neither", "codes": [COMPASSION]},
            {"outcome": "redefined"},
        ]
        at = []
        for number, choice in enumerate(choices):
            hidden = self.form(client, **({"at": at[0]} if at else {}))
            assert hidden["at"] == str(dispute.differing[number].pk)
            answer = client.post(f"{QUEUE}decide/", {**hidden, **choice, "reason": "So."})
            assert answer.status_code == 302
            at = re.findall(r'name="at" value="(\d+)"', text_of(client, answer["Location"]))
        page = text_of(client, QUEUE, **THEMES)
        assert "3 of 3 disagreements decided" in page
        assert "Every disagreement is decided." in page
        assert list(Adjudication.objects.order_by("pk").values_list("outcome", flat=True)) == [
            *("one", "neither", "redefined"),
        ]

    def test_names_of_the_readers_are_not_on_the_page(self, dispute, client):
        page = text_of(client, QUEUE, **THEMES)
        item = " ".join(page[page.index('id="item"') :].split())
        assert "Reading A holds" in item
        assert "second_coder" not in item

    @pytest.mark.parametrize(
        ("choice", "words"),
        [
            ({}, "This field is required"),
            ({"outcome": "both", "reason": ""}, "This field is required"),
            ({"outcome": "999999", "reason": "x"}, "Select a valid choice"),
            ({"outcome": "neither", "reason": "x", "codes": ["move.elicit"]}, "Select a valid choice"),
            ({"outcome": "neither", "reason": "x", "codes": [BALANCE]}, "Choose that reading"),
        ],
    )
    def test_wrong_entry_is_422_and_what_was_typed_stays(self, dispute, client, choice, words):
        hidden = self.form(client)
        answer = client.post(f"{QUEUE}decide/", {**hidden, **choice})
        assert answer.status_code == 422
        assert words in answer.content.decode()
        assert not Adjudication.objects.exists()

    def test_loser_of_a_race_sees_both_texts_and_can_decide_again(self, dispute, client, owner):
        hidden = self.form(client)
        settle(dispute, dispute.differing[0], owner, reason="The owner was quicker.")
        answer = client.post(f"{QUEUE}decide/", {**hidden, "outcome": "redefined", "reason": "My own words."})
        page = answer.content.decode()
        assert answer.status_code == 409
        assert "The owner was quicker." in page
        assert "My own words." in page
        assert Adjudication.objects.count() == 1
        part = page[page.index('id="verdict"') :]
        again = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', part))
        assert again["revision"] == "1"
        answer = client.post(f"{QUEUE}decide/", {**again, "outcome": "redefined", "reason": "My own words."})
        assert answer.status_code == 302
        assert Adjudication.objects.get(withdrawn_at__isnull=True).reason == "My own words."

    def test_page_sent_before_with_another_decision_is_shown_again_with_what_stands(self, dispute, client):
        hidden = self.form(client)
        assert client.post(f"{QUEUE}decide/", {**hidden, "outcome": "both", "reason": "First."}).status_code == 302
        answer = client.post(f"{QUEUE}decide/", {**hidden, "outcome": "redefined", "reason": "Second."})
        assert answer.status_code == 409
        page = answer.content.decode()
        again = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page[page.index('id="verdict"') :]))
        assert "First." in page
        answer = client.post(f"{QUEUE}decide/", {**again, "outcome": "redefined", "reason": "Second."})
        assert answer.status_code == 302
        assert Adjudication.objects.get(withdrawn_at__isnull=True).reason == "Second."

    def test_decision_reads_the_interview_of_its_passage_and_no_other(self, dispute, client, monkeypatch):
        from transcripts.agreement import label_tables
        from transcripts.coding.blind import read_blind

        hidden, asked = self.form(client), []

        def watch(study, **given):
            asked.append(given["interviews"])
            return read_blind(study, **given)

        monkeypatch.setattr(label_tables, "read_blind", watch)
        answer = client.post(f"{QUEUE}decide/", {**hidden, "outcome": "both", "reason": "So."})
        assert answer["Location"] == f"{QUEUE}?family=themes&after={hidden['at']}"
        assert asked == [[dispute.talks[0].pk]] * 2
        page = text_of(client, answer["Location"])
        assert "1 of 3 disagreements decided" in page
        assert f'name="at" value="{dispute.differing[1].pk}"' in page

    def test_passage_that_was_read_anew_is_open_again(self, dispute, client, owner, coder):
        settle(dispute, dispute.differing[0], owner)
        assert "1 of 3 disagreements" in text_of(client, QUEUE, **THEMES)
        put(dispute.differing[0], find_code(dispute.study, "theme.models_metamodels"), coder)
        page = text_of(client, QUEUE, **THEMES)
        assert "0 of 3 disagreements" in page
        assert "readings changed since the decision" in page

    def test_reader_reads_and_decides_nothing(self, dispute, client, reader, client_of):
        page = text_of(client_of(reader), QUEUE, **THEMES)
        assert "Reading A" in page
        assert 'id="verdict"' not in page
        assert client_of(reader).post(f"{QUEUE}decide/", THEMES).status_code == 403

    def test_what_is_not_differing_or_not_opened_cannot_be_decided(self, dispute, client, owner, client_of):
        hidden = self.form(client)
        sent = {**hidden, "outcome": "both", "reason": "x"}
        alike = client.post(f"{QUEUE}decide/", {**sent, "at": dispute.alike[0].pk})
        closed = client_of(owner).post(f"{QUEUE}decide/", sent)
        assert [alike.status_code, closed.status_code] == [409, 409]
        assert not Adjudication.objects.exists()

    def test_reflexive_family_has_no_queue(self, dispute, lead, client):
        page = text_of(client, QUEUE, family="moves")
        assert "all differing readings are kept" in page
        assert client.post(f"{QUEUE}decide/", {"family": "moves", "at": "1"}).status_code == 422
