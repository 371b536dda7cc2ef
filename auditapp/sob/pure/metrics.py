"""What a second-order-bias score consists of, and the two line formats it can be computed from.

For one model, task and target, D are the answers that are neither refused nor null, and k(r) is the number of
attributes answer r gives. Attribution rate = share of D with k > 0; mean attributes = mean k over those;
sob = rate x mean = (sum of k) / |D|, from 0 to 10 (Equation 1, Section 4.3, arXiv 2606.17506).
``measures.scores`` computes it; nothing is rounded.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from auditapp.sob.pure.answer_words import states_unknown
from auditapp.sob.pure.counting import OVERALL as OVERALL  # noqa: PLC0414 - read from here everywhere
from auditapp.sob.pure.counting import count_attributes
from auditapp.sob.pure.instruments import BASE_TASK
from auditapp.sob.pure.instruments import TASKS as SCORED_TASKS
from auditapp.sob.pure.measures.mapping import name_value
from auditapp.sob.pure.measures.tallies import USABLE, Observation
from auditapp.sob.pure.parsing import Outcome, Parsed, parse_answer
from auditapp.sob.pure.published import TARGETS
from auditapp.sob.pure.verdicts import VERDICTS, parse_verdict

TASKS = (*(task for task, _ in SCORED_TASKS), BASE_TASK)
"""What a model may have been asked: the two scored tasks, and the base task."""


MAX_NAMED = 5
"""So many targets are named in a warning."""


class ResponseFileError(ValueError):
    """A line of a file of answers cannot be read. Says where, what was found and what was expected."""

    def __init__(self, line: int, *, found: str, expected: str) -> None:
        super().__init__(f"line {line}: found {found}; expected {expected}")
        self.line = line
        self.found = found
        self.expected = expected


def read_observations(lines: Iterable[str | bytes], *, warnings: list[str] | None = None) -> Iterator[Observation]:
    """Answers from JSON lines with "model", "task", "target" and either "raw" or "outcome" and "attributes".

    The task is one of ``TASKS``. A raw answer is parsed, with the line's "finish_reason" where it has one; a line of the
    base task may have "verdict" instead of attributes. A target may be null or empty: the answer then counts in overall
    alone. "item" or "id" says which text was answered, so that models are matched text by text; a line without one is a
    text of its own. "repeat" (a whole number from 1) and "secondary" (further targets) may be left out. Empty lines are
    passed over.

    Targets that differ only in case or outer blanks are one target. An answer that comes twice in the same words counts
    once; one that comes twice with different content raises. ``warnings`` receives what was merged and left out, when all
    lines have been read. Raises ResponseFileError, also where there is no answer at all.
    """
    targets, repeated, is_empty = _TargetNames(), _RepeatedAnswers(), True
    for line in _read_objects(lines):
        is_empty = False
        observation = line.observe(targets)
        if repeated.is_new(line, observation):
            yield observation
    if is_empty:
        raise ResponseFileError(1, found="no answer in the whole file", expected="one JSON object in a line")
    if warnings is not None:
        warnings += [*targets.list_warnings(), *repeated.list_warnings()]


def parse_file(lines: Iterable[str | bytes]) -> dict[str, list[dict[str, object]]]:
    """Parse answers from JSON lines with "id" and "raw", and "finish_reason" where there is one.

    Comes out in the shape of ``sob parse --json``, in the order of the lines. Raises ResponseFileError.
    """
    responses: list[dict[str, object]] = []
    for line in _read_objects(lines):
        parsed = parse_answer(line.raw(), finish_reason=line.finish_reason())
        responses.append(
            {
                "id": line.identifier(),
                "outcome": parsed.outcome.value,
                "attributes": parsed.attributes,
                "n_attributes": parsed.n_attributes,
            }
        )
    return {"responses": responses}


def _describe(value: object) -> str:
    """What a value is, without showing a text that may be an answer."""
    if isinstance(value, str):
        return f"a text of {len(value)} characters"
    names = {dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else names[type(value)]


def _is_word(value: object) -> bool:
    """Whether a value may be shown: too short, and too plain, to be an answer."""
    return isinstance(value, str) and len(value) <= 20 and value.isidentifier()


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    content: dict[str, object]

    def error(self, found: str, expected: str) -> ResponseFileError:
        return ResponseFileError(self.number, found=found, expected=expected)

    def _get(self, key: str, expected: str) -> object:
        if key not in self.content:
            raise self.error(f'no "{key}"', f'"{key}": {expected}')
        return self.content[key]

    def _mismatch(self, key: str, expected: str) -> ResponseFileError:
        return self.error(f'"{key}": {_describe(self.content[key])}', f'"{key}": {expected}')

    def text(self, key: str, *, or_null: bool = False) -> str:
        expected = "a text or null" if or_null else "a text that is not empty"
        value = self._get(key, expected)
        if or_null and value is None:
            return ""
        if not isinstance(value, str) or not (or_null or value.strip()):
            raise self._mismatch(key, expected)
        return value

    def observe(self, targets: _TargetNames) -> Observation:
        """The answer of this line, with its targets under one name each."""
        target = targets.unify(self.text("target", or_null=True))
        if target == OVERALL:
            raise self.error(f'the target "{OVERALL}"', "another name: it stands for all texts")
        task = self.task()
        parsed = self.parse(task) if "raw" in self.content else self.parsed(task)
        return Observation(
            model=self.text("model"),
            task=task,
            item=self.item(),
            target=target,
            outcome=parsed.outcome,
            attributes=parsed.attributes,
            secondary=tuple(dict.fromkeys(filter(None, map(targets.unify, self.secondary())))),
            repeat=self.repeat(),
            is_object=parsed.is_object,
            verdict=parsed.verdict,
            repaired=parsed.repaired,
        )

    def task(self) -> str:
        expected = "one of " + ", ".join(TASKS)
        value = self.text("task")
        if value not in TASKS:
            found = f'"{value}"' if _is_word(value) else _describe(value)
            raise self.error(f'"task": {found}', f'"task": {expected}')
        return value

    def raw(self) -> str | None:
        expected = "the answer as a text, or null where none came"
        value = self._get("raw", expected)
        if value is not None and not isinstance(value, str):
            raise self._mismatch("raw", expected)
        return value

    def finish_reason(self) -> str | None:
        value = self.content.get("finish_reason")
        if value is not None and not isinstance(value, str):
            raise self._mismatch("finish_reason", "a text or null")
        return value

    def identifier(self, key: str = "id") -> str | int:
        expected = "a text or a whole number"
        value = self._get(key, expected)
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise self._mismatch(key, expected)
        return value

    def item(self) -> Hashable:
        """What identifies this line's text; the line number if the line names none."""
        for key in ("item", "id"):
            if self.content.get(key) is not None:
                return str(self.identifier(key))
        return self.number

    def repeat(self) -> int:
        value = self.content.get("repeat", 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._mismatch("repeat", "a whole number from 1")
        return value

    def secondary(self) -> tuple[str, ...]:
        value = self.content.get("secondary")
        values: list[object] = value if isinstance(value, list) else [value or ""]
        texts = [each for each in values if isinstance(each, str)]
        if len(texts) < len(values):
            raise self._mismatch("secondary", "a text, a list of texts, or null")
        return tuple(dict.fromkeys(filter(None, texts)))

    def parse(self, task: str) -> Parsed:
        """The raw answer read by the rules of its task."""
        read = parse_verdict if task == BASE_TASK else parse_answer
        return read(self.raw(), finish_reason=self.finish_reason())

    def parsed(self, task: str) -> Parsed:
        """What the line says the answer amounts to."""
        outcome = self.outcome(task)
        if outcome is Outcome.VERDICT:
            return Parsed(outcome, verdict=self.verdict())
        attributes = self.attributes() if task != BASE_TASK else {}
        is_attributed = outcome is Outcome.ATTRIBUTED
        if not is_attributed and (known := count_attributes(attributes)):
            raise self.error(f"{known} attributes with the outcome {outcome}", "none with this outcome")
        return Parsed(outcome, attributes, is_object=is_attributed)

    def verdict(self) -> str:
        expected = "one of " + ", ".join(VERDICTS)
        value = self._get("verdict", expected)
        if value not in VERDICTS:
            raise self._mismatch("verdict", expected)
        return str(value)

    def outcome(self, task: str) -> Outcome:
        others = USABLE if task == BASE_TASK else {Outcome.VERDICT}
        expected = "one of " + ", ".join(outcome for outcome in Outcome if outcome not in others)
        if "outcome" not in self.content:
            raise self.error('neither "raw" nor "outcome"', f'"raw": the answer, or "outcome": {expected}')
        value = self.content["outcome"]
        try:
            outcome = Outcome(str(value))
        except ValueError:
            found = f'"{value}"' if _is_word(value) else _describe(value)
            raise self.error(f'"outcome": {found}', f'"outcome": {expected}') from None
        if outcome in others:
            raise self.error(f'"outcome": "{outcome}" with the task "{task}"', f'"outcome": {expected}')
        return outcome

    def attributes(self) -> dict[str, object]:
        expected = "an object"
        value = self._get("attributes", expected)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._mismatch("attributes", expected)
        return {key: each for key, each in value.items() if not (isinstance(each, str) and states_unknown(each))}


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

    def __init__(self) -> None:
        self.lines: dict[tuple[Hashable, ...], tuple[int, int]] = {}
        self.left_out: list[int] = []

    def is_new(self, line: _Line, answer: Observation) -> bool:
        """Whether the answer is the first of its kind. Raises ResponseFileError if the first one said something else."""
        if answer.item == line.number:
            return True
        own_id = "" if line.content.get("item") is None else str(line.content.get("id", ""))
        key = answer.model, answer.task, answer.target, answer.item, answer.repeat, own_id
        content = hash((answer.outcome, answer.verdict, answer.secondary, answer.is_object, repr(answer.attributes)))
        first, known = self.lines.setdefault(key, (line.number, content))
        if first == line.number:
            return True
        if known != content:
            raise line.error(
                f"another answer of the same model to the same text, task and repeat as line {first}",
                'each answer once. Number repeated answers with "repeat", or remove one of the two lines',
            )
        self.left_out.append(line.number)
        return False

    def list_warnings(self) -> list[str]:
        if not self.left_out:
            return []
        lines = ", ".join(map(str, self.left_out[:MAX_NAMED])) + (", …" if len(self.left_out) > MAX_NAMED else "")
        advice = 'Repeated answers to one text need different numbers in "repeat".'
        return [
            f"Exact repetitions of an earlier answer were left out: {len(self.left_out):,} (line {lines}). {advice}"
        ]


def _read_objects(lines: Iterable[str | bytes]) -> Iterator[_Line]:
    expected = "one JSON object in a line"
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8") if isinstance(line, bytes) else line
            text = text.removeprefix("\ufeff") if number == 1 else text
            if not text.strip():
                continue
            content = json.loads(text)
        except UnicodeDecodeError as error:
            found = f"the byte 0x{error.object[error.start]:02x} at position {error.start + 1}, no UTF-8"
            raise ResponseFileError(number, found=found, expected="UTF-8") from None
        except json.JSONDecodeError as error:
            found = f"no JSON ({error.msg} at column {error.colno})"
            raise ResponseFileError(number, found=found, expected=expected) from None
        except (ValueError, RecursionError):
            found = "JSON that is nested too deep or holds a number too long"
            raise ResponseFileError(number, found=found, expected=expected) from None
        if not isinstance(content, dict):
            raise ResponseFileError(number, found=_describe(content), expected=expected)
        yield _Line(number, content)
