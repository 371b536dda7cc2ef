"""Drawings are accessible, carry nothing a page would refuse, and read in light, dark and print."""

import re
from xml.etree import ElementTree as ET

import pytest

from tests.support.instance import ROOT
from tests.transcripts.charts.samples import CHARTS, DOTS, HEAT
from transcripts.charts.figures import (
    Cell,
    Dot,
    GridChart,
    GridRow,
    Panel,
    PanelChart,
    Point,
    Reference,
    Row,
    RowChart,
    Verdict,
    tabulate,
)
from transcripts.charts.layout import lay_out
from transcripts.charts.svg import (
    SHADES,
    STYLES,
    choose_ink,
    contrast,
    embed,
    mix_shade,
    show,
    write_file_svg,
    write_page_svg,
    write_png,
)

SVG = "{http://www.w3.org/2000/svg}"


def draw(chart):
    return write_page_svg(lay_out(chart), key=chart.key, title=chart.title, description=chart.summary or chart.title)


def write_page(chart):
    return embed(draw(chart))


def write_file(chart):
    return write_file_svg(draw(chart), summary=chart.summary, notes=[chart.note])


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_a_drawing_on_a_page_has_a_name_and_no_style(chart):
    written = write_page(chart)
    root = ET.fromstring(written)
    names = {element.get("id") for element in root if element.tag in {"title", "desc"} and element.text}
    assert set(str(root.get("aria-labelledby")).split()) == names
    assert not re.search(r" style=|<style|<script|\son\w+=|#[0-9a-f]{6}", written)
    for element in root:
        if element.tag in {"a", "g"}:
            assert element.get("aria-hidden") == "true" or element.findtext("title")
            assert element.tag == "g" or element.get("aria-label") == element.findtext("title")


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_every_mark_is_named_and_leads_where_its_row_does(chart):
    root = ET.fromstring(write_page(chart))
    links = {element.get("href") for element in root.iter("a")}
    assert links == ({"/units/?code=care&cell=both"} if chart is DOTS else {"/x?a=1&b=2"} if chart is HEAT else set())
    if chart is DOTS:
        [link] = root.iter("a")
        assert link.get("aria-label") == "Care: people 0.50, 0.25 to 0.75; machine 1.00; usable"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_a_file_stands_alone(chart):
    written = write_file(chart)
    root = ET.fromstring(written)
    assert not re.search(r"class=|<style|<script|href|var\(", written)
    words = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
    assert chart.title in words
    assert (chart.note or "") in words
    description = root.find(f"{SVG}desc")
    assert description is not None
    assert chart.summary in str(description.text)
    if chart is DOTS:
        assert "Care: people 0.50, 0.25 to 0.75; machine 1.00; usable." in str(description.text)
    assert len(list(root.iter())) > 12
    assert write_png(written).startswith(b"\x89PNG")


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_the_table_behind_a_chart_has_its_rows_and_its_words(chart):
    heads, rows = tabulate(chart)
    assert all(len(row) == len(heads) for row in rows)
    printed = [shape.words for mark in lay_out(chart).marks for shape in mark.shapes if shape.style == "text"]
    cells = {words for row in rows for words in row} | set(heads)
    figures = [words for words in printed if words and not words.endswith("…") and re.match(r"[\d$]", words)]
    assert set(figures) <= cells


def read_tokens():
    """The colours of the pages, light and dark, by their names."""
    sheet = (ROOT / "static/css/app.css").read_text()
    return {
        name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", sheet)
    }


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_words_and_marks_stand_out_on_the_page_in_light_and_dark(scheme):
    tokens = {name: colours[scheme] for name, colours in read_tokens().items()}
    for ground in ("sheet", "well"):
        for name in ("ink", "soft", "good", "warn", "bad", "accent"):
            assert contrast(tokens[name], tokens[ground]) >= 4.5, (name, ground)
        for name in ("accent", "machine", "themes", "moves", "edge"):
            assert contrast(tokens[name], tokens[ground]) >= 3, (name, ground)


def test_a_file_has_the_colours_of_the_light_page():
    tokens = {name: colours[0] for name, colours in read_tokens().items()}
    sheet = (ROOT / "static/css/charts.css").read_text()
    named = {"name": "ink", "soft": "soft", "tone-good": "good", "tone-warn": "warn", "tone-bad": "bad"}
    named |= {"dot0": "accent", "dot1": "machine", "dot2": "themes", "dot3": "moves"}
    for style, token in named.items():
        assert STYLES[style]["fill"] == tokens[token]
        assert re.search(rf"\.c-{style}\b[^}}]*fill: var\(--{token}\)", sheet), style
    for style, attributes in STYLES.items():
        if style.startswith(("tone", "name", "text", "head", "soft", "tick")):
            assert contrast(attributes["fill"], "#ffffff") >= 4.5


def test_figures_read_on_every_shade():
    for step in range(SHADES + 1):
        shade = mix_shade(step / SHADES)
        assert contrast(shade, choose_ink(shade)) >= 4.5
    sheet = (ROOT / "static/css/app.css").read_text()
    shades = re.findall(r"\.h\d+ \{ --shade: light-dark\((\S+), (\S+)\); --on-shade: light-dark\((\S+), (\S+)\)", sheet)
    assert len(shades) == SHADES + 1
    long = {"#000": "#000000", "#fff": "#ffffff"}
    assert all(contrast(a, long[c]) >= 4.5 and contrast(b, long[d]) >= 4.5 for a, b, c, d in shades)


def test_every_style_of_a_drawing_is_in_the_sheet():
    sheet = (ROOT / "static/css/charts.css").read_text()
    used = {shape.style for chart in CHARTS for mark in lay_out(chart).marks for shape in mark.shapes}
    for style in used | {"stripe"}:
        name = "on" if style.startswith("on h") else "shade" if re.fullmatch(r"h\d+", style) else style
        assert f".c-{name}" in sheet, style
        assert style in STYLES


@pytest.mark.parametrize("write", [write_page, write_file])
def test_words_of_people_are_escaped(write):
    name = """<script>alert(1)</script> " onload="x" ' & \x00\u202e"""
    row = Row(name, [Dot(0.5, text=name)], verdict=Verdict(name), href=f"/?q={name}", group=name)
    panel = Panel(name, [Point(name, 0.5, name)], Verdict(name), href=name)
    for chart in (
        RowChart(
            "a", name, [row], series=(name,), unit=name, references=(Reference(0.5, name),), summary=name, note=name
        ),
        PanelChart("b", name, [panel], unit=name, summary=name, note=name),
        GridChart("c", name, [name], [GridRow(name, [Cell(1, name, name, name)], Verdict(name))], summary=name),
    ):
        root = ET.fromstring(write(chart))
        assert not [element for element in root.iter() if "script" in element.tag]
        assert not [element for element in root.iter() if any(key.startswith("on") for key in element.attrib)]


def test_words_that_look_like_our_own_elements_stay_words_in_a_file():
    name = '<a href="x" class="c-dot0">" aria-label="y"'
    root = ET.fromstring(write_file(RowChart("a", "A", [Row(name, [Dot(0.5, text=name)])], series=("x",))))
    words = [element.text for element in root.iter(f"{SVG}title")]
    assert words == ["A", f"{name}: {name}"]


@pytest.mark.parametrize("words", ["", " ", "a  b", "0.50, 0.25 to 0.75", 'a "b" & <c>', "−0.12", "é\t\n–", "a\u202eb"])
def test_words_are_written_on_one_line_and_read_back(words):
    read = ET.fromstring(f'<x y="{show(words)}">{show(words)}</x>')
    assert (read.text or "") == read.get("y") == " ".join(words.split()).replace("\u202e", "")
