"""The codes of a project file beside those of a study: what is there already, and what the next version adds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import BinaryIO

from transcripts.codebook import files
from transcripts.codebook.queries import latest_version, read_content, used_identifiers
from transcripts.exchange.pure import refi_names as naming
from transcripts.formats.codebook_content import CodebookContent, CodeContent
from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_json import MAX_FILE_SIZE, read_codebook_json, write_codebook_json
from transcripts.formats.problems import InputRefused
from transcripts.formats.qdc import lay_out_codes, write_qdc
from transcripts.formats.refi import make_guid
from transcripts.formats.refi_codes import QdcCode
from transcripts.formats.zip_input import open_zip
from transcripts.projects.models import Project


def match_codes(
    project: Project, codes: Sequence[QdcCode], own: CodebookContent | None, applied: AbstractSet[str] = frozenset()
) -> tuple[dict[str, str], CodebookContent, dict[str, int]]:
    """Find the codes of a file in a study, and lay what is new below what is there. The study's wording holds.

    ``applied`` are the GUIDs of those with which the file codes something: they are codes even where it calls them categories.
    Returns the identifiers by GUID, the content of the next version, and how many codes are "new", "known", and of these
    "reworded": they say something else here.
    """
    latest = latest_version(project)
    known = read_content(latest) if latest else CodebookContent()
    codes = [code._replace(is_codable=True) if code.guid in applied else code for code in codes]
    content_of_file, identifiers = _read(project, codes, own, known)
    there = {code.identifier: code for code in known.codes}
    new = [code for code in content_of_file.codes if code.identifier not in there]
    families = {family.identifier for family in known.families}
    content = replace(
        known,
        families=(*known.families, *(each for each in content_of_file.families if each.identifier not in families)),
        codes=(*known.codes, *_free_keys(new, known)),
        # A pinned sentence has its place in the file's own interviews, which come later; an invented one needs none.
        examples=tuple(each for each in content_of_file.examples if each.code not in there and not each.interview),
    )
    same = [code for code in content_of_file.codes if code.identifier in there]
    reworded = sum(1 for code in same if code.definition and code.definition != there[code.identifier].definition)
    return identifiers, content, {"new": len(new), "known": len(same), "reworded": reworded}


def write_content(content: CodebookContent) -> bytes:
    """The next version as a codebook file."""
    stream = io.StringIO()
    write_codebook_json(replace(content, title="", origin="", number=None), stream)
    return stream.getvalue().encode()


def _read(
    project: Project, codes: Sequence[QdcCode], own: CodebookContent | None, known: CodebookContent
) -> tuple[CodebookContent, dict[str, str]]:
    """What the file says, and the identifiers of its codes. Our own part has both, if it matches the codes."""
    if own is not None:
        laid_out = lay_out_codes(own, scope="")
        of_guid = {make_guid("code", "", code.identifier): code.identifier for code in own.codes}
        if [code.name for code in laid_out] == [code.name for code in codes]:
            pairs = zip(codes, laid_out, strict=True)
            return own, {code.guid: of_guid[mine.guid] for code, mine in pairs if mine.guid in of_guid}
    stream = io.BytesIO()
    write_qdc([code._replace(notes=()) for code in codes], stream)
    file = files.read_file(
        stream.getvalue(), name="project.qde", scope=project.slug, known=known, used=used_identifiers(project)
    )
    below = [code for code in codes if code.parent_guid or code.is_codable]
    return file.content, {code.guid: read.identifier for code, read in zip(below, file.content.codes, strict=True)}


def _free_keys(new: Sequence[CodeContent], known: CodebookContent) -> list[CodeContent]:
    """Without the keys that codes of the study have already."""
    taken = {code.key for code in known.codes}
    return [replace(code, key="") if code.key in taken else code for code in new]


def read_own_codebook(stream: BinaryIO) -> CodebookContent | None:
    """Our own part of the archive about the codebook; ``None`` where there is none that can be read."""
    try:
        with open_zip(stream) as archive:
            if naming.CODEBOOK_ENTRY not in archive:
                return None
            data = bytearray()
            for chunk in archive.read_chunks(naming.CODEBOOK_ENTRY):
                data += chunk
                if len(data) > MAX_FILE_SIZE:
                    return None
        return read_codebook_json(bytes(data), name=naming.CODEBOOK_ENTRY)
    except (InputRefused, CodebookFileError):
        return None
