"""The report as tables. pandas is loaded here only, so that a web process stays small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from auditapp.sob.metrics import Cell

if TYPE_CHECKING:
    import pandas


def make_frame(cells: Sequence[Cell]) -> pandas.DataFrame:
    """One row per cell; columns are the fields of ``Cell``, undefined scores are missing values."""
    import pandas

    return pandas.DataFrame([asdict(cell) for cell in cells], columns=list(Cell.__dataclass_fields__))


def write_csv(cells: Sequence[Cell]) -> str:
    """The cells as CSV, numbers unrounded, undefined scores empty."""
    return str(make_frame(cells).to_csv(index=False))


def write_pivot(cells: Sequence[Cell]) -> str:
    """Scores for reading: a row per task and model, a column per target, two decimals, a dash where undefined."""
    if not cells:
        return "No answers yet.\n"
    frame = make_frame(cells)
    order = list(dict.fromkeys(frame["target"]))
    table = frame.pivot_table(index=["task", "model"], columns="target", values="sob", sort=False, dropna=False)
    return str(table.reindex(columns=order).to_string(float_format=lambda score: f"{score:.2f}", na_rep="–")) + "\n"
