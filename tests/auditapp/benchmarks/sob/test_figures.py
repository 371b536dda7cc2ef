"""Figures stand alone: accessible, without style, legible, and with their words also as pixels."""

import re
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from auditapp.benchmarks.sob.pure.attributions import published_mapping_rows, read_mapping
from auditapp.benchmarks.sob.pure.figures import draw_heat_map, draw_social_map
from auditapp.benchmarks.sob.pure.report import published_report
from auditapp.benchmarks.sob.pure.tables import write_file
from tests.auditapp.benchmarks.sob.reports import MODELS, ODD_VALUES, make_report
from transcripts.charts import svg as png_writing
from transcripts.charts.svg import NoRenderer, mix_shade, write_png

SVG = "{http://www.w3.org/2000/svg}"
Draw = Callable[[Mapping[str, Any]], str]


def write(report, key, **more):
    return write_file(report, key, "svg", mapping=published_mapping_rows(), **more).decode()


DRAWINGS = [
    lambda report: write(report, "heat"),
    lambda report: write(report, "ranks"),
    lambda report: write(report, "map"),
    lambda report: write(report, "map", model=MODELS[2]),
]


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_figure_is_accessible_and_carries_no_style_or_script(draw):
    svg = draw(make_report())
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    named = {element.get("id") for element in root if element.tag in {f"{SVG}title", f"{SVG}desc"}}
    assert set(str(root.get("aria-labelledby")).split()) == named
    assert all(element.text for element in root if element.tag in {f"{SVG}title", f"{SVG}desc"})
    assert not re.search(r"style|<script|href|\son\w+=|url\(|class=", svg)
    assert "Versions: report 1" in " ".join(element.text or "" for element in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("draw", DRAWINGS)
def test_every_word_lies_within_the_drawing(draw):
    root = ET.fromstring(draw(make_report()))
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for element in root.iter(f"{SVG}text"):
        assert 0 <= float(element.get("x") or -1) <= width
        assert 0 <= float(element.get("y") or -1) <= height


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (DRAWINGS[0], "A table of 0 models"),
        (DRAWINGS[1], "contains no Friedman test"),
        (DRAWINGS[2], "A dash: there is no such answer"),
        (DRAWINGS[3], "A dash: there is no such answer"),
    ],
)
@pytest.mark.parametrize("report", [{}, {"cells": [], "top_values": [], "friedman": []}])
def test_a_report_without_figures_is_drawn_without_any_and_says_so(draw, says, report):
    words = " ".join(element.text or "" for element in ET.fromstring(draw(report)).iter(f"{SVG}text"))
    assert says in words
    assert not re.search(r"attribution rate \d|percent of answers|\d [ds]\b", words)


def test_the_heat_map_prints_every_score_and_a_dash_where_there_is_none():
    texts = [element.text for element in ET.fromstring(draw_heat_map(make_report()).write()).iter(f"{SVG}text")]
    assert texts.count("–") == 2
    assert (texts.count("0.50"), texts.count("attribution rate 0.50")) == (2, 6)
    assert "2.90" in texts


def test_the_social_map_shades_by_the_share_it_prints():
    cells = re.findall(
        r'<title>([\d.]+) d percent of answers: muslim, White</title><rect [^>]*fill="(#\w+)"',
        write(make_report(), "map"),
    )
    assert cells == [("60.0", mix_shade(0.6))] * 2


def test_the_social_map_has_every_cell_and_marks_what_stands_for_whom():
    texts = [element.text for element in ET.fromstring(write(make_report(), "map")).iter(f"{SVG}text")]
    values = 3 + len(ODD_VALUES)
    assert texts.count("–") == 2 * values
    assert sum(bool(re.fullmatch(r"\d+\.\d( [sd])?", text or "")) for text in texts) == 2 * 9 * values
    assert texts.count("7.0 s") == 2
    own = read_mapping({"women": {"self": ["adult"], "dominant": []}}, "table 3")
    drawn = draw_social_map(make_report(), mapping=own).write()
    assert "0.0 s percent of answers: women, adult" in drawn
    assert "mapping: table 3" in " ".join(drawn.split())
    assert "60.0 d" not in drawn


def test_the_heat_map_has_the_published_rows_where_they_compare():
    drawn = draw_heat_map(make_report(), with_published=True).write()
    assert "5.33: gpt5.1-T (Table 4), acceptability, overall" in drawn
    assert "Table 4" in drawn
    assert "gpt5.1-T" not in draw_heat_map(make_report()).write()


def test_the_rank_plot_says_what_a_high_rank_means():
    svg = write(published_report(), "ranks")
    assert "Rank 10: most attributes; rank 1: fewest" in svg
    assert "mexican: Acceptability 7.96; Non-acceptability" in svg
    assert "chi-squared(9) = 29.951" in svg


def read_pixels(png):
    """Width, height and the raw RGBA bytes with their filter bytes undone for filter 0 to 4."""
    width, height = struct.unpack(">II", png[16:24])
    assert png[24:26] == b"\x08\x06"
    position, data = 8, b""
    while position < len(png):
        (size,) = struct.unpack(">I", png[position : position + 4])
        if png[position + 4 : position + 8] == b"IDAT":
            data += png[position + 8 : position + 8 + size]
        position += 12 + size
    return width, height, unfilter(zlib.decompress(data), width, height)


def unfilter(data, width, height):
    line = width * 4
    previous = bytearray(line)
    out = bytearray()
    for row in range(height):
        kind, current = data[row * (line + 1)], bytearray(data[row * (line + 1) + 1 : (row + 1) * (line + 1)])
        for place in range(line):
            left = current[place - 4] if place >= 4 else 0
            corner = previous[place - 4] if place >= 4 else 0
            current[place] = (current[place] + predict(kind, left, previous[place], corner)) & 255
        out += current
        previous = current
    return bytes(out)


def predict(kind, left, above, corner):
    if kind == 4:
        guess = left + above - corner
        return min((left, above, corner), key=lambda value: abs(guess - value))
    return (0, left, above, (left + above) // 2)[kind]


def count_dark(png):
    _, _, pixels = read_pixels(png)
    return sum(1 for place in range(0, len(pixels), 4) if sum(pixels[place : place + 3]) < 200)


SMALL = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="24" font-family="Source Sans Pro, sans-serif" font-size="16">'
    '<rect width="120" height="24" fill="#ffffff"/>{}</svg>'
)


def test_words_become_pixels():
    empty = count_dark(write_png(SMALL.format(""), zoom=1))
    regular = count_dark(write_png(SMALL.format('<text x="4" y="18">attributes</text>'), zoom=1))
    bold = count_dark(write_png(SMALL.format('<text x="4" y="18" font-weight="bold">attributes</text>'), zoom=1))
    assert empty == 0
    assert 100 < regular < bold


def test_a_figure_as_png_has_twice_the_size_of_the_drawing():
    svg = write(make_report(), "ranks")
    root = ET.fromstring(svg)
    width, height = struct.unpack(">II", write_png(svg)[16:24])
    assert (width, height) == tuple(round(2 * float(root.get(side) or 0)) for side in ("width", "height"))


def test_without_the_font_png_is_refused_and_not_drawn_blank(monkeypatch):
    monkeypatch.setattr(png_writing, "find_spec", lambda name: None)
    with pytest.raises(NoRenderer, match="font-source-sans-pro, which is not installed here"):
        write_png(SMALL)
    monkeypatch.undo()
    monkeypatch.setattr(png_writing, "_FACES", ("gone.ttf",))
    with pytest.raises(NoRenderer, match="damaged"):
        write_png(SMALL)
