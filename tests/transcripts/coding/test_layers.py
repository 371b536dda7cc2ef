"""Blind first: what a person sees of the machines, and when, decides the layer of what she codes."""

from __future__ import annotations

import pytest

from tests.transcripts.coding.desk_cast import count_events, decide, find_code, put
from transcripts.accounts.models import User
from transcripts.codebook.models import Code
from transcripts.coding import actions
from transcripts.coding.models import Decision, Layer, Reveal
from transcripts.corpus.models import Sentence
from transcripts.projects.models import Project


def test_no_suggestions_before_the_own_decision(project: Project, sentence: Sentence, code: Code, coder: User) -> None:
    put(sentence, code, coder)
    with pytest.raises(actions.NotDecided):
        actions.reveal_suggestions(project=project, sentence=sentence, by=coder)
    assert not Reveal.objects.exists()


def test_another_persons_decision_reveals_nothing(
    project: Project, sentence: Sentence, coder: User, second_coder: User
) -> None:
    decide(sentence, second_coder)
    with pytest.raises(actions.NotDecided):
        actions.reveal_suggestions(project=project, sentence=sentence, by=coder)


def test_what_is_coded_after_the_reveal_is_assisted(
    project: Project, sentence: Sentence, code: Code, coder: User
) -> None:
    blind = put(sentence, code, coder)
    decide(sentence, coder)
    actions.reveal_suggestions(project=project, sentence=sentence, by=coder)
    assisted = put(sentence, find_code(project, "theme.compassion"), coder)
    assert (blind.layer, assisted.layer) == (Layer.BLIND, Layer.ASSISTED)


def test_reveal_is_told_once_and_outlives_the_decision(
    project: Project, sentence: Sentence, code: Code, coder: User
) -> None:
    decide(sentence, coder)
    first = actions.reveal_suggestions(project=project, sentence=sentence, by=coder)
    events = count_events(project)
    put(sentence, code, coder)
    assert not Decision.objects.filter(withdrawn_at__isnull=True).exists()
    assert actions.reveal_suggestions(project=project, sentence=sentence, by=coder) == first
    assert count_events(project) == events + 1


def test_reveal_to_one_leaves_the_other_blind(
    project: Project, sentence: Sentence, code: Code, coder: User, second_coder: User
) -> None:
    decide(sentence, coder)
    actions.reveal_suggestions(project=project, sentence=sentence, by=coder)
    assert put(sentence, code, second_coder).layer == Layer.BLIND


def test_code_that_stands_blind_stays_blind_when_kept_after_the_reveal(
    project: Project, sentence: Sentence, code: Code, coder: User
) -> None:
    blind = put(sentence, code, coder)
    decide(sentence, coder)
    actions.reveal_suggestions(project=project, sentence=sentence, by=coder)
    assert put(sentence, code, coder) == blind
