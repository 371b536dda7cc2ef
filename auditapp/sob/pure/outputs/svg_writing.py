"""Write an accessible SVG by hand: text stays text, colours are attributes, nothing is loaded from elsewhere.

No style attribute and no style sheet, which the pages' content policy would refuse when a figure stands in one. The
ground is drawn, so that a figure reads the same on paper, on a light page and on a dark one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

PAPER = "#ffffff"
INK = "#1b1f24"
QUIET = "#4f5965"
LINE = "#c9d0d8"
ACCENT = ("#1f5f99", "#b4511b")
"""The two tasks; their marks differ in shape as well."""
FONT = "Source Sans Pro, Helvetica, Arial, sans-serif"

# What no XML 1.0 document may hold, and what turns the direction of the words around it.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_LIGHT, _DARK = (246, 249, 252), (26, 82, 134)


class Box(NamedTuple):
    """A place on the drawing; of a line, where it begins and how far it goes each way."""

    x: float
    y: float
    width: float
    height: float = 0


class Svg:
    """A figure that grows by its parts and is written at the end. ``figure`` names it among figures of one page."""

    def __init__(self, *, figure: str, width: int, height: int, title: str, description: str) -> None:
        self.width, self.height = width, height
        size = f'width="{width}" height="{height}"'
        named = f'role="img" aria-labelledby="{figure}-title {figure}-desc"'
        words = f'font-family="{FONT}" font-size="12" fill="{INK}"'
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {named} {words}>',
            f'<title id="{figure}-title">{show(title)}</title>',
            f'<desc id="{figure}-desc">{show(description)}</desc>',
            f'<rect {size} fill="{PAPER}"/>',
        ]

    def add(self, part: str) -> None:
        """One element as it is written."""
        self._parts.append(part)

    def text(self, x: float, y: float, words: str, **attributes: object) -> None:
        """Words with their left end at x; ``anchor`` "middle" or "end", ``turn`` in degrees."""
        turn = attributes.pop("turn", None)
        anchor = attributes.pop("anchor", None)
        named = [f'x="{x:g}" y="{y:g}"']
        if anchor:
            named.append(f'text-anchor="{anchor}"')
        if turn:
            named.append(f'transform="rotate({turn} {x:g} {y:g})"')
        named += [f"{name.replace('_', '-')}={quoteattr(str(value))}" for name, value in attributes.items()]
        self._parts.append(f"<text {' '.join(named)}>{show(words)}</text>")

    def rect(self, box: Box, fill: str, words: str = "") -> None:
        """A filled rectangle; ``words`` are its tooltip."""
        inside = f"<title>{show(words)}</title>" if words else ""
        shape = f'x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" fill="{fill}"'
        self._parts.append(f"<rect {shape}>{inside}</rect>" if inside else f"<rect {shape}/>")

    def line(self, box: Box, stroke: str = LINE, width: float = 1) -> None:
        """A straight line from one corner of the box to the other."""
        ends = f'x1="{box.x:g}" y1="{box.y:g}" x2="{box.x + box.width:g}" y2="{box.y + box.height:g}"'
        self._parts.append(f'<line {ends} stroke="{stroke}" stroke-width="{width:g}"/>')

    def lines_of_text(self, x: float, y: float, lines: Sequence[str], **attributes: object) -> None:
        """Lines below each other."""
        for number, line in enumerate(lines):
            self.text(x, y + 15 * number, line, **attributes)

    def write(self) -> str:
        """The whole document."""
        return "\n".join([*self._parts, "</svg>", ""])


def show(words: str) -> str:
    """Words as XML text on one line."""
    return escape(_UNWRITABLE.sub("", " ".join(words.split())))


def shorten(words: str, most: int) -> str:
    """The words in at most so many characters."""
    line = " ".join(words.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def mix_shade(share: float) -> str:
    """A colour between the light and the dark end of the scale, for a share from 0 to 1."""
    part = min(max(share, 0.0), 1.0)
    return "#" + "".join(
        f"{round(light + (dark - light) * part):02x}" for light, dark in zip(_LIGHT, _DARK, strict=True)
    )


def choose_ink(share: float) -> str:
    """Black or white, whichever reads better on ``mix_shade`` of the same share; at least 4.5 to one on every shade."""
    shade = mix_shade(share)
    linear = [_linearise(int(shade[place : place + 2], 16) / 255) for place in (1, 3, 5)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) else "#ffffff"


def _linearise(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
