"""Read a file of texts to be judged: the benchmark's prepared table, one of its five sources as published, or csv, JSON lines and
parquet by column mapping; and preview a file before it is loaded.

Texts are kept exactly, including line breaks inside quotes. They may be hateful, so errors and warnings show only where a text is,
never the text. A preview contains only the lengths of texts; for other columns it shows values that look like labels.

Large files are previewed in a separate process, so that they take neither memory nor time from people who are coding. The request
to that process and its answer are JSON; the file itself follows the line of the request.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from auditapp.benchmarks.sob.pure.answer_words import OVERALL
from auditapp.benchmarks.sob.pure.dataset_files import (
    PREPARED_PROVENANCE,
    OpenedFile,
    Provenance,
    PublishedSource,
    Row,
    Table,
    draw_as_released,
    filter_rows,
    find_published_source,
    is_prepared_table,
    make_environment,
    open_file,
)
from auditapp.benchmarks.sob.pure.dataset_texts import (
    SAME_AGAIN,
    DatasetText,
    Draw,
    NumberedText,
    SampleError,
    Statement,
    TargetLabels,
    describe_data_warnings,
    describe_unknown_labels,
    draw_sample,
    drop_repeated,
    list_rows,
    load_published_targets,
    make_labels,
)
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import is_heading, list_headings

PREPARED_FORMAT = "sob_inputs"
_PREPARED_MAPPING = {
    "source": "source",
    "external_id": "tix",
    "text": "text",
    "target_raw": "target_raw",
    "kind": "type",
    "target": "target",
    "target_secondary": "target_secondary",
    "target_tertiary": "target_tertiary",
}

_REQUIRED = ("text", "target")
FIELDS = (*_REQUIRED, "source", "external_id", "target_secondary", "target_tertiary", "target_raw", "kind")
"""The fields to which a column can be mapped; the first two are required."""

_MAX_LENGTHS = {"target_raw": 300}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MAX_LABEL_LENGTH = 100


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """The rows taken from a file, in order, and what a person should know about them.

    ``targets`` says where the targets come from: "file", "published" or "table". ``statement`` says what became of every row.
    """

    format: str
    rows: tuple[DatasetText, ...]
    warnings: tuple[str, ...]
    statement: Statement
    targets: str = "file"
    provenance: Provenance = field(default_factory=Provenance)


def read_dataset(data: bytes, *, name: str, **how: Any) -> DatasetFile:
    """Open a file and read it with ``read_opened``."""
    return read_opened(open_file(data, file=name), name=name, **how)


def read_opened(
    opened: OpenedFile,
    *,
    name: str,
    columns: Mapping[str, str] | None = None,
    targets: str = "",
    labels: TargetLabels | None = None,
    all_rows: bool = False,
    drops_repeated: bool = False,
    draw: Draw | None = None,
) -> DatasetFile:
    """Read the whole file, or nothing if anything in it is wrong.

    ``name`` is the file's name, and the source of texts without a source. ``columns`` maps ``FIELDS`` to the file's
    columns. Without it, the prepared table and the published sources are recognised by their header, and so is any file with
    columns named "text" and "target". ``external_id`` is the row's number if no column is mapped to it.

    From a published source read without ``columns``, the benchmark's rows are taken, unless ``all_rows`` is set; ``draw``
    replaces the benchmark's own draw, but not its filter. ``targets`` is "file", "published" or "table", which needs ``labels``;
    if empty, it is "published" for such a source and "file" for any other file.
    Raises ReadError for anything that cannot be read, an empty text, and a repeated (source, external_id);
    SampleError for a sample that cannot be drawn.
    """
    table, published = opened
    source = published if columns is None else None
    targets = targets or ("published" if source else "file")
    labels = load_published_targets() if targets == "published" else labels
    named_by = labels if targets != "file" else None
    mapping = propose_mapping(opened) if columns is None else columns
    mapping = _check_mapping(table, mapping, name, needs_target=named_by is None)
    rows, statement, strata = _take_rows(table, None if all_rows else source, name, is_drawn=draw is None)
    numbered = [
        _name_targets(row.number, _read_text(row, mapping, source.key if source else name, name), named_by, strata)
        for row in rows
    ]
    _refuse_repeated_ids(numbered, rows, name)
    prepared = numbered if mapping is _PREPARED_MAPPING else ()
    provenance = _describe_provenance(published, prepared, is_filtered=source is not None and not all_rows)
    warnings: list[str] = []
    if drops_repeated or (source and source.drops_repeated and not all_rows):
        numbered, statement = _drop_repeated(numbered, statement, warnings)
    if draw:
        numbered, statement = _draw(numbered, statement, draw)
    unknown = [row.text.target_raw for row in numbered if row.is_unknown]
    named = "the published table of targets" if targets == "published" else "the study's table of targets"
    return DatasetFile(
        format=source.key if source else PREPARED_FORMAT if mapping is _PREPARED_MAPPING else table.format,
        rows=tuple(row.text for row in numbered),
        warnings=(*describe_data_warnings(numbered), *describe_unknown_labels(unknown, named), *warnings),
        statement=statement,
        targets=targets,
        provenance=provenance,
    )


def propose_mapping(opened: OpenedFile) -> Mapping[str, str]:
    """The mapping of a file that is recognised by its header; for other files, of the columns that are named like our fields."""
    table, source = opened
    if source:
        return {**source.mapping, "target": source.mapping["target_raw"]}
    if set(table.columns) == set(_PREPARED_MAPPING.values()):
        return _PREPARED_MAPPING
    return {name: name for name in FIELDS if name in table.columns}


def _check_mapping(table: Table, mapping: Mapping[str, str], file: str, *, needs_target: bool) -> Mapping[str, str]:
    for name, column in mapping.items():
        if name not in FIELDS:
            found = f'a mapping of "{name}"'
            raise ReadError(file, None, found=found, expected="one of " + ", ".join(FIELDS))
        if column not in table.columns:
            found = f'no column "{column}" for {name}'
            raise ReadError(file, None, found=found, expected=f"one of {list_headings(table.columns)}")
    for name in _REQUIRED:
        if name not in mapping and (name == "text" or needs_target or "target_raw" not in mapping):
            expected = f"a mapping such as {name}=COLUMN, with one of {list_headings(table.columns)}"
            raise ReadError(file, None, found=f"no column for {name}", expected=expected)
    return mapping


def _take_rows(
    table: Table, source: PublishedSource | None, file: str, *, is_drawn: bool
) -> tuple[Sequence[Row], Statement, Mapping[int, str]]:
    """The benchmark's rows of a published source, filtered and, if ``is_drawn``, drawn; all rows of any other file.

    Also a statement of what became of the other rows, and the stratum of each row by row number.
    """
    if source is None:
        return table.rows, Statement(len(table.rows), len(table.rows)), {}
    rows, dropped = filter_rows(source, table.rows, file=file)
    if not rows:
        raise ReadError(file, None, found=f"no row where {source.provenance.filter}", expected="at least one")
    filtered = Statement(len(table.rows), len(rows), dropped=dropped)
    if not is_drawn:
        return rows, filtered, {}
    drawn, statement, strata = draw_as_released(source.draw, rows)
    return drawn, _follow(filtered, statement), strata


def _follow(first: Statement, second: Statement) -> Statement:
    """One statement for two steps, of which the second took rows from those that the first had kept."""
    dropped = dict(first.dropped)
    for reason, count in second.dropped.items():
        dropped[reason] = dropped.get(reason, 0) + count
    last = second if second.method else first
    return replace(last, read=first.read, kept=second.kept, dropped=dropped)


def _name_targets(
    number: int, text: DatasetText, labels: TargetLabels | None, strata: Mapping[int, str]
) -> NumberedText:
    stratum = strata.get(number, "")
    if labels is None:
        return NumberedText(number, text, stratum=stratum)
    named = rename_targets(text, labels)
    return NumberedText(number, named, is_unknown=bool(named.target_raw and not named.target), stratum=stratum)


def rename_targets(text: DatasetText, labels: TargetLabels) -> DatasetText:
    """The text with the targets that the table gives for its source's label; without targets if the table lacks the label.

    The label is ``target_raw``, or else the target.
    """
    raw = text.target_raw or text.target
    primary, secondary, tertiary = labels.normalise(raw) or ("", "", "")
    return replace(text, target=primary, target_secondary=secondary, target_tertiary=tertiary, target_raw=raw)


def _drop_repeated(
    rows: list[NumberedText], statement: Statement, warnings: list[str]
) -> tuple[list[NumberedText], Statement]:
    kept, repeated = drop_repeated([row.text for row in rows])
    if not repeated:
        return rows, statement
    warnings.append(f"{list_rows([rows[place].number for place in repeated])}: {SAME_AGAIN}; dropped")
    step = Statement(len(rows), len(kept), dropped={SAME_AGAIN: len(repeated)})
    less = Counter(rows[place].stratum for place in repeated)
    strata = {
        stratum: {**counts, "kept": counts["kept"] - less[stratum]} for stratum, counts in statement.strata.items()
    }
    return [rows[place] for place in kept], replace(_follow(statement, step), strata=strata)


def _draw(rows: list[NumberedText], statement: Statement, draw: Draw) -> tuple[list[NumberedText], Statement]:
    kept, drawn = draw_sample([row.text for row in rows], **draw._asdict())
    return [rows[place] for place in kept], _follow(statement, drawn)


def _describe_provenance(
    source: PublishedSource | None, rows: Iterable[NumberedText], *, is_filtered: bool
) -> Provenance:
    if source is None:
        return PREPARED_PROVENANCE if is_prepared_table(row.text for row in rows) else Provenance()
    return source.provenance if is_filtered else source.provenance._replace(filter="")


def _read_text(row: Row, mapping: Mapping[str, str], source: str, file: str) -> DatasetText:
    labels = {name: _read_label(row, name, column, file) for name, column in mapping.items() if name != "text"}
    if not labels.get("source"):
        labels["source"] = source
    if "external_id" not in mapping:
        labels["external_id"] = str(row.number)
    elif not labels["external_id"]:
        raise ReadError(file, line=row.line, found=f"an empty external_id in row {row.number}", expected="an id")
    if labels.setdefault("target", "") == OVERALL:
        found = f'the target "{OVERALL}" in row {row.number}'
        raise ReadError(file, line=row.line, found=found, expected="another name: it stands for all texts")
    text = row.values.get(mapping["text"])
    if not isinstance(text, str) or not text.strip():
        raise ReadError(file, line=row.line, found=f"no text in row {row.number}", expected="a text in every row")
    _refuse_unstorable(text, row, "text", file)
    return DatasetText(text=text, **labels)


def _read_label(row: Row, name: str, column: str, file: str) -> str:
    value = row.values.get(column)
    if isinstance(value, (dict, list, bool)):
        found = f"an object, a list or a truth value as {name} in row {row.number}"
        raise ReadError(file, line=row.line, found=found, expected="a word or a number")
    label = "" if value is None else str(value).strip()
    max_length = _MAX_LENGTHS.get(name, _MAX_LABEL_LENGTH)
    if len(label) > max_length:
        found = f"{len(label)} characters as {name} in row {row.number}"
        raise ReadError(file, line=row.line, found=found, expected=f"a label of at most {max_length}")
    _refuse_unstorable(label, row, name, file)
    return label


def _refuse_unstorable(value: str, row: Row, name: str, file: str) -> None:
    if _UNSTORABLE.search(value):
        found = f"a NUL character or half a surrogate pair as {name} in row {row.number}"
        raise ReadError(file, line=row.line, found=found, expected="characters that UTF-8 can hold")


def _refuse_repeated_ids(texts: Iterable[NumberedText], rows: Iterable[Row], file: str) -> None:
    first: dict[tuple[str, str], Row] = {}
    for numbered, row in zip(texts, rows, strict=True):
        earlier = first.setdefault((numbered.text.source, numbered.text.external_id), row)
        if earlier is not row:
            found = f"the source and external_id of row {earlier.number} again in row {row.number}"
            raise ReadError(file, line=row.line, found=found, expected="each id once in a source")


_LONGEST_LABEL = 60
_MAX_WORDS = 5
_MAX_LABELS = 100
_EXAMPLES = 3
_SHOWN_ROWS = 5
_USUAL_NAMES = {
    "text": ("text", "sentence", "comment", "content", "post", "tweet", "message", "prompt"),
    "target": ("target", "target_group", "group", "identity", "demographic"),
    "external_id": ("external_id", "id", "tix", "uid"),
    "target_raw": ("target_raw",),
    "kind": ("kind", "type", "label"),
}

Column = tuple[str, str, tuple[str, ...]]
"""The name of a column; its name on the page, which is its position if the name may be a text; and, for a column of labels, its
commonest values."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A description of a file, without its content.

    ``source`` is the one of the benchmark's five that was recognised, if any. ``mapping`` is the proposed mapping from our fields
    to the file's columns. ``provenance`` is what is known about the origin of the texts.
    """

    name: str
    sha256: str
    format: str
    source: PublishedSource | None
    n_rows: int
    columns: tuple[Column, ...]
    mapping: Mapping[str, str]
    provenance: Provenance


def preview_file(data: bytes, name: str) -> Preview:
    """Describe the file and store nothing. Raises ReadError if it cannot be opened; errors in its rows are not reported yet."""
    opened = open_file(data, file=name)
    table, source = opened
    mapping = _propose(opened)
    try:
        is_known = dict(mapping) == dict(propose_mapping(opened))
        content = read_opened(opened, name=name, columns=None if is_known else mapping)
        file_format, provenance = content.format, content.provenance
    except (ReadError, SampleError):
        file_format, provenance = table.format, source.provenance if source else Provenance()
    return Preview(
        name=name,
        sha256=hashlib.sha256(data).hexdigest(),
        format=file_format,
        source=source,
        n_rows=len(table.rows),
        columns=tuple(_describe_column(table, place, mapping.get("text")) for place in range(len(table.columns))),
        mapping=mapping,
        provenance=provenance,
    )


class Plan(NamedTuple):
    """What an import with given settings would store: the number of texts by target and source, and the first texts."""

    warnings: tuple[str, ...]
    sampling: dict[str, object]
    counts: Counter[tuple[str, str]]
    shown: tuple[DatasetText, ...]


def plan_file(data: bytes, name: str, **how: Any) -> Plan:
    """Read the file with the settings ``how`` (see ``read_opened``) and store nothing. Raises ReadError and SampleError."""
    file = read_dataset(data, name=name, **how)
    counts = Counter((row.target, row.source) for row in file.rows)
    return Plan(file.warnings, file.statement.write(), counts, file.rows[:_SHOWN_ROWS])


def _propose(opened: OpenedFile) -> Mapping[str, str]:
    """The known mapping; for other files also columns with usual names, each mapped to one field."""
    known = propose_mapping(opened)
    table, source = opened
    if source or {"text", "target"} <= set(known):
        return known
    by_name = {name.casefold(): name for name in reversed(table.columns)}
    proposed = dict(known)
    for wanted in FIELDS:
        for usual in _USUAL_NAMES.get(wanted, (wanted,)):
            column = by_name.get(usual)
            if wanted not in proposed and column is not None and column not in proposed.values():
                proposed[wanted] = column
    return proposed


def _describe_column(table: Table, place: int, text_column: str | None) -> Column:
    name = table.columns[place]
    shown = name if is_heading(name) else f"column {place + 1}"
    return name, shown, () if name == text_column else _find_labels(table, name)


def _find_labels(table: Table, column: str) -> tuple[str, ...]:
    """The commonest values of a column of labels; empty if the values may be texts or are all different."""
    values = Counter[str]()
    for row in table.rows:
        value = row.values.get(column)
        written = "" if value is None else str(value).strip()
        values[written] += 1
        # A sentence in the benchmark has more words than a label.
        is_text = len(written) > _LONGEST_LABEL or len(written.split()) > _MAX_WORDS
        if len(values) > _MAX_LABELS + 1 or is_text:
            return ()
    filled = len(table.rows) - values.pop("", 0)
    if len(values) > _MAX_LABELS or len(values) >= max(filled, 2):
        return ()
    return tuple(sorted(values, key=lambda value: (-values[value], value))[:_EXAMPLES])


logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[4]
# Reading a smaller file takes less time than starting a process.
LARGE_BYTES = 500_000
SECONDS = 120
MEMORY = 1536 * 1024 * 1024
# Each process uses one processor, and as much memory as the whole web server.
_ROOM = threading.BoundedSemaphore(2)
WAIT_SECONDS = 20


def preview(data: bytes, name: str) -> Preview:
    """``preview_file``, in a separate process if the file is large."""
    if len(data) <= LARGE_BYTES:
        return preview_file(data, name)
    answer = _ask(data, {"name": name})
    columns = tuple((own, shown, tuple(labels)) for own, shown, labels in answer["columns"])
    return Preview(
        **{**answer, "columns": columns, "provenance": Provenance(*answer["provenance"])},
        source=find_published_source([own for own, *_ in columns]),
    )


def plan(data: bytes, name: str, *, label_rows: list[dict[str, str]] | None = None, **how: Any) -> Plan:
    """``plan_file``, in a separate process if the file is large. ``label_rows`` are the rows of a table of targets."""
    if len(data) <= LARGE_BYTES:
        return plan_file(data, name, labels=_make_labels(label_rows), **how)
    answer = _ask(data, {"name": name, "how": {**how, "label_rows": label_rows}})
    counts = Counter({(target, source): count for target, source, count in answer["counts"]})
    shown = tuple(DatasetText(**text) for text in answer["shown"])
    return Plan(tuple(answer["warnings"]), answer["sampling"], counts, shown)


def _ask(data: bytes, request: dict[str, Any]) -> Any:
    name = request["name"]
    if not _ROOM.acquire(timeout=WAIT_SECONDS):
        raise ReadError(
            name, None, found="other large files being read at this moment", expected="a second attempt in a minute"
        )
    try:
        reader = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "auditapp.benchmarks.sob.pure.dataset_sources"],
            input=json.dumps(request).encode() + b"\n" + data,
            capture_output=True,
            timeout=SECONDS,
            cwd=ROOT,
            env=make_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReadError(
            name, None, found=f"a file not read in {SECONDS} s", expected="a smaller one; split it"
        ) from None
    finally:
        _ROOM.release()
    if reader.returncode < 0 or b"MemoryError" in reader.stderr:
        raise ReadError(
            name, None, found="a file that takes too much memory to read", expected="a smaller one; split it"
        )
    if reader.returncode != 0:
        logger.error("The reader of large files ended with %s: %s", reader.returncode, _find_place(reader.stderr))
        raise ReadError(
            name,
            None,
            found="a file at which the program that reads it failed; the server's log says where",
            expected="a file that a spreadsheet can open and save again, or a report of this fault to the site’s administrator",
        )
    answer = json.loads(reader.stdout)
    if "refusal" in answer:
        raise ReadError(*answer["refusal"])
    if "no_sample" in answer:
        raise SampleError(answer["no_sample"])
    return answer


def _find_place(told: bytes) -> str:
    """Where a program failed and with which type of error. The error's message is left out, because it may quote the file."""
    lines = told.decode(errors="replace").splitlines()
    places = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    return " < ".join([*(line.partition(":")[0] for line in lines[-1:]), *reversed(places[-3:])])


def main() -> None:
    """The program of the separate process: it reads a request and a file from standard input, and writes its answer as JSON."""
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    _limit_itself()
    try:
        answer = _describe_plan(data, **request) if "how" in request else _describe_preview(data, **request)
    except ReadError as error:
        answer = {"refusal": error.args}
    except SampleError as error:
        answer = {"no_sample": str(error)}
    json.dump(answer, sys.stdout)


def _describe_preview(data: bytes, name: str) -> dict[str, object]:
    found = preview_file(data, name)
    told = {field: getattr(found, field) for field in ("name", "sha256", "format", "n_rows", "columns", "provenance")}
    return {**told, "mapping": dict(found.mapping)}


def _describe_plan(data: bytes, name: str, how: dict[str, Any]) -> dict[str, object]:
    labels = _make_labels(how.pop("label_rows"))
    draw = Draw(*how.pop("draw")) if how["draw"] else how.pop("draw")
    found = plan_file(data, name, labels=labels, draw=draw, **how)
    return {
        "warnings": found.warnings,
        "sampling": found.sampling,
        "counts": [[target, source, count] for (target, source), count in found.counts.items()],
        "shown": [asdict(text) for text in found.shown],
    }


def _make_labels(rows: list[dict[str, str]] | None) -> TargetLabels | None:
    return None if rows is None else make_labels(rows)


def _limit_itself() -> None:
    """Limit the memory of this process, if the system can; otherwise the limit on the size of the file has to suffice."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
