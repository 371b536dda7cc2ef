"""Worked examples with their sources, and tables for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from transcripts.agreement.pure.measuring import LabelTable
from transcripts.statistics.coefficients import Floats

EXAMPLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "agreement" / "worked_examples.json").read_text(encoding="utf-8")
)
NAMES = ("anna", "ben", "cem", "dana", "edda", "finn")


def count_raters(table: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """What `measure_fleiss_kappa` takes, from a table units x categories of how many raters gave a unit a category."""
    counts = np.asarray(table, np.float64)
    return np.asarray(float(len(counts))), (counts * (counts - 1)).sum(), counts.sum(axis=0)


def make_table(
    labels: Sequence[Sequence[int | None]], *, clusters: Sequence[int] | None = None, code: str = "balance"
) -> LabelTable:
    """A table of one code: a row for each coder, 1, 0, or None where not decided."""
    values = np.array([[np.nan if each is None else each for each in row] for row in labels], dtype=float)
    units = values.shape[1]
    return LabelTable(
        NAMES[: len(labels)],
        (code,),
        (values == 1)[None],
        ~np.isnan(values),
        np.arange(units) if clusters is None else np.array(clusters, dtype=np.intp),
    )


def make_sets_table(sets: dict[str, Sequence[Sequence[str]]]) -> LabelTable:
    """A table of several codes: for each coder the codes she put on each unit."""
    coders = tuple(sets)
    codes = tuple(sorted({code for each in sets.values() for unit in each for code in unit}))
    units = len(sets[coders[0]])
    labels = np.array([[[code in unit for unit in sets[coder]] for coder in coders] for code in codes])
    return LabelTable(coders, codes, labels, np.ones((len(coders), units), dtype=bool), np.arange(units))
