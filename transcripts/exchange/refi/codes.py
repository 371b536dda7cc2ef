"""The codes of a project file beside those of a study: what is there already, and what the next version adds."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import BinaryIO, NamedTuple

from transcripts.codebook import files
from transcripts.codebook.pure.checking import fold
from transcripts.codebook.queries import latest_version, read_content, used_identifiers
from transcripts.exchange.pure import refi_texts as naming
from transcripts.formats.codebook_csv import CodebookFileError
from transcripts.formats.codebook_json import MAX_FILE_SIZE, read_codebook_json, write_codebook_json
from transcripts.formats.codebook_rules import CodebookContent, CodeContent
from transcripts.formats.problems import InputRefused
from transcripts.formats.qdc import lay_out_codes, write_qdc
from transcripts.formats.refi import make_guid
from transcripts.formats.refi_codes import QdcCode
from transcripts.formats.zip_input import open_zip
from transcripts.studies.models import Project


class MatchedCodes(NamedTuple):
    """The codes of a file in a study: their identifiers by GUID, and the content of the next version.

    ``known`` are in the study already, and of these ``reworded`` say something else here. ``namesakes`` are the names of codes that
    the study has under other GUIDs.
    """

    identifiers: dict[str, str]
    content: CodebookContent
    new: int
    known: int
    reworded: int
    namesakes: list[str]


def match_codes(
    project: Project,
    codes: Sequence[QdcCode],
    own: CodebookContent | None,
    applied: AbstractSet[str] = frozenset(),
    *,
    by_name: bool = False,
) -> MatchedCodes:
    """Find the codes of a file in a study, and lay what is new below what is there. The study's wording holds.

    ``applied`` are the GUIDs of those with which the file codes something: they are codes even where it calls them categories.
    ``by_name``: namesakes are the study's codes, for some programs give every code a new GUID.
    """
    latest = latest_version(project)
    known = read_content(latest) if latest else CodebookContent()
    codes = [code._replace(is_codable=True) if code.guid in applied else code for code in codes]
    is_ours = own is not None and _is_of(own, codes)
    namesakes = {} if is_ours else _find_namesakes(project, codes, known)
    renamed: dict[str, str] = {**namesakes, **_find_families(project, codes, known)} if by_name and namesakes else {}
    content_of_file, found = _read(
        project,
        [
            code._replace(
                guid=renamed.get(code.guid, code.guid), parent_guid=renamed.get(code.parent_guid, code.parent_guid)
            )
            for code in codes
        ],
        own if is_ours else None,
        known,
    )
    identifiers = {code.guid: found[guid] for code in codes if (guid := renamed.get(code.guid, code.guid)) in found}
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
    names = [code.name for code in codes if code.guid in namesakes]
    return MatchedCodes(identifiers, content, len(new), len(same), reworded, names)


def _find_namesakes(project: Project, codes: Sequence[QdcCode], known: CodebookContent) -> dict[str, str]:
    """The GUIDs that codes of the study have, by those of codes of the file with the same names. A name that several have, in the
    study or in the file, tells nothing."""
    of_study = {each.identifier: each.name for each in known.codes if not each.is_category}
    by_guid = {make_guid("code", project.slug, identifier): name for identifier, name in of_study.items()}
    tails = {identifier[-files.GUID_DIGITS - 1 :] for identifier in of_study}
    other = {
        code.guid: code.name for code in codes if code.is_codable and f"_{code.guid[: files.GUID_DIGITS]}" not in tails
    }
    return _pair_by_name(other, by_guid)


def _find_families(project: Project, codes: Sequence[QdcCode], known: CodebookContent) -> dict[str, str]:
    """The same for families: new codes go below that of the study."""
    of_study = {make_guid("family", project.slug, each.identifier): each.name for each in known.families}
    tops = {code.guid: code.name for code in codes if not code.parent_guid and not code.is_codable}
    return _pair_by_name(tops, of_study)


def _pair_by_name(of_file: Mapping[str, str], of_study: Mapping[str, str]) -> dict[str, str]:
    there, here = _index_once(of_file), _index_once(of_study)
    return {there[name]: here[name] for name in there.keys() & here.keys() if there[name] not in of_study}


def _index_once(names: Mapping[str, str]) -> dict[str, str]:
    """The GUIDs by name, without names that come twice."""
    times = Counter(fold(name) for name in names.values())
    return {folded: guid for guid, name in names.items() if times[folded := fold(name)] == 1}


def _is_of(own: CodebookContent, codes: Sequence[QdcCode]) -> bool:
    """Whether our own part of a file is about these codes."""
    return [code.name for code in lay_out_codes(own, scope="")] == [code.name for code in codes]


def write_content(content: CodebookContent) -> bytes:
    """The next version as a codebook file."""
    stream = io.StringIO()
    write_codebook_json(replace(content, title="", origin="", number=None), stream)
    return stream.getvalue().encode()


def _read(
    project: Project, codes: Sequence[QdcCode], own: CodebookContent | None, known: CodebookContent
) -> tuple[CodebookContent, dict[str, str]]:
    """What the file says, and the identifiers of its codes. Our own part has both."""
    if own is not None:
        of_guid = {make_guid("code", "", code.identifier): code.identifier for code in own.codes}
        pairs = zip(codes, lay_out_codes(own, scope=""), strict=True)
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
