"""What a question must be before it is stored or sent."""

from __future__ import annotations

from auditapp.scenarios.models import Question
from transcripts.corpus.pure.readers.base import MAX_TURN_SIZE
from transcripts.refusals import Refused

KINDS = dict(Question.Kind.choices)
INTENTS = dict(Question.Intent.choices)
# Characters: about three pages. The published opening has a quarter of it.
LONG_QUESTION = 8_000
WITH_INTENT = (Question.Kind.CHALLENGE, Question.Kind.NEW_INFORMATION)


def check_said(text: str, *, field: str, what: str, may_be_empty: bool = False) -> str:
    """``text`` as it is stored and sent: exactly as it was typed, with line ends alike. ``what`` names it: "The question". Raises
    ``Refused``."""
    text = text.replace("\r\n", "\n")
    if not text.strip():
        if may_be_empty:
            return ""
        raise Refused(f"{what} is empty. Write it first.", field=field)
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise Refused(
            f"{what} contains a character that cannot be stored, such as a null character. Remove it.", field=field
        )
    size = len(text.encode())
    if size > MAX_TURN_SIZE:
        raise Refused(
            f"{what} has {size:,} bytes; a turn may have {MAX_TURN_SIZE:,}. Shorten it, or say it in two turns.",
            field=field,
        )
    return text


def find_length(text: str) -> int:
    """How many characters are sent of ``text``, line ends alike."""
    return len(text.replace("\r\n", "\n"))


def check_kind(kind: str, intent: str) -> tuple[str, str]:
    """The kind of a question and what it is meant to be. Raises ``Refused``.

    A challenge says what it is meant to be; new information may.
    """
    if not kind:
        raise Refused(f"Choose the kind of the question: {_list(KINDS)}.", field="kind")
    if kind not in KINDS:
        raise Refused(f"There is no kind “{kind[:40]}”. Choose one of {_list(KINDS)}.", field="kind")
    if intent and intent not in INTENTS:
        raise Refused(f"There is no “{intent[:40]}”. Choose one of {_list(INTENTS)}.", field="intent")
    if kind == Question.Kind.CHALLENGE and not intent:
        raise Refused(f"Say what the challenge is meant to be: {_list(INTENTS)}.", field="intent")
    if intent and kind not in WITH_INTENT:
        raise Refused(
            "Only a challenge and new information say what they are meant to be. Leave that out, or choose another kind.",
            field="intent",
        )
    return kind, intent


def _list(names: dict[str, str]) -> str:
    return ", ".join(names)
