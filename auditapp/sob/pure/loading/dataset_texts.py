"""A text as read from a file, before it is stored."""

from __future__ import annotations

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
