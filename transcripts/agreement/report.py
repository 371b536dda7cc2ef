"""Agreement as its page and its file show it: the same figures, from one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transcripts.agreement.pure.figures import Agreement, CodeAgreement, Counts, Figure, PairAgreement
from transcripts.codebook.models import Code

FEW_UNITS = 30
RARE_USES = 10
NEARLY_ALWAYS = 0.9
FIGURES = ("prevalence", "raw", "positive_agreement", "kappa", "mean_kappa", "pabak", "ac1", "fleiss", "alpha")
OF_PAIRS = ("prevalence", "raw", "positive_agreement", "kappa", "pabak", "ac1")
SETS = {
    "mean_jaccard": "Mean Jaccard of the sets of codes",
    "mean_jaccard_excluding_empty": "The same without units to which neither applied a code",
    "exact_match": "Share of units with exactly the same codes",
}
HEADER = [
    *("scope", "code_id", "code", "coder_a", "coder_b", "units", "both", "only_a", "only_b", "neither"),
    *(f"{name}{part}" for name in FIGURES for part in ("", "_low", "_high", "_reason")),
]


def list_rows(
    agreement: Agreement, codes: Sequence[Code], *, uses: Mapping[str, int], coders: Mapping[str, int]
) -> list[dict[str, Any]]:
    """The rows of the table: the codes in the order of the codebook, with their figures and those of each pair.

    ``uses`` counts how often each was put on units that several decided; ``coders`` has people's numbers by name.
    """
    figures = {each.code: each for each in agreement.codes}
    return [
        {
            "code": code,
            "figures": found,
            "cells": _list_cells(found.counts),
            "marks": _find_marks(found, uses.get(code.identifier, 0)),
            "is_of_few": found.n_units < FEW_UNITS,
            "pairs": [
                {"figures": pair, "a": coders[pair.a], "b": coders[pair.b], "cells": _list_cells(pair.counts)}
                for pair in found.pairs
            ],
        }
        for code in codes
        if (found := figures.get(code.identifier))
    ]


def list_file_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[object]]:
    """What the file holds: for each code a row of everybody, and one for each pair of coders."""
    for row in rows:
        figures: CodeAgreement = row["figures"]
        name = [row["code"].identifier, row["code"].name]
        counts = _list_counts(figures.counts, figures.n_units)
        yield ["all", *name, None, None, *counts, *_list_figures(figures, FIGURES)]
        for pair in figures.pairs:
            pair_counts = _list_counts(pair.counts, pair.n_units)
            yield ["pair", *name, pair.a, pair.b, *pair_counts, *_list_figures(pair, OF_PAIRS)]


def _list_cells(counts: Counts | None) -> list[tuple[str, int]]:
    """The counts of two coders, by the name of the cell."""
    return list(counts._asdict().items()) if counts else []


def _find_marks(figures: CodeAgreement, uses: int) -> list[str]:
    marks = []
    if figures.n_units and uses < RARE_USES:
        marks.append(f"rare (applied {uses} time{'' if uses == 1 else 's'})")
    if figures.prevalence.value is not None and figures.prevalence.value > NEARLY_ALWAYS:
        marks.append("applied nearly always")
    return marks


def _list_counts(counts: Counts | None, units: int) -> list[object]:
    return [units, *(counts or (None, None, None, None))]


def _list_figures(source: CodeAgreement | PairAgreement, names: Sequence[str]) -> Iterator[object]:
    for name in FIGURES:
        figure: Figure = getattr(source, name) if name in names else Figure()
        low, high = figure.interval[:2] if figure.interval else (None, None)
        if isinstance(source, PairAgreement) and name == "kappa":
            low, high = source.kappa_large_sample.low, source.kappa_large_sample.high
        yield from (figure.value, low, high, str(figure.reason))
