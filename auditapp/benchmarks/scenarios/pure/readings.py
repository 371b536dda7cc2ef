"""Whether a code holds in a thread, by the blind readings of those who coded it and by what was adjudicated.

A unit (a sentence, a turn or the thread, as the code's family is applied) counts as adjudicated where a decision for one reading,
or for another one, stands against a reading. Elsewhere readings count that agree about this code; where they do not, nothing holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

ADJUDICATED, AGREED, SINGLE, DISPUTED, UNREAD = "adjudicated", "agreed", "single", "disputed", "unread"
BASES = (ADJUDICATED, AGREED, SINGLE, DISPUTED, UNREAD)
"""What the outcome of a thread rests on: a decision, two coders or more, one coder; or why there is none: coders disagree and
nobody has decided, or not everything is read."""


class UnitReading(NamedTuple):
    """What is known of one code in one unit: whether each coder who decided the unit applied it, whether it holds by an
    adjudication (None: none says), and whether the unit has to be decided before the thread counts as read."""

    readings: Sequence[bool]
    adjudicated: bool | None = None
    is_needed: bool = True


class ThreadReading(NamedTuple):
    """Whether the code holds in the thread, None where that is open; and on what that rests, one of ``BASES``."""

    holds: bool | None
    basis: str


def read_thread(units: Iterable[UnitReading]) -> ThreadReading:
    """The code holds where it holds in one unit. It does not where it holds in none, every unit that is needed was decided, and
    no unit is disputed."""
    bases: dict[bool | None, set[str]] = {True: set(), False: set(), None: set()}
    for unit in units:
        holds, basis = _read_unit(unit)
        if basis != UNREAD or unit.is_needed:
            bases[holds].add(basis)
    if bases[True]:
        # The best ground for one unit is enough.
        return ThreadReading(True, next(basis for basis in (AGREED, ADJUDICATED, SINGLE) if basis in bases[True]))
    for basis in (DISPUTED, UNREAD):
        if basis in bases[None]:
            return ThreadReading(None, basis)
    if not bases[False]:
        return ThreadReading(None, UNREAD)
    # That it holds nowhere rests on every unit, and so on the weakest.
    return ThreadReading(False, next(basis for basis in (ADJUDICATED, SINGLE, AGREED) if basis in bases[False]))


def _read_unit(unit: UnitReading) -> ThreadReading:
    said = set(unit.readings)
    if unit.adjudicated is not None and said != {unit.adjudicated}:
        return ThreadReading(unit.adjudicated, ADJUDICATED)
    if not said:
        return ThreadReading(None, UNREAD)
    if len(said) > 1:
        return ThreadReading(None, DISPUTED)
    return ThreadReading(said.pop(), AGREED if len(unit.readings) > 1 else SINGLE)


def describe_readings(report: Mapping[str, object]) -> str:
    """Which readings give the outcomes of cases that name a code, as a sentence or two; "" where no case does."""
    counts = report.get("readings")
    if not isinstance(counts, Mapping):
        return ""
    total = sum(counts.values())
    threads = f"{total:,} thread{'' if total == 1 else 's'} of cases that name a code"
    if report["coder"]:
        return (
            f"The outcomes of {threads} are by the blind codings of {report['coder']} alone; adjudications are not used. "
            f"{counts[UNREAD]:,} have none, because {report['coder']} has not decided all of them."
        )
    return (
        f"The outcomes of {threads} are by the blind codings of all coders: {counts[ADJUDICATED]:,} adjudicated, "
        f"{counts[AGREED]:,} as two coders or more agree, {counts[SINGLE]:,} by one coder alone. No outcome: {counts[DISPUTED]:,} "
        f"where coders disagree and nobody has adjudicated, {counts[UNREAD]:,} not read to the end."
    )
