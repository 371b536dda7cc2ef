"""What stands of an annotator's turn answers."""

from uuid import uuid4

import pytest
from django.utils import timezone

from auditapp.annotators.models import Annotator, CriticAnswer
from auditapp.annotators.queries.machine_labels import read_machine_labels
from auditapp.batches.models import Cell
from tests.auditapp.evaluation.cast import BALANCE, COMPASSION, bring_in, make_annotator, read, read_offline
from tests.support.databases import stored
from transcripts.codebook.models import Code
from transcripts.corpus.models import BoundaryEdit, Sentence


@pytest.fixture
def said(study, owner):
    return bring_in(study, owner, turns=2)


@stored
def annotator(study):
    return make_annotator(study)


def tell(labels):
    """By sentence the codes it was read for, and whether they were put."""
    return {
        int(pk): {
            code: bool(labels.labels[row, place])
            for row, code in enumerate(labels.codes)
            if labels.was_read[row, place]
        }
        for place, pk in enumerate(labels.sentence_ids)
    }


def test_an_answer_says_yes_and_no_and_nothing_where_it_left_a_sentence_out(annotator, said):
    read(annotator, said[:3], {said[0].pk: [BALANCE]}, missing=[said[2].pk])
    no = {BALANCE: False, COMPASSION: False}
    assert tell(read_machine_labels(annotator)) == {said[0].pk: {BALANCE: True, COMPASSION: False}, said[1].pk: no}


def test_the_latest_turn_answer_of_a_sentence_and_code_holds(annotator, said):
    read(annotator, said[:3], {said[0].pk: [BALANCE, COMPASSION]})
    read(annotator, said[:3], {said[1].pk: [BALANCE]}, codes=[BALANCE], missing=[said[2].pk])
    told = tell(read_machine_labels(annotator))
    assert told[said[0].pk] == {BALANCE: False, COMPASSION: True}
    assert told[said[1].pk] == {BALANCE: True, COMPASSION: False}
    assert told[said[2].pk] == {BALANCE: False, COMPASSION: False}


def test_an_answer_of_no_use_is_no_turn_answer(annotator, said):
    read(annotator, said[:3], {}, outcome="invalid")
    labels = read_machine_labels(annotator)
    assert len(labels.sentence_ids) == 0
    assert labels.find_places(labels.sentence_ids + 1).tolist() == []


def test_old_answers_speak_of_every_sentence_their_turn_then_had(study, annotator, said):
    read(annotator, said[:3], {said[0].pk: [BALANCE]}, is_old=True)
    told = tell(read_machine_labels(annotator))
    themes = set(Code.objects.filter(version=annotator.version, family__identifier="themes").values_list("identifier"))
    assert set(told) == {each.pk for each in said[:3]}
    assert len(told[said[1].pk]) == len(themes)
    assert told[said[0].pk][BALANCE]


def test_retired_sentences_are_left_out_unless_asked_for(study, owner, annotator, said):
    read(annotator, said[:3], {said[0].pk: [BALANCE]})
    Sentence.objects.filter(pk=said[0].pk).update(retired_by=_edit(said[0], owner))
    assert said[0].pk not in tell(read_machine_labels(annotator))
    assert tell(read_machine_labels(annotator, sentences=[said[0].pk])) == {
        said[0].pk: {BALANCE: True, COMPASSION: False}
    }


def _edit(sentence, by):
    return BoundaryEdit.objects.create(
        turn=sentence.turn, kind="split", idempotency_key=uuid4(), edited_at=timezone.now(), edited_by=by
    ).pk


def test_what_a_critic_reversed_last_is_left_out_on_demand(annotator, said):
    first, second = read(annotator, said[:3], {said[0].pk: [BALANCE], said[1].pk: [BALANCE]})
    for suggestion, verdicts in ((first, ("upheld", "rejected")), (second, ("rejected", "upheld"))):
        for verdict in verdicts:
            _criticise(suggestion.pk, verdict)
    assert tell(read_machine_labels(annotator))[said[0].pk][BALANCE]
    told = tell(read_machine_labels(annotator, with_critic=True))
    assert not told[said[0].pk][BALANCE]
    assert told[said[1].pk][BALANCE]


def _criticise(suggestion, verdict):
    arm = Cell.objects.order_by("-pk")[0].arm
    cell = Cell.objects.create(
        batch=arm.batch, arm=arm, input_id=10_000 + suggestion, repeat=Cell.objects.count(), state="done"
    )
    CriticAnswer.objects.create(cell=cell, suggestion_id=suggestion, verdict=verdict)


def test_an_offline_annotator_says_nothing_of_codes_it_has_no_rule_for(study, said):
    rules = {"reader": "rules-1", "rules": {BALANCE: ["stands"], COMPASSION: []}}
    annotator = make_annotator(study, "rules", kind=Annotator.Kind.RULES, recipe=rules)
    read_offline(annotator, said, {said[0].pk: [BALANCE]})
    told = tell(read_machine_labels(annotator))
    assert told[said[0].pk] == {BALANCE: True}
    assert told[said[5].pk] == {BALANCE: False}
    read_offline(annotator, said, {said[5].pk: [BALANCE]})
    assert tell(read_machine_labels(annotator))[said[0].pk] == {BALANCE: False}


def test_another_annotators_turn_answers_are_its_own(study, annotator, said):
    read(annotator, said, {said[0].pk: [BALANCE]})
    other = make_annotator(study, "other")
    read(other, said, {said[1].pk: [BALANCE]})
    assert not tell(read_machine_labels(other))[said[0].pk][BALANCE]


def test_the_number_of_queries_does_not_grow(annotator, said, django_assert_max_num_queries):
    read(annotator, said, {said[0].pk: [BALANCE]})
    with django_assert_max_num_queries(6):
        read_machine_labels(annotator)
