"""The presence table as a chart: how large a share of the decided sentences each cell has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transcripts.charts import figures as charts
from transcripts.charts.figures import GridChart, GridRow, Missing, Verdict
from transcripts.statistics.figures import MIN_CLUSTERS, Mark, explain_mark
from transcripts.themes.pure.presence import Cell, Heading, Presence

Link = Callable[[str, str], str]


def draw_presence(
    presence: Presence, *, title: str, things: str, link: Link, missing: Missing, has_moves: bool = False
) -> GridChart:
    """The chart. ``things`` names the columns; ``link`` gives the address behind the keys of a row and a column.

    Shares of fewer than `MIN_CLUSTERS` decided turns have no shade.
    """
    few = [
        column.name for column, out_of in zip(presence.columns, presence.denominators, strict=False) if out_of["few"]
    ]
    return GridChart(
        key="presence",
        title=title,
        columns=[column.name for column in presence.columns],
        rows=[
            GridRow(
                row.name,
                [
                    _draw_cell(row, column, cell, link, turns=out_of["turns"])
                    for column, out_of, cell in zip(presence.columns, presence.denominators, cells, strict=False)
                ],
                _judge(cells, things),
            )
            for row, cells, _ in presence.rows
        ],
        note=(
            "Sentences found / sentences decided. The larger the share, the stronger the colour. A dash: nothing is decided there, "
            "so absence says nothing. Unprompted: at least one sentence there came before the interviewer had raised it."
            + (f" {explain_mark(Mark.FEW, 'decided turns')} Here: {', '.join(few)}." if few else "")
            + (
                " Moves count where they are enacted; what is only described or shown is in the table."
                if has_moves
                else ""
            )
        ),
        missing=missing,
    )


def _draw_cell(row: Heading, column: Heading, cell: Cell, link: Link, *, turns: int) -> charts.Cell:
    words = f"{row.name}, {column.name}: {describe_cell(cell)}"
    if not cell.is_read:
        return charts.Cell(None, label=words)
    href = link(row.key, column.key) if cell.is_present else ""
    share = cell.sentences / cell.out_of if turns >= MIN_CLUSTERS else None
    return charts.Cell(share, f"{cell.sentences}/{cell.out_of}", words, href)


def _judge(cells: Sequence[Cell], things: str) -> Verdict:
    read = [cell for cell in cells if cell.is_read]
    found = [cell for cell in read if cell.is_present]
    if not read:
        return Verdict("nothing decided")
    unprompted = sum(cell.unprompted > 0 for cell in found)
    return Verdict(f"in {len(found)} of {len(read)} {things}" + (f", unprompted in {unprompted}" if found else ""))


def describe_cell(cell: Cell) -> str:
    """A cell in words."""
    if not cell.is_read:
        return "nothing decided"
    apart = "".join(f", {found} {words}" for _, words, found in cell.apart)
    if not cell.is_present:
        return f"none of {cell.out_of} sentences{apart}"
    parts = (("unprompted", cell.unprompted), ("prompted", cell.prompted), ("unclear", cell.unclear))
    split = ", ".join(f"{number} {name}" for name, number in parts if number)
    return f"{cell.sentences} of {cell.out_of} sentences, {split}{apart}"
