"""Reads a CSV of reviews row by row: a text and the category that a method inferred from the author's first name.

Names themselves are refused wherever they stand in the file, so that none comes near the study.

Keeps the reviews that declared rules keep, in order, with a funnel that counts each step by category.

Rules are data: {"name", "steps": [{"name", "rule", ...}]}. What a rule says is fixed by its hash, so that a funnel can be
made again. A word is a run without white space; a term is a whole word of letters and digits, case folded, and ``*`` at its
end stands for any ending.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from auditapp.benchmarks.gender_cues.pure.parsing import CATEGORIES, MAX_TEXT_LENGTH
from transcripts.formats.json_lines import read_object
from transcripts.formats.problems import ReadError, quote
from transcripts.formats.tabular import StrictTable
from transcripts.ui.typed_text import find_fault

CATEGORY_COLUMNS = ("name_inferred_category", "category")
"""The headings under which a category is looked for, in this order."""
TEXT_COLUMN, ID_COLUMN = "text", "id"

_NAME_HEADINGS = re.compile(
    r"(?:(?:first|last|given|family|middle|full|user|nick|author|reviewer|patient|client|customer|person|display)[ _-]?)?"
    r"(?:name|names)|forename|surname|author|authors|reviewer|username|nickname",
    re.IGNORECASE,
)
# Common first names, as a sign that a column contains names. They have no gender here, and none is inferred.
_FIRST_NAMES = Path(__file__).parent.parent / "data" / "first_names.txt"
_ROWS_LOOKED_AT = 500
_MIN_NAMES = 5
_SHARE_OF_NAMES = 0.3
_MAX_WORDS_OF_NAME = 4
_WORD = re.compile(r"[^\W\d_]+")


class Review(NamedTuple):
    """One row. ``identifier`` is what the file calls it, or its number; ``columns`` is every cell by heading."""

    identifier: str
    text: str
    category: str
    columns: Mapping[str, str]


class ReviewFile:
    """The reviews of a CSV in UTF-8, read once, row by row; ``name`` is the file's. ``without_text`` counts rows whose text is
    empty, which are passed over.

    ``text`` and ``category`` are the headings of those columns; left empty, those of this module. Raises ``ReadError``, which
    names the place and never quotes a text, some of it only as rows are read.
    """

    def __init__(self, file: Iterable[bytes], *, name: str, text: str = "", category: str = "") -> None:
        self._table = StrictTable(file, name=name, escaped=False)
        self.without_text = 0
        self.headings = self._table.headings
        self._text = self._table.find(text or TEXT_COLUMN, "one with the text of the reviews")
        named = category or next((each for each in CATEGORY_COLUMNS if each in self.headings), CATEGORY_COLUMNS[0])
        self._category = self._table.find(named, "one with the name-inferred category")
        self._identifier = self.headings.index(ID_COLUMN) if ID_COLUMN in self.headings else -1
        for heading in self.headings:
            if heading != named and _NAME_HEADINGS.fullmatch(heading):
                raise self._refuse_names(heading, "")

    def __iter__(self) -> Iterator[Review]:
        names: Counter[str] = Counter()
        refuse = self._table.refuse
        for number, (line, cells) in enumerate(self._table, 1):
            if number <= _ROWS_LOOKED_AT:
                self._look_for_names(cells, names, number)
            text, category = cells[self._text], cells[self._category].strip().lower()
            if category not in CATEGORIES:
                raise refuse(line, self._describe_category(category), " or ".join(CATEGORIES))
            if not text.strip():
                self.without_text += 1
                continue
            if len(text) > MAX_TEXT_LENGTH:
                expected = f"at most {MAX_TEXT_LENGTH:,} (look whether a quotation mark is missing, or remove the row)"
                raise refuse(line, f"a text of {len(text):,} characters", expected)
            identifier = cells[self._identifier] if self._identifier >= 0 else str(number)
            yield Review(identifier, text, category, dict(zip(self.headings, cells, strict=True)))

    def _describe_category(self, found: str) -> str:
        heading = self.headings[self._category]
        if not found:
            return f"nothing in the column “{heading}”"
        if _is_name(found.title()):
            return f"what looks like a name in the column “{heading}”, which has the category that a method inferred from names"
        return f"the category {quote(found[:40])} in the column “{heading}”"

    def _look_for_names(self, cells: list[str], names: Counter[str], rows: int) -> None:
        for place, (heading, cell) in enumerate(zip(self.headings, cells, strict=True)):
            if place in {self._text, self._category} or not _is_name(cell):
                continue
            names[heading] += 1
            if names[heading] >= max(_MIN_NAMES, _SHARE_OF_NAMES * rows):
                raise self._refuse_names(heading, f": {names[heading]} of the first {rows} rows have one")

    def _refuse_names(self, heading: str, why: str) -> ReadError:
        expected = "a file without it: the probe takes a category that was inferred from names, never the names"
        return self._table.refuse(None, f"the column “{heading}”, which looks like people's names{why}", expected)


def _is_name(cell: str) -> bool:
    words = _WORD.findall(cell)
    if not 1 <= len(words) <= _MAX_WORDS_OF_NAME or not all(word[0].isupper() for word in words):
        return False
    return any(word.lower() in _load_first_names() for word in words)


@cache
def _load_first_names() -> frozenset[str]:
    return frozenset(_FIRST_NAMES.read_text(encoding="utf-8").split())


RULES = ("length", "equals", "contains", "excludes")
UNITS = ("words", "characters")
READ = "read"
"""The first row of every funnel: what the file contains."""
MAX_STEPS = 50
MAX_TERMS = 5_000
MAX_TEXT = 10_000
"""Characters of a name, a column, a value or a term."""

HOW_TO_WRITE = 'Write one JSON object with "name" and a list of "steps", as docs/reference/probe.md shows.'

Keeps = Callable[[Review], bool]
Funnel = list[dict[str, Any]]
"""{"step", a count for each category, "total", "of_step_before", "of_first"}; the last two are shares of texts."""


class RulesRefused(Exception):
    """Rules that say nothing that can be done; the message names the step."""


@dataclass(frozen=True)
class Rules:
    """Declared rules. ``declared`` is what was written; ``sha256`` is of its canonical JSON."""

    name: str
    declared: Mapping[str, Any]
    steps: Sequence[tuple[str, Keeps]]

    @property
    def sha256(self) -> str:
        canonical = json.dumps(self.declared, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def read_rules(data: bytes | str) -> Rules:
    """Rules from their JSON, read as strictly as any file: no key twice, no NaN. Raises ``RulesRefused``, which names the line."""
    try:
        return check_rules(read_object(data.encode("utf-8", "replace") if isinstance(data, str) else data, "The rules"))
    except ReadError as error:
        place = "" if error.line is None else f", line {error.line}"
        raise RulesRefused(f"The rules{place}: found {error.found}. {HOW_TO_WRITE}") from error


def check_rules(declared: object) -> Rules:
    """Rules from their JSON. Raises ``RulesRefused``."""
    if not isinstance(declared, dict) or not isinstance(declared.get("steps"), list):
        raise RulesRefused(HOW_TO_WRITE)
    _refuse_unstorable({key: value for key, value in declared.items() if key != "steps"}, "The rules")
    for number, each in enumerate(declared["steps"], 1):
        _refuse_unstorable(each, f"Step {number}")
    _refuse_unknown(declared, {"name", "steps"}, "The rules")
    name = declared.get("name", "")
    if not isinstance(name, str) or not name.strip():
        raise RulesRefused('The rules have no "name". Say in a few words what they keep.')
    if not 1 <= len(declared["steps"]) <= MAX_STEPS:
        raise RulesRefused(f"The rules have {len(declared['steps'])} steps. Write 1 to {MAX_STEPS} steps.")
    steps = [_read_step(number, each) for number, each in enumerate(declared["steps"], 1)]
    twice = [step for step, count in Counter([READ, *(step for step, _ in steps)]).items() if count > 1]
    if twice:
        raise RulesRefused(f"Two steps are called “{twice[0]}”. Give every step a name of its own; “{READ}” is taken.")
    return Rules(name.strip(), declared, steps)


def list_columns(rules: Rules) -> list[str]:
    """The columns that the rules look at."""
    named = (step.get("column", TEXT_COLUMN) for step in rules.declared["steps"] if step["rule"] != "length")
    return list(dict.fromkeys(named))


def winnow(reviews: ReviewFile, rules: Rules) -> Winnowing:
    """The winnowing of a file. Raises ``RulesRefused`` where the rules look at a column that the file has not."""
    for column in list_columns(rules):
        if column not in {*reviews.headings, TEXT_COLUMN}:
            raise RulesRefused(
                f"The rules look at the column “{column}”, which the file has not. Its columns are: "
                f"{', '.join(reviews.headings)}."
            )
    return Winnowing(reviews, rules)


class Winnowing:
    """What the rules keep of some reviews. Iterate over it to the end; then ``funnel`` is whole."""

    def __init__(self, reviews: Iterable[Review], rules: Rules) -> None:
        self._reviews, self._rules = reviews, rules
        self._counts = [Counter[str]() for _ in range(len(rules.steps) + 1)]

    def __iter__(self) -> Iterator[Review]:
        """The reviews that are kept, in the order of the file."""
        first, *counts = self._counts
        steps = [(keeps, counts[place]) for place, (_, keeps) in enumerate(self._rules.steps)]
        for review in self._reviews:
            first[review.category] += 1
            for keeps, count in steps:
                if not keeps(review):
                    break
                count[review.category] += 1
            else:
                yield review

    @property
    def funnel(self) -> Funnel:
        """A row for the file and for each step, in order."""
        names = [READ, *(name for name, _ in self._rules.steps)]
        return make_funnel([(name, count) for name, count in zip(names, self._counts, strict=True)])


def make_funnel(rows: Sequence[tuple[str, Mapping[str, int]]]) -> Funnel:
    """The funnel of counts by category. A share of nothing is ``None``."""
    funnel: Funnel = []
    for name, count in rows:
        total = sum(count.get(category, 0) for category in CATEGORIES)
        before = funnel[-1]["total"] if funnel else total
        first = funnel[0]["total"] if funnel else total
        funnel.append(
            {"step": name}
            | {category: count.get(category, 0) for category in CATEGORIES}
            | {
                "total": total,
                "of_step_before": total / before if before else None,
                "of_first": total / first if first else None,
            }
        )
    return funnel


def _read_step(number: int, step: object) -> tuple[str, Keeps]:
    where = f"Step {number}"
    if not isinstance(step, dict):
        raise RulesRefused(f'{where} is no object. Write {{"name", "rule", ...}}.')
    name, rule = step.get("name"), step.get("rule")
    if not isinstance(name, str) or not name.strip():
        raise RulesRefused(f'{where} has no "name". Say in a few words what it keeps: it names a row of the funnel.')
    if rule not in RULES:
        raise RulesRefused(f'{where}, “{name}”: "rule" must be {", ".join(RULES[:-1])} or {RULES[-1]}.')
    where = f"{where}, “{name}”"
    if rule == "length":
        return name.strip(), _read_length(step, where)
    if rule == "equals":
        return name.strip(), _read_equals(step, where)
    return name.strip(), _read_terms(step, where, has=rule == "contains")


def _read_length(step: Mapping[str, Any], where: str) -> Keeps:
    _refuse_unknown(step, {"name", "rule", "unit", "at_least", "at_most"}, where)
    unit = step.get("unit")
    if unit not in UNITS:
        raise RulesRefused(f'{where}: "unit" must be words or characters. The two differ by a factor of five or six.')
    low, high = (_read_bound(step, key, where) for key in ("at_least", "at_most"))
    if low is None and high is None:
        raise RulesRefused(f'{where}: say "at_least", "at_most" or both.')
    if low is not None and high is not None and low > high:
        raise RulesRefused(f'{where}: "at_least" is {low} and "at_most" {high}, so no text is kept. Exchange them.')
    least, most = low or 0, high if high is not None else float("inf")
    if unit == "words":
        return lambda review: least <= len(review.text.split()) <= most
    return lambda review: least <= len(review.text) <= most


def _read_bound(step: Mapping[str, Any], key: str, where: str) -> int | None:
    bound = step.get(key)
    if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool) or bound < 0):
        raise RulesRefused(f'{where}: "{key}" must be a whole number, 0 or more.')
    return bound


def _read_equals(step: Mapping[str, Any], where: str) -> Keeps:
    _refuse_unknown(step, {"name", "rule", "column", "value"}, where)
    column, value = step.get("column"), step.get("value")
    if not isinstance(column, str) or not column or not isinstance(value, str | int):
        raise RulesRefused(f'{where}: equals needs a "column" and a "value".')
    wanted = str(value)
    if column == TEXT_COLUMN:
        return lambda review: review.text.strip() == wanted
    return lambda review: review.columns[column].strip() == wanted


def _read_terms(step: Mapping[str, Any], where: str, *, has: bool) -> Keeps:
    _refuse_unknown(step, {"name", "rule", "column", "terms"}, where)
    terms, column = step.get("terms"), step.get("column", TEXT_COLUMN)
    if not isinstance(terms, list) or not 1 <= len(terms) <= MAX_TERMS or not isinstance(column, str):
        raise RulesRefused(f'{where}: "terms" must be a list of 1 to {MAX_TERMS:,} words.')
    search = re.compile(
        r"(?<![^\W_])(?:" + "|".join(_write_term(each, where) for each in terms) + r")(?![^\W_])"
    ).search
    if column == TEXT_COLUMN:
        return lambda review: (search(review.text.casefold()) is not None) is has
    return lambda review: (search(review.columns[column].casefold()) is not None) is has


def _write_term(term: object, where: str) -> str:
    if not isinstance(term, str) or not (stem := term.strip().casefold().removesuffix("*")).strip():
        raise RulesRefused(f"{where}: every term is a word, with * at its end for any ending.")
    if "*" in stem:
        raise RulesRefused(f"{where}: “{term[:40]}” has a * that is not at its end.")
    words = r"\s+".join(re.escape(word) for word in stem.split())
    return words + (r"[^\W_]*" if term.strip().endswith("*") else "")


def _refuse_unstorable(declared: object, where: str) -> None:
    """Refuse a text, at any depth, that no database holds or that is too long. It is not quoted: it may not be printable either."""
    parts = [declared]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += [*part, *part.values()]
        elif isinstance(part, list):
            parts += part
        elif isinstance(part, str) and (fault := find_fault(part, max_length=MAX_TEXT)):
            raise RulesRefused(f"{where}: {fault}")


def _refuse_unknown(found: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(found.keys() - known)
    if unknown:
        raise RulesRefused(f"{where}: “{unknown[0]}” is not known. It may have {', '.join(sorted(known))}.")
