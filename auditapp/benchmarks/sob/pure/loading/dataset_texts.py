"""A text as read from a file, before it is stored, and warnings about texts. No row is changed; a warning names the rows, never
their text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class DatasetText:
    """One text with the group it targets. Every field but ``text`` is a label; absent ones are empty."""

    source: str
    external_id: str
    text: str
    target: str
    target_secondary: str = ""
    target_tertiary: str = ""
    target_raw: str = ""
    kind: str = ""


class NumberedText(NamedTuple):
    """A text and its row's number in the file.

    ``is_unknown`` where the table of targets lacks its label; ``stratum`` is that it was drawn from, if it was.
    """

    number: int
    text: DatasetText
    is_unknown: bool = False
    stratum: str = ""


MAX_LISTED = 20
MAX_LISTED_LENGTH = 60
_SPREADSHEET_ERRORS = frozenset({"#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!"})


def describe_data_warnings(rows: Sequence[NumberedText]) -> list[str]:
    """A sentence for each warning; of the rows it names, the first twenty."""
    odd: dict[str, list[int]] = defaultdict(list)
    places: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, row, is_unknown, _ in rows:
        places[row.text].append((number, row.source))
        if row.text.strip() in _SPREADSHEET_ERRORS:
            odd["the text is a spreadsheet's error mark such as #NAME?; the original is lost"].append(number)
        if "\N{REPLACEMENT CHARACTER}" in row.text:
            odd["the text contains a replacement character; its encoding was damaged earlier"].append(number)
        if "\r" in row.text:
            odd["the text contains a carriage return, which is kept"].append(number)
        if "\n" in row.text:
            odd["the text contains a line feed, which is kept"].append(number)
        if not row.target and not is_unknown:
            odd["no target; the text counts only in overall"].append(number)
    warnings = [f"{list_rows(numbers)}: {what}" for what, numbers in odd.items()]
    return warnings + _describe_repeated([found for found in places.values() if len(found) > 1])


def describe_unknown_labels(labels: Iterable[str], table: str) -> list[str]:
    """The labels a table of targets lacks, with their counts; what is too long for a label may be a text and is not shown."""
    counts = Counter(labels)
    if not counts:
        return []
    texts = counts.total()
    ranked = sorted(counts, key=lambda label: (-counts[label], label))
    shown = [f"“{label}” ({counts[label]})" for label in ranked if len(label) <= MAX_LISTED_LENGTH][:MAX_LISTED]
    hidden = len(counts) - len(shown)
    if hidden:
        shown.append(f"{hidden} more")
    listed = ", ".join(shown)
    if texts == 1:
        return [f"1 text has a label missing from {table} and counts only in overall: {listed}"]
    return [f"{texts} texts have labels missing from {table} and count in overall alone: {listed}"]


def list_rows(numbers: Sequence[int]) -> str:
    """``row 3`` or ``rows 3, 5 and 7 more``."""
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    shown = ", ".join(map(str, numbers[:MAX_LISTED]))
    return f"rows {shown}" + (f" and {len(numbers) - MAX_LISTED} more" if len(numbers) > MAX_LISTED else "")


def _describe_repeated(repeated: Sequence[Sequence[tuple[int, str]]]) -> list[str]:
    warnings = []
    for found in repeated[:MAX_LISTED]:
        one_source = len({source for _, source in found}) < len(found)
        where = "more than once in one source" if one_source else "in more than one source"
        warnings.append(f"{list_rows([number for number, _ in found])}: the same text {where}")
    if len(repeated) > MAX_LISTED:
        warnings.append(f"{len(repeated) - MAX_LISTED} more texts are in more than one row")
    return warnings
