"""Audits of positives: what is drawn, how it is marked blind to the machine's reason, and who knew results."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from auditapp.annotators.models import TurnArm
from auditapp.audits.actions import open_results
from auditapp.evaluation.actions import draw_positive_audit, draw_sample, mark_positive
from auditapp.evaluation.models import PositiveAudit, PositiveMark, ResultsOpening
from auditapp.evaluation.queries.positives import Positive, read_report
from tests.auditapp.evaluation.cast import judge, list_sentences, open_to, suggest
from tests.auditapp.suggestions.cast import add_annotator, show_all, withhold_all
from tests.transcripts.blinding.cast import unblind_on
from tests.transcripts.coding.cast import find_code, put
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import Coding, Unblinding
from transcripts.refusals import Refused
from transcripts.studies.actions import set_member_role


@pytest.fixture
def annotator(study, interview):
    """Who put Balance on six sentences and Compassion on one; nothing is withheld."""
    annotator = add_annotator(study)
    show_all(study)
    sentences = list_sentences(interview)
    codes = {sentence: ["theme.balance"] for sentence in sentences[:6]}
    codes[sentences[0]] = ["theme.balance", "theme.compassion"]
    suggest(annotator, codes, rationale="A reason of its own.")
    return annotator


@pytest.fixture
def audit(annotator, owner):
    return draw_positive_audit(annotator=annotator, seed=7, per_code=4, by=owner)


def mark(item, by, verdict="applies", number=1, note=""):
    return mark_positive(item=item, verdict=verdict, number=number, note=note, by=by, idempotency_key=uuid.uuid4())


def add_to_study(study, interview):
    """Another lead, to whom the interview is open."""
    person = User.objects.create_user(username="second_lead", password=None)
    set_member_role(study=study, user=person, role="lead", by=trail.SYSTEM)
    open_to(study, interview, person)
    return person


def frame(**sizes):
    rows = [(code, each) for code, size in sizes.items() for each in range(size)]
    return [Positive(number, each, 1, 1, code) for number, (code, each) in enumerate(rows, start=1)]


class TestDrawing:
    def test_each_code_has_so_many_or_all_and_its_population_is_kept(self, audit):
        drawn = audit.items.values_list("suggestion__code__identifier", "population")
        assert sorted(drawn) == [("theme.balance", 6)] * 4 + [("theme.compassion", 1)]
        assert sorted(audit.items.values_list("position", flat=True)) == [1, 2, 3, 4, 5]

    def test_the_same_seed_gives_the_same_sample_and_a_further_code_moves_no_others(self):
        first = draw_sample(frame(x=200, y=200), per_code=60, seed=3)
        assert first == draw_sample(frame(x=200, y=200), per_code=60, seed=3)
        assert first != draw_sample(frame(x=200, y=200), per_code=60, seed=4)
        of_x = {each for each, _ in first if each.code == "x"}
        alone = {each for each, _ in draw_sample(frame(x=200), per_code=60, seed=3)}
        assert of_x == alone
        assert len(of_x) == 60

    def test_items_are_shuffled_over_the_codes(self):
        codes = [each.code for each, _ in draw_sample(frame(x=50, y=50), per_code=50, seed=1)]
        assert codes not in (sorted(codes), sorted(codes, reverse=True))

    def test_withheld_turns_are_never_in_it(self, annotator, interview, owner):
        draw_positive_audit(annotator=annotator, seed=1, by=owner)
        turn = TurnArm.objects.order_by("turn").first()
        assert turn is not None
        TurnArm.objects.filter(pk=turn.pk).update(arm="withheld")
        audit = draw_positive_audit(annotator=annotator, seed=1, by=owner)
        assert audit.items.exists()
        assert not audit.items.filter(suggestion__sentence__turn=turn.pk).exists()
        TurnArm.objects.update(arm="withheld")
        with pytest.raises(Refused, match="nothing to draw from"):
            draw_positive_audit(annotator=annotator, seed=1, by=owner)

    def test_turns_that_nobody_drew_an_arm_for_are_drawn_first(self, study, interview, owner):
        annotator = add_annotator(study)
        suggest(annotator, {list_sentences(interview)[0]: ["theme.balance"]})
        withhold_all(study)
        TurnArm.objects.all().delete()
        draw_positive_audit(annotator=annotator, seed=1, by=owner)
        assert TurnArm.objects.count() == 2

    def test_what_a_critic_reversed_can_be_left_out(self, annotator, owner):
        reversed_one = annotator.suggestions.filter(code__identifier="theme.balance").order_by("pk")[0]
        judge(annotator, {reversed_one: "reverse"})
        audit = draw_positive_audit(annotator=annotator, seed=1, with_critic=True, by=owner)
        assert not audit.items.filter(suggestion=reversed_one).exists()
        assert audit.items.filter(suggestion__code__identifier="theme.balance", population=5).count() == 5

    def test_impossible_numbers_are_refused(self, annotator, owner):
        for per_code, seed in ((0, 1), (1_001, 1), (60, -1), (60, 2**31)):
            with pytest.raises(Refused, match=r"between 1 and 1,000|from 0 to"):
                draw_positive_audit(annotator=annotator, seed=seed, per_code=per_code, by=owner)


class TestMarking:
    def test_people_who_code_mark_only_where_they_have_unblinded(self, audit, study, interview, lead):
        item = audit.items.all()[0]
        with pytest.raises(Refused, match="Unblind this interview first"):
            mark(item, lead)
        open_to(study, interview, lead)
        with pytest.raises(Refused, match="Choose whether"):
            mark(item, lead, "perhaps")
        assert mark(item, lead, note="Words about it.").verdict == "applies"
        assert not Coding.objects.exists()
        event = AuditEvent.objects.get(action="evaluation.audit.marked")
        assert event.details == {"audit": audit.pk, "item": item.pk, "number": 1}
        coding = put(item.suggestion.sentence, find_code(study, "theme.compassion"), lead, reason="Saw it.")
        assert coding.blinding == "assisted"

    def test_a_mark_may_be_corrected_again_and_again_and_the_first_stays(self, audit, study, interview, lead):
        open_to(study, interview, lead)
        item = audit.items.all()[0]
        verdicts = ["applies", "unclear", "applies", "does_not"]
        marks = [mark(item, lead, verdict, number=number) for number, verdict in enumerate(verdicts, start=1)]
        stored = dict(PositiveMark.objects.filter(item=item).values_list("pk", "superseded_by"))
        assert [stored[each.pk] for each in marks] == [marks[1].pk, marks[2].pk, marks[3].pk, None]
        mark(item, add_to_study(study, interview), "applies")
        report = read_report(audit)
        assert [pair["same"] for pair in report["agreement"]] == [1]
        assert report["second_thoughts"] == 3
        alone = [found["rates"] for found in report["findings"] if found["reviewer"] == "lead"]
        assert sum(rate["does_not"] for rate in alone[0]) == 1


class TestPages:
    def path(self, name, study, *more):
        return reverse(f"evaluation:{name}", args=[study.slug, *more])

    def test_the_whole_walk(self, annotator, study, interview, lead, client_of):
        client = client_of(lead)
        typed = {"annotator": annotator.pk, "per_code": 1, "seed": 5}
        assert client.post(self.path("draw_audit", study), typed).status_code == 302
        audit = PositiveAudit.objects.get()
        page = client.get(self.path("audit", study, audit.pk)).content.decode()
        assert "2 items are in interviews that are hidden from you" in page
        item = audit.items.get(position=1)
        where = self.path("mark", study, audit.pk, item.pk)
        text = item.suggestion.sentence.read_text()
        closed = client.get(where).content.decode()
        assert "hidden from you" in closed
        assert text not in closed
        assert client.post(where, {"verdict": "applies"}).status_code == 409
        assert unblind_on(client, where, confirmed=False).status_code == 422
        assert unblind_on(client, where)["Location"] == self.path("audit", study, audit.pk)
        assert Unblinding.objects.get().where == "audit of positives"
        page = client.get(where).content.decode()
        assert text in page
        assert item.suggestion.code.definition in page
        assert "A reason of its own." not in page
        assert client.post(where, {}).status_code == 422
        assert client.post(where, {"verdict": "does_not", "note": "Not here.", "number": 1}).status_code == 302
        page = client.get(where).content.decode()
        assert "A reason of its own." in page
        assert "Not here." in page

    def test_results_wait_until_all_is_marked_or_open_on_record(self, audit, study, interview, lead, client_of):
        client = client_of(lead)
        open_to(study, interview, lead)
        items = list(audit.items.order_by("position"))
        mark(items[0], lead, "does_not")
        where = self.path("audit", study, audit.pk)
        assert "False-positive rate" not in client.get(where).content.decode()
        look = self.path("audit_results", study, audit.pk)
        assert client.post(look).status_code == 422
        assert client.post(look, {"confirmed": "on"}).status_code == 302
        client.post(look, {"confirmed": "on"})
        assert AuditEvent.objects.filter(action="evaluation.audit.results_opened").count() == 1
        assert ResultsOpening.objects.get().opened_by == lead
        with CaptureQueriesContext(connection) as captured:
            page = client.get(where).content.decode()
        # A trail may have a million events.
        assert not [query for query in captured if "audit_trail" in query["sql"]]
        assert "False-positive rate" in page
        assert "You have opened the results" in page
        mark(items[1], lead)
        report = read_report(audit)
        assert (report["findings"][0]["n"], report["late"]) == (2, 1)
        assert (report["agreement"], report["second_thoughts"]) == ([], 0)

    def test_who_has_marked_everything_sees_results_and_nothing_is_on_record(
        self, audit, study, interview, lead, client_of
    ):
        open_to(study, interview, lead)
        for item in audit.items.order_by("position"):
            mark(item, lead, "does_not" if item.suggestion.code.identifier == "theme.balance" else "applies")
        open_results(audit=audit, by=lead)
        assert not AuditEvent.objects.filter(action="evaluation.audit.results_opened").exists()
        page = client_of(lead).get(self.path("audit", study, audit.pk)).content.decode()
        assert "100.0 %" in page
        assert "51.0 to 100.0 %," in page
        assert ">n 4</a>" in page

    def test_two_readers_are_compared(self, audit, study, interview, lead, owner, reader, client_of):
        for who, verdict in ((lead, "applies"), (owner, "does_not")):
            open_to(study, interview, who)
            for item in audit.items.all():
                mark(item, who, verdict)
        page = client_of(reader).get(self.path("audit", study, audit.pk)).content.decode()
        assert "Agreement between reviewers" in page
        assert "Marks of owner" in page
        assert "Start marking" not in page

    def test_a_reader_reads_and_does_not_mark_and_a_coder_sees_nothing(self, audit, study, reader, coder, client_of):
        item = audit.items.all()[0]
        assert client_of(reader).get(self.path("audit", study, audit.pk)).status_code == 200
        assert client_of(reader).get(self.path("mark", study, audit.pk, item.pk)).status_code == 403
        for path in (self.path("audits", study), self.path("audit", study, audit.pk)):
            assert client_of(coder).get(path).status_code == 403

    def test_every_count_opens_to_its_items_under_the_rules_of_marking(
        self, audit, study, interview, lead, reader, coder, client_of
    ):
        items = self.path("audit_items", study, audit.pk)
        behind = {"code": "theme.balance", "verdict": "does_not"}
        waiting = client_of(lead).get(items, behind).content.decode()
        assert "The results open once you have marked everything" in waiting
        assert "Item " not in waiting
        open_to(study, interview, lead)
        balance = list(audit.items.filter(suggestion__code__identifier="theme.balance").order_by("position"))
        for number, item in enumerate(balance):
            mark(item, lead, "does_not" if number else "applies")
        open_results(audit=audit, by=lead)
        results = client_of(lead).get(self.path("audit", study, audit.pk)).content.decode()
        for verdict in ("drawn", "marked", "applies", "does_not", "decided"):
            assert f"{items}?code=theme.balance&amp;verdict={verdict}" in results
        page = client_of(lead).get(items, behind).content.decode()
        assert page.count("<strong>Item ") == page.count("<mark>") == len(balance) - 1
        assert "A reason of its own." not in page
        for item in balance:
            anew = self.path("mark", study, audit.pk, item.pk) + "?again=1#again"
            assert (anew in page) == (item != balance[0])
        assert client_of(lead).get(items, {**behind, "verdict": "drawn"}).content.decode().count("<strong>Item ") == 4
        read_only = client_of(reader).get(items, behind).content.decode()
        assert "Item " in read_only
        assert "Mark again" not in read_only
        assert client_of(coder).get(items, behind).status_code == 403
        assert "0 items" in client_of(lead).get(items, {**behind, "reader": "reader"}).content.decode()

    def test_items_of_interviews_that_are_closed_to_her_are_counted_and_not_shown(self, audit, study, lead, client_of):
        open_results(audit=audit, by=lead)
        items = self.path("audit_items", study, audit.pk)
        page = client_of(lead).get(items, {"code": "theme.balance", "verdict": "drawn"}).content.decode()
        assert "4 more are in interviews that are hidden from you" in page
        assert "<strong>Item " not in page

    def test_an_audit_of_another_study_is_not_found(self, audit, owner, client_of):
        from transcripts.studies.actions import create_study

        other = create_study(slug="other", name="Other", by=owner)
        item = audit.items.all()[0]
        assert client_of(owner).get(self.path("audit", other, audit.pk)).status_code == 404
        assert client_of(owner).get(self.path("mark", other, audit.pk, item.pk)).status_code == 404


class TestSpreadPage:
    def test_rates_and_pairs_stand_beside_each_other_with_warnings(self, annotator, study, interview, lead, client_of):
        other = add_annotator(study, number=2, hash="x")
        first, second, *_ = list_sentences(interview)
        suggest(other, {first: ["theme.balance"], second: []})
        open_to(study, interview, lead)
        page = client_of(lead).get(reverse("evaluation:spread", args=[study.slug])).content.decode()
        assert "reader, reader 2 are the same model" in page
        assert "4 sentences annotated by all of them for it; rates from 25.0 % to 100.0 %" in page
        assert "invents its answers" in page

    def test_one_annotator_alone_is_laid_beside_nobody(self, annotator, study, reader, client_of):
        page = client_of(reader).get(reverse("evaluation:spread", args=[study.slug])).content.decode()
        assert "A comparison needs two annotators" in page
