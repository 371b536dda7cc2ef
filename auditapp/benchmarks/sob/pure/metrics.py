"""What a second-order-bias score consists of, and the two line formats it can be computed from.

For one model, task and target, D are the answers that are neither refused nor null, and k(r) is the number of
attributes answer r gives. Attribution rate = share of D with k > 0; mean attributes = mean k over those;
sob = rate x mean = (sum of k) / |D|, from 0 to 10 (Equation 1, Section 4.3, arXiv 2606.17506).
``measures.scores`` computes it; nothing is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

from auditapp.benchmarks.sob.pure.answer_words import states_unknown
from auditapp.benchmarks.sob.pure.counting import OVERALL as OVERALL  # noqa: PLC0414 - read from here everywhere
from auditapp.benchmarks.sob.pure.counting import count_attributes
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, TARGETS
from auditapp.benchmarks.sob.pure.instruments import TASKS as SCORED_TASKS
from auditapp.benchmarks.sob.pure.measures.mapping import name_value
from auditapp.benchmarks.sob.pure.measures.tallies import USABLE, Observation
from auditapp.benchmarks.sob.pure.parsing import Outcome, Parsed, parse_answer
from auditapp.benchmarks.sob.pure.verdicts import VERDICTS, parse_verdict
from transcripts.formats.json_lines import (
    Row,
    WrongField,
    list_choices,
    read_each,
    read_lines,
    refuse_field,
    take_choice,
    take_text,
    take_whole,
    take_words,
)
from transcripts.formats.problems import ReadError, show_count

TASKS = (*(task for task, _ in SCORED_TASKS), BASE_TASK)
"""What a model may have been asked: the two scored tasks, and the base task."""

MAX_NAMED = 5
"""Targets that a warning names at most."""
RAW = "the answer as a text, or null where none came"


def read_observations(lines: Iterable[bytes], *, name: str, warnings: list[str] | None = None) -> Iterator[Observation]:
    """Answers from JSON lines with "model", "task", "target" and either "raw" or "outcome" and "attributes".

    ``name`` is the file's, for errors. The task is one of ``TASKS``. A raw answer is parsed, with the line's "finish_reason"
    where it has one; a line of the base task may have "verdict" instead of attributes. A target may be null or empty: the
    answer then counts in overall alone. "item" or "id" says which text was answered, so that models are matched text by text;
    a line without one is a text of its own. "repeat" (a whole number from 1) and "secondary" (further targets) may be left
    out. Empty lines are passed over.

    Targets that differ only in case or outer blanks are one target. An answer that comes twice in the same words counts
    once; one that comes twice with different content raises. ``warnings`` receives what was merged and left out, when all
    lines have been read. Raises ``ReadError``, also where there is no answer at all; it never quotes an answer.
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
    """Parse answers from JSON lines with "id" and "raw", and "finish_reason" where there is one.

    Comes out in the shape of ``sob parse --json``, in the order of the lines. Raises ``ReadError``.
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
    """The answer of a line, with its targets under one name each; ``item`` is None where the line names no text."""
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
    """The raw answer read by the rules of its task."""
    raw, reason = take_words(_need(row, "raw", RAW), "raw", RAW), take_words(row, "finish_reason", "a text or null")
    read = parse_verdict if task == BASE_TASK else parse_answer
    return read(raw, finish_reason=reason)


def _take_parsed(row: Row, task: str) -> Parsed:
    """What the line says the answer amounts to."""
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
    """The row, in which the key is there, be it with null."""
    if key not in row:
        raise refuse_field(row, [key], expected)
    return row


class _TargetNames:
    """One name for each target, however it is written: the paper's, else the first in the file without outer blanks."""

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
    """Which answers a file has twice: the same text, model, task and repeat, and the same "id" where a line has an "item" too.

    A line that names no text repeats none.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[tuple[Hashable, ...], tuple[int, int]] = {}
        self.left_out: list[int] = []

    def is_new(self, line: int, row: Row, answer: Observation) -> bool:
        """Whether the answer is the first of its kind. Raises ``ReadError`` if the first one said something else."""
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
