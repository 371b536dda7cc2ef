"""Project files of ours: valid, the same for the same state, and everything comes back."""

import io
import json
import re
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from tests.support.shared import shared
from tests.transcripts.formats.qdpx_cases import (
    NOON,
    TRICKY,
    Study,
    export,
    guid,
    make_large_study,
    make_study,
    read,
    read_study,
    studies,
)
from tests.transcripts.formats.refi_structure import find_breaches
from transcripts.formats import qdpx_write
from transcripts.formats.qdpx_content import QdpxCoding, QdpxNote, QdpxProject, QdpxSelection, QdpxSource, QdpxTurn
from transcripts.formats.qdpx_read import ProjectFileError
from transcripts.formats.qdpx_write import write_qdpx
from transcripts.formats.refi import QdcCode, QdcSet
from transcripts.formats.text_input import find_unfolded, fold, unfold


def unpack(data, name="project.qde"):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name)


def repack(data, **changes):
    """The archive with other contents of some entries; ``_`` in their names stands for a full stop."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(stream, "w") as after:
        for name in before.namelist():
            after.writestr(name, changes.get(name.replace(".", "_"), before.read(name)))
    return stream.getvalue()


def refuse(study):
    with pytest.raises(ProjectFileError) as caught:
        export(study)
    assert "nothing was written" in str(caught.value)
    return caught.value


def with_source(**fields):
    """The study with its first text changed."""
    study = make_study()
    return study._replace(sources=(study.sources[0]._replace(**fields), study.sources[1]))


@given(studies())
def test_importing_an_export_gives_back_everything(study):
    data = export(study)

    assert read_study(data) == study
    assert find_breaches(unpack(data)) == []


@pytest.fixture(scope="module")
def schema():
    return etree.XMLSchema(etree.parse(shared("data/qda/schemas/Project.xsd")))


@given(study=studies())
@example(study=make_study())
def test_exports_are_valid_against_the_schema(schema, study):
    assert schema.validate(etree.fromstring(unpack(export(study)))), schema.error_log


def test_a_study_with_everything_in_it_comes_back():
    assert read_study(export(make_study())) == make_study()


def test_the_same_state_gives_the_same_bytes():
    assert export(make_study()) == export(make_study())


def test_what_is_written_is_counted():
    study = make_study()

    written = write_qdpx(study.project, sources=study.sources, notes=study.notes, stream=io.BytesIO())
    assert written == {"sources": 2, "selections": 2, "codings": 3, "notes": 6}


@pytest.mark.parametrize("character", sorted(set(TRICKY)))
def test_offsets_point_to_the_same_characters_whatever_stands_before(character):
    text = character * 3 + "here" + character
    selection = QdpxSelection(guid("s"), 3, 7)
    source = QdpxSource(guid("t"), "t", text, selections=(selection,), turns=(QdpxTurn(0, len(text), "model"),))
    [back] = read_study(export(Study(QdpxProject("p"), (source,)))).sources

    assert back.text == text
    assert text[back.selections[0].start : back.selections[0].end] == "here"
    assert back.turns == source.turns


def test_texts_stand_in_the_archive_with_plain_line_ends_and_come_back_with_their_own():
    """Programs that read a line end as one character would find every selection after one of two characters shifted."""
    study = make_study()
    source = study.sources[0]
    text = source.text or ""
    data = export(study)

    written = unpack(data, f"sources/{source.guid}.txt").decode()
    assert "\r\n" in text
    assert written == text.replace("\r\n", "\n")
    [start, end] = re.findall(rb'(?:start|end)Position="(\d+)"', unpack(data))[:2]
    assert written[int(start) : int(end)] == "Perhaps."
    assert read_study(data) == study


@given(st.text(alphabet="a\r\n\U0001f600"))
def test_each_place_of_a_text_is_found_again_in_the_folded_one(text):
    folded = fold(text)
    assert unfold(folded.text, folded.places) == text
    for place in range(len(text) + 1):
        inside = text[place - 1 : place + 1] == "\r\n" if place else False
        assert find_unfolded(folded.find(place), folded.places) == place - inside


def test_no_line_end_is_put_where_there_is_none():
    assert unfold("a\nb", [0]) is None
    assert unfold("a\nb", [1, 1]) is None
    assert unfold("a\nb", [7]) is None


def test_beyond_so_many_texts_they_stand_in_the_xml(monkeypatch):
    monkeypatch.setattr(qdpx_write, "MAX_TEXT_FILES", 1)
    data = export(make_study())

    assert unpack(data).count(b"plainTextPath") == 1
    assert read_study(data) == make_study()


def test_a_text_that_packs_too_well_is_stored_so_that_it_can_be_read():
    study = Study(QdpxProject("p"), (QdpxSource(guid("t"), "t", "a" * 1_500_000),))

    assert read_study(export(study)) == study


def test_notes_are_asked_for_after_the_last_source():
    asked = []

    def give_sources():
        asked.append("source")
        yield QdpxSource(guid("t"), "t", "text", notes=(guid("n"),))

    def give_notes():
        asked.append("note")
        yield QdpxNote(guid("n"), "n", "memo")

    write_qdpx(QdpxProject("p"), sources=give_sources(), notes=give_notes(), stream=io.BytesIO())
    assert asked == ["source", "note"]


def test_many_codings_come_back():
    study = make_large_study(3_000)

    assert read_study(export(study)) == study


def test_turns_in_many_lines_come_back():
    turns = tuple(QdpxTurn(number, number + 1, "model") for number in range(2_500))
    study = Study(QdpxProject("p"), (QdpxSource(guid("t"), "t", "a" * 2_500, turns=turns),))

    assert read_study(export(study)) == study


def test_a_project_without_turns_and_details_has_no_part_of_our_own():
    data = export(Study(QdpxProject("p"), (QdpxSource(guid("t"), "t", "text"),)))

    assert zipfile.ZipFile(io.BytesIO(data)).namelist() == [f"sources/{guid('t')}.txt", "project.qde"]


def test_turns_are_not_laid_over_a_text_that_was_changed():
    study = make_study()
    data = export(study)
    file = read(repack(data, **{f"sources/{study.sources[0].guid}_txt": b"A longer text than before. " * 10}))

    assert file.sources[0].turns == ()
    assert file.warnings == ("The turns of “First interview” are left out, because its text was changed.",)


@pytest.mark.parametrize(
    "own",
    [
        b"",
        b"\xff\n",
        b"[" * 100_000,
        b'{"format":"auditapp-qdpx","format_version":2}\n',
        b'{"format":"auditapp-qdpx","format_version":1}\n[]',
        b'{"format":"auditapp-qdpx","format_version":1}\n{"source":1}',
        b'{"format":"auditapp-qdpx","format_version":1}\n{"coding":"%s","details":{"a":1}}' % guid("x").encode(),
        b'{"format":"auditapp-qdpx","format_version":1}\n{"source":"%s","turns":[[1]]}' % guid("x").encode(),
        b'{"format":"auditapp-qdpx","format_version":1}\n{"source":"%s","turns":[[true,2,"","","",""]]}'
        % guid("x").encode(),
        b'{"format":"auditapp-qdpx","format_version":1}\n{"source":"%s","turns":[[0,1,"\\ud800","","",""]]}'
        % guid("x").encode(),
    ],
)
def test_a_part_of_ours_that_was_changed_is_left_out_with_a_warning(own):
    file = read(repack(export(make_study()), auditapp_jsonl=own))

    assert file.warnings == (
        "The entry auditapp.jsonl was changed or is of another version; turns and details are left out.",
    )
    texts = [(source.text or "").replace("\r\n", "\n") for source in make_study().sources]
    assert [source.text for source in file.sources] == texts


def test_turns_that_reach_out_of_their_text_are_left_out():
    study = make_study()
    own = unpack(export(study), "auditapp.jsonl").split(b"\n")
    line = json.loads(own[1])
    line["turns"][0][1] = 10_000
    file = read(repack(export(study), auditapp_jsonl=b"\n".join([own[0], json.dumps(line).encode()])))

    assert file.sources[0].turns == ()
    assert len(file.warnings) == 1


@pytest.mark.parametrize(
    ("study", "found"),
    [
        (with_source(text=None), "a source without its text"),
        (with_source(text="short"), "a turn from 13 to 24 of 5 characters"),
        (with_source(text="short", turns=()), "a selection from 35 to 43 of 5 characters"),
        (with_source(text="a\0b", turns=(), selections=()), "the character U+0000 in “ab”"),
        (with_source(name="a\ud800"), "the character U+D800 in “a”"),
        (with_source(guid="12"), "the source guid “12”"),
        (with_source(guid=guid("source", 1).upper()), f"the source guid “{guid('source', 1).upper()}”"),
        (with_source(guid=guid("source", 2)), f"the source guid {guid('source', 2)} once more"),
        (with_source(user=guid("nobody")), f"the user “{guid('nobody')}”"),
        (with_source(created=NOON.replace(tzinfo=None)), "The date-time 2025-03-01 12:00:00 has no time zone."),
        (with_source(attributes={"mood": "x"}), "the attribute “mood”"),
        (with_source(codings=(QdpxCoding(guid("c"), guid("x")),)), f"a coding with the code “{guid('x')}”"),
        (with_source(notes=(guid("x"),)), f"a reference to the note {guid('x')}, which is not written"),
        (
            with_source(codings=(QdpxCoding(guid("c"), guid("hedge"), details={"a": "\0"}),)),
            "the character U+0000 in “a”",
        ),
        (with_source(turns=(QdpxTurn(0, 1, "model", speaker="\ud800"),)), "the character U+D800 in “”"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(study, found):
    assert refuse(study).found == found


def test_projects_that_could_not_be_read_again_are_not_written():
    project = make_study().project
    twice = project._replace(
        users=project.users * 2, variables=("a", "a"), codes=(QdcCode(guid("c"), ""), QdcCode(guid("c"), "a"))
    )

    assert [problem.found for problem in refuse(Study(twice)).problems] == [
        "a name of 0 characters",
        f"the guid {guid('c')} once more",
        "users with the same guid or none",
        "variables with the same name or none",
    ]
    members = QdcSet(guid("s"), "s", sources=(guid("x"),))
    error = refuse(Study(QdpxProject("p", sets=(members,))))
    assert error.found == f"the source {guid('x')}, which is not written"


def test_what_a_caller_raises_on_the_way_comes_through():
    def give_sources():
        yield from make_study().sources
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        write_qdpx(make_study().project, sources=give_sources(), notes=(), stream=io.BytesIO())
