"""Read the rows of a file, whose format is recognised by its content and not by its name; and the five sources of the benchmark
as their authors publish them, with the rows that the benchmark takes from each.

Files are read strictly. No error shows any content of a row, because the texts may be hateful. Parquet is binary and read by a
library in C: a hostile file could request any amount of memory or crash its reader. So the reader runs in a separate process
with limits (``parquet_reader.py``), and neither the web process nor a worker ever loads it.

The rules of the sources are those of method brief R46, as the released code applies them: first a filter, then a draw with seed
42. Each stratum gets its share of the sample, rounded to the nearest whole number (halves to even). If the shares then add up to
less or more than the size, one is added to or taken from each of the largest strata until they fit. Each stratum is drawn with a
new generator from the same seed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from auditapp.benchmarks.sob.pure.dataset_texts import (
    DEFAULT_SEED,
    NOT_DRAWN,
    DatasetText,
    Statement,
    choose_rows,
    group_rows,
    rank_strata,
    start_generator,
)
from transcripts.formats.json_lines import read_lines
from transcripts.formats.problems import ReadError
from transcripts.formats.tabular import StrictTable
from transcripts.formats.text_input import find_delimiter

MAX_ROWS = 500_000
MAX_COLUMNS = 1_000
_LONGEST_HEAD = 1_000_000
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its number from 1, not counting the header; the line on which it begins; and its values by column."""

    number: int
    line: int
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Table:
    """``format`` is "csv", "jsonl" or "parquet"; ``columns`` are those of the header, or the keys of all objects as first seen."""

    format: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def is_json(data: bytes) -> bool:
    """Whether a file is JSON, judged by its start."""
    return _JSON.match(data) is not None


def open_csv(data: bytes, *, file: str, has_literal_quotes: bool = False) -> StrictTable:
    """A csv file separated by comma, tab or semicolon, with its header already read. Raises ReadError.

    Lines end at a line feed; carriage returns and line feeds inside quotes are kept. With ``has_literal_quotes`` a quote that
    does not enclose a field is part of the field; otherwise it is an error.
    """
    head = data[:_LONGEST_HEAD].decode("utf-8", "ignore").lstrip("\ufeff\r\n")
    return StrictTable(
        io.BytesIO(data),
        name=file,
        escaped=False,
        separator=find_delimiter(head),
        quotes_strictly=not has_literal_quotes,
    )


def read_rows(data: bytes | StrictTable, *, file: str) -> Table:
    """The rows of an opened csv file, or of JSON lines. Raises ReadError."""
    headings = data.headings if isinstance(data, StrictTable) else []
    columns = dict.fromkeys(headings)
    rows: list[Row] = []
    _refuse_too_many(rows, columns, file)
    for line, values in data.read_objects() if isinstance(data, StrictTable) else read_lines(io.BytesIO(data), file):
        rows.append(Row(len(rows) + 1, line, values))
        if not headings:
            columns.update(dict.fromkeys(values))
        _refuse_too_many(rows, columns, file)
    if not rows:
        raise ReadError(file, None, "no rows", "at least one row after the header")
    return Table("csv" if headings else "jsonl", tuple(headings or columns), tuple(rows))


def _refuse_too_many(rows: Sized, columns: Sized, file: str) -> None:
    """Refuse the file if it has too many rows or columns: a small compressed file can unpack to any number of rows."""
    if len(rows) > MAX_ROWS or len(columns) > MAX_COLUMNS:
        found = f"more than {MAX_ROWS:,} rows" if len(rows) > MAX_ROWS else f"more than {MAX_COLUMNS:,} columns"
        raise ReadError(file, None, found, "fewer; split the table, or remove what is not needed")


SAMPLE_SIZE = 500
PUBLISHED_METHOD = "published"
_MIN_TOXICITY = 2.5


class Provenance(NamedTuple):
    """Where texts come from and under which terms; fields are empty if that is not known."""

    source_name: str = ""
    licence: str = ""
    split: str = ""
    filter: str = ""


class ReleasedDraw(NamedTuple):
    """500 rows: all with ``kept_value`` in ``column``, and the rest drawn by ``stratum``, or without strata if that is empty.

    ``by`` is the field of ours to which the stratum's column is mapped.
    """

    stratum: str = ""
    by: str = ""
    column: str = ""
    kept_value: str = ""


@dataclass(frozen=True, slots=True)
class PublishedSource:
    """One source. It is recognised by the columns in ``header``; ``mapping`` gives its column for each of our fields.

    A row is kept if it meets all ``conditions``. Each condition is the reason why other rows are dropped, and a test of a row
    that takes the file's name for its errors. ``draw`` is None if the benchmark takes every row that meets the conditions.
    ``has_literal_quotes``: a quote inside a field is part of the text, not an error.
    """

    key: str
    title: str
    header: frozenset[str]
    mapping: Mapping[str, str]
    provenance: Provenance
    conditions: Sequence[tuple[str, Callable[[Row, str], bool]]] = ()
    draw: ReleasedDraw | None = None
    drops_repeated: bool = False
    has_literal_quotes: bool = False


def is_prepared_table(texts: Iterable[DatasetText]) -> bool:
    """Whether these are exactly the texts of the benchmark's prepared table, in any order."""
    lines = sorted(json.dumps([text.source, text.external_id, text.text]) for text in texts)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest() == PREPARED_FINGERPRINT


def find_published_source(columns: Sequence[str]) -> PublishedSource | None:
    """The one of the five sources that has this header, or None."""
    found = set(columns)
    return next((source for source in PUBLISHED_SOURCES if source.header <= found), None)


def filter_rows(source: PublishedSource, rows: Sequence[Row], *, file: str) -> tuple[tuple[Row, ...], dict[str, int]]:
    """The rows that meet the source's conditions, and how many rows were dropped by each condition in turn. Raises ReadError."""
    left = tuple(rows)
    dropped: dict[str, int] = {}
    for reason, holds in source.conditions:
        kept = tuple(row for row in left if holds(row, file))
        if len(kept) < len(left):
            dropped[reason] = len(left) - len(kept)
        left = kept
    return left, dropped


def draw_as_released(
    draw: ReleasedDraw | None, rows: Sequence[Row]
) -> tuple[Sequence[Row], Statement, Mapping[int, str]]:
    """The benchmark's draw from the rows that met the conditions: the drawn rows in the file's order, a statement of what became of
    the others, and the stratum of each drawn row by row number, if there are strata."""
    if draw is None:
        return rows, Statement(len(rows), len(rows), PUBLISHED_METHOD), {}
    always = [row for row in rows if draw.column and row.values[draw.column] == draw.kept_value]
    others = [row for row in rows if not draw.column or row.values[draw.column] != draw.kept_value]
    size = min(max(SAMPLE_SIZE - len(always), 0), len(others))
    strata = group_rows(str(row.values[draw.stratum] or "") if draw.stratum else "" for row in others)
    sizes = {stratum: len(places) for stratum, places in strata.items()}
    shares = share_as_released(sizes, size)
    counts = {draw.kept_value: {"read": len(always), "kept": len(always)}} if always else {}
    chosen = [(draw.kept_value, row) for row in always]
    for stratum in rank_strata(sizes):
        share = min(max(shares[stratum], 0), sizes[stratum])
        places = choose_rows(strata[stratum], share, start_generator(DEFAULT_SEED))
        chosen.extend((stratum, others[place]) for place in places)
        counts[stratum] = {"read": sizes[stratum], "kept": share}
    statement = Statement(
        read=len(rows),
        kept=len(chosen),
        method=PUBLISHED_METHOD,
        seed=DEFAULT_SEED,
        by=draw.by,
        size=SAMPLE_SIZE,
        dropped={NOT_DRAWN: len(rows) - len(chosen)} if len(chosen) < len(rows) else {},
        strata=counts if draw.stratum else {},
    )
    in_order = sorted((row for _, row in chosen), key=lambda row: row.number)
    return in_order, statement, {row.number: stratum for stratum, row in chosen} if draw.stratum else {}


def share_as_released(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """``size`` split into shares as in the released code; a share may exceed the size of its stratum, or be below 0."""
    total = sum(sizes.values())
    shares = {stratum: round(count / total * size) for stratum, count in sizes.items()}
    missing = size - sum(shares.values())
    for stratum in rank_strata(sizes)[: abs(missing)]:
        shares[stratum] += 1 if missing > 0 else -1
    return shares


def _column_is(column: str, *values: str) -> Callable[[Row, str], bool]:
    return lambda row, file: row.values.get(column) in values


def _is_toxic(row: Row, file: str) -> bool:
    value = row.values.get("toxicity_human")
    try:
        return float(str(value)) > _MIN_TOXICITY
    except ValueError:
        found = f"no number as toxicity_human in row {row.number}"
        raise ReadError(file, line=row.line, found=found, expected="a number") from None


def _has_target(row: Row, file: str) -> bool:
    return row.values.get("target") not in {"notargetrecorded", "notgiven", "", None}


HATECHECK = PublishedSource(
    key="hatecheck",
    title="the HateCheck test suite",
    header=frozenset({"functionality", "case_id", "test_case", "label_gold", "target_ident"}),
    mapping={"text": "test_case", "target_raw": "target_ident", "external_id": "case_id", "kind": "label_gold"},
    provenance=Provenance(
        source_name="HateCheck (Röttger et al. 2021), paul-rottger/hatecheck-data",
        licence="CC BY 4.0, by its dataset card; not stated in its README",
        split="test",
        filter="label_gold is hateful",
    ),
    conditions=(("not labelled hateful", _column_is("label_gold", "hateful")),),
    draw=ReleasedDraw(),
)
TOXIGEN = PublishedSource(
    key="toxigen",
    title="the annotated ToxiGen test split",
    header=frozenset({"text", "target_group", "framing", "toxicity_human"}),
    mapping={"text": "text", "target_raw": "target_group", "kind": "framing"},
    provenance=Provenance(
        source_name="ToxiGen (Hartvigsen et al. 2022), microsoft/TOXIGEN",
        licence="research use only, by its README; its code MIT",
        split="test, annotated by people",
        filter="toxicity_human is above 2.5",
    ),
    conditions=(("human toxicity of 2.5 or less", _is_toxic),),
)
DYNAB = PublishedSource(
    key="dynab",
    title="a DynaB table",
    header=frozenset({"acl.id", "text", "label", "type", "target", "split", "round.base"}),
    mapping={"text": "text", "target_raw": "target", "external_id": "acl.id", "kind": "type"},
    provenance=Provenance(
        source_name="DynaB v0.2.3 (Vidgen et al. 2021), bvidgen/Dynamically-Generated-Hate-Speech-Dataset",
        licence="not stated in its README",
        split="test",
        filter="split is test, label is hate, a target is recorded",
    ),
    conditions=(
        ("not of the test split", _column_is("split", "test")),
        ("not labelled hate", _column_is("label", "hate")),
        ("no target recorded", _has_target),
    ),
    draw=ReleasedDraw(stratum="type", by="kind"),
)
LINGHATE = PublishedSource(
    key="linghate",
    title="the LingHate table",
    header=frozenset({"#SENTENCE_FROM_TWEET", "LABEL", "TARGET"}),
    mapping={"text": "#SENTENCE_FROM_TWEET", "target_raw": "TARGET", "kind": "LABEL"},
    provenance=Provenance(
        source_name="LingHate, English (Wiegand et al. 2022), miwieg/naacl2022_identity_groups", licence="CC BY 4.0"
    ),
    draw=ReleasedDraw(stratum="TARGET", by="target_raw"),
    drops_repeated=True,
    has_literal_quotes=True,
)
ISHATE = PublishedSource(
    key="ishate",
    title="an iSHate table",
    header=frozenset({"message_id", "text", "cleaned_text", "hateful_layer", "implicit_layer", "target"}),
    mapping={"text": "text", "target_raw": "target", "kind": "implicit_layer"},
    provenance=Provenance(
        source_name="iSHate (Ocampo et al. 2023), benjaminocampo/ISHate",
        licence="BSL-1.0, by its dataset card",
        split="test",
        filter="hateful_layer is HS",
    ),
    conditions=(
        ("not labelled HS", _column_is("hateful_layer", "HS")),
        ("neither implicit nor explicit", _column_is("implicit_layer", "Implicit HS", "Explicit HS")),
    ),
    draw=ReleasedDraw(stratum="target", by="target_raw", column="implicit_layer", kept_value="Implicit HS"),
)
PREPARED_PROVENANCE = Provenance(
    source_name="Second-order bias (arXiv 2606.17506), uofthcdslab/second-order-bias, target_mapped.csv",
    licence="Apache-2.0 for the table; its texts: CC BY 4.0 (HateCheck, LingHate), BSL-1.0 (iSHate), research use only "
    "(ToxiGen), not stated (DynaB)",
)
"""The provenance of the benchmark's prepared table, which has texts of all five sources."""
PREPARED_FINGERPRINT = "f5e2eb95f72eea9636fa0851dd883022db17b64a96eb7062b07b07f3da12e2ec"
"""The fingerprint of its 2,457 texts, because a table of other texts may have the same header."""
PUBLISHED_SOURCES = (HATECHECK, TOXIGEN, DYNAB, LINGHATE, ISHATE)
"""In all of them rows keep the file's order, and if a source does not number its texts, each text has the number of its row."""


GZIP_START = b"\x1f\x8b"
MAX_FILE_BYTES = 64 * 1024 * 1024
# A small file could unpack to one that fills the memory.
MAX_UNPACKED_BYTES = 128 * 1024 * 1024

OpenedFile = tuple[Table, PublishedSource | None]
"""The rows, and which of the benchmark's five sources they are, if any."""


def open_file(data: bytes, *, file: str) -> OpenedFile:
    """Open csv or JSON lines, each of them also in gzip, or parquet. Raises ReadError."""
    if len(data) > MAX_FILE_BYTES:
        found = f"more than {MAX_FILE_BYTES // 2**20} MB"
        raise ReadError(file, None, found=found, expected="a smaller file; split it, or remove columns")
    if data.startswith(PARQUET_START):
        table = read_parquet(data, file=file)
        return table, find_published_source(table.columns)
    if data.startswith(GZIP_START):
        data = unpack_gzip(data, file=file)
    if is_json(data):
        table = read_rows(data, file=file)
        return table, find_published_source(list(table.rows[0].values))
    opened = open_csv(data, file=file)
    source = find_published_source(opened.headings)
    if source and source.has_literal_quotes:
        opened = open_csv(data, file=file, has_literal_quotes=True)
    return read_rows(opened, file=file), source


def unpack_gzip(data: bytes, *, file: str, largest: int = MAX_UNPACKED_BYTES) -> bytes:
    """The unpacked bytes of all members. Raises ReadError for a damaged file and for more than ``largest`` bytes."""
    try:
        with gzip.open(io.BytesIO(data)) as packed:
            unpacked = packed.read(largest + 1)
    except EOFError:
        raise ReadError(
            file, None, found="a gzip file that breaks off", expected="a whole one; fetch it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error):
        raise ReadError(file, None, found="a damaged gzip file", expected="a whole one; fetch it again") from None
    if len(unpacked) > largest:
        found = f"a gzip file that unpacks to more than {largest // 2**20} MB"
        raise ReadError(file, None, found=found, expected="less; split the file, or remove columns")
    return unpacked


PARQUET_START = b"PAR1"
READER = Path(__file__).with_name("parquet_reader.py")
SECONDS = 60
_NEEDED = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMPDIR")


def read_parquet(data: bytes, *, file: str) -> Table:
    """The rows of a parquet file, each value as text or None, read in a separate process with limits. Raises ReadError.

    The docstring of this module says why the process is separate.
    """
    if not data.endswith(PARQUET_START):
        raise ReadError(file, None, found="a parquet file that breaks off", expected="a whole one; fetch it again")
    try:
        reader = subprocess.run(  # noqa: S603 - our own file, the data go in by its standard input
            [sys.executable, "-I", "-W", "ignore", str(READER)],
            input=data,
            capture_output=True,
            timeout=SECONDS,
            env=make_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        expected = "a smaller one, or the same table as csv"
        raise ReadError(file, None, found=f"a parquet file not read in {SECONDS} s", expected=expected) from None
    if reader.returncode != 0:
        raise ReadError(file, None, found="a parquet file that cannot be read", expected="the same table as csv")
    answer = json.loads(reader.stdout)
    if "refusal" in answer:
        raise ReadError(file, None, found=answer["refusal"], expected=answer["expected"])
    columns = tuple(answer["columns"])
    rows = tuple(
        Row(number, number, dict(zip(columns, values, strict=True)))
        for number, values in enumerate(answer["rows"], start=1)
    )
    return Table("parquet", columns, rows)


def make_environment() -> dict[str, str]:
    """Our environment without keys and passwords. Each library gets one thread, because every thread uses part of the memory."""
    kept = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    return {**kept, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
