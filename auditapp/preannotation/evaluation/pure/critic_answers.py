"""What a critic answered: one of two words with its reason, or why the answer is of no use. Plain Python, no database."""

from __future__ import annotations

import json

from auditapp.llm.providers.base import make_storable
from auditapp.llm.pure.own_words import NOTHING, WORDS_BEHIND, Judged, explain_end, find_json, goes_on
from auditapp.preannotation.annotators.pure.answer_objects import (
    CALLED,
    CALLS,
    EMPTY,
    TOOL_CALL,
    drop_reasoning,
)
from auditapp.preannotation.annotators.pure.answers import MAX_RATIONALE
from auditapp.preannotation.evaluation.pure.critic_prompts import REVERSE, UPHOLD

VERDICTS = frozenset({UPHOLD, REVERSE})


def read_critic_answer(answer: str, finish_reason: str = "", judged: Judged = NOTHING) -> tuple[str, str, str]:
    """Verdict, rationale and problem of ``answer``; the verdict is empty exactly where the problem says why.

    It is taken from the JSON object that has one, by the rule of ``own_words``: what is repeated from ``judged``, the texts
    that the critic was shown, is no verdict, nor is an object with words after it, nor one of an answer that was cut off or
    withheld (``finish_reason``, in the provider's words). Reasoning before it is dropped first. Objects with different
    verdicts are none.
    """
    text = drop_reasoning(answer)
    if not text.strip():
        return _refuse(TOOL_CALL if "tool" in finish_reason else explain_end(finish_reason) or EMPTY)
    if why := explain_end(finish_reason):
        return _refuse(why)
    placed = list(find_json(text, _DECODER, is_wanted=lambda each: "verdict" in each or _is_call(each)))
    if placed and goes_on(text, placed[-1][2]):
        return _refuse(WORDS_BEHIND)
    found = [each for each, start, end in placed if not judged.repeats(text[start:end])]
    if not found:
        return _refuse("no JSON object with a verdict")
    if any(_is_call(each) for each in found):
        return _refuse(TOOL_CALL)
    verdicts = [each["verdict"] for each in found]
    words = {verdict.strip().lower() for verdict in verdicts if isinstance(verdict, str)}
    if not all(isinstance(verdict, str) for verdict in verdicts):
        return _refuse("malformed: verdict")
    if not words <= VERDICTS:
        return _refuse("unknown verdict")
    if len(words) > 1:
        return _refuse("two different verdicts")
    rationale = found[0].get("rationale", "")
    if not isinstance(rationale, str):
        return _refuse("malformed: rationale")
    return words.pop(), make_storable(rationale[:MAX_RATIONALE]), ""


def _is_call(value: dict[str, object]) -> bool:
    """Whether an object asks for a tool."""
    return bool(CALLS & value.keys()) or ("name" in value and bool(CALLED & value.keys()))


def _read_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object as it was written; one with two verdicts has none."""
    if [name for name, _ in pairs].count("verdict") > 1:
        return {"verdict": None}
    return dict(pairs)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_read_object)


def _refuse(problem: str) -> tuple[str, str, str]:
    return "", "", problem
