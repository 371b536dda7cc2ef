"""Giving scores: under exactly one stance, with evidence, blind until one has seen others' labels."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from tests.support.masked_threads import bring_in_masked, make_thread
from tests.transcripts.audit_trail.test_replay import compare
from tests.transcripts.coding.cast import count_events, find_code, last_event, put, take_off
from tests.transcripts.negotiation.cast import add_challenges, list_sentences, score, write
from tests.transcripts.rounds.cast import answers, bring_in, find_assignment, open_round
from transcripts.blinding.actions import open_condition, unblind_interview
from transcripts.coding.actions import NotOpen, NotYours, UsedForAnother, WrongPlace
from transcripts.coding.models import Blinding
from transcripts.corpus.models import Interview, Relation
from transcripts.negotiation.actions import Evidence, restore_score, withdraw_score
from transcripts.negotiation.models import Score
from transcripts.refusals import WrongInput
from transcripts.rounds.actions import complete_assignment
from transcripts.studies.actions import create_study
from transcripts.studies.queries import events_of, list_details

pytestmark = pytest.mark.django_db


@pytest.fixture
def stance(study, lead):
    return write(study, lead)


def find_turn(interview, position):
    return interview.turns.get(position=position)


def test_a_score_is_stored_with_its_evidence_and_its_event(study, interview, stance, coder):
    second, third = list_sentences(interview)[1:3]
    given = score(
        stance,
        interview,
        coder,
        3,
        evidence=[Evidence(second), Evidence(third, (third.start, third.start + 4))],
        note="It asks first.",
    )
    assert (given.value, given.blinding, given.coder) == (3, Blinding.BLIND, coder)
    assert set(given.evidence.values_list("sentence", "quote_start", "quote_end")) == {
        (second.pk, None, None),
        (third.pk, third.start, third.start + 4),
    }
    event = last_event(study)
    assert (event.action, event.details["criterion"]) == ("negotiation.score.added", "moves")
    assert "It asks first" not in str(event.details)
    assert len(event.details["rows"]) == 3


def test_another_score_supersedes_the_first_and_the_same_is_left_as_it_is(study, interview, stance, coder):
    first = score(stance, interview, coder, 1)
    again = score(stance, interview, coder, 1)
    assert again == first
    second = score(stance, interview, coder, 2)
    first.refresh_from_db()
    assert first.superseded_by == second
    assert first.withdrawn_at == second.created_at
    assert list(Score.objects.active()) == [second]
    assert (last_event(study).action, last_event(study).details["replaces"]) == (
        "negotiation.score.changed",
        first.pk,
    )


def test_several_stances_score_one_thread_side_by_side(study, interview, stance, lead, coder):
    other = write(study, lead, "autonomy")
    later = write(study, lead, based_on=1, context="x", reason="y")
    given = [score(each, interview, coder, value) for value, each in enumerate([stance, other, later])]
    assert list(Score.objects.active().order_by("pk")) == given


def test_a_request_sent_twice_is_stored_once(interview, stance, coder):
    key = uuid4()
    first = score(stance, interview, coder, 1, idempotency_key=key)
    assert score(stance, interview, coder, 1, idempotency_key=key) == first
    assert Score.objects.count() == 1
    with pytest.raises(UsedForAnother):
        score(stance, interview, coder, 1, "consistency", idempotency_key=key)


@pytest.mark.parametrize(
    ("value", "how", "field", "words"),
    [
        (4, {}, "value", "0, 1, 2, 3 or not applicable; 4"),
        (-1, {}, "value", "0, 1, 2, 3 or not applicable"),
        (2, {"evidence": []}, "evidence", "at least one sentence"),
        (0, {"evidence": []}, "evidence", "at least one sentence"),
        (None, {"note": " "}, "note", "why it does not apply"),
        (2, {"criterion": "total"}, "criterion", "no criterion"),
        (2, {"feature": "feature.task"}, "turn", "whole thread"),
        (2, {"note": "x" * 1_001}, "note", "1,001 characters"),
        (2, {"note": "\x00"}, "note", "cannot be stored"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_stored(study, interview, stance, coder, value, how, field, words):
    before = count_events(study)
    with pytest.raises(WrongInput, match=words) as refused:
        score(stance, interview, coder, value, **how)
    assert refused.value.field == field
    assert (Score.objects.count(), count_events(study)) == (0, before)


def test_evidence_of_another_thread_or_outside_its_sentence_is_refused(study, interview, stance, owner, coder):
    elsewhere = list_sentences(bring_in(study, owner, ["m"])[0])[0]
    own = list_sentences(interview)[1]
    for evidence, words in (
        ([Evidence(elsewhere)], "from another thread"),
        ([Evidence(own, (own.start, own.end + 1))], "must lie within"),
        ([Evidence(own, (own.start, own.start))], "must lie within"),
        ([Evidence(own), Evidence(own)], "named twice"),
    ):
        with pytest.raises(WrongInput, match=words) as refused:
            score(stance, interview, coder, 2, evidence=evidence)
        assert refused.value.field == "evidence"


def test_a_stance_or_a_thread_of_another_study_is_refused(study, interview, stance, owner, coder):
    elsewhere = write(create_study(slug="other", name="Other", by=owner), owner)
    with pytest.raises(WrongPlace, match="stance is not part"):
        score(elsewhere, interview, coder, study=study)
    with pytest.raises(WrongPlace, match="interview is not part"):
        score(elsewhere, interview, owner)


def test_a_thread_that_hangs_on_another_may_cite_what_came_before_and_nothing_later(
    study, interview, stance, owner, coder
):
    other = bring_in(study, owner, ["m"])[0]
    Interview.objects.filter(pk=other.pk).update(hangs_on=find_turn(interview, 2), relation=Relation.BRANCH)
    other.refresh_from_db()
    above = list_sentences(interview)
    given = score(stance, other, coder, 2, evidence=[Evidence(above[0])])
    assert given.evidence.get().sentence == above[0]
    with pytest.raises(WrongInput, match="comes after the turn where this thread branches"):
        score(stance, other, coder, 1, evidence=[Evidence(above[-1])])


def test_an_entry_of_ones_own_is_warranted_by_what_stands_no_later(study, interview, stance, coder, second_coder):
    turn = find_turn(interview, 2)
    sentences = list_sentences(interview)
    feature = find_code(study, "feature.power")
    how = {"turn": turn, "feature": "feature.power"}
    for evidence in ([Evidence(sentences[0])], []):
        with pytest.raises(WrongInput, match="no entry for this feature") as refused:
            score(stance, interview, coder, 1, "warranted", evidence=evidence, **how)
        assert refused.value.field == "feature"
    coding = put(sentences[1], feature, coder)
    given = score(stance, interview, coder, 1, "warranted", evidence=[Evidence(sentences[0])], **how)
    assert (given.turn, given.feature, given.value) == (turn, "feature.power", 1)
    with pytest.raises(WrongInput, match="no entry for this feature"):
        score(stance, interview, second_coder, 1, "warranted", evidence=[Evidence(sentences[0])], **how)
    with pytest.raises(WrongInput, match="comes after turn 2"):
        score(stance, interview, coder, 0, "warranted", evidence=[Evidence(sentences[-1])], **how)
    with pytest.raises(WrongInput, match="yes \\(1\\), no \\(0\\) or unclear; 2"):
        score(stance, interview, coder, 2, "warranted", evidence=[Evidence(sentences[0])], **how)
    with pytest.raises(WrongInput, match="why it is unclear"):
        score(stance, interview, coder, None, "warranted", note="", **how)
    with pytest.raises(WrongInput, match="to one turn of this thread"):
        score(stance, interview, coder, 1, "warranted", feature="feature.power")
    take_off(coding, coder)
    with pytest.raises(WrongInput, match="no entry for this feature"):
        score(stance, interview, coder, 0, "warranted", evidence=[Evidence(sentences[0])], **how)


def test_an_update_is_judged_after_a_challenge_that_she_coded(study, interview, stance, coder):
    challenge = add_challenges(study)
    turn, answer = find_turn(interview, 3), list_sentences(interview)[-1]
    asked = next(each for each in list_sentences(interview) if each.turn_id == turn.pk)
    with pytest.raises(WrongInput, match="not coded turn 3 as a challenge"):
        score(stance, interview, coder, 1, "updated", turn=turn, evidence=[Evidence(answer)])
    put(asked, challenge, coder)
    given = score(stance, interview, coder, 1, "updated", turn=turn, evidence=[Evidence(answer)])
    assert (given.turn, given.feature) == (turn, "")
    with pytest.raises(WrongInput, match="not for a feature"):
        score(stance, interview, coder, 1, "updated", turn=turn, feature="feature.task", evidence=[Evidence(answer)])
    with pytest.raises(WrongInput, match="not coded turn 4 as a challenge"):
        score(stance, interview, coder, 1, "updated", turn=find_turn(interview, 4), evidence=[Evidence(answer)])


def test_scores_are_blind_until_she_has_unblinded_the_thread(study, interview, stance, lead):
    blind = score(stance, interview, lead, 1)
    unblind_interview(study=study, interview=interview, by=lead, where="test")
    seen = score(stance, interview, lead, 2)
    assert (blind.blinding, seen.blinding) == (Blinding.BLIND, Blinding.ASSISTED)
    # What she judged before stays her blind judgement.
    assert list(Score.objects.blind()) == [blind]
    assert list(Score.objects.active()) == [seen]


def test_scores_after_the_condition_was_opened_are_assisted_as_codings_are(study, stance, lead, coder):
    first, second = bring_in_masked(study, lead, [make_thread("xenobare", 1), make_thread("xenobriefed", 2)])
    blind = score(stance, first, coder, 1)
    open_condition(study=study, interview=first, by=coder)
    seen = score(stance, first, coder, 2)
    coding = put(answers(first)[0], find_code(study, "feature.power"), coder, reason="A test.")
    assert (blind.blinding, seen.blinding, coding.blinding) == (Blinding.BLIND, Blinding.ASSISTED, Blinding.ASSISTED)
    assert score(stance, second, coder, 2).blinding == Blinding.BLIND
    assert score(stance, first, lead, 2).blinding == Blinding.BLIND


def test_a_blind_score_that_was_corrected_blind_counts_no_more(study, interview, stance, lead):
    score(stance, interview, lead, 1)
    corrected = score(stance, interview, lead, 2)
    unblind_interview(study=study, interview=interview, by=lead, where="test")
    assert list(Score.objects.blind()) == [corrected]


def test_people_withdraw_their_own_scores_and_undo_brings_them_back(study, interview, stance, coder, second_coder):
    given = score(stance, interview, coder, 2, note="Look there.")
    with pytest.raises(NotYours):
        withdraw_score(study=study, score=given, by=second_coder)
    withdraw_score(study=study, score=given, by=coder)
    withdraw_score(study=study, score=given, by=coder)
    assert not Score.objects.active().exists()
    assert last_event(study).action == "negotiation.score.withdrawn"
    with pytest.raises(NotYours):
        restore_score(study=study, score=given, by=second_coder, idempotency_key=uuid4())
    back = restore_score(study=study, score=given, by=coder, idempotency_key=uuid4())
    assert (back.value, back.note) == (2, "Look there.")
    assert list(back.evidence.values_list("sentence")) == list(given.evidence.values_list("sentence"))


def test_the_history_does_not_tell_what_was_given_to_people_who_have_still_to_judge(study, interview, stance, coder):
    sentence, turn = list_sentences(interview)[1], find_turn(interview, 2)
    put(sentence, find_code(study, "feature.power"), coder)
    before = count_events(study)
    evidence = [Evidence(sentence)]
    for value in (1, 0):
        given = score(
            stance, interview, coder, value, "warranted", evidence=evidence, turn=turn, feature="feature.power"
        )
    withdraw_score(study=study, score=given, by=coder)
    told = [dict(list_details(event)) for event in events_of(study)[: count_events(study) - before]]
    assert len(told) == 3
    assert all(each.keys() <= {"stance", "interview", "criterion", "blinding", "replaces"} for each in told)
    assert "feature.power" not in str(told)


def test_nobody_scores_what_is_signed_off(study, owner, lead, coder):
    [talk] = bring_in(study, owner, ["m"])
    stance = write(study, lead)
    given = score(stance, talk, coder, 1)
    round_ = open_round(study, owner, coder)
    complete_assignment(assignment=find_assignment(round_, talk, coder), reason="A test.", by=coder)
    with pytest.raises(NotOpen, match="completed"):
        score(stance, talk, coder, 2)
    with pytest.raises(NotOpen, match="scores"):
        withdraw_score(study=study, score=given, by=coder)
    with pytest.raises(NotOpen, match="not assigned to you"):
        score(stance, talk, lead, 2)


def test_scores_can_be_rebuilt_from_the_trail(study, interview, stance, coder):
    first = score(stance, interview, coder, 1, note="At first.")
    score(stance, interview, coder, None)
    back = restore_score(study=study, score=first, by=coder, idempotency_key=uuid4())
    withdraw_score(study=study, score=back, by=coder)
    assert compare()["differences"] == []


def test_the_database_refuses_a_score_of_the_wrong_place_or_range(interview, stance, coder):
    given = score(stance, interview, coder, 1)
    for changes in ({"value": 4}, {"feature": "feature.task"}, {"criterion": "updated"}, {"criterion": "warranted"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Score.objects.filter(pk=given.pk).update(**changes)
