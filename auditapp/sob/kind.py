"""sob's part in the batch engine: which text goes out, and how an answer is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Batch
from auditapp.sob.models import Judgment, Text
from auditapp.sob.parsing import PARSER_VERSION, Outcome, Parsed, parse_answer

KIND = "sob"


class SobKind:
    """Inputs are keys of ``Text``; the text itself is the user message, the instrument is the system message."""

    name = KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return dict(Text.objects.filter(pk__in=input_ids).values_list("pk", "text"))

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        read = [(each, read_answer(each)) for each in answers]
        Judgment.objects.bulk_create(
            Judgment(
                cell_id=each.cell_id,
                text_id=each.input_id,
                outcome=parsed.outcome,
                attributes=parsed.attributes,
                n_attributes=parsed.n_attributes,
                repaired=parsed.repaired,
                parser=PARSER_VERSION,
            )
            for each, parsed in read
        )
        return {each.cell_id: str(parsed.outcome) for each, parsed in read}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        # No evidence goes: such a row only says that no answer came, and the tries stay in the ledger.
        Judgment.objects.filter(cell__in=cell_ids, outcome=Outcome.PROVIDER_ERROR).delete()


def read_answer(each: Answered) -> Parsed:
    """What our rules make of one answer; a call that never brought one is a provider error, never "Unknown"."""
    if each.answer is None:
        return Parsed(outcome=Outcome.PROVIDER_ERROR, attributes={}, n_attributes=0, repaired=False)
    return parse_answer(each.answer, finish_reason=each.finish_reason)
