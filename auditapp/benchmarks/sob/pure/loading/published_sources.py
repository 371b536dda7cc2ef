"""The five sources of the benchmark as their authors publish them, and which of their rows the benchmark takes.

Rules: method brief R46, as the released code applies them. A filter first, then a draw with seed 42. Strata are shared by rounding
each share to the nearest whole number (of halves, to the even one); what is then missing from the size, or too much, is added to or
taken from the largest strata, one each. Every stratum is drawn with a generator of its own from the same seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from auditapp.benchmarks.sob.pure.loading.dataset_texts import DatasetText
from auditapp.benchmarks.sob.pure.loading.normalising import (
    DEFAULT_SEED,
    NOT_DRAWN,
    Statement,
    choose_rows,
    group_rows,
    rank_strata,
    start_generator,
)
from auditapp.benchmarks.sob.pure.loading.row_files import Row
from transcripts.formats.problems import ReadError

SAMPLE_SIZE = 500
PUBLISHED_METHOD = "published"
_MIN_TOXICITY = 2.5


class Provenance(NamedTuple):
    """Where texts come from and under which terms; empty text where that is not known."""

    source_name: str = ""
    licence: str = ""
    split: str = ""
    filter: str = ""


class ReleasedDraw(NamedTuple):
    """500 rows: those with ``kept_value`` in ``column`` all, the others drawn by ``stratum``; by none where it is empty.

    ``by`` is our field of the stratum's column.
    """

    stratum: str = ""
    by: str = ""
    column: str = ""
    kept_value: str = ""


@dataclass(frozen=True, slots=True)
class PublishedSource:
    """One source: ``header`` are the columns it is known by, ``mapping`` our fields' columns in it.

    A row stays if it meets all ``conditions``. Each is the reason why the other rows are dropped, and a test of a row, which
    gets the file's name for its errors. ``draw`` is ``None`` where the benchmark takes every row that meets the conditions.
    ``has_literal_quotes`` is set where a quote within a field is a quote, not broken csv.
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
    """Whether these are the texts of the benchmark's prepared table, all of them and no others, in any order."""
    lines = sorted(json.dumps([text.source, text.external_id, text.text]) for text in texts)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest() == PREPARED_FINGERPRINT


def find_published_source(columns: Sequence[str]) -> PublishedSource | None:
    """The source with this header, if it is one of the five."""
    found = set(columns)
    return next((source for source in PUBLISHED_SOURCES if source.header <= found), None)


def filter_rows(source: PublishedSource, rows: Sequence[Row], *, file: str) -> tuple[tuple[Row, ...], dict[str, int]]:
    """The rows that meet the source's conditions, and how many failed each, in order. Raises ReadError."""
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
    """The benchmark's draw from the rows that met the conditions: in the file's order, what became of the others, and the
    stratum of each row by its number, if there are strata."""
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
    """``size`` shared as the released code does it; a share may exceed what its stratum has, or fall below none."""
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
"""Of the benchmark's prepared table, which holds texts of all five."""
PREPARED_FINGERPRINT = "f5e2eb95f72eea9636fa0851dd883022db17b64a96eb7062b07b07f3da12e2ec"
"""That of its 2,457 texts: other texts may have the same header."""
PUBLISHED_SOURCES = (HATECHECK, TOXIGEN, DYNAB, LINGHATE, ISHATE)
"""In all of them the rows keep the file's order, and a text whose source numbers none has its row's number."""
