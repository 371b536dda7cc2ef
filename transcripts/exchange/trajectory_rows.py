"""The export of threads with coders' work on them: everything from which figures of trajectories are computed.

JSON lines, each with ``record``: every thread with its turns, then codings, links and what was decided, then case sheets,
pairs, normative stances and scores. A record about a turn names its thread by id and the turn by position. ``trajectory
report`` reads the file.

The export of threads as one log of Inspect, in its layout of JSON as it is today: a sample for each thread.

A study is one log, although Inspect writes one for each task and model. Each answer has its model; the log names one only if
all threads have the same. Data that Inspect cannot represent are in the metadata of samples and messages, under ``auditapp`` in
the latter; docs/reference/formats.md says what is lost.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from django.db.models import Count, Max, Q, QuerySet

from transcripts.codebook.models import CodeFamily
from transcripts.codebook.pure.comparing import follow_merges
from transcripts.coding.models import Blinding, Coding, Decision, Link
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.exchange import coding_rows, negotiation_rows
from transcripts.exchange.rows import CHUNK, Scope
from transcripts.formats.interviews.chat_content import pair_results, read_json_text
from transcripts.formats.interviews.threads import find_stage
from transcripts.formats.tabular import encode_json
from transcripts.negotiation.models import CaseSheet, NormativeStance, Score
from transcripts.negotiation.queries.records import TEXTS_OF_STANCES
from transcripts.negotiation.queries.scores import CodeBook, MergedCodes, has_place, read_code_book

Line = dict[str, Any]
# Values that the line of the thread, or the name of the record, already contains.
_SAID_ELSEWHERE = frozenset({"study", "interview", "model", "role"})
_HEADINGS_OF_LINKS = [each.name for each in negotiation_rows.LINKS]
_OF_LINKS = ("quote_start", "quote_end", "coder", "blinding", "created", "withdrawn", "link_id")
_HEADINGS_OF_DECISIONS = [each.name for each in coding_rows.DECISIONS]


def write_trajectories(scope: Scope, path: Path) -> int:
    """Write the records of a study; returns their number. It includes the same coders as the export of codings."""
    written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in _list_records(scope):
            file.write(encode_json(line) + "\n")
            written += 1
            if written % CHUNK == 0:
                scope.watch(written, 0)
    return written


class Hanging(NamedTuple):
    """The turn from which a thread continues; empty if the file leaves out that thread."""

    relation: str
    thread: str = ""
    turn: int = 0


def list_threads(scope: Scope) -> Iterator[tuple[Interview, Hanging, list[Turn]]]:
    """Every thread of the export with its turns, in the order of import."""
    within = Interview.objects.filter(scope.within())
    keys = set(within.values_list("pk", flat=True))
    for interview in within.select_related("hangs_on__interview").order_by("pk").iterator(chunk_size=CHUNK):
        turn = interview.hangs_on
        is_there = turn is not None and turn.interview_id in keys
        hanging = Hanging(interview.relation, turn.interview.external_id, turn.position) if turn and is_there else None
        yield interview, hanging or Hanging(""), list(interview.turns.order_by("position"))


@dataclass
class Counted:
    """The rows that count as blind readings in figures: ids of codings, links, decisions and scores.

    ``coded``: how many sentences of a turn somebody coded with a family and did not finish, by (thread, turn, coder, family).
    """

    codings: set[int] = field(default_factory=set)
    links: set[int] = field(default_factory=set)
    decisions: set[int] = field(default_factory=set)
    scores: set[int] = field(default_factory=set)
    coded: Counter[tuple[str, int, str, str]] = field(default_factory=Counter)


def _find_counted(scope: Scope, book: CodeBook) -> Counted:
    """By the rules of ``negotiation.queries.records``, for the rows of the export."""
    of_sentences = Q(scope.within("sentence__turn__interview"), sentence__retired_by__isnull=True)
    decisions = scope.keep(Decision.objects.blind().filter(of_sentences), "coder").order_by()
    finished = {(sentence, coder): pk for pk, sentence, coder in decisions.values_list("pk", "sentence", "coder")}
    found = Counted(decisions=set(finished.values()))
    codings = scope.keep(Coding.objects.blind().filter(of_sentences), "coder").order_by("pk")
    place = ("sentence__turn__interview__external_id", "sentence__turn__position", "coder__username")
    merged, open_ones = MergedCodes(), set()
    for pk, sentence, coder, code, *at in codings.values_list("pk", "sentence", "coder", "code", *place):
        row = book.rows[code]
        if not merged.counts(sentence, coder, row):
            continue
        found.codings.add(pk)
        if row.unit == CodeFamily.Unit.SENTENCE and (sentence, coder) not in finished:
            open_ones.add((sentence, *at, row.family))
    found.coded.update((thread, turn, coder, family) for _, thread, turn, coder, family in open_ones)
    links = scope.keep(Link.objects.blind().filter(scope.within("coding__sentence__turn__interview")), "coder")
    found.links = {pk for pk, coding in links.order_by().values_list("pk", "coding") if coding in found.codings}
    scores = scope.keep(Score.objects.blind().filter(scope.within("interview"), has_place()), "coder")
    found.scores = set(scores.order_by().values_list("pk", flat=True))
    return found


def _list_records(scope: Scope) -> Iterator[Line]:
    sheets, book = _read_sheets(scope), read_code_book(scope.study)
    counted = _find_counted(scope, book)
    for interview, hanging, turns in list_threads(scope):
        scope.watch(0, 0)
        sheet = next((each for each in reversed(sheets) if each.interview_id == interview.pk), None)
        yield _describe_thread(interview, hanging, sheet, book)
        sentences = Sentence.objects.current().filter(turn__interview=interview).order_by()
        numbers = dict(sentences.values_list("turn").annotate(number=Count("pk")))
        for turn, call in zip(turns, pair_results(turns), strict=True):
            yield {**_describe_turn(interview, turn, call), "sentences": numbers.get(turn.pk, 0)}
    for row in coding_rows.read_codings(scope):
        coding = _describe_row("coding", coding_rows.HEADINGS, row)
        coding["attributes"] = json.loads(coding["attributes"] or "{}")
        now = follow_merges(coding["code_id"], book.merged)
        coding |= {"code_now": now, "family_now": book.family_of.get(now, coding["family"])}
        yield {**coding, "is_blind": coding["coding_id"] in counted.codings}
    yield from _list_links(scope, counted, book)
    for cells in coding_rows.read_decisions(scope):
        decision = _describe_row("decided", _HEADINGS_OF_DECISIONS, cells)
        yield {**decision, "is_blind": decision["decision_id"] in counted.decisions}
    yield from _list_coded(counted)
    yield from (_describe_sheet(each, book) for each in sheets)
    yield from _list_pairs(scope)
    yield from _list_scores(scope, counted)


def _read_sheets(scope: Scope) -> list[Any]:
    rows = negotiation_rows.find_case_sheets(scope).select_related("interview", "written_by")
    return list(rows.order_by("interview_id", "number"))


def _describe_thread(interview: Interview, hanging: Hanging, sheet: CaseSheet | None, book: CodeBook) -> Line:
    """``relevant`` and ``irrelevant`` are the features of the latest case sheet. The condition of a masked thread is sealed."""
    condition = "" if interview.is_masked else interview.metadata.get("condition", "")
    return {
        "record": "thread",
        "id": interview.external_id,
        "kind": interview.kind,
        "title": interview.title,
        "relation": hanging.relation,
        "hangs_on": {"thread": hanging.thread, "turn": hanging.turn} if hanging.relation else None,
        "model": interview.model_label,
        "run": interview.run,
        "condition": condition if isinstance(condition, str) else "",
        "relevant": [each["feature_now"] for each in _follow(sheet.relevant, book)] if sheet else [],
        "irrelevant": [each["feature_now"] for each in _follow(sheet.irrelevant, book)] if sheet else [],
    }


def _follow(listed: Sequence[Mapping[str, str]], book: CodeBook) -> list[dict[str, str]]:
    """Features of a case sheet, each with the present code if it has been merged since."""
    return [{**each, "feature_now": follow_merges(each["feature"], book.merged)} for each in listed]


def _list_links(scope: Scope, counted: Counted, book: CodeBook) -> Iterator[Line]:
    for row in negotiation_rows.read_links(scope):
        link: Line = dict(zip(_HEADINGS_OF_LINKS, row, strict=True))
        # The feature or the place to which it leads; the coding has the rest.
        yield {
            "record": "link",
            "thread": link["interview"],
            "coding_id": link["coding_id"],
            "kind": link["kind"],
            "code_id": link["feature"],
            "code_now": follow_merges(link["feature"], book.merged) if link["feature"] else None,
            "to_thread": link["to_interview"],
            "turn": link["to_turn"],
            "sentence_id": link["to_sentence_id"],
            **{name: link[name] for name in _OF_LINKS},
            "is_blind": link["link_id"] in counted.links,
        }


def _list_coded(counted: Counted) -> Iterator[Line]:
    """Sentences that somebody coded blind with a family and did not finish: they are decided only for that family."""
    for (thread, turn, coder, family), number in sorted(counted.coded.items()):
        yield {
            "record": "decided",
            "thread": thread,
            "turn": turn,
            "coder": coder,
            "blinding": Blinding.BLIND.value,
            "families": [family],
            "sentences": number,
            "is_blind": True,
        }


def _describe_sheet(sheet: Any, book: CodeBook) -> Line:
    return {
        "record": "case_sheet",
        "thread": sheet.interview.external_id,
        "number": sheet.number,
        "relevant": _follow(sheet.relevant, book),
        "irrelevant": _follow(sheet.irrelevant, book),
        "intents": sheet.told_intents,
        "reason": sheet.reason,
        "written": sheet.written_at,
        "written_by": sheet.writer,
    }


def _list_pairs(scope: Scope) -> Iterator[Line]:
    for pair in negotiation_rows.find_pairs(scope).filter(withdrawn_at__isnull=True).select_related("a", "b"):
        yield {
            "record": "pair",
            "name": pair.name,
            "number": pair.number,
            "a": pair.a.external_id,
            "b": pair.b.external_id,
            "differs": pair.differs,
            "expect": pair.expect,
        }


def _list_scores(scope: Scope, counted: Counted) -> Iterator[Line]:
    """The scores, after the normative stances that they name."""
    scored = set(negotiation_rows.find_scores(scope).values_list("stance", flat=True))
    for stance in NormativeStance.objects.filter(pk__in=scored).order_by("name", "number"):
        texts = {name: getattr(stance, name) for name in TEXTS_OF_STANCES}
        yield {"record": "stance", "stance": stance.label, **texts}
    headings = [each.name for each in negotiation_rows.SCORES]
    for row in negotiation_rows.read_scores(scope):
        score = dict(zip(headings, row, strict=True))
        label = f"{score.pop('stance')}/{score.pop('stance_number')}"
        kept = {name: value for name, value in score.items() if name not in {"study", "interview", "stance_author"}}
        is_blind = score["score_id"] in counted.scores
        yield {"record": "score", "thread": score["interview"], "stance": label, **kept, "is_blind": is_blind}


def _describe_turn(interview: Interview, turn: Turn, call: int | None) -> Line:
    return {
        "record": "turn",
        "thread": interview.external_id,
        "position": turn.position,
        "role": turn.role,
        "channel": turn.channel,
        "stage": find_stage(turn.role, turn.channel),
        "speaker": turn.speaker,
        "prompt_kind": turn.prompt_kind,
        "is_answer": turn.is_answer,
        "call": call,
        "call_id": turn.call_id,
        "details": turn.details,
        "text": turn.text,
    }


def _describe_row(record: str, headings: list[str], row: Sequence[object]) -> Line:
    cells = dict(zip(headings, row, strict=True))
    kept = {name: value for name, value in cells.items() if name not in _SAID_ELSEWHERE}
    return {"record": record, "thread": cells["interview"], **kept}


Message = dict[str, Any]
LAYOUT = 2
# The kinds of tool errors that Inspect knows; its reader would refuse a log with another word.
ERROR_TYPES = frozenset(
    {
        *("parsing", "timeout", "unicode_decode", "permission", "file_not_found", "is_a_directory", "limit"),
        *("approval", "cancelled", "sandbox_unavailable", "unknown", "output_limit"),
    }
)
_ROLES = {
    Turn.Role.INTERVIEWER: "user",
    Turn.Role.SYSTEM: "system",
    Turn.Role.TOOL: "tool",
    Turn.Role.MODEL: "assistant",
}
# The parts of one message of a model, in this order. It has only one piece of text, because a reader would join two.
_ORDER = {Turn.Channel.REASONING: 0, Turn.Channel.UTTERANCE: 1, Turn.Channel.TOOL_CALL: 2}
_TEXTS = ("title", "kind", "vendor", "surface", "period", "interviewer", "tier", "inclusion", "inclusion_reason")
_MORE_TEXTS = ("opening_prompt", "language")


def write_inspect_log(scope: Scope, path: Path) -> int:
    """Write the threads of a study as a log; returns how many."""
    threads = Interview.objects.filter(scope.within())
    at = _find_time(scope, threads)
    head = encode_json(_describe_log(scope, threads, at))
    written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(head[:-1] + ',"samples":[')
        for interview, hanging, turns in list_threads(scope):
            file.write((",\n" if written else "\n") + encode_json(_describe_sample(interview, hanging, turns, at)))
            written += 1
            scope.watch(written, 0)
        file.write("\n]}\n")
    return written


def begin_name(scope: Scope) -> str:
    """The beginning of the file's name: Inspect finds JSON logs by a name that begins with a time."""
    at = _find_time(scope, Interview.objects.filter(scope.within())).astimezone(datetime.UTC)
    return f"{at.isoformat(timespec='seconds').replace(':', '-')}_"


def _find_time(scope: Scope, threads: QuerySet[Interview]) -> datetime.datetime:
    """The time when the newest thread was imported or, in a study without threads, when the study began."""
    newest: datetime.datetime | None = threads.aggregate(at=Max("imported_file__imported_at"))["at"]
    return newest or scope.study.created_at


def _describe_log(scope: Scope, threads: QuerySet[Interview], imported: datetime.datetime) -> dict[str, Any]:
    total = threads.count()
    models = list(threads.order_by().values_list("model_label", flat=True).distinct()[:2])
    return {
        "version": LAYOUT,
        "status": "success",
        "eval": {
            "run_id": scope.study.slug,
            "created": imported.isoformat(),
            "task": scope.study.name,
            "task_id": scope.study.slug,
            "dataset": {"name": scope.study.slug, "samples": total},
            "model": models[0] if len(models) == 1 else "",
            "config": {},
        },
        # Programs that read only the head need these two.
        "plan": {"name": "none", "steps": []},
        "stats": {"started_at": imported.isoformat(), "completed_at": imported.isoformat()},
        "results": {"total_samples": total, "completed_samples": total, "scores": []},
    }


def _describe_sample(
    interview: Interview, hanging: Hanging, turns: Sequence[Turn], at: datetime.datetime
) -> dict[str, Any]:
    messages = list(_list_messages(turns, interview))
    asked = next((place for place, each in enumerate(messages) if each["role"] == "assistant"), len(messages))
    told = {name: value for name in (*_TEXTS, *_MORE_TEXTS) if (value := getattr(interview, name))}
    if interview.model_label:
        told["model"] = interview.model_label
    if hanging.relation:
        told |= {"relation": hanging.relation, "hangs_on": {"sample": hanging.thread, "turn": hanging.turn}}
    if interview.run:
        told["run"] = interview.run
    scores = interview.run.get("scores")
    return {
        "id": interview.external_id,
        "epoch": 1,
        "input": messages[:asked],
        "target": "",
        "messages": messages,
        "scores": {name: {"value": value} for name, value in (scores or {}).items()},
        "metadata": {**interview.metadata, **told},
        "events": [_describe_last_call(messages, interview.model_label, at)],
    }


def _describe_last_call(messages: Sequence[Message], model: str, at: datetime.datetime) -> Message:
    """The thread again as the last call of a chat: its input and its answer. Inspect makes its data frames of messages from such
    events, and they are empty without one. If a thread does not end with an answer, all of it is input."""
    is_answered = bool(messages) and messages[-1]["role"] == "assistant"
    answer = messages[-1] if is_answered else {}
    name = answer.get("model") or model
    stop = "tool_calls" if "tool_calls" in answer else "stop"
    return {
        "event": "model",
        "timestamp": at.isoformat(),
        "working_start": 0,
        "model": name,
        "input": messages[: len(messages) - is_answered],
        "tools": [],
        "tool_choice": "none",
        "config": {},
        "output": {"model": name, "choices": [{"message": answer, "stop_reason": stop}] if is_answered else []},
    }


def _list_messages(turns: Sequence[Turn], interview: Interview) -> Iterator[Message]:
    """The messages of a thread, each with an id. Consecutive reasoning, words and calls of a model form one message."""

    def name(turn: Turn) -> Message:
        return {"id": f"{interview.external_id}-{turn.position}"}

    model = interview.model_label
    calls = pair_results(turns)
    ids = {turn.position: turn.call_id or f"call-{turn.position}" for turn in turns}
    together: list[Turn] = []
    for turn, call in zip(turns, calls, strict=True):
        if together and not _goes_on(together[-1], turn):
            yield name(together[0]) | _describe_answer(together, ids, model)
            together = []
        if turn.role == Turn.Role.MODEL and turn.channel in _ORDER:
            together.append(turn)
        else:
            yield name(turn) | _describe_other(turn, ids.get(call or 0, turn.call_id))
    if together:
        yield name(together[0]) | _describe_answer(together, ids, model)


def _goes_on(before: Turn, turn: Turn) -> bool:
    """Whether a turn belongs to the same message as the one before."""
    if turn.role != Turn.Role.MODEL or turn.channel not in _ORDER or turn.details != before.details:
        return False
    first, second = _ORDER[Turn.Channel(before.channel)], _ORDER[Turn.Channel(turn.channel)]
    return first < second or (first == second and turn.channel != Turn.Channel.UTTERANCE)


def _describe_answer(turns: Sequence[Turn], ids: dict[int, str], model: str) -> Message:
    content: list[Message] = []
    calls: list[Message] = []
    for turn in turns:
        if turn.channel == Turn.Channel.TOOL_CALL:
            calls.append(_describe_call(turn, ids[turn.position]))
        elif turn.channel == Turn.Channel.REASONING:
            content.append(_describe_reasoning(turn))
        else:
            content.append({"type": "text", "text": turn.text})
    said = turns[0].details.get("model") or model
    message: Message = {"role": "assistant", "content": content, "source": "generate", **_describe_beside(turns[0])}
    if said:
        message["model"] = said
    if calls:
        message["tool_calls"] = calls
    return message


def _describe_call(turn: Turn, call_id: str) -> Message:
    """A call. Inspect uses objects as arguments; other text is a single argument."""
    arguments = read_json_text(turn.text)
    if not isinstance(arguments, dict):
        arguments = {"input": turn.text}
    return {"id": call_id, "function": turn.speaker or "tool", "arguments": arguments, "type": "function"}


def _describe_reasoning(turn: Turn) -> Message:
    if turn.details.get("redacted"):
        summary = {"summary": turn.text} if turn.text else {}
        return {"type": "reasoning", "reasoning": "", "redacted": True, **summary}
    return {"type": "reasoning", "reasoning": turn.text}


def _describe_other(turn: Turn, call_id: str) -> Message:
    message: Message = {"role": _ROLES[Turn.Role(turn.role)], "content": turn.text, **_describe_beside(turn)}
    if turn.role == Turn.Role.TOOL:
        message |= {name: value for name, value in (("function", turn.speaker), ("tool_call_id", call_id)) if value}
        if error := turn.details.get("error"):
            kind = turn.details.get("error_type")
            message["error"] = {
                "type": kind if kind in ERROR_TYPES else "unknown",
                "message": error if isinstance(error, str) else "error",
            }
    elif turn.role == Turn.Role.SYSTEM and turn.details.get("prefilled"):
        message |= {"role": "assistant", "source": "input"}
    return message


def _describe_beside(turn: Turn) -> Message:
    """The facts about a turn that messages of Inspect cannot represent."""
    told: Message = {"details": turn.details} if turn.details else {}
    told |= {name: value for name in ("speaker", "prompt_kind") if (value := getattr(turn, name))}
    return {"metadata": {"auditapp": told}} if told else {}
