"""The presence matrix as a drawing: the place of each mark, word and bar.

Nothing here is a colour. A mark is read by its shape (a disc where something came unprompted, else a ring where something
was prompted, else a square where that is unclear; a dash where nothing was found, no mark where nothing was read), a
bar by its length and its pattern. A template writes it down with classes, and the style sheet has colours for both
schemes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from transcripts.themes.pure.presence import Cell, Presence

ROW_LABEL_WIDTH = 200
ROW_LABEL_CHARACTERS = 24
COLUMN_LABEL_CHARACTERS = 14
CELL_WIDTH = 112
CELL_HEIGHT = 48
HEAD_HEIGHT = 40
LINE_HEIGHT = 15
INSET = 8
BAR_HEIGHT = 9
BAR_LENGTH = CELL_WIDTH - 2 * INSET

Link = Callable[[str, str], str]


def draw_matrix(presence: Presence, *, title: str, link: Link) -> dict[str, Any]:
    """The drawing as its template needs it. ``link`` gives the address behind the keys of a row and a column."""
    shares = [cell.sentences / cell.out_of for _, cells, _ in presence.rows for cell in cells if cell.out_of]
    highest = max(shares, default=0.0)
    columns = [
        _label(column.name, COLUMN_LABEL_CHARACTERS, x=ROW_LABEL_WIDTH + place * CELL_WIDTH + INSET, y=LINE_HEIGHT)
        for place, column in enumerate(presence.columns)
    ]
    rows, drawn = [], []
    for place, (row, cells, _) in enumerate(presence.rows):
        top = HEAD_HEIGHT + place * CELL_HEIGHT
        rows.append(_label(row.name, ROW_LABEL_CHARACTERS, x=0, y=top + 19))
        for column_place, (column, cell) in enumerate(zip(presence.columns, cells, strict=True)):
            left = ROW_LABEL_WIDTH + column_place * CELL_WIDTH
            href = link(row.key, column.key) if cell.is_present else ""
            words = f"{row.name}, {column.name}: {describe_cell(cell)}"
            drawn.append(
                {
                    "x": left,
                    "y": top,
                    "href": href,
                    "words": words,
                    "mark": _mark(cell),
                    "mark_x": left + INSET + 5,
                    "mark_y": top + 14,
                    "figure": _figure(cell),
                    "figure_x": left + INSET + 17,
                    "bars": _bars(cell, left, highest),
                    "bar_y": top + CELL_HEIGHT - INSET - BAR_HEIGHT,
                }
            )
    return {
        "width": ROW_LABEL_WIDTH + len(columns) * CELL_WIDTH,
        "height": HEAD_HEIGHT + len(rows) * CELL_HEIGHT,
        "title": title,
        "description": _describe(presence),
        "columns": columns,
        "rows": rows,
        "cells": drawn,
        "cell_width": CELL_WIDTH,
        "cell_height": CELL_HEIGHT,
        "bar_height": BAR_HEIGHT,
    }


def describe_cell(cell: Cell) -> str:
    """A cell in words."""
    if not cell.is_read:
        return "nothing decided"
    if not cell.is_present:
        return f"none of {cell.out_of} sentences"
    parts = (("unprompted", cell.unprompted), ("prompted", cell.prompted), ("unclear", cell.unclear))
    split = ", ".join(f"{number} {name}" for name, number in parts if number)
    return f"{cell.sentences} of {cell.out_of} sentences, {split}"


def _figure(cell: Cell) -> str:
    return f"{cell.sentences}/{cell.out_of}" if cell.is_read else "not read"


def _mark(cell: Cell) -> str:
    if not cell.is_read:
        return "unread"
    if cell.unprompted:
        return "unprompted"
    if cell.prompted:
        return "prompted"
    return "unclear" if cell.unclear else "absent"


def _bars(cell: Cell, x: int, highest: float) -> list[tuple[str, int, int]]:
    """The kind, start and width of each part of a cell's bar: its share of decided sentences, split by prompting.

    A part is at least two units wide.
    """
    if not cell.is_present:
        return []
    bars, left = [], x + INSET
    for kind, number in (("unprompted", cell.unprompted), ("prompted", cell.prompted), ("unclear", cell.unclear)):
        if number:
            width = max(2, round(BAR_LENGTH * number / cell.out_of / highest))
            bars.append((kind, left, width))
            left += width
    return bars


def _label(name: str, characters: int, *, x: int, y: int) -> tuple[str, list[tuple[int, int, str]]]:
    """The whole name, and the position and text of each of its one or two lines."""
    lines = textwrap.wrap(name, characters, max_lines=2, placeholder=" …") or [""]
    return name, [(x, y + place * LINE_HEIGHT, line) for place, line in enumerate(lines)]


def _describe(presence: Presence) -> str:
    found = sum(cell.is_present for _, cells, _ in presence.rows for cell in cells)
    size = len(presence.rows) * len(presence.columns)
    return (
        f"{len(presence.rows)} rows by {len(presence.columns)} columns. {found} of {size} cells have at least one sentence. "
        "The length of a bar is the share of the sentences decided there. The table has every number."
    )
