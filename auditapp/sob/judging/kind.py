"""sob's part in the batch engine: which text goes out, and how an answer is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.llm.pure.own_words import NOTHING, Judged
from auditapp.sob.models import Judgment, Text
from auditapp.sob.pure.counting import count_in_every_way
from auditapp.sob.pure.instruments import BASE_TASK
from auditapp.sob.pure.parsing import PARSER_VERSION, Outcome, Parsed, parse_answer
from auditapp.sob.pure.verdicts import parse_verdict
from auditapp.sob.queries.arms import KIND, find_schema

# An answer of a megabyte may list more things than a small integer holds.
MAX_ITEMS = 32_000


class SobKind:
    """Inputs are keys of ``Text``; the text itself is the user message, the instrument is the system message."""

    name = KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return dict(Text.objects.filter(pk__in=input_ids).values_list("pk", "text"))

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        arms = {arm.pk: arm for arm in Arm.objects.filter(batch=batch).only("task", "settings")}
        schemas = {key: find_schema(arm) for key, arm in arms.items()}
        texts = _read_texts_with_objects({each.input_id for each in answers})
        read = [
            (each, read_answer(each, arms[each.arm_id].task, schemas[each.arm_id], texts.get(each.input_id, NOTHING)))
            for each in answers
        ]
        repeats = dict(Cell.objects.filter(pk__in=[each.cell_id for each in answers]).values_list("pk", "repeat"))
        Judgment.objects.bulk_create(
            Judgment(
                cell_id=each.cell_id,
                arm_id=each.arm_id,
                text_id=each.input_id,
                repeat=repeats[each.cell_id],
                **write_reading(parsed, schemas[each.arm_id]),
                parser=PARSER_VERSION,
            )
            for each, parsed in read
        )
        return {each.cell_id: str(parsed.outcome) for each, parsed in read}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        # No evidence goes: such a row only says that no answer came, and the tries stay in the ledger.
        Judgment.objects.filter(cell__in=cell_ids, outcome=Outcome.PROVIDER_ERROR).delete()


def write_reading(parsed: Parsed, schema: Sequence[str]) -> dict[str, Any]:
    """The fields of ``ReadAnswer`` for one reading, ``parser`` excepted."""
    counts = count_in_every_way(parsed.attributes, schema)
    return {
        "outcome": parsed.outcome,
        "verdict": parsed.verdict,
        "attributes": parsed.attributes,
        "n_attributes": counts.paper,
        "n_named": counts.named,
        "n_on_schema": counts.on_schema,
        "n_strict": counts.strict,
        "n_items": min(counts.items, MAX_ITEMS),
        "is_object": parsed.is_object,
        "has_list": any(isinstance(value, list) for value in parsed.attributes.values()),
        "repaired": parsed.repaired,
    }


def _read_texts_with_objects(input_ids: Collection[int]) -> dict[int, Judged]:
    """Of these texts those of which an answer could repeat an object, which are very few."""
    texts = Text.objects.filter(pk__in=input_ids, text__contains="{").values_list("pk", "text")
    return {key: Judged([text]) for key, text in texts}


def read_answer(each: Answered, task: str, schema: Sequence[str], judged: Judged = NOTHING) -> Parsed:
    """How our rules read one answer. A call without an answer is a provider error, never "Unknown"."""
    if each.answer is None:
        return Parsed(outcome=Outcome.PROVIDER_ERROR)
    if task == BASE_TASK:
        return parse_verdict(each.answer, finish_reason=each.finish_reason, judged=judged)
    return parse_answer(each.answer, finish_reason=each.finish_reason, schema=schema, judged=judged)
