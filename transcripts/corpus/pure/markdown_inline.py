"""Markdown inside a paragraph: which stretches of a text are emphasis, code and links, by their place in the text.

markdown-it-py reads the blocks of a turn (`markdown_lines`), but its inline tokens do not say where they stand, and the
desk counts characters. So the rules of CommonMark for emphasis, code spans, inline links, images, links in angle
brackets and backslashes are here once more, with those of GitHub for ``~~struck out~~``. Not read, and left as they
stand: raw HTML, entities, links by reference, bare addresses.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

Span = tuple[int, int, str]
"""Where a stretch begins and ends, and its style."""

SYNTAX, STRONG, EMPHASIS, STRUCK, CODE = "syntax", "strong", "em", "del", "code"
LINK, IMAGE, ADDRESS = "link", "image", "address"

HAS_SIGN = re.compile(r"[*_`~\\\[<]")
_SIGN = re.compile(r"[*_`~\\\[\]<]")
_RUN = re.compile(r"\*+|_+|~+|`+")
_ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]")
_ANGLE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>")
# Possessive throughout: a text of nothing but brackets and spaces takes no quadratic time.
_CHARACTER = r"[^\s()\\]|\\."
_TITLE = r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'"
_DESTINATION = re.compile(
    rf"\(\s*+(?:<[^<>\n]*+>|(?!<)(?:{_CHARACTER}|\((?:{_CHARACTER})*+\))*+)(?:\s++(?:{_TITLE}))?+\s*+\)"
)


@dataclass(slots=True)
class _Run:
    """A row of ``*``, ``_`` or ``~`` of which ``start`` to ``end`` is not used yet."""

    start: int
    end: int
    sign: str
    opens: bool
    closes: bool
    length: int

    def may_open(self, closer: _Run) -> bool:
        """Whether this run can be the beginning of what ``closer`` ends."""
        if not self.opens or self.sign != closer.sign:
            return False
        if not (self.closes or closer.opens) or self.sign == "~":
            return True
        return (self.length + closer.length) % 3 != 0 or (self.length % 3 == 0 and closer.length % 3 == 0)


@dataclass(slots=True)
class _Bracket:
    """A ``[`` or ``![`` that may begin a link; ``runs`` is the number of runs before it."""

    start: int
    end: int
    runs: int
    is_active: bool = True


def find_inline(text: str) -> list[Span]:
    """The styled stretches of one block of Markdown, in no order; none is empty, they nest and never cross.

    What is "syntax" stands for the style of its neighbours and is nothing to read.
    """
    reading = _Reading(text)
    at = 0
    while found := _SIGN.search(text, at):
        at = reading.take(found.start())
    reading.pair_runs(0)
    return reading.spans


class _Reading:
    """What was found so far in one text."""

    def __init__(self, text: str) -> None:
        self.spans: list[Span] = []
        self._text = text
        self._runs: list[_Run] = []
        self._brackets: list[_Bracket] = []
        self._ticks: dict[int, list[int]] | None = None

    def take(self, start: int) -> int:
        """Note what begins with the sign at ``start`` and return where to read on."""
        text, sign = self._text, self._text[start]
        if sign == "[":
            begin = start - 1 if start and text[start - 1] == "!" and not self._is_escaped(start - 1) else start
            self._brackets.append(_Bracket(begin, start + 1, len(self._runs)))
        elif sign == "]":
            return self._take_link(start, start + 1)
        elif sign == "\\":
            if _ESCAPE.match(text, start):
                self.spans.append((start, start + 1, SYNTAX))
                return start + 2
        elif sign == "<":
            if found := _ANGLE.match(text, start):
                self._wrap((start, start + 1), LINK, (found.end() - 1, found.end()))
                return found.end()
        elif found := _RUN.match(text, start):
            if sign == "`":
                return self._take_code(start, found.end())
            self._take_run(start, found.end())
            return found.end()
        return start + 1

    def _is_escaped(self, place: int) -> bool:
        return bool(self.spans) and self.spans[-1] == (place - 1, place, SYNTAX)

    def _wrap(self, before: tuple[int, int], style: str, after: tuple[int, int]) -> None:
        """Style what lies between two pieces of syntax."""
        self.spans += [(*before, SYNTAX), (*after, SYNTAX)]
        if before[1] < after[0]:
            self.spans.append((before[1], after[0], style))

    def _take_code(self, start: int, end: int) -> int:
        """A code span ends at the next row of as many backticks. One space at both its ends is syntax."""
        if self._ticks is None:
            self._ticks = defaultdict(list)
            for row in re.finditer("`+", self._text):
                self._ticks[row.end() - row.start()].append(row.start())
        rows = self._ticks.get(end - start, [])
        place = bisect_left(rows, end)
        if place == len(rows):
            return end
        stop = rows[place]
        content = self._text[end:stop].replace("\n", " ")
        space = 1 if content.startswith(" ") and content.endswith(" ") and content.strip(" ") else 0
        after = stop + end - start
        self._wrap((start, end + space), CODE, (stop - space, after))
        return after

    def _take_run(self, start: int, end: int) -> None:
        text, sign = self._text, self._text[start]
        if sign == "~" and end - start != 2:
            return
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        space_before, space_after = before.isspace(), after.isspace()
        point_before, point_after = _is_punctuation(before), _is_punctuation(after)
        is_left = not space_after and (not point_after or space_before or point_before)
        is_right = not space_before and (not point_before or space_after or point_after)
        opens, closes = is_left, is_right
        if sign == "_":
            opens = is_left and (not is_right or point_before)
            closes = is_right and (not is_left or point_after)
        if opens or closes:
            self._runs.append(_Run(start, end, sign, opens, closes, end - start))

    def _take_link(self, start: int, end: int) -> int:
        """A ``]``: with an address behind it, it ends the link or image that the last bracket began."""
        if not self._brackets:
            return end
        bracket = self._brackets.pop()
        address = _DESTINATION.match(self._text, end) if bracket.is_active else None
        if address is None:
            return end
        is_image = bracket.end - bracket.start > 1
        self._wrap((bracket.start, bracket.end), IMAGE if is_image else LINK, (start, end))
        self.spans.append((*address.span(), ADDRESS))
        self.pair_runs(bracket.runs)
        if not is_image:
            # A link holds no other link. Brackets before one that is known to begin none are known to begin none.
            for outer in reversed(self._brackets):
                if outer.end - outer.start == 1:
                    if not outer.is_active:
                        break
                    outer.is_active = False
        return address.end()

    def pair_runs(self, bottom: int) -> None:
        """Turn the runs from ``bottom`` on into emphasis, as far as they pair; the others stay text."""
        runs = self._runs
        # Below these places no run can open what a closer of this kind ends.
        floors: dict[tuple[str, bool, int], int] = {}
        place = bottom
        while place < len(runs):
            closer = runs[place]
            if not closer.closes:
                place += 1
                continue
            kind = (closer.sign, closer.opens, closer.length % 3)
            floor = floors.get(kind, bottom)
            opening = next((each for each in range(place - 1, floor - 1, -1) if runs[each].may_open(closer)), None)
            if opening is None:
                floors[kind] = place
                if closer.opens:
                    place += 1
                else:
                    del runs[place]
                continue
            opener = runs[opening]
            self._style(opener, closer)
            del runs[opening + 1 : place]
            place = opening + 1
            if opener.start == opener.end:
                del runs[opening]
                place -= 1
            if closer.start == closer.end:
                del runs[place]
            for each, lowest in floors.items():
                floors[each] = min(lowest, place)
        del runs[bottom:]

    def _style(self, opener: _Run, closer: _Run) -> None:
        size = 2 if min(opener.end - opener.start, closer.end - closer.start) > 1 else 1
        style = STRUCK if closer.sign == "~" else STRONG if size > 1 else EMPHASIS
        before, after = (opener.end - size, opener.end), (closer.start, closer.start + size)
        opener.end, closer.start = before[0], after[1]
        self._wrap(before, style, after)


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"
