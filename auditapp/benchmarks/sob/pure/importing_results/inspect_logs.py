"""Inspect evaluation logs (.json, and .eval archives whose members are deflated) of the same task.

A sample's text is its input, its instrument the system message. Which task that is, its exact words
say where they are a published wording; else the sample's or the task's own name for it, or the person who imports.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auditapp.benchmarks.sob.pure.importing_results.rows import MAX_FILE_BYTES, ResultError, ResultFile, ResultRow
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, load_instruments
from auditapp.llm.providers.base import make_storable
from transcripts.formats.guarded_input import ZipInput, ZipLimits, open_zip
from transcripts.formats.problems import InputRefused

FORMAT = "inspect"
_LIMITS = ZipLimits(
    archive_bytes=MAX_FILE_BYTES,
    entries=400_000,
    directory_bytes=100_000_000,
    unpacked_bytes=4_000_000_000,
    ratio=400,
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
    return ResultFile(FORMAT, tuple(rows), passed_over)


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
    """The conversation; the input alone where there is none."""
    for given in (sample.get("messages"), sample.get("input")):
        if isinstance(given, list) and given:
            return [_take(each) for each in given]
    return []


def _read_text(sample: Record, messages: Sequence[Record], attachments: Record) -> str:
    """The text that was judged: the input, which a solver may wrap in more words before it is sent."""
    given = sample.get("input")
    if isinstance(given, str):
        return _resolve(given, attachments)
    asked = [_take(each) for each in given] if isinstance(given, list) else messages
    users = [_read_content(each, attachments) for each in asked if each.get("role") == "user"]
    return users[-1] if users else ""


def _read_content(message: Record, attachments: Record) -> str:
    """The words of a message; its reasoning is no part of them."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [_take(part) for part in content]
        content = "".join(_word(part.get("text")) for part in parts if part.get("type") == "text")
    return _resolve(content, attachments)


def _resolve(words: object, attachments: Record) -> str:
    """The words themselves, also where a log keeps them apart."""
    if isinstance(words, str) and words.startswith(_ATTACHMENT):
        return _word(attachments.get(words.removeprefix(_ATTACHMENT)))
    return _word(words)


def _name_task(system: str, metadata: Record, evaluation: Record) -> tuple[str, str]:
    """The task and the wording, each "" where nothing says it."""
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
    """The model and how much it was to reason, "" where that was left to the provider."""
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
    """The value as text that a database takes; "" for what is neither text nor a whole number."""
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
