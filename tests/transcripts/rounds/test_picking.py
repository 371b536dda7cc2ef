"""A round of some interviews: which are picked, and who can code the others afterwards."""

import pytest
from django.urls import reverse

from tests.transcripts.coding.cast import decide
from tests.transcripts.rounds.cast import answers, bring_in, is_open_for, open_round
from transcripts.audit_trail.models import AuditEvent
from transcripts.coding.actions import NotOpen
from transcripts.coding.models import Decision
from transcripts.refusals import Refused
from transcripts.rounds.actions import complete_interview
from transcripts.rounds.models import Round


@pytest.fixture
def interviews(study, owner):
    return bring_in(study, owner, ["A", "A", "B", "B"])


def may_code(interview, person):
    """What the desk says; the rule in words has to agree."""
    decided = Decision.objects.filter(sentence__turn__interview=interview, coder=person).count()
    try:
        # A sentence that is decided already is told as decided, whatever is open.
        decide(answers(interview)[decided], person)
    except NotOpen:
        is_open = False
    else:
        is_open = True
    assert is_open_for(interview, person) is is_open
    return is_open


def test_what_no_round_assigns_stays_open_unless_a_round_closes_it(study, owner, coder, second_coder, interviews):
    first, second, third, _ = interviews
    open_round(study, owner, coder, interview_ids=[first.pk], closes_others=False)
    assert [may_code(first, coder), may_code(first, second_coder)] == [True, False]
    assert [may_code(second, coder), may_code(second, second_coder)] == [True, True]
    open_round(study, owner, second_coder, name="Second", interview_ids=[second.pk], closes_others=True)
    assert [may_code(second, coder), may_code(second, second_coder)] == [False, True]
    assert [may_code(third, coder), may_code(third, second_coder)] == [False, False]
    assert may_code(first, coder)


def test_what_stays_open_is_finished_and_not_signed_off(study, owner, coder, second_coder, interviews):
    open_round(study, owner, coder, interview_ids=[interviews[0].pk], closes_others=False)
    decide(answers(interviews[1])[0], second_coder)
    complete_interview(study=study, interview=interviews[1], reason="Enough.", by=second_coder)
    assert not may_code(interviews[1], second_coder)
    assert may_code(interviews[1], coder)
    decide(answers(interviews[0])[0], coder)
    with pytest.raises(Refused, match="assigned"):
        complete_interview(study=study, interview=interviews[0], reason="Enough.", by=coder)


def test_rounds_of_before_close_what_lies_outside(study, owner, coder, second_coder, interviews):
    open_round(study, owner, coder, models=["A"])
    assert Round.objects.get().closes_others
    assert not may_code(interviews[3], second_coder)


@pytest.mark.parametrize("drawn", [1, 3, 9])
def test_interviews_are_drawn_by_the_seed(study, owner, coder, interviews, drawn):
    round_ = open_round(study, owner, coder, drawn=drawn)
    assert round_.assignments.count() == min(drawn, 4)
    assert AuditEvent.objects.get(action="round.opened").details["drawn"] == drawn


class TestPage:
    def test_what_is_ticked_in_the_list_is_ticked_in_the_form(self, study, owner, interviews, client_of):
        address = reverse("rounds:new", args=[study.slug])
        page = client_of(owner).post(address, {"pick": "1", "interview": [interviews[2].pk]})
        assert page.status_code == 200
        assert page.context["form"]["interviews"].value() == [str(interviews[2].pk)]
        assert (
            f'formaction="{address}"'
            in client_of(owner).get(reverse("corpus:interviews", args=[study.slug])).content.decode()
        )
        every = client_of(owner).post(address, {"pick": "1", "every": "1"})
        assert len(every.context["form"]["interviews"].value()) == 4

    @pytest.mark.parametrize(
        ("choice", "words"),
        [
            ("open", "The other 3 interviews stay as they are."),
            ("close", "The other 3 interviews can be coded only by"),
        ],
    )
    def test_the_plan_says_who_can_code_the_others(self, study, owner, coder, interviews, client_of, choice, words):
        client, address = client_of(owner), reverse("rounds:new", args=[study.slug])
        blank = client.get(address).context["form"]
        sent = {
            "name": "Pilot",
            "coders": [str(coder.pk)],
            "interviews": [str(interviews[0].pk)],
            "closes_others": choice,
            "overlap_percent": "0",
            "overlap_readers": "2",
            "seed": "1",
            "idempotency_key": str(blank["idempotency_key"].value()),
        }
        planned = client.post(address, sent)
        assert words in " ".join(planned.content.decode().split())
        assert not Round.objects.exists()
        confirmed = client.post(address, sent | {"plan_name": planned.context["plan"]["name"]})
        assert confirmed.status_code == 302
        assert Round.objects.get().closes_others is (choice == "close")
        assert [row.interview_id for row in Round.objects.get().assignments.all()] == [interviews[0].pk]
