"""Figures with their intervals, what may be concluded from them, and numbers as people read them. numpy and scipy are not
loaded.

Intervals of shares, of the difference of two and of a ratio are by formula, with units taken as independent.

What a figure may say depends on how many independent clusters it has and on where its interval ends. Clusters are the
independent things: turns, threads, cases or texts, never the sentences or repeats within one. docs/reference/method.md has the
simulated coverage of their intervals.

On pages, in charts, LaTeX and terminals numbers are rounded, not cut, with a proper minus sign. Files and the API do not round.

How well stated probabilities fit what came true is shown by Brier's score, the calibration error, and the bins of a reliability
diagram.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import StrEnum
from statistics import NormalDist, correlation, fmean
from typing import NamedTuple

_Z = 1.959963984540054


class Interval(NamedTuple):
    """The two ends of a 95 % interval."""

    low: float
    high: float


class Share(NamedTuple):
    """``part`` of ``n``. The share and its interval are ``None`` where ``n`` is 0."""

    part: int
    n: int

    @property
    def value(self) -> float | None:
        return self.part / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval (Wilson)."""
        return wilson_interval(self.part, self.n)


def wilson_interval(successes: float, n: int, confidence: float = 0.95) -> Interval | None:
    """The interval of a share, from 0 to 1, of 95 % unless said (Wilson 1927, JASA 22:209); None where ``n`` is 0.

    ``successes`` need not be whole: the sum of what each of ``n`` cases reached, from 0 to 1, has at most the spread of a
    count. Raises ValueError for successes below 0 or above ``n``.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share")
    if n == 0:
        return None
    share, z = successes / n, _find_z(confidence)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    middle, scale = share + z * z / (2 * n), 1 + z * z / n
    # At the ends rounding leaves a trace of what is exactly 0 or 1.
    low = 0.0 if successes == 0 else (middle - spread) / scale
    return Interval(low, 1.0 if successes == n else (middle + spread) / scale)


def newcombe_interval(successes: int, n: int, other_successes: int, other_n: int) -> Interval | None:
    """The 95 % interval of the first share minus the second, of independent samples; None where either ``n`` is 0.

    Newcombe 1998 (Statistics in Medicine 17:873), method 10: the ends of both Wilson intervals, squared and added.
    """
    first, second = wilson_interval(successes, n), wilson_interval(other_successes, other_n)
    if first is None or second is None:
        return None
    share, other = successes / n, other_successes / other_n
    low = math.hypot(share - first.low, second.high - other)
    high = math.hypot(first.high - share, other - second.low)
    return Interval(max(-1.0, share - other - low), min(1.0, share - other + high))


def paired_difference_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> Interval | None:
    """The interval of the mean of ``first`` minus that of ``second``, each a share from 0 to 1 of the same cases, in one order;
    None where there are none.

    Newcombe 1998 (Statistics in Medicine 17:2635), method 10, without continuity correction: with a and b the two means, (l, u) and
    (m, v) the ends of their Wilson intervals, and r their correlation over cases, the ends are a - b less the root of
    (a - l)^2 - 2 r (a - l) (v - b) + (v - b)^2, and a - b plus the root of (u - a)^2 - 2 r (u - a) (b - m) + (b - m)^2. For shares
    of 0 and 1 this is the interval of paired shares; means of repeats vary at most as much. Where all of one side are alike, r is
    0.
    """
    ends = [end for each in (first, second) if (end := wilson_interval(math.fsum(each), len(each), confidence))]
    if not ends:
        return None
    a, b = fmean(first), fmean(second)
    varies = len(set(first)) > 1 and len(set(second)) > 1
    together = correlation(first, second) if varies else 0.0

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one * one - 2 * together * one * other + other * other))

    low = a - b - reach(a - ends[0].low, ends[1].high - b)
    high = a - b + reach(ends[0].high - a, b - ends[1].low)
    return Interval(max(-1.0, low), min(1.0, high))


def paired_ratio_interval(upper: Sequence[float], lower: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The interval of the sum of ``upper`` over that of ``lower``, shares of the same cases in one order.

    With u_i and p_i the two shares of case i, U and P their sums and R = U / P, it is
    exp(ln R ± z sqrt(sum (u_i / U - p_i / P)^2)), the delta method over cases. For shares of 0 and 1 this is the interval of a
    ratio of paired shares, exp(ln R ± z sqrt((b + c) / (U P))), where b cases have the lower share alone and c the upper alone
    (Nam and Blackwelder 2002, Statistics in Medicine 21:689).

    None where either sum is 0, which includes no cases, and where the ratio is the same in every case, so that nothing shows
    how far it could be off, as with a single case.
    """
    over, under = math.fsum(upper), math.fsum(lower)
    if not over or not under:
        return None
    steps = math.sqrt(math.fsum((u / over - p / under) ** 2 for u, p in zip(upper, lower, strict=True)))
    if math.isclose(steps, 0, abs_tol=1e-12):
        return None
    spread = _find_z(confidence) * steps
    return Interval(over / under * math.exp(-spread), over / under * math.exp(spread))


def _find_z(confidence: float) -> float:
    return _Z if confidence == 0.95 else NormalDist().inv_cdf((1 + confidence) / 2)


MIN_CLUSTERS = 3
"""A figure of fewer clusters has no interval."""
FEW = 10
"""A figure of fewer clusters is marked, and no verdict is given on it."""
ROUGH = 20
"""The interval of a figure of fewer clusters is marked."""


class Mark(StrEnum):
    """The mark of a figure that is based on few clusters."""

    FEW = "few"
    ROUGH = "rough"


def explain_mark(mark: Mark, things: str) -> str:
    """What a mark means, in a sentence or two. ``things``: the independent things (turns, threads, cases or texts)."""
    if mark is Mark.FEW:
        return f"Few: fewer than {FEW} {things}. Nothing is concluded from it."
    return f"Rough: fewer than {ROUGH} {things}. One more or less can move the figure and its interval far."


def explain_marks(marks: Iterable[str | None], things: str) -> list[str]:
    """The meaning of each mark that occurs, once."""
    found = set(marks)
    return [explain_mark(mark, things) for mark in Mark if mark in found]


def mark_clusters(clusters: int) -> Mark | None:
    """The mark of a figure based on that many clusters; None where they are enough."""
    if clusters < FEW:
        return Mark.FEW
    return Mark.ROUGH if clusters < ROUGH else None


def explain_marks_in(lines: Iterable[str], things: str) -> list[str]:
    """The meaning of the marks that appear in brackets in lines of text."""
    text = "\n".join(lines)
    return explain_marks((mark for mark in Mark if f"({mark})" in text), things)


class Reason(StrEnum):
    """Why a figure or its interval is missing, in words for the page."""

    NO_PAIR = "fewer than two coders"
    NOTHING_SHARED = "no unit was decided by two coders"
    NEVER_USED = "nobody used the code"
    ALWAYS_USED = "everybody used the code on every unit"
    NO_VARIATION = "all values are the same"
    NO_PAIR_DEFINES = "not defined for any pair of coders"
    MORE_THAN_TWO = "Cohen's kappa is for two coders; see the mean over pairs"
    NOTHING_CODED = "no coder applied a code to a unit that two decided"
    NO_ERROR = "the large-sample error is 0 and bounds nothing"
    OTHER_SCALE = "only for codes that are applied or not applied"
    NOT_DRAWN = "no resamples were asked for"
    FEW_DRAWN = f"fewer than {FEW} turns, too few to resample"
    OFTEN_UNDEFINED = "too rare: not defined in more than a tenth of the resamples"
    DRAWS_ALIKE = "the same in every resample, which says nothing about certainty"
    ABSOLUTE = "a mean of absolute values, which draws can only move up: it may lie outside their interval"
    TOO_MANY_VALUES = "too many different values for resampling"
    FEW_CLUSTERS = f"fewer than {MIN_CLUSTERS} independent cases (turns, threads, cases or texts)"
    ONE_SIDE = "nothing to compare with on one side"


class Figure(NamedTuple):
    """A figure. ``value`` is None where it is not defined; ``reason`` then says why, for people to read.

    ``interval`` is the 95 % interval; ``no_interval`` says why a defined figure has none. ``pairs``: of a mean over pairs of
    coders, how many pairs define it. ``method`` names how value and interval were found, ``units`` is the number of units of
    the value, and ``clusters`` that of independent ones (turns, threads, cases or texts), None if not counted.
    """

    value: float | None = None
    reason: str = ""
    interval: Interval | None = None
    no_interval: str = ""
    pairs: int | None = None
    method: str = ""
    units: int | None = None
    clusters: int | None = None

    @property
    def mark(self) -> Mark | None:
        """Few or rough, by the number of clusters."""
        return None if self.value is None or self.clusters is None else mark_clusters(self.clusters)


NONE = "–"
"""Printed where there is no number."""
MINUS = "−"
_CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)


def write_number(value: float | None, digits: int = 2) -> str:
    """The number with that many decimals, a half rounded up as Django's ``floatformat`` does; a dash where it is not defined.

    Zero is never negative.
    """
    if value is None:
        return NONE
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), context=_CONTEXT)
    return f"{rounded or abs(rounded):f}".replace("-", MINUS)


def write_signed(value: float | None, digits: int = 3) -> str:
    """A difference with its sign and that many decimals; a dash where it is not defined. Zero has no sign."""
    text = write_number(value, digits)
    return f"+{text}" if value is not None and value > 0 and float(text) else text


def write_interval(ends: Sequence[float] | None, digits: int = 3) -> str:
    """The ends of an interval, as in “0.165 to 0.356”; a dash where there is none."""
    return " to ".join(write_number(end, digits) for end in ends) if ends else NONE


def write_estimate(value: float | None, interval: Sequence[float] | None, digits: int = 3) -> str:
    """A figure with its interval in brackets, as in “0.250 [0.165, 0.356]”; without the brackets where there is none."""
    text = write_number(value, digits)
    return f"{text} [{', '.join(write_number(end, digits) for end in interval)}]" if interval else text


def write_figure(figure: Figure) -> str:
    """A figure with its interval and its mark as charts print it, as in “0.82, 0.60 to 0.90, rough”, or why there is none."""
    if figure.value is None:
        return str(figure.reason)
    interval = [write_interval(figure.interval, 2)] if figure.interval else []
    return ", ".join([write_number(figure.value), *interval, *filter(None, [figure.mark])])


def write_p(value: float | None) -> str:
    """A P value with three decimals, or “< 0.001”; a dash where there is none."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else write_number(value, 3)


def write_percent(share: float | None, digits: int = 1) -> str:
    """A share from 0 to 1 in per cent; a dash where it is not defined."""
    return NONE if share is None else f"{write_number(100 * share, digits)} %"


def write_percent_interval(ends: Sequence[float] | None, digits: int = 1) -> str:
    """Both ends of an interval of a share, in per cent; a dash where there is none."""
    return f"{write_interval([100 * end for end in ends], digits)} %" if ends else NONE


def write_points(difference: float | None) -> str:
    """A difference of two shares in percentage points; a dash where it is not defined."""
    return NONE if difference is None else f"{write_signed(100 * difference, 1)} points"


def write_out_of(part: int, whole: int) -> str:
    """As in “12 of 160 (7.5 %)”; “0 of 0” without a share."""
    percent = f" ({write_percent(part / whole)})" if whole else ""
    return f"{part:,} of {whole:,}{percent}"


def round_percent(part: int, whole: int, *, of_nothing: int = 0) -> int:
    """``part`` of ``whole`` in whole per cent, a half rounded up; 100 only for all of it, so that 551 of 552 does not look
    finished. static/js/desk/code_panel.js counts by the same rule."""
    if not whole:
        return of_nothing
    return min((200 * part + whole) // (2 * whole), 100 if part >= whole else 99)


BINS = 10
MIN_STATED = 100
TOO_FEW = (
    f"Below {MIN_STATED} cases with a stated probability there is no expected calibration error and no reliability diagram, "
    "because both would show chance: the error of a perfectly calibrated model is about 0.26 with 10 of them, 0.21 with 20 and "
    "0.10 with 100."
)


class Stated(NamedTuple):
    """A stated probability, whether the event came true, and the cluster (a case, a text) that it belongs to."""

    cluster: Hashable
    probability: float
    came_true: bool


class Bin(NamedTuple):
    """The ``n`` probabilities from ``low`` up to ``high``, of ``clusters`` clusters: the mean of what was stated, and the share
    that came true with its 95 % interval. Both are None in an empty bin; below three clusters there is no interval."""

    low: float
    high: float
    n: int
    clusters: int
    stated: float | None
    share: float | None
    interval: Interval | None


class Calibration(NamedTuple):
    """The calibration of ``n`` stated probabilities from ``clusters`` clusters; ``brier`` is None without any. Below
    ``MIN_STATED`` clusters ``error`` is None and there are no ``bins``; ``TOO_FEW`` says why."""

    n: int
    clusters: int
    brier: float | None
    error: float | None
    bins: tuple[Bin, ...]


def measure_calibration(stated: Iterable[Stated]) -> Calibration:
    """Brier's score, the expected calibration error and its ten bins.

    Brier's score is the mean of (p - y)^2, y being 1 where it came true and else 0 (Brier 1950, Monthly Weather Review 78:1). The
    expected calibration error is the mean over bins of |mean of p - share that came true|, each bin weighted by its n (Naeini,
    Cooper and Hauskrecht 2015, AAAI 29). Bins have equal width, each from its lower end up to its upper one, the last with 1.

    The interval of a share is Wilson's. Where clusters have several probabilities in a bin, its n is (sum of m)^2 / (sum of
    m^2), m being how many a cluster has there: the mean of clusters, weighted by m, varies at most as much as a share of that
    n. With one or two clusters there is no interval. Raises ``ValueError`` for a probability outside 0 to 1.
    """
    known = list(stated)
    if wrong := [each.probability for each in known if not 0 <= each.probability <= 1]:
        raise ValueError(f"{wrong[0]} is not a probability from 0 to 1")
    brier = fmean((each.probability - each.came_true) ** 2 for each in known) if known else None
    clusters = len({each.cluster for each in known})
    if clusters < MIN_STATED:
        return Calibration(len(known), clusters, brier, None, ())
    placed: list[list[Stated]] = [[] for _ in range(BINS)]
    for each in known:
        placed[min(int(each.probability * BINS), BINS - 1)].append(each)
    # Of each bin the sums suffice: its weight cancels its mean's denominator.
    off = math.fsum(abs(math.fsum(each.probability - each.came_true for each in own)) for own in placed)
    bins = tuple(_measure_bin(place, own) for place, own in enumerate(placed))
    return Calibration(len(known), clusters, brier, off / len(known), bins)


def _measure_bin(place: int, own: Sequence[Stated]) -> Bin:
    low, high = place / BINS, (place + 1) / BINS
    if not own:
        return Bin(low, high, 0, 0, None, None, None)
    sizes = Counter(each.cluster for each in own).values()
    share = fmean(each.came_true for each in own)
    independent = len(own) ** 2 // sum(size * size for size in sizes)
    interval = wilson_interval(share * independent, independent) if len(sizes) >= MIN_CLUSTERS else None
    return Bin(low, high, len(own), len(sizes), fmean(each.probability for each in own), share, interval)
