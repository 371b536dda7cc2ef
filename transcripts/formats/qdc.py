"""Codebooks as REFI-QDA codebook files (.qdc), which other programs for qualitative analysis read and write.

A file is taken whole or not at all; a refusal lists each problem with its line.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from transcripts.formats.codebook_content import CodebookContent, CodeContent, CodeExample
from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.problems import InputRefused, Problem
from transcripts.formats.qdc_description import CodeDescription, compose_description
from transcripts.formats.refi import CODEBOOK_NAMESPACE, CODEBOOK_NAMESPACES, ORIGIN, make_guid, unescape
from transcripts.formats.refi_codes import (
    QdcCode,
    QdcSet,
    RefiReader,
    find_code_problems,
    find_set_problems,
    write_codes,
)
from transcripts.formats.xml_input import XmlReader, read_chunks
from transcripts.formats.xml_output import XmlSink, write_document

MAX_CODEBOOK_SIZE = 5_000_000
"""Bytes of a codebook file."""


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
