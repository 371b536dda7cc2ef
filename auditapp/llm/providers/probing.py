"""A probe: a few tiny requests that show how a server treats a JSON schema and sampling settings.

The question asks for prose, and the schema allows only one object with a random word in it, so the server applied the schema if
and only if the answer is this object. A server that refuses the request (400) is asked again without the settings it named, then
without limits of length, and finally without a schema, so that it is known what it refused. Refused requests are not billed.
"""

from __future__ import annotations

import json
import re
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ChatRequest, Provider, read_budget
from auditapp.llm.pure.json_answers import conforms, make_object
from auditapp.llm.pure.model_settings import SAMPLING

FULL, PLAIN, IGNORED, REFUSED = "full", "plain", "ignored", "refused"
NEXT_FORM = {FULL: PLAIN, PLAIN: ""}
QUESTION = "Say in one short sentence of plain prose what the weather is like on a sunny day. Do not write JSON."
MAX_TOKENS = 4_096
MAX_CALLS = len(SAMPLING) + 3
MAX_KEPT = 300
# What servers answer to a parameter or schema that they cannot take.
REFUSALS = {400, 422, 500, 501}


class ProbeFailed(Exception):
    """The server gave no conclusive answer; the message says why. ``calls`` are those made so far."""

    def __init__(self, sentence: str, calls: list[dict[str, object]]) -> None:
        super().__init__(sentence)
        self.calls = calls


async def probe(provider: Provider, request: ChatRequest) -> tuple[str, list[str], list[dict[str, object]]]:
    """How the server treats a schema (``FULL`` …), the sampling settings it refuses, and the calls as they are kept.

    ``request`` has the settings of the variant; its texts are replaced. Raises ``ProbeFailed``.
    """
    form, refused, calls = FULL, list[str](), list[dict[str, object]]()
    limit = min(request.max_tokens or MAX_TOKENS, MAX_TOKENS)
    request = replace(request, system="", user=QUESTION, max_tokens=limit)
    while len(calls) < MAX_CALLS:
        parameters = {name: value for name, value in request.parameters.items() if name not in refused}
        schema = write_probe_schema(form) if form else None
        asked = replace(request, request_id=str(uuid.uuid4()), parameters=parameters, answer_schema=schema)
        answer = await provider.chat(asked)
        calls.append(_describe(form, answer))
        if answer.end is CallOutcome.ANSWERED:
            return _judge(form, schema, answer, asked, calls), refused, calls
        if answer.http_status not in REFUSALS:
            break
        named = _find_named(answer.error, parameters)
        if named:
            refused += named
        elif form:
            form = NEXT_FORM[form]
        else:
            break
    raise ProbeFailed(str(calls[-1]["error"]) or "The server gave no answer.", calls)


def write_probe_schema(form: str) -> dict[str, Any]:
    """A schema that allows only one object: a random word and, unless ``form`` is ``PLAIN``, a list in a given order and a text
    of limited length, as in the schemas of annotators."""
    word = {"type": "string", "enum": [f"probe-{secrets.token_hex(4)}"]}
    if form == PLAIN:
        return make_object(word=word, numbers={"type": "array", "items": {"type": "integer", "enum": [7]}})
    ordered = [{"type": "integer", "enum": [number]} for number in (7, 3)]
    numbers = {"type": "array", "prefixItems": ordered, "minItems": 2, "maxItems": 2}
    return make_object(word=word, numbers=numbers, note={"type": "string", "maxLength": 12})


def _judge(
    form: str, schema: Mapping[str, Any] | None, answer: ChatAnswer, asked: ChatRequest, calls: list[dict[str, object]]
) -> str:
    if schema is None:
        return REFUSED
    try:
        value = json.loads(answer.content)
    except (ValueError, RecursionError):
        value = None
    if conforms(value, schema):
        return form
    if answer.finish_reason == "length":
        raise ProbeFailed(
            f"The answer was cut off after {(asked.max_tokens or 0) + read_budget(asked):,} tokens, so it is not known whether "
            "the server honours a schema. Probe a variant with a larger limit, or with less reasoning.",
            calls,
        )
    return IGNORED


def _find_named(error: str, parameters: Mapping[str, object]) -> list[str]:
    """The sampling settings that an error message names."""
    return [name for name in SAMPLING if name in parameters and re.search(rf"\b{name}(_sequences)?\b", error)]


def _describe(form: str, answer: ChatAnswer) -> dict[str, object]:
    return {
        "schema": form or "none",
        "end": str(answer.end),
        "status": answer.http_status,
        "finish_reason": answer.finish_reason,
        "answer": answer.content[:MAX_KEPT],
        "error": answer.error[:MAX_KEPT],
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
    }
