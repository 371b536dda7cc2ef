"""The export of the benchmark: one row an answer, of every batch of a study, without texts and without the words of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice

from auditapp.sob.models import Judgment, Reading
from transcripts.exchange.registry import Export, Scope
from transcripts.projects.roles import Permission

GROUP = 1_000
NANO = Decimal(1_000_000_000)
RULES = "rules"

_PLACE = {
    "project": "cell__batch__project__slug",
    "batch": "cell__batch_id",
    "cell": "cell_id",
    "model": "arm__variant__label",
    "provider": "arm__variant__account__provider",
    "task": "arm__task",
    "instrument_sha256": "arm__prompt_hash",
    "repeat": "repeat",
    "text_id": "text_id",
    "source": "text__source",
    "external_id": "text__external_id",
    "target": "text__target",
    "target_secondary": "text__target_secondary",
    "target_tertiary": "text__target_tertiary",
}
_READING = (
    "outcome",
    "verdict",
    "attributes",
    "n_attributes",
    "n_named",
    "n_on_schema",
    "n_strict",
    "repaired",
    "parser",
)
_CALL = {
    "attempt": "cell__result__attempt_id",
    "served_model": "cell__result__attempt__served_model",
    "finish_reason": "cell__result__attempt__finish_reason",
    "tokens_in": "cell__result__attempt__tokens_in",
    "tokens_out": "cell__result__attempt__tokens_out",
    "tokens_reasoning": "cell__result__attempt__tokens_reasoning",
    "cost_usd": "cell__result__attempt__cost_nano",
}
_CELL = list(_PLACE).index("cell")
_SUPERSEDED = len(_PLACE) + len(_READING)
COLUMNS = [*_PLACE, *_READING, "layer", *_CALL]


def read_answers(scope: Scope) -> Iterator[Sequence[object]]:
    """Every answer of the study with the reading that stands, a thousand at a time."""
    judgments = Judgment.objects.filter(cell__batch__project=scope.project).order_by("cell_id")
    rows = judgments.values_list(*_PLACE.values(), *_READING, "superseded_by_id", *_CALL.values())
    stream = rows.iterator(chunk_size=GROUP)
    while group := list(islice(stream, GROUP)):
        later = _find_later([row[_CELL] for row in group if row[_SUPERSEDED]])
        yield from (_write_row(row, later) for row in group)


def _find_later(cells: Sequence[int]) -> dict[int, tuple[object, ...]]:
    """The reading that stands and its layer, of answers that were read again."""
    readings = Reading.objects.filter(judgment__in=cells, superseded_by=None)
    return {cell: tuple(values) for cell, *values in readings.values_list("judgment_id", *_READING, "layer")}


def _write_row(row: Sequence[object], later: dict[int, tuple[object, ...]]) -> tuple[object, ...]:
    place, first = row[: len(_PLACE)], row[len(_PLACE) : _SUPERSEDED]
    *call, cost = row[_SUPERSEDED + 1 :]
    standing = later.get(int(str(row[_CELL])), (*first, RULES))
    return (*place, *standing, *call, None if cost is None else Decimal(str(cost)) / NANO)


SOB_ANSWERS = Export(
    key="sob_answers",
    name="Answers to the second-order-bias benchmark",
    sentence="How each answer was read, with its counts and the call behind it; no text and no answer in words.",
    header=COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    read_rows=read_answers,
    meanings={
        "batch": "Number of the batch.",
        "cell": "Number of the cell: one text under one model, task and repeat.",
        "model": "Label of the model variant.",
        "provider": "Who runs the model; fake where answers are invented, file where they were brought in.",
        "task": "acceptability, non_acceptability or base.",
        "instrument_sha256": "SHA-256 of the instructions.",
        "repeat": "The how manieth time the same was asked.",
        "text_id": "Number of the text.",
        "source": "Source of the text.",
        "external_id": "The text's id in its source.",
        "target": "The group the text targets.",
        "target_secondary": "A second group it targets.",
        "target_tertiary": "A third group it targets.",
        "outcome": "attributed, unknown, verdict, refusal, truncated, off_format, empty or provider_error.",
        "verdict": "The answer to the base task.",
        "attributes": "What was attributed, as JSON text.",
        "n_attributes": "Attributes in paper counting.",
        "n_named": "The same without placeholders such as any.",
        "n_on_schema": "The same, at most one per characteristic asked for.",
        "n_strict": "Attributes in strict counting.",
        "repaired": "Whether the answer was no strict JSON and was mended.",
        "parser": "Version of the rules, or of what read it.",
        "layer": "rules, formatter or person: whose reading stands.",
        "attempt": "Number of the paid call.",
        "served_model": "The model as the provider named it in its answer.",
        "finish_reason": "The provider's word for why the answer ended.",
        "tokens_in": "Tokens read.",
        "tokens_out": "Tokens written.",
        "tokens_reasoning": "Tokens of reasoning among them.",
        "cost_usd": "US dollars the call cost.",
    },
)
