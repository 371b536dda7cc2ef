"""Answers as text that a reviewer can read: pages without markup, the beginning of long lists, no value that changes by itself."""

import csv
import difflib
import hashlib
import json
import re

import lxml.html

# Items of a list and rows of a table that are written out.
LISTED = 3
# Lines of a copy, and characters of a line, that are written out.
LINES = 100
LINE = 200
MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
# What differs from one run to the next: the pattern, and what is written in its place.
CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[.\d]*(?:Z|[+-]\d\d:?\d\d)?"), "(time)"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "(day)"),
    (
        re.compile(rf"(?:[MTWFS][a-z]+day, )?(?<!\d)\d{{1,2}} (?:{MONTHS})[a-z]* \d{{4}}(?:, \d\d:\d\d(?::\d\d)?)?"),
        "(day)",
    ),
    (re.compile(r"(?<!\d)\d\d:\d\d(?::\d\d)?(?!\d)"), "(clock)"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "(uuid)"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "(sha256)"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "(uuid)"),
    (re.compile(r"\b[0-9a-f]{16}:\d+:[0-9a-f]{8}\b"), "(worker)"),
    (re.compile(r"name=seed value=\d+"), "name=seed value=(seed)"),
    (re.compile(r"[\d.,]+ answers a second"), "(speed) answers a second"),
    (re.compile(r"\d+ s from launch"), "(time) from launch"),
    (re.compile(r'"throughput": [\d.]+'), '"throughput": (speed)'),
)
BLOCKS = {
    "p",
    "div",
    "section",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "form",
    "fieldset",
    "details",
    "summary",
    "br",
    "hr",
}
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
# What a field takes, as its markup says it.
LIMITS = (
    "type",
    "name",
    "value",
    "maxlength",
    "minlength",
    "min",
    "max",
    "step",
    "required",
    "accept",
    "checked",
    "disabled",
)


def settle(text):
    """The text without what differs from one run to the next."""
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return text


def shorten_json(value):
    """The same with each long list cut to its first items, followed by how many there are and a hash of them all."""
    if isinstance(value, dict):
        return {key: shorten_json(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    short = [shorten_json(each) for each in value[:LISTED]]
    if len(value) > LISTED:
        short.append(f"{len(value)} in all, {find_hash(settle(json.dumps(value, sort_keys=True)))}")
    return short


def write_json(value):
    return write_head(json.dumps(shorten_json(value), indent=1, ensure_ascii=False))


def write_table(text):
    """A CSV file: its headings, its first rows with one line for each cell that is not empty, and a hash of the whole."""
    header, *rows = csv.reader(text.splitlines(keepends=True))
    lines = [f"columns: {', '.join(header)}"]
    for number, row in enumerate(rows[:LISTED], start=1):
        lines.append(f"row {number}")
        lines += [f"  {name}: {cell!r}" for name, cell in zip(header, row, strict=True) if cell]
    return write_head("\n".join([*lines, f"{len(rows)} rows in all, {find_hash(settle(text))}"]))


def write_head(text):
    """The beginning of a text; where that is not all, a hash of the whole."""
    text = settle(text)
    lines = text.splitlines()
    head = [line if len(line) <= LINE else f"{line[:LINE]}…" for line in lines[:LINES]]
    if head != lines:
        head.append(f"{len(lines)} lines in all, {find_hash(text)}")
    return "\n".join(head) + "\n"


def write_difference(text, other):
    """The lines in which a text differs from another, as a diff shows them."""
    return "\n".join(difflib.unified_diff(other.splitlines(), text.splitlines(), n=0, lineterm="")) + "\n"


def find_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_page(page):
    """What a page says, a line for each block, row or field, with the addresses of its links."""
    document = lxml.html.document_fromstring(page)
    main = document.find(".//main")
    text = "".join(_read(main if main is not None else document))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _read(element):
    if not isinstance(element.tag, str) or element.tag in {"script", "style", "svg", "template"}:
        yield element.tail or ""
        return
    tag = element.tag
    if tag == "tr":
        cells = (" ".join("".join(_read_children(cell)).split()) for cell in element.iterfind("./*"))
        yield f"\n{' | '.join(cells)}\n{element.tail or ''}"
        return
    if tag in HEADINGS:
        yield f"\n{HEADINGS[tag]} "
    elif tag in BLOCKS:
        yield "\n"
    if tag in {"input", "select", "textarea", "button"} and element.get("name") != "csrfmiddlewaretoken":
        yield f"\n({' '.join([tag, *_list_limits(element)])}) "
    if tag in {"span", "time"}:
        yield " "
    if tag == "option":
        yield f" {'*' if element.get('selected') is not None else ''}{element.get('value', '')}="
    yield from _read_children(element)
    if tag == "a":
        yield f" <{element.get('href', '')}>"
    if tag in HEADINGS or tag in BLOCKS or tag == "button":
        yield "\n"
    yield element.tail or ""


def _read_children(element):
    yield element.text or ""
    for child in element:
        yield from _read(child)


def _list_limits(element):
    for name in LIMITS:
        value = element.get(name)
        if value is not None:
            yield f"{name}={value}" if value else name
