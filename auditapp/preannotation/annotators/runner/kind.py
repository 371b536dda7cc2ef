"""Pre-annotation's part in the batch engine: a cell is one turn under one code family, or one code."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auditapp.batches.kinds import ANSWER_SCHEMA, Answered
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch
from auditapp.llm.models import Capabilities
from auditapp.preannotation.annotators.pure.answer_schemas import read_numbers, write_answer_schema
from auditapp.preannotation.annotators.runner.parse_responses import parse_responses
from auditapp.preannotation.annotators.runner.render_prompts import render_turn_prompts
from auditapp.preannotation.models import CHECK_KIND, KIND, CheckAnswer, Reading, Suggestion


class PreannotationKind:
    """Inputs are keys of ``Turn``. Answers of an arm with a condition (asked again) are kept from the desk."""

    name = KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return render_turn_prompts(arm, input_ids)

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        parsed = list(parse_responses(batch, answers))
        Reading.objects.bulk_create(row for row, _ in parsed if isinstance(row, Reading))
        Suggestion.objects.bulk_create(
            suggestion for row, suggestions in parsed for suggestion in _shuffle(row.cell_id, suggestions)
        )
        CheckAnswer.objects.bulk_create(row for row, _ in parsed if isinstance(row, CheckAnswer))
        outcomes = {each.cell_id: PROVIDER_ERROR for each in answers if each.answer is None}
        return outcomes | {row.cell_id: str(row.outcome) for row, _ in parsed}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Nothing: where no answer came, nothing was stored."""


def write_turn_schema(arm: Arm, prompt: str) -> dict[str, Any]:
    """The schema of the answer about one turn. Reads arm.settings and its instructions."""
    is_ordered = arm.settings[ANSWER_SCHEMA] == Capabilities.AnswerSchema.FULL
    return write_answer_schema(
        arm.system_prompt,
        arm.settings["codes"],
        read_numbers(prompt),
        is_ordered=is_ordered,
        questions=arm.settings.get("questions"),
    )


class CheckKind(PreannotationKind):
    """Questions of a check. Every arm has a condition, so that no answer is ever a suggestion."""

    name = CHECK_KIND


def _shuffle(cell_id: int, suggestions: Sequence[Suggestion]) -> Iterator[Suggestion]:
    """The suggestions at shuffled places: the order must not carry the machine's, and is the same at every showing."""
    places = list(range(len(suggestions)))
    random.Random(cell_id).shuffle(places)  # noqa: S311 - an order, not a secret
    for suggestion, place in zip(suggestions, places, strict=True):
        suggestion.place = place
        yield suggestion
