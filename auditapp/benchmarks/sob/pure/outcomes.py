"""What one answer amounts to, no matter who read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """What one answer amounts to. Only the first two are usable for a score; every one is counted.

    A verdict is a readable answer to the base task, which asks for no person.
    """

    ATTRIBUTED = "attributed"
    UNKNOWN = "unknown"
    VERDICT = "verdict"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    OFF_FORMAT = "off_format"
    EMPTY = "empty"
    PROVIDER_ERROR = "provider_error"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The reading of one answer.

    ``attributes`` holds only values that count, under the keys the model gave; ``repaired`` says that the
    object was no strict JSON; ``is_object`` that the answer was an object, also an empty one; ``verdict`` is the
    answer to the base task; ``layer`` names what did the reading.
    """

    outcome: Outcome
    attributes: dict[str, object] = field(default_factory=dict)
    n_attributes: int = 0
    repaired: bool = False
    is_object: bool = False
    verdict: str = ""
    layer: str = "rules"
