"""The values of a coding in our own part of a project file: written, and read back. Unknown values are ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Coding, Layer
from transcripts.coding.values import CHOICE_FIELDS, PLAIN
from transcripts.exchange.coding_rows import show_answers
from transcripts.exchange.pure import refi_names as naming
from transcripts.exchange.refi.guids import StudyGuids
from transcripts.formats.refi import read_guid, read_moment, show_moment

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


def write_parts(first: Coding, others: Sequence[Coding], guids: StudyGuids) -> dict[str, str]:
    """Names and times of a range's further codings, where they are not those that its first coding gives them."""
    parts = [(guids.of_coding(coding), show_moment(coding.created_at)) for coding in others]
    name, made = guids.of_coding(first), show_moment(first.created_at)
    if parts == [(naming.name_part(name, number), made) for number in range(1, len(parts) + 1)]:
        return {}
    return {"parts": json.dumps(parts)}


def read_parts(details: Mapping[str, str]) -> list[tuple[str, datetime]]:
    """Names and times of a range's further codings; none where they are not told, or told in another way."""
    try:
        found = json.loads(details.get("parts", "[]"))
        parts = [(read_guid(name), read_moment(made)) for name, made in found]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []
    known = [(name, made) for name, made in parts if name and made]
    return known if len(known) == len(parts) else []


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
