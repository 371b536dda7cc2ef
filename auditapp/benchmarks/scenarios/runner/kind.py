"""The part of interviews in the batch engine: a cell is one question, and its call continues the talk before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auditapp.batches.kinds import Answered, Said
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch
from auditapp.batches.pure.chaining import read_words
from auditapp.benchmarks.scenarios.models import Question
from auditapp.benchmarks.scenarios.pure.lines import name_answer

KIND = "play"


class PlayKind:
    """Inputs are keys of ``Question``. Nothing is stored of an answer but its cell's result, which pages and threads read."""

    name = KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, Said]:
        """The questions as they were typed; the engine adds what was said before."""
        return dict(Question.objects.filter(pk__in=input_ids).values_list("pk", "text"))

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        return {
            each.cell_id: PROVIDER_ERROR
            if each.answer is None
            else name_answer(read_words(each.answer), each.finish_reason)
            for each in answers
        }

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Nothing: where no answer came, nothing was stored."""
