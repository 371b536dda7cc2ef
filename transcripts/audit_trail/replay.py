"""Rebuilding evidence from the trail, and comparing it with the tables.

Events are read in the order of their streams, but rows are compared in the order of their keys: a temporary database on disk,
used only by this process, sorts the events' changes of rows, so that memory does not grow with the trail.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from transcripts.audit_trail.models import AuditText
from transcripts.audit_trail.trail import ACTION as ERASURE
from transcripts.audit_trail.trail import (
    EMPTY,
    ERASED,
    SITE,
    RecordedModel,
    as_content,
    as_json,
    hash_text,
    list_changes,
    list_recorded,
    list_streams,
    read_entries,
)

MOST_NAMED = 10_000
ROWS_AT_A_TIME = 500
CHANGES_AT_A_TIME = 5_000
SORTED = "SELECT row, stream, sequence, change FROM change WHERE label = ? ORDER BY row, number"


class Difference(NamedTuple):
    """A row, one of its columns ("" for the whole row), and what trail and table say. For a text only its length is given."""

    row: str
    column: str
    trail: str
    table: str

    def __str__(self) -> str:
        what = f"{self.row}, {self.column}" if self.column else self.row
        return f"{what}: the trail says {self.trail}, the table says {self.table}."


@dataclass
class Rebuilt:
    """The final state of one row according to the trail."""

    stream: str
    columns: dict[str, object] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    # Complete: made by an event with all values. Found: existed at the upgrade to such events. Neither: older.
    kind: str = "old"

    def apply(self, change: dict[str, Any]) -> None:
        """Apply the next change that an event records for the row."""
        if "old" in change:
            self.columns |= {name: value for name, value in change["old"].items() if name not in self.columns}
            return
        for kind in ("made", "found"):
            if kind in change:
                self.kind, self.columns, self.texts = kind, dict(change[kind]), {}
        self.columns |= change.get("set", {})
        self.texts |= change.get("texts", {})


@dataclass
class Comparison:
    """The compared rows, and the differences."""

    differences: list[Difference] = field(default_factory=list)
    # The number of further, unnamed differences: a table without its trail would not fit into memory.
    more: int = 0
    # By model: rows made by complete events, rows found at the upgrade, rows that only an older event describes.
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    erased: int = 0

    def add(self, difference: Difference) -> None:
        """Add a difference, or only count it if very many have been added."""
        if len(self.differences) < MOST_NAMED:
            self.differences.append(difference)
        else:
            self.more += 1


def compare_rows(streams: Sequence[str], *, study_id: int | None = None) -> Comparison:
    """Rebuild every recorded row from the events of ``streams`` and compare it with its table, or with those of one study.

    Concurrent acts are not differences: rows with later events are left out.
    """
    comparison = Comparison()
    models = list_recorded()
    with closing(sqlite3.connect("")) as sorter:
        sorter.execute("CREATE TABLE change (number INTEGER PRIMARY KEY, label, row, stream, sequence, change)")
        erased: set[str] = set()
        # The site's stream last, because its events may name rows that the stream of a study made.
        in_order = sorted(streams, key=lambda stream: stream == SITE)
        ends = {stream: _sort(sorter, stream, models, erased) for stream in in_order}
        sorter.execute("CREATE INDEX by_row ON change (label, row, number)")
        for recorded in models:
            comparison.counts[recorded.label] = Counter()
            rebuilt = _rebuild(sorter, recorded)
            stored = _read_table(recorded, study_id)
            for some in _batch(_merge(rebuilt, stored)):
                _compare(recorded, some, erased, comparison)
    if comparison.differences:
        if study_id is None:
            # The study may be new, and its stream with it.
            ends = dict.fromkeys(list_streams(), 0) | ends
        since = _list_changed_since(ends)
        comparison.differences = [each for each in comparison.differences if each.row not in since]
    return comparison


def _sort(sorter: sqlite3.Connection, stream: str, models: Sequence[RecordedModel], erased: set[str]) -> int:
    """Put the changes of rows in the events of a stream into the sorter; returns the last sequence number read."""
    names = {recorded.label: recorded.columns.keys() - {"withdrawn_at", "superseded_by"} for recorded in models}
    last, waiting = 0, list[tuple[object, ...]]()
    for link, _, _ in read_entries(stream):
        last = link.sequence
        for row, change in _list_changes(link.action, link.target, str(link.details), names, erased):
            label, _, key = row.partition(":")
            if label in names and key.isdecimal():
                waiting.append((label, int(key), stream, last, json.dumps(change)))
        if len(waiting) >= CHANGES_AT_A_TIME:
            _add(sorter, waiting)
    _add(sorter, waiting)
    return last


def _add(sorter: sqlite3.Connection, waiting: list[tuple[object, ...]]) -> None:
    sorter.executemany("INSERT INTO change (label, row, stream, sequence, change) VALUES (?, ?, ?, ?, ?)", waiting)
    waiting.clear()


def _list_changes(
    action: str, target: str, details: str, names: dict[str, Any], erased: set[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The changes of rows in an event. An event from before events recorded rows describes its target only in part."""
    label = target.partition(":")[0]
    # Most events have no rows, and parsing them would take longer than all the rest.
    if '"rows":' not in details and label not in names and action != ERASURE:
        return
    content = json.loads(details)
    if action == ERASURE:
        erased.update(content["hashes"])
    elif changes := list_changes(content):
        for change in changes:
            yield change["row"], change
    elif label in names:
        yield target, {"old": {name: value for name, value in content.items() if name in names[label]}}


def _rebuild(sorter: sqlite3.Connection, recorded: RecordedModel) -> Iterator[tuple[int, Rebuilt]]:
    """The rows of a model according to the trail, by key."""
    key, row = 0, None
    for found, stream, _, change in sorter.execute(SORTED, [recorded.label]):
        if row is None or found != key:
            if row is not None:
                yield key, row
            key, row = found, Rebuilt(stream)
        row.apply(json.loads(change))
    if row is not None:
        yield key, row


def _read_table(recorded: RecordedModel, study_id: int | None) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows of a model in its table, by key: the study's stream, columns and texts."""
    names = [recorded.study, *recorded.columns.values(), *recorded.texts]
    paths = [name.replace(".", "__") for name in names]
    rows = recorded.model._base_manager.order_by("pk")  # noqa: SLF001  # every row, whatever its manager leaves out
    # A running import stores rows that belong to no study yet, and records them when they get one.
    of_a_study = {f"{paths[0]}__isnull": False} if study_id is None else {paths[0]: study_id}
    rows = rows.filter(**of_a_study)
    for key, *values in rows.values_list("pk", *paths).iterator(chunk_size=ROWS_AT_A_TIME):
        yield key, tuple(values)


def _merge(
    rebuilt: Iterator[tuple[int, Rebuilt]], stored: Iterator[tuple[int, tuple[Any, ...]]]
) -> Iterator[tuple[int, Rebuilt | None, tuple[Any, ...] | None]]:
    """Both sides of each row; either may be missing."""
    left, right = next(rebuilt, None), next(stored, None)
    while left is not None or right is not None:
        if left is not None and (right is None or left[0] < right[0]):
            yield left[0], left[1], None
            left = next(rebuilt, None)
        elif right is not None and (left is None or right[0] < left[0]):
            yield right[0], None, right[1]
            right = next(stored, None)
        elif left is not None and right is not None:
            yield left[0], left[1], right[1]
            left, right = next(rebuilt, None), next(stored, None)


Pair = tuple[int, Rebuilt | None, tuple[Any, ...] | None]


def _batch(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    some: list[Pair] = []
    for pair in pairs:
        some.append(pair)
        if len(some) == ROWS_AT_A_TIME:
            yield some
            some = []
    yield some


def _compare(recorded: RecordedModel, pairs: Sequence[Pair], erased: set[str], comparison: Comparison) -> None:
    counts = comparison.counts[recorded.label]
    hashes = [digest for _, row, _ in pairs if row for digest in row.texts.values()]
    kept = {text.hash: text for text in AuditText.objects.filter(hash__in=hashes)} if hashes else {}
    for key, row, stored in pairs:
        name = f"{recorded.label}:{key}"
        if row is None:
            comparison.add(Difference(name, "", "nothing about this row", "that it exists"))
            continue
        counts[row.kind] += 1
        if stored is None:
            comparison.add(Difference(name, "", "that it exists", "nothing about this row"))
            continue
        values = dict(zip((*recorded.columns, *recorded.texts), map(as_json, stored[1:]), strict=True))
        for difference in _compare_columns(recorded, name, row, {**values, "stream": f"study:{stored[0]}"}):
            comparison.add(difference)
        if row.kind != "old":
            for column in recorded.texts:
                digest, content = row.texts.get(column, ""), _as_text(values[column])
                is_erased = digest in erased and not (digest in kept and kept[digest].content)
                comparison.erased += is_erased
                if words := _compare_texts(digest, content, kept.get(digest), is_erased=is_erased):
                    comparison.add(Difference(name, column, *words))


def _compare_columns(
    recorded: RecordedModel, name: str, row: Rebuilt, values: Mapping[str, object]
) -> Iterator[Difference]:
    said = {"stream": row.stream, **row.columns}
    for column in said if row.kind == "old" else ("stream", *recorded.columns):
        if _normalise(said.get(column)) != _normalise(values[column]):
            yield Difference(name, column, _show(said.get(column)), _show(values[column]))


def _compare_texts(digest: str, content: str, text: AuditText | None, *, is_erased: bool) -> tuple[str, str] | None:
    """The difference between trail and table for a text, without its words."""
    told = f"a text of {len(content):,} characters" if content else "no text"
    if not digest or is_erased:
        said = "that it was erased" if is_erased else "no text"
        return (said, told) if content else None
    if text is None or hash_text(text.salt, text.content) != digest:
        return "that its hash is not that of the text stored with the trail", told
    return None if text.content == content else (f"another text, of {len(text.content):,} characters", told)


def _normalise(value: object) -> object:
    return None if value in EMPTY else value


def _as_text(value: object) -> str:
    return "" if value in (*EMPTY, ERASED) else as_content(value)


def _show(value: object) -> str:
    return "nothing" if value in EMPTY else json.dumps(value, ensure_ascii=False)


def _list_changed_since(ends: dict[str, int]) -> set[str]:
    """The rows of events that were added while the tables were read."""
    since: set[str] = set()
    for stream, last in ends.items():
        for link, _, _ in read_entries(stream, after=last):
            changes = list_changes(json.loads(str(link.details)))
            since |= {link.target, *(change["row"] for change in changes)}
    return since
