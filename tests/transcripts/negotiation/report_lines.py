"""Lines of a file of trajectories, made short: for tests that count what comes out of a few codings."""

import json
from pathlib import Path
from typing import Any

from transcripts.negotiation.pure.reading import read_records
from transcripts.negotiation.pure.records import RecordIndex

DATA = Path(__file__).resolve().parents[2] / "data" / "negotiation"
Line = dict[str, Any]


def encode(lines):
    return [json.dumps(line).encode() + b"\n" for line in lines]


def read(lines, *, blinding="blind"):
    return read_records(encode(lines), name="threads.jsonl", blinding=blinding)


def look(lines, coder="ana"):
    index = RecordIndex(read(lines))
    return index, index.work[coder]


def make_thread(thread="t1", turns="imim", **cells):
    """A thread of turns, a letter each: i(nterviewer), m(odel), r(easoning), c(all of a tool), s(ystem)."""
    kinds = {
        "i": ("interviewer", "utterance"),
        "m": ("model", "utterance"),
        "r": ("model", "reasoning"),
        "c": ("model", "tool_call"),
        "s": ("system", "utterance"),
    }
    lines = [{"record": "thread", "thread": thread, **cells}]
    for position, letter in enumerate(turns, 1):
        role, channel = kinds[letter]
        lines.append({"record": "turn", "thread": thread, "turn": position, "role": role, "channel": channel})
    return lines


class Coder:
    """Makes lines of codings, numbered."""

    def __init__(self, name="ana"):
        self.name = name
        self._number = 0

    def apply(self, turn, code, *, thread="t1", start=0, **cells):
        self._number += 1
        key = f"{self.name}{self._number}"
        place = {"thread": thread, "turn": turn, "start": start}
        return {"record": "coding", "id": key, **place, "coder": self.name, "code": code, **cells}

    def move(self, turn, name, *, start=0, enactment="enacted", **cells):
        return self.apply(turn, f"move.{name}", start=start, enactment=enactment, **cells)

    def enter(self, turn, feature, status, **cells):
        return self.apply(turn, f"feature.{feature}", attributes={"status": status}, **cells)

    def decide(self, turn, *, thread="t1", **cells):
        return {"record": "decided", "thread": thread, "turn": turn, "coder": self.name, **cells}

    def move_through(self, thread, names):
        """A move after the other in one turn of a thread."""
        return [self.move(2, name, thread=thread, start=10 * place) for place, name in enumerate(names)]
