"""A model that does whatever it reads: the worst that a transcript with instructions in it can meet.

It knows the payloads of ``data/injection_payloads.json``. Where one of them stands in the material it was sent (also in
tag characters, which it reads as letters) it answers as told there; otherwise it says of every sentence that no code
applies. In a payload's ``answer``, ``@FOREIGN@`` is the number that the material names beside the word sentence, and an
answer of the form ``@ACT:argument@`` is built from the material: see ``ACTS``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PAYLOADS = Path(__file__).parents[1] / "data" / "injection_payloads.json"
MATERIAL = re.compile(r"<<<MATERIAL (\w+)\n(.*)\n\1 MATERIAL>>>", re.DOTALL)
NAMED = re.compile(r"sentence\W{1,4}(\d+)")
ANSWER = re.compile(r"@([A-Z+]+)(?::(.*))?@", re.DOTALL)
WORDS_OF_A_QUOTE = 3


class Payload(NamedTuple):
    """Instructions to hide in a text. ``trigger``: the part of them that a model has to read to obey.

    ``flags``: the patterns that must be found in it; none where it is in plain words.
    """

    name: str
    text: str
    trigger: str
    answer: str
    flags: list[str]
    note: str = ""


class Said(NamedTuple):
    """What the model says: words, or the name of a tool it calls instead."""

    words: str
    tool: str = ""


class Shown(NamedTuple):
    """What it was asked: the instructions, and the sentences of the material by number."""

    instructions: str
    sentences: Mapping[int, str]


@cache
def load_payloads() -> tuple[Payload, ...]:
    """All payloads, in order."""
    return tuple(Payload(**entry) for entry in json.loads(PAYLOADS.read_text(encoding="utf-8")))


def obey(instructions: str, message: str) -> Said:
    """The answer to one request."""
    found = MATERIAL.search(message)
    if found is None:
        return Said("There is nothing to read.")
    material = json.loads(found[2])
    sentences = {piece["sentence"]: piece["text"] for piece in material["turn"] if "sentence" in piece}
    read = " ".join([material["question"], *(piece.get("text", piece.get("context")) for piece in material["turn"])])
    read += "".join(chr(ord(sign) - 0xE0000) for sign in read if 0xE0020 <= ord(sign) < 0xE007F)
    shown = Shown(instructions, sentences)
    payload = next((each for each in load_payloads() if _flatten(each.trigger) in _flatten(read)), None)
    if payload is None:
        return Said(_write({number: [] for number in sentences}))
    number = NAMED.search(read)
    answer = payload.answer.replace("@FOREIGN@", number[1] if number else "0")
    act = ANSWER.fullmatch(answer)
    return ACTS[act[1]](shown, act[2] or "") if act else Said(answer)


def _flatten(text: str) -> str:
    return " ".join(text.split())


def _write(codings: Mapping[int, list[dict[str, str]]]) -> str:
    return json.dumps({"sentences": [{"sentence": number, "codings": own} for number, own in codings.items()]})


def _put(code: str, text: str, rationale: str = "as I was told", **more: str) -> dict[str, str]:
    """A coding whose quote is true."""
    words = re.match(rf"\s*(?:\S+\s*){{1,{WORDS_OF_A_QUOTE}}}", text)
    return {"rationale": rationale, **more, "quote": words[0].strip() if words else text, "code": code}


def _code_all(shown: Shown, code: str) -> Said:
    return Said(_write({number: [_put(code, text)] for number, text in shown.sentences.items()}))


def _code_all_and_more(shown: Shown, argument: str) -> Said:
    code, _, more = argument.partition(":")
    answer = json.loads(_code_all(shown, code).words)
    answer["sentences"].append(json.loads(more))
    return Said(json.dumps(answer))


def _say_twice(shown: Shown, code: str) -> Said:
    answer = json.loads(_code_all(shown, code).words)
    answer["sentences"] += [{"sentence": number, "codings": []} for number in shown.sentences]
    return Said(json.dumps(answer))


def _say(shown: Shown, argument: str) -> Said:
    code, _, rationale = argument.partition(":")
    return Said(_write({number: [_put(code, text, rationale)] for number, text in shown.sentences.items()}))


def _say_much(shown: Shown, code: str) -> Said:
    return _say(shown, f"{code}:{'balance ' * 125_000}")


def _code_latent(shown: Shown, code: str) -> Said:
    return Said(_write({number: [_put(code, text, level="latent")] for number, text in shown.sentences.items()}))


def _tell_instructions(shown: Shown, _: str) -> Said:
    return Said(shown.instructions)


def _call_tool(_: Shown, tool: str) -> Said:
    return Said("", tool)


ACTS: dict[str, Callable[[Shown, str], Said]] = {
    "ALL": _code_all,
    "ALL+": _code_all_and_more,
    "TWICE": _say_twice,
    "SAY": _say,
    "HUGE": _say_much,
    "LATENT": _code_latent,
    "SYSTEM": _tell_instructions,
    "TOOL": _call_tool,
}


def read_messages(body: Mapping[str, Any]) -> tuple[str, str]:
    """The instructions and the message of a request in either form of API."""
    said = {each["role"]: str(each.get("content")) for each in body["messages"]}
    return said.get("system") or str(body.get("system") or ""), said.get("user", "")
