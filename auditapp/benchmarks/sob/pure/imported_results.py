"""Benchmark results from other sources, read from their files unchanged; nothing is stored here. Pure.

Inspect evaluation logs (.json, and .eval archives with deflated members) of the same task: a sample's text is its input, and its
instrument is the system message. If the system message is a published wording, it determines the task; otherwise the task is
taken from a name in the sample or the log, or from the person who imports.

The table of parsed results that the authors' released pipeline writes (uofthcdslab/second-order-bias, sob_results.csv) has one
row per answer: model_name, prompt_name, data_name, id, text, the targets, response, reasoning, gen_error. ``response`` is a second
model's interpretation of the answer, as a Python literal: a dictionary, Unknown, refusal, or an empty cell. The answer itself is
not in the table, and we never present ``response`` as the answer. Such values are read without running any code.
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, load_instruments
from auditapp.llm.providers.base import make_storable
from transcripts.formats.guarded_input import ZipInput, ZipLimits, open_zip
from transcripts.formats.problems import InputRefused, ReadError
from transcripts.formats.tabular import StrictTable

MAX_FILE_BYTES = 500_000_000


class ResultError(Exception):
    """A file cannot be read; the message is a sentence that says why and never quotes a text or an answer."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One answer. ``place`` says where it is in the file ("row 12").

    The text is identified by ``source`` and ``external_id`` or by ``text`` itself. ``answer`` is "" if the file has none;
    ``error`` describes the failure of the original call, if any. ``instrument`` names the wording if it is known;
    ``system_prompt`` is its text if the file has it. ``note`` and ``kept`` are further information, stored with the answer.
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
    """The rows of a file in its order. ``passed_over`` counts skipped rows, without an answer to a known task, by reason."""

    format: str
    rows: tuple[ResultRow, ...]
    passed_over: Mapping[str, int] = field(default_factory=dict)


class TextIndex:
    """An index for finding the texts of a dataset. Each text is given as key, source, id in the source, and words."""

    def __init__(self, texts: Iterable[tuple[int, str, str, str]]) -> None:
        self._by_id: dict[tuple[str, str], tuple[int, str]] = {}
        self._by_words: dict[str, list[int]] = defaultdict(list)
        for key, source, external_id, text in texts:
            self._by_id[source.lower(), external_id] = key, _fold(text)
            self._by_words[_fold(text)].append(key)

    def find(self, row: ResultRow) -> int | str:
        """The key of the row's text, or the reason why no text matches.

        If a row both identifies a text and quotes it, both must match: in another table the number may mean another text.
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
            return "its text is in the dataset more than once, and its source and number match none of them"
        return (
            "its text is not in the dataset"
            if named is None
            else "the dataset has another text under its source and number"
        )


def match_rows(
    rows: Iterable[ResultRow], index: TextIndex
) -> tuple[list[tuple[ResultRow, int]], list[tuple[str, str]]]:
    """Rows with the keys of their texts; and the places of the rows that match no text, each with the reason.

    If a model has several answers to the same task, text and repeat, the first is taken.
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
    """A text in a form for comparison. Line ends differ between programs that write tables; no other difference is ignored."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")


_INSPECT = "inspect"
_LIMITS = ZipLimits(
    archive_bytes=MAX_FILE_BYTES, entries=400_000, directory_bytes=100_000_000, unpacked_bytes=4_000_000_000, ratio=400
)
_MAX_SAMPLE = 50_000_000
_ATTACHMENT = "attachment://"
_IDS = ("tix", "external_id", "text_id")

Record = Mapping[str, Any]


def read_inspect_log(data: bytes, *, name: str, task: str = "") -> ResultFile:
    """Every sample of the log. Raises ``ResultError``."""
    if len(data) > MAX_FILE_BYTES:
        raise ResultError(f"{name} has {len(data):,} bytes; at most {MAX_FILE_BYTES:,} are read.")
    try:
        if data.startswith(b"PK\x03\x04"):
            with open_zip(io.BytesIO(data), limits=_LIMITS) as archive:
                head = _read_head(archive, name)
                return _read_samples(head, _list_samples(archive), name, task)
        log = _take(json.loads(data))
    except InputRefused as error:
        raise ResultError(
            f"{name}: {error} Convert a log compressed with zstandard with `inspect log convert`."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{name} is not an Inspect log, because it is not JSON in UTF-8.") from error
    if "eval" not in log:
        raise ResultError(f"{name} is not an Inspect log, because it has no part eval.")
    samples = log.get("samples")
    return _read_samples(log, samples if isinstance(samples, list) else [], name, task)


def _read_head(archive: ZipInput, name: str) -> Record:
    for member in ("header.json", "_journal/start.json"):
        if member in archive:
            return _take(json.loads(archive.read_entry(member)))
    raise ResultError(f"{name} is not an Inspect log, because it has neither header.json nor _journal/start.json.")


def _list_samples(archive: ZipInput) -> Iterator[object]:
    for member in sorted(archive.names):
        if member.startswith("samples/") and member.endswith(".json") and member.count("/") == 1:
            data = b""
            for chunk in archive.read_chunks(member):
                data += chunk
                if len(data) > _MAX_SAMPLE:
                    raise ResultError(f"A sample of the log has more than {_MAX_SAMPLE:,} bytes.")
            yield json.loads(data)


def _read_samples(log: Record, samples: Iterator[object] | Sequence[object], name: str, task: str) -> ResultFile:
    evaluation = _take(log.get("eval"))
    rows: list[ResultRow] = []
    passed_over: Counter[str] = Counter()
    for number, sample in enumerate(samples, start=1):
        row = _read_sample(_take(sample), evaluation, f"sample {number:,}", task)
        if row is None:
            passed_over["a sample that names no task; say it with --task"] += 1
        else:
            rows.append(row)
    if not rows:
        raise ResultError(
            f"{name} contains no sample of a known task. Name the task (--task, or Task on the page), or import a log that has "
            "samples."
        )
    return ResultFile(_INSPECT, tuple(rows), passed_over)


def _read_sample(sample: Record, evaluation: Record, place: str, task: str) -> ResultRow | None:
    attachments = _take(sample.get("attachments"))
    messages = _list_messages(sample)
    system = _join([_read_content(each, attachments) for each in messages if each.get("role") == "system"])
    metadata = _take(sample.get("metadata"))
    named, wording = _name_task(system, metadata, evaluation)
    if not (named or task):
        return None
    output = _take(sample.get("output"))
    choices = output.get("choices")
    choice = _take(choices[0]) if isinstance(choices, list) and choices else {}
    usage = _take(output.get("usage"))
    model, reasoning = _name_model(evaluation)
    return ResultRow(
        place=place,
        model=f"{model} ({reasoning})" if reasoning else model,
        task=named or task,
        answer=_read_content(_take(choice.get("message")), attachments),
        source=_word(metadata.get("source")),
        external_id=next((_word(metadata[key]) for key in _IDS if key in metadata), ""),
        text=_read_text(sample, messages, attachments),
        repeat=_count(sample.get("epoch")) or 1,
        reasoning=reasoning,
        model_id=model,
        finish_reason=_word(choice.get("stop_reason")),
        served_model=_word(output.get("model")),
        tokens_in=_sum(usage, ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")),
        tokens_out=_count(usage.get("output_tokens")),
        error=_describe_error(sample, choice),
        instrument=wording,
        system_prompt=system,
        kept={
            "sample": _word(sample.get("id")),
            "uuid": _word(sample.get("uuid")),
            "run": _word(evaluation.get("run_id")),
        },
    )


def _list_messages(sample: Record) -> list[Record]:
    """The conversation, or the input if there is no conversation."""
    for given in (sample.get("messages"), sample.get("input")):
        if isinstance(given, list) and given:
            return [_take(each) for each in given]
    return []


def _read_text(sample: Record, messages: Sequence[Record], attachments: Record) -> str:
    """The text that was judged. It is the input, because a solver may add words before the text is sent."""
    given = sample.get("input")
    if isinstance(given, str):
        return _resolve(given, attachments)
    asked = [_take(each) for each in given] if isinstance(given, list) else messages
    users = [_read_content(each, attachments) for each in asked if each.get("role") == "user"]
    return users[-1] if users else ""


def _read_content(message: Record, attachments: Record) -> str:
    """The words of a message, without its reasoning."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [_take(part) for part in content]
        content = "".join(_word(part.get("text")) for part in parts if part.get("type") == "text")
    return _resolve(content, attachments)


def _resolve(words: object, attachments: Record) -> str:
    """The words, taken from the attachments if the log keeps them there."""
    if isinstance(words, str) and words.startswith(_ATTACHMENT):
        return _word(attachments.get(words.removeprefix(_ATTACHMENT)))
    return _word(words)


def _name_task(system: str, metadata: Record, evaluation: Record) -> tuple[str, str]:
    """The task and the wording, each "" if it cannot be determined."""
    for instrument in load_instruments():
        if system.strip() == instrument.text.strip():
            return instrument.task, instrument.variant
    arguments = _take(evaluation.get("task_args"))
    for word in (metadata.get("task"), arguments.get("task"), evaluation.get("task")):
        name = _word(word).lower().replace("-", "_")
        if "non_accept" in name or "nonaccept" in name or "not_accept" in name:
            return "non_acceptability", ""
        if "accept" in name:
            return "acceptability", ""
        if name.rpartition("_")[2] == BASE_TASK:
            return BASE_TASK, ""
    return "", ""


def _name_model(evaluation: Record) -> tuple[str, str]:
    """The model, and its reasoning setting, which is "" if it was left to the provider."""
    configured = _take(evaluation.get("model_generate_config"))
    reasoning = _word(configured.get("reasoning_effort")) or _word(configured.get("reasoning_tokens"))
    return _word(evaluation.get("model")) or "unnamed model", reasoning


def _describe_error(sample: Record, choice: Record) -> str:
    error = sample.get("error")
    if error:
        return _word(_take(error).get("message"))[:300] or "the sample ended with an error"
    return "" if choice else "the sample has no output"


def _take(value: object) -> Record:
    return value if isinstance(value, dict) else {}


def _word(value: object) -> str:
    """The value as text that a database can store; "" if it is neither text nor a whole number."""
    if isinstance(value, str):
        return make_storable(value)
    return str(value) if isinstance(value, int) else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _sum(usage: Record, names: Sequence[str]) -> int | None:
    counts = [_count(usage.get(name)) for name in names]
    return None if counts[0] is None else sum(count or 0 for count in counts)


def _join(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)


_RELEASED = "sob_results"
NOTE = "The file contains what a second model read from the answer, not the answer itself."
_NEEDED = ("model_name", "prompt_name", "data_name", "id", "response")
_TASKS = {"acceptable_ours": "acceptability", "non_acceptable_ours": "non_acceptability"}
_KEPT = ("reasoning", "gen_error", "target_dem_val", "target_dem_val_sec", "target_type")
# The cells that the pipeline's table reader treats as missing.
_MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
# Replaces bare carriage returns while the file is split into lines: the pipeline writes those in texts without quotes.
_RETURN = "\ue00d"

_MODELS: Mapping[str, tuple[str, str, str]] = {
    "gpt51_instruct": ("gpt5.1-I", "openai/gpt-5.1", "none"),
    "gpt51_think": ("gpt5.1-T", "openai/gpt-5.1", "high"),
    "sonnet46_instruct": ("sonnet4.6-I", "anthropic/claude-sonnet-4.6", "off"),
    "sonnet46_think": ("sonnet4.6-T", "anthropic/claude-sonnet-4.6", "on"),
    "qwen35b_instruct": ("qwen35b-I", "qwen/qwen3.5-35b-a3b", "off"),
    "qwen35b_think": ("qwen35b-T", "qwen/qwen3.5-35b-a3b", "on"),
    "olmo32b_instruct": ("olmo32b-I", "allenai/olmo-3.1-32b-instruct", ""),
    "olmo32b_think": ("olmo32b-T", "allenai/olmo-3.1-32b-think", ""),
    "llama70b_instruct": ("llama70b", "meta-llama/llama-3.3-70b-instruct", ""),
    "gemma27b_instruct": ("gemma27b", "google/gemma-3-27b-it", ""),
    "phi4_14b_think": ("phi4-14b-T", "microsoft/phi-4-reasoning", ""),
    "llama8b_instruct": ("llama8b", "meta-llama/llama-3.1-8b-instruct", ""),
}
"""For the release's name of each of the twelve models: label in the published table, id at the provider, reasoning setting."""


def read_sob_results(data: bytes, *, name: str, task: str = "") -> ResultFile:
    """Every row of the table. ``task`` is the task of prompts with unknown names. Raises ``ResultError``."""
    rows: list[ResultRow] = []
    passed_over: Counter[str] = Counter()
    for number, values in enumerate(_read_table(data, name), start=1):
        found = _TASKS.get(values["prompt_name"].strip(), task)
        if not found:
            passed_over["a prompt for neither of the two scored tasks"] += 1
            continue
        rows.append(_read_row(number, values, found))
    if not rows:
        raise ResultError(f"{name} contains no answer to a known task; expected the prompts {', '.join(_TASKS)}.")
    return ResultFile(_RELEASED, tuple(rows), passed_over)


def _read_table(data: bytes, name: str) -> Iterator[Mapping[str, str]]:
    if len(data) > MAX_FILE_BYTES:
        raise ResultError(f"{name} has {len(data):,} bytes; at most {MAX_FILE_BYTES:,} are read.")
    lines = io.BytesIO(re.sub(rb"\r(?!\n)", _RETURN.encode(), data))
    try:
        table = StrictTable(lines, name=name, escaped=False, quotes_strictly=False)
        for column in _NEEDED:
            table.find(column, f"the columns {', '.join(_NEEDED)} (an Inspect log is .json or .eval)")
        for _, values in table.read_objects():
            yield {column: value.replace(_RETURN, "\r") for column, value in values.items()}
    except ReadError as error:
        raise ResultError(str(error)) from error


def _read_row(number: int, values: Mapping[str, str], task: str) -> ResultRow:
    written = values["model_name"].strip()
    label, model_id, reasoning = _MODELS.get(written, (written, written, ""))
    answer, finish_reason = read_response(values["response"])
    return ResultRow(
        place=f"row {number:,}",
        model=label,
        task=task,
        answer=answer,
        source=values["data_name"].strip(),
        external_id=_name_id(values["id"]),
        text=values.get("text", ""),
        reasoning=reasoning,
        model_id=model_id,
        finish_reason=finish_reason,
        instrument="release" if values["prompt_name"].strip() in _TASKS else "",
        note=NOTE,
        kept={column: values[column] for column in _KEPT if values.get(column)},
    )


def read_response(cell: str) -> tuple[str, str]:
    """A cell of ``response`` as an answer and the reason for which it ended. The word refusal gives the reason "refusal"; a
    dictionary becomes JSON; anything else is left as it is."""
    stripped = cell.strip()
    if stripped in _MISSING:
        return "", ""
    if stripped.strip("'\"").lower() == "refusal":
        return stripped, "refusal"
    if stripped[0] in "{[(":
        try:
            return make_storable(json.dumps(read_literal(stripped), ensure_ascii=False)), ""
        except NoLiteral:
            return stripped, ""
    return stripped, ""


def _name_id(value: str) -> str:
    """The id; if a program wrote a whole number with decimals (12.0), it becomes a whole number again."""
    return re.sub(r"\A(\d+)\.0+\Z", r"\1", value.strip())


MAX_LENGTH = 200_000
MAX_DEPTH = 50
# Python writes numbers of this size in decimal without reaching its limit on digits; a hexadecimal literal could be larger.
MAX_BITS = 4_096

_NAMES = {"nan": None, "NaN": None, "null": None, "true": True, "false": False, "inf": "inf"}


class NoLiteral(ValueError):
    """The text is not a plain value, or exceeds a limit for reading."""


def read_literal(text: str) -> object:
    """The value in a form that JSON allows: tuples and sets become lists, keys become text, not-a-number becomes null.

    Raises ``NoLiteral``.
    """
    if len(text) > MAX_LENGTH or sum(map(text.count, "([{")) > MAX_LENGTH // 40:
        raise NoLiteral("the value is too large")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _convert(tree.body, 0)
    except NoLiteral:
        raise
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        raise NoLiteral("the value is not a Python literal") from error


def _convert(node: ast.expr, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise NoLiteral("the value is nested too deep")
    if isinstance(node, ast.Constant):
        return _convert_constant(node.value)
    if isinstance(node, ast.Dict):
        if None in node.keys:
            raise NoLiteral("the value is not a plain value")
        keys = [_name_key(_convert(key, depth + 1)) for key in node.keys if key is not None]
        return dict(zip(keys, [_convert(value, depth + 1) for value in node.values], strict=True))
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [_convert(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _convert(node.operand, depth + 1)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
    raise NoLiteral("the value is not a plain value")


def _convert_constant(value: object) -> object:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise NoLiteral("the value is too large")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value if math.isfinite(value) else str(value)
    raise NoLiteral("the value is not a plain value")


def _name_key(key: object) -> str:
    return key if isinstance(key, str) else str(key)


ZIP = b"PK\x03\x04"


def read_results(data: bytes, *, name: str, task: str = "") -> ResultFile:
    """Read a file of results of either kind; ``task`` is used if the file does not name one.

    Raises ``ResultError``.
    """
    if data.startswith(ZIP) or data.lstrip()[:1] == b"{":
        return read_inspect_log(data, name=name, task=task)
    return read_sob_results(data, name=name, task=task)
