import pytest

from tests.transcripts.coding.cast import count_events, find_code, last_event, put
from tests.transcripts.rounds.cast import answers, bring_in, open_round
from transcripts.blinding.actions import unblind_interview, unblind_interviews
from transcripts.blinding.viewers import Viewer
from transcripts.coding.models import Blinding, Unblinding
from transcripts.refusals import Refused
from transcripts.rounds.actions import lock_round
from transcripts.studies.roles import CODER, LEAD, READER


@pytest.fixture
def talks(study, owner):
    return bring_in(study, owner, ["Model A", "Model B"])


def test_opening_is_kept_once_with_its_place_and_event(study, talks, lead):
    first = unblind_interview(study=study, interview=talks[0], by=lead, where="agreement")
    assert last_event(study).action == "coding.opened"
    assert last_event(study).details == {"interview": talks[0].pk, "where": "agreement"}
    events = count_events(study)
    assert unblind_interview(study=study, interview=talks[0], by=lead, where="differences") == first
    assert count_events(study) == events
    assert Unblinding.objects.get().where == "agreement"


def test_what_is_coded_after_the_opening_is_assisted_there_and_blind_elsewhere(study, talks, lead, coder):
    unblind_interview(study=study, interview=talks[0], by=lead, where="agreement")
    balance = find_code(study, "theme.balance")
    assert put(answers(talks[0])[0], balance, lead, reason="They are right.").blinding == Blinding.ASSISTED
    assert put(answers(talks[1])[0], balance, lead).blinding == Blinding.BLIND
    assert put(answers(talks[0])[0], balance, coder).blinding == Blinding.BLIND


def test_coder_opens_what_is_locked_and_nothing_else(study, talks, lead, coder):
    round_ = open_round(study, lead, coder, models=["Model A"])
    with pytest.raises(Refused, match="once every round"):
        unblind_interview(study=study, interview=talks[0], by=coder, where="differences")
    lock_round(round_=round_, by=lead)
    unblind_interview(study=study, interview=talks[0], by=coder, where="differences")
    with pytest.raises(Refused):
        unblind_interviews(study=study, interviews=talks, by=coder, where="differences")
    assert Unblinding.objects.count() == 1


def test_stranger_and_foreign_interview_are_refused(study, talks, lead, outsider):
    with pytest.raises(Refused, match="do not belong"):
        unblind_interview(study=study, interview=talks[0], by=outsider, where="agreement")
    talks[0].owning_study_id = 0
    with pytest.raises(Refused, match="not part"):
        unblind_interview(study=study, interview=talks[0], by=lead, where="agreement")


def test_who_may_not_code_has_nothing_to_open(study, talks, lead):
    ids = {talk.pk for talk in talks}
    unblind_interview(study=study, interview=talks[0], by=lead, where="agreement")
    assert Viewer(study, lead, READER).blinded(ids) == set()
    assert Viewer(study, lead, LEAD).blinded(ids) == {talks[1].pk}
    assert Viewer(study, lead, CODER).blinded({talks[0].pk}) == set()
