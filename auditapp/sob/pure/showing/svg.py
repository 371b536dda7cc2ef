"""Write an accessible SVG. Text stays text, colours are attributes, nothing is loaded from elsewhere.

No style attribute and no style sheet, which the pages' content policy would refuse for a figure that is part of one. The
background is drawn, so that a figure reads the same on paper, on a light page and on a dark one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from transcripts.charts.png import FAMILY
from transcripts.charts.svg import choose_ink as choose_ink_on
from transcripts.charts.svg import fit_names, measure, show

PAPER = "#ffffff"
INK = "#1b1f24"
QUIET = "#4f5965"
LINE = "#c9d0d8"
CELL_W, CELL_H = 40, 24
LEFT = 150
"""Where the cells of a figure begin; the names of rows are left of them."""
LABEL = 22
"""Characters of such a name."""
ACCENT = ("#1f5f99", "#b4511b")
"""The two tasks; their marks differ in shape as well."""
FONT = f"{FAMILY}, Helvetica, Arial, sans-serif"
_LIGHT, _DARK = (246, 249, 252), (26, 82, 134)


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

    def rect(self, x: float, y: float, width: float, height: float, *, fill: str, words: str = "") -> None:
        """A filled rectangle; ``words`` are its tooltip."""
        inside = f"<title>{show(words)}</title>" if words else ""
        shape = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"'
        self._parts.append(f"<rect {shape}>{inside}</rect>" if inside else f"<rect {shape}/>")

    def cell(self, x: float, y: float, width: float, figure: str, *, share: float, words: str) -> None:
        """A figure on the shade of its share, with a tooltip; a dash where there is none."""
        middle = x + width / 2 - 1
        if not figure:
            self.text(middle, y + 16, "–", anchor="middle", fill=QUIET)
            return
        self.rect(x, y, width - 2, CELL_H - 2, fill=mix_shade(share), words=f"{figure}: {words}")
        self.text(middle, y + 16, figure, anchor="middle", fill=choose_ink(share))

    def line(self, x: float, y: float, across: float, down: float, *, stroke: str = LINE, width: float = 1) -> None:
        """A straight line from a point, so far across and down."""
        ends = f'x1="{x:g}" y1="{y:g}" x2="{x + across:g}" y2="{y + down:g}"'
        self._parts.append(f'<line {ends} stroke="{stroke}" stroke-width="{width:g}"/>')

    def lines_of_text(self, x: float, y: float, lines: Sequence[str], **attributes: object) -> None:
        """Lines below each other."""
        for number, line in enumerate(lines):
            self.text(x, y + 15 * number, line, **attributes)

    def write(self) -> str:
        """The whole document."""
        return "\n".join([*self._parts, "</svg>", ""])


def shorten(words: str, max_length: int) -> str:
    """The words in at most so many characters."""
    line = " ".join(words.split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


def shorten_all(names: Sequence[str], max_length: int) -> list[str]:
    """The names, each with at most that number of characters, cut so that they stay different."""
    return fit_names(names, measure("n" * max_length))


def mix_shade(share: float) -> str:
    """A colour between the light and the dark end of the scale, for a share from 0 to 1."""
    part = min(max(share, 0.0), 1.0)
    return "#" + "".join(
        f"{round(light + (dark - light) * part):02x}" for light, dark in zip(_LIGHT, _DARK, strict=True)
    )


def choose_ink(share: float) -> str:
    """Black or white, whichever reads better on ``mix_shade`` of the same share."""
    return choose_ink_on(mix_shade(share))


def wrap(words: str, width: int) -> list[str]:
    """Lines of notes that fit below a figure."""
    return textwrap.wrap(words, max(30, int((width - 32) / 5.9)))
