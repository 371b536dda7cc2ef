"""Find the text that an answer of somebody else's run is about: by source and number, or by its exact words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from auditapp.sob.pure.importing_results.rows import ResultRow


class KnownText(NamedTuple):
    """A text of the dataset."""

    key: int
    source: str
    external_id: str
    text: str


class Matched(NamedTuple):
    """A row and the text it is about."""

    row: ResultRow
    text: int


class Unmatched(NamedTuple):
    """A row that has no place: where it stands, and why."""

    place: str
    reason: str


class TextIndex:
    """The texts of a dataset, to be found."""

    def __init__(self, texts: Iterable[KnownText]) -> None:
        self._by_id: dict[tuple[str, str], KnownText] = {}
        self._by_words: dict[str, list[int]] = defaultdict(list)
        for text in texts:
            self._by_id[text.source.lower(), text.external_id] = text
            self._by_words[_fold(text.text)].append(text.key)

    def find(self, row: ResultRow) -> int | str:
        """The text's key, or the reason why none is meant.

        Where a row names a text and quotes it, both must fit: a number may mean another text in another table.
        """
        words = _fold(row.text)
        named = self._by_id.get((row.source.lower(), row.external_id))
        if named is not None and (not words or _fold(named.text) == words):
            return named.key
        if not words:
            return "no text of the dataset has its source and number"
        found = self._by_words.get(words, [])
        if len(found) == 1:
            return found[0]
        if found:
            return "its text stands in the dataset more than once, and its source and number name none of them"
        return (
            "its text is not in the dataset"
            if named is None
            else "the dataset has another text under its source and number"
        )


def match_rows(rows: Iterable[ResultRow], index: TextIndex) -> tuple[list[Matched], list[Unmatched]]:
    """Rows with their texts, and those that have no place. Of several answers of one model to one task, text and repeat
    the first is taken."""
    matched: list[Matched] = []
    unmatched: list[Unmatched] = []
    seen: set[tuple[str, str, str, int, int]] = set()
    for row in rows:
        found = index.find(row)
        if isinstance(found, str):
            unmatched.append(Unmatched(row.place, found))
            continue
        key = (row.model, row.task, row.system_prompt, found, row.repeat)
        if key in seen:
            unmatched.append(
                Unmatched(row.place, "an earlier row holds the same model's answer to the same text and task")
            )
            continue
        seen.add(key)
        matched.append(Matched(row, found))
    return matched, unmatched


def _fold(text: str) -> str:
    """Line ends differ between writers of tables; nothing else may."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
