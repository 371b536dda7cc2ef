"""Write an accessible SVG, and turn it into PNG. Text stays text, colours are attributes, nothing is loaded from elsewhere.

No style attribute and no style sheet, which the pages' content policy would refuse for a figure that is part of one. The
background is drawn, so that a figure reads the same on paper, on a light page and on a dark one.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

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
FAMILY = "Source Sans Pro"
FONT = f"{FAMILY}, Helvetica, Arial, sans-serif"
ZOOM = 2.0
"""Pixels per unit of a drawing: sharp in print at the size it has on a page."""
_MISSING = "PNG needs the package {}, which is not installed here. Take the SVG instead."
_FACES = ("SourceSansPro-Regular.ttf", "SourceSansPro-Bold.ttf")

# What no XML 1.0 document may hold, and what turns the direction of the words around it.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
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


def show(words: str) -> str:
    """Words as XML text on one line."""
    return escape(_UNWRITABLE.sub("", " ".join(words.split())))


def shorten(words: str, max_length: int) -> str:
    """The words in at most so many characters."""
    line = " ".join(words.split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


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


def wrap(words: str, width: int) -> list[str]:
    """Lines of notes that fit below a figure."""
    return textwrap.wrap(words, max(30, int((width - 32) / 5.9)))


class NoRenderer(Exception):
    """The sentence says what is missing here."""


def write_png(svg: str, *, zoom: float = ZOOM) -> bytes:
    """The drawing as PNG, words in a font that comes with the program. Raises ``NoRenderer``."""
    try:
        import resvg_py
    except ImportError as error:
        raise NoRenderer(_MISSING.format("resvg-py")) from error
    font = find_spec("font_source_sans_pro")
    if font is None or font.origin is None:
        raise NoRenderer(_MISSING.format("font-source-sans-pro"))
    faces = [str(Path(font.origin).parent / "files" / name) for name in _FACES]
    if not all(Path(face).is_file() for face in faces):
        # Without a font the renderer would leave out every word and say nothing.
        raise NoRenderer("The font for PNG figures is damaged here. Take the SVG instead.")
    return bytes(
        resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, font_files=faces, font_family=FAMILY, sans_serif_family=FAMILY)
    )
