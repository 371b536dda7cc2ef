"""The notes on a file, with the rows they name told apart, so that a page can lead to the texts."""

from __future__ import annotations

import re
from typing import NamedTuple

from auditapp.sob.models import Dataset

_ROWS = re.compile(r"rows? (?P<rows>\d+(?:, \d+)*)(?P<rest>(?: and \d+ more)?: .*)", re.DOTALL)
_GONE = "; dropped"


class Note(NamedTuple):
    """One note. ``rows`` are the places of its texts in the set, none where the note names none that can be opened; ``told``
    is what stands after them, or the whole note."""

    rows: list[int]
    told: str


def read_notes(dataset: Dataset) -> list[Note]:
    """The notes on a set's file. Only where a row's number is its place in the set does it lead anywhere."""
    leads = rows_are_places(dataset)
    return [_read_note(str(each)) if leads else Note([], str(each)) for each in dataset.warnings]


def rows_are_places(dataset: Dataset) -> bool:
    """Whether the notes count the rows of the set itself: of one made here, or of a file that was taken whole."""
    return dataset.drawn_from_id is not None or dataset.sampling.get("method") == "combined" or not dataset.sampling


def _read_note(warning: str) -> Note:
    found = _ROWS.fullmatch(warning)
    if found is None or warning.endswith(_GONE):
        return Note([], warning)
    return Note([int(number) for number in found["rows"].split(", ")], found["rest"])
