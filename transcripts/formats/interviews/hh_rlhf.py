"""Pairs of conversations as HH-RLHF writes them: ``{"chosen": "\\n\\nHuman: …\\n\\nAssistant: …", "rejected": "…"}``.

What people chose is the thread; what they rejected is a branch, which hangs on the last turn that both share. A line with the
chosen conversation alone is a thread. ``outcome`` in the metadata of each says which it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from transcripts.formats.interviews.base import ReadFile, ReadInterview, ReadTurn, Source
from transcripts.formats.interviews.threads import Thread, name_threads
from transcripts.formats.json_lines import JsonLine, name_json_type, read_json_objects, shorten
from transcripts.formats.problems import ReadError

FORMAT = "hh_rlhf"

_ROLES = {"Human": "interviewer", "Assistant": "model"}
_TURN = re.compile(r"(?:\A|\n\n)(Human|Assistant):[ ]?")


def read_hh_rlhf(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    return ReadFile(FORMAT, [thread for line in read_json_objects(source) for thread in _read_pair(line, source)], [])


def _read_pair(line: JsonLine, source: Source) -> Iterator[ReadInterview]:
    number, content = line
    chosen = _read_text("chosen", line, source)
    threads, outcomes = [Thread(chosen)], ["chosen"]
    if content.get("rejected") is not None:
        rejected = _read_text("rejected", line, source)
        shared = 0
        while shared < min(len(chosen), len(rejected)) and chosen[shared] == rejected[shared]:
            shared += 1
        if own := rejected[shared:]:
            threads.append(Thread(own, (0, shared) if shared else None, "branch" if shared else "", "rejected"))
            outcomes.append("rejected")
    external_id = f"{source.stem[:140]}-{number}"
    common = ReadInterview(external_id, external_id, (), line=number)
    for thread, outcome in zip(name_threads(threads, common=common), outcomes, strict=True):
        yield replace(thread, metadata={"outcome": outcome})


def _read_text(key: str, line: JsonLine, source: Source) -> list[ReadTurn]:
    number, content = line
    text = content.get(key)
    if not isinstance(text, str):
        raise ReadError(source.name, number, f"{name_json_type(text)} as {shorten(key)}", "a conversation as text")
    begins = list(_TURN.finditer(text))
    if not begins or begins[0].start():
        raise ReadError(source.name, number, f"{shorten(key)} without speakers", "Human: … and Assistant: …")
    ends = [found.start() for found in begins[1:]] + [len(text)]
    return [
        ReadTurn(_ROLES[found[1]], "utterance", "", text[found.end() : end])
        for found, end in zip(begins, ends, strict=True)
    ]
