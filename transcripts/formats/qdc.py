"""Codebooks as REFI-QDA codebook files (.qdc), which other programs for qualitative analysis read and write."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple

from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_rules import CodebookContent, CodeContent, CodeExample
from transcripts.formats.problems import InputRefused, Problem
from transcripts.formats.refi import CODEBOOK_NAMESPACE, CODEBOOK_NAMESPACES, ORIGIN, make_guid, unescape
from transcripts.formats.refi_codes import (
    QdcCode,
    QdcSet,
    RefiReader,
    find_code_problems,
    find_set_problems,
    write_codes,
)
from transcripts.formats.xml_input import XmlReader, XmlSink, read_chunks, write_document

PARTS = {"include": "Include", "exclude": "Exclude", "rules": "Rules"}
EXAMPLES = {"include": "Example", "exclude": "Counterexample", "anchor": "Anchor example"}
EXAMPLE_PARTS = {"note": "Note", "interview": "Interview", "sentence": "Sentence"}

_LABELS = "|".join([*PARTS.values(), *EXAMPLES.values(), *EXAMPLE_PARTS.values()])
_HEADING = re.compile(rf"(?:\A|\n\n)== ({_LABELS}) ==\n")
_TO_ESCAPE = re.compile(rf"^(?=\\*== (?:{_LABELS}) ==$)", re.MULTILINE)
_ESCAPED = re.compile(rf"^\\(?=\\*== (?:{_LABELS}) ==$)", re.MULTILINE)
MAX_CODEBOOK_SIZE = 5_000_000
"""Bytes of a codebook file."""


class CodeDescription(NamedTuple):
    """The parts of a description. Of its ``examples`` ``code`` is not said; ``rules`` are those of a family."""

    definition: str = ""
    include: str = ""
    exclude: str = ""
    rules: str = ""
    examples: tuple[CodeExample, ...] = ()


def compose_description(parts: CodeDescription) -> str:
    """The parts as one text; ``read_description`` gives them back.

    The definition comes first; every further part has a heading line of its own, such as ``== Include ==``, with an empty line
    before it. A line of the text that looks like a heading gets a backslash before it.
    """
    sections = [(label, getattr(parts, name)) for name, label in PARTS.items() if getattr(parts, name)]
    for example in parts.examples:
        sections.append((EXAMPLES[example.kind], example.quote))
        sections += [
            (label, str(getattr(example, name)))
            for name, label in EXAMPLE_PARTS.items()
            if getattr(example, name) not in {"", None}
        ]
    texts = [f"== {label} ==\n{_escape(text)}" for label, text in sections]
    return "\n\n".join([_escape(parts.definition), *texts] if parts.definition else texts)


def read_description(description: str) -> CodeDescription:
    """The parts of a text that ``compose_description`` wrote. A text that is not exactly what it would have written is a definition
    as a whole, so that none of another program is taken apart."""
    definition, *rest = _HEADING.split(description)
    found: dict[str, str] = {}
    examples: list[CodeExample] = []
    part_of = {label: name for name, label in PARTS.items()}
    kind_of = {label: kind for kind, label in EXAMPLES.items()}
    example_part_of = {label: name for name, label in EXAMPLE_PARTS.items()}
    for label, escaped in zip(rest[::2], rest[1::2], strict=True):
        text = _ESCAPED.sub("", escaped)
        if label in part_of:
            found[part_of[label]] = text
        elif label in kind_of:
            examples.append(CodeExample(code="", kind=kind_of[label], quote=text))
        elif examples:
            value: Any = int(text) if label == "Sentence" and re.fullmatch("[0-9]{1,9}", text) else text
            examples[-1] = replace(examples[-1], **{example_part_of[label]: value})
    parts = CodeDescription(_ESCAPED.sub("", definition), **found, examples=tuple(examples))
    return parts if compose_description(parts) == description else CodeDescription(description)


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(r"\\", text)


def read_qdc(data: bytes, *, name: str) -> tuple[list[QdcCode], list[QdcSet], list[str]]:
    """The codes and sets of a codebook file, and sentences on what was left out.

    Codes are in document order: a code comes before the codes below it. ``name`` is the file's name, for messages. Raises
    ``CodebookFileError`` when anything is wrong: then nothing is returned.
    """
    if len(data) > MAX_CODEBOOK_SIZE:
        raise CodebookFileError(name, [Problem(0, f"{len(data):,} bytes", f"at most {MAX_CODEBOOK_SIZE:,}")])
    if data.startswith(b"PK\3\4"):
        problem = Problem(0, "an archive, such as a project file (.qdpx)", "a codebook file (.qdc)")
        raise CodebookFileError(name, [problem])
    xml = XmlReader(read_chunks(io.BytesIO(data)), namespaces=CODEBOOK_NAMESPACES, texts={"Description"})
    reader = RefiReader(xml)
    try:
        sets = _read_codebook(reader)
    except InputRefused as refused:
        raise CodebookFileError(name, [*reader.problems, refused.problem]) from None
    if reader.problems:
        raise CodebookFileError(name, reader.problems)
    if not reader.codes:
        raise CodebookFileError(name, [Problem(0, "no code", "at least one Code in Codes")])
    return list(reader.codes), sets, list(reader.list_warnings())


def _read_codebook(reader: RefiReader) -> list[QdcSet]:
    """Read the codes, which the reader keeps, and the sets."""
    root = reader.xml.read_root("CodeBook")
    if root.attributes.get("origin", "") == ORIGIN:
        reader.xml.decode = unescape
    sets = []
    for child in reader.xml.read_children(root):
        if child.tag == "Codes":
            reader.read_codes(child)
        elif child.tag == "Sets":
            sets += [reader.read_set(group) for group in reader.xml.read_children(child) if group.tag == "Set"]
    reader.xml.read_end()
    return sets


def write_qdc(codes: Iterable[QdcCode], stream: BinaryIO, *, sets: Sequence[QdcSet] = ()) -> int:
    """Write the codes, each below its parent, in the order given; returns their number.

    Raises ``CodebookFileError`` before anything is written when a code or set has no place in such a file.
    """
    codes = list(codes)
    if problems := list(_find_problems(codes, sets)):
        raise CodebookFileError("The codebook", problems, outcome="nothing was written")
    document = io.BytesIO()
    try:
        with write_document(document, "CodeBook", {"origin": ORIGIN}, namespace=CODEBOOK_NAMESPACE) as sink:
            write_codes(sink, codes)
            if sets:
                with sink.element("Sets"):
                    for group in sets:
                        _write_set(sink, group)
    except ValueError as error:
        problem = Problem(0, str(error), "text without NUL and lone surrogates")
        raise CodebookFileError("The codebook", [problem], outcome="nothing was written") from error
    stream.write(document.getvalue())
    return len(codes)


def _write_set(sink: XmlSink, group: QdcSet) -> None:
    with sink.element("Set", {"guid": group.guid, "name": group.name}):
        if group.description:
            sink.leaf("Description", text=group.description)
        for guid in group.codes:
            sink.leaf("MemberCode", {"guid": guid})


def _find_problems(codes: Sequence[QdcCode], sets: Sequence[QdcSet]) -> Iterator[Problem]:
    if not codes:
        yield Problem(0, "no code", "at least one")
    yield from find_code_problems(codes)
    for number, code in enumerate(codes, 1):
        if code.notes:
            yield Problem(number, "notes on a code", "none, for only a project file has them", f"code {number}")
    yield from find_set_problems(sets, codes={code.guid for code in codes})


def lay_out_codes(content: CodebookContent, *, scope: str) -> list[QdcCode]:
    """The families of a codebook as codes that are not codable, and below each its codes and categories.

    ``scope`` is the study's stable name: GUIDs are made of it and of the identifiers, so that exports of the same
    codebook have the same. What a code has beside name, colour and what its description carries stays behind.
    """
    examples: defaultdict[str, list[CodeExample]] = defaultdict(list)
    for example in content.examples:
        examples[example.code].append(example)
    below: defaultdict[tuple[str, str], list[CodeContent]] = defaultdict(list)
    for code in content.codes:
        below[code.family, code.parent].append(code)
    laid_out: list[QdcCode] = []

    def lay_out(parent: QdcCode, family: str, identifier: str) -> None:
        for code in below[family, identifier]:
            parts = CodeDescription(
                code.definition, code.include, code.exclude, examples=tuple(examples[code.identifier])
            )
            guid = make_guid("code", scope, code.identifier)
            description = compose_description(parts)
            is_codable = not code.is_category
            laid_out.append(QdcCode(guid, code.name, description, code.color, is_codable, parent.guid))
            lay_out(laid_out[-1], family, code.identifier)

    for family in content.families:
        description = compose_description(CodeDescription(family.description, rules=family.rules))
        guid = make_guid("family", scope, family.identifier)
        laid_out.append(QdcCode(guid, family.name, description, family.color, is_codable=False))
        lay_out(laid_out[-1], family.identifier, "")
    return laid_out
