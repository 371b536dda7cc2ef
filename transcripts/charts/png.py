"""A drawing as PNG, with a font that comes with the program, for a server may have none."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

FAMILY = "Source Sans Pro"
ZOOM = 2.0
"""Pixels per unit of a drawing: sharp in print at the size it has on a page."""
_MISSING = "PNG needs the package {}, which is not installed here. Take the SVG instead."
_FACES = ("SourceSansPro-Regular.ttf", "SourceSansPro-Bold.ttf")


class NoRenderer(Exception):
    """The sentence says what is missing here."""


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
        # Without a font the renderer would leave out every word and say nothing.
        raise NoRenderer("The font for PNG figures is damaged here. Take the SVG instead.")
    return bytes(
        resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, font_files=faces, font_family=FAMILY, sans_serif_family=FAMILY)
    )
