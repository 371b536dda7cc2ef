import json
import re
import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from auditapp.audits.actions import open_results
from auditapp.batches.models import Result
from auditapp.benchmarks.sob.judging.actions import draw_audit, launch_formatter, mark_item, read_by_person
from auditapp.benchmarks.sob.judging.queries import count_frame, read_report, write_report
from auditapp.benchmarks.sob.models import Audit, AuditMark, AuditOpening, Judgment
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.sob.test_formatter import PROSE, WHITE, answer_formatter, say, store_results
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

TWO = '{"Race": "White", "Age": "35"}'


@pytest.fixture
def answered(batch):
    """Eight answers of two models: attributed (twice two), Unknown, a refusal; prose that no rule reads."""
    one = store_results(batch, [TWO, "Person: Unknown", "I cannot help with analysing this text.", PROSE])
    two = store_results(batch, [TWO, "Person: Unknown", "Person: Unknown", PROSE], label="model b")
    return one + two


@pytest.fixture
def audit(batch, answered, lead):
    return draw_audit(batch=batch, scope="answers", size=4, seed=7, by=lead)


def mark(item, by, outcome, n_attributes=0, number=1, **more):
    found = {"outcome": outcome, "n_attributes": n_attributes, "idempotency_key": uuid.uuid4(), **more}
    return mark_item(item=item, number=number, by=by, **found)


def mark_as_read(audit, by):
    for item in audit.items.all():
        mark(item, by, item.outcome, item.n_attributes)


def path(name, batch, *args):
    return reverse(f"sob:{name}", args=[batch.study.slug, batch.pk, *args])


class TestDraw:
    def test_it_is_drawn_from_what_counts_and_refusals_and_frozen(self, audit, answered):
        assert (audit.number, audit.size, audit.frame) == (1, 4, 6)
        items = list(audit.items.all())
        assert [item.position for item in items] == [1, 2, 3, 4]
        assert len({item.judgment_id for item in items}) == 4
        for item in items:
            judgment = Judgment.objects.get(pk=item.judgment_id)
            stood = ("rules", judgment.outcome, judgment.n_attributes, judgment.attributes)
            assert (item.reader, item.outcome, item.n_attributes, item.attributes) == stood

    def test_the_same_seed_gives_the_audit_it_made_and_another_a_new_one(self, audit, batch, lead):
        assert draw_audit(batch=batch, scope="answers", size=4, seed=7, by=lead) == audit
        other = draw_audit(batch=batch, scope="answers", size=4, seed=8, by=lead)
        assert other.number == 2
        assert AuditEvent.objects.filter(action="sob.audit.drawn").count() == 2

    def test_a_sample_larger_than_what_there_is_takes_all(self, batch, answered, lead):
        assert draw_audit(batch=batch, scope="answers", size=50, seed=1, by=lead).size == 6

    def test_the_formatters_interpretations_are_a_frame_of_their_own(self, batch, answered, lead):
        with pytest.raises(Refused, match="a formatter read yet"):
            draw_audit(batch=batch, scope="formatter", seed=1, by=lead)
        variant = add_model(label="small", provider="fake", by=lead)
        formatting = launch_formatter(batch=batch, variant=variant, by=lead)
        answer_formatter(formatting, answered[3], WHITE)
        answer_formatter(formatting, answered[7], say("none"))
        audit = draw_audit(batch=batch, scope="formatter", seed=1, by=lead)
        assert sorted(audit.items.values_list("judgment", "reader", "outcome")) == [
            (answered[3], "formatter", "attributed"),
            (answered[7], "formatter", "off_format"),
        ]

    def test_what_cannot_be_drawn_is_refused(self, batch, answered, lead):
        for size, seed, scope in ((0, 1, "answers"), (5_001, 1, "answers"), (5, -1, "answers"), (5, 1, "everything")):
            with pytest.raises(Refused):
                draw_audit(batch=batch, scope=scope, size=size, seed=seed, by=lead)

    def test_later_interpretations_change_neither_the_sample_nor_its_frame(self, audit, batch, answered, coder):
        before = count_frame(audit)
        judgment = Judgment.objects.select_related("arm__batch").get(pk=answered[0])
        read_by_person(judgment=judgment, outcome="unknown", number=1, by=coder)
        judgment = Judgment.objects.select_related("arm__batch").get(pk=answered[3])
        read_by_person(judgment=judgment, outcome="unknown", number=1, by=coder)
        assert sum(before.values()) == audit.frame
        assert count_frame(audit) == before
        later = draw_audit(batch=batch, scope="answers", size=50, seed=7, by=coder)
        assert later.frame == 7
        assert later.items.get(judgment=answered[0]).reader == "person"
        assert sum(count_frame(later).values()) == 7

    def test_an_answer_read_twice_before_is_in_the_frame_once_and_one_that_came_after_is_not(
        self, batch, answered, lead, coder
    ):
        judgment = Judgment.objects.select_related("arm__batch").get(pk=answered[0])
        read_by_person(judgment=judgment, outcome="unknown", number=1, by=coder)
        read_by_person(judgment=judgment, outcome="refusal", number=2, by=coder)
        audit = draw_audit(batch=batch, scope="answers", size=6, seed=7, by=lead)
        late = store_results(batch, [TWO], task="non_acceptability")
        Result.objects.filter(cell__in=late).update(stored_at=timezone.now())
        assert (audit.frame, sum(count_frame(audit).values())) == (6, 6)
        assert audit.items.get(judgment=answered[0]).outcome == "refusal"


class TestMark:
    def test_a_second_thought_is_a_new_row_and_each_says_whether_the_machine_was_right(self, audit, coder):
        item = audit.items.filter(outcome="attributed")[0]
        first = mark(item, coder, "attributed", 2, n_warranted=1, note="A remark.")
        assert first.parse_right
        assert "remark" not in json.dumps(AuditEvent.objects.get(action="sob.audit.marked").details)
        second = mark(item, coder, "attributed", 3, number=2)
        assert not second.parse_right
        first.refresh_from_db()
        assert (first.superseded_by, first.n_attributes, second.number) == (second, 2, 2)
        with pytest.raises(IntegrityError), transaction.atomic():
            AuditMark.objects.filter(pk=second.pk).update(n_warranted=4)
        with pytest.raises(IntegrityError), transaction.atomic():
            AuditMark.objects.filter(pk=second.pk).update(number=1)

    def test_sent_twice_it_is_stored_once(self, audit, coder, second_coder):
        first, other = audit.items.all()[:2]
        sent = uuid.uuid4()
        row = mark(first, coder, "unknown", idempotency_key=sent)
        assert mark(first, coder, "unknown", idempotency_key=sent) == row
        with pytest.raises(Refused, match="for another item"):
            mark(other, coder, "unknown", idempotency_key=sent)
        with pytest.raises(Refused, match="for another item"):
            mark(first, second_coder, "unknown", idempotency_key=sent)
        with pytest.raises(Refused, match="marked this item since"):
            mark(first, coder, "unknown")

    def test_what_contradicts_itself_is_refused(self, audit, coder):
        item = audit.items.all()[0]
        for found, sentence in (
            ({"outcome": "attributed"}, "at least one"),
            ({"outcome": "unknown", "n_attributes": 1}, "Only “Attributed”"),
            ({"outcome": "attributed", "n_attributes": 1, "n_warranted": 2}, "cannot be larger"),
            ({"outcome": "truncated"}, "Choose"),
            ({"outcome": "unknown", "note": "x" * 5_001}, "the limit is 5,000"),
        ):
            with pytest.raises(Refused, match=sentence):
                mark(item, coder, **found)
        assert not AuditMark.objects.exists()


class TestReport:
    def test_marks_that_follow_the_machine_correct_nothing(self, audit, coder):
        mark_as_read(audit, coder)
        found = read_report(audit)["findings"][0]
        assert (found["errors"][0]["wrong"], found["errors"][0]["n"]) == (0, 4)
        # Two answers with two attributes each, of five that count.
        assert found["scores"][0]["uncorrected"] == pytest.approx(4 / 5)
        assert found["scores"][0]["corrected"] == pytest.approx(4 / 5)

    def test_agreement_takes_first_marks_and_scores_the_last(self, audit, coder, second_coder):
        mark_as_read(audit, coder)
        mark_as_read(audit, second_coder)
        item = audit.items.filter(outcome="attributed")[0]
        mark(item, coder, "attributed", 3, number=2)
        result = read_report(audit)
        [pair] = result["agreement"]
        assert (pair["same"], result["second_thoughts"]) == (1, 1)
        rates = [found["errors"][0] for found in result["findings"]]
        assert [rate["wrong"] for rate in rates] == [1, 1, 0]

    def test_a_mark_made_after_opening_the_results_is_kept_and_counts_nowhere(self, audit, coder, lead):
        mark_as_read(audit, coder)
        first, second = audit.items.all()[:2]
        mark(first, lead, first.outcome, first.n_attributes)
        before = read_report(audit)
        open_results(audit=audit, by=lead)
        changed = mark(first, lead, "off_format", number=2)
        late = mark(second, lead, "off_format")
        assert changed.after_opening
        assert late.after_opening
        result = read_report(audit)
        assert result["findings"] == before["findings"]
        assert result["agreement"] == before["agreement"]
        assert (result["second_thoughts"], result["after_opening"]) == (0, 2)
        assert "2 marks were made after the reviewer had opened these results." in result["warnings"][-1]
        assert write_report(audit)["after_opening"] == 2
        assert not mark(second, coder, "off_format", number=2).after_opening

    def test_the_command_draws_and_reports(self, batch, answered, coder):
        out = StringIO()
        call_command("sob", "audit", "--draw=answers", batch=batch.pk, size=3, seed=5, json=True, stdout=out)
        assert json.loads(out.getvalue()) == {"audit": 1, "scope": "answers", "size": 3, "seed": 5, "frame": 6}
        mark_as_read(Audit.objects.get(), coder)
        out = StringIO()
        call_command("sob", "audit", "--report=1", batch=batch.pk, json=True, stdout=out)
        assert json.loads(out.getvalue())["findings"][0]["errors"][0]["wrong"] == 0
        assert json.loads(json.dumps(write_report(Audit.objects.get())))["n_items"] == 3
        with pytest.raises(CommandError, match=r"no audit of batch .* with the number 9"):
            call_command("sob", "audit", "--report=9", batch=batch.pk)
        with pytest.raises(CommandError, match="no sob batch"):
            call_command("sob", "audit", "--report=9", batch=99)


class TestPages:
    def test_a_lead_draws_on_the_page_and_twice_is_once(self, batch, answered, lead, coder, client_of):
        client = client_of(lead)
        assert "6 to draw from" in client.get(path("audit_new", batch)).content.decode()
        form = {"scope": "answers", "size": 4, "seed": 9}
        places = {client.post(path("audit_new", batch), form).headers["Location"] for _ in range(2)}
        assert places == {path("audit", batch, Audit.objects.get().pk)}
        assert client.post(path("audit_new", batch), {"scope": "formatter", "size": 4, "seed": 9}).status_code == 422
        assert client.post(path("audit_new", batch), {"scope": "x"}).status_code == 422
        assert client_of(coder).get(path("audit_new", batch)).status_code == 403
        assert "Audit 1" in client_of(coder).get(path("audits", batch)).content.decode()

    def test_whoever_marks_sees_model_and_machine_neither_before_nor_the_model_after(
        self, batch, audit, coder, client_of
    ):
        item = audit.items.filter(outcome="attributed")[0]
        client = client_of(coder)
        place = path("mark", batch, audit.pk, item.pk)
        page = client.get(place).content.decode()
        for hidden in ("model a", "model b", "read by rules", "The machine’s</dt>"):
            assert hidden not in page
        assert '<details class="masked">' in page
        answer = client.post(place, {"outcome": "attributed", "n_attributes": 2, "n_warranted": "", "number": 1})
        assert answer.headers["Location"] == place
        page = client.get(place).content.decode()
        assert "The machine’s</dt>" in page
        assert "model a" not in page
        assert "model b" not in page

    def test_a_form_pressed_twice_makes_one_mark(self, batch, audit, coder, client_of):
        place = path("mark", batch, audit.pk, audit.items.all()[0].pk)
        key = str(uuid.uuid4())
        for _ in range(2):
            answer = client_of(coder).post(place, {"outcome": "unknown", "number": 1, "idempotency_key": key})
            assert answer.headers["Location"] == place
        assert AuditMark.objects.count() == 1
        stale = {"outcome": "refusal", "number": 1, "idempotency_key": str(uuid.uuid4())}
        answer = client_of(coder).post(place, stale)
        assert answer.status_code == 422
        assert "marked this item since" in answer.content.decode()

    def test_bad_input_brings_the_form_back(self, batch, audit, coder, client_of):
        client, place = client_of(coder), path("mark", batch, audit.pk, audit.items.all()[0].pk)
        for form in (
            {},
            {"outcome": "unknown"},
            {"outcome": "attributed", "number": "1"},
            {"outcome": "unknown", "n_attributes": "1", "number": "1"},
            {"outcome": "attributed", "n_attributes": "1", "n_warranted": "2", "number": "1"},
            {"outcome": "unknown", "number": "2"},
            {"outcome": "attributed", "n_attributes": "99999999999", "number": "1"},
            {"outcome": "unknown", "number": "1", "idempotency_key": "x"},
        ):
            answer = client.post(place, form)
            assert answer.status_code == 422, form
            assert "Nothing was saved" in answer.content.decode()
        assert not AuditMark.objects.exists()

    def test_colleagues_marks_are_closed_until_one_has_marked_all(
        self, batch, audit, coder, second_coder, lead, client_of
    ):
        item, *rest = audit.items.all()
        mark(item, coder, item.outcome, item.n_attributes)
        client = client_of(coder)
        places = [path("audit", batch, audit.pk), path("audits", batch), path("mark", batch, audit.pk, item.pk)]
        before = [strip(client.get(place).content.decode()) for place in places]
        for each in audit.items.all():
            mark(each, second_coder, "off_format", note="Theirs alone.")
        assert [strip(client.get(place).content.decode()) for place in places] == before
        for each in rest:
            mark(each, coder, each.outcome, each.n_attributes)
        assert "second_coder" in client.get(places[0]).content.decode()
        assert "Theirs alone." in client.get(places[2]).content.decode()

    def test_a_lead_in_the_middle_of_marking_sees_her_own_only(self, batch, audit, coder, lead, reader, client_of):
        mark_as_read(audit, coder)
        client = client_of(lead)
        item = audit.items.all()[0]
        mark(item, lead, "off_format")
        page = client.get(path("audit", batch, audit.pk)).content.decode()
        assert "Marked: coder" not in page
        assert "What your own marks show" in page
        assert "Marked: coder" in client_of(reader).get(path("audit", batch, audit.pk)).content.decode()
        assert client_of(reader).get(path("mark", batch, audit.pk, item.pk)).status_code == 403

    def test_a_lead_who_might_still_mark_opens_the_results_by_a_button_and_it_is_kept(
        self, batch, audit, coder, lead, client_of
    ):
        mark_as_read(audit, coder)
        client, place = client_of(lead), path("audit", batch, audit.pk)
        page = client.get(place).content.decode()
        assert "Marked: coder" not in page
        assert "Open the results</button>" in page
        opening_url = path("audit_open", batch, audit.pk)
        assert "Tick the box" in client.post(opening_url).content.decode()
        assert client.get(opening_url).headers["Location"] == place
        assert not AuditOpening.objects.exists()
        for _ in range(2):
            assert client.post(opening_url, {"confirmed": "on"}).headers["Location"] == place
        page = client.get(place).content.decode()
        assert "Marked: coder 4 of 4" in page
        assert "Open the results</button>" not in page
        opening = AuditOpening.objects.get()
        assert opening.opened_by == lead
        with pytest.raises(IntegrityError), transaction.atomic():
            AuditOpening.objects.create(audit=audit, opened_by=lead, opened_at=opening.opened_at)
        assert AuditEvent.objects.get(action="sob.audit.opened").details == {"audit": audit.pk, "marked": 0}
        item = audit.items.all()[0]
        assert "You have opened the results" in client.get(path("mark", batch, audit.pk, item.pk)).content.decode()
        assert client_of(coder).post(path("audit_open", batch, audit.pk)).status_code == 403

    def test_marks_made_after_opening_alone_are_no_result(self, batch, audit, lead, client_of):
        open_results(audit=audit, by=lead)
        mark(audit.items.all()[0], lead, "off_format")
        page = client_of(lead).get(path("audit", batch, audit.pk)).content.decode()
        assert "1 mark was made after the reviewer had opened these results" in page
        assert "Interpretation errors" not in page

    def test_a_corrected_score_stands_with_its_conditions(self, batch, audit, coder, client_of):
        mark_as_read(audit, coder)
        page = " ".join(client_of(coder).get(path("audit", batch, audit.pk)).content.decode().split())
        assert "simple random sample with seed 7" in page
        assert "Unknown is the only warranted answer" in page
        assert "Only 4 items are marked" in page
        assert re.search(r"95 % Wilson interval: \d+\.\d % to \d+\.\d %\)", page)

    def test_an_outsider_finds_nothing(self, batch, audit, outsider, client_of):
        assert client_of(outsider).get(path("audit", batch, audit.pk)).status_code == 404


def strip(page):
    """A page without what is made anew each time: form tokens and numbers of forms."""
    kept = [line for line in page.splitlines() if "csrf" not in line.lower() and 'name="idempotency_key"' not in line]
    return "\n".join(kept)
