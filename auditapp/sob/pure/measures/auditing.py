"""What an audit of readings shows: how often reading errs, how reviewers agree, and what the score would be without errors.

People read a simple random sample of a frame of readings again. Two kinds of figure follow: about the sample (error
rate, confusion, agreement) and about the frame (corrected scores), both with intervals. Nothing is rounded; None is
"not defined".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from auditapp.sob.pure.parsing import Outcome
from transcripts.agreement.pure.shares import Interval, wilson_interval

SMALL_SAMPLE = 30
USABLE = frozenset({Outcome.ATTRIBUTED, Outcome.UNKNOWN})
_CONFIDENCE = 0.975


class Item(NamedTuple):
    """One answer of the sample, with the reading that stood when it was drawn."""

    key: int
    model: str
    task: str
    layer: str
    outcome: str
    n_attributes: int


class Mark(NamedTuple):
    """One reviewer's own reading of an item. ``n_warranted`` attributes are warranted by the text itself."""

    item: int
    reviewer: str
    outcome: str
    n_attributes: int
    n_warranted: int


class FrameGroup(NamedTuple):
    """Readings of the frame that count alike."""

    model: str
    task: str
    outcome: str
    n_attributes: int


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """Items read wrongly among ``n`` that were marked; ``ci`` is Wilson's, 95 %."""

    layer: str
    n: int
    wrong: int
    rate: float | None
    ci: Interval | None


@dataclass(frozen=True, slots=True)
class CorrectedScore:
    """The score of a part of the frame as the machine read it, and as it would be had people read all of it.

    ``frame`` readings, of which ``n`` were marked. ``unwarranted`` leaves out the attributes that the texts warrant.
    """

    model: str | None
    task: str | None
    frame: int
    n: int
    uncorrected: float | None
    corrected: float | None
    ci: Interval | None
    unwarranted: float | None
    ci_unwarranted: Interval | None
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two reviewers on the items that both marked. Shares lie between 0 and 1.

    ``same``: the same outcome and number of attributes. ``kappa_attributed``: Cohen's kappa on whether anything is
    attributed. ``kappa_right``: on whether the machine had read it right.
    """

    first: str
    second: str
    n: int
    same: float | None
    kappa_attributed: float | None
    kappa_right: float | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What one reviewer found, or all together where ``reviewer`` is None."""

    reviewer: str | None
    n: int
    errors: list[ErrorRate]
    confusion: list[tuple[str, str, int]]
    scores: list[CorrectedScore]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything an audit shows. ``findings`` begin with all reviewers together."""

    n_items: int
    findings: list[Findings]
    agreement: list[PairAgreement]
    alpha_counts: float | None
    alpha_outcomes: float | None
    warnings: list[str]


def build_audit_report(
    items: Sequence[Item], marks: Sequence[Mark], first_marks: Sequence[Mark], frame: Mapping[FrameGroup, int]
) -> AuditReport:
    """``marks`` are those that stand, at most one for each reviewer and item; ``first_marks`` those made before the
    machine's reading was shown, on which agreement is measured."""
    reviewers = sorted({mark.reviewer for mark in marks})
    findings = [find_errors(items, marks, frame, reviewer=None)]
    if len(reviewers) > 1:
        findings += [find_errors(items, marks, frame, reviewer=reviewer) for reviewer in reviewers]
    marked = findings[0].n
    warnings = []
    if marked < len(items):
        warnings.append(
            f"{marked} of {len(items)} items are marked. They are in random order, so these are a random sample too if "
            "nobody picked among them."
        )
    if 0 < marked < SMALL_SAMPLE:
        warnings.append(
            f"So few marked items ({marked}) say little: the intervals are wide and lean on a handful of answers."
        )
    by_key = {item.key: item for item in items}
    return AuditReport(
        n_items=len(items),
        findings=findings,
        agreement=compare_reviewers(by_key, first_marks),
        alpha_counts=_measure_alpha(first_marks, lambda mark: float(mark.n_attributes), "interval"),
        alpha_outcomes=_measure_alpha(first_marks, _number_outcome, "nominal"),
        warnings=warnings,
    )


def find_errors(
    items: Sequence[Item], marks: Sequence[Mark], frame: Mapping[FrameGroup, int], *, reviewer: str | None
) -> Findings:
    """The findings of one reviewer; of all together for None: an item is then wrong where at least half of its
    reviewers read it otherwise, and its number of attributes is their mean."""
    by_item: dict[int, list[Mark]] = {}
    for mark in marks:
        if reviewer is None or mark.reviewer == reviewer:
            by_item.setdefault(mark.item, []).append(mark)
    marked = [item for item in items if item.key in by_item]
    confusion = Counter((item.outcome, mark.outcome) for item in marked for mark in by_item[item.key])
    return Findings(
        reviewer=reviewer,
        n=len(marked),
        errors=_rate_errors(marked, by_item),
        confusion=[(machine, person, n) for (machine, person), n in sorted(confusion.items())],
        scores=_correct_scores(marked, by_item, frame),
    )


def is_right(item: Item, mark: Mark) -> bool:
    """Whether the machine read an answer as the reviewer did: the same outcome and as many attributes."""
    return (item.outcome, item.n_attributes) == (mark.outcome, mark.n_attributes)


def _rate_errors(marked: Sequence[Item], by_item: Mapping[int, Sequence[Mark]]) -> list[ErrorRate]:
    wrong = {item.key: _is_wrong(item, by_item[item.key]) for item in marked}
    rates = [_rate("all", [wrong[item.key] for item in marked])]
    layers = sorted({item.layer for item in marked})
    rates += [_rate(layer, [wrong[item.key] for item in marked if item.layer == layer]) for layer in layers]
    return rates if len(layers) > 1 else rates[:1]


def _is_wrong(item: Item, marks: Sequence[Mark]) -> bool:
    return 2 * sum(not is_right(item, mark) for mark in marks) >= len(marks)


def _rate(layer: str, wrong: Sequence[bool]) -> ErrorRate:
    n = len(wrong)
    return ErrorRate(layer, n, sum(wrong), sum(wrong) / n if n else None, wilson_interval(sum(wrong), n))


class _Part(NamedTuple):
    """A part of the frame: of one model, of one task, of both, or (None) of all."""

    model: str | None
    task: str | None

    def holds(self, model: str, task: str) -> bool:
        return self.model in {None, model} and self.task in {None, task}


def _correct_scores(
    marked: Sequence[Item], by_item: Mapping[int, Sequence[Mark]], frame: Mapping[FrameGroup, int]
) -> list[CorrectedScore]:
    tasks = sorted({group.task for group in frame})
    models = sorted({group.model for group in frame})
    parts = [_Part(None, None)]
    parts += [_Part(None, task) for task in tasks] if len(tasks) > 1 else []
    parts += [_Part(model, task) for model in models for task in tasks] if len(models) > 1 else []
    return [_correct_part(part, marked, by_item, frame) for part in parts]


def _correct_part(
    part: _Part, marked: Sequence[Item], by_item: Mapping[int, Sequence[Mark]], frame: Mapping[FrameGroup, int]
) -> CorrectedScore:
    groups = {group: n for group, n in frame.items() if part.holds(group.model, group.task)}
    size = sum(groups.values())
    usable = sum(n for group, n in groups.items() if group.outcome in USABLE)
    attributes = sum(n * group.n_attributes for group, n in groups.items() if group.outcome in USABLE)
    items = [item for item in marked if part.holds(item.model, item.task)]
    totals = _Totals(size, usable, attributes)
    corrected = estimate_score(totals, [_differ(item, by_item[item.key], warranted=True) for item in items])
    unwarranted = estimate_score(totals, [_differ(item, by_item[item.key], warranted=False) for item in items])
    warnings = []
    if 0 < len(items) < SMALL_SAMPLE:
        warnings.append("Few items are marked.")
    if corrected.score is not None and corrected.ci is None:
        warnings.append("No interval: the marked items are too few, or differ from the machine all alike.")
    if min(corrected.score or 0, unwarranted.score or 0) < 0:
        warnings.append("An estimate fell below 0 and is shown as 0.")
    return CorrectedScore(
        model=part.model,
        task=part.task,
        frame=size,
        n=len(items),
        uncorrected=attributes / usable if usable else None,
        corrected=_cut_off(corrected.score),
        ci=corrected.ci,
        unwarranted=_cut_off(unwarranted.score),
        ci_unwarranted=unwarranted.ci,
        warnings=warnings,
    )


def _cut_off(score: float | None) -> float | None:
    return None if score is None else max(0.0, score)


class _Totals(NamedTuple):
    """The machine's sums over a frame: readings, usable ones, and the attributes of those."""

    size: int
    usable: int
    attributes: int


class Difference(NamedTuple):
    """A person's reading of one item less the machine's: in attributes, and in whether it is usable at all."""

    attributes: float
    usable: float


class Estimate(NamedTuple):
    score: float | None
    ci: Interval | None


def _differ(item: Item, marks: Sequence[Mark], *, warranted: bool) -> Difference:
    machine_usable = item.outcome in USABLE
    machine = item.n_attributes if machine_usable else 0
    counted = [
        (mark.n_attributes - (0 if warranted else mark.n_warranted)) if mark.outcome in USABLE else 0 for mark in marks
    ]
    return Difference(fmean(counted) - machine, fmean(mark.outcome in USABLE for mark in marks) - machine_usable)


def estimate_score(totals: _Totals, differences: Sequence[Difference]) -> Estimate:
    """The score had people read all of a frame, from the differences on a simple random sample of it.

    Difference estimator of both sums, and their ratio: (K + N mean(dk)) / (D + N mean(dd)), with K attributes and D
    usable among N readings (Cochran 1977, Sampling Techniques, 7.2 and 6.4). Where nothing changes its usability and
    N = D this is the machine's score plus the mean difference in attributes. The interval takes the linearised variance
    with the finite-population correction and Student's t with n - 1 degrees of freedom; None where n < 2, and where all
    differences are alike but the sample is not the frame, for then it would have no width at all.
    """
    n = len(differences)
    if n == 0:
        return Estimate(None, None)
    attributes = totals.attributes + totals.size * fmean(each.attributes for each in differences)
    usable = totals.usable + totals.size * fmean(each.usable for each in differences)
    if usable <= 0:
        return Estimate(None, None)
    score = attributes / usable
    if n >= totals.size:
        return Estimate(score, Interval(score, score))
    residuals = [each.attributes - score * each.usable for each in differences]
    middle = fmean(residuals)
    squares = sum((each - middle) ** 2 for each in residuals)
    if n < 2 or squares == 0:
        return Estimate(score, None)
    variance = (1 - n / totals.size) * squares / (n - 1) / n
    reach = _find_quantile(n - 1) * math.sqrt(variance) * totals.size / usable
    return Estimate(score, Interval(max(0.0, score - reach), max(0.0, score + reach)))


def _find_quantile(degrees: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, _CONFIDENCE))


def compare_reviewers(items: Mapping[int, Item], marks: Iterable[Mark]) -> list[PairAgreement]:
    """Every two reviewers, on the items that both marked."""
    by_reviewer: dict[str, dict[int, Mark]] = {}
    for mark in marks:
        by_reviewer.setdefault(mark.reviewer, {})[mark.item] = mark
    pairs = []
    for first, second in combinations(sorted(by_reviewer), 2):
        shared = sorted(by_reviewer[first].keys() & by_reviewer[second].keys())
        met = [(by_reviewer[first][key], by_reviewer[second][key]) for key in shared]
        same = [(a.outcome, a.n_attributes) == (b.outcome, b.n_attributes) for a, b in met]
        attributed = [(a.outcome == Outcome.ATTRIBUTED, b.outcome == Outcome.ATTRIBUTED) for a, b in met]
        right = [(is_right(items[a.item], a), is_right(items[b.item], b)) for a, b in met]
        pairs.append(
            PairAgreement(
                first, second, len(met), fmean(same) if same else None, measure_kappa(attributed), measure_kappa(right)
            )
        )
    return pairs


def measure_kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two reviewers' yes and no; None where both always say the same one thing."""
    from transcripts.agreement.pure import coefficients

    counts = Counter(pairs)
    table = coefficients.count_pairs(counts[True, True], counts[True, False], counts[False, True], counts[False, False])
    return _leave_out_undefined(float(coefficients.measure_kappa(table)))


def _number_outcome(mark: Mark) -> float:
    return float(list(Outcome).index(Outcome(mark.outcome)))


def _measure_alpha(marks: Sequence[Mark], value: Callable[[Mark], float], level: str) -> float | None:
    """Krippendorff's alpha over all reviewers, any marks missing; None where it is not defined."""
    reviewers = sorted({mark.reviewer for mark in marks})
    if len(reviewers) < 2:
        return None
    import numpy as np

    from transcripts.agreement.pure.alpha import Level, count_coincidences, measure_alpha

    keys = {key: place for place, key in enumerate(sorted({mark.item for mark in marks}))}
    ratings = np.full((len(reviewers), len(keys)), np.nan)
    for mark in marks:
        ratings[reviewers.index(mark.reviewer), keys[mark.item]] = value(mark)
    return _leave_out_undefined(float(measure_alpha(count_coincidences(ratings), Level(level))[0]))


def _leave_out_undefined(value: float) -> float | None:
    return None if math.isnan(value) else value
