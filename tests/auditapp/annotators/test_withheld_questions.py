"""A turn of the interviewer whose answer is withheld: what a machine says of it is listed to nobody."""

import pytest
from django.urls import reverse

from auditapp.annotators.models import TurnArm
from auditapp.annotators.withholding import ensure_arms
from auditapp.batches.models import Arm, Cell
from tests.auditapp.annotators.cast import FACT, answer, bring_in, find_arm, launch, store
from tests.auditapp.suggestions.cast import show_all
from transcripts.audit_trail import trail
from transcripts.corpus.models import Sentence

Talk = list[list[Sentence]]
CHALLENGED, REPLY = 2, 3


@pytest.fixture
def talk(study):
    """Nothing of it is withheld."""
    show_all(study)
    return bring_in(study)


@pytest.fixture
def arm(study, owner, talk):
    return find_arm(launch(study, owner))


def propose(arm, talk):
    return answer(arm, talk[CHALLENGED], {FACT: "manager has left"})[FACT]


def withhold(study, talk):
    """Withhold the answer to the challenge."""
    ensure_arms(study=study, interviews=None, by=trail.SYSTEM)
    TurnArm.objects.filter(turn=talk[REPLY][0].turn_id).update(arm=TurnArm.Arm.WITHHELD)


def test_what_was_asked_again_about_a_withheld_question_is_listed_to_nobody(study, reader, arm, talk, client_of):
    propose(arm, talk)
    settings = {**arm.settings, "condition": "reask", "seed": 5, "controls": [], "names": {}}
    again = Arm.objects.create(
        batch=arm.batch,
        variant=arm.variant,
        task="again",
        system_prompt=arm.system_prompt,
        prompt_hash="x",
        settings=settings,
    )
    Cell.objects.create(batch=arm.batch, arm=again, input_id=talk[CHALLENGED][0].turn_id)
    store(again, talk[CHALLENGED][0], '{"sentences": []}')
    address = reverse("evaluation:check_answers", args=[study.slug, arm.batch.pk])
    asked = {"figure": "same", "scope": "all"}
    assert "manager has left" in client_of(reader).get(address, asked).content.decode()
    withhold(study, talk)
    page = client_of(reader).get(address, asked).content.decode()
    assert "manager has left" not in page
    assert "withheld turn" in page
