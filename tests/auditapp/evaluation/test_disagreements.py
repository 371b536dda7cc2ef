"""Sorting what a machine and people read differently, and choosing whom to believe."""

from urllib.parse import urlencode

import pytest
from django.urls import reverse
from django.utils import timezone

from auditapp.annotators.models import CodeChoice
from auditapp.evaluation.actions import choose_annotator, sort_disagreement
from auditapp.evaluation.models import Disagreement
from tests.auditapp.evaluation.cast import BALANCE, bring_in, decide_all, make_annotator, read, withhold
from tests.transcripts.blinding.cast import unblind_on
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.models import Unblinding
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study, set_method


@pytest.fixture
def said(study, owner, lead):
    said = bring_in(study, owner, turns=2)
    Unblinding.objects.create(interview=said[0].turn.interview, user=lead, where="x", unblinded_at=timezone.now())
    return said


@pytest.fixture
def annotator(study, said, coder):
    """It puts balance on the first two; the coder on the second and third."""
    annotator = make_annotator(study)
    read(annotator, said, {said[0].pk: [BALANCE], said[1].pk: [BALANCE]})
    decide_all(coder, said, {said[1].pk: [BALANCE], said[2].pk: [BALANCE]})
    return annotator


def sort(annotator, sentence, by, category="misreading", **more):
    return sort_disagreement(
        study=annotator.study,
        annotator=annotator,
        sentence=sentence,
        code_identifier=BALANCE,
        category=category,
        by=by,
        **more,
    )


class TestSorting:
    def test_a_later_word_supersedes_and_both_stay(self, annotator, said, lead):
        first = sort(annotator, said[0], lead, note="It took irony for earnest.")
        second = sort(annotator, said[0], lead, "alternative", replaces=first.pk)
        first.refresh_from_db()
        assert first.superseded_by == second
        assert Disagreement.objects.get(superseded_by__isnull=True) == second
        event = AuditEvent.objects.filter(action="evaluation.disagreement.sorted").order_by("-pk")[0]
        assert event.details["before"] == first.pk
        assert "note" not in event.details

    def test_words_may_be_changed_again_and_again(self, annotator, said, lead):
        rows = [sort(annotator, said[0], lead)]
        for category in ["alternative", "slip", "misreading"]:
            rows.append(sort(annotator, said[0], lead, category, replaces=rows[-1].pk))
        stored = dict(Disagreement.objects.values_list("pk", "superseded_by"))
        assert [stored[row.pk] for row in rows] == [rows[1].pk, rows[2].pk, rows[3].pk, None]

    def test_the_same_word_again_is_no_new_row(self, annotator, said, lead):
        first = sort(annotator, said[0], lead)
        assert sort(annotator, said[0], lead, replaces=first.pk) == first

    def test_who_was_slower_is_told(self, annotator, said, lead):
        sort(annotator, said[0], lead)
        with pytest.raises(Refused, match="Another person has sorted this difference in the meantime"):
            sort(annotator, said[0], lead, "slip")

    @pytest.mark.parametrize("more", [{"category": "error"}, {"note": "x" * 5_001}])
    def test_what_makes_no_sense_is_refused(self, annotator, said, lead, more):
        with pytest.raises(Refused):
            sort(annotator, said[0], lead, **more)
        assert not Disagreement.objects.exists()

    def test_another_studys_sentence_is_refused(self, annotator, said, lead, owner):
        other = create_study(slug="other", name="Other", by=owner)
        with pytest.raises(Refused, match="not part of this study"):
            sort_disagreement(
                study=other, annotator=annotator, sentence=said[0], code_identifier=BALANCE, category="slip", by=lead
            )


def test_the_overview_tells_a_lead_how_many_wait(study, annotator, said, lead, coder, client_of):
    home, part = reverse("studies:home", args=[study.slug]), reverse("evaluation:unsorted", args=[study.slug])
    assert part in client_of(lead).get(home).content.decode()
    assert part not in client_of(coder).get(home).content.decode()
    assert "2 differences not sorted yet</a>, out of 2" in client_of(lead).get(part).content.decode()
    sort(annotator, said[0], lead)
    assert "1 difference not sorted yet</a>, out of 2" in client_of(lead).get(part).content.decode()
    Unblinding.objects.all().delete()
    assert "difference" not in client_of(lead).get(part).content.decode().replace("No difference", "")


class TestPage:
    def test_differences_are_listed_sorted_and_counted(self, study, annotator, said, lead, client_of):
        client, path = client_of(lead), reverse("evaluation:disagreements", args=[study.slug])
        shown = client.get(path).content.decode()
        assert "0 of 2 sorted" in shown
        assert shown.count("<article") == 2
        sent = {"annotator": annotator.pk, "sentence": said[0].pk, "code": BALANCE, "category": "alternative"}
        where = reverse("evaluation:sort_disagreement", args=[study.slug])
        assert client.post(where, sent).status_code == 302
        shown = " ".join(client.get(path).content.decode().split())
        assert "1 of 2 sorted" in shown
        assert shown.count("<article") == 2
        assert client.get(path, {"state": "open"}).content.decode().count("<article") == 1
        assert client.get(path, {"state": "alternative"}).content.decode().count("<article") == 1
        assert client.get(path, {"state": "nonsense"}).status_code == 422

    def test_after_one_is_sorted_the_next_unsorted_one_is_shown(
        self, study, annotator, said, lead, client_of, monkeypatch
    ):
        monkeypatch.setattr("auditapp.evaluation.views.choices.ITEMS_PER_PAGE", 1)
        client, where = client_of(lead), reverse("evaluation:sort_disagreement", args=[study.slug])
        sent = {"annotator": annotator.pk, "code": BALANCE, "category": "slip", "filter_code": BALANCE}
        answer = client.post(where, {**sent, "sentence": said[0].pk})
        assert answer["Location"].endswith(f"&code={BALANCE}&state=&page=2#difference-{said[2].pk}-{BALANCE}")
        shown = client.get(answer["Location"]).content.decode()
        assert f'id="difference-{said[2].pk}-{BALANCE}"' in shown
        # With all sorted it stays where it was; where only unsorted ones are listed none is left.
        answer = client.post(where, {**sent, "sentence": said[2].pk})
        assert answer["Location"].endswith(f"page=2#difference-{said[2].pk}-{BALANCE}")
        standing = Disagreement.objects.get(sentence=said[2]).pk
        again = {**sent, "sentence": said[2].pk, "category": "alternative", "replaces": standing, "state": "open"}
        answer = client.post(where, again)
        assert answer["Location"].endswith("&state=open&page=1")
        shown = client.get(answer["Location"]).content.decode()
        assert '<div class="empty"><p>No disagreements.</p></div>' in shown
        assert "<ol" not in shown

    def test_a_difference_in_a_withheld_turn_is_counted_and_not_met_before_ones_own_word(
        self, study, annotator, said, lead, reader, client_of
    ):
        withhold(study, said, {said[0].turn_id})
        path = reverse("evaluation:disagreements", args=[study.slug])
        shown = client_of(lead).get(path).content.decode()
        assert "Not listed and not counted here: 2 disagreements" in shown
        assert said[0].read_text() not in shown
        where = reverse("evaluation:sort_disagreement", args=[study.slug])
        sent = {"annotator": annotator.pk, "sentence": said[0].pk, "code": BALANCE, "category": "slip"}
        assert client_of(lead).post(where, sent).status_code == 409
        assert said[0].read_text() in client_of(reader).get(path).content.decode()
        decide_all(lead, said[:1], {})
        assert said[0].read_text() in client_of(lead).get(path).content.decode()

    def test_opening_from_a_filtered_page_leads_back_to_it(self, study, annotator, said, lead, client_of):
        Unblinding.objects.filter(user=lead).delete()
        path = reverse("evaluation:disagreements", args=[study.slug])
        asked = {"annotator": annotator.pk, "code": BALANCE, "state": "open"}
        opened = unblind_on(client_of(lead), f"{path}?{urlencode(asked)}")
        assert opened["Location"] == f"{path}?annotator={annotator.pk}&code={BALANCE}&state=open"

    def test_where_nothing_differs_nothing_is_sorted(self, study, annotator, said, lead, client_of):
        where = reverse("evaluation:sort_disagreement", args=[study.slug])
        sent = {"annotator": annotator.pk, "sentence": said[1].pk, "code": BALANCE, "category": "slip"}
        assert client_of(lead).post(where, sent).status_code == 409
        assert not Disagreement.objects.exists()

    def test_wrong_input_is_the_form_again(self, study, annotator, said, lead, client_of):
        where = reverse("evaluation:sort_disagreement", args=[study.slug])
        answer = client_of(lead).post(where, {"annotator": annotator.pk, "sentence": said[0].pk, "code": BALANCE})
        assert answer.status_code == 422
        assert "Choose one of the six categories" in answer.content.decode()


def choose(study, annotator, by, reason="Best on blind labels."):
    return choose_annotator(study=study, code_identifier=BALANCE, annotator=annotator, reason=reason, by=by)


class TestChoosing:
    def test_a_later_choice_supersedes_and_both_stay(self, study, annotator, lead):
        first = choose(study, annotator, lead)
        second = choose(study, None, lead, "It misses too many.")
        first.refresh_from_db()
        assert first.superseded_at is not None
        assert CodeChoice.objects.get(superseded_at__isnull=True) == second
        assert AuditEvent.objects.filter(action="annotators.annotator.chosen").count() == 2
        assert choose(study, None, lead, "It misses too many.") == second

    def test_a_choice_needs_a_reason_a_code_and_an_annotator_of_the_study(self, study, annotator, lead, owner):
        with pytest.raises(Refused, match="Give a reason"):
            choose(study, annotator, lead, " ")
        with pytest.raises(Refused, match="no such code"):
            choose_annotator(study=study, code_identifier="none", annotator=None, reason="x", by=lead)
        other = create_study(slug="other", name="Other", by=owner)
        with pytest.raises(Refused, match="not part of this study"):
            choose(other, annotator, lead)
        assert not CodeChoice.objects.exists()

    def test_an_annotator_that_never_read_the_code_cannot_be_chosen_for_it(
        self, study, annotator, said, lead, client_of
    ):
        narrow = make_annotator(study, "narrow")
        read(narrow, said, {}, codes=["theme.compassion"])
        with pytest.raises(Refused, match="has annotated no sentence for this code"):
            choose(study, narrow, lead)
        with pytest.raises(Refused, match="has annotated no sentence for this code"):
            choose(study, make_annotator(study, "idle"), lead)
        path = reverse("evaluation:choose", args=[study.slug])
        answer = client_of(lead).post(path, {"code": BALANCE, "candidate": str(narrow.pk), "reason": "So."})
        assert answer.status_code == 422
        assert "has annotated no sentence for this code" in answer.content.decode()
        assert not CodeChoice.objects.exists()

    def test_the_page_shows_what_a_choice_rests_on_and_what_is_below_the_threshold(
        self, study, annotator, lead, owner, client_of, monkeypatch
    ):
        set_method(study=study, method="codebook", by=owner)
        client, path = client_of(lead), reverse("evaluation:choose", args=[study.slug])
        answer = client.post(path, {"code": BALANCE, "candidate": str(annotator.pk), "reason": "Best so far."})
        assert answer.status_code == 302
        shown = " ".join(client.get(path).content.decode().split())
        assert "Best so far." in shown
        assert "Based on 6 blind labels on 6 sentences: F1 0.50" in shown
        assert "Few turns: people applied this code in fewer than 10" in shown
        assert "one call for this code alone" not in shown
        monkeypatch.setattr("auditapp.evaluation.queries.calibration_tables.FEW", 1)
        assert "one call for this code alone" in client.get(path).content.decode()
        assert "one call for this code alone" not in client.get(path, {"threshold": "0"}).content.decode()
        assert client.get(path, {"threshold": "2"}).status_code == 422

    def test_a_choice_without_a_reason_is_the_form_again(self, study, annotator, lead, client_of):
        path = reverse("evaluation:choose", args=[study.slug])
        answer = client_of(lead).post(path, {"code": BALANCE, "candidate": "people"})
        assert answer.status_code == 422
        assert not CodeChoice.objects.exists()
