"""The values of a coding in our own part of a project file: written, and read back. Unknown values are ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Coding, Layer
from transcripts.coding.values import CHOICE_FIELDS, PLAIN
from transcripts.exchange.coding_rows import show_answers
from transcripts.formats.refi import read_guid

MAX_ANSWERS = 50


def write_details(coding: Coding) -> dict[str, str]:
    """What the standard has no place for; empty values are left out."""
    details = {
        "layer": coding.layer,
        **{name: getattr(coding, name) for name in CHOICE_FIELDS},
        "reason": coding.reason,
        "attributes": show_answers(json.dumps(coding.attributes)) if coding.attributes else "",
        "range": str(coding.range_id or ""),
        "codebook_version": str(coding.code.version.number),
    }
    return {name: value for name, value in details.items() if value}


def read_details(details: Mapping[str, str], family: CodeFamily) -> dict[str, Any]:
    """The columns of a coding.

    A coding of another program counts as assisted: nothing is known of what its coder had seen, and agreement rests on
    blind codings alone.
    """
    return {
        "layer": _one_of(Layer.values, details.get("layer"), Layer.ASSISTED.value),
        **{
            name: _one_of(field.choices.values, details.get(name), getattr(PLAIN, name))
            for name, field in CHOICE_FIELDS.items()
            if name == "level" or field.applies_to(family)
        },
        "reason": details.get("reason", ""),
        "attributes": _read_answers(details.get("attributes", "")),
        "range_id": UUID(guid) if (guid := read_guid(details.get("range"))) else None,
    }


def _one_of(words: list[str], word: str | None, otherwise: str) -> str:
    return word if word in words else otherwise


def _read_answers(text: str) -> dict[str, str]:
    try:
        answers = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(answers, dict) or len(answers) > MAX_ANSWERS:
        return {}
    return {key: value for key, value in answers.items() if isinstance(value, str)}
