"""The results of an audit of interpretations: how often interpretations are wrong, how well reviewers agree, and what the score
would be without errors.

People reread a simple random sample that is drawn from a frame of interpretations. This gives figures about the sample (error
rate, confusion, agreement) and about the frame (corrected scores), both with intervals. Nothing is rounded; None means "not
defined"."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from auditapp.audits.pure import SMALL_SAMPLE, group_marks, measure_kappa, pair_reviewers, warn_of_unmarked
from auditapp.benchmarks.sob.pure.answer_words import Outcome
from transcripts.statistics.figures import MIN_CLUSTERS, Interval, wilson_interval

USABLE = frozenset({Outcome.ATTRIBUTED, Outcome.UNKNOWN})
_CONFIDENCE = 0.975


class Item(NamedTuple):
    """One answer of the sample, with its interpretation at the time of the draw."""

    key: int
    model: str
    task: str
    reader: str
    outcome: str
    n_attributes: int


class Mark(NamedTuple):
    """One reviewer's interpretation of an item. The text itself warrants ``n_warranted`` of the attributes."""

    item: int
    reviewer: str
    outcome: str
    n_attributes: int
    n_warranted: int


FrameGroup = tuple[str, str, str, int]
"""The model, task, outcome and number of attributes shared by a group of interpretations of the frame, which count alike."""


def build_audit_report(
    items: Sequence[Item], marks: Sequence[Mark], first_marks: Sequence[Mark], frame: Mapping[FrameGroup, int]
) -> dict[str, Any]:
    """Everything that an audit shows. ``findings`` begin with all reviewers together.

    ``marks`` are the latest, at most one for each reviewer and item. ``first_marks`` were made before the machine's interpretation
    was shown; agreement is measured on them.
    """
    reviewers = sorted({mark.reviewer for mark in marks})
    findings = [find_errors(items, marks, frame, reviewer=None)]
    if len(reviewers) > 1:
        findings += [find_errors(items, marks, frame, reviewer=reviewer) for reviewer in reviewers]
    marked = findings[0]["n"]
    warnings = warn_of_unmarked(marked, len(items))
    if 0 < marked < SMALL_SAMPLE:
        warnings.append(
            f"Only {marked} items are marked, so the intervals are wide and depend on a handful of answers."
        )
    return {
        "n_items": len(items),
        "findings": findings,
        "agreement": compare_reviewers({item.key: item for item in items}, first_marks),
        "alpha_counts": _measure_alpha(first_marks, lambda mark: float(mark.n_attributes), "interval"),
        "alpha_outcomes": _measure_alpha(
            first_marks, lambda mark: float(list(Outcome).index(Outcome(mark.outcome))), "nominal"
        ),
        "warnings": warnings,
    }


def find_errors(
    items: Sequence[Item], marks: Sequence[Mark], frame: Mapping[FrameGroup, int], *, reviewer: str | None
) -> dict[str, Any]:
    """The findings of one reviewer, or of all together if ``reviewer`` is None: an item is then wrong if at least half of its
    reviewers read it differently, and its number of attributes is the mean of theirs.

    ``errors`` are shares of wrongly read items among ``n`` marked items, for all readers and for each; ``ci`` is Wilson's 95 %
    interval, None for fewer than three items.
    """
    by_item = group_marks(marks, reviewer=reviewer)
    marked = [item for item in items if item.key in by_item]
    confusion = Counter((item.outcome, mark.outcome) for item in marked for mark in by_item[item.key])
    wrong = {
        item.key: 2 * sum(not is_right(item, mark) for mark in by_item[item.key]) >= len(by_item[item.key])
        for item in marked
    }
    readers = sorted({item.reader for item in marked})
    errors = []
    for reader in ["all", *(readers if len(readers) > 1 else [])]:
        of_reader = [wrong[item.key] for item in marked if reader in {"all", item.reader}]
        n, n_wrong = len(of_reader), sum(of_reader)
        rate = n_wrong / n if n else None
        ci = wilson_interval(n_wrong, n) if n >= MIN_CLUSTERS else None
        errors.append({"reader": reader, "n": n, "wrong": n_wrong, "rate": rate, "ci": ci})
    return {
        "reviewer": reviewer,
        "n": len(marked),
        "errors": errors,
        "confusion": [(machine, person, n) for (machine, person), n in sorted(confusion.items())],
        "scores": _correct_scores(marked, by_item, frame),
    }


def is_right(item: Item, mark: Mark) -> bool:
    """Whether the machine read an answer as the reviewer did: the same outcome and the same number of attributes."""
    return (item.outcome, item.n_attributes) == (mark.outcome, mark.n_attributes)


def _correct_scores(
    marked: Sequence[Item], by_item: Mapping[int, Sequence[Mark]], frame: Mapping[FrameGroup, int]
) -> list[dict[str, Any]]:
    """The scores of the whole frame, of each task, and of each model and task; None in ``model`` or ``task`` means all."""
    tasks = sorted({task for _, task, _, _ in frame})
    models = sorted({model for model, _, _, _ in frame})
    parts: list[tuple[str | None, str | None]] = [(None, None)]
    parts += [(None, task) for task in tasks] if len(tasks) > 1 else []
    parts += [(model, task) for model in models for task in tasks] if len(models) > 1 else []
    scores = []
    for model, task in parts:
        groups = {group: n for group, n in frame.items() if model in {None, group[0]} and task in {None, group[1]}}
        items = [item for item in marked if model in {None, item.model} and task in {None, item.task}]
        scores.append({"model": model, "task": task, **_correct_score(items, by_item, groups)})
    return scores


def _correct_score(
    items: Sequence[Item], by_item: Mapping[int, Sequence[Mark]], groups: Mapping[FrameGroup, int]
) -> dict[str, Any]:
    """The score of a part of the frame as the machine read it, and an estimate of the score if people had read all of it.

    ``frame`` is the number of interpretations, ``n`` the number marked. ``unwarranted`` excludes attributes that texts warrant.
    """
    size = sum(groups.values())
    usable = sum(n for (*_, outcome, _), n in groups.items() if outcome in USABLE)
    attributes = sum(n * n_attributes for (*_, outcome, n_attributes), n in groups.items() if outcome in USABLE)
    totals = (size, usable, attributes)
    corrected, ci = estimate_score(totals, [_differ(item, by_item[item.key], warranted=True) for item in items])
    unwarranted, ci_unwarranted = estimate_score(
        totals, [_differ(item, by_item[item.key], warranted=False) for item in items]
    )
    warnings = []
    if 0 < len(items) < SMALL_SAMPLE:
        warnings.append("Few items are marked.")
    if corrected is not None and ci is None:
        warnings.append("No interval: too few items are marked, or all differ from the machine in the same way.")
    if min(corrected or 0, unwarranted or 0) < 0:
        warnings.append("An estimate was below 0 and is shown as 0.")
    return {
        "frame": size,
        "n": len(items),
        "uncorrected": attributes / usable if usable else None,
        "corrected": None if corrected is None else max(0.0, corrected),
        "ci": ci,
        "unwarranted": None if unwarranted is None else max(0.0, unwarranted),
        "ci_unwarranted": ci_unwarranted,
        "warnings": warnings,
    }


def _differ(item: Item, marks: Sequence[Mark], *, warranted: bool) -> tuple[float, float]:
    """People's interpretation of one item minus the machine's: the differences in the number of attributes and in usability."""
    machine_usable = item.outcome in USABLE
    machine = item.n_attributes if machine_usable else 0
    counted = [
        (mark.n_attributes - (0 if warranted else mark.n_warranted)) if mark.outcome in USABLE else 0 for mark in marks
    ]
    return fmean(counted) - machine, fmean(mark.outcome in USABLE for mark in marks) - machine_usable


def estimate_score(
    totals: tuple[int, int, int], differences: Sequence[tuple[float, float]]
) -> tuple[float | None, Interval | None]:
    """The score if people had read all of a frame, with its interval, from the differences on a simple random sample of it.

    ``totals`` are the machine's sums over the frame: N interpretations, D usable ones, and the K attributes of those. Each
    difference is a pair: in attributes (dk) and in usability (dd). The score is the ratio of both sums' difference estimators:
    (K + N mean(dk)) / (D + N mean(dd)) (Cochran 1977, Sampling Techniques, 7.2 and 6.4). If no item changes its usability
    and N = D, this is the machine's score plus the mean difference in attributes. The interval uses the linearised variance
    with the finite-population correction and Student's t with n - 1 degrees of freedom. It is None if n < 3, and also if all
    differences are equal while the sample is not the whole frame, because it would then have no width.
    """
    size, usable, attributes = totals
    n = len(differences)
    if n == 0:
        return None, None
    corrected_usable = usable + size * fmean(in_usable for _, in_usable in differences)
    if corrected_usable <= 0:
        return None, None
    score = (attributes + size * fmean(in_attributes for in_attributes, _ in differences)) / corrected_usable
    if n >= size:
        return score, Interval(score, score)
    residuals = [in_attributes - score * in_usable for in_attributes, in_usable in differences]
    middle = fmean(residuals)
    squares = sum((each - middle) ** 2 for each in residuals)
    if n < MIN_CLUSTERS or squares == 0:
        return score, None
    variance = (1 - n / size) * squares / (n - 1) / n
    from scipy.special import stdtrit

    reach = float(stdtrit(n - 1, _CONFIDENCE)) * math.sqrt(variance) * size / corrected_usable
    return score, Interval(max(0.0, score - reach), max(0.0, score + reach))


def compare_reviewers(items: Mapping[int, Item], marks: Sequence[Mark]) -> list[dict[str, Any]]:
    """Every pair of reviewers, compared on the items that both marked; shares are from 0 to 1.

    ``same``: the share with the same outcome and number of attributes. ``kappa_attributed``: Cohen's kappa on whether anything is
    attributed. ``kappa_right``: Cohen's kappa on whether the machine read the answer correctly.
    """
    return [
        {
            "first": first,
            "second": second,
            "n": len(pairs),
            "same": fmean((a.outcome, a.n_attributes) == (b.outcome, b.n_attributes) for a, b in pairs)
            if pairs
            else None,
            "kappa_attributed": measure_kappa(
                [(a.outcome == Outcome.ATTRIBUTED, b.outcome == Outcome.ATTRIBUTED) for a, b in pairs]
            ),
            "kappa_right": measure_kappa([(is_right(items[a.item], a), is_right(items[b.item], b)) for a, b in pairs]),
        }
        for first, second, pairs in pair_reviewers(marks)
    ]


def _measure_alpha(marks: Sequence[Mark], value: Callable[[Mark], float], level: str) -> float | None:
    """Krippendorff's alpha over all reviewers; marks may be missing. None if it is not defined."""
    reviewers = sorted({mark.reviewer for mark in marks})
    if len(reviewers) < 2:
        return None
    import numpy as np

    from transcripts.statistics.coefficients import Level, count_coincidences, measure_alpha

    keys = {key: place for place, key in enumerate(sorted({mark.item for mark in marks}))}
    ratings = np.full((len(reviewers), len(keys)), np.nan)
    for mark in marks:
        ratings[reviewers.index(mark.reviewer), keys[mark.item]] = value(mark)
    alpha = float(measure_alpha(count_coincidences(ratings), Level(level))[0])
    return None if math.isnan(alpha) else alpha
