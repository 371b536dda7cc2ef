"""Whose interview it is, whether it is completed, and whether its round is locked."""

import re
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.transcripts.coding.cast import decide, put, standing_codes, take_off
from tests.transcripts.desk.desk_pages import act, address, read
from transcripts.coding import actions
from transcripts.coding.models import Coding
from transcripts.corpus.models import Sentence
from transcripts.rounds.models import Assignment, Round


@pytest.fixture
def assign(study, interview, lead):
    """Give the interview to a coder, in a round of its own."""

    def give(coder, *, is_signed=False, is_locked=False, is_withdrawn=False):
        now = timezone.now()
        number = study.rounds.count() + 1
        lock = {"locked_at": now, "locked_by": lead} if is_locked else {}
        dealt = Round.objects.create(
            study=study, number=number, name=f"Round {number}", opened_at=now, opened_by_name="lead", **lock
        )
        return Assignment.objects.create(
            round=dealt,
            interview=interview,
            coder=coder,
            assigned_at=now,
            assigned_by_name="lead",
            completed_at=now if is_signed else None,
            withdrawn_at=now if is_withdrawn else None,
        )

    return give


def test_study_without_assignments_is_open(sentence, code, coder):
    assert put(sentence, code, coder)


def test_assigned_coder_codes_and_others_do_not(assign, sentence, code, coder, second_coder):
    assign(coder)
    assert put(sentence, code, coder)
    with pytest.raises(actions.NotOpen, match="not assigned to you"):
        put(sentence, code, second_coder)


def test_the_panel_of_a_closed_interview_says_why_its_codes_do_nothing(assign, interview, coder, lead, client_of):
    client = client_of(lead)
    assert "no code can be applied or removed here" not in read(client.get(address("desk", interview)))
    assign(coder)
    html = read(client.get(address("desk", interview)))
    assert "no code can be applied or removed here." in html
    assert html.count("This interview is not assigned to you.") == 2
    assert re.findall(r'<button class="code[ "](?![^>]* disabled)', html) == []
    # A lead corrects boundaries in interviews that are assigned to others.
    assert re.search(r'<button class="more-act" type="button" value="split">', html)


def test_only_those_who_can_open_it_again_are_led_to_where_that_is_done(
    assign, interview, coder, second_coder, lead, client_of
):
    assign(coder)
    for person, is_led in ((lead, True), (second_coder, False)):
        html = read(client_of(person).get(address("desk", interview)))
        assert "not assigned to you" in html
        assert (f'href="/studies/{interview.study.slug}/rounds/">Assign it in a round</a>' in html) is is_led


@pytest.mark.parametrize(
    ("state", "told"), [({"is_signed": True}, "completed"), ({"is_locked": True}, "round .* is locked")]
)
def test_closed_work_stays_as_it_is(assign, study, interview, sentence, code, coder, state, told):
    coding, decision = put(sentence, code, coder), decide(sentence, coder)
    other = Sentence.objects.select_related("turn__interview__study").filter(turn=sentence.turn).order_by("-start")[0]
    assign(coder, **state)
    for attempt in (
        lambda: put(other, code, coder),
        lambda: put(sentence, code, coder, grounding="grounded"),
        lambda: take_off(coding, coder),
        lambda: decide(other, coder),
        lambda: actions.reopen_sentence(study=study, decision=decision, by=coder),
    ):
        with pytest.raises(actions.NotOpen, match=told):
            attempt()
    assert standing_codes(sentence, coder) == ["theme.balance"]
    assert Coding.objects.count() == 1
    memo = actions.write_memo(
        study=study,
        interview=interview,
        sentence=sentence,
        text="Still thinking",
        by=coder,
        idempotency_key=uuid4(),
    )
    assert memo.text == "Still thinking"


def test_replay_of_what_was_stored_before_the_lock_is_answered(assign, sentence, code, coder):
    idempotency_key = uuid4()
    coding = put(sentence, code, coder, idempotency_key=idempotency_key)
    assign(coder, is_locked=True)
    assert put(sentence, code, coder, idempotency_key=idempotency_key) == coding


def test_a_new_open_round_opens_the_interview_again(assign, sentence, code, coder):
    assign(coder, is_locked=True)
    assign(coder)
    assert put(sentence, code, coder)


def test_withdrawn_assignments_count_for_nothing(assign, sentence, code, coder):
    assign(coder, is_locked=True, is_withdrawn=True)
    assert put(sentence, code, coder)


def test_the_desk_says_why_and_takes_no_codes(assign, interview, sentence, code, coder, second_coder, client_of):
    put(sentence, code, second_coder)
    assign(coder)
    client = client_of(second_coder)
    html = read(client.get(address("desk", interview)))
    assert "This interview is not assigned to you" in html
    assert 'class="remove"' not in html
    assert "Balance" in html
    answer = act(client, "decide", interview, second_coder, sentence=sentence.pk)
    assert answer.status_code == 409
    assert "ask a lead or owner to assign it" in answer.content.decode()
