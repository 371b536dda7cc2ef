"""The readings that stand, a row an answer, as a million of them are fetched in a few seconds.

A row is (arm, text, two whole numbers, attributes as text): each number packs small ones, for a row's price is mostly that
of its columns. The only statements of the room that are not written by Django.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from django.db import connection
from django.db.models import OuterRef, Subquery

from auditapp.batches.models import Batch, Cell
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.parsing import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JUDGMENT = Judgment._meta.db_table
READING = Reading._meta.db_table

ROWS_AT_A_TIME = 20_000
# No small integer of the database is larger.
PART = 32_768
OUTCOMES = tuple(Outcome)
LAYERS = ("rules", "formatter", "person")


class Row(NamedTuple):
    """One answer. ``counts`` packs paper, named, on_schema, strict; ``rest`` items, repeat, outcome, layer, three flags."""

    arm_id: int
    text_id: int
    counts: int
    rest: int
    attributes: str | None


class Columns(NamedTuple):
    """What ``rest`` and ``counts`` unpack to, an array each."""

    items: NDArray[np.int64]
    repeat: NDArray[np.int64]
    outcome: NDArray[np.int64]
    layer: NDArray[np.int64]
    is_object: NDArray[np.int64]
    has_list: NDArray[np.int64]
    repaired: NDArray[np.int64]


def stream_standing(batch: Batch, arm_ids: Sequence[int]) -> Iterator[list[Row]]:
    """The standing readings of these arms in groups: judgments, then what formatters and people read in their place."""
    if not arm_ids:
        return
    first, last = find_cell_range(batch)
    arms = ", ".join(str(int(arm_id)) for arm_id in arm_ids)
    # A batch's cells lie together by their key; its arms do not, and half of a table is not found faster by an index.
    within = f"j.cell_id BETWEEN {first} AND {last} AND (j.arm_id + 0) IN ({arms})"
    selects = [
        f"SELECT {_write_columns('j', LAYERS[0])} FROM {JUDGMENT} j WHERE {within} AND j.superseded_by_id IS NULL",  # noqa: S608
        *(
            f"SELECT {_write_columns('r', layer)} FROM {READING} r JOIN {JUDGMENT} j ON j.cell_id = r.judgment_id "  # noqa: S608
            f"WHERE {within} AND r.superseded_by_id IS NULL AND r.layer = '{layer}'"
            for layer in LAYERS[1:]
        ),
    ]
    # One statement, so that an answer which is read again meanwhile counts once.
    yield from _stream(" UNION ALL ".join(selects))


def find_cell_range(batch: Batch) -> tuple[int, int]:
    """The first and the last key of a batch's cells; (0, 0) where it has none.

    State by state, as an index has them: asked for all at once, PostgreSQL goes through every cell of other batches.
    """
    of_batch = Cell.objects.filter(batch=OuterRef("pk"))
    edges: dict[str, Subquery] = {}
    for state in Cell.State.values:
        keys = of_batch.filter(state=state).values("pk")
        edges |= {
            f"first_{state}": Subquery(keys.order_by("pk")[:1]),
            f"last_{state}": Subquery(keys.order_by("-pk")[:1]),
        }
    found = [key for key in Batch.objects.annotate(**edges).values_list(*edges).get(pk=batch.pk) if key is not None]
    return min(found, default=0), max(found, default=0)


def unpack_counts(packed: int) -> tuple[int, int, int, int]:
    """Paper, named, on schema and strict."""
    return packed % PART, packed // PART % PART, packed // PART**2 % PART, packed // PART**3


def unpack_rest(packed: NDArray[np.int64]) -> Columns:
    """The arrays behind ``rest``."""
    flags = packed // PART**2
    return Columns(
        packed % PART, packed // PART % PART, flags // 64, flags // 8 % 8, flags // 4 % 2, flags // 2 % 2, flags % 2
    )


def _write_columns(source: str, layer: str) -> str:
    """The columns of ``Row``; j is the judgment, ``source`` what stands: itself, or a later reading."""
    counts = " + ".join(
        f"CAST({source}.{name} AS bigint) * {PART**power}"
        for power, name in enumerate(("n_attributes", "n_named", "n_on_schema", "n_strict"))
    )
    outcome = " ".join(f"WHEN '{each}' THEN {number}" for number, each in enumerate(OUTCOMES))
    flags = " + ".join(
        f"CASE WHEN {source}.{name} THEN {bit} ELSE 0 END"
        for name, bit in (("is_object", 4), ("has_list", 2), ("repaired", 1))
    )
    rest = (
        f"CAST({source}.n_items AS bigint) + CAST(j.repeat AS bigint) * {PART} + "
        f"CAST((CASE {source}.outcome {outcome} END) * 64 + {LAYERS.index(layer) * 8} + {flags} AS bigint) * {PART**2}"
    )
    # A column of JSON is text on SQLite; on PostgreSQL the cast keeps the driver from reading it.
    attributes = f"CASE WHEN {source}.outcome = '{Outcome.ATTRIBUTED}' THEN CAST({source}.attributes AS text) END"
    return f"j.arm_id, j.text_id, {counts}, {rest}, {attributes}"


def _stream(sql: str) -> Iterator[list[Row]]:
    with connection.chunked_cursor() as cursor:
        cursor.execute(sql)
        while rows := cursor.fetchmany(ROWS_AT_A_TIME):
            yield rows
