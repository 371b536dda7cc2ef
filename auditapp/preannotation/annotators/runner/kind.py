"""Pre-annotation's part in the batch engine: a cell is one turn under one code family, or one code."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from auditapp.batches.kinds import Answered
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch
from auditapp.preannotation.annotators.runner.parse_responses import (
    UnderstoodAnswer,
    understand_answers,
    write_check_answer,
)
from auditapp.preannotation.annotators.runner.render_prompts import write_turn_prompts
from auditapp.preannotation.batch_kinds import KIND
from auditapp.preannotation.models import CheckAnswer, Reading, Suggestion


class PreannotationKind:
    """Inputs are keys of ``Turn``. Answers of an arm with a condition (asked again) are kept from the desk."""

    name = KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return write_turn_prompts(arm, input_ids)

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        understood = list(understand_answers(batch, answers))
        shown = [each for each in understood if not each.condition]
        Reading.objects.bulk_create(_write_reading(each) for each in shown)
        Suggestion.objects.bulk_create(suggestion for each in shown for suggestion in _write_suggestions(each))
        CheckAnswer.objects.bulk_create(write_check_answer(each) for each in understood if each.condition)
        outcomes = {each.cell_id: PROVIDER_ERROR for each in answers if each.answer is None}
        return outcomes | {each.cell_id: str(each.outcome) for each in understood}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Nothing: where no answer came, nothing was stored."""


def _write_reading(each: UnderstoodAnswer) -> Reading:
    return Reading(
        cell_id=each.cell_id,
        annotator=each.annotator,
        outcome=each.outcome,
        problem=each.problem,
        accepted=len(each.proposals),
        rejected=[item._asdict() for item in each.rejected],
        asked=each.asked,
        missing=each.missing,
        flags=list(each.flags),
    )


def _write_suggestions(each: UnderstoodAnswer) -> Iterator[Suggestion]:
    # The order of suggestions must not carry the machine's: shuffled per cell, the same at every showing.
    places = list(range(len(each.proposals)))
    random.Random(each.cell_id).shuffle(places)  # noqa: S311 - an order, not a secret
    for proposal, place in zip(each.proposals, places, strict=True):
        yield Suggestion(
            annotator=each.annotator,
            cell_id=each.cell_id,
            sentence_id=proposal.sentence,
            code_id=proposal.code_id,
            level=proposal.level,
            rationale=proposal.rationale,
            quote_start=proposal.quote[0] if proposal.quote else None,
            quote_end=proposal.quote[1] if proposal.quote else None,
            place=place,
        )
