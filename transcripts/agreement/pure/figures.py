"""What measuring agreement gives, of a pair of coders, of a code and of all codes."""

from __future__ import annotations

from typing import NamedTuple

from transcripts.statistics.figures import Figure, mark_clusters

CELLS = ("both", "only_a", "only_b", "neither")
"""Units that two coders decided, by who used the code: the keys of ``counts``."""


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
        """The pair as JSON can hold it."""
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

    ``n_units``: units that two or more decided. ``raw``, ``positive_agreement``, ``pabak``, ``ac1``,
    ``prevalence_index`` and ``mean_kappa`` are unweighted means over the pairs of coders that define them; with two
    coders, the figures of the pair. ``kappa`` with its large-sample interval and ``counts`` are for two coders.
    ``fleiss`` is over the ``fleiss_units`` units that exactly ``fleiss_raters`` coders decided, the number that most
    units have (of equals, the larger). ``alpha`` is over all judgements on the ``n_units``.
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
        """The code as JSON can hold it: figures flat, then intervals and reasons under the figure's name."""
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
"""Names in JSON, and the fields of `CodeAgreement` that hold the figures."""


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
        """Everything as JSON can hold it: None where a figure is not defined, never NaN."""
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
    """Low and high end by the figure's name, of the figures that have an interval."""
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
