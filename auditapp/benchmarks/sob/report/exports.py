"""The export of the benchmark: one row an answer, of every batch of a study, without the texts that were asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice

from auditapp.benchmarks.sob.models import Interpretation, Judgment
from transcripts.exchange.rows import Export, Scope, column, columns, find_places
from transcripts.studies.roles import Permission

GROUP = 1_000
NANO = Decimal(1_000_000_000)
RULES = "rules"

_PLACE = columns(
    Judgment,
    "study batch cell model provider parameters task instrument_sha256 repeat text_id source external_id target "
    "target_secondary target_tertiary",
    study="cell__batch__study__slug",
    batch="cell__batch_id",
    cell="cell_id",
    model="arm__variant__label",
    provider="arm__variant__account__provider",
    parameters="arm__variant__parameters",
    task=("arm__task", "acceptability, non_acceptability or base."),
    instrument_sha256="arm__prompt_hash",
    source="text__source",
    external_id="text__external_id",
    target="text__target",
    target_secondary="text__target_secondary",
    target_tertiary="text__target_tertiary",
)
_ANSWER = column(
    "answer",
    "cell__result__answer",
    "The answer, character by character as the rules read it; it may repeat words of the text. Empty where none came.",
)
_READING = columns(Judgment, "outcome verdict attributes n_attributes n_named n_on_schema n_strict repaired parser")
_CALL = [
    *columns(
        Judgment,
        "attempt served_model finish_reason tokens_in tokens_out tokens_reasoning",
        attempt="cell__result__attempt_id",
        served_model="cell__result__attempt__served_model",
        finish_reason="cell__result__attempt__finish_reason",
        tokens_in="cell__result__attempt__tokens_in",
        tokens_out="cell__result__attempt__tokens_out",
        tokens_reasoning="cell__result__attempt__tokens_reasoning",
    ),
    column("cost_usd", "cell__result__attempt__cost_nano", "US dollars the call cost.", Decimal),
]
_PLACE_PATHS = [each.source for each in _PLACE]
_READING_PATHS = [each.source for each in _READING]
[_CELL] = find_places(_PLACE, "cell")
_SUPERSEDED = len(_PLACE) + len(_READING)
COLUMNS = [*_PLACE, *_READING, *columns(Interpretation, "reader"), *_CALL, _ANSWER]


def count_answers(scope: Scope) -> int:
    """How many rows ``read_answers`` yields."""
    return Judgment.objects.filter(cell__batch__study=scope.study).count()


def read_answers(scope: Scope) -> Iterator[Sequence[object]]:
    """Every answer of the study with its current interpretation, a thousand at a time."""
    judgments = Judgment.objects.filter(cell__batch__study=scope.study).order_by("cell_id")
    paths = (*_PLACE_PATHS, *_READING_PATHS, "superseded_by_id", *(each.source for each in (*_CALL, _ANSWER)))
    rows = judgments.values_list(*paths)
    stream = rows.iterator(chunk_size=GROUP)
    while group := list(islice(stream, GROUP)):
        later = _find_later([row[_CELL] for row in group if row[_SUPERSEDED]])
        yield from (_write_row(row, later) for row in group)


def _find_later(cells: Sequence[int]) -> dict[int, tuple[object, ...]]:
    """The current interpretation and its reader, of answers that were read again."""
    interpretations = Interpretation.objects.filter(judgment__in=cells, superseded_by=None)
    return {
        cell: tuple(values) for cell, *values in interpretations.values_list("judgment_id", *_READING_PATHS, "reader")
    }


def _write_row(row: Sequence[object], later: dict[int, tuple[object, ...]]) -> tuple[object, ...]:
    place, first = row[: len(_PLACE)], row[len(_PLACE) : _SUPERSEDED]
    *call, cost, answer = row[_SUPERSEDED + 1 :]
    current = later.get(int(str(row[_CELL])), (*first, RULES))
    return (*place, *current, *call, None if cost is None else Decimal(str(cost)) / NANO, answer)


SOB_ANSWERS = Export(
    key="sob_answers",
    name="Answers to the second-order-bias benchmark",
    sentence=(
        "How each answer was read, with its counts, the call behind it and the answer itself, which may repeat offensive "
        "words. The texts are not in it."
    ),
    row="an answer to the second-order-bias benchmark, with its current interpretation",
    columns=COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    is_narrowed=False,
    read_rows=read_answers,
    count_rows=count_answers,
)
