"""Word and OpenDocument texts as lines, and conversations as tables.

In a document, paragraphs, rows of tables, notes (in their place) and text boxes (separately) are read; what is left out is
counted. A table row with a speaker and her words, possibly with a time, becomes a line as in plain text: "[00:12] Ana: Why?".

A table has the speaker and her words, one turn per row. One file is one interview.

    speaker,text                             speaker;text;time
    Interviewer,"How, then?"                 Interviewer;How, then?;2026-03-01T10:00:00
    Model,I weigh.                           Model;I weigh.;2026-03-01T10:00:09

Commas, semicolons or tabs separate the columns, quotation marks enclose a cell. The columns for the speaker and the text are
found by their headings, in any order. A column ``role`` (interviewer, model, system or tool) gives the role of the speaker; a
``time`` is kept with its turn. Other columns are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import StringIO
from typing import Any, NamedTuple

from transcripts.formats.codebook_rules import fold_heading, list_words
from transcripts.formats.guarded_input import Element, XmlReader, ZipInput
from transcripts.formats.interviews.base import (
    MAX_WHOLE_SIZE,
    ROLES,
    ReadFile,
    ReadInterview,
    ReadTurn,
    Source,
    list_left_out,
)
from transcripts.formats.interviews.speaker_text import SPAN, assign_roles, find_starts, is_usual, plain_name
from transcripts.formats.json_lines import shorten
from transcripts.formats.problems import ReadError
from transcripts.formats.text_input import CsvError, explain_error, explain_width, find_delimiter, read_csv

WORD_DOCUMENT = "word/document.xml"
OPEN_DOCUMENT = "content.xml"
FROM_WORD = "The file is a Word document: its paragraphs, also those of tables, were read as lines."
FROM_OPEN_DOCUMENT = "The file is an OpenDocument text: its paragraphs, also those of tables, were read as lines."
# English, German, French, Spanish, Portuguese, Italian, Dutch, Chinese, Japanese.
HEADS = {
    "speaker": list_words(
        "speaker, name, who, author, from, person, sprecher, sprecher/in, sprecherin, sprechende, locuteur, locutrice, "
        "intervenant, hablante, persona, falante, parlante, spreker, 说话人, 話者"
    ),
    "text": list_words(
        "text, utterance, content, message, words, transcript, speech, said, transkript, äußerung, gesagtes, wortlaut, inhalt, "
        "aussage, texte, propos, texto, testo, tekst, 内容, 発言"
    ),
    "role": ["role"],
    "time": list_words(
        "time, timestamp, date, at, timecode, start, zeit, zeitmarke, uhrzeit, temps, heure, tiempo, hora, tempo, tijd, 时间, 時間"
    ),
}
"""Headings for the columns of a conversation, the most common first."""

_NOTES = (("word/footnotes.xml", "footnotes", "footnote"), ("word/endnotes.xml", "endnotes", "endnote"))
_COMMENTS = "word/comments.xml"
_MARGIN = re.compile(r"word/(?P<kind>header|footer)\d*\.xml")
_WORD = frozenset(
    {
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    }
)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
_REFERENCES = {"footnoteReference": "footnote", "endnoteReference": "endnote"}
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_SPACES = {"tab": "\t", "line-break": "\n"}
_TIMED = re.compile(rf"[\[(]?{SPAN}[\])]?")
_NUMBERED = re.compile(r"\d+[.)]?")
_NAME = re.compile(r"[^\W\d_][^\n:：]{0,59}")

_Row = Sequence[Sequence[str]]
"""The cells of a row, each with its lines."""


class DocumentText(NamedTuple):
    """A document as lines, the speakers in its tables, and sentences on what was changed or left out, each with its count."""

    text: str
    speakers: frozenset[str]
    counted: Counter[tuple[str, str]]


class _Lines:
    """The shared part of both kinds of documents: tables, boxes, and counts with singular and plural sentences."""

    def __init__(self) -> None:
        self.speakers: set[str] = set()
        self.counted: Counter[tuple[str, str]] = Counter()

    def count(self, one: str, more: str, times: int = 1) -> None:
        """Count an event by its sentence, given in the singular and, with "{}", in the plural."""
        if times:
            self.counted[one, more] += times

    def place_note(self, note: str) -> str:
        """Put a note, in brackets, in place of its sign."""
        self.count("A note was read in its place, in brackets.", "{} notes were read in their places, in brackets.")
        return f" [{note}]"

    def write_paragraph(self, words: str, boxes: Iterable[Sequence[str]]) -> Iterator[str]:
        """A paragraph, then the text boxes that are anchored in it."""
        boxes = [box for box in boxes if any(line.strip() for line in box)]
        if words.strip() or not boxes:
            yield words
        for box in boxes:
            self.count(
                "A text box was read after its paragraph, on its own.",
                "{} text boxes were read after their paragraphs, each on its own.",
            )
            lines = "\n".join(box).strip()
            yield lines if find_starts(lines) else f"[{lines}]"

    def write_table(self, rows: Sequence[_Row]) -> Iterator[str]:
        """The lines of a table or, if it has speakers and their words, one line for each row."""
        cells = [["\n".join(lines).strip() for lines in row] for row in rows]
        columns, has_head = _find_columns(cells)
        if not columns:
            yield from (line for row in rows for cell in row for line in cell)
            return
        for number, row in enumerate(cells):
            told = {what: row[place] for what, place in columns.items() if place < len(row)}
            if number == 0 and has_head:
                continue
            if len(row) < 2 or (number == 0 and told.get("time") and not _TIMED.fullmatch(told["time"])):
                yield from row
                continue
            name = told.get("speaker", "").rstrip(":： \u00a0").strip()
            words = told.get("text", "")
            time = f"[{told['time'].strip('[]() ')}] " if _TIMED.fullmatch(told.get("time", "")) else ""
            if name and words:
                self.speakers.add(name)
                yield f"{time}{name}: {words}"
            elif words:
                yield words
            for place, cell in enumerate(row):
                if cell and place not in columns.values() and not _NUMBERED.fullmatch(cell):
                    self.count(
                        "A cell of a table that is neither a speaker nor words was left out.",
                        "{} cells of tables that are neither speakers nor words were left out.",
                    )


def describe_counts(counted: Mapping[tuple[str, str], int]) -> list[str]:
    """Sentences on what a document contained, in the singular or plural."""
    return [one if times == 1 else more.replace("{}", f"{times:,}") for (one, more), times in counted.items()]


def find_heads(headings: Sequence[str]) -> dict[str, int]:
    """The positions of the known columns; of several candidates, the first in the order of ``HEADS``."""
    plain = [fold_heading(heading) for heading in headings]
    found = {what: next((plain.index(word) for word in words if word in plain), -1) for what, words in HEADS.items()}
    return {what: place for what, place in found.items() if place >= 0}


def _find_columns(cells: Sequence[Sequence[str]]) -> tuple[dict[str, int], bool]:
    """The columns with the speaker, the words and the time, recognised by their headings or their content; empty for another
    table. Also whether the first row has the headings."""
    named = find_heads(cells[0]) if cells else {}
    named.pop("role", None)
    if {"speaker", "text"} <= named.keys() and len(cells) > 1:
        return named, True
    body = [row for row in cells if len(row) > 1]
    width = max(map(len, body), default=0)
    columns = [[row[place] for row in body if place < len(row) and row[place]] for place in range(width)]
    times = [place for place, column in enumerate(columns) if _is_mostly(column, _TIMED.fullmatch)]
    speaker = next((place for place, column in enumerate(columns) if place not in times and _has_names(column)), -1)
    others = [
        place
        for place, column in enumerate(columns)
        if place > speaker and place not in times and not _is_mostly(column, _NUMBERED.fullmatch)
    ]
    if speaker < 0 or not others:
        return {}, False
    text = max(others, key=lambda place: sum(map(len, columns[place])))
    return {"speaker": speaker, "text": text, **({"time": times[0]} if times else {})}, False


def _is_mostly(column: Sequence[str], is_so: Callable[[str], object]) -> bool:
    return bool(column) and sum(is_so(cell) is not None for cell in column) * 5 >= len(column) * 4


def _has_names(column: Sequence[str]) -> bool:
    """Whether a column contains speakers: names that are repeated, or usual names."""
    names = [plain_name(cell.rstrip(":： \u00a0")) for cell in column if _NAME.fullmatch(cell.rstrip(":： \u00a0"))]
    if len(names) < 2 or len(names) * 5 < len(column) * 4:
        return False
    return len(set(names)) * 2 <= len(names) or sum(map(is_usual, names)) * 2 > len(names)


def read_word(archive: ZipInput) -> DocumentText:
    """The lines of a Word document. Raises ``InputRefused``."""
    lines = _WordLines()
    for entry, root, kind in _NOTES:
        if entry in archive:
            lines.read_notes(XmlReader(archive.read_chunks(entry), namespaces=_WORD, texts={"t"}), root, kind)
    reader = XmlReader(archive.read_chunks(WORD_DOCUMENT), namespaces=_WORD, texts={"t"})
    text = "".join(f"{line}\n" for line in lines.read_blocks(reader, reader.read_root("document")))
    reader.read_end()
    if _COMMENTS in archive:
        reader = XmlReader(archive.read_chunks(_COMMENTS), namespaces=_WORD, texts=set())
        comments = sum(child.tag == "comment" for child in reader.read_children(reader.read_root("comments")))
        lines.count("A comment was left out.", "{} comments were left out.", comments)
    for entry in archive.names:
        if found := _MARGIN.fullmatch(entry):
            reader = XmlReader(archive.read_chunks(entry), namespaces=_WORD, texts={"t"})
            margin = reader.read_root("hdr" if found["kind"] == "header" else "ftr")
            words = "".join(_WordLines().read_blocks(reader, margin))
            lines.count(
                "A header or footer was left out.", "{} headers and footers were left out.", bool(words.strip())
            )
    return DocumentText(text, frozenset(lines.speakers), lines.counted)


class _WordLines(_Lines):
    """The parts of a Word document, each read once from beginning to end."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: dict[tuple[str, str], str] = {}

    def read_notes(self, reader: XmlReader, root: str, kind: str) -> None:
        """Keep footnotes or endnotes until their signs are found."""
        for note in reader.read_children(reader.read_root(root)):
            words = " ".join(" ".join(self.read_blocks(reader, note)).split())
            if note.tag == kind and words:
                self._notes[kind, _attribute(note, "id")] = words
        reader.read_end()

    def read_blocks(self, reader: XmlReader, parent: Element) -> Iterator[str]:
        """The lines below an element."""
        for child in reader.read_children(parent):
            if child.tag == "p":
                words: list[str] = []
                boxes: list[list[str]] = []
                self._read_words(reader, child, words, boxes)
                yield from self.write_paragraph("".join(words), boxes)
            elif child.tag == "tbl":
                yield from self.write_table([list(row) for row in self._read_rows(reader, child)])
            elif not self._is_passed_over(child):
                yield from self.read_blocks(reader, child)

    def _read_rows(self, reader: XmlReader, parent: Element) -> Iterator[_Row]:
        for child in reader.read_children(parent):
            if child.tag == "tr":
                yield list(self._read_cells(reader, child))
            else:
                yield from self._read_rows(reader, child)

    def _read_cells(self, reader: XmlReader, parent: Element) -> Iterator[Sequence[str]]:
        for child in reader.read_children(parent):
            if child.tag == "tc":
                yield list(self.read_blocks(reader, child))
            else:
                yield from self._read_cells(reader, child)

    def _read_words(self, reader: XmlReader, parent: Element, words: list[str], boxes: list[list[str]]) -> None:
        for child in reader.read_children(parent):
            if child.tag == "t":
                words.append(reader.read_text(child))
            elif child.tag in _SIGNS:
                words.append(_SIGNS[child.tag])
            elif child.tag in _REFERENCES:
                note = self._notes.get((_REFERENCES[child.tag], _attribute(child, "id")))
                words.append(self.place_note(note) if note else "")
            elif child.tag == "txbxContent":
                boxes.append(list(self.read_blocks(reader, child)))
            elif not self._is_passed_over(child):
                self._read_words(reader, child, words, boxes)

    def _is_passed_over(self, child: Element) -> bool:
        """Whether an element is not part of the current text: deleted or moved passages, phonetic guides, and alternative forms
        for programs that do not know the first form."""
        if child.tag in {"del", "delText", "moveFrom"}:
            self.count("A deleted passage was left out.", "{} deleted passages were left out.")
            return True
        if child.tag.endswith(("}pic", "}imagedata")):
            self.count("A picture was left out.", "{} pictures were left out.")
            return True
        return child.tag == "rt" or child.tag.endswith("}Fallback")


def _attribute(element: Element, name: str) -> str:
    return next((value for key, value in element.attributes.items() if key.rpartition("}")[2] == name), "")


def read_open_document(archive: ZipInput, name: str) -> DocumentText:
    """The lines of an OpenDocument text. Raises `ReadError`."""
    from lxml import etree

    content = _read_entry(archive, OPEN_DOCUMENT, name)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ReadError(
            name, None, f"{OPEN_DOCUMENT}, which is not well-formed XML", "an undamaged document"
        ) from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise ReadError(name, None, f"{OPEN_DOCUMENT} with a document type declaration", "a document without one")
    lines = _OpenLines()
    text = "".join(f"{line}\n" for line in lines.read_blocks(root))
    return DocumentText(text, frozenset(lines.speakers), lines.counted)


def _read_entry(archive: ZipInput, entry: str, name: str) -> bytes:
    content = bytearray()
    for chunk in archive.read_chunks(entry):
        content += chunk
        if len(content) > MAX_WHOLE_SIZE:
            raise ReadError(name, None, f"{entry} of more than {MAX_WHOLE_SIZE:,} bytes", f"at most {MAX_WHOLE_SIZE:,}")
    return bytes(content)


class _OpenLines(_Lines):
    """The parts of an OpenDocument text."""

    def read_blocks(self, element: Any) -> Iterator[str]:
        """The lines below an element."""
        kind = _local(element)
        if kind in {"p", "h"}:
            boxes: list[list[str]] = []
            words = "".join(self._read_words(element, boxes))
            yield from self.write_paragraph(words, boxes)
        elif kind == "table":
            yield from self.write_table([self._read_row(row) for row in _find(element, "table-row")])
        elif not self._is_passed_over(element, kind):
            for child in element:
                yield from self.read_blocks(child)

    def _read_row(self, row: Any) -> _Row:
        return [[line for block in cell for line in self.read_blocks(block)] for cell in _find(row, "table-cell")]

    def _read_words(self, element: Any, boxes: list[list[str]]) -> Iterator[str]:
        yield element.text or ""
        for child in element:
            kind = _local(child)
            if kind == "s":
                count = child.get(f"{_TEXT}c", "")
                yield " " * (min(int(count[:9]), 1_000) if count.isdecimal() else 1)
            elif kind in _SPACES:
                yield _SPACES[kind]
            elif kind == "note":
                bodies = (body for body in child if _local(body) == "note-body")
                yield self.place_note(" ".join(" ".join(self.read_blocks(body)).strip() for body in bodies))
            elif kind == "text-box":
                boxes.append([line for block in child for line in self.read_blocks(block)])
            elif not self._is_passed_over(child, kind):
                yield from self._read_words(child, boxes)
            yield child.tail or ""

    def _is_passed_over(self, element: Any, kind: str) -> bool:
        if kind == "annotation":
            self.count("A comment was left out.", "{} comments were left out.")
        elif kind == "image":
            self.count("A picture was left out.", "{} pictures were left out.")
        elif kind == "tracked-changes":
            deleted = sum(1 for _ in _find(element, "deletion"))
            self.count("A deleted passage was left out.", "{} deleted passages were left out.", deleted)
        return kind in {"", "annotation", "image", "tracked-changes", "forms", "change", "ruby-text"}


def _find(element: Any, kind: str) -> Iterator[Any]:
    """The elements of a kind below another element, except nested ones and those in a table inside a cell."""
    for child in element:
        if _local(child) == kind:
            yield child
        elif _local(child) != "table":
            yield from _find(child, kind)


def _local(element: Any) -> str:
    """The name of an element without its namespace; "" for comments."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


FORMAT = "speaker_table"

# Headings of tables of codings and sentences, such as the exports of this program, whose rows are not turns.
_OTHER_TABLES = frozenset({"code", "code id", "coder", "sentence", "sentence id"})
_EXPECTED = "a first row with the columns speaker and text (commas, semicolons or tabs between them)"
_HEADING = re.compile(r"[^\W\d][\w/()-]{0,30}(?: [\w/()-]{1,30}){0,2}")


def is_speaker_table(text: str) -> bool:
    """Whether the first line is a heading with columns for the speaker and the words."""
    head = _read_head(text)
    columns = find_heads(head)
    is_other = any(fold_heading(heading) in _OTHER_TABLES for heading in head)
    return "text" in columns and ("speaker" in columns or "role" in columns) and not is_other


def find_unknown_columns(text: str) -> list[str]:
    """The unknown headings of a text that looks like a table."""
    lines = [line for line in text.lstrip("\ufeff").splitlines()[:4] if line.strip()]
    delimiter = find_delimiter(lines[0], rate=_rate) if lines else ","
    widths = {line.count(delimiter) for line in lines}
    is_table = len(lines) > 2 and len(widths) == 1 and widths != {0}
    head = _read_head(text) if is_table else []
    return head if all(map(_HEADING.fullmatch, head)) else []


def read_speaker_table(source: Source) -> ReadFile:
    """Read the format above; raises `ReadError`."""
    head = _read_head(source.text)
    columns = find_heads(head)
    if not is_speaker_table(source.text):
        found = f"the columns {', '.join(map(shorten, head[:10]))}" if len(head) > 1 else "no columns"
        raise ReadError(source.name, 1, found, _EXPECTED)
    left_out: Counter[str] = Counter()
    rows = []
    for line, row in _read_rows(source, len(head)):
        cells = {name: row[place] for name, place in columns.items()}
        for place, heading in enumerate(head):
            if place not in columns.values() and row[place].strip():
                left_out[f"The column {shorten(heading)} was left out."] += 1
        if cells["text"].strip():
            rows.append((line, cells))
        else:
            left_out["A row without text was left out."] += 1
    if not rows:
        raise ReadError(source.name, 2, "no row with text", "a row for each turn below the head")
    roles, warnings = _choose_roles(source, rows)
    turns = tuple(
        ReadTurn(roles[_name(cells)], "utterance", _name(cells), cells["text"], details=_read_time(cells))
        for _, cells in rows
    )
    interview = ReadInterview(source.stem[:200], source.stem[:300], turns, line=rows[0][0])
    return ReadFile(FORMAT, [interview], [*warnings, *list_left_out(left_out)], left_out)


def _read_head(text: str) -> list[str]:
    line = text.lstrip("\ufeff").split("\n", 1)[0].rstrip("\r")
    try:
        return next(read_csv([line], delimiter=find_delimiter(line, rate=_rate), strict=False), [])
    except CsvError:
        # A carriage return in the line, or a line that is longer than a cell may be.
        return []


def _rate(head: list[str]) -> tuple[int, int]:
    """How likely the cells are a heading: the number of known ones, and their total number."""
    return len(find_heads(head)), len(head)


def _read_rows(source: Source, width: int) -> Iterator[tuple[int, list[str]]]:
    """The rows below the head, each with the line it begins on."""
    delimiter = find_delimiter(source.text.split("\n", 1)[0], rate=_rate)
    # Line breaks inside cells stay as they are.
    reader = read_csv(StringIO(source.text, newline=""), delimiter=delimiter)
    line = 1
    try:
        for number, row in enumerate(reader):
            begins, line = line, reader.line_num + 1
            if number == 0 or not any(cell.strip() for cell in row):
                continue
            if len(row) != width:
                raise ReadError(source.name, begins, *explain_width(len(row), width))
            yield begins, row
    except CsvError as error:
        raise ReadError(source.name, line, *explain_error(error)) from error


def _name(cells: dict[str, str]) -> str:
    return (cells.get("speaker") or cells.get("role", "")).strip()


def _choose_roles(source: Source, rows: list[tuple[int, dict[str, str]]]) -> tuple[dict[str, str], list[str]]:
    """The role of each speaker: as its column says, or by the names."""
    given: dict[str, str] = {}
    for line, cells in rows:
        name = _name(cells)
        if not name:
            raise ReadError(source.name, line, "a row without a speaker", "who speaks in every row")
        role = cells.get("role", "").strip().casefold()
        if role in ROLES and given.setdefault(name, role) != role:
            raise ReadError(
                source.name, line, f"another role for {shorten(name)} than above", "one role for each speaker"
            )
    names = list(dict.fromkeys(_name(cells) for _, cells in rows))
    if all(name in given for name in names):
        return given, []
    assigned, warnings = assign_roles(names)
    return {**assigned, **given}, warnings


def _read_time(cells: dict[str, str]) -> dict[str, Any]:
    time = cells.get("time", "").strip()
    if not time:
        return {}
    try:
        return {"at": datetime.fromisoformat(time).isoformat()}
    except ValueError:
        return {"from": time[:100]}
