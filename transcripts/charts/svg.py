"""A laid-out chart as SVG: for a page, coloured by its style sheet (light and dark); for a file, with colours on white.

A page's drawing has classes and no style, which the content policy would refuse. A file has colours as attributes, a title
and its notes, so that it can stand alone.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from xml.sax.saxutils import escape, unescape

PAPER, INK, QUIET, HAIR, EDGE = "#ffffff", "#1d1f22", "#54585f", "#dfdbd0", "#7c796e"
FAMILY = "Source Sans Pro"
FONT = f"{FAMILY}, Helvetica, Arial, sans-serif"
SERIES = ("#0a5c59", "#585962", "#77346a", "#0c5684")
"""Colours of the series on paper, which are those of the page's light scheme. The marks differ in shape as well."""
TONES = {"good": "#23652c", "warn": "#854800", "bad": "#9b1f2e", "none": QUIET}
SHADES = 20
_LIGHT, _DARK = (249, 253, 252), (0, 82, 78)
SIZE = 13.0
SMALL = 11.5

# Characters that no XML 1.0 document may contain, and those that change the direction of the words around them.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)

_PLAIN = re.compile(r"(?:[\w.,:;/()%$+–−-]+(?: [\w.,:;/()%$+–−-]+)*)?")


@dataclass(frozen=True)
class Shape:
    """One element. ``style`` is its class on a page, and is replaced by the attributes in ``STYLES`` in a file."""

    tag: str
    style: str
    at: Mapping[str, float | str]
    words: str = ""


@dataclass
class Mark:
    """Shapes that together show one thing: ``label`` states it in words, ``href`` leads to its source.

    Without a label the shapes only guide the eye, as the lines of a scale do.
    """

    shapes: list[Shape] = field(default_factory=list)
    label: str = ""
    href: str = ""


@dataclass
class Drawing:
    """A chart with the place of every mark."""

    width: float
    height: float
    marks: list[Mark]


STYLES: dict[str, dict[str, str]] = {
    "name": {"fill": INK},
    # Readable where a line of the scale runs behind it.
    "head": {"fill": INK, "font-weight": "bold", "paint-order": "stroke", "stroke": PAPER, "stroke-width": "4"},
    "text": {"fill": INK},
    "soft": {"fill": QUIET},
    "tick": {"fill": QUIET, "font-size": f"{SMALL:g}"},
    "row": {"fill": "none"},
    "hair": {"stroke": HAIR, "fill": "none"},
    "axis": {"stroke": EDGE, "fill": "none"},
    "line": {"stroke": SERIES[0], "fill": "none", "stroke-width": "1.5"},
    "reference": {"stroke": QUIET, "fill": "none", "stroke-dasharray": "4 3"},
    "circle": {"fill": "#c6dfdc", "stroke": SERIES[0]},
    **{f"dot{place}": {"fill": colour} for place, colour in enumerate(SERIES)},
    **{f"whisker{place}": {"stroke": colour, "stroke-width": "1.5"} for place, colour in enumerate(SERIES)},
    # Parts of a bar differ in their fill: solid, striped, outlined, pale.
    "part0": {"fill": SERIES[0]},
    "part1": {"stroke": SERIES[1]},
    "part2": {"fill": PAPER, "stroke": SERIES[2], "stroke-width": "1.5"},
    "part3": {"fill": HAIR, "stroke": EDGE},
    "stripe": {"stroke": SERIES[1], "stroke-width": "3"},
    **{f"tone-{tone}": {"fill": colour, "font-weight": "bold"} for tone, colour in TONES.items()},
    "tone-none": {"fill": QUIET},
}


def mix_shade(share: float) -> str:
    """A colour between the light and the dark end of the scale, for a share from 0 to 1."""
    part = min(max(share, 0.0), 1.0)
    return "#" + "".join(
        f"{round(light + (dark - light) * part):02x}" for light, dark in zip(_LIGHT, _DARK, strict=True)
    )


def choose_ink(colour: str) -> str:
    """Black or white, whichever is more readable on a colour: the contrast is at least 4.5 to 1 on any colour."""
    return "#000000" if contrast(colour, "#000000") >= contrast(colour, "#ffffff") else "#ffffff"


def contrast(one: str, other: str) -> float:
    """The ratio of two colours' luminances, as WCAG 2 counts it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


for _step in range(SHADES + 1):
    _shade = mix_shade(_step / SHADES)
    STYLES[f"h{_step}"] = {"fill": _shade, "stroke": PAPER}
    STYLES[f"on h{_step}"] = {"fill": choose_ink(_shade)}


def show(words: str) -> str:
    """Words as XML text on one line, which may stand in an attribute too."""
    if _PLAIN.fullmatch(words):
        return words
    return escape(_UNWRITABLE.sub("", " ".join(words.split())), {'"': "&quot;"})


def measure(words: str, size: float = SIZE) -> float:
    """About how wide words are drawn: an average letter is a little more than half as wide as it is high, a CJK one as wide."""
    if words.isascii():
        return size * 0.56 * len(words)
    return size * sum(1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.56 for letter in words)


def fit(words: str, width: float, size: float = SIZE) -> str:
    """The words on one line, cut where they are too wide for their place."""
    line = " ".join(words.split())
    if measure(line, size) <= width:
        return line
    while line and measure(f"{line}…", size) > width:
        line = line[:-1]
    return f"{line.rstrip()}…"


def fit_names(names: Sequence[str], width: float, size: float = SIZE) -> list[str]:
    """Names cut to ``width`` so that different names still look different: at the end, else in the middle, else after their common
    beginning, whichever keeps them apart."""
    lines = [" ".join(name.split()) for name in names]
    best = [fit(line, width, size) for line in lines]
    for cut in (_fit_middle, _fit_behind):
        if len(set(best)) == len(set(lines)):
            break
        best = max(best, [cut(line, lines, width, size) for line in lines], key=lambda found: len(set(found)))
    return best


def _fit_middle(line: str, lines: Sequence[str], width: float, size: float) -> str:
    kept = len(line)
    words = line
    while kept and measure(words, size) > width:
        kept -= 1
        words = f"{line[: (kept + 1) // 2].rstrip()}…{line[len(line) - kept // 2 :].lstrip()}"
    return words


def _fit_behind(line: str, lines: Sequence[str], width: float, size: float) -> str:
    if measure(line, size) <= width:
        return line
    others = [other for other in lines if other != line]
    shared = max((_count_alike(line, other) for other in others), default=0)
    return fit(f"{line[:8].rstrip()}…{line[max(shared - 4, 8) :]}", width, size)


def _count_alike(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@dataclass(frozen=True)
class PageSvg:
    """A drawing as it is on a page: its marks, and its title and description, for the page and for a file."""

    key: str
    title: str
    description: str
    width: float
    height: float
    marks: str


def write_page_svg(drawing: Drawing, *, key: str, title: str, description: str) -> PageSvg:
    """The drawing for a page: every mark with a label is a link, or an image, of that name."""
    parts = []
    for mark in drawing.marks:
        inside = "".join([_write(shape, key) for shape in mark.shapes])
        label = show(mark.label)
        if not label:
            parts.append(f'<g aria-hidden="true">{inside}</g>')
        elif mark.href:
            parts.append(f'<a href="{show(mark.href)}" aria-label="{label}"><title>{label}</title>{inside}</a>')
        else:
            parts.append(f'<g role="img"><title>{label}</title>{inside}</g>')
    return PageSvg(key, title, description, drawing.width, drawing.height, "".join(parts))


def embed(svg: PageSvg, shown: str = "") -> str:
    """The drawing as an element of a page. Its ids begin with ``chart-``, because a section about it has ids with the same key.

    ``shown`` is one more class: "wide" or "narrow", the screens on which it is shown.
    """
    size = f'width="{svg.width:g}" height="{svg.height:g}" viewBox="0 0 {svg.width:g} {svg.height:g}"'
    classes = f"chart-svg {shown}".rstrip()
    named, stripes = f"chart-{svg.key}", _define_stripes(svg.key, 'class="c-stripe"')
    return (
        f'<svg class="{classes}" {size} role="group" aria-labelledby="{named}-title {named}-desc" font-size="{SIZE:g}">'
        f'<title id="{named}-title">{show(svg.title)}</title><desc id="{named}-desc">{show(svg.description)}</desc>'
        f"{stripes}{svg.marks}</svg>"
    )


def write_file_svg(svg: PageSvg, *, summary: str = "", notes: Sequence[str] = ()) -> str:
    """The drawing as a separate document, with its title above and its notes below.

    It is made from what the page shows: classes become the attributes of ``STYLES``, and links and labels are removed.
    """
    key, width = svg.key, max(svg.width + 32, 480)
    labels = [unescape(label, {"&quot;": '"'}) for label in _LABEL.findall(svg.marks)]
    described = " ".join(f"{words.rstrip('.')}." for words in [summary, *labels] if words) or svg.description
    above = wrap(summary, width) if summary else []
    below = [line for note in notes if note for line in wrap(note, width)]
    top = 40 + 17 * len(above)
    height = top + svg.height + 16 + 16 * len(below)
    size = f'width="{width:g}" height="{height:g}"'
    lines = [f'<text x="16" y="{42 + 17 * place}">{show(line)}</text>' for place, line in enumerate(above)]
    first = top + svg.height + 16
    lines += [f'<text x="16" y="{first + 16 * n:g}" fill="{QUIET}">{show(line)}</text>' for n, line in enumerate(below)]
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:g} {height:g}" role="img" '
                f'aria-labelledby="{key}-title {key}-desc" font-family="{FONT}" font-size="{SIZE:g}" fill="{INK}">'
            ),
            f'<title id="{key}-title">{show(svg.title)}</title>',
            f'<desc id="{key}-desc">{show(described)}</desc>',
            _define_stripes(key, _list_attributes("stripe")),
            f'<rect {size} fill="{PAPER}"/>',
            f'<text x="16" y="24" font-size="16" font-weight="bold">{show(svg.title)}</text>',
            *lines,
            f'<g transform="translate(16 {top:g})">',
            _CLASS.sub(lambda found: f" {_list_attributes(_STYLE_OF[found[1]])}", _GROUP.sub(r"<\1g>", svg.marks)),
            "</g>",
            "</svg>",
            "",
        ]
    )


# Quotation marks in words are escaped, so that these patterns find only our own attributes.
_LABEL = re.compile(r"<title>([^<]*)</title>")
_GROUP = re.compile(r"<(/?)(?:a|g)(?: [^>]*)?>")
_CLASS = re.compile(r' class="([^"]*)"')


def _define_stripes(key: str, attributes: str) -> str:
    return (
        f'<defs><pattern id="{key}-stripes" width="6" height="6" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" {attributes}/></pattern></defs>'
    )


def _write(shape: Shape, key: str) -> str:
    """An element. The values in ``at`` are not user text: they are numbers and SVG keywords."""
    parts = [
        f' {name}="{value}"' if isinstance(value, str) else f' {name}="{value:g}"' for name, value in shape.at.items()
    ]
    if shape.style == "part1":
        parts.append(f' fill="url(#{key}-stripes)"')
    start = f'<{shape.tag}{"".join(parts)} class="{_name_class(shape.style)}"'
    return f"{start}>{show(shape.words)}</{shape.tag}>" if shape.words else f"{start}/>"


def _list_attributes(style: str) -> str:
    return " ".join(f'{name}="{value}"' for name, value in STYLES[style].items())


@cache
def _name_class(style: str) -> str:
    """The class of a style. Shades are those of every page (h0 to h20), for a background and for the words on it."""
    if style.startswith("on h"):
        return f"c-on {style[3:]}"
    return f"c-shade {style}" if style[0] == "h" and style[1:].isdigit() else f"c-{style}"


def wrap(words: str, width: float) -> list[str]:
    """Lines of words that fit below or above a drawing."""
    return textwrap.wrap(words, max(30, int((width - 32) / (SIZE * 0.5))))


_STYLE_OF = {_name_class(style): style for style in STYLES}


ZOOM = 2.0
"""Pixels per unit of a drawing: sharp in print at its size on a page."""
_MISSING = "PNG needs the package {}, which is not installed here. Take the SVG instead."
_FACES = ("SourceSansPro-Regular.ttf", "SourceSansPro-Bold.ttf")


class NoRenderer(Exception):
    """PNG cannot be written here; the message says what is missing."""


def write_png(svg: str, *, zoom: float = ZOOM) -> bytes:
    """The drawing as PNG. Raises ``NoRenderer``."""
    try:
        import resvg_py
    except ImportError as error:
        raise NoRenderer(_MISSING.format("resvg-py")) from error
    font = find_spec("font_source_sans_pro")
    if font is None or font.origin is None:
        raise NoRenderer(_MISSING.format("font-source-sans-pro"))
    faces = [str(Path(font.origin).parent / "files" / name) for name in _FACES]
    if not all(Path(face).is_file() for face in faces):
        # Without a font the renderer would leave out every word without an error.
        raise NoRenderer("The font for PNG figures is damaged here. Take the SVG instead.")
    return bytes(
        resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, font_files=faces, font_family=FAMILY, sans_serif_family=FAMILY)
    )
