"""Characters that nobody sees: controls, marks of direction, zero widths, tags. Knows nothing of Django.

They can turn words round, hide words or steer a terminal. A text keeps them, because it is evidence, and pages show each
with a badge and shut its effect in; names and titles lose them when a file is read.
"""

from __future__ import annotations

import re
import unicodedata

# What covers a name in a masked text, and what is in the place of the rest of it (redacting.py).
BLOCK, FILLER = "█", "\u2060"
# Arabic to Tibetan, where a joiner between two letters is spelling, not hiding. The Arabic letter mark is no letter.
_JOINED = "[\u0590-\u061b\u061d-\u0fff]"
HIDDEN = re.compile(
    # Controls other than tab and line breaks, soft hyphen, fillers that look like nothing, direction marks.
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    # Line and paragraph separators stay, as line breaks; embeddings, isolates and invisible operators go.
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    f"|[\u200c\u200d](?!{_JOINED})|(?<!{_JOINED})[\u200c\u200d]"
)
# What makes one picture of two characters, and how a sign is drawn: seen, though only with its neighbours.
_OF_PICTURES = frozenset("\u200d\ufe0e\ufe0f")


def mark_unseen(html: str) -> str:
    """Text that is escaped, or HTML whose attributes hold none of it, with a badge round each hidden character.

    The characters stay where they are, so that what a browser reads out of the page is the text to the character.
    """
    return HIDDEN.sub(_write_badge, html)


def drop_unseen(name: str) -> str:
    """A name or a title without hidden characters; the sign of a lost character where nothing else is in it."""
    if not HIDDEN.search(name):
        return name
    return HIDDEN.sub(lambda found: found[0] if _is_of_picture(found) else "", name) or "\ufffd"


def _is_of_picture(found: re.Match[str]) -> bool:
    """Whether it joins or draws what is seen, as in emoji."""
    before = found.string[found.start() - 1 : found.start()]
    return (
        found[0] in _OF_PICTURES and bool(before) and (unicodedata.category(before) == "So" or before in "\ufe0f#*‼⁉↔")
    )


def _is_of_block(found: re.Match[str]) -> bool:
    """Whether it belongs to what covers a name."""
    return found[0] == FILLER and found.string[: found.start()].rstrip(FILLER).endswith(BLOCK)


def _write_badge(found: re.Match[str]) -> str:
    if _is_of_picture(found) or _is_of_block(found):
        return found[0]
    point = f"U+{ord(found[0]):04X}"
    meaning = unicodedata.name(found[0], "control character").lower()
    return f'<span class="unseen" data-point="{point}" title="Hidden: {point}, {meaning}">{found[0]}</span>'
