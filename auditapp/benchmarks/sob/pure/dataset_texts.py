"""Texts as read from a file, with warnings about them; the target that a source's label means (method brief R46); and samples of
texts, with a statement of what became of every row.

No row is changed; a warning names the rows, never their text. Samples are drawn with numpy's ``RandomState``, whose stream numpy
promises never to change, so a seed draws the same rows in any later version.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from auditapp.benchmarks.sob.pure.answer_words import OVERALL

if TYPE_CHECKING:
    from numpy.random import RandomState


@dataclass(frozen=True, slots=True)
class DatasetText:
    """One text with the group that it targets. Every field except ``text`` is a label; missing labels are empty."""

    source: str
    external_id: str
    text: str
    target: str
    target_secondary: str = ""
    target_tertiary: str = ""
    target_raw: str = ""
    kind: str = ""


class NumberedText(NamedTuple):
    """A text with the number of its row in the file.

    ``is_unknown``: the table of targets lacks its label. ``stratum`` is the one from which it was drawn, if any.
    """

    number: int
    text: DatasetText
    is_unknown: bool = False
    stratum: str = ""


MAX_LISTED = 20
MAX_LISTED_LENGTH = 60
_SPREADSHEET_ERRORS = frozenset({"#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!"})


def describe_data_warnings(rows: Sequence[NumberedText]) -> list[str]:
    """A sentence for each warning, which names at most the first twenty rows."""
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
    """The labels that a table of targets lacks, with their counts. A label that is too long is not shown: it may be a text."""
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


PUBLISHED = Path(__file__).resolve().parents[1] / "data" / "published_targets.json"
MAX_RAW_LENGTH = 300
MAX_TARGET_LENGTH = 100
MAX_ROWS = 5_000
TARGET_FIELDS = ("raw", "target", "secondary", "tertiary")
"""The fields of a row of a table, as typed: the source's label and the targets that it means."""

_AROUND = re.compile(r"""^[\s'"‘’“”\[\](),]+|[\s'"‘’“”\[\](),]+$""")
_BETWEEN = re.compile(r"""['"‘’“”\s]*,['"‘’“”\s]*""")


class TargetsError(ValueError):
    """A table of targets cannot be used; the message is a sentence that says what is wrong, and in which row."""


class TargetLabels:
    """A table of targets, in which a source's label is looked up.

    Case, white space, and quotes or brackets around a label or its parts make no difference, because the sources write one label
    as ``bla, wom``, ``'bla, wom'`` or ``['bla', 'wom']``. The order of the parts matters: the first names the primary target.
    """

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        """``rows`` have ``TARGET_FIELDS``, as returned by ``make_row`` and stored in ``TargetTable.rows``.

        Raises TargetsError for an empty label, a repeated label, and a target that means all texts.
        """
        self.rows = list(rows)
        self._by_label = _index_rows(self.rows)

    def normalise(self, raw: str) -> tuple[str, str, str] | None:
        """The primary, secondary and tertiary target of a source's label; None if the label is not in the table."""
        return self._by_label.get(simplify_label(raw))

    def hash(self) -> str:
        """SHA-256 of the rows as canonical JSON."""
        canonical = json.dumps(self.rows, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def simplify_label(raw: str) -> str:
    """A label in the form used for comparison: lower case, single spaces, no quotes or brackets around it or its parts."""
    bare = _AROUND.sub("", raw)
    return " ".join(_BETWEEN.sub(", ", bare).casefold().split())


def make_labels(rows: Iterable[Mapping[str, object]]) -> TargetLabels:
    """Make a table from its stored rows. Raises TargetsError."""
    return TargetLabels(make_row(number, row) for number, row in enumerate(rows, start=1))


def make_row(number: int, row: Mapping[str, object]) -> dict[str, str]:
    """One row, without white space around its fields. Raises TargetsError, which names the row by ``number``."""
    fields = {name: row.get(name) or "" for name in TARGET_FIELDS}
    if not all(isinstance(value, str) for value in fields.values()):
        raise TargetsError(f"Row {number} contains something that is not text. Every field must contain text.")
    return {name: str(value).strip() for name, value in fields.items()}


@cache
def load_published_targets() -> TargetLabels:
    """The table that was released with the paper."""
    return make_labels(json.loads(PUBLISHED.read_text(encoding="utf-8"))["rows"])


def _index_rows(rows: Sequence[dict[str, str]]) -> dict[str, tuple[str, str, str]]:
    if not rows:
        raise TargetsError("A table of targets needs at least one row.")
    if len(rows) > MAX_ROWS:
        raise TargetsError(f"A table of targets can have at most {MAX_ROWS:,} rows; this one has {len(rows):,}.")
    first: dict[str, int] = {}
    by_label: dict[str, tuple[str, str, str]] = {}
    for number, row in enumerate(rows, start=1):
        _check_row(number, row)
        label = simplify_label(row["raw"])
        if not label:
            raise TargetsError(f"Row {number} has no source label. Fill in “raw”, or remove the row.")
        if label in first:
            raise TargetsError(
                f"Row {number} has the source label of row {first[label]} (case, quotes and brackets aside). Keep one of them."
            )
        first[label] = number
        by_label[label] = (row["target"], row["secondary"], row["tertiary"])
    return by_label


def _check_row(number: int, row: dict[str, str]) -> None:
    raw, *targets = (row[name] for name in TARGET_FIELDS)
    if not row["target"]:
        raise TargetsError(
            f"Row {number} has no target. Fill in “target”, or remove the row: unknown labels have none."
        )
    if row["tertiary"] and not row["secondary"]:
        raise TargetsError(f"Row {number} has a tertiary target but no secondary one. Move it up.")
    named = [target for target in targets if target]
    if any(target.casefold() == OVERALL for target in named):
        raise TargetsError(
            f"Row {number} names the target “{OVERALL}”, which stands for all texts. Choose another name."
        )
    if len(set(named)) < len(named):
        raise TargetsError(f"Row {number} names one target twice. Name each once.")
    if len(raw) > MAX_RAW_LENGTH or any(len(target) > MAX_TARGET_LENGTH for target in named):
        raise TargetsError(
            f"Row {number} is too long. A source label has up to {MAX_RAW_LENGTH} characters, a target up to {MAX_TARGET_LENGTH}."
        )
    if any(re.search("[\x00-\x1f\x7f\ud800-\udfff]", value) for value in (raw, *targets)):
        raise TargetsError(f"Row {number} contains a line break or a control character. Remove it.")


METHODS = {
    "proportional": "each stratum in its share (largest remainders)",
    "stratum": "equally many of each stratum",
    "simple": "at random, without strata",
}
BY_FIELDS = {
    "target": "target",
    "source": "source",
    "kind": "kind of bias",
    "target_raw": "the source's own label of the target",
}
DEFAULT_SEED = 42
MAX_SEED = 2**32 - 1
NOT_DRAWN = "not drawn"
SAME_AGAIN = "the same text again in its source"
NO_LABEL = "(none)"


class SampleError(ValueError):
    """A sample cannot be drawn; the message is a sentence that says why."""


class Labelled(Protocol):
    """The fields of a row that a sample needs; ``DatasetText`` and the stored ``Text`` both have them."""

    @property
    def source(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def target_raw(self) -> str: ...
    @property
    def kind(self) -> str: ...


class Draw(NamedTuple):
    """The requested sample: ``method`` is one of ``METHODS``, ``by`` one of ``BY_FIELDS`` (unused by "simple")."""

    size: int
    method: str = "proportional"
    by: str = "target"
    seed: int = DEFAULT_SEED


@dataclass(frozen=True, slots=True)
class Statement:
    """How rows were chosen. ``strata`` counts the rows from which a draw chose ("read") and those that it took ("kept")."""

    read: int
    kept: int
    method: str = ""
    seed: int | None = None
    by: str = ""
    size: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    strata: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def write(self) -> dict[str, object]:
        """The statement as stored in ``Dataset.sampling``; empty if every row was taken without a draw."""
        if not self.method and not self.dropped:
            return {}
        return {
            "method": self.method,
            "seed": self.seed,
            "by": self.by,
            "size": self.size,
            "read": self.read,
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "strata": {stratum: dict(counts) for stratum, counts in self.strata.items()},
        }


def draw_sample(
    rows: Sequence[Labelled], *, size: int, method: str = "proportional", by: str = "target", seed: int = DEFAULT_SEED
) -> tuple[tuple[int, ...], Statement]:
    """The positions of ``size`` drawn rows, in their order. The same rows and seed always give the same sample.

    "proportional" divides the size by Hamilton's method (largest remainders); if remainders are equal, the larger stratum comes
    first, then the earlier one in the alphabet. "stratum" takes equally many rows from each stratum; if one has too few, the
    others share what is left. Raises SampleError.
    """
    _check(rows, Draw(size, method, by, seed))
    if method == "simple":
        kept = choose_rows(range(len(rows)), size, start_generator(seed))
        dropped = {NOT_DRAWN: len(rows) - size} if size < len(rows) else {}
        statement = Statement(len(rows), size, method, seed, "", size, dropped)
        return kept, statement
    strata = group_rows(getattr(row, by) for row in rows)
    sizes = {stratum: len(places) for stratum, places in strata.items()}
    shares = share_by_size(sizes, size) if method == "proportional" else share_equally(sizes, size)
    generator = start_generator(seed)
    chosen = {stratum: choose_rows(strata[stratum], shares[stratum], generator) for stratum in sorted(strata)}
    kept = tuple(sorted(place for places in chosen.values() for place in places))
    statement = Statement(
        read=len(rows),
        kept=len(kept),
        method=method,
        seed=seed,
        by=by,
        size=size,
        dropped={NOT_DRAWN: len(rows) - size} if size < len(rows) else {},
        strata={stratum: {"read": sizes[stratum], "kept": shares[stratum]} for stratum in rank_strata(sizes)},
    )
    return kept, statement


def drop_repeated(rows: Iterable[Labelled]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The positions of the rows to keep, and of those whose exact text occurred earlier in the same source."""
    seen: set[tuple[str, str]] = set()
    kept: list[int] = []
    repeated: list[int] = []
    for place, row in enumerate(rows):
        key = (row.source, row.text)
        (repeated if key in seen else kept).append(place)
        seen.add(key)
    return tuple(kept), tuple(repeated)


def group_rows(labels: Iterable[str]) -> dict[str, list[int]]:
    """The positions of the rows with each label; an empty label becomes ``NO_LABEL``."""
    strata: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        strata.setdefault(label or NO_LABEL, []).append(place)
    return strata


def rank_strata(sizes: Mapping[str, int]) -> list[str]:
    """The strata from largest to smallest, and alphabetically if they are equally large."""
    return sorted(sizes, key=lambda stratum: (-sizes[stratum], stratum))


def share_by_size(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """``size`` divided in proportion to the strata, by largest remainders; no share exceeds its stratum."""
    total = sum(sizes.values())
    quotas = {stratum: Fraction(size * count, total) for stratum, count in sizes.items()}
    shares = {stratum: int(quota) for stratum, quota in quotas.items()}
    by_remainder = sorted(rank_strata(sizes), key=lambda stratum: shares[stratum] - quotas[stratum])
    for stratum in by_remainder[: size - sum(shares.values())]:
        shares[stratum] += 1
    return shares


def share_equally(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """``size`` divided equally; what small strata lack is taken from the others, and single rows from the largest first."""
    shares = dict.fromkeys(sizes, 0)
    left = size
    while left:
        open_strata = [stratum for stratum in rank_strata(sizes) if shares[stratum] < sizes[stratum]]
        part = max(left // len(open_strata), 1)
        for stratum in open_strata:
            more = min(part, sizes[stratum] - shares[stratum], left)
            shares[stratum] += more
            left -= more
    return shares


def start_generator(seed: int) -> RandomState:
    """A generator whose draws do not change with numpy's version."""
    from numpy.random import RandomState

    return RandomState(seed)


def choose_rows(places: Sequence[int], count: int, generator: RandomState) -> tuple[int, ...]:
    """``count`` of the positions, drawn without replacement, in their order."""
    return tuple(sorted(places[int(index)] for index in generator.choice(len(places), count, replace=False)))


def _check(rows: Sequence[Labelled], draw: Draw) -> None:
    if draw.method not in METHODS:
        raise SampleError(f'There is no sampling method "{draw.method}". Choose one of {", ".join(METHODS)}.')
    if draw.method != "simple" and draw.by not in BY_FIELDS:
        raise SampleError(f'Texts are not sampled by "{draw.by}". Choose one of {", ".join(BY_FIELDS)}.')
    if not 0 <= draw.seed <= MAX_SEED:
        raise SampleError(f"The seed is a whole number from 0 to {MAX_SEED}.")
    if not 1 <= draw.size <= len(rows):
        raise SampleError(f"A sample of {draw.size} texts cannot be drawn from {len(rows)}. Ask for 1 to {len(rows)}.")
