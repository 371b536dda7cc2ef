"""The results of measuring agreement, for a pair of coders, for a code and for all codes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from transcripts.statistics.figures import FEW, Figure, explain_mark, mark_clusters, write_interval, write_number

CELLS = ("both", "only_a", "only_b", "neither")
"""The keys of ``counts``: units that two coders decided, by who used the code."""


class PairAgreement(NamedTuple):
    """Two coders on one code. ``counts`` is None for a scale. Nothing here is resampled.

    Figures count the clusters in which both decided. ``kappa_error`` is the standard error of kappa by formula, units taken for
    independent, with its interval, None below ten of these clusters.
    """

    a: str
    b: str
    n_units: int
    counts: dict[str, int] | None
    prevalence: Figure
    prevalence_index: Figure
    raw: Figure
    positive_agreement: Figure
    kappa: Figure
    kappa_error: Figure
    pabak: Figure
    ac1: Figure

    def as_dict(self) -> dict[str, object]:
        """The pair in a form for JSON."""
        figures = {name: getattr(self, name) for name in PAIR_FIGURES}
        return {
            "a": self.a,
            "b": self.b,
            "n_units": self.n_units,
            "clusters": self.raw.clusters,
            "mark": self.raw.mark,
            **(self.counts or dict.fromkeys(CELLS)),
            **{name: figure.value for name, figure in figures.items()},
            **_show_error(self.kappa_error),
            "reasons": _list_reasons(figures, self.kappa_error),
        }


class CodeAgreement(NamedTuple):
    """Everybody on one code.

    ``n_units``: units that two or more decided. ``raw``, ``positive_agreement``, ``pabak``, ``ac1``, ``prevalence_index`` and
    ``mean_kappa`` are unweighted means over the pairs of coders that define them; with two coders, the figures of the pair.
    ``kappa`` with its large-sample interval and ``counts`` are for two coders. ``fleiss`` is over the ``fleiss_units`` units
    that exactly ``fleiss_raters`` coders decided, the most common number (in a tie, the larger). ``alpha`` is over all
    judgements on the ``n_units``.
    """

    code: str
    n_units: int
    counts: dict[str, int] | None
    prevalence: Figure
    prevalence_index: Figure
    raw: Figure
    positive_agreement: Figure
    kappa: Figure
    kappa_error: Figure
    mean_kappa: Figure
    pabak: Figure
    ac1: Figure
    fleiss: Figure
    fleiss_raters: int | None
    fleiss_units: int
    alpha: Figure
    pairs: tuple[PairAgreement, ...]

    def as_dict(self) -> dict[str, object]:
        """The code in a form for JSON: figures flat, then intervals and reasons under the figure's name."""
        figures = {name: getattr(self, field) for name, field in CODE_FIGURES.items()}
        return {
            "n_units": self.n_units,
            **(self.counts or dict.fromkeys(CELLS)),
            **{name: figure.value for name, figure in figures.items()},
            **_show_error(self.kappa_error),
            "fleiss_raters": self.fleiss_raters,
            "fleiss_units": self.fleiss_units,
            "intervals": _show_intervals(figures),
            "reasons": _list_reasons(figures, self.kappa_error),
            "no_interval": _explain_intervals(figures),
            "pairs_averaged": {name: figure.pairs for name, figure in figures.items() if figure.pairs is not None},
            "pairs": [pair.as_dict() for pair in self.pairs],
        }


PAIR_FIGURES = ("prevalence", "prevalence_index", "raw", "positive_agreement", "kappa", "pabak", "ac1")
CODE_FIGURES = {
    "prevalence": "prevalence",
    "prevalence_index": "prevalence_index",
    "raw": "raw",
    "positive_agreement": "positive_agreement",
    "kappa": "kappa",
    "mean_pairwise_kappa": "mean_kappa",
    "pabak": "pabak",
    "ac1": "ac1",
    "fleiss": "fleiss",
    "alpha": "alpha",
}
"""Names in JSON, and the fields of `CodeAgreement` with the figures."""


class Agreement(NamedTuple):
    """Everybody on every code.

    ``n_units``: units of the table; ``n_shared``: those on which two or more decided about a code; ``n_clusters``: clusters.
    The three set figures are unweighted means over pairs of coders; a unit counts for a pair with the codes that both
    decided. ``resamples`` were drawn with ``seed``.
    """

    level: str
    coders: tuple[str, ...]
    n_units: int
    n_shared: int
    n_clusters: int
    seed: int
    resamples: int
    codes: tuple[CodeAgreement, ...]
    mean_jaccard: Figure
    mean_jaccard_excluding_empty: Figure
    exact_match: Figure

    def as_dict(self) -> dict[str, object]:
        """Everything in a form for JSON: None if a figure is not defined, never NaN."""
        figures = {name: getattr(self, name) for name in SET_FIGURES}
        return {
            "level": self.level,
            "coders": list(self.coders),
            "units": self.n_units,
            "units_shared": self.n_shared,
            "clusters": self.n_clusters,
            "mark": mark_clusters(self.n_clusters),
            "seed": self.seed,
            "resamples": self.resamples,
            "codes": {code.code: code.as_dict() for code in self.codes},
            **{name: figure.value for name, figure in figures.items()},
            "intervals": _show_intervals(figures),
            "reasons": _list_reasons(figures),
            "no_interval": _explain_intervals(figures),
        }


SET_FIGURES = ("mean_jaccard", "mean_jaccard_excluding_empty", "exact_match")


def _show_intervals(figures: dict[str, Figure]) -> dict[str, list[float]]:
    """The low and high ends of the figures that have an interval, by name."""
    return {name: [each.interval.low, each.interval.high] for name, each in figures.items() if each.interval}


def _show_error(error: Figure) -> dict[str, object]:
    return {"kappa_se": error.value, "kappa_ci95": [*error.interval] if error.interval else None}


def _list_reasons(figures: dict[str, Figure], kappa_error: Figure | None = None) -> dict[str, str]:
    reasons = {name: str(each.reason) for name, each in figures.items() if each.value is None}
    if kappa_error and not kappa_error.interval:
        reasons["kappa_ci95"] = str(kappa_error.reason or kappa_error.no_interval)
    return reasons


def _explain_intervals(figures: dict[str, Figure]) -> dict[str, str]:
    return {name: str(each.no_interval) for name, each in figures.items() if each.no_interval}


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Readings = dict[int, tuple[str, ...]]
"""The codes each coder applied to a sentence, in the order of A, B, C; an empty tuple means that none applies."""


def order_readings(sentence_id: int, found: Mapping[int, Sequence[str]]) -> Readings:
    """The readings in the order for this sentence, so that A is not always the same person."""
    ordered = sorted(found, key=lambda coder: hashlib.sha256(f"{sentence_id}:{coder}".encode()).digest())
    return {coder: tuple(found[coder]) for coder in ordered}


def list_stored(readings: Readings) -> list[dict[str, object]]:
    """The readings in the form that an adjudication stores."""
    return [{"coder": coder, "codes": list(codes)} for coder, codes in readings.items()]


def name_letter(place: int) -> str:
    """A for the first, B for the second; after Z numbers."""
    return LETTERS[place] if place < len(LETTERS) else str(place + 1)


def fingerprint(readings: Readings) -> str:
    """A fingerprint of exactly these readings, so that a decision is about the readings that were shown."""
    text = json.dumps(list_stored(readings))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


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
        counts = [str(code.counts[cell]) if code.counts else NOT_DEFINED for cell in CELLS]
        counts = counts if len(agreement.coders) == 2 else []
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
