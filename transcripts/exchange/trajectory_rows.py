"""The export of threads with what coders did on them: all that figures of trajectories are computed from.

JSON lines, each with ``record``: every thread with its turns, then the codings, then what was decided. A coding and a decision
name their thread by its id and their turn by its position.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transcripts.corpus.models import Interview, Turn
from transcripts.corpus.pure.readers.calls import pair_results
from transcripts.corpus.pure.readers.threads import find_stage
from transcripts.exchange import coding_rows
from transcripts.exchange.registry import Scope
from transcripts.exchange.rows import CHUNK
from transcripts.formats.tabular import encode_json

Line = dict[str, Any]
# What the line of the thread, or the name of the record, says already; and a deprecated name.
_SAID_ELSEWHERE = frozenset({"project", "interview", "model", "role", "carried_from"})
_HEADINGS_OF_DECISIONS = [each.name for each in coding_rows.DECISIONS]


def write_trajectories(scope: Scope, path: Path) -> int:
    """Write the records of a study; returns how many. Of coders it holds what the export of codings holds."""
    written = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in _list_records(scope):
            file.write(encode_json(line) + "\n")
            written += 1
            if written % CHUNK == 0:
                scope.watch(written, 0)
    return written


class Hanging(NamedTuple):
    """Where a thread hangs; nowhere if the file leaves out what it hangs on."""

    relation: str
    thread: str = ""
    turn: int = 0


def list_threads(scope: Scope) -> Iterator[tuple[Interview, Hanging, list[Turn]]]:
    """Every thread of the export with its turns, in the order in which they came in."""
    within = Interview.objects.filter(scope.within())
    keys = set(within.values_list("pk", flat=True))
    for interview in within.select_related("hangs_on__interview").order_by("pk").iterator(chunk_size=CHUNK):
        turn = interview.hangs_on
        is_there = turn is not None and turn.interview_id in keys
        hanging = Hanging(interview.relation, turn.interview.external_id, turn.position) if turn and is_there else None
        yield interview, hanging or Hanging(""), list(interview.turns.order_by("position"))


def _list_records(scope: Scope) -> Iterator[Line]:
    for interview, hanging, turns in list_threads(scope):
        scope.watch(0, 0)
        yield _describe_thread(interview, hanging)
        for turn, call in zip(turns, pair_results(turns), strict=True):
            yield _describe_turn(interview, turn, call)
    for row in coding_rows.read_codings(scope):
        coding = _describe_row("coding", coding_rows.HEADINGS, row)
        coding["attributes"] = json.loads(coding["attributes"] or "{}")
        yield coding
    for decision in coding_rows.read_decisions(scope):
        yield _describe_row("decided", _HEADINGS_OF_DECISIONS, decision)


def _describe_thread(interview: Interview, hanging: Hanging) -> Line:
    return {
        "record": "thread",
        "id": interview.external_id,
        "kind": interview.kind,
        "title": interview.title,
        "relation": hanging.relation,
        "hangs_on": {"thread": hanging.thread, "turn": hanging.turn} if hanging.relation else None,
        "model": interview.model_label,
        "run": interview.run,
    }


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
