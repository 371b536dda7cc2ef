"""Which figures a study that is read reflexively leaves out: readings that differ both stand there."""

from __future__ import annotations

from typing import Any

from transcripts.negotiation.pure.records import FEATURES
from transcripts.negotiation.pure.scoring import ALPHAS
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import read_methods

OF_FEATURES = "Case features are coded by reflexive thematic analysis, which reports no coefficients of agreement: "
OF_SCORES = "This study uses reflexive thematic analysis, which reports no alpha of scores: "
LEFT_OUT = "left out here, as on the pages."
KEPT = "this report includes it anyway, for those who run the command; the pages do not show it."


def leave_out_coefficients(report: dict[str, Any], study: Study) -> dict[str, Any]:
    """A report of ``make_report`` as the pages show its figures: without coefficients of what is read reflexively, which a
    warning says."""
    of_features, of_scores = _find_reflexive(report, study)
    agreement, scores = report["agreement"], report["stances"]
    if of_features:
        agreement = {"status": None}
    if of_scores:
        scores = {label: {key: _drop_alpha(each) for key, each in figures.items()} for label, figures in scores.items()}
    warnings = [*report["warnings"], *_warn(of_features, of_scores, LEFT_OUT)]
    return {**report, "agreement": agreement, "stances": scores, "warnings": warnings}


def warn_of_coefficients(report: dict[str, Any], study: Study) -> dict[str, Any]:
    """The report with all that it has, and a warning where the pages would leave a coefficient out."""
    return {**report, "warnings": [*report["warnings"], *_warn(*_find_reflexive(report, study), KEPT)]}


def _find_reflexive(report: dict[str, Any], study: Study) -> tuple[bool, bool]:
    """Whether the report has agreement on features, and scores, of a study that is read reflexively."""
    stances, reflexive = read_methods(study), MethodChoice.Method.REFLEXIVE
    has_agreement = report["agreement"]["status"] is not None
    return (
        has_agreement and stances.find(FEATURES) == reflexive,
        bool(report["stances"]) and stances.find("") == reflexive,
    )


def _warn(of_features: bool, of_scores: bool, what: str) -> list[str]:
    return [OF_FEATURES + what] * of_features + [OF_SCORES + what] * of_scores


def _drop_alpha(figures: Any) -> Any:
    if not isinstance(figures, dict):
        return figures
    return {key: value for key, value in figures.items() if key not in ALPHAS}
