"""Finding the answer in what a model sent: a JSON object, whatever is around it, whole or cut off.

Only strict JSON is read; nothing is repaired. Of an answer that was cut off the elements count that came whole.

The JSON schema of an annotator's answers is what a server that honours schemas is made to answer with. It holds a model to the
sentences of its question, in order, and to the codes it was asked for. Whether a quote is in its sentence it cannot say:
answers are parsed and checked as any others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.annotators.pure.prompts import asks_for_enactment, asks_for_level
from auditapp.llm.pure.json_answers import (
    NOTHING,
    WORDS_BEHIND,
    Judged,
    find_json,
    goes_on,
    is_cut_off,
    is_withheld,
    make_object,
)
from transcripts.formats.thinking import drop_thinking

MAX_LISTS = 20
MAX_WRAPPER_DEPTH = 3
CALLED = frozenset({"arguments", "input", "parameters"})
CALLS = frozenset({"tool_calls", "function_call", "tool_call", "function_calls"})
TOOL_CALL, REFUSED, EMPTY, CUT_OFF = "a tool call instead of an answer", "the model refused", "empty answer", "cut off"


def find_answers(
    text: str, key: str, finish_reason: str = "", judged: Judged = NOTHING
) -> tuple[list[list[object]], str]:
    """Every different list under ``key`` in ``text``, thoughts left out; without any, the problem in a few words.

    By the rule of ``own_words``: a list that is repeated from ``judged`` is none, and where words follow the last list, or the
    answer was withheld, nothing is read. Of a list that was cut off the whole elements count, if no other list comes before it.
    """
    text = drop_reasoning(text)
    if not text.strip():
        return [], _explain(finish_reason) or EMPTY
    if is_withheld(finish_reason):
        return [], REFUSED
    lists: list[list[object]] = []
    has_call, last = False, 0
    for value, start, end in find_json(text, _DECODER, with_lists=True):
        has_call = has_call or _is_call(value)
        found = None if _is_call(value) else _unwrap(value, key)
        if found is None:
            continue
        last = end
        if found not in lists[:MAX_LISTS] and not judged.repeats(text[start:end]):
            lists.append(found)
    if last and goes_on(text, last):
        return [], WORDS_BEHIND
    if lists:
        return ([], CUT_OFF) if is_cut_off(finish_reason) else (lists, "")
    if has_call:
        return [], TOOL_CALL
    # What follows a list that was only repeated has no words, so it is no list that was cut off either.
    rest = None if last else _read_cut_list(text, key)
    if rest:
        return [rest], ""
    if rest is not None:
        return [], "cut off before the first complete item"
    return [], _explain(finish_reason) or f"no JSON object with a list of {key}"


def drop_reasoning(text: str) -> str:
    """An answer without the reasoning before it. One that is JSON from end to end has none: marks in it are quoted words."""
    answer, _ = drop_thinking(text)
    if answer == text:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return answer
    return text


def _explain(finish_reason: str) -> str:
    """Why the end of a call left no answer, where it tells."""
    if "tool" in finish_reason:
        return TOOL_CALL
    return REFUSED if is_withheld(finish_reason) else ""


def _read_constant(name: str) -> object:
    """NaN and the infinities are not JSON; an answer with one has no value."""
    return None


_DECODER = json.JSONDecoder(parse_constant=_read_constant)


def _is_call(value: object) -> bool:
    """Whether an object asks for a tool, or each object of a list."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, dict) and _is_call(each) for each in value)
    if not isinstance(value, dict):
        return False
    return bool(CALLS & value.keys()) or ("name" in value and bool(CALLED & value.keys()))


def _unwrap(value: object, key: str, depth: int = 0) -> list[object] | None:
    """The list under ``key`` in an object, in an object that it holds, or a list of entries by itself."""
    if isinstance(value, list):
        is_bare = bool(value) and all(isinstance(each, dict) and "sentence" in each for each in value)
        if is_bare:
            return value
        return _unwrap(value[0], key, depth + 1) if len(value) == 1 and depth < MAX_WRAPPER_DEPTH else None
    if not isinstance(value, dict) or _is_call(value):
        return None
    if isinstance(value.get(key), list):
        return list(value[key])
    if depth >= MAX_WRAPPER_DEPTH or "sentence" in value:
        return None
    inner = (_unwrap(each, key, depth + 1) for each in value.values() if isinstance(each, dict))
    return next((each for each in inner if each is not None), None)


def _read_cut_list(text: str, key: str) -> list[object] | None:
    """The whole elements of a list that does not end; ``None`` where no such list begins."""
    begun = re.search(rf'"{key}"\s*:\s*\[', text)
    if begun is None:
        return None
    items: list[object] = []
    position = begun.end()
    while True:
        position = _skip(text, position)
        try:
            item, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return items
        items.append(item)


def _skip(text: str, position: int) -> int:
    """The place after white space and at most one comma."""
    found = re.compile(r"\s*,?\s*").match(text, position)
    return found.end() if found else position


SCHEMA_VERSION = "schema-1"
MAX_RATIONALE = 300
MAX_QUOTE = 200
LEVELS = ["semantic", "latent"]
ENACTMENTS = ["enacted", "demonstrated", "described"]
# Where the instructions are shown, before there is a turn.
EXAMPLE_NUMBERS = (1, 2)


def write_answer_schema(
    system_prompt: str,
    codes: Sequence[str],
    numbers: Sequence[int],
    *,
    is_ordered: bool = True,
    questions: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """The schema of an answer about the sentences of these numbers, in the order of the keys that the instructions ask for.

    ``is_ordered``: each sentence exactly once and in order. Without it, for servers that take no limits of length, any of
    them any number of times. ``questions``: the answers offered, by the key of the codes' own questions.
    """
    level = {"level": {"type": "string", "enum": LEVELS}} if asks_for_level(system_prompt) else {}
    asks_it = asks_for_enactment(system_prompt)
    enactment = {"enactment": {"type": "string", "enum": ENACTMENTS}} if asks_it else {}
    offered = {key: {"type": "string", "enum": list(choices)} for key, choices in (questions or {}).items()}
    answers = {"answers": make_object(**offered)} if offered else {}
    coding = make_object(
        rationale={"type": "string", "maxLength": MAX_RATIONALE},
        **level,
        **enactment,
        **answers,
        quote={"type": "string", "maxLength": MAX_QUOTE},
        code={"type": "string", "enum": list(codes)},
    )
    codings = {"type": "array", "items": coding, "maxItems": len(codes)}
    if not is_ordered:
        entry = make_object(sentence={"type": "integer", "enum": list(numbers)}, codings=codings)
        return make_object(sentences={"type": "array", "items": entry})
    # Defined once: a schema is paid for as input.
    shared = {"$ref": "#/$defs/codings"}
    entries = [make_object(sentence={"type": "integer", "enum": [number]}, codings=shared) for number in numbers]
    count = {"minItems": len(numbers), "maxItems": len(numbers)}
    return make_object(sentences={"type": "array", "prefixItems": entries, **count}) | {"$defs": {"codings": codings}}


def read_numbers(user_prompt: str) -> list[int]:
    """The numbers of the sentences that a user message asks about, as ``write_user_prompt`` wrote them."""
    material = json.loads(user_prompt.split("\n")[1])
    return [piece["sentence"] for piece in material["turn"] if "sentence" in piece]
