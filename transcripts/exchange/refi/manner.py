"""How a coding was put, as our own part of a project file says it; what is none of our words is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from transcripts.codebook.models import CodeFamily
from transcripts.coding.models import Enactment, Grounding, Layer, Level, Prompting
from transcripts.formats.refi import read_guid

MOST_ANSWERS = 50


def read_manner(told: Mapping[str, str], family: CodeFamily) -> dict[str, Any]:
    """The columns of a coding.

    A coding of another program counts as assisted: nothing is known of what its coder had seen, and agreement rests on
    blind codings alone.
    """
    return {
        "layer": _one_of(Layer.values, told.get("layer"), Layer.ASSISTED.value),
        "level": _one_of(Level.values, told.get("level"), Level.SEMANTIC.value),
        "enactment": _one_of(Enactment.values, told.get("enactment"), "") if family.carries_enactment else "",
        "grounding": _one_of(Grounding.values, told.get("grounding"), ""),
        "prompting": _one_of(Prompting.values, told.get("prompting"), ""),
        "reason": told.get("reason", ""),
        "attributes": _read_answers(told.get("attributes", "")),
        "range_id": UUID(guid) if (guid := read_guid(told.get("range"))) else None,
    }


def _one_of(words: list[str], word: str | None, otherwise: str) -> str:
    return word if word in words else otherwise


def _read_answers(text: str) -> dict[str, str]:
    try:
        answers = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(answers, dict) or len(answers) > MOST_ANSWERS:
        return {}
    return {key: value for key, value in answers.items() if isinstance(value, str)}
