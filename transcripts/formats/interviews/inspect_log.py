"""Logs of Inspect, as ``.json`` and as ``.eval``: every sample of every epoch is a thread.

A sample without tool calls is an interview, one with them a trajectory. Texts that the log keeps once and refers to
(``attachment://…``) are put back. An assistant's message that did not come from the model (``source`` "input" or "operator")
was written for it: it is a system turn. Reasoning in cipher is a turn without text, or with the summary that the log has. The
messages of a sample are read, not its events; a sample that holds no messages is read from the last call among its events.
Task, sample, epoch, status and scores are the run's; metadata and target of the sample are metadata.

An ``.eval`` archive is read member by member, its samples in the order of the data set. One whose run was not finished or crashed
has no head: the head is then that of its start, and a warning says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from transcripts.formats.guarded_input import ZipInput
from transcripts.formats.interviews.base import (
    ReadFile,
    ReadInterview,
    Source,
    find_list,
    find_object,
    list_left_out,
    read_day,
    write_plain,
)
from transcripts.formats.interviews.chat_content import MessageReader
from transcripts.formats.interviews.conversations import read_messages
from transcripts.formats.interviews.threads import find_kind, find_models
from transcripts.formats.json_lines import (
    BrokenPart,
    JsonObject,
    name_json_type,
    read_json_objects,
    read_part,
)
from transcripts.formats.problems import InputRefused, ReadError

FORMAT = "inspect"

_HEADER, _START = "header.json", "_journal/start.json"
_SAMPLE = re.compile(r"samples/(?P<name>[^/]+)\.json\Z")
_CHUNK = re.compile(r"samples/(?P<sample>[^/]+)/(?P<kind>[a-z_]+)(?:/(?P<start>\d+))?\.json\Z")
_ATTACHMENT = re.compile(r"attachment://([0-9A-Za-z_-]{1,100})")
_DEPTH = 4


def read_inspect_json(source: Source) -> ReadFile:
    """Read a log as JSON; raises `ReadError`."""
    left_out: Counter[str] = Counter()
    read: list[ReadInterview] = []
    for number, log in read_json_objects(source):
        samples = log.get("samples")
        if not isinstance(samples, list):
            found = "a log without samples" if samples is None else f'{name_json_type(samples)} as "samples"'
            raise ReadError(source.name, number, found, "a log with its samples (not its header alone)")
        reader = MessageReader(source.name, number, left_out)
        read += [_read_sample(sample, log, reader) for sample in samples]
        _count_missing(log, len(samples), left_out)
    return ReadFile(FORMAT, read, list_left_out(left_out), left_out)


def is_inspect_archive(archive: ZipInput) -> bool:
    """Whether an archive is a log."""
    return _HEADER in archive or _START in archive


def read_inspect_archive(archive: ZipInput, *, name: str) -> ReadFile:
    """Read an ``.eval`` archive; raises `ReadError`, and ``InputRefused`` for members that cannot be unpacked."""
    left_out: Counter[str] = Counter()
    reader = MessageReader(name, 1, left_out)
    warnings = []
    if _HEADER in archive:
        log = _read_member(archive, _HEADER, name)
    else:
        log = {"eval": _read_member(archive, _START, name).get("eval"), "status": "started"}
        warnings.append(
            "The log has no head: the run was not finished, or crashed. The samples that are whole were read."
        )
    # They were written in the order in which they ended.
    samples = sorted(_read_samples(archive, name, left_out), key=_make_sorter(log))
    read = [_read_sample(sample, log, reader) for sample in samples]
    _count_missing(log, len(read), left_out)
    return ReadFile(FORMAT, read, [*warnings, *list_left_out(left_out)], left_out)


def _make_sorter(log: JsonObject) -> Callable[[JsonObject], tuple[Any, ...]]:
    """A sort key for samples: epoch, and the place in the data set or else the id, numbers as numbers."""
    ids = find_list(find_object(log, "eval").get("dataset"), "sample_ids")
    places = {str(each): place for place, each in enumerate(ids)}

    def sort(sample: JsonObject) -> tuple[Any, ...]:
        identity, epoch = str(sample.get("id")), sample.get("epoch")
        number = int(identity) if identity.isdecimal() and len(identity) < 20 else 0
        return epoch if isinstance(epoch, int) else 1, places.get(identity, len(places)), number, identity

    return sort


def _count_missing(log: JsonObject, read: int, left_out: Counter[str]) -> None:
    """Count the samples that the log of an unfinished run does not contain."""
    head = find_object(log, "eval")
    dataset = find_object(head, "dataset")
    ids, epochs = dataset.get("sample_ids"), find_object(head, "config").get("epochs")
    number = len(ids) if isinstance(ids, list) else dataset.get("samples")
    if log.get("status") == "success" or not isinstance(number, int):
        return
    missing = number * (epochs if isinstance(epochs, int) else 1) - read
    if missing > 0:
        left_out["A sample is not in the log, because the run was not finished."] += missing


def _read_samples(archive: ZipInput, name: str, left_out: Counter[str]) -> Iterator[JsonObject]:
    chunked: dict[str, list[tuple[str, int, str]]] = {}
    for entry in archive.names:
        if found := _SAMPLE.match(entry):
            try:
                yield _read_member(archive, entry, name)
            except (BrokenPart, InputRefused):
                left_out["A sample that breaks off in the archive was left out."] += 1
        elif found := _CHUNK.match(entry):
            chunked.setdefault(found["sample"], []).append((found["kind"], int(found["start"] or 0), entry))
    for parts in chunked.values():
        try:
            yield _join_chunks(archive, sorted(parts), name)
        except (BrokenPart, InputRefused):
            left_out["A sample that breaks off in the archive was left out."] += 1


def _join_chunks(archive: ZipInput, parts: list[tuple[str, int, str]], name: str) -> JsonObject:
    """Join a sample that the archive has in pieces: its head, its messages, and the texts that they refer to."""
    sample: JsonObject = {}
    messages: list[Any] = []
    attached: dict[str, Any] = {}
    for kind, start, entry in parts:
        if kind in {"sample", "metadata", "skeleton"}:
            sample = {**_read_member(archive, entry, name), **sample}
        elif kind in {"messages", "attachments"}:
            content = _read_value(archive, entry, name)
            if kind == "attachments" and isinstance(content, dict):
                attached.update(content)
            elif not isinstance(content, list):
                raise ReadError(name, None, f"{name_json_type(content)} in {entry}", "a list")
            elif kind == "messages":
                messages += content
            else:
                attached.update({str(start + place): each for place, each in enumerate(content)})
    return {**sample, "messages": messages or sample.get("messages") or [], "attachments": attached}


def _read_member(archive: ZipInput, entry: str, name: str) -> JsonObject:
    content = _read_value(archive, entry, name)
    if not isinstance(content, dict):
        raise ReadError(name, None, f"{name_json_type(content)} in {entry}", "an object")
    return content


def _read_value(archive: ZipInput, entry: str, name: str) -> Any:
    try:
        text = archive.read_entry(entry).decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02X} at offset {error.start:,} of {entry}, which is not UTF-8"
        raise ReadError(name, None, found, "an undamaged log") from None
    return read_part(text, place=entry, name=name)


def _read_sample(sample: Any, log: JsonObject, reader: MessageReader) -> ReadInterview:
    if not isinstance(sample, dict) or sample.get("id") is None:
        raise ReadError(reader.file, reader.line, "a sample without an id", 'objects with "id" and "messages"')
    head = find_object(log, "eval")
    identity, epoch = str(sample["id"]), str(sample.get("epoch") or 1)
    if sample.get("error"):
        reader.left_out["A sample ended in an error; the messages up to then were read."] += 1
    messages = _find_messages(sample, reader)
    turns = read_messages(messages, reader)
    task = str(head.get("task") or "")
    run_id = str(head.get("run_id") or head.get("eval_id") or head.get("task_id") or task or reader.file)
    scores = {key: _read_score(value) for key, value in _read_scores(sample).items()}
    return ReadInterview(
        external_id=f"{run_id[:60]}-{identity[:120]}-{epoch}",
        title=f"{task or reader.file}, sample {identity}, epoch {epoch}"[:300],
        turns=turns,
        model_label=str(head.get("model") or find_models(turns))[:200],
        period=read_day(head.get("created")),
        surface="Inspect",
        metadata=_read_metadata(sample),
        line=reader.line,
        kind=find_kind(turns),
        run={
            "task": task,
            "sample": identity,
            "epoch": epoch,
            "status": "error" if sample.get("error") else _read_limit(sample) or str(log.get("status") or ""),
            **({"agent": head["solver"]} if isinstance(head.get("solver"), str) else {}),
            **({"scores": scores} if scores else {}),
        },
    )


def _find_messages(sample: JsonObject, reader: MessageReader) -> list[Any]:
    given = sample.get("messages")
    if not given and (events := sample.get("events")) and isinstance(events, list):
        given = _find_last_call(events, sample)
    if not isinstance(given, list):
        raise ReadError(reader.file, reader.line, f"sample {sample['id']} without messages", 'a list "messages"')
    return [_prepare(message, find_object(sample, "attachments"), reader) for message in given]


def _find_last_call(events: list[Any], sample: JsonObject) -> list[Any] | None:
    """The input and the answer of the last model call of a crashed sample; the log may store the messages only once."""
    calls = [event for event in events if isinstance(event, dict) and event.get("event") == "model"]
    if not calls:
        return None
    event = calls[-1]
    sent, pool = find_list(event, "input"), find_list(sample.get("events_data"), "messages")
    if not sent:
        spans = [span for span in find_list(event, "input_refs") if isinstance(span, list) and len(span) == 2]
        sent = [
            message
            for first, behind in spans
            if isinstance(first, int) and isinstance(behind, int)
            for message in pool[first:behind]
        ]
    choices = find_list(event.get("output"), "choices")
    answered = [choice["message"] for choice in choices if isinstance(choice, dict) and "message" in choice]
    return [*sent, *answered[:1]]


def _prepare(message: Any, texts: Mapping[str, Any], reader: MessageReader) -> Any:
    """A message as a chat message, with its texts restored."""
    if not isinstance(message, dict):
        return message
    whole = _resolve(message, texts, _DEPTH, reader)
    source = whole.pop("source", None)
    whole.pop("id", None)
    if whole.get("role") == "tool" and isinstance(whole.get("function"), str):
        whole["name"] = whole.pop("function")
    if whole.get("role") == "assistant" and source in ("input", "operator"):
        return {"role": "system", "content": whole.get("content"), "prefilled": True}
    return {key: value for key, value in whole.items() if key != "metadata"}


def _resolve(value: Any, texts: Mapping[str, Any], depth: int, reader: MessageReader) -> Any:
    if isinstance(value, str) and (found := _ATTACHMENT.fullmatch(value)):
        whole = texts.get(found[1])
        if not isinstance(whole, str):
            reader.left_out["A text that the log stores separately is missing; its reference was kept instead."] += 1
            return value
        return whole
    if depth and isinstance(value, dict):
        return {key: _resolve(each, texts, depth - 1, reader) for key, each in value.items()}
    if depth and isinstance(value, list):
        return [_resolve(each, texts, depth - 1, reader) for each in value]
    return value


def _read_scores(sample: JsonObject) -> JsonObject:
    scores = sample.get("scores")
    if isinstance(scores, dict):
        return scores
    # The layout of 2024: one score without a name.
    return {"score": sample["score"]} if isinstance(sample.get("score"), dict) else {}


def _read_score(score: Any) -> Any:
    return score.get("value") if isinstance(score, dict) else score


def _read_limit(sample: JsonObject) -> str:
    limit = sample.get("limit")
    return f"limit: {limit['type']}" if isinstance(limit, dict) and isinstance(limit.get("type"), str) else ""


def _read_metadata(sample: JsonObject) -> dict[str, str]:
    error = sample.get("error")
    told = {
        **find_object(sample, "metadata"),
        "target": sample.get("target") or None,
        "error": error.get("message") if isinstance(error, dict) else error,
    }
    return {key: write_plain(value) for key, value in told.items() if value is not None}
