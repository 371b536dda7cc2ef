"""Captions, documents and archives of several files."""

import io
import json
import zipfile

import pytest

from tests.support.shared import shared
from transcripts.corpus.actions import import_files, plan_imports
from transcripts.corpus.models import ImportedFile
from transcripts.formats.interviews import Naming, ReadError, read_bytes


def read(text, *, name="talk.vtt", format="auto"):
    return read_bytes(text.encode(), name=name, format=format)


def show(file):
    [interview] = file.interviews
    return [(turn.role, turn.speaker, turn.text) for turn in interview.turns]


class TestCaptions:
    def test_voices_are_speakers_and_sentences_are_whole_again(self):
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

    def test_a_name_and_a_colon_begin_a_turn_and_what_follows_belongs_to_it(self):
        file = read(
            "1\r\n00:00:01,000 --> 00:00:02,000\r\nUser: Why?\r\n\r\n2\r\n00:00:02,500 --> 00:00:04,000\r\nBot: Because\r\n\r\n"
            "3\r\n00:00:09,000 --> 00:00:10,000\r\nof this.\r\n",
            name="talk.srt",
        )
        assert show(file) == [("interviewer", "User", "Why?"), ("model", "Bot", "Because of this.")]

    def test_where_nobody_is_named_a_pause_begins_a_turn(self):
        file = read("start\tend\ttext\n0\t900\tOne\n1000\t2000\ttwo.\n4500\t5000\tThree: four.\n", name="talk.tsv")
        assert [text for _, _, text in show(file)] == ["One two.", "Three: four."]
        assert file.warnings[0] == "The captions do not say who speaks. Every turn was assumed to be the model's."
        assert file.read_as_text == {"Three": 1}

    def test_a_broken_line_of_a_table_is_refused_with_its_place(self):
        with pytest.raises(ReadError, match=r"talk.tsv, line 3: found a line of another form"):
            read("start\tend\ttext\n0\t900\tOne\nx\n", name="talk.tsv")

    @pytest.mark.parametrize("name", ["goodboy_galaxy.vtt", "goodboy_galaxy.srt"])
    def test_real_captions_in_both_forms_give_the_same_turns(self, name):
        file = shared(f"data/conversations/interviews/{name}")
        turns = show(read_bytes(file.read_bytes(), name=file.name))
        assert len(turns) == 45
        assert turns[0][2].startswith("Hello everyone and welcome to yet another Hit Save podcast. I'm here with Rick")


def cues(*said, head=""):
    """SubRip of these times and words; WebVTT with its head."""
    blocks = [f"{number}\n{start} --> {end}\n{words}\n" for number, (start, end, words) in enumerate(said, 1)]
    return head + "\n".join(blocks)


def follow(*words, head=""):
    """Captions of a second each, one after the other."""
    return cues(*((f"00:00:{n:02},000", f"00:00:{n + 1:02},000", text) for n, text in enumerate(words)), head=head)


class TestWhoSpeaksInCaptions:
    def turns(self, text, **options):
        return [(speaker, words) for _, speaker, words in show(read(text, **options))]

    def test_two_voices_in_a_caption_are_two_speakers(self):
        text = follow("<v Ben>It was fine.</v>\n<v Ana>It was\nnot.</v>", "<v Ben>I see.</v>", head="WEBVTT\n\n")
        assert self.turns(text) == [("Ben", "It was fine."), ("Ana", "It was not."), ("Ben", "I see.")]

    def test_two_names_in_a_caption_are_two_speakers(self):
        assert self.turns(follow("ANA: Was it?\nBEN: It was.", "ANA: Oh.")) == [
            ("ANA", "Was it?"),
            ("BEN", "It was."),
            ("ANA", "Oh."),
        ]

    def test_marks_of_place_and_look_are_before_a_name(self):
        text = follow("ANA: Did you?", "BEN: {\\i1}I did.{\\i0}", "{\\an8}ANA: And?", "<i>BEN:</i> <b>That.</b>")
        assert self.turns(text) == [("ANA", "Did you?"), ("BEN", "I did."), ("ANA", "And?"), ("BEN", "That.")]

    @pytest.mark.parametrize("form", ["[{}]: {}", "[{}] {}", "({}): {}", "{}: {}", "[{}]\n{}"])
    def test_speakers_of_whisper_are_speakers(self, form):
        text = follow(form.format("SPEAKER_00", "Did you?"), form.format("SPEAKER_01", "I did."))
        assert self.turns(text) == [("SPEAKER_00", "Did you?"), ("SPEAKER_01", "I did.")]

    def test_what_is_heard_is_no_speaker(self):
        text = follow("ANA: One.", "[music] Two.", "[laughter]", "BEN: Three.", "[music]", "ANA: Four.")
        assert {speaker for speaker, _ in self.turns(text)} == {"ANA", "BEN"}

    def test_dashes_part_a_dialogue(self):
        assert self.turns(follow("- Was it?\n- It was.", "Fine then.", "-And you?", "Not me.\nNor him.")) == [
            ("", "Was it?"),
            ("", "It was. Fine then."),
            ("", "And you? Not me. Nor him."),
        ]

    def test_a_dash_within_words_and_a_number_below_zero_part_nothing(self):
        assert self.turns(follow("It was\n-5 degrees", "— or less —", "well-known.")) == [
            ("", "It was -5 degrees — or less — well-known.")
        ]

    def test_two_arrows_say_that_another_speaks(self):
        assert self.turns(follow(">> ANA: Was it? >> It was.", ">> BEN: No.")) == [
            ("ANA", "Was it?"),
            ("", "It was."),
            ("BEN", "No."),
        ]

    def test_names_in_brackets_behind_a_dash_are_speakers_and_a_voice_without_name_is_nobody(self):
        assert self.turns(follow("- [Interviewer] Why?", "- [Guest] So.")) == [
            ("Interviewer", "Why?"),
            ("Guest", "So."),
        ]
        assert self.turns(follow("<v Ana>Why?", "<v ->So.", "<v ->No.", head="WEBVTT\n\n")) == [
            ("Ana", "Why?"),
            ("", "So."),
            ("", "No."),
        ]

    def test_who_is_named_once_is_text_and_a_sentence_before_a_colon_is_not_even_listed(self):
        text = follow("ANA: One.", "BEN: Two.", "Chris: Three.", "ANA: and then she said: no", "BEN: Four.")
        file = read(text)
        assert file.read_as_text == {"Chris": 1}
        assert [speaker for _, speaker, _ in show(file)] == ["ANA", "BEN", "ANA", "BEN"]
        chosen = read_bytes(text.encode(), name="a.srt", naming=Naming(speakers=frozenset({"Chris"})))
        assert [speaker for _, speaker, _ in show(chosen)] == ["ANA", "BEN", "Chris", "ANA", "BEN"]


class TestWithoutAName:
    def test_where_every_caption_is_named_one_without_a_name_is_nobodys(self):
        file = read(follow("ANA: One.", "ANA: Two.", "Three.", "BEN: Four.", "BEN: Five."))
        assert [(speaker, text) for _, speaker, text in show(file)] == [
            ("ANA", "One. Two."),
            ("", "Three."),
            ("BEN", "Four. Five."),
        ]
        assert "One turn has no name in the captions." in " ".join(file.warnings)

    def test_a_caption_without_a_voice_is_nobodys(self):
        file = read(follow("<v Ana>One.", "Two.", "<v Ben>Three.</v> Four.", head="WEBVTT\n\n"))
        assert [(speaker, text) for _, speaker, text in show(file)] == [
            ("Ana", "One."),
            ("", "Two."),
            ("Ben", "Three."),
            ("", "Four."),
        ]

    def test_after_a_pause_nobody_speaks_on(self):
        late = cues(
            ("00:00:01,000", "00:00:02,000", "ANA: One?"),
            ("00:00:02,000", "00:00:03,000", "BEN: Two."),
            ("00:00:03,100", "00:00:04,000", "And more."),
            ("00:01:31,000", "00:01:32,000", "What now?"),
        )
        file = read(late)
        assert [(speaker, text) for _, speaker, text in show(file)] == [
            ("ANA", "One?"),
            ("BEN", "Two. And more."),
            ("", "What now?"),
        ]
        assert "Captions without a name that follow a named one were joined to it (1)." in file.warnings


class TestOddCaptions:
    def test_words_behind_an_empty_line_are_kept_and_notes_and_numbers_are_not(self):
        srt = "1\n00:00:01,000 --> 00:00:03,000\nFirst\n\nhalf.\n\n2\n00:00:03,000 --> 00:00:04,000\n1984\n\n3\n"
        assert [text for _, _, text in show(read(f"{srt}00:00:04,000 --> 00:00:05,000\nEnd.\n"))] == [
            "First half. 1984 End."
        ]
        vtt = "WEBVTT\n\nSTYLE\n::cue {}\n\nc1\n00:01.000 --> 00:02.000\nOne.\n\nNOTE x\ny\n\nc2\n00:02.000 --> 00:03.000\nTwo.\n"
        assert [text for _, _, text in show(read(vtt))] == ["One. Two."]
        close = "1\n00:00:01,000 --> 00:00:02,000\nOne.\n2\n00:00:02,000 --> 00:00:03,000\nTwo.\n"
        assert [text for _, _, text in show(read(close))] == ["One. Two."]

    def test_captions_of_subviewer_are_read(self):
        file = read("0:00:01.000,0:00:02.000\nAna: Hi\n\n0:00:02.000,0:00:03.000\nBen: Yo\n", name="a.sbv")
        assert file.format == "captions"
        assert [(speaker, text) for _, speaker, text in show(file)] == [("Ana", "Hi"), ("Ben", "Yo")]

    @pytest.mark.parametrize(
        "words",
        [
            ["One two.", "One two.\nThree four.", "Three four.\nFive."],
            ["<u>One</u> two.", "One <u>two.</u>", "<u>Three</u> four.", "Three <u>four.</u>", "Five."],
            ["<c>One</c><c> two.</c>", "One two.", "One two.\n<c>Three</c> four.", "Three four.", "Three four.\nFive."],
            ["One two.", "One two. Three", "One two. Three four.", "Five."],
        ],
        ids=["lines", "words", "as of YouTube", "growing"],
    )
    def test_rolling_captions_are_read_once(self, words):
        file = read(follow(*words))
        assert " ".join(text for _, _, text in show(file)) == "One two. Three four. Five."
        assert "Each line was read once." in " ".join(file.warnings)

    def test_who_says_a_thing_twice_is_heard_twice(self):
        file = read(follow("No.", "No.", "ANA: No.", "BEN: No.", "BEN: No.", "No, no."))
        assert " ".join(text for _, _, text in show(file)).count("o") == 7

    def test_captions_that_go_back_in_time_are_told(self):
        file = read(
            cues(
                ("00:00:08,000", "00:00:09,000", "One."),
                ("00:00:02,000", "00:00:03,000", "Two."),
                ("00:00:09,000", "00:00:10,000", "Three."),
            )
        )
        assert [text for _, _, text in show(file)] == ["One.", "Two.", "Three."]
        told = (
            "A caption begins before the one above, the first at 00:00:02.000. They were read in the order of the file."
        )
        assert told in file.warnings


class TestText:
    def test_speakers_in_brackets_begin_turns(self):
        file = read("[id1] I like it.\n\n[id2] I do not.\nNot at all.\n\n[id1] Why?\n", name="group.txt")
        assert [(speaker, text) for _, speaker, text in show(file)] == [
            ("id1", "I like it."),
            ("id2", "I do not.\nNot at all."),
            ("id1", "Why?"),
        ]

    def test_a_note_in_brackets_is_no_speaker(self):
        file = read("User: Why?\n[laughs] really\n[sighs] yes\nModel: Because.\n", name="a.txt")
        assert [text for _, _, text in show(file)] == ["Why?\n[laughs] really\n[sighs] yes", "Because."]

    def test_a_text_without_speakers_comes_in_whole_when_that_is_chosen(self):
        with pytest.raises(ReadError, match="plain_text"):
            read("Nobody is named here.\nNot even here.\n", name="a.txt")
        file = read("Nobody is named here.\nNot even here.\n", name="a.txt", format="plain_text")
        assert show(file) == [("model", "", "Nobody is named here.\nNot even here.\n")]


OPEN_DOCUMENT = """<?xml version="1.0"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0">
<office:body><office:text>{}</office:text></office:body></office:document-content>"""


def pack(entries):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def word(body, **parts):
    """A Word document with this body; other parts by the name of their file."""
    roots = {"footnotes": "footnotes", "endnotes": "endnotes", "comments": "comments", "header1": "hdr"}
    return pack(
        {
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            **{f"word/{name}.xml": f"<w:{roots[name]} {W}>{part}</w:{roots[name]}>" for name, part in parts.items()},
        }
    )


def p(*runs):
    return f"<w:p>{''.join(run if run.startswith('<') else f'<w:r><w:t>{run}</w:t></w:r>' for run in runs)}</w:p>"


def table(*rows):
    cells = ("".join(f"<w:tc>{''.join(map(p, cell.split('|')))}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


class TestWord:
    def test_a_footnote_stands_where_its_sign_is_and_comments_are_counted(self):
        sign = '<w:r><w:footnoteReference w:id="2"/></w:r>'
        file = read_bytes(
            word(
                p("Interviewer: What?", sign, " Tell.") + p("Guest: A place."),
                footnotes=(
                    f'<w:footnote w:id="0" w:type="separator">{p()}</w:footnote>'
                    f'<w:footnote w:id="2">{p(" Twice.")}</w:footnote>'
                ),
                comments=f"<w:comment>{p('Home')}</w:comment><w:comment>{p('Place')}</w:comment>",
                header1=p("Study 7"),
            ),
            name="a.docx",
        )
        assert show(file) == [("interviewer", "Interviewer", "What? [Twice.] Tell."), ("model", "Guest", "A place.")]
        assert file.warnings[1:4] == [
            "A note was read in its place, in brackets.",
            "2 comments were left out.",
            "A header or footer was left out.",
        ]

    def test_nothing_is_told_of_what_a_document_does_not_have(self):
        file = read_bytes(word(p("User: Why?") + p("Bot: So."), comments="", header1=p()), name="a.docx")
        assert file.warnings == [
            "The file is a Word document: its paragraphs, also those of tables, were read as lines."
        ]

    def test_a_text_box_is_apart_and_once(self):
        box = f"<w:r><w:pict><w:txbxContent>{p('Field note')}</w:txbxContent></w:pict></w:r>"
        file = read_bytes(word(p("User: Why", box, " now?") + p("Bot: So.")), name="a.docx")
        assert show(file) == [("interviewer", "User", "Why now?\n[Field note]"), ("model", "Bot", "So.")]
        assert "A text box was read after its paragraph, on its own." in file.warnings

    def test_what_was_moved_or_deleted_is_not_there_and_readings_of_signs_are_none(self):
        moved = "<w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t>here</w:t></w:r></w:moveTo>"
        ruby = "<w:r><w:ruby><w:rt><w:r><w:t>ie</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>家</w:t></w:r></w:rubyBase></w:ruby></w:r>"
        file = read_bytes(word(p("User: ", moved) + p("Bot: ", ruby)), name="a.docx")
        assert [text for _, _, text in show(file)] == ["here", "家"]
        assert "A deleted passage was left out." in file.warnings

    @pytest.mark.parametrize(
        "rows",
        [
            [
                ("00:01", "Ana", "Why?"),
                ("00:02", "Ben", "So.|Or not."),
                ("00:05", "Ana", "Oh."),
                ("00:06", "Ben", "Yes."),
            ],
            [
                ("Zeit", "Person", "Wortlaut"),
                ("00:01", "Ana", "Why?"),
                ("00:02", "Ben", "So.|Or not."),
                ("00:05", "Chris", "Oh."),
            ],
            [("1", "Ana:", "Why?"), ("2", "Ben:", "So.|Or not."), ("3", "Ana:", "Oh."), ("4", "Ben:", "Yes.")],
            [("Ana", "Why?"), ("Ben", "So."), ("", "Or not."), ("Ana", "Oh."), ("Ben", "Yes.")],
        ],
        ids=["time, speaker, words", "a head, each named once", "numbers", "two columns"],
    )
    def test_rows_of_who_speaks_and_what_she_says_are_turns(self, rows):
        file = read_bytes(word(table(*rows)), name="a.docx")
        third = "Chris" if any("Chris" in row for row in rows) else "Ana"
        assert [(speaker, text) for _, speaker, text in show(file)][:3] == [
            ("Ana", "Why?"),
            ("Ben", "So.\nOr not."),
            (third, "Oh."),
        ]
        times = [turn.details.get("from") for turn in file.interviews[0].turns]
        assert times[:2] == (["00:01", "00:02"] if any("00:01" in row for row in rows) else [None, None])

    def test_a_table_of_facts_stays_lines(self):
        facts = table(("Name", "Age"), ("P7", "31"), ("P8", "44"))
        file = read_bytes(word(facts + p("User: Why?") + p("Bot: So.")), name="a.docx")
        assert file.interviews[0].metadata == {"preamble": "Name\nAge\nP7\n31\nP8\n44"}

    def test_cells_beside_speaker_and_words_are_counted(self):
        rows = table(("Speaker", "Text", "Code"), ("Ana", "Why?", "doubt"), ("Ben", "So.", ""), ("Ana", "Oh.", "doubt"))
        file = read_bytes(word(rows), name="a.docx")
        assert "2 cells of tables that are neither speakers nor words were left out." in file.warnings
        assert len(show(file)) == 3


class TestOpenDocument:
    def test_tables_boxes_and_comments_are_read_as_in_word(self):
        cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
        cells = "".join(
            f"<table:table-row>{''.join(map(cell.format, row))}</table:table-row>"
            for row in (
                ("00:01", "Ana", "Why?"),
                ("00:03", "Ben", "So."),
                ("00:04", "Ana", "Oh."),
                ("00:05", "Ben", "Yes."),
            )
        )
        box = "<draw:text-box xmlns:draw='d'><text:p>Field note</text:p></draw:text-box>"
        comment = "<o:annotation xmlns:o='o'><text:p>x</text:p></o:annotation>"
        body = f"<table:table>{cells}</table:table><text:p>Ana: And{comment}{box}?</text:p>"
        data = pack({"META-INF/manifest.xml": "<a/>", "content.xml": OPEN_DOCUMENT.format(body)})
        file = read_bytes(data, name="talk.odt")
        assert [(speaker, text) for _, speaker, text in show(file)][2:] == [
            ("Ana", "Oh."),
            ("Ben", "Yes."),
            ("Ana", "And?\n[Field note]"),
        ]
        assert "A comment was left out." in file.warnings

    def test_spaces_of_an_open_document_whose_number_is_none_are_one(self):
        body = "<text:p>User: Why<text:s text:c='two'/>so?</text:p><text:p>Model: Because.</text:p>"
        data = pack({"META-INF/manifest.xml": "<a/>", "content.xml": OPEN_DOCUMENT.format(body)})
        (talk,) = read_bytes(data, name="talk.odt").interviews
        assert [turn.text for turn in talk.turns] == ["Why so?", "Because."]

    def test_paragraphs_of_text_and_tables_are_lines_and_notes_stand_in_brackets(self):
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
    def test_broken_and_deceitful_xml_is_refused(self, content):
        with pytest.raises(ReadError, match=r"content\.xml"):
            read_bytes(pack({"META-INF/manifest.xml": "<a/>", "content.xml": content}), name="talk.odt")


class TestOtherDocuments:
    @pytest.mark.parametrize(
        ("data", "told"),
        [
            (
                pack({"xl/workbook.xml": "<a/>", "docProps/app.xml": "<a/>"}),
                "an Excel workbook; expected the sheet saved as CSV",
            ),
            (
                pack({"ppt/presentation.xml": "<a/>"}),
                "a PowerPoint presentation; expected the transcript saved as .docx",
            ),
            (
                pack(
                    {
                        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
                        "content.xml": "<a/>",
                        "META-INF/manifest.xml": "<a/>",
                    }
                ),
                "an OpenDocument spreadsheet; expected the sheet saved as CSV",
            ),
            (b"{\\rtf1 hello}", "a Rich Text file; expected it saved as .docx"),
            (b"%PDF-1.7", "a PDF file; expected it saved as .docx"),
            (b"\xd0\xcf\x11\xe0x", "an old Word or Excel file; expected it saved as .docx"),
            (b"PAR1\x15\x04", "a Parquet file; expected it written as JSON lines"),
        ],
    )
    def test_other_documents_are_refused_with_what_to_do(self, data, told):
        with pytest.raises(ReadError) as refused:
            read_bytes(data, name="a.bin")
        assert told in str(refused.value)


class TestEncodings:
    WORDS = "Interviewer: Was heißt „Heimat“? Größe über Öl.\nModel: Ein Ort – café.\n"

    @pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
    def test_what_a_mark_says_is_read_without_a_word(self, codec):
        file = read_bytes(self.WORDS.encode(codec), name="a.txt")
        assert [f"{speaker}: {text}" for _, speaker, text in show(file)] == self.WORDS.splitlines()
        assert file.warnings == []

    @pytest.mark.parametrize(("codec", "name"), [("cp1252", "Windows-1252"), ("mac-roman", "Mac Roman")])
    def test_what_accents_show_is_read_with_a_warning(self, codec, name):
        file = read_bytes(self.WORDS.encode(codec), name="a.txt")
        assert [f"{speaker}: {text}" for _, speaker, text in show(file)] == self.WORDS.splitlines()
        assert file.warnings[0].startswith(f"The file is not in UTF-8 and was read as {name}.")

    def test_a_large_file_in_utf_16_is_read_over_its_pieces(self):
        file = read_bytes(
            f"User: {'ä ' * 40_000}\nBot: {'b ' * 300_000}\n".encode("utf-16"), name="a.txt", format="plain_text"
        )
        assert file.interviews[0].turns[0].text.count("b ") == 300_000

    @pytest.mark.parametrize(
        ("words", "codec"), [("Привет, как дела?", "cp1251"), ("Zażółć gęślą jaźń", "cp1250"), ("你好，世界", "gbk")]
    )
    def test_other_encodings_are_refused(self, words, codec):
        with pytest.raises(ReadError, match="not UTF-8"):
            read_bytes(f"User: {words}\nBot: {words}\n".encode(codec), name="a.txt")


class TestLongUnits:
    def test_units_of_more_than_a_thousand_characters_are_counted_in_the_preview(self, study):
        words = [f"and then {n} and so on and on" for n in range(80)]
        text = follow(*words[:50]) + "\n" + cues(("00:02:00,000", "00:02:09,000", " ".join(words[:40])))
        [report] = plan_imports(study=study, files=[("talk.srt", text.encode())])
        told = "2 units are longer than 1,000 characters (the longest has 1,439), because hardly any sentence there"
        assert [warning for warning in report.warnings if warning.startswith(told)]

    def test_long_lines_of_code_are_no_warning(self, study):
        line = json.dumps({"id": "a", "text": f"```\n{'x = 1; ' * 500}\n```"})
        [report] = plan_imports(study=study, files=[("a.jsonl", line.encode())])
        assert not any("longer than" in warning for warning in report.warnings)


class TestSeveralFiles:
    def test_an_archive_of_several_files_comes_in_file_by_file(self, study, lead):
        line = json.dumps({"id": "a", "text": "One."})
        data = pack(
            {"talks/a.jsonl": line, "talks/b.txt": "User: Why?\nModel: So.", "__MACOSX/c.txt": "x", "d.png": "x"}
        )
        reports = import_files(study=study, files=[("talks.zip", data)], by=lead)
        assert [(report.name, report.interviews) for report in reports] == [
            ("talks.zip/talks/a.jsonl", 1),
            ("talks.zip/talks/b.txt", 1),
        ]
        assert ImportedFile.objects.count() == 2

    def test_the_parts_of_a_large_export_are_read_as_one(self, study, lead):
        def tell(key):
            message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}}
            return json.dumps([{"id": key, "title": key, "mapping": {"n": {"parent": None, "message": message}}}])

        data = pack({"conversations-000.json": tell("a"), "conversations-001.json": tell("b"), "user.json": "{}"})
        reports = import_files(study=study, files=[("export.zip", data)], by=lead)
        assert [report.interviews for report in reports] == [1, 1]
