"""What became of a question, in the words of pages and commands."""

from __future__ import annotations

WAITING = "waiting"
ANSWERED = "answered"
TRUNCATED = "truncated"
EMPTY = "empty"
REFUSED = "refused"
FAILED = "failed"

HAVE_ANSWER = frozenset({ANSWERED, TRUNCATED, REFUSED})
"""States in which the model has said something, so that the talk can go on."""

LABELS = {
    WAITING: "Waiting for the answer",
    ANSWERED: "Answered",
    TRUNCATED: "Answer cut off at the output limit",
    EMPTY: "Empty answer",
    REFUSED: "Answer withheld by the provider's filter",
    FAILED: "No answer",
}

# Words of OpenAI, Anthropic and those who follow them for an answer that reached the output limit, and for one that a filter or
# the model's own policy ended.
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "refusal", "safety", "blocklist", "prohibited_content", "sensitive"})


def name_answer(words: str, finish_reason: str) -> str:
    """What kind of answer this is: one of the states above. ``words`` are the answer without reasoning.

    A refusal that the model puts into words is an answer; only what the provider calls one is named so.
    """
    reason = finish_reason.casefold()
    if reason in _FILTERED:
        return REFUSED
    if not words.strip():
        return EMPTY
    return TRUNCATED if reason in _CUT_OFF else ANSWERED


def asks_back(answer: str) -> bool:
    """Whether the last paragraph of an answer ends in a question mark, of whatever script, so that the model waits for a reply."""
    paragraphs = [part.strip() for part in answer.replace("\r\n", "\n").split("\n\n") if part.strip()]
    return bool(paragraphs) and paragraphs[-1].rstrip(_BEHIND_A_QUESTION).endswith(_QUESTION_MARKS)


# Question marks of Latin, East Asian, Arabic, Armenian, Greek and Ethiopic writing.
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u055e", "\u037e", "\u1367")
_BEHIND_A_QUESTION = "\"'\u201d\u2019\u00bb)]*_ "
