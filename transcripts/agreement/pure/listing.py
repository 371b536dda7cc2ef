"""Agreement as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transcripts.agreement.pure.figures import CELLS, Agreement, CodeAgreement
from transcripts.formats.numbers import write_interval, write_number
from transcripts.statistics.figures import FEW, Figure, explain_mark, mark_clusters

MAX_NAME_WIDTH = 32
NOT_DEFINED = "-"

COLUMNS = {
    "yes": "prevalence",
    "raw": "raw",
    "positive": "positive_agreement",
    "kappa": "kappa",
    "mean kappa": "mean_kappa",
    "PABAK": "pabak",
    "AC1": "ac1",
    "Fleiss": "fleiss",
    "alpha": "alpha",
}
SETS = {
    "mean Jaccard": "mean_jaccard",
    "mean Jaccard without empty pairs": "mean_jaccard_excluding_empty",
    "exact match": "exact_match",
}


def list_agreement(agreement: Agreement, *, has_turns: bool) -> Iterator[str]:
    """Lines of text: what was compared, figures and intervals of each code, and why some figures are not defined."""
    yield from _list_units(agreement, has_turns=has_turns)
    yield ""
    columns = {
        heading: name
        for heading, name in COLUMNS.items()
        if heading != ("mean kappa" if len(agreement.coders) == 2 else "kappa")
    }
    rows = [["code", "units", *(CELLS if len(agreement.coders) == 2 else ()), *columns]]
    for code in agreement.codes:
        counts = _show_counts(code) if len(agreement.coders) == 2 else []
        figures: list[Figure] = [getattr(code, name) for name in columns.values()]
        rows.append([_show_name(code.code), str(code.n_units), *counts, *map(_show_figure, figures)])
        intervals = [_show_interval(figure) for figure in figures]
        if any(intervals):
            rows.append(["", "", *[""] * len(counts), *intervals])
    yield from _align(rows)
    yield ""
    for words, name in SETS.items():
        figure: Figure = getattr(agreement, name)
        yield f"{words}: {_show_figure(figure)} {_show_interval(figure) or figure.reason}".rstrip()
    yield from _list_undefined(agreement, columns)


def _list_units(agreement: Agreement, *, has_turns: bool) -> Iterator[str]:
    coders = agreement.coders
    named = ", ".join(map(_show_name, coders)) if len(coders) <= 10 else "too many to list"
    yield f"{len(coders)} coders ({named}); {agreement.n_shared:,} of {agreement.n_units:,} units decided by two or more."
    if len(coders) == 2:
        yield f"A is {_show_name(coders[0])}, B is {_show_name(coders[1])}."
    else:
        yield "raw, positive, mean kappa, PABAK and AC1 are means over pairs of coders; alpha and Fleiss are over all coders."
    if agreement.n_clusters < FEW:
        things = "turns" if has_turns else "units (the file has no column turn)"
        yield f"No figure has an interval, as {agreement.n_clusters:,} {things} are too few."
    elif agreement.resamples:
        drawn = "turns" if has_turns else "units (the file has no column turn, so intervals may be too narrow)"
        yield (
            f"Below each figure is its 95 % interval, from {agreement.resamples:,} resamples of {agreement.n_clusters:,} {drawn}, "
            f"seed {agreement.seed}."
        )
    if mark := mark_clusters(agreement.n_clusters):
        yield explain_mark(mark, "turns" if has_turns else "units")


def _list_undefined(agreement: Agreement, columns: dict[str, str]) -> Iterator[str]:
    """Each reason once, with the figures that it applies to."""
    found: dict[str, list[str]] = {}
    for code in agreement.codes:
        for heading, name in columns.items():
            figure: Figure = getattr(code, name)
            if figure.value is None:
                found.setdefault(figure.reason, []).append(f"{_show_name(code.code)} {heading}")
    for reason, places in found.items():
        rest = f" and {len(places) - 6} more" if len(places) > 6 else ""
        yield f"{NOT_DEFINED} {reason}: {', '.join(places[:6])}{rest}"


def _show_counts(code: CodeAgreement) -> list[str]:
    return [str(code.counts[cell]) if code.counts else NOT_DEFINED for cell in CELLS]


def _show_figure(figure: Figure) -> str:
    return NOT_DEFINED if figure.value is None else write_number(figure.value, 3)


def _show_interval(figure: Figure) -> str:
    return write_interval(figure.interval, 2) if figure.interval else ""


def _show_name(name: str) -> str:
    line = "".join(sign if sign.isprintable() else " " for sign in name)
    return f"{line[: MAX_NAME_WIDTH - 1]}…" if len(line) > MAX_NAME_WIDTH else line


def _align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        shown = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *shown]).rstrip()
