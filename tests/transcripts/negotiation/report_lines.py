"""Lines of a file of trajectories, made short: for tests that count what comes out of a few codings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from transcripts.negotiation.pure.reading import read_records
from transcripts.negotiation.pure.records import RecordIndex, Records, Work

DATA = Path(__file__).resolve().parents[2] / "data" / "negotiation"
Line = dict[str, Any]


def encode(lines: Iterable[Line]) -> list[bytes]:
    return [json.dumps(line).encode() + b"\n" for line in lines]


def read(lines: Iterable[Line], *, blinding: str = "blind") -> Records:
    return read_records(encode(lines), name="threads.jsonl", blinding=blinding)


def look(lines: Iterable[Line], coder: str = "ana") -> tuple[RecordIndex, Work]:
    index = RecordIndex(read(lines))
    return index, index.work[coder]


def make_thread(thread: str = "t1", turns: str = "imim", **cells: Any) -> list[Line]:
    """A thread of turns, a letter each: i(nterviewer), m(odel), r(easoning), c(all of a tool), s(ystem)."""
    kinds = {
        "i": ("interviewer", "utterance"),
        "m": ("model", "utterance"),
        "r": ("model", "reasoning"),
        "c": ("model", "tool_call"),
        "s": ("system", "utterance"),
    }
    lines: list[Line] = [{"record": "thread", "thread": thread, **cells}]
    for position, letter in enumerate(turns, 1):
        role, channel = kinds[letter]
        lines.append({"record": "turn", "thread": thread, "turn": position, "role": role, "channel": channel})
    return lines


class Coder:
    """Makes lines of codings, numbered."""

    def __init__(self, name: str = "ana") -> None:
        self.name = name
        self._number = 0

    def apply(self, turn: int, code: str, *, thread: str = "t1", start: int = 0, **cells: Any) -> Line:
        self._number += 1
        key = f"{self.name}{self._number}"
        place = {"thread": thread, "turn": turn, "start": start}
        return {"record": "coding", "id": key, **place, "coder": self.name, "code": code, **cells}

    def move(self, turn: int, name: str, *, start: int = 0, enactment: str = "enacted", **cells: Any) -> Line:
        return self.apply(turn, f"move.{name}", start=start, enactment=enactment, **cells)

    def enter(self, turn: int, feature: str, status: str, **cells: Any) -> Line:
        return self.apply(turn, f"feature.{feature}", attributes={"status": status}, **cells)

    def decide(self, turn: int, *, thread: str = "t1", **cells: Any) -> Line:
        return {"record": "decided", "thread": thread, "turn": turn, "coder": self.name, **cells}

    def move_through(self, thread: str, names: Sequence[str]) -> list[Line]:
        """A move after the other in one turn of a thread."""
        return [self.move(2, name, thread=thread, start=10 * place) for place, name in enumerate(names)]
