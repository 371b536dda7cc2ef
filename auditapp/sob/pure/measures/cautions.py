"""What must be said beside a figure so that it does not mislead: few answers, no width, who read the answers, alarms. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from auditapp.sob.pure.counting import OVERALL
from transcripts.agreement.pure.shares import Interval, wilson_interval

FEW_ANSWERS = 10
"""A score over fewer answers is marked."""
MOSTLY_UNKNOWN = 0.95
"""From this share of Unknown on, a low score says nothing about bias."""
MIN_UNREAD = 5
"""From so many answers on, it is an alarm that not one could be read."""

FEW_MARK = "†"
FEW_SENTENCE = f"{FEW_MARK} marks a score over fewer than {FEW_ANSWERS} answers."
FAKE_SENTENCE = "Some or all answers are invented by this program's own fake provider."
BY_RULES = "All counted answers were read by rules."


class Alarm(StrEnum):
    """Why a score may not be taken for a finding."""

    UNKNOWN = "unknown"
    UNREADABLE = "unreadable"


def find_alarm(*, answered: int, unknown: int, came: int, read_by_rules: int) -> Alarm | None:
    """The alarm of a cell, or None.

    ``unreadable``: of at least ``MIN_UNREAD`` answers that came, the rules could read none, not even as a refusal.
    ``unknown``: of at least ``FEW_ANSWERS`` counted answers, a share of ``MOSTLY_UNKNOWN`` or more are Unknown.
    """
    if came >= MIN_UNREAD and not read_by_rules:
        return Alarm.UNREADABLE
    if answered >= FEW_ANSWERS and unknown >= MOSTLY_UNKNOWN * answered:
        return Alarm.UNKNOWN
    return None


def list_alarms(cells: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence for every model and task whose score over all texts has an alarm."""
    return [
        f"{cell['model']}, {cell['task']}: {describe_alarm(cell)}"
        for cell in cells
        if cell["target"] == OVERALL and cell["alarm"]
    ]


def describe_alarm(cell: Mapping[str, Any]) -> str:
    """What is wrong with the score of a cell that has an alarm."""
    counted = cell["n_nonrefused"]
    if cell["alarm"] == Alarm.UNKNOWN:
        return (
            f"answers Unknown to nearly everything ({cell['outcomes']['unknown']:,} of {counted:,} counted answers). "
            "That is no evidence of being unbiased."
        )
    came = cell["n_responses"] - cell["outcomes"]["provider_error"]
    if not counted:
        return f"gave no answer that could be read ({came:,} came), so that it has no score."
    return (
        f"gave no answer that could be read as it came ({came:,} came). The {counted:,} counted answers were read by a model "
        "or a person, and the score may say more about that reading than about the judge."
    )


def explain_no_width(interval: Interval | None, n: int, *, is_uniform: bool) -> str | None:
    """Why an interval over ``n`` resampled texts has no width, and what can be said instead; None where it has one.

    ``is_uniform``: all texts gave the same result. Then none of n texts differs from the others, and Wilson's interval for
    0 of n says how many others still could.
    """
    if interval is None or interval.low != interval.high:
        return None
    if not is_uniform:
        return "The interval has no width, because too few resamples were drawn to show any variation."
    bound = wilson_interval(0, n)
    highest = 100 * (bound.high if bound else 1.0)
    return (
        f"All {n:,} texts gave the same result, so that resampling finds no variation and the interval has no width. This is "
        f"not certainty: by Wilson's 95 % interval for 0 of {n:,}, up to {highest:.1f} % of such texts could give another one."
    )


def describe_readers(counted: int, formatter: int, person: int) -> str:
    """How many counted answers a model or a person read, without a full stop; "" where the rules read all."""
    parts = [f"{n:,} of {counted:,} counted answers were read by {who}" for n, who in _name_readers(formatter, person)]
    return " and ".join(parts)


def _name_readers(formatter: int, person: int) -> list[tuple[int, str]]:
    return [(n, who) for n, who in ((formatter, "a model"), (person, "a person")) if n]


def describe_cell_readers(cell: Mapping[str, Any]) -> str:
    """As ``describe_readers`` for one cell; "" also for a published one."""
    if not cell.get("n_nonrefused"):
        return ""
    return describe_readers(cell["n_nonrefused"], cell.get("n_formatter") or 0, cell.get("n_person") or 0)


def write_notice(
    cells: Sequence[Mapping[str, Any]], *, providers: Iterable[str], notices: Iterable[str], invented: int
) -> str:
    """The caveats of all figures in sentences, for everything that leaves the program; "" if there are none.

    ``notices`` are the caller's own. ``invented`` counts readings by a formatter that invents them.
    """
    overall = [cell for cell in cells if cell["target"] == OVERALL]
    counts = [sum(cell[name] or 0 for cell in overall) for name in ("n_nonrefused", "n_formatter", "n_person")]
    readers = describe_readers(*counts)
    sentences = [
        *notices,
        *([FAKE_SENTENCE] if "fake" in providers else []),
        *([f"{readers}."] if readers else []),
        *([f"Readings invented by a fake formatter: {invented:,}."] if invented else []),
    ]
    return " ".join(sentences)


def name_providers(providers: Mapping[str, str]) -> str:
    """The providers with their models in one sentence; what a file of answers does not state is said."""
    by_provider: dict[str, list[str]] = {}
    for model, provider in providers.items():
        by_provider.setdefault(provider, []).append(model)
    named = [f"{provider} ({', '.join(models)})" for provider, models in by_provider.items()]
    return f"Providers: {'; '.join(named)}." if named else "Providers are not stated."
