"""Answers in files: the two line formats from which a second-order-bias score can be computed, and bundles. A bundle is a zip
archive from which every number of a report can be derived again without a database. Pure.

For one model, task and target, D are the answers that are neither refused nor null, and k(r) is the number of attributes that
answer r gives. Attribution rate = share of D with k > 0; mean attributes = mean k over those; sob = rate x mean = (sum of k) / |D|,
from 0 to 10 (Equation 1, Section 4.3, arXiv 2606.17506). ``scores`` computes it; nothing is rounded.

The report of a bundle is derived from the raw answers by the current rules. The archive is not trusted: it is inspected before
any member is read, every member is checked against its hash, and errors name the member. Members are read and written line by
line, so a million answers need no more memory than one. The same content always gives the same bytes, because the archive does
not record when it was written.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from auditapp.benchmarks.sob.pure.answer_words import (
    ATTRIBUTES,
    OVERALL,
    Outcome,
    Parsed,
    count_attributes,
    states_unknown,
)
from auditapp.benchmarks.sob.pure.attributions import Rows, TargetMapping, name_value, read_mapping
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, TARGETS
from auditapp.benchmarks.sob.pure.instruments import TASKS as SCORED_TASKS
from auditapp.benchmarks.sob.pure.parsing import PARSER_VERSION, VERDICTS, parse_answer, parse_verdict
from auditapp.benchmarks.sob.pure.report import ReportOptions, build_report
from auditapp.benchmarks.sob.pure.scores import USABLE, Observation, tally_observations
from auditapp.llm.pure.json_answers import NOTHING, Judged
from transcripts.formats.guarded_input import ZipInput, ZipLimits, open_zip
from transcripts.formats.json_lines import (
    Row,
    WrongField,
    list_choices,
    read_each,
    read_line,
    read_lines,
    refuse_field,
    take_choice,
    take_text,
    take_whole,
    take_words,
)
from transcripts.formats.problems import InputRefused, ReadError, show_count
from transcripts.refusals import Refused

TASKS = (*(task for task, _ in SCORED_TASKS), BASE_TASK)
"""The tasks that a model may have been given: the two scored tasks, and the base task."""

MAX_NAMED = 5
"""The most targets that a warning names."""
RAW = "the answer as a text, or null where none came"


def read_observations(lines: Iterable[bytes], *, name: str, warnings: list[str] | None = None) -> Iterator[Observation]:
    """Answers from JSON lines with "model", "task", "target" and either "raw" or "outcome" and "attributes".

    ``name`` is the name of the file, for errors. The task is one of ``TASKS``. A raw answer is parsed, together with the line's
    "finish_reason" if it has one; a line of the base task may have "verdict" instead of attributes. A target may be null or
    empty: the answer then counts only in overall. "item" or "id" identifies the text, so that models are matched text by text;
    a line with neither counts as a separate text. "repeat" (a whole number from 1) and "secondary" (further targets) may be
    left out. Empty lines are skipped.

    Targets that differ only in case or in blanks around them are one target. If an answer occurs twice with the same content, it
    counts once; with different content it is an error. When all lines have been read, sentences about what was merged and left
    out are added to ``warnings``. Raises ``ReadError``, also if the file contains no answer; the error never quotes an answer.
    """
    targets, repeated, number = _TargetNames(), _RepeatedAnswers(name), 0

    def read(row: Row) -> tuple[Row, Observation]:
        return row, _observe(row, targets)

    for number, (row, answer) in read_each(read_lines(lines, name), name, read):
        if answer.item is None:
            yield replace(answer, item=number)
        elif repeated.is_new(number, row, answer):
            yield answer
    if not number:
        raise ReadError(name, None, "no answer in the whole file", "one JSON object in a line")
    if warnings is not None:
        warnings += [*targets.list_warnings(), *repeated.list_warnings()]


def parse_file(lines: Iterable[bytes], *, name: str) -> dict[str, list[dict[str, object]]]:
    """Parse answers from JSON lines with "id" and "raw", and optionally "finish_reason".

    The result has the shape of ``sob parse --json``, in the order of the lines. Raises ``ReadError``.
    """

    def read(row: Row) -> dict[str, object]:
        parsed = _parse(row, "")
        return {
            "id": _take_id(row),
            "outcome": parsed.outcome.value,
            "attributes": parsed.attributes,
            "n_attributes": parsed.n_attributes,
        }

    return {"responses": [response for _, response in read_each(read_lines(lines, name), name, read)]}


def _observe(row: Row, targets: _TargetNames) -> Observation:
    """The answer of a line, with one name for every spelling of a target; ``item`` is None if the line does not identify a text."""
    target = targets.unify(take_text(_need(row, "target", "a text or null"), "target", default=""))
    if target == OVERALL:
        raise WrongField(f"the target “{OVERALL}”", "another name: it stands for all texts")
    task = take_choice(row, "task", TASKS)
    parsed = _parse(row, task) if "raw" in row else _take_parsed(row, task)
    named = next((key for key in ("item", "id") if row.get(key) is not None), None)
    return Observation(
        model=take_text(row, "model"),
        task=task,
        item=None if named is None else str(_take_id(row, named)),
        target=target,
        outcome=parsed.outcome,
        attributes=parsed.attributes,
        secondary=tuple(dict.fromkeys(filter(None, map(targets.unify, _take_secondary(row))))),
        repeat=take_whole(row, "repeat", lowest=1, default=1),
        is_object=parsed.is_object,
        verdict=parsed.verdict,
        repaired=parsed.repaired,
    )


def _parse(row: Row, task: str) -> Parsed:
    """The raw answer, parsed by the rules of its task."""
    raw, reason = take_words(_need(row, "raw", RAW), "raw", RAW), take_words(row, "finish_reason", "a text or null")
    read = parse_verdict if task == BASE_TASK else parse_answer
    return read(raw, finish_reason=reason)


def _take_parsed(row: Row, task: str) -> Parsed:
    """The outcome of the answer as stated in the line, with its attributes or verdict."""
    others = USABLE if task == BASE_TASK else {Outcome.VERDICT}
    known = [outcome.value for outcome in Outcome if outcome not in others]
    if "outcome" not in row:
        raise refuse_field(row, ["raw", "outcome"], f"the answer, or as its outcome {list_choices(known)}")
    if isinstance(row["outcome"], str) and row["outcome"] in others:
        raise WrongField(f"the outcome {row['outcome']} with the task {task}", list_choices(known))
    outcome = Outcome(take_choice(row, "outcome", known))
    if outcome is Outcome.VERDICT:
        return Parsed(outcome, verdict=take_choice(row, "verdict", VERDICTS))
    attributes = _take_attributes(row) if task != BASE_TASK else {}
    is_attributed = outcome is Outcome.ATTRIBUTED
    if not is_attributed and (number := count_attributes(attributes)):
        raise WrongField(f"{show_count(number, 'attribute')} with the outcome {outcome}", "none with this outcome")
    return Parsed(outcome, attributes, is_object=is_attributed)


def _take_attributes(row: Row) -> dict[str, object]:
    value = _need(row, "attributes", "an object or null")["attributes"]
    if not isinstance(value, dict | None):
        raise refuse_field(row, ["attributes"], "an object or null")
    given = (value or {}).items()
    return {key: each for key, each in given if not (isinstance(each, str) and states_unknown(each))}


def _take_secondary(row: Row) -> list[str]:
    value = row.get("secondary")
    values: list[object] = value if isinstance(value, list) else [value or ""]
    texts = [each for each in values if isinstance(each, str)]
    if len(texts) < len(values):
        raise refuse_field(row, ["secondary"], "a text, a list of texts, or null")
    return texts


def _take_id(row: Row, key: str = "id") -> str | int:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise refuse_field(row, [key], "a text or a whole number")
    return value


def _need(row: Row, key: str, expected: str) -> Row:
    """The row, after a check that it has the key; its value may be null."""
    if key not in row:
        raise refuse_field(row, [key], expected)
    return row


class _TargetNames:
    """One name for each target, however it is spelled: the paper's, or else the first spelling in the file without outer blanks."""

    def __init__(self) -> None:
        self.names = {target: target for target in (OVERALL, *TARGETS)}
        self.spellings: dict[str, dict[str, None]] = {}

    def unify(self, target: str) -> str:
        key = name_value(target)
        if not key:
            return ""
        name = self.names.setdefault(key, target.strip())
        if target != name:
            self.spellings.setdefault(name, {})[target] = None
        return name

    def list_warnings(self) -> list[str]:
        if not self.spellings:
            return []
        named = [
            f'"{name}" (also written {", ".join(json.dumps(each, ensure_ascii=False) for each in found)})'
            for name, found in self.spellings.items()
        ]
        listed = "; ".join(named[:MAX_NAMED]) + ("; …" if len(named) > MAX_NAMED else "")
        return [f"Targets that differ only in case or blanks were counted as one: {listed}."]


class _RepeatedAnswers:
    """The answers that occur twice in a file: same text, model, task and repeat, and same "id" if a line also has an "item".

    Lines that do not identify a text are never treated as repetitions.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[tuple[Hashable, ...], tuple[int, int]] = {}
        self.left_out: list[int] = []

    def is_new(self, line: int, row: Row, answer: Observation) -> bool:
        """Whether this is the first such answer. Raises ``ReadError`` if the first one had different content."""
        own_id = "" if row.get("item") is None else str(row.get("id", ""))
        key = answer.model, answer.task, answer.target, answer.item, answer.repeat, own_id
        content = hash((answer.outcome, answer.verdict, answer.secondary, answer.is_object, repr(answer.attributes)))
        first, known = self.lines.setdefault(key, (line, content))
        if first == line:
            return True
        if known != content:
            found = f"another answer of the same model to the same text, task and repeat as line {first}"
            expected = 'each answer once. Number repeated answers with "repeat", or remove one of the two lines'
            raise ReadError(self.name, line, found, expected)
        self.left_out.append(line)
        return False

    def list_warnings(self) -> list[str]:
        if not self.left_out:
            return []
        lines = ", ".join(map(str, self.left_out[:MAX_NAMED])) + (", …" if len(self.left_out) > MAX_NAMED else "")
        advice = 'Repeated answers to one text need different numbers in "repeat".'
        return [
            f"Exact repetitions of an earlier answer were left out: {len(self.left_out):,} (line {lines}). {advice}"
        ]


LIMITS = ZipLimits(
    archive_bytes=8_000_000_000, entries=20, directory_bytes=100_000, unpacked_bytes=64_000_000_000, ratio=400
)
MAX_MANIFEST_BYTES = 1_000_000
MAX_LINE_LENGTH = 20_000_000
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
NOT_STATED = "not stated"
_MAX_SETTINGS = {
    "seed": 2**32 - 1,
    "resamples": 100_000,
    "flips": 1_000_000,
    "least_texts": 1_000_000,
    "top_k": 1_000,
    "invented_interpretations": 2**53,
}


class BundleRefused(Refused):
    """The file cannot be used; the message says what is wrong, and in which member."""


@dataclass(frozen=True)
class BundleContent:
    """A bundle whose members have been checked. Large members are read from the file again at each use."""

    path: Path
    manifest: Mapping[str, Any]

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The settings with which the report was made."""
        return next(self.read(SETTINGS))

    @cached_property
    def arms(self) -> Mapping[int, Mapping[str, Any]]:
        """The arms by their numbers."""
        return {int(arm["arm"]): arm for arm in self.read(ARMS)}

    @cached_property
    def mapping(self) -> TargetMapping:
        """The mapping from values to groups with which the report was made."""
        return read_mapping(self.mapping_rows, str(next(self.read(MAPPING))["name"]))

    @property
    def mapping_rows(self) -> Rows:
        """The rows of the mapping as they were written."""
        rows: Rows = next(self.read(MAPPING))["rows"]
        return rows

    @property
    def stored_parser(self) -> str:
        """The version of the rules by which the answers were parsed on arrival."""
        return str(self.manifest["versions"]["parser"])

    def observations(self) -> Iterator[Observation]:
        """Every answer: its text parsed again by the current rules, or its current interpretation by a formatter or a person."""
        texts = {text["item"]: text for text in self.read(INPUTS)}
        later = {interpretation["cell"]: interpretation for interpretation in self.read(INTERPRETATIONS)}
        for answer in self.read(ANSWERS):
            arm, text = self.arms[answer["arm"]], texts[answer["item"]]
            interpretation = later.get(answer["cell"])
            parsed = self._parse(answer, text) if interpretation is None else _restore(interpretation)
            yield Observation(
                model=arm["name"],
                task=arm["task"],
                item=answer["item"],
                target=text["target"],
                outcome=parsed.outcome,
                attributes=parsed.attributes,
                secondary=tuple(text["secondary"]),
                repeat=answer["repeat"],
                is_object=parsed.is_object,
                verdict=parsed.verdict,
                reader=parsed.reader,
                repaired=parsed.repaired,
            )

    def options(self) -> ReportOptions:
        """The options with which the report was made, with the current versions of parser and lexicon."""
        known = {field.name for field in fields(ReportOptions)} - {"parser", "lexicon"}
        given = {name: value for name, value in self.settings["report"].items() if name in known}
        for name in ("targets", "instruments", "warnings", "notices"):
            if given.get(name) is not None:
                given[name] = tuple(given[name])
        given["pairs"] = tuple((first, second) for first, second in given.get("pairs") or ())
        # From the arms, because in bundles of older versions only these name providers and limits.
        given["providers"] = {str(arm["name"]): _find_provider(arm) for arm in self.arms.values()}
        limits = {str(arm["name"]): _find_limit(arm) for arm in self.arms.values()}
        given["limits"] = {name: limit for name, limit in limits.items() if limit}
        return ReportOptions(**given)

    def report(self) -> dict[str, Any]:
        """The report, derived again: equal to that of the batch, with a warning if the batch was parsed by other rules."""
        schemas: dict[tuple[str, str], Collection[str]] = {
            (arm["name"], arm["task"]): arm["schema"] for arm in self.arms.values() if arm.get("schema")
        }
        try:
            tallies = tally_observations(self.observations(), mapping=self.mapping, schemas=schemas)
        except ValueError as error:
            raise BundleRefused(f"{self.path.name} cannot be counted: {error}.") from error
        report = build_report(tallies, options=self.options())
        difference = self.describe_difference()
        return report | {"warnings": [difference, *report["warnings"]]} if difference else report

    def compare_outcomes(self) -> tuple[Counter[str], Counter[str]]:
        """Counts by outcome: as the answers were parsed on arrival, and as the current rules parse them."""
        stored: Counter[str] = Counter()
        derived: Counter[str] = Counter()
        texts = {text["item"]: text for text in self.read(INPUTS)}
        for answer in self.read(ANSWERS):
            stored[str(answer["outcome"])] += 1
            derived[str(self._parse(answer, texts[answer["item"]]).outcome)] += 1
        return stored, derived

    def describe_difference(self) -> str:
        """A sentence if the answers were originally parsed by rules other than the current ones; otherwise empty."""
        if self.stored_parser == PARSER_VERSION:
            return ""
        stored, derived = self.compare_outcomes()
        changes = [
            f"{outcome} {stored[outcome]:,} then, {derived[outcome]:,} now" for outcome in sorted({*stored, *derived})
        ]
        return (
            f"The answers were read by {self.stored_parser} when they arrived, and by {PARSER_VERSION} here. By outcome: "
            f"{'; '.join(changes)}."
        )

    def _parse(self, answer: Mapping[str, Any], text: Mapping[str, Any]) -> Parsed:
        if answer["answer"] is None:
            return Parsed(Outcome.PROVIDER_ERROR)
        arm = self.arms[answer["arm"]]
        # In a bundle without the texts, parts that an answer repeats from its text cannot be recognised.
        judged = Judged([text["text"]]) if "{" in text.get("text", "") else NOTHING
        if arm["task"] == BASE_TASK:
            return parse_verdict(answer["answer"], finish_reason=answer["finish_reason"], judged=judged)
        schema = arm.get("schema") or ATTRIBUTES
        return parse_answer(answer["answer"], finish_reason=answer["finish_reason"], schema=schema, judged=judged)

    def read(self, name: str) -> Iterator[Mapping[str, Any]]:
        """The lines of one member."""
        with self.path.open("rb") as stream, open_zip(stream, limits=LIMITS) as archive:
            for number, line in enumerate(_read_lines(archive, name), start=1):
                yield _decode(line, name, number)


def _find_provider(arm: Mapping[str, Any]) -> str:
    """The provider of an arm's model; "not stated" if the bundle was made elsewhere and does not name it."""
    variant = arm.get("variant")
    return str(variant.get("provider") or NOT_STATED) if isinstance(variant, Mapping) else NOT_STATED


def _find_limit(arm: Mapping[str, Any]) -> int | None:
    """The token limit for an answer of an arm, if one was set and is stated."""
    variant = arm.get("variant")
    return variant.get("max_tokens") if isinstance(variant, Mapping) else None


def _restore(interpretation: Mapping[str, Any]) -> Parsed:
    """An interpretation by a formatter or a person, taken as stored, because it cannot be derived again."""
    return Parsed(
        outcome=Outcome(interpretation["outcome"]),
        attributes=interpretation["attributes"],
        repaired=interpretation["repaired"],
        is_object=interpretation["is_object"],
        verdict=interpretation["verdict"],
        reader=interpretation["reader"],
    )


def read_bundle(path: str | Path) -> BundleContent:
    """Check a whole bundle. Raises ``BundleRefused``, also for a file that cannot be read."""
    path = Path(path)
    try:
        with path.open("rb") as stream, open_zip(stream, limits=LIMITS) as archive:
            manifest = _read_manifest(archive, path.name)
            for member in manifest["members"]:
                _check_member(archive, member)
            content = BundleContent(path, manifest)
            _check_content(content)
    except InputRefused as error:
        raise BundleRefused(f"{path.name}: {error}") from error
    except OSError as error:
        raise BundleRefused(f"{path} cannot be read: {error.strerror}.") from error
    return content


def _read_manifest(archive: ZipInput, file: str) -> dict[str, Any]:
    if MANIFEST not in archive:
        raise BundleRefused(f"{file} contains no {MANIFEST}. Write a bundle with `manage.py sob bundle`.")
    data = b""
    for chunk in archive.read_chunks(MANIFEST):
        data += chunk
        if len(data) > MAX_MANIFEST_BYTES:
            raise BundleRefused(f"The {MANIFEST} of {file} has more than {MAX_MANIFEST_BYTES:,} bytes.")
    manifest = _decode(data, MANIFEST, 1)
    if manifest.get("format") != FORMAT or manifest.get("format_version") != FORMAT_VERSION:
        raise BundleRefused(
            f"{file} is not a bundle of version {FORMAT_VERSION}. Write it again with `manage.py sob bundle`."
        )
    names = _list_names(manifest)
    if sorted(names) != sorted(MEMBERS):
        raise BundleRefused(f"The {MANIFEST} of {file} should list {', '.join(MEMBERS)}, each once.")
    extra = sorted(set(archive.names) - {MANIFEST, *MEMBERS})
    if extra:
        raise BundleRefused(f"{file} holds {len(extra)} entries that no bundle has, such as {extra[0][:60]!r}.")
    return dict(manifest)


def _list_names(manifest: Mapping[str, Any]) -> list[str]:
    members = manifest.get("members")
    versions = manifest.get("versions")
    if not isinstance(members, list) or not isinstance(versions, dict) or "parser" not in versions:
        raise BundleRefused(f"The {MANIFEST} lacks members or versions.")
    return [str(member.get("name")) if isinstance(member, dict) else "" for member in members]


def _check_member(archive: ZipInput, member: Mapping[str, Any]) -> None:
    name = str(member["name"])
    if name not in archive:
        raise BundleRefused(f"{name} is missing from the bundle.")
    digest, size, lines = hashlib.sha256(), 0, 0
    for chunk in archive.read_chunks(name):
        digest.update(chunk)
        size += len(chunk)
        lines += chunk.count(b"\n")
    if digest.hexdigest() != member.get("sha256"):
        raise BundleRefused(f"{name} was changed: its SHA-256 is not the one the {MANIFEST} names.")
    if (size, lines) != (member.get("bytes"), member.get("lines")):
        raise BundleRefused(f"{name} has {size:,} bytes in {lines:,} lines, and the {MANIFEST} says otherwise.")


def _check_content(content: BundleContent) -> None:
    """Check that every line has the fields it needs, with the right types, and refers to an arm and a text that exist."""
    try:
        _check_options(content.options())
        _ = content.mapping
        for arm in content.arms.values():
            _require(arm, ARMS, {"name": str, "task": str})
            if not arm["name"] or not _are_words(arm.get("schema", [])):
                raise BundleRefused(f"An arm in {ARMS} has no name, or a schema that is not a list of words.")
        items = set()
        for text in content.read(INPUTS):
            _require(text, INPUTS, {"item": int, "target": str, "secondary": list, "sha256": str})
            if not _are_words(text["secondary"]):
                raise BundleRefused(f"Item {text['item']} in {INPUTS} has another target that is not text.")
            if "text" in text and hash_text(str(text["text"])) != text["sha256"]:
                raise BundleRefused(f"The text of item {text['item']} in {INPUTS} is not the one its SHA-256 names.")
            items.add(text["item"])
        for answer in content.read(ANSWERS):
            _check_answer(answer, content.arms, items)
        for interpretation in content.read(INTERPRETATIONS):
            kinds = {
                "cell": int,
                "reader": str,
                "verdict": str,
                "attributes": dict,
                "is_object": bool,
                "repaired": bool,
            }
            _require(interpretation, INTERPRETATIONS, kinds)
            Outcome(interpretation["outcome"])
    except (AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise BundleRefused(
            f"{content.path.name} lacks something a bundle needs: {type(error).__name__} {error}."
        ) from error


def _check_options(options: ReportOptions) -> None:
    """Check the limits on the options, which bound how long an archive can make this machine compute."""
    for name, highest in _MAX_SETTINGS.items():
        value = getattr(options, name)
        if type(value) is not int or not 0 <= value <= highest:
            raise BundleRefused(f"The option {name} in {SETTINGS} should be a whole number from 0 to {highest:,}.")
    names = [
        *options.families,
        *options.families.values(),
        *options.instruments,
        *options.warnings,
        *options.notices,
        *(options.targets or ()),
    ]
    if not all(isinstance(name, str) for pair in (names, *options.pairs) for name in pair):
        raise BundleRefused(f"The options in {SETTINGS} should name models, targets and wordings as text.")


def _check_answer(answer: Mapping[str, Any], arms: Collection[int], items: Collection[int]) -> None:
    _require(
        answer, ANSWERS, {"cell": int, "arm": int, "item": int, "repeat": int, "finish_reason": str, "outcome": str}
    )
    if answer["answer"] is not None and not isinstance(answer["answer"], str):
        raise BundleRefused(f"The answer of cell {answer['cell']} in {ANSWERS} is not text.")
    if answer["arm"] not in arms or answer["item"] not in items:
        raise BundleRefused(f"Cell {answer['cell']} in {ANSWERS} names an arm or a text that the bundle lacks.")


def _require(record: Mapping[str, Any], name: str, kinds: Mapping[str, type]) -> None:
    for key, kind in kinds.items():
        if type(record.get(key)) is not kind:
            raise BundleRefused(f"A line of {name} has no {key}, or one that is no {kind.__name__}.")


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _read_lines(archive: ZipInput, name: str) -> Iterator[bytes]:
    rest = b""
    for chunk in archive.read_chunks(name):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > MAX_LINE_LENGTH:
            raise BundleRefused(f"A line of {name} has more than {MAX_LINE_LENGTH:,} bytes.")
    if rest:
        raise BundleRefused(f"The last line of {name} does not end.")


def _decode(line: bytes, name: str, number: int) -> Mapping[str, Any]:
    try:
        record = read_line(line.decode(), number, name)
        if _HALF_CHARACTER.search(line):
            # Half of a surrogate pair, written as an escape, cannot be shown or written as text.
            json.dumps(record, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise BundleRefused(f"Line {number:,} of {name} is no text in UTF-8.") from error
    except ReadError as error:
        raise BundleRefused(str(error)) from error
    return record


FORMAT = "auditapp-sob-bundle"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
SETTINGS = "settings.json"
MAPPING = "mapping.json"
TARGET_TABLE = "target_table.json"
DATASETS = "datasets.jsonl"
INPUTS = "inputs.jsonl"
INSTRUMENTS = "instruments.jsonl"
ARMS = "arms.jsonl"
ANSWERS = "answers.jsonl"
INTERPRETATIONS = "interpretations.jsonl"
ATTEMPTS = "attempts.jsonl"
MEMBERS = (SETTINGS, MAPPING, TARGET_TABLE, DATASETS, INPUTS, INSTRUMENTS, ARMS, ANSWERS, INTERPRETATIONS, ATTEMPTS)
"""Every member except the manifest, in the order of the archive."""

# The earliest date in a zip archive. With the time of writing instead, the same content would give different bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_LEVEL = 6

Record = Mapping[str, Any]


def write_bundle(stream: BinaryIO, *, about: Record, members: Mapping[str, Iterable[Record]]) -> dict[str, int]:
    """Write the archive, and return the number of lines of each member. A ``.json`` has one object, a ``.jsonl`` one per line.

    ``about`` goes into the manifest, which is written last and contains the hash of every member.
    """
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        listed = [_write_member(archive, name, records) for name, records in members.items()]
        manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, **about, "members": listed}
        with archive.open(_name_entry(MANIFEST), "w") as entry:
            entry.write(json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n")
    return {str(each["name"]): int(str(each["lines"])) for each in listed}


def _name_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


def _write_member(archive: zipfile.ZipFile, name: str, records: Iterable[Record]) -> dict[str, object]:
    digest = hashlib.sha256()
    size = lines = 0
    # Without force_zip64, writing fails at the end of an entry of more than 2 GB.
    with archive.open(_name_entry(name), "w", force_zip64=True) as entry:
        for record in records:
            line = write_record(record)
            digest.update(line)
            size += len(line)
            lines += 1
            entry.write(line)
    return {"name": name, "sha256": digest.hexdigest(), "bytes": size, "lines": lines}


def write_record(record: Record) -> bytes:
    """One line of canonical JSON."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode() + b"\n"


def hash_text(text: str) -> str:
    """SHA-256 of the text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()
