"""Style sheets take sizes, weights, spaces and corners from the tokens at the top of app.css."""

import re
from pathlib import Path

import pytest
from django.conf import settings

SHEETS = sorted((Path(settings.BASE_DIR) / "static" / "css").glob("*.css"))
DECLARATION = re.compile(r"(?<![\w-])(?P<name>--?[a-z0-9-]+|[a-z-]+):\s*(?P<value>[^;{}]+);")
RAW_SIZE = re.compile(r"(?<![\w.-])-?\d*\.?\d+(?:rem|em|px|pt)\b")
SPACES = re.compile(r"(row-|column-)?gap|(padding|margin)(-[a-z-]+)?")
# Drawings to scale, hairlines and what a camera must read.
HAIRLINES = {"1px", "1.5px", "2px", "3px", "-1px", "-2px"}
TOKENS = {"tiny", "small", "body", "large", "reading", "title", "number"}


def find_faults(css):
    """What in a sheet does not come from the tokens: ``property: value`` for each."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    # Sheets of paper are measured in points.
    css = re.sub(r"@media print \{.*?\n  \}\n", "", css, flags=re.DOTALL)
    faults = []
    for found in DECLARATION.finditer(css):
        name, value = found["name"], found["value"].strip()
        raw = [size for size in RAW_SIZE.findall(re.sub(r"clamp\([^)]*\)", "", value)) if size not in HAIRLINES]
        if (
            (name in {"font", "font-size", "border-radius"} and raw and value not in {"0", "50%"})
            or (SPACES.fullmatch(name) and raw and not all(size.endswith("em") and "rem" not in size for size in raw))
            or (name == "font-weight" and value not in {"400", "600", "inherit"})
            or (name == "font" and re.match(r"(?!400|600|italic|inherit)\d{3}\b", value))
            or ("color-mix" in value and re.search(r"\) \d+%", value))
        ):
            faults.append(f"{name}: {value}")
    return faults


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_sizes_and_hues_come_from_the_tokens(sheet):
    assert find_faults(sheet.read_text(encoding="utf-8").split("@layer base", 1)[-1]) == []


@pytest.mark.parametrize(
    "rule",
    [
        "p { font-size: 0.95rem; }",
        "p { font: 400 15px/1.5 var(--sans); }",
        "p { font-weight: 650; }",
        "p { padding: 0.3rem var(--s2); }",
        "p { margin-block-start: 10px; }",
        "p { gap: 0.7rem; }",
        "p { border-radius: 6px; }",
        "p { background: color-mix(in oklab, var(--bad) 9%, var(--sheet)); }",
    ],
)
def test_a_size_of_its_own_is_found(rule):
    assert len(find_faults(rule)) == 1


def test_app_css_has_every_token_once():
    css = SHEETS[[sheet.name for sheet in SHEETS].index("app.css")].read_text(encoding="utf-8")
    tokens = css.split("@layer base", 1)[0]
    for token in (
        *TOKENS,
        *(f"s{step}" for step in range(1, 8)),
        "round",
        "round-card",
        "control",
        "control-small",
        "bar",
    ):
        assert len(re.findall(rf"--{token}:", tokens)) == 1, token
