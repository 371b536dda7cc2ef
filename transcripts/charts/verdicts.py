"""What figures mean, in words: one plain rule for each kind of figure, said on the page beside the chart.

docs/reference/charts.md lists the rules with their reasons. Thresholds that a room already has are passed in by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from transcripts.charts.figures import Tone, Verdict, is_number

ENOUGH_CASES = 10
"""With fewer cases, nothing is said but how many there are."""
CANNOT_TELL = "cannot tell"
"""The verdict of an interval that contains both answers, never that there is no difference: no interval shows that."""
RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff's customary limits for alpha (Content Analysis, 2004, p. 241)."""
STEADY = 0.9
"""Of readings of the same sentences, the share as before from which a code counts as steady."""
LEADING = 0.5
"""Of answers, the share with one value from which that value leads."""

NEAR = 0.8
"""Of a cap, the share from which spending is near it."""

RELIABILITY_RULE = (
    f"Usable: alpha is at least {RELIABLE} and its interval does not go below {TENTATIVE}. Tentative: alpha is lower, and its "
    f"interval does not go below {TENTATIVE}. Cannot tell: alpha is at least {TENTATIVE}, and its interval goes below it or is "
    f"missing. Not usable: alpha is below {TENTATIVE}. Few turns or threads: it was applied in fewer than {ENOUGH_CASES}."
)
STEADY_RULE = (
    f"Steady: at least {STEADY:.0%} of the readings are as under the version before. Moved: fewer are. Few cases: "
    f"fewer than {ENOUGH_CASES} readings can be compared."
).replace("%", " %")
LEADING_RULE = (
    f"One value leads: at least {LEADING:.0%} of the answers that attribute anything name it. Few answers: fewer "
    f"than {ENOUGH_CASES}."
).replace("%", " %")
CAP_RULE = f"Near the cap: at least {NEAR:.0%} of it may be spent. Cap reached: all of it.".replace("%", " %")


def judge_cases(cases: int, enough: int = ENOUGH_CASES, things: str = "cases") -> Verdict | None:
    """Few cases, or None where there are enough. The word is that of the mark (transcripts.statistics.figures)."""
    return Verdict(f"few {things}: {cases}, a verdict needs {enough}") if cases < enough else None


def judge_reliability(value: float | None, low: float | None, cases: int, things: str = "turns") -> Verdict:
    """Alpha of what is coded in that many independent ``cases``, turns or other ``things``; ``low``: the lower end of its
    interval."""
    if few := judge_cases(cases, things=things):
        return few
    if value is None or not is_number(value):
        return Verdict("not defined")
    if value < TENTATIVE:
        return Verdict("not usable", Tone.BAD)
    if low is None or low < TENTATIVE:
        return Verdict(CANNOT_TELL if low is not None else f"{CANNOT_TELL}: no interval", Tone.WARN)
    return Verdict("usable", Tone.GOOD) if value >= RELIABLE else Verdict("tentative", Tone.WARN)


def judge_against(named: dict[str, float | None], threshold: float, cases: int, *, things: str = "cases") -> Verdict:
    """Figures that must all reach one threshold; those that do not are named. Undefined ones are passed over."""
    if few := judge_cases(cases, things=things):
        return few
    defined = {name: value for name, value in named.items() if is_number(value)}
    if not defined:
        return Verdict("not defined")
    below = [name for name, value in defined.items() if value is not None and value < threshold]
    return Verdict(f"not usable: {' and '.join(below)}", Tone.BAD) if below else Verdict("usable", Tone.GOOD)


def judge_difference(interval: Sequence[float] | None, *, more: str, less: str) -> Verdict:
    """A difference by its interval: wholly above 0, wholly below it, or neither, which is no evidence that there is none."""
    if interval is None or not all(map(is_number, interval)):
        return Verdict("not defined")
    low, high = interval
    if low > 0:
        return Verdict(more, Tone.WARN)
    return Verdict(less, Tone.WARN) if high < 0 else Verdict(CANNOT_TELL)


def judge_ratio(value: float | None, interval: Sequence[float] | None, *, more: str, less: str) -> Verdict:
    """A ratio by its interval: wholly above 1, wholly below it, or neither. One that nothing bounds tells nothing."""
    if value is None or interval is None:
        return Verdict("not defined" if value is None else f"{CANNOT_TELL}: no interval")
    return judge_difference([end - 1 for end in interval], more=more, less=less)


def judge_within(value: float | None, interval: Sequence[float] | None) -> Verdict:
    """A score under another rule, against the interval of the score under the usual rule."""
    if value is None or interval is None:
        return Verdict("not defined")
    inside = interval[0] <= value <= interval[1]
    return Verdict("within the interval", Tone.GOOD) if inside else Verdict("outside the interval", Tone.WARN)


def judge_steadiness(same: int, compared: int) -> Verdict:
    """A code whose readings are ``same`` as before in so many of those ``compared``."""
    if few := judge_cases(compared):
        return few
    return Verdict("steady", Tone.GOOD) if same / compared >= STEADY else Verdict("moved", Tone.WARN)


def judge_lead(first: int, answers: int) -> Verdict:
    """The most common value: named by ``first`` of so many answers."""
    if few := judge_cases(answers, things="answers"):
        return few
    return Verdict("one value leads", Tone.WARN) if first / answers >= LEADING else Verdict("mixed")


def judge_cap(spent: int, cap: int, *, percent: int) -> Verdict:
    """What was or may have been spent, of the most that may be; ``percent`` is the share as pages write it."""
    if spent >= cap:
        return Verdict("cap reached", Tone.BAD)
    words = f"{percent} % of the cap"
    return Verdict(f"near the cap: {words}", Tone.WARN) if spent >= NEAR * cap else Verdict(words, Tone.GOOD)


def summarise(verdicts: Iterable[Verdict | None], things: str) -> str:
    """How many of the things got which verdict, the most common first: "Of 9 codes: 5 with few cases, 4 usable."."""
    counted = Counter(verdict.words.partition(":")[0] for verdict in verdicts if verdict)
    named = (
        (number, f"with {words}" if words.startswith("few ") else words) for words, number in counted.most_common()
    )
    said = ", ".join(f"{number} {words}" for number, words in named)
    return f"Of {counted.total()} {things}: {said}." if counted.total() > 1 else ""
