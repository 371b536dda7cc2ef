"""Captions, documents and archives of several files."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from tests.shared import shared
from transcripts.accounts.models import User
from transcripts.corpus.actions import import_files
from transcripts.corpus.models import ImportedFile
from transcripts.corpus.pure.readers import ReadError, ReadFile, read_bytes
from transcripts.projects.models import Project


def read(text: str, *, name: str = "talk.vtt", format: str = "auto") -> ReadFile:
    return read_bytes(text.encode(), name=name, format=format)


def show(file: ReadFile) -> list[tuple[str, str, str]]:
    [interview] = file.interviews
    return [(turn.role, turn.speaker, turn.text) for turn in interview.turns]


class TestCaptions:
    def test_voices_are_speakers_and_sentences_are_whole_again(self) -> None:
        file = read(
            "WEBVTT - talk\n\nNOTE made by hand\n\n1\n00:01.000 --> 00:03.500 align:start\n<v Interviewer>Is it right\n"
            "<b>to</b> lie?</v>\n\n00:03.500 --> 00:05.000\n<v Model>It depends on\n\n00:05.000 --> 01:06.000\n"
            "<v Model>who asks &amp; why.\n"
        )
        assert file.format == "captions"
        assert show(file) == [
            ("interviewer", "Interviewer", "Is it right to lie?"),
            ("model", "Model", "It depends on who asks & why."),
        ]
        assert file.interviews[0].turns[1].details == {"from": "00:00:03.500", "to": "00:01:06.000"}

    def test_a_name_and_a_colon_begin_a_turn_and_what_follows_belongs_to_it(self) -> None:
        file = read(
            "1\r\n00:00:01,000 --> 00:00:02,000\r\nUser: Why?\r\n\r\n2\r\n00:00:02,500 --> 00:00:04,000\r\nBot: Because\r\n\r\n"
            "3\r\n00:00:09,000 --> 00:00:10,000\r\nof this.\r\n",
            name="talk.srt",
        )
        assert show(file) == [("interviewer", "User", "Why?"), ("model", "Bot", "Because of this.")]

    def test_where_nobody_is_named_a_pause_begins_a_turn(self) -> None:
        file = read("start\tend\ttext\n0\t900\tOne\n1000\t2000\ttwo.\n4500\t5000\tThree: four.\n", name="talk.tsv")
        assert [text for _, _, text in show(file)] == ["One two.", "Three: four."]
        assert file.warnings == ["The captions do not say who speaks. Every turn was assumed to be the model's."]

    def test_a_broken_line_of_a_table_is_refused_with_its_place(self) -> None:
        with pytest.raises(ReadError, match=r"talk.tsv, line 3: found a line of another form"):
            read("start\tend\ttext\n0\t900\tOne\nx\n", name="talk.tsv")

    @pytest.mark.parametrize("name", ["goodboy_galaxy.vtt", "goodboy_galaxy.srt"])
    def test_real_captions_in_both_forms_give_the_same_turns(self, name: str) -> None:
        file = shared(f"data/conversations/interviews/{name}")
        turns = show(read_bytes(file.read_bytes(), name=file.name))
        assert len(turns) == 45
        assert turns[0][2].startswith("Hello everyone and welcome to yet another Hit Save podcast. I'm here with Rick")


class TestText:
    def test_speakers_in_brackets_begin_turns(self) -> None:
        file = read("[id1] I like it.\n\n[id2] I do not.\nNot at all.\n\n[id1] Why?\n", name="group.txt")
        assert [(speaker, text) for _, speaker, text in show(file)] == [
            ("id1", "I like it."),
            ("id2", "I do not.\nNot at all."),
            ("id1", "Why?"),
        ]

    def test_a_note_in_brackets_is_no_speaker(self) -> None:
        file = read("User: Why?\n[laughs] really\n[sighs] yes\nModel: Because.\n", name="a.txt")
        assert [text for _, _, text in show(file)] == ["Why?\n[laughs] really\n[sighs] yes", "Because."]

    def test_a_text_without_speakers_comes_in_whole_when_that_is_chosen(self) -> None:
        with pytest.raises(ReadError, match="plain_text"):
            read("Nobody is named here.\nNot even here.\n", name="a.txt")
        file = read("Nobody is named here.\nNot even here.\n", name="a.txt", format="plain_text")
        assert show(file) == [("model", "", "Nobody is named here.\nNot even here.\n")]


OPEN_DOCUMENT = """<?xml version="1.0"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0">
<office:body><office:text>{}</office:text></office:body></office:document-content>"""


def pack(entries: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


class TestOpenDocument:
    def test_paragraphs_of_text_and_tables_are_lines_and_notes_stand_in_brackets(self) -> None:
        body = (
            "<text:h>Talk</text:h><text:p>User: Why<text:s text:c='2'/><text:span>this</text:span>?</text:p>"
            "<table:table><table:table-row><table:table-cell><text:p>Model: Because<text:note><text:note-citation>1"
            "</text:note-citation><text:note-body><text:p>Or not.</text:p></text:note-body></text:note>.</text:p>"
            "</table:table-cell></table:table-row></table:table><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        )
        data = pack({"META-INF/manifest.xml": "<a/>", "content.xml": OPEN_DOCUMENT.format(body)})
        file = read_bytes(data, name="talk.odt")
        assert show(file) == [("interviewer", "User", "Why  this?"), ("model", "Model", "Because [Or not.].")]
        assert file.warnings[0].startswith("The file is an OpenDocument text")

    @pytest.mark.parametrize("content", ["<a", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'])
    def test_broken_and_deceitful_xml_is_refused(self, content: str) -> None:
        with pytest.raises(ReadError, match=r"content\.xml"):
            read_bytes(pack({"META-INF/manifest.xml": "<a/>", "content.xml": content}), name="talk.odt")


class TestSeveralFiles:
    def test_an_archive_of_several_files_comes_in_file_by_file(self, project: Project, lead: User) -> None:
        line = json.dumps({"id": "a", "text": "One."})
        data = pack(
            {"talks/a.jsonl": line, "talks/b.txt": "User: Why?\nModel: So.", "__MACOSX/c.txt": "x", "d.png": "x"}
        )
        reports = import_files(project=project, files=[("talks.zip", data)], by=lead)
        assert [(report.name, report.interviews) for report in reports] == [
            ("talks.zip/talks/a.jsonl", 1),
            ("talks.zip/talks/b.txt", 1),
        ]
        assert ImportedFile.objects.count() == 2

    def test_the_parts_of_a_large_export_are_read_as_one(self, project: Project, lead: User) -> None:
        def tell(key: str) -> str:
            message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}}
            return json.dumps([{"id": key, "title": key, "mapping": {"n": {"parent": None, "message": message}}}])

        data = pack({"conversations-000.json": tell("a"), "conversations-001.json": tell("b"), "user.json": "{}"})
        reports = import_files(project=project, files=[("export.zip", data)], by=lead)
        assert [report.interviews for report in reports] == [1, 1]
