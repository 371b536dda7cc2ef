"""Audits of positives: what is drawn, how it is marked blind to the machine's reason, and who knew results."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from auditapp.preannotation.errors import PreannotationError
from auditapp.preannotation.evaluation.actions.audits import (
    draw_positive_audit,
    draw_sample,
    mark_positive,
    open_results,
)
from auditapp.preannotation.evaluation.queries.audits import list_marks
from auditapp.preannotation.evaluation.queries.positives import Positive
from auditapp.preannotation.models import (
    Annotator,
    AuditedSuggestion,
    PositiveAudit,
    PositiveMark,
    ResultsOpening,
    TurnArm,
)
from tests.auditapp.preannotation.critic_cast import judge, list_sentences, open_to, suggest
from tests.auditapp.preannotation.panel_cast import add_annotator, show_all, withhold_all
from tests.transcripts.blinding.unblinding_cast import unblind_on
from tests.transcripts.coding.desk_cast import find_code, put
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import Coding, Unblinding
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project

ClientOf = Callable[[User], Client]


@pytest.fixture
def annotator(project: Project, interview: Interview) -> Annotator:
    """Who put Balance on six sentences and Compassion on one; nothing is withheld."""
    annotator = add_annotator(project)
    show_all(project)
    sentences = list_sentences(interview)
    codes = {sentence: ["theme.balance"] for sentence in sentences[:6]}
    codes[sentences[0]] = ["theme.balance", "theme.compassion"]
    suggest(annotator, codes, rationale="A reason of its own.")
    return annotator


@pytest.fixture
def audit(annotator: Annotator, owner: User) -> PositiveAudit:
    return draw_positive_audit(annotator=annotator, seed=7, per_code=4, by=owner)


def mark(item: AuditedSuggestion, by: User, verdict: str = "applies", **more: object) -> PositiveMark:
    return mark_positive(item=item, verdict=verdict, by=by, **{"client_id": uuid.uuid4(), **more})  # type: ignore[arg-type]


def frame(**sizes: int) -> list[Positive]:
    rows = [(code, each) for code, size in sizes.items() for each in range(size)]
    return [Positive(number, each, 1, 1, code) for number, (code, each) in enumerate(rows, start=1)]


class TestDrawing:
    def test_each_code_has_so_many_or_all_and_its_population_is_kept(self, audit: PositiveAudit) -> None:
        drawn = audit.items.values_list("suggestion__code__identifier", "population")
        assert sorted(drawn) == [("theme.balance", 6)] * 4 + [("theme.compassion", 1)]
        assert sorted(audit.items.values_list("place", flat=True)) == [1, 2, 3, 4, 5]

    def test_the_same_seed_gives_the_same_sample_and_a_further_code_moves_no_others(self) -> None:
        first = draw_sample(frame(x=200, y=200), per_code=60, seed=3)
        assert first == draw_sample(frame(x=200, y=200), per_code=60, seed=3)
        assert first != draw_sample(frame(x=200, y=200), per_code=60, seed=4)
        of_x = {each for each, _ in first if each.code == "x"}
        alone = {each for each, _ in draw_sample(frame(x=200), per_code=60, seed=3)}
        assert of_x == alone
        assert len(of_x) == 60

    def test_items_are_shuffled_over_the_codes(self) -> None:
        codes = [each.code for each, _ in draw_sample(frame(x=50, y=50), per_code=50, seed=1)]
        assert codes not in (sorted(codes), sorted(codes, reverse=True))

    def test_withheld_turns_are_never_in_it(self, annotator: Annotator, interview: Interview, owner: User) -> None:
        draw_positive_audit(annotator=annotator, seed=1, by=owner)
        turn = TurnArm.objects.order_by("turn").first()
        assert turn is not None
        TurnArm.objects.filter(pk=turn.pk).update(arm="withheld")
        audit = draw_positive_audit(annotator=annotator, seed=1, by=owner)
        assert audit.items.exists()
        assert not audit.items.filter(suggestion__sentence__turn=turn.pk).exists()
        TurnArm.objects.update(arm="withheld")
        with pytest.raises(PreannotationError, match="nothing to draw from"):
            draw_positive_audit(annotator=annotator, seed=1, by=owner)

    def test_turns_that_nobody_drew_an_arm_for_are_drawn_first(
        self, project: Project, interview: Interview, owner: User
    ) -> None:
        annotator = add_annotator(project)
        suggest(annotator, {list_sentences(interview)[0]: ["theme.balance"]})
        withhold_all(project)
        TurnArm.objects.all().delete()
        draw_positive_audit(annotator=annotator, seed=1, by=owner)
        assert TurnArm.objects.count() == 2

    def test_what_a_critic_reversed_can_be_left_out(self, annotator: Annotator, owner: User) -> None:
        reversed_one = annotator.suggestions.filter(code__identifier="theme.balance").order_by("pk")[0]
        judge(annotator, {reversed_one: "reverse"})
        audit = draw_positive_audit(annotator=annotator, seed=1, with_critic=True, by=owner)
        assert not audit.items.filter(suggestion=reversed_one).exists()
        assert audit.items.filter(suggestion__code__identifier="theme.balance", population=5).count() == 5

    @pytest.mark.parametrize(("per_code", "seed"), [(0, 1), (1_001, 1), (60, -1), (60, 2**31)])
    def test_impossible_numbers_are_refused(self, annotator: Annotator, owner: User, per_code: int, seed: int) -> None:
        with pytest.raises(PreannotationError, match=r"between 1 and 1,000|from 0 to"):
            draw_positive_audit(annotator=annotator, seed=seed, per_code=per_code, by=owner)


class TestMarking:
    def test_who_codes_marks_only_where_she_has_opened(
        self, audit: PositiveAudit, project: Project, interview: Interview, lead: User
    ) -> None:
        item = audit.items.all()[0]
        with pytest.raises(PreannotationError, match="Open this interview first"):
            mark(item, lead)
        open_to(project, interview, lead)
        assert mark(item, lead).verdict == "applies"
        coding = put(item.suggestion.sentence, find_code(project, "theme.compassion"), lead, reason="Saw it.")
        assert coding.layer == "assisted"

    def test_a_second_thought_is_a_new_row_and_the_first_stays(
        self, audit: PositiveAudit, project: Project, interview: Interview, lead: User
    ) -> None:
        open_to(project, interview, lead)
        item = audit.items.all()[0]
        first = mark(item, lead, "applies")
        second = mark(item, lead, "does_not", standing_id=first.pk)
        first.refresh_from_db()
        assert (first.verdict, first.superseded_by, second.superseded_by) == ("applies", second, None)
        marks = list_marks(audit)
        assert [each.verdict for each in marks.standing] == ["does_not"]
        assert [each.verdict for each in marks.first] == ["applies"]
        assert marks.second_thoughts == 1

    def test_a_mark_may_be_thought_over_as_often_as_she_likes(
        self, audit: PositiveAudit, project: Project, interview: Interview, lead: User
    ) -> None:
        open_to(project, interview, lead)
        item = audit.items.all()[0]
        marks = [mark(item, lead)]
        for verdict in ["does_not", "unclear", "applies"]:
            marks.append(mark(item, lead, verdict, standing_id=marks[-1].pk))
        stored = dict(PositiveMark.objects.filter(item=item).values_list("pk", "superseded_by"))
        assert [stored[each.pk] for each in marks] == [marks[1].pk, marks[2].pk, marks[3].pk, None]
        assert [each.verdict for each in list_marks(audit).first] == ["applies"]

    def test_a_replayed_form_is_stored_once_and_a_stale_one_refused(
        self, audit: PositiveAudit, project: Project, interview: Interview, lead: User
    ) -> None:
        open_to(project, interview, lead)
        item, other = audit.items.all()[:2]
        sent = uuid.uuid4()
        assert mark(item, lead, client_id=sent) == mark(item, lead, client_id=sent)
        with pytest.raises(PreannotationError, match="sent before, for another item"):
            mark(other, lead, client_id=sent)
        with pytest.raises(PreannotationError, match="since the page was shown"):
            mark(item, lead, "does_not")
        with pytest.raises(PreannotationError, match="Choose whether"):
            mark(other, lead, "perhaps")

    def test_marking_makes_no_coding_and_its_event_holds_no_text(
        self, audit: PositiveAudit, project: Project, interview: Interview, lead: User
    ) -> None:
        open_to(project, interview, lead)
        item = audit.items.all()[0]
        mark(item, lead, note="Words about it.")
        assert not Coding.objects.exists()
        event = AuditEvent.objects.get(action="preannotation.audit.marked")
        assert event.details == {"audit": audit.pk, "item": item.pk, "is_second_thought": False}


class TestPages:
    def path(self, name: str, project: Project, *more: int) -> str:
        return reverse(f"preannotation:{name}", args=[project.slug, *more])

    def test_the_whole_walk(
        self, annotator: Annotator, project: Project, interview: Interview, lead: User, client_of: ClientOf
    ) -> None:
        client = client_of(lead)
        typed = {"annotator": annotator.pk, "per_code": 1, "seed": 5}
        assert client.post(self.path("draw_audit", project), typed).status_code == 302
        audit = PositiveAudit.objects.get()
        page = client.get(self.path("audit", project, audit.pk)).content.decode()
        assert "2 items are in interviews that are hidden from you" in page
        item = audit.items.get(place=1)
        where = self.path("mark", project, audit.pk, item.pk)
        text = item.suggestion.sentence.read_text()
        closed = client.get(where).content.decode()
        assert "hidden from you" in closed
        assert text not in closed
        assert client.post(where, {"verdict": "applies"}).status_code == 409
        assert unblind_on(client, where, confirmed=False).status_code == 422
        assert unblind_on(client, where)["Location"] == self.path("audit", project, audit.pk)
        assert Unblinding.objects.get().where == "audit of positives"
        page = client.get(where).content.decode()
        assert text in page
        assert item.suggestion.code.definition in page
        assert "A reason of its own." not in page
        assert client.post(where, {}).status_code == 422
        assert client.post(where, {"verdict": "does_not", "note": "Not here."}).status_code == 302
        page = client.get(where).content.decode()
        assert "A reason of its own." in page
        assert "Not here." in page

    def test_results_wait_until_all_is_marked_or_open_on_record(
        self, audit: PositiveAudit, project: Project, interview: Interview, lead: User, client_of: ClientOf
    ) -> None:
        client = client_of(lead)
        open_to(project, interview, lead)
        items = list(audit.items.order_by("place"))
        mark(items[0], lead, "does_not")
        where = self.path("audit", project, audit.pk)
        assert "False-positive rate" not in client.get(where).content.decode()
        look = self.path("audit_results", project, audit.pk)
        assert client.post(look).status_code == 422
        assert client.post(look, {"confirmed": "on"}).status_code == 302
        client.post(look, {"confirmed": "on"})
        assert AuditEvent.objects.filter(action="preannotation.audit.results_opened").count() == 1
        assert ResultsOpening.objects.get().reader == lead
        with CaptureQueriesContext(connection) as captured:
            page = client.get(where).content.decode()
        # A trail may have a million events.
        assert not [query for query in captured if "audit_trail" in query["sql"]]
        assert "False-positive rate" in page
        assert "You have known results since" in page
        mark(items[1], lead)
        marks = list_marks(audit)
        assert (len(marks.standing), len(marks.first), marks.late) == (2, 1, 1)

    def test_who_has_marked_everything_sees_results_and_nothing_is_on_record(
        self, audit: PositiveAudit, project: Project, interview: Interview, lead: User, client_of: ClientOf
    ) -> None:
        open_to(project, interview, lead)
        for item in audit.items.order_by("place"):
            mark(item, lead, "does_not" if item.suggestion.code.identifier == "theme.balance" else "applies")
        open_results(audit=audit, by=lead)
        assert not AuditEvent.objects.filter(action="preannotation.audit.results_opened").exists()
        page = client_of(lead).get(self.path("audit", project, audit.pk)).content.decode()
        assert "100.0 %" in page
        assert "51.0 to 100.0 %, <a" in page
        assert ">n 4</a>" in page

    def test_two_readers_are_compared(
        self,
        audit: PositiveAudit,
        project: Project,
        interview: Interview,
        lead: User,
        owner: User,
        reader: User,
        client_of: ClientOf,
    ) -> None:
        for who, verdict in ((lead, "applies"), (owner, "does_not")):
            open_to(project, interview, who)
            for item in audit.items.all():
                mark(item, who, verdict)
        page = client_of(reader).get(self.path("audit", project, audit.pk)).content.decode()
        assert "Agreement between readers" in page
        assert "As owner marked" in page
        assert "Begin marking" not in page

    def test_a_reader_reads_and_does_not_mark_and_a_coder_sees_nothing(
        self, audit: PositiveAudit, project: Project, reader: User, coder: User, client_of: ClientOf
    ) -> None:
        item = audit.items.all()[0]
        assert client_of(reader).get(self.path("audit", project, audit.pk)).status_code == 200
        assert client_of(reader).get(self.path("mark", project, audit.pk, item.pk)).status_code == 403
        for path in (self.path("audits", project), self.path("audit", project, audit.pk)):
            assert client_of(coder).get(path).status_code == 403

    def test_every_count_opens_to_its_items_under_the_rules_of_marking(
        self,
        audit: PositiveAudit,
        project: Project,
        interview: Interview,
        lead: User,
        reader: User,
        coder: User,
        client_of: ClientOf,
    ) -> None:
        items = self.path("audit_items", project, audit.pk)
        behind = {"code": "theme.balance", "verdict": "does_not"}
        waiting = client_of(lead).get(items, behind).content.decode()
        assert "They open when you have marked everything" in waiting
        assert "masked" not in waiting
        open_to(project, interview, lead)
        balance = list(audit.items.filter(suggestion__code__identifier="theme.balance").order_by("place"))
        for number, item in enumerate(balance):
            mark(item, lead, "does_not" if number else "applies")
        open_results(audit=audit, by=lead)
        results = client_of(lead).get(self.path("audit", project, audit.pk)).content.decode()
        for verdict in ("drawn", "marked", "applies", "does_not", "decided"):
            assert f"{items}?code=theme.balance&amp;verdict={verdict}" in results
        page = client_of(lead).get(items, behind).content.decode()
        assert page.count('class="masked"') == len(balance) - 1
        assert "A reason of its own." not in page
        for item in balance:
            anew = self.path("mark", project, audit.pk, item.pk) + "?anew=1#anew"
            assert (anew in page) == (item != balance[0])
        assert client_of(lead).get(items, {**behind, "verdict": "drawn"}).content.decode().count('class="masked"') == 4
        read_only = client_of(reader).get(items, behind).content.decode()
        assert "Item " in read_only
        assert "Mark anew" not in read_only
        assert client_of(coder).get(items, behind).status_code == 403
        assert "0 items" in client_of(lead).get(items, {**behind, "reader": "reader"}).content.decode()

    def test_items_of_interviews_that_are_closed_to_her_are_counted_and_not_shown(
        self, audit: PositiveAudit, project: Project, lead: User, client_of: ClientOf
    ) -> None:
        open_results(audit=audit, by=lead)
        items = self.path("audit_items", project, audit.pk)
        page = client_of(lead).get(items, {"code": "theme.balance", "verdict": "drawn"}).content.decode()
        assert "4 more are in interviews that are hidden from you" in page
        assert 'class="masked"' not in page

    def test_an_audit_of_another_study_is_not_found(
        self, audit: PositiveAudit, owner: User, client_of: ClientOf
    ) -> None:
        from transcripts.projects.actions import create_project

        other = create_project(slug="other", name="Other", by=owner)
        item = audit.items.all()[0]
        assert client_of(owner).get(self.path("audit", other, audit.pk)).status_code == 404
        assert client_of(owner).get(self.path("mark", other, audit.pk, item.pk)).status_code == 404


class TestSpreadPage:
    def test_rates_and_pairs_stand_beside_each_other_with_warnings(
        self, annotator: Annotator, project: Project, interview: Interview, lead: User, client_of: ClientOf
    ) -> None:
        other = add_annotator(project, number=2, hash="x")
        first, second, *_ = list_sentences(interview)
        suggest(other, {first: ["theme.balance"], second: []})
        open_to(project, interview, lead)
        page = client_of(lead).get(reverse("preannotation:spread", args=[project.slug])).content.decode()
        assert "reader, reader 2 are one model" in page
        assert "4 sentences annotated by all of them for it; rates from 25.0 % to 100.0 %" in page
        assert "invents its answers" in page

    def test_one_annotator_alone_is_laid_beside_nobody(
        self, annotator: Annotator, project: Project, reader: User, client_of: ClientOf
    ) -> None:
        page = client_of(reader).get(reverse("preannotation:spread", args=[project.slug])).content.decode()
        assert "Two annotators are needed" in page
