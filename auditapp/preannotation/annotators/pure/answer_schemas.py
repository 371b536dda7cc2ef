"""The JSON schema of an annotator's answers: what a server that honours schemas is made to answer with.

It holds a model to the sentences of its question, in order, and to the codes it was asked for. Whether a quote stands in its
sentence it cannot say: answers are parsed and checked as any others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.llm.pure.json_schemas import make_object
from auditapp.preannotation.annotators.pure.prompts import asks_for_enactment, asks_for_level

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
