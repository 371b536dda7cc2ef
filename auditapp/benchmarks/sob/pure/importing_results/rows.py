"""One answer of somebody else's run, whatever file it came in, and the text of a dataset that it is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

MAX_FILE_BYTES = 500_000_000


class ResultError(Exception):
    """A sentence that says what is wrong with the file; it never quotes a text or an answer."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One answer. ``place`` says where it is ("row 12").

    The text is identified by ``source`` and ``external_id`` or by ``text`` itself. ``answer`` is "" where the file has none;
    ``error`` says that the call failed there. ``instrument`` names the wording where it is known, ``system_prompt`` holds
    it where the file does. ``note`` and ``kept`` are what else the file says: both are stored with the answer.
    """

    place: str
    model: str
    task: str
    answer: str
    source: str = ""
    external_id: str = ""
    text: str = ""
    repeat: int = 1
    reasoning: str = ""
    model_id: str = ""
    finish_reason: str = ""
    served_model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    error: str = ""
    instrument: str = ""
    system_prompt: str = ""
    note: str = ""
    kept: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultFile:
    """The rows of a file in its order. ``passed_over`` counts rows that hold no answer of a known task, by reason."""

    format: str
    rows: tuple[ResultRow, ...]
    passed_over: Mapping[str, int] = field(default_factory=dict)


class TextIndex:
    """The texts of a dataset, to be found. Each is given as key, source, id in the source, and words."""

    def __init__(self, texts: Iterable[tuple[int, str, str, str]]) -> None:
        self._by_id: dict[tuple[str, str], tuple[int, str]] = {}
        self._by_words: dict[str, list[int]] = defaultdict(list)
        for key, source, external_id, text in texts:
            self._by_id[source.lower(), external_id] = key, _fold(text)
            self._by_words[_fold(text)].append(key)

    def find(self, row: ResultRow) -> int | str:
        """The text's key, or the reason why none is meant.

        Where a row names a text and quotes it, both must fit: a number may mean another text in another table.
        """
        words = _fold(row.text)
        named = self._by_id.get((row.source.lower(), row.external_id))
        if named is not None and words in {"", named[1]}:
            return named[0]
        if not words:
            return "no text of the dataset has its source and number"
        found = self._by_words.get(words, [])
        if len(found) == 1:
            return found[0]
        if found:
            return "its text is in the dataset more than once, and its source and number name none of them"
        return (
            "its text is not in the dataset"
            if named is None
            else "the dataset has another text under its source and number"
        )


def match_rows(
    rows: Iterable[ResultRow], index: TextIndex
) -> tuple[list[tuple[ResultRow, int]], list[tuple[str, str]]]:
    """Rows with the keys of their texts; and the places of rows that fit no text, each with the reason.

    Of several answers of one model to one task, text and repeat the first is taken.
    """
    matched: list[tuple[ResultRow, int]] = []
    unmatched: list[tuple[str, str]] = []
    seen: set[tuple[str, str, str, int, int]] = set()
    for row in rows:
        found = index.find(row)
        if isinstance(found, str):
            unmatched.append((row.place, found))
            continue
        key = (row.model, row.task, row.system_prompt, found, row.repeat)
        if key in seen:
            unmatched.append((row.place, "an earlier row holds the same model's answer to the same text and task"))
            continue
        seen.add(key)
        matched.append((row, found))
    return matched, unmatched


def _fold(text: str) -> str:
    """Line ends differ between writers of tables; nothing else may."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
