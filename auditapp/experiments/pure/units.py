"""Units of an experiment from a CSV: to which arm each was assigned, and what came out of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from auditapp.experiments.pure.plans import MAX_NUMBER, Plan, is_number
from transcripts.formats.csv_input import CsvError, read_csv
from transcripts.ui.typed_text import find_fault

MAX_UNITS = 200_000
MAX_GROUPS = 100
MAX_NAME = 200
UNIT, ARM, GROUP, OUTCOME = "unit", "arm", "group", "outcome"
TOO_MANY_GROUPS = (
    f"there are more than {MAX_GROUPS} groups. A group is something that many units share, such as a region; leave the column out "
    "where each unit has its own."
)
_YES, _NO = {"1", "yes", "true"}, {"0", "no", "false"}
_NONE = {"", "na", "n/a"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?")
Outcome = bool | float | None
"""Yes or no, or a number, as the plan says of each; None where it is not known."""


class UnitsRefused(Exception):
    """A file that is no list of units of the plan; the message names the line and never quotes more than a name."""


class Unit(NamedTuple):
    """One unit that was assigned. ``outcomes``: by name, None where it is not known; every outcome of the plan is there."""

    unit: str
    arm: str
    group: str
    outcomes: Mapping[str, Outcome]


def read_units(lines: Iterable[str], plan: Plan) -> Iterator[Unit]:
    """The units of a CSV with the columns unit, arm, and where there are any, group, outcome (the primary one, which may stand
    under its name instead) and the others by name; further columns are passed over. Read row by row.

    An outcome is 1, yes or true, or 0, no or false; one that the plan calls a number is a number, with a point. It is empty where
    it is not known. Raises ``UnitsRefused`` for a unit that is there twice, whether in one arm or in two, an arm that the plan
    does not have, any other word as an outcome, and a number outside its scale.
    """
    reader = read_csv(lines)
    try:
        rows = iter(reader)
        headings = [heading.strip() for heading in next(rows, [])]
        places = _find_columns(headings, plan)
        seen: dict[str, tuple[str, int]] = {}
        groups: set[str] = set()
        for cells in rows:
            if not cells:
                continue
            line = reader.line_num
            if len(cells) != len(headings):
                raise UnitsRefused(
                    f"Line {line}: {len(cells)} cells under {len(headings)} headings. Write one for each."
                )
            unit = _read_unit(cells, places, plan, line)
            if unit.unit in seen:
                arm, before = seen[unit.unit]
                where = "in the same arm" if arm == unit.arm else f"in {arm} and in {unit.arm}"
                raise UnitsRefused(
                    f"Line {line}: the unit of line {before} again, {where}. Each unit is assigned once."
                )
            if len(seen) >= MAX_UNITS:
                raise UnitsRefused(f"Line {line}: a file has at most {MAX_UNITS:,} units. Divide it.")
            seen[unit.unit] = unit.arm, line
            groups.add(unit.group)
            if len(groups) > MAX_GROUPS:
                raise UnitsRefused(f"Line {line}: {TOO_MANY_GROUPS}")
            yield unit
    except CsvError as error:
        raise UnitsRefused(f"Line {reader.line_num}: the CSV cannot be read ({error}).") from None
    except UnicodeDecodeError:
        raise UnitsRefused(f"After line {reader.line_num}: the file is not UTF-8. Save it as UTF-8.") from None
    if not seen:
        raise UnitsRefused("The file has no unit. Under the headings stands a row for each.")


def _find_columns(headings: Sequence[str], plan: Plan) -> dict[str, int]:
    twice = [heading for heading, count in Counter(headings).items() if count > 1]
    if twice:
        raise UnitsRefused(f"Two columns are called “{twice[0][:MAX_NAME]}”. Give every column a name of its own.")
    for needed in (UNIT, ARM):
        if needed not in headings:
            found = ", ".join(headings)[:MAX_NAME] or "none"
            raise UnitsRefused(f"There is no column “{needed}”. The columns are: {found}.")
    if OUTCOME in headings and plan.outcome in headings and plan.outcome != OUTCOME:
        raise UnitsRefused(f"The primary outcome stands in two columns, “{OUTCOME}” and “{plan.outcome}”. Keep one.")
    places = {name: headings.index(name) for name in (UNIT, ARM, GROUP, *plan.outcomes) if name in headings}
    if OUTCOME in headings:
        places.setdefault(plan.outcome, headings.index(OUTCOME))
    return places


def _read_unit(cells: Sequence[str], places: Mapping[str, int], plan: Plan, line: int) -> Unit:
    def read(name: str) -> str:
        return cells[places[name]].strip() if name in places else ""

    unit, arm, group = read(UNIT), read(ARM), read(GROUP)
    if not unit:
        raise UnitsRefused(f"Line {line}: no unit. Write what the unit is called.")
    for value in (unit, group):
        if fault := find_fault(value, max_length=MAX_NAME):
            raise UnitsRefused(f"Line {line}: {fault}")
    if arm not in plan.allocation:
        raise UnitsRefused(
            f"Line {line}: the arm “{arm[:MAX_NAME]}” is not in the plan, which has {', '.join(plan.allocation)}."
        )
    return Unit(unit, arm, group, {name: _read_outcome(read(name), name, plan, line) for name in plan.outcomes})


def _read_outcome(text: str, name: str, plan: Plan, line: int) -> Outcome:
    word = text.lower()
    if word in _NONE:
        return None
    if name in plan.numbers:
        return _read_number(word, name, plan, line)
    if word not in _YES | _NO:
        raise UnitsRefused(f"Line {line}: “{text[:40]}” is no outcome. Write 1 or 0, yes or no, or leave it empty.")
    return word in _YES


def _read_number(word: str, name: str, plan: Plan, line: int) -> float:
    if not _NUMBER.fullmatch(word):
        raise UnitsRefused(
            f"Line {line}: “{word[:40]}” is no number, and the outcome “{name}” is one. Write it with a point, such as 3.5, or "
            "leave it empty."
        )
    # What is nought has no sign, as a database has it.
    number = float(word) + 0.0
    if not is_number(number):
        raise UnitsRefused(f"Line {line}: {word[:40]} is too large. A number is at most {MAX_NUMBER:,.0f}.")
    scale = plan.numbers[name]
    if scale and not scale.lowest <= number <= scale.highest:
        raise UnitsRefused(
            f"Line {line}: {word[:40]} is outside the scale of “{name}”, which goes from {scale.lowest} to {scale.highest}."
        )
    return number
