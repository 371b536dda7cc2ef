"""The copy of a text that is sent to a machine, and the way back from it to the original. Knows nothing of Django.

In the copy the words of the study's redaction list are replaced; characters that nobody sees are dropped (direction and
tag characters, zero widths, variation selectors, controls); signs that some models take for the edge of a message, of a
block of code or of our own material are written with look-alikes. The text itself never changes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from transcripts.corpus.pure.redacting import Entry, find_places
from transcripts.formats.unseen import HIDDEN

OTHER_BREAKS = str.maketrans("\x85\u2028\u2029", "\n\n\n")
LOOK_ALIKES = str.maketrans("<>[]`~:#|", "‹›()'∼：＃¦")
# What every text with an edge contains, so that others are not searched.
SIGNS_OF_EDGES = ("<", "[", "]]", "```", "~~~", ">>>")
ROLES = "system|assistant|user|human|developer|model|tool|ai"
EDGES = re.compile(
    r"<{1,2}/?sys>{1,2}|<[|｜]|[|｜]>|<{2,}|>{3,}|\[\[|\]\]|`{3,}|~{3,}"
    rf"|</?\s{{0,9}}(?:{ROLES}|s|bos|eos|inst|instructions?|think(?:ing)?|(?:start|end)_of_turn|turn|message|im_(?:start|end)"
    r"|tool_\w+|function\w*|invoke|parameter|antml:\w+|material|answer|output|data)\b[^<>\n]{0,200}>"
    r"|\[/?(?:inst|sys|system|assistant|user|available_tools|tool_calls|tool_results)\]",
    re.IGNORECASE,
)
ROLE_LINES = re.compile(
    rf"^[ \t>*_]*(?:{ROLES})[*_ \t]*:|^#{{2,}}[ \t]*(?:{ROLES}|instructions?|input|response|new instructions?)\b",
    re.IGNORECASE | re.MULTILINE,
)


class Stretch(NamedTuple):
    """A part of the copy and the part of the original it stands for: character by character, or only as a whole."""

    start: int
    end: int
    original_start: int
    original_end: int
    is_verbatim: bool


class SentCopy(NamedTuple):
    """``text`` is what is sent. ``stretches`` are in order and leave no gap; none where every place is the same in both."""

    text: str
    stretches: tuple[Stretch, ...] = ()

    def find_original(self, start: int, end: int) -> tuple[int, int]:
        """The smallest part of the original that holds everything ``text[start:end]`` stands for (at least one character)."""
        if not self.stretches:
            return start, end
        first = self.stretches[bisect_right(self.stretches, start, key=lambda each: each.end)]
        last = self.stretches[bisect_left(self.stretches, end, key=lambda each: each.end)]
        return (
            first.original_start + (start - first.start if first.is_verbatim else 0),
            last.original_start + (end - last.start) if last.is_verbatim else last.original_end,
        )

    def find_copy(self, start: int, end: int) -> tuple[int, int]:
        """The part of the copy that stands for a part of the original. What was replaced as a whole lies where it begins."""
        return self._find_place(start), self._find_place(end)

    def _find_place(self, original: int) -> int:
        if not self.stretches:
            return original
        index = bisect_right(self.stretches, original, key=lambda each: each.original_end)
        if index == len(self.stretches):
            return len(self.text)
        stretch = self.stretches[index]
        if stretch.is_verbatim:
            return stretch.start + original - stretch.original_start
        return stretch.start if original == stretch.original_start else stretch.end


# Start and end of a part of the original, and the text in its place in the copy.
Change = tuple[int, int, str]


def make_copy(text: str, entries: Sequence[Entry]) -> SentCopy:
    """The copy of ``text``, with the entries of a redaction list (``redacting.read_stored``) applied."""
    dropped = [] if _is_plain(text) else [(*found.span(), "") for found in HIDDEN.finditer(text)]
    changes = _find_replaced(text, entries, dropped) if entries else dropped
    if not changes:
        return SentCopy(_blunt(text))
    copy = _change(text, changes)
    return SentCopy(_blunt(copy.text), copy.stretches)


def _is_plain(text: str) -> bool:
    """Whether there is nothing hidden in a text, as far as that shows at once."""
    return text.isascii() and text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable()


def _find_replaced(text: str, entries: Sequence[Entry], dropped: Sequence[Change]) -> list[Change]:
    """What is replaced, looked for where nothing hidden is left to keep it apart, with what is dropped elsewhere."""
    shown = _change(text, dropped)
    changes: list[Change] = []
    for found_start, found_end, entry in find_places(shown.text, entries):
        start, end = shown.find_original(found_start, found_end)
        changes.append((start, end, entries[entry].replacement))
    if not changes or not dropped:
        return changes or list(dropped)
    apart: list[Change] = []
    for change in sorted([*changes, *dropped]):
        if not apart or change[0] >= apart[-1][1]:
            apart.append(change)
    return apart


def _change(text: str, changes: Sequence[Change]) -> SentCopy:
    """The text with the changes made, which are in order and apart."""
    pieces: list[str] = []
    stretches: list[Stretch] = []
    original = place = 0
    for start, end, replacement in [*changes, (len(text), len(text), "")]:
        if start > original:
            pieces.append(text[original:start])
            stretches.append(Stretch(place, place + start - original, original, start, True))
            place += start - original
        if end > start:
            pieces.append(replacement)
            stretches.append(Stretch(place, place + len(replacement), start, end, False))
            place += len(replacement)
        original = end
    return SentCopy("".join(pieces), tuple(stretches) if changes else ())


def _blunt(text: str) -> str:
    """The text with look-alikes for what could pass for an edge. Its length stays as it is."""
    if not text.isascii():
        text = text.translate(OTHER_BREAKS)
    if any(sign in text for sign in SIGNS_OF_EDGES):
        text = EDGES.sub(_write_look_alikes, text)
    if ":" in text or "##" in text:
        text = ROLE_LINES.sub(_write_look_alikes, text)
    return text


def _write_look_alikes(found: re.Match[str]) -> str:
    return found[0].translate(LOOK_ALIKES)
