"""Writing case sheets and pairs."""

import pytest

from tests.transcripts.negotiation.cast import IRRELEVANT, RELEVANT, pair_up, write_sheet
from tests.transcripts.rounds.cast import bring_in
from transcripts.audit_trail.models import AuditEvent
from transcripts.negotiation.actions import withdraw_pair, write_case_sheet
from transcripts.negotiation.models import CaseSheet, Pair
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.actions import create_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def threads(study, lead):
    return bring_in(study, lead, ["A", "B"])


def refuse_sheet(interview, by, **given):
    before = CaseSheet.objects.count()
    with pytest.raises(WrongInput) as refused:
        write_sheet(interview, by, **given)
    assert CaseSheet.objects.count() == before
    return refused.value


class TestCaseSheets:
    def test_a_sheet_is_stored_in_the_order_of_the_codebook_with_its_event(self, threads, lead):
        relevant = [{"feature": "feature.power", "reason": " It decides. "}, {"feature": "feature.task", "reason": "A"}]
        sheet = write_sheet(threads[0], lead, relevant=relevant, intents={"1": "probe"})
        assert sheet.relevant == [
            {"feature": "feature.task", "reason": "A"},
            {"feature": "feature.power", "reason": "It decides."},
        ]
        assert (sheet.number, sheet.irrelevant, sheet.intents) == (1, IRRELEVANT, {"1": "probe"})
        event = AuditEvent.objects.latest("pk")
        assert event.action == "case_sheet.written"
        assert "feature" not in str(event.details)

    def test_a_feature_in_both_lists_is_refused(self, threads, lead):
        error = refuse_sheet(threads[0], lead, irrelevant=[*RELEVANT])
        assert (error.field, "as relevant and as irrelevant" in str(error)) == ("irrelevant", True)

    def test_a_feature_listed_twice_is_refused(self, threads, lead):
        assert "listed twice" in str(refuse_sheet(threads[0], lead, relevant=[*RELEVANT, *RELEVANT]))

    @pytest.mark.parametrize("feature", ["feature.courage", "move.elicit", ""])
    def test_an_unknown_feature_is_refused_naming_those_there_are(self, threads, lead, feature):
        error = refuse_sheet(threads[0], lead, relevant=[{"feature": feature, "reason": "x"}])
        assert "feature.stakeholders" in str(error)
        assert "feature.policy" in str(error)

    def test_each_feature_needs_a_reason_that_can_be_stored(self, threads, lead):
        assert "Say why" in str(refuse_sheet(threads[0], lead, relevant=[{"feature": "feature.power"}]))
        for reason in ("a\x00", "a\ud800"):
            wrong = [{"feature": "feature.power", "reason": reason}]
            assert "cannot be stored" in str(refuse_sheet(threads[0], lead, relevant=wrong))

    def test_an_empty_sheet_is_refused(self, threads, lead):
        assert "at least one" in str(refuse_sheet(threads[0], lead, relevant=[], irrelevant=[]))

    def test_an_intent_is_of_a_turn_of_the_interviewer(self, threads, lead):
        error = refuse_sheet(threads[0], lead, intents={"2": "probe"})
        assert (error.field, "Turn 2" in str(error)) == ("intents", True)

    def test_the_next_number_keeps_the_intents_and_the_first_as_it_was(self, threads, lead):
        first = write_sheet(threads[0], lead, intents={"1": "probe"})
        second = write_sheet(threads[0], lead, irrelevant=[], reason="A rule applies after all.")
        assert (second.number, second.intents) == (2, {"1": "probe"})
        first.refresh_from_db()
        assert first.irrelevant == IRRELEVANT

    def test_a_thread_of_another_study_is_refused(self, threads, lead, owner):
        other = create_study(slug="other", name="Other", by=owner)
        with pytest.raises(WrongInput, match="not part of this study"):
            write_case_sheet(study=other, interview=threads[0], relevant=RELEVANT, irrelevant=[], by=lead)


class TestPairs:
    def test_a_correction_is_the_next_number_and_withdraws_the_one_before(self, threads, lead):
        first = pair_up(threads, lead)
        second = pair_up(threads, lead, expect="change", reason="It should.")
        first.refresh_from_db()
        assert (second.number, first.withdrawn_at) == (2, second.made_at)
        assert list(Pair.objects.active()) == [second]

    def test_the_same_thread_twice_is_refused(self, threads, lead):
        with pytest.raises(WrongInput, match="same one twice"):
            pair_up([threads[0], threads[0]], lead)

    def test_a_thread_of_another_study_is_refused(self, threads, lead, owner):
        other = create_study(slug="other", name="Other", by=owner)
        [theirs] = bring_in(other, owner, ["A"])
        with pytest.raises(WrongInput, match="not part of this study") as refused:
            pair_up([threads[0], theirs], lead)
        assert refused.value.field == "b"

    @pytest.mark.parametrize("name", ["", "a/b", "..", "a  b", ".hidden", "x" * 101, "a\x00"])
    def test_a_name_has_to_fit_into_an_address(self, threads, lead, name):
        with pytest.raises(WrongInput) as refused:
            pair_up(threads, lead, name=name)
        assert refused.value.field == "name"

    @pytest.mark.parametrize(("field", "value"), [("differs", " "), ("expect", "maybe")])
    def test_what_differs_and_what_is_expected_have_to_be_said(self, threads, lead, field, value):
        with pytest.raises(WrongInput) as refused:
            pair_up(threads, lead, **{field: value})
        assert refused.value.field == field

    def test_a_pair_is_withdrawn_once_and_its_name_needs_a_reason_afterwards(self, threads, lead):
        pair = pair_up(threads, lead)
        withdraw_pair(pair=pair, by=lead)
        with pytest.raises(Refused, match="already been withdrawn or replaced"):
            withdraw_pair(pair=pair, by=lead)
        assert AuditEvent.objects.filter(action="pair.withdrawn").count() == 1
        with pytest.raises(Refused) as refused:
            pair_up(threads, lead)
        assert refused.value.field == "reason"
        assert pair_up(threads, lead, reason="Made again.").number == 2
