"""How many of an annotator's positives are false, as people found who judged a seeded sample of them.

Of each code an audit draws a simple random sample of the suggestions that stand. A reader says that the code applies,
that it does not, or that it cannot be said. Nothing is rounded; None is "not defined".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from transcripts.agreement.pure.shares import Interval, wilson_interval

APPLIES, DOES_NOT, UNCLEAR = "applies", "does_not", "unclear"
SMALL_SAMPLE = 30
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


class Item(NamedTuple):
    """One suggestion of the sample."""

    key: int
    code: str


class Mark(NamedTuple):
    """One reader's word on an item."""

    item: int
    reader: str
    verdict: str


@dataclass(frozen=True, slots=True)
class CodeRate:
    """False positives of one code among ``decided`` items; ``interval`` is Wilson's, 95 %.

    ``unclear`` items, of which nobody could tell, and ``contested`` ones, on which as many readers say yes as no, are in
    neither number.
    """

    code: str
    population: int
    drawn: int
    marked: int
    applies: int
    does_not: int
    unclear: int
    contested: int
    rate: float | None
    interval: Interval | None
    warnings: list[str] = field(default_factory=list)

    @property
    def decided(self) -> int:
        return self.applies + self.does_not


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two readers on the items that both marked: ``same`` of three verdicts, and kappa where both said yes or no."""

    first: str
    second: str
    n: int
    same: float | None
    n_decided: int
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What one reader found, or all together where ``reader`` is empty."""

    reader: str
    n: int
    rates: list[CodeRate]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything an audit shows. ``findings`` begin with all readers together."""

    n_items: int
    findings: list[Findings]
    agreement: list[PairAgreement]
    warnings: list[str]


def build_report(
    items: Sequence[Item], marks: Sequence[Mark], first_marks: Sequence[Mark], populations: Mapping[str, int]
) -> AuditReport:
    """``marks`` are those that stand, at most one of each reader and item. ``first_marks`` are those made before the
    machine's reason was shown, and before their reader looked at results: agreement is measured on them.
    ``populations``: by code, how many suggestions there were to draw from."""
    readers = sorted({mark.reader for mark in marks})
    findings = [_find(items, marks, populations, reader="")]
    if len(readers) > 1:
        findings += [_find(items, marks, populations, reader=reader) for reader in readers]
    marked, warnings = findings[0].n, []
    if marked < len(items):
        warnings.append(
            f"{marked:,} of {len(items):,} items are marked. They come in shuffled order, so these are a random sample "
            "too if nobody picked among them."
        )
    return AuditReport(len(items), findings, compare_readers(first_marks), warnings)


def _find(items: Sequence[Item], marks: Iterable[Mark], populations: Mapping[str, int], *, reader: str) -> Findings:
    by_item: dict[int, list[str]] = {}
    for mark in marks:
        if not reader or mark.reader == reader:
            by_item.setdefault(mark.item, []).append(mark.verdict)
    of_code: dict[str, list[Item]] = {}
    for item in items:
        of_code.setdefault(item.code, []).append(item)
    rates = [rate_code(code, drawn, by_item, populations.get(code, len(drawn))) for code, drawn in of_code.items()]
    return Findings(reader, sum(item.key in by_item for item in items), rates)


def rate_code(code: str, drawn: Sequence[Item], verdicts: Mapping[int, Sequence[str]], population: int) -> CodeRate:
    """The false positives of one code: ``does not`` over those on which a yes or a no was said, with Wilson's interval.

    With several readers an item has the verdict of the larger number of those who said yes or no.
    """
    ends = Counter(settle(verdicts[item.key]) for item in drawn if item.key in verdicts)
    false, decided = ends[DOES_NOT], ends[APPLIES] + ends[DOES_NOT]
    marked = sum(ends.values())
    warnings = []
    if decided < SMALL_SAMPLE and population > decided:
        warnings.append(f"So few decided items ({decided}) say little.")
    if marked and ends[UNCLEAR] > MANY_UNCLEAR * marked:
        warnings.append(
            f"{ends[UNCLEAR]} of {marked} cannot be said: the definition may be at fault, and the rate leaves them out."
        )
    if len(drawn) == population:
        warnings.append("Every suggestion of this code is in the audit: the interval is for others like them.")
    return CodeRate(
        code=code,
        population=population,
        drawn=len(drawn),
        marked=marked,
        applies=ends[APPLIES],
        does_not=false,
        unclear=ends[UNCLEAR],
        contested=ends[""],
        rate=false / decided if decided else None,
        interval=wilson_interval(false, decided),
        warnings=warnings,
    )


def settle_items(marks: Iterable[Mark], *, reader: str = "") -> dict[int, str]:
    """By item: the verdict of ``reader``, or of all together. Items that nobody marked are not in it."""
    by_item: dict[int, list[str]] = {}
    for mark in marks:
        if not reader or mark.reader == reader:
            by_item.setdefault(mark.item, []).append(mark.verdict)
    return {item: settle(verdicts) for item, verdicts in by_item.items()}


def select_items(items: Iterable[Item], ends: Mapping[int, str], *, code: str, scope: str) -> list[int]:
    """The items behind a count of ``CodeRate``: one of ``SCOPES``."""
    wanted = SCOPES[scope]
    return [item.key for item in items if item.code == code and (wanted is None or ends.get(item.key) in wanted)]


def settle(verdicts: Sequence[str]) -> str:
    """What the readers of an item say together; empty where as many say yes as no."""
    yes, no = verdicts.count(APPLIES), verdicts.count(DOES_NOT)
    if yes == no:
        return "" if yes else UNCLEAR
    return APPLIES if yes > no else DOES_NOT


def compare_readers(marks: Sequence[Mark]) -> list[PairAgreement]:
    """Every two readers with an item in common. A mean over pairs is nobody's agreement, so there is none."""
    own: dict[str, dict[int, str]] = {}
    for mark in marks:
        own.setdefault(mark.reader, {})[mark.item] = mark.verdict
    found = []
    for first, second in combinations(sorted(own), 2):
        shared = own[first].keys() & own[second].keys()
        if shared:
            found.append(_compare(first, second, [(own[first][item], own[second][item]) for item in shared]))
    return found


def _compare(first: str, second: str, pairs: Sequence[tuple[str, str]]) -> PairAgreement:
    # Loads numpy, which pages without such a table have no use for.
    from transcripts.agreement.pure.coefficients import count_pairs, measure_kappa

    counts = Counter(pair for pair in pairs if UNCLEAR not in pair)
    kappa = float(
        measure_kappa(
            count_pairs(
                counts[DOES_NOT, DOES_NOT],
                counts[DOES_NOT, APPLIES],
                counts[APPLIES, DOES_NOT],
                counts[APPLIES, APPLIES],
            )
        )
    )
    return PairAgreement(
        first=first,
        second=second,
        n=len(pairs),
        same=sum(one == other for one, other in pairs) / len(pairs),
        n_decided=counts.total(),
        kappa=None if math.isnan(kappa) else kappa,
    )
