"""Separate a model's reasoning from its answer where a server returns both as one text.

Most servers return reasoning in a field of its own. Where one does not, the reasoning is in the answer, between marks that
differ by model. The forms below are those that makers of models and of inference servers document. Reasoning is never read as
an answer: if its marks are incomplete, everything that may be reasoning is left out.

Every step takes time linear in the length of the text.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import groupby
from operator import itemgetter

# <think>, <thinking>, <thought>, <seed:think> and similar tags end one another; every other tag ends only its own kind.
_TAGS = (
    r"think(?:ing)?|thoughts?|thought_process|antthinking|reason(?:ing)?|scratch_?pad|reflections?|analysis|rationale"
    r"|(?:inner|internal)_?monologue|chain_of_thought|cot"
)
_MARK = re.compile(
    "|".join(
        (
            rf"(?:<\|?|&lt;)(?P<tag_ends>/?)(?:\w{{1,20}}:)?(?P<tag>{_TAGS})(?:\s[^<>]{{0,80}})?(?:\|?>|&gt;)",
            r"[\[◁](?P<bracket_ends>/?)think(?:ing)?[\]▷]",
            (
                r"<\|(?P<token>(?:begin|end)_of_(?:thought|solution)|(?:start|end)_(?:thinking|response)"
                r"|inner_(?:prefix|suffix)|end|return|call|message)\|>"
            ),
            r"<\|(?P<start>start)\|>(?:assistant)?",
            (
                r"<\|channel\|>\s?(?P<channel>analysis|commentary|final)(?:\sto=[^\s<]{1,80})?"
                r"\s?(?:<\|constrain\|>\s?\w{0,20}\s?)?(?:<\|message\|>)?"
            ),
            r"<\|channel>(?P<gemma>thought)\b",
            r"<(?P<gemma_ends>channel)\|>",
        )
    ),
    re.IGNORECASE,
)
_MARK_MAY_BEGIN = re.compile(r"<(?=[/|\w])|[\[◁](?=/?[Tt])|&lt;")


class _Role(Enum):
    BEGINS = auto()
    ENDS = auto()
    ANSWER_FOLLOWS = auto()
    NOTHING = auto()


# Start and end of a part of a text.
_Span = tuple[int, int]
_HARMONY = "harmony"
_TOKENS = {
    "begin_of_thought": ("of_thought", _Role.BEGINS),
    "end_of_thought": ("of_thought", _Role.ENDS),
    "start_thinking": ("thinking", _Role.BEGINS),
    "end_thinking": ("thinking", _Role.ENDS),
    "inner_prefix": ("inner", _Role.BEGINS),
    "inner_suffix": ("inner", _Role.ENDS),
    "begin_of_solution": ("", _Role.ANSWER_FOLLOWS),
    "start_response": ("", _Role.ANSWER_FOLLOWS),
    "end_of_solution": ("", _Role.NOTHING),
    "end_response": ("", _Role.NOTHING),
    "end": (_HARMONY, _Role.ENDS),
    "return": (_HARMONY, _Role.ENDS),
    "call": (_HARMONY, _Role.ENDS),
    "message": ("", _Role.NOTHING),
}

# Harmony without its special tokens: "analysisWe need to ... assistantfinalPerson: Unknown".
_PLAIN_ANALYSIS = re.compile(
    r"\s{0,80}(?:assistant)?(?:analysis|commentary)(?:(?=\s{0,2}[A-Z{\"“]|<\|message)|[ \t]{0,3}\n)"
)
_PLAIN_FINAL = re.compile(
    r"assistant(?:<\|channel\|>|\s)?final(?:<\|message\|>)?|^[ \t]{0,3}final[ \t]{0,3}$", re.MULTILINE
)
_GLUED_FINAL = re.compile(r"(?<![\"'`“‘])assistantfinal(?![\"'`”’])")
# Granite.
_PLAIN_THOUGHTS = re.compile(r"\s{0,80}here(?: is|['’]s) my thought process\s?:", re.IGNORECASE)
_PLAIN_RESPONSE = re.compile(r"\bhere(?: is|['’]s) my response\s?:", re.IGNORECASE)

_OPENING_QUOTES = frozenset("\"'“‘`«")
_CLOSING_QUOTES = frozenset("\"'”’`»")
_NAMED_AFTER = re.compile(r" (?:tags?|tokens?|markers?|marks?|elements?|blocks?|sections?)\b", re.IGNORECASE)


def drop_thinking(text: str) -> tuple[str, bool]:
    """The answer without the model's reasoning, and whether the reasoning never ends.

    An end without a beginning ends reasoning that began in the chat template, so everything before it is dropped. A mark that
    is quoted, or called a tag, is only mentioned.
    """
    kept, _, is_unfinished = _find_answer(text)
    return "".join([text[start:end] for start, end in kept]), is_unfinished


def split_thinking(text: str) -> list[tuple[bool, str]]:
    """The pieces of a text that begins with reasoning, in order, each with whether it is reasoning; the marks are left out.

    A text that begins differently is one piece, because later marks may be its subject. So is a text that begins with words
    that announce reasoning and never announces an answer.
    """
    kept, marks, is_unfinished = _find_answer(text)
    if is_unfinished and not marks:
        return [(False, text)]
    pieces: list[tuple[bool, str]] = []
    place = 0
    for start, end, is_answer in sorted([*((*each, True) for each in kept), *((*each, False) for each in marks)]):
        pieces.append((True, text[place:start]))
        if is_answer:
            pieces.append((False, text[start:end]))
        place = max(place, end)
    pieces = [each for each in [*pieces, (True, text[place:])] if each[1].strip()]
    if not pieces or not pieces[0][0]:
        return [(False, text)]
    return [(is_thought, "".join(words for _, words in group)) for is_thought, group in groupby(pieces, itemgetter(0))]


def _find_answer(text: str) -> tuple[list[_Span], list[_Span], bool]:
    """The parts of a text that are its answer, the marks between parts, and whether reasoning never ends."""
    position, plain = _find_plain(text)
    if position is None:
        return [], [], True
    if "<" not in text and "[" not in text and "◁" not in text and "&lt;" not in text:
        return [(position, len(text))], plain, False
    kept: list[_Span] = []
    marks = [*plain]
    thinking: str | None = None
    is_final = False
    while mark := _find_mark(text, position):
        begin = mark.start()
        kind, role = _read_mark(mark)
        if role is _Role.ANSWER_FOLLOWS:
            # Nothing before the first answer is an answer. A second one must not replace the first.
            if not is_final:
                kept.clear()
            elif thinking is None:
                kept.append((position, begin))
            thinking, is_final = None, True
        elif thinking is None:
            if role is _Role.ENDS and kind != _HARMONY:
                kept.clear()
            else:
                kept.append((position, begin))
            thinking = kind if role is _Role.BEGINS else None
        elif role is _Role.ENDS and kind == thinking:
            thinking = None
        position = mark.end()
        marks.append(mark.span())
    if thinking is None:
        kept.append((position, len(text)))
    return kept, marks, thinking is not None


def _find_plain(text: str) -> tuple[int | None, list[_Span]]:
    """Where the answer begins after reasoning whose marks are plain words, with the marks; 0 without such words, ``None`` if
    the reasoning never ends."""
    begun, end = _PLAIN_ANALYSIS.match(text), _PLAIN_FINAL
    if begun is None:
        begun, end = _PLAIN_THOUGHTS.match(text), _PLAIN_RESPONSE
    if begun is not None:
        found = end.search(text, begun.end())
        return (found.end(), [begun.span(), found.span()]) if found else (None, [])
    if "assistantfinal" in text and (found := _GLUED_FINAL.search(text)):
        return found.end(), [found.span()]
    return 0, []


def _find_mark(text: str, position: int) -> re.Match[str] | None:
    """The next mark that is more than a mention."""
    while begin := _MARK_MAY_BEGIN.search(text, position):
        mark = _MARK.match(text, begin.start())
        if mark is not None and not _is_mention(text, mark):
            return mark
        position = mark.end() if mark else begin.end()
    return None


def _is_mention(text: str, mark: re.Match[str]) -> bool:
    before, after = text[max(mark.start() - 1, 0) : mark.start()], text[mark.end() : mark.end() + 1]
    if before in _OPENING_QUOTES and after in _CLOSING_QUOTES:
        return True
    return after == " " and _NAMED_AFTER.match(text, mark.end()) is not None


def _read_mark(mark: re.Match[str]) -> tuple[str, _Role]:
    """The kind of reasoning to which a mark belongs, and its effect."""
    if tag := mark["tag"]:
        kind = "think" if "th" in tag[:5].lower() else tag.lower()
        return kind, _Role.ENDS if mark["tag_ends"] else _Role.BEGINS
    if mark["token"]:
        return _TOKENS[mark["token"].lower()]
    if mark["channel"]:
        is_answer = mark["channel"].lower() == "final"
        return _HARMONY, _Role.ANSWER_FOLLOWS if is_answer else _Role.BEGINS
    if mark["start"]:
        return _HARMONY, _Role.NOTHING
    if mark["gemma"] or mark["gemma_ends"]:
        return "gemma", _Role.BEGINS if mark["gemma"] else _Role.ENDS
    return "bracket", _Role.ENDS if mark["bracket_ends"] else _Role.BEGINS
