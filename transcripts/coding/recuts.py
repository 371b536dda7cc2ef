"""Splitting and joining sentences with the work that stands on them: both states are kept."""

from __future__ import annotations

from uuid import UUID

from transcripts.accounts.models import User
from transcripts.coding.carrying import carry_to_pieces, carry_to_whole
from transcripts.corpus import actions as corpus_actions
from transcripts.corpus.models import Recut, Sentence
from transcripts.corpus.pure.recutting import CutRefused
from transcripts.projects.models import Project
from transcripts.rounds.models import Assignment


def split_sentence(*, project: Project, sentence: Sentence, at: int, by: User, client_id: UUID) -> Recut:
    """Cut a sentence in two before the code point ``at`` of its turn's text, with everybody's work on it.

    A coding with a quote goes where its words are, one without goes to both pieces, as do decisions and reveals; a memo
    and codes of the turn or interview go to the first. Raises ``CutRefused`` or ``SentenceRetired``.
    """

    def carry(recut: Recut) -> dict[str, object]:
        _check_open(recut)
        return carry_to_pieces(recut)

    return corpus_actions.split_sentence(
        project=project, sentence=sentence, at=at, by=by, client_id=client_id, carry=carry
    )


def join_sentences(
    *, project: Project, first: Sentence, by: User, client_id: UUID, second_id: int | None = None
) -> Recut:
    """Make one of a sentence and the next of its turn, with everybody's work on them.

    A coding of one becomes one on the whole that quotes it; the same code of one person on both becomes one coding.
    A decision stands where both were decided. Raises ``CutRefused`` or ``SentenceRetired``.
    """

    def carry(recut: Recut) -> dict[str, object]:
        _check_open(recut)
        return carry_to_whole(recut)

    return corpus_actions.join_sentences(
        project=project, first=first, by=by, client_id=client_id, second_id=second_id, carry=carry
    )


def _check_open(recut: Recut) -> None:
    """What somebody has signed off, or a locked round holds, keeps its sentences."""
    given = Assignment.objects.filter(interview=recut.turn.interview_id, withdrawn_at__isnull=True)
    locked = given.filter(round__locked_at__isnull=False).select_related("round").first()
    if locked is not None:
        raise CutRefused(
            f"Round {locked.round.number}, in which this interview was coded, is locked, so its sentence breaks stay as "
            "they are. Unlock the round first."
        )
    signed = given.filter(signed_at__isnull=False).select_related("round").first()
    if signed is not None:
        raise CutRefused(
            f"This interview is signed off in round {signed.round.number}, so its sentence breaks stay as they are. "
            "Give it back to its coder first."
        )
