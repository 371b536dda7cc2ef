"""How many of an annotator's positives are false, as people found who judged a seeded sample of them.

Of each code an audit draws a simple random sample of the current suggestions. A reviewer says that the code applies,
that it does not, or that it cannot be said. Nothing is rounded; None is "not defined".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from auditapp.audits.pure.marks import SMALL_SAMPLE, group_marks, measure_kappa, pair_reviewers, warn_of_unmarked
from transcripts.statistics.figures import wilson_interval

APPLIES, DOES_NOT, UNCLEAR = "applies", "does_not", "unclear"
MANY_UNCLEAR = 0.2
# The counts that open to their items, each with the verdicts it holds; None for those that nobody marked as well.
SCOPES: dict[str, frozenset[str] | None] = {
    "drawn": None,
    "marked": frozenset({APPLIES, DOES_NOT, UNCLEAR, ""}),
    "applies": frozenset({APPLIES}),
    "does_not": frozenset({DOES_NOT}),
    "unclear": frozenset({UNCLEAR}),
    "contested": frozenset({""}),
    "decided": frozenset({APPLIES, DOES_NOT}),
}


class Mark(NamedTuple):
    """One reviewer's verdict on an item."""

    item: int
    reviewer: str
    verdict: str


def build_report(
    items: Mapping[int, str], marks: Sequence[Mark], first_marks: Sequence[Mark], populations: Mapping[str, int]
) -> dict[str, Any]:
    """Everything an audit shows. ``findings`` begin with all reviewers together.

    ``items`` have the code of each. ``marks`` are the active ones, at most one of each reviewer and item. ``first_marks`` are
    those made before the machine's reason was shown, and before their reviewer opened the results: agreement is measured on
    them. ``populations``: by code, how many suggestions there were to draw from.
    """
    reviewers = sorted({mark.reviewer for mark in marks})
    findings = [_find(items, marks, populations, reviewer=None)]
    if len(reviewers) > 1:
        findings += [_find(items, marks, populations, reviewer=reviewer) for reviewer in reviewers]
    return {
        "findings": findings,
        "agreement": compare_reviewers(first_marks),
        "warnings": warn_of_unmarked(findings[0]["n"], len(items)),
    }


def _find(
    items: Mapping[int, str], marks: Iterable[Mark], populations: Mapping[str, int], *, reviewer: str | None
) -> dict[str, Any]:
    ends = settle_items(marks, reviewer=reviewer)
    of_code: dict[str, list[int]] = {}
    for item, code in items.items():
        of_code.setdefault(code, []).append(item)
    return {
        "reviewer": reviewer,
        "n": len(ends),
        "rates": [
            {"code": code, **rate_code([ends.get(item) for item in drawn], populations.get(code, len(drawn)))}
            for code, drawn in of_code.items()
        ],
    }


def rate_code(verdicts: Sequence[str | None], population: int) -> dict[str, Any]:
    """The false positives of one code: ``does_not`` over the ``decided``, with Wilson's 95 % interval.

    ``verdicts`` are those of the items drawn, None for an item without a mark. ``unclear`` items, of which nobody could tell,
    and ``contested`` ones, on which as many reviewers say yes as no, are in neither number.
    """
    ends = Counter(verdicts)
    drawn, marked = len(verdicts), len(verdicts) - ends[None]
    decided = ends[APPLIES] + ends[DOES_NOT]
    warnings = []
    if decided < SMALL_SAMPLE and population > decided:
        warnings.append(f"Only {decided} decided items: too few for a reliable rate.")
    if marked and ends[UNCLEAR] > MANY_UNCLEAR * marked:
        warnings.append(
            f"{ends[UNCLEAR]} of {marked} cannot be decided, so the definition may be unclear. The rate excludes them."
        )
    if drawn == population:
        warnings.append(
            "Every suggestion of this code is in the audit. The interval is for other suggestions like them."
        )
    return {
        "population": population,
        "drawn": drawn,
        "marked": marked,
        "applies": ends[APPLIES],
        "does_not": ends[DOES_NOT],
        "unclear": ends[UNCLEAR],
        "contested": ends[""],
        "decided": decided,
        "rate": ends[DOES_NOT] / decided if decided else None,
        "interval": wilson_interval(ends[DOES_NOT], decided),
        "warnings": warnings,
    }


def settle_items(marks: Iterable[Mark], *, reviewer: str | None = None) -> dict[int, str]:
    """By item: the verdict of one reviewer, or of all together. Items that nobody marked are not in it."""
    by_item = group_marks(marks, reviewer=reviewer)
    return {item: settle([mark.verdict for mark in own]) for item, own in by_item.items()}


def select_items(items: Mapping[int, str], ends: Mapping[int, str], *, code: str, scope: str) -> list[int]:
    """The items behind a count of ``rate_code``: one of ``SCOPES``."""
    wanted = SCOPES[scope]
    return [key for key, of_code in items.items() if of_code == code and (wanted is None or ends.get(key) in wanted)]


def settle(verdicts: Sequence[str]) -> str:
    """The verdict of the larger number of reviewers who said yes or no; empty where as many say yes as no."""
    yes, no = verdicts.count(APPLIES), verdicts.count(DOES_NOT)
    if yes == no:
        return "" if yes else UNCLEAR
    return APPLIES if yes > no else DOES_NOT


def compare_reviewers(marks: Sequence[Mark]) -> list[dict[str, Any]]:
    """Every two reviewers with an item in common: ``same`` of three verdicts, and kappa where both said yes or no.

    A mean over pairs is nobody's agreement, so there is none.
    """
    found = []
    for first, second, shared in pair_reviewers(marks):
        if shared:
            verdicts = [(one.verdict, other.verdict) for one, other in shared]
            decided = [(one == DOES_NOT, other == DOES_NOT) for one, other in verdicts if UNCLEAR not in {one, other}]
            found.append(
                {
                    "first": first,
                    "second": second,
                    "n": len(shared),
                    "same": sum(one == other for one, other in verdicts) / len(shared),
                    "n_decided": len(decided),
                    "kappa": measure_kappa(decided),
                }
            )
    return found
