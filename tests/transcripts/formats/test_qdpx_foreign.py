"""Project files of other programs: what can be read is, the rest is told, and nothing unsafe comes in."""

import io
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.shared import shared
from tests.transcripts.formats.qdpx_cases import Study, export, read
from transcripts.formats.problems import show_count
from transcripts.formats.qdpx_content import QdpxCoding, QdpxNote, QdpxSelection, QdpxSource, QdpxUser
from transcripts.formats.qdpx_read import ProjectFileError, read_qdpx
from transcripts.formats.refi import QdcCode, QdcSet, read_qdc

FOREIGN = Path(__file__).resolve().parents[2] / "data" / "refi" / "foreign.qde"
HEAD = '<Project xmlns="urn:QDA-XML:project:1.0" name="p">'
TEXT = "🚀 😀 cornflakes\r\n and more"


def guid(end):
    return f"00000000-0000-4000-8000-0000000000{end}"


def pack(entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def refuse(data):
    with pytest.raises(ProjectFileError) as caught:
        read_qdpx(io.BytesIO(data.encode() if isinstance(data, str) else data), name="study.qdpx")
    return caught.value


@pytest.fixture
def foreign():
    entries = {
        "Project.qde": FOREIGN.read_bytes(),
        "Sources/": b"",
        "Sources/mabel.txt": b"\xef\xbb\xbf" + TEXT.encode(),
        "Sources/log.txt": "Day one".encode("utf-16"),
        "Sources/latin.txt": b"caf\xe9",
        "Sources/nul.txt": b"a\0b",
        "hostname": b"not this one",
    }
    return read(pack(entries))


class TestForeignProject:
    def test_people_codes_and_sets_are_read(self, foreign):
        project = foreign.project
        assert (project.name, project.description, foreign.origin) == (
            "Frühstück",
            "What we ate",
            "Another program 2.1",
        )
        assert project.created == datetime(2018, 3, 27, 17, 46, 39, tzinfo=UTC)
        assert project.users == (QdpxUser(guid("01"), "Ada"), QdpxUser(guid("02"), "", "b"))
        assert project.codes == (
            QdcCode(guid("11"), "Food", is_codable=False),
            QdcCode(guid("12"), "bacon & eggs", "a plate", "#463cc8", True, guid("11"), (guid("51"),)),
        )
        assert project.sets == (QdcSet(guid("71"), "All", "", (guid("12"),), (guid("31"),), (guid("52"),)),)
        assert project.notes == (guid("51"),)

    def test_texts_are_found_in_any_case_and_offsets_count_after_the_byte_order_mark(self, foreign):
        coding = QdpxCoding(
            guid("42"), guid("12"), guid("02"), datetime(2018, 3, 27, 17, 4, 42, tzinfo=UTC), (guid("51"),)
        )
        selection = QdpxSelection(guid("41"), 2, 14, "😀 cornflakes", "again", codings=(coding,))
        assert foreign.sources[0] == QdpxSource(
            guid("31"),
            "Mabel",
            TEXT,
            "at home",
            guid("01"),
            datetime(2018, 3, 27, 18, 1, 7, tzinfo=UTC),
            {"age": "67", "age (2)": "old"},
            selections=(selection,),
            notes=(guid("52"),),
        )
        assert TEXT[2:14] == selection.name

    def test_texts_inside_the_xml_are_read(self, foreign):
        assert foreign.sources[1].text == "One\r\ntwo"
        assert foreign.sources[1].codings == (QdpxCoding(guid("41"), guid("12")),)

    def test_a_selection_of_a_missing_text_is_kept(self, foreign):
        assert foreign.sources[2] == QdpxSource(guid("33"), "Gone", None, selections=(QdpxSelection(guid("46"), 5, 9),))

    def test_nothing_is_read_from_outside_the_archive(self, foreign):
        outside, climbing = foreign.sources[3:5]
        assert outside.text is None
        assert climbing.text == "not this one"

    def test_notes_are_read_from_files_and_from_the_xml(self, foreign):
        assert foreign.notes == (
            QdpxNote(guid("51"), "Log", "Day one", "daily", guid("01")),
            QdpxNote(guid("52"), "", "Short."),
        )

    def test_what_is_missing_or_left_out_is_told(self, foreign):
        assert foreign.warnings == (
            "2 selections of “Mabel” lie outside its text and are left out.",
            "The text of “Gone” is missing: “gone.txt” is not in the archive.",
            "The text of “Outside” is missing: it lies outside the file, at “absolute:///etc/hostname”.",
            "The text of “Rich” is missing: the file has it as formatted text only, which is not read.",
            "The text of “Bare” is missing: the file does not have it.",
            "The text of “Latin” is missing: it is not in UTF-8, beginning with byte 4.",
            "The text of “Nul” is missing: it has a NUL at character 2, which cannot be stored.",
            "The PDF “Leaflet” is left out, because only texts are read.",
            "The picture “Plate” is left out, because only texts are read.",
            "Not read of the set “All”: 1 member.",
            "Left out: cases (1).",
            "Left out: references to a user that is not in the file (1).",
            "Left out: references to a code that is not in the file (1).",
            "Left out: codings without a code that is in the file (1).",
            "Left out: times that cannot be read (1).",
            "Left out: values of a variable that is not in the file (1).",
            "Left out: links (2).",
            "Left out: graphs (1).",
            "Left out: references to a note that is not in the file (2).",
            "1 guid of selections or codings occurred more than once; all of them were read.",
        )


def test_a_bare_project_is_read_without_its_texts():
    file = read(FOREIGN.read_bytes())

    assert [source.name for source in file.sources if source.text is not None] == ["Inline"]
    assert "is not part of a bare .qde file" in file.warnings[0]


def test_a_project_inside_a_folder_is_read():
    file = read(pack({"study/project.qde": FOREIGN.read_bytes(), "study/sources/mabel.txt": TEXT.encode()}))

    assert file.sources[0].text == TEXT


CODEBOOK = (
    '<CodeBook xmlns="{namespace}"><Codes><Code guid="00000000-0000-4000-8000-000000000001" name="Joy" isCodable="true"/>'
    "</Codes></CodeBook>"
)


@pytest.mark.parametrize("version", ["1.0", "1:0", "0:4"])
def test_a_codebook_in_another_namespace_than_its_project_is_read(version):
    codebook = CODEBOOK.format(namespace=f"urn:QDA-XML:codebook:{version}")
    project = f'<Project xmlns="urn:QDA-XML:project:1.0" name="p" origin="MAXQDA 2024">{codebook}</Project>'
    file = read(pack({"project.qde": project.encode()}))

    assert ([code.name for code in file.project.codes], file.warnings) == (["Joy"], ())
    inner = CODEBOOK.format(namespace="urn:QDA-XML:codebook:0:4")
    assert [code.name for code in read_qdc(inner.encode(), name="codes.qdc")[0]] == ["Joy"]


def test_a_part_in_a_namespace_that_is_not_known_is_told():
    codebook = CODEBOOK.format(namespace="urn:other")
    file = read(
        pack({"project.qde": f'<Project xmlns="urn:QDA-XML:project:1.0" name="p">{codebook}</Project>'.encode()})
    )

    assert file.warnings == ("The part “CodeBook” is left out, because its namespace “urn:other” is not known.",)


@pytest.mark.parametrize(
    ("path", "codes", "sources", "codings"),
    [
        ("TestProject.qdpx", 14, 6, 7),
        ("atlasti_standard_project/Project.qde", 14, 6, 7),
        ("target-atlas-project.qdpx", 3, 0, 0),
        ("qualcoder_mannheimer_8.qdpx", 285, 8, 324),
    ],
)
def test_shared_projects_of_other_programs_are_read(path, codes, sources, codings):
    file = read(shared(f"data/qda/refi/{path}").read_bytes())
    selections = [selection for source in file.sources for selection in source.selections]

    assert (len(file.project.codes), len(file.sources)) == (codes, sources)
    assert sum(len(selection.codings) for selection in selections) == codings
    missing = [source for source in file.sources if source.text is None]
    assert sum("is missing" in warning for warning in file.warnings) == len(missing)
    assert sum("only texts are read" in warning for warning in file.warnings) == (6 if sources == 6 else 0)


def test_a_shared_project_with_its_texts_quotes_what_its_program_quoted_and_comes_back():
    file = read(shared("data/qda/refi/qualcoder_mannheimer_8.qdpx").read_bytes())
    selections = [(source.text or "", selection) for source in file.sources for selection in source.selections]

    assert (len(selections), file.warnings) == (324, ())
    for text, selection in selections:
        assert text[selection.start : selection.end].split() == selection.name.split()
    assert read(export(Study(file.project, file.sources, file.notes)))[:3] == file[:3]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (b"words", "something that is not well-formed XML (Start tag expected, '<' not found)"),
        (b"PK\3\4" + b"\0" * 60, "something that is not a zip archive"),
        (pack({"a.txt": b""}), "an archive with 0 entries project.qde"),
        (pack({"a/project.qde": b"", "b/Project.qde": b""}), "an archive with 2 entries project.qde"),
        (pack({"project.qde": b""}), "an empty file"),
        (pack({"project.qde": b"<a/>"}), "the root element “a” without a namespace"),
        (pack({"project.qde": f"<!DOCTYPE a>{HEAD}</Project>".encode()}), "a document type declaration (DOCTYPE)"),
        (pack({"project.qde": (HEAD + "<Sources>" * 10_000).encode()}), "elements nested more than 64 deep"),
        (pack({"project.qde": f"{HEAD}&e;</Project>".encode()}), "something that is not well-formed XML"),
        (pack({"../project.qde": b""}), "the entry name “../project.qde”"),
        (pack({"project.qde": b"", "PROJECT.qde": b""}), "the entry “PROJECT.qde” twice"),
        (pack({"project.qde": b" " * 3_000_000}), "the entry “project.qde”, which grows"),
    ],
)
def test_files_that_are_not_safe_or_no_project_are_refused(data, found):
    assert refuse(data).found.startswith(found)


def test_all_problems_of_a_project_are_listed_with_their_lines():
    error = refuse(
        f"""{HEAD}<Users><User name="a"/></Users><CodeBook><Codes>
        <Code guid="{guid("01")}"/></Codes></CodeBook><Sources>
        <TextSource guid="{guid("02")}"><PlainTextContent>text</PlainTextContent>
        <PlainTextSelection guid="1" startPosition="x" endPosition="1"><Coding/></PlainTextSelection></TextSource>
        <TextSource guid="{guid("02")}"/></Sources></Project>"""
    )

    assert [(problem.place, problem.found) for problem in error.problems] == [
        ("line 1", "a user without a guid"),
        ("line 2, code 1", "a code without a name"),
        ("line 4", "the guid “1”"),
        ("line 4", "the startPosition “x”"),
        ("line 4", "a coding without a guid"),
        ("line 5", f"the guid {guid('02')}, which the source in line 3 has too"),
    ]


def test_more_codings_than_can_be_held_are_refused(monkeypatch):
    monkeypatch.setattr("transcripts.formats.qdpx_read.MAX_PUT_ON_TEXTS", 3)

    assert refuse(FOREIGN.read_bytes()).problems[0].found == "more than 3 selections and codings"


def test_a_text_that_many_sources_name_is_unpacked_once():
    sources = "".join(f'<TextSource guid="{guid(str(n))}" plainTextPath="internal://a.txt"/>' for n in range(10, 60))
    qde = f"{HEAD}<Sources>{sources}</Sources></Project>"
    file = read(pack({"project.qde": qde.encode(), "sources/a.txt": b"text"}))

    assert len({id(source.text) for source in file.sources}) == 1


def test_warnings_beyond_two_hundred_are_counted():
    pictures = "".join(f'<PictureSource name="{number}"/>' for number in range(250))
    file = read(f"{HEAD}<Sources>{pictures}</Sources></Project>".encode())

    assert (len(file.warnings), file.warnings[-1]) == (201, "… and 50 more warnings.")


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (1, "set of codes", "1 set of codes"),
        (2, "set of codes", "2 sets of codes"),
        (3, "answer to a code’s own question", "3 answers to a code’s own question"),
        (1_200, "further sentence", "1,200 further sentences"),
    ],
)
def test_things_are_counted_in_english(number, noun, words):
    assert show_count(number, noun) == words
