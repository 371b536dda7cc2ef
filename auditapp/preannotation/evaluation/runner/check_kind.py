"""Checks before a batch, in the engine: the same questions about turns as for the desk, their answers kept from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auditapp.batches.kinds import Answered
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch
from auditapp.preannotation.annotators.runner.parse_responses import understand_answers, write_check_answer
from auditapp.preannotation.annotators.runner.render_prompts import write_turn_prompts
from auditapp.preannotation.batch_kinds import CHECK_KIND
from auditapp.preannotation.models import CheckAnswer


class CheckKind:
    """Inputs are keys of ``Turn``. Every arm has a condition, so that no answer is ever a suggestion."""

    name = CHECK_KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return write_turn_prompts(arm, input_ids)

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        understood = list(understand_answers(batch, answers))
        CheckAnswer.objects.bulk_create(write_check_answer(each) for each in understood)
        outcomes = {each.cell_id: PROVIDER_ERROR for each in answers if each.answer is None}
        return outcomes | {each.cell_id: str(each.outcome) for each in understood}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Nothing: where no answer came, nothing was stored."""
