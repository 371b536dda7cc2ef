"""The formatter's part in the batch engine: which answers go to it, and how what it writes is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Arm, Batch, Result
from auditapp.sob.judging.kind import add_readings, find_current_readings, lock_judgments, make_reading
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.pure.formatter_answers import (
    MAX_ANSWER_LENGTH,
    FormatterEnd,
    load_prompt,
    read_formatter_answer,
    read_refused_answer,
    write_answer_schema,
    write_message,
)
from auditapp.sob.pure.instruments import TASKS
from auditapp.sob.pure.parsing import Outcome, Parsed
from auditapp.sob.queries import find_schema

FORMATTER_KIND = "sob_format"
READABLE_OUTCOMES = (Outcome.OFF_FORMAT, Outcome.REFUSAL)
"""What a formatter may be asked about: answers in words that no rule reads, and those a rule of thumb takes for refusals."""

DEFAULT_OUTCOMES = (Outcome.OFF_FORMAT,)
"""What it is asked about unless somebody chooses otherwise: a refusal that the rules recognised is left alone."""

NOTES = {FormatterEnd.INVENTED: "invented value", FormatterEnd.NO_EVIDENCE: "no evidence"}
STOPPED_BY_PROVIDER = ("content_filter", "refusal")
SCORED_TASKS = tuple(key for key, _ in TASKS)


class FormatterKind:
    """Inputs are keys of ``Judgment``; the raw answer is the user message, between marks."""

    name = FORMATTER_KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        rows = Result.objects.filter(cell__in=list(input_ids)).values_list("cell_id", "answer")
        return {cell_id: write_message(answer) for cell_id, answer in rows}

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        ids = sorted({each.input_id for each in answers})
        sources = dict(Result.objects.filter(cell__in=ids).values_list("cell_id", "answer"))
        judgments = lock_judgments(ids)
        found = {
            each.cell_id: _read(judgments[each.input_id], each, sources.get(each.input_id, "")) for each in answers
        }
        current = find_current_readings(ids)
        ends: dict[int, str] = {}
        rows: dict[int, Reading] = {}
        for each in answers:
            end, parsed = found[each.cell_id]
            before = current.get(each.input_id)
            if parsed is None:
                ends[each.cell_id] = end
            elif before is not None and before.layer == Reading.Layer.PERSON:
                ends[each.cell_id] = FormatterEnd.PERSON_FIRST
            elif before is not None and parsed.outcome == Outcome.OFF_FORMAT:
                # Another formatter was first: one that found nothing to read takes nothing from it.
                ends[each.cell_id] = end
            else:
                ends[each.cell_id] = end
                judgment = judgments[each.input_id]
                rows[each.input_id] = _make_row(
                    judgment,
                    before,
                    parsed,
                    each.cell_id,
                    note=NOTES.get(end, ""),
                )
        add_readings(list(rows.values()), current)
        return ends

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Nothing was stored for a call that failed: the reading before still counts."""


def write_formatter_schema(arm: Arm, prompt: str) -> dict[str, Any]:
    """The schema of every answer of an arm: it names the characteristics that its answers were asked for."""
    return write_answer_schema(arm.settings["schema"])


def _read(judgment: Judgment, said: Answered, answer: str) -> tuple[FormatterEnd, Parsed | None]:
    is_refused = judgment.outcome == Outcome.REFUSAL
    schema = find_schema(judgment.arm)
    read = read_refused_answer if is_refused else read_formatter_answer
    return read(said.answer, answer, schema, finish_reason=said.finish_reason)


def _make_row(judgment: Judgment, before: Reading | None, parsed: Parsed, cell_id: int, *, note: str) -> Reading:
    return make_reading(
        judgment,
        before,
        parsed,
        layer=Reading.Layer.FORMATTER,
        formatter_cell_id=cell_id,
        parser=load_prompt().version,
        note=note,
    )


def find_unread(batch: Batch, outcomes: Sequence[str]) -> QuerySet[Judgment]:
    """The answers of a sob batch to the two scored tasks that no rule could read and nobody has read since.

    A refusal counts only when a rule of thumb saw it in words: what the provider stopped holds nothing to read.
    """
    return (
        Judgment.objects.filter(
            arm__batch=batch, arm__task__in=SCORED_TASKS, outcome__in=list(outcomes), superseded_by__isnull=True
        )
        .exclude(outcome=Outcome.REFUSAL, cell__result__attempt__finish_reason__in=STOPPED_BY_PROVIDER)
        .exclude(cell__result__answer="")
        .filter(cell__result__isnull=False)
    )


def list_for_formatter(batch: Batch, outcomes: Sequence[str]) -> list[int]:
    """The keys of the answers that a formatter would be shown, in order."""
    short = find_unread(batch, outcomes).alias(size=Length("cell__result__answer")).filter(size__lte=MAX_ANSWER_LENGTH)
    return list(short.order_by("pk").values_list("pk", flat=True))
