"""Who speaks in a transcript, and which words before a colon are text."""

import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from tests.transcripts.corpus.test_views import upload
from transcripts.formats.interviews import Naming, ReadError, read_bytes
from transcripts.formats.interviews.speaker_text import find_starts, is_dialogue


def read(text, **options):
    return read_bytes(text.encode(), name="talk.txt", **options)


def show(file):
    [interview] = file.interviews
    return [(turn.speaker, turn.text) for turn in interview.turns]


def name(file):
    [interview] = file.interviews
    return list(dict.fromkeys(turn.speaker for turn in interview.turns))


INTERPRETED = """Interviewer: What is home?
Participant: (speaks)
Interpreter: She says it is a place.
Interviewer: Only one?
Participant: (speaks)
Interpreter: She says two.
"""
FOCUS_GROUP = """Moderator: Who begins?
Anna: I do.
Ben: Me too.
Chris: And me.
Moderator: Why?
Anna: It is mine.
Ben: Mine as well.
"""


class TestWhoSpeaks:
    def test_a_third_speaker_keeps_her_words(self):
        file = read(INTERPRETED)
        assert show(file)[1:3] == [("Participant", "(speaks)"), ("Interpreter", "She says it is a place.")]
        assert len(show(file)) == 6
        assert [turn.role for turn in file.interviews[0].turns[:3]] == ["interviewer", "model", "model"]

    def test_a_name_with_a_number_is_another_person(self):
        text = "Interviewer: Who?\nParticipant: I.\nParticipant 2: Me too.\nInterviewer: Why?\nParticipant 3: Mine.\n"
        assert name(read(text)) == ["Interviewer", "Participant", "Participant 2", "Participant 3"]
        assert read(text).warnings == []

    def test_a_second_interviewer_asks(self):
        file = read("Interviewer 1: Who?\nInterviewer 2: And where?\nParticipant 1: I.\n")
        assert [turn.role for turn in file.interviews[0].turns] == ["interviewer", "interviewer", "model"]

    def test_a_remark_behind_a_name_leaves_it_the_same_person(self):
        file = read("RESEARCHER: What?\nGUEST: A place.\nRESEARCHER: One?\nGUEST (laughs): No, two.\n")
        assert show(file)[3] == ("GUEST (laughs)", "No, two.")
        assert file.read_as_text == {}

    def test_who_is_named_once_is_text_and_is_told(self):
        file = read(FOCUS_GROUP)
        assert ("Ben", "Me too.\nChris: And me.") in show(file)
        assert file.read_as_text == {"Chris": 1}
        assert "Read as text: Chris:, which begins a line as a speaker does." in file.warnings[-1]

    def test_a_person_makes_a_name_a_speaker(self):
        file = read(FOCUS_GROUP, naming=Naming(speakers=frozenset({"Chris"})))
        assert ("Chris", "And me.") in show(file)
        assert file.read_as_text == {}

    def test_a_person_makes_a_speaker_text(self):
        file = read(INTERPRETED, naming=Naming(texts=frozenset({"Interpreter"})))
        assert name(file) == ["Interviewer", "Participant"]
        assert file.read_as_text == {"Interpreter": 2}

    def test_one_of_a_series_speaks_even_once(self):
        file = read("Moderator: Hi.\nP1: a\nP2: b\nP3: c\nModerator: ok\nP2: e\nAll: (laugh)\n")
        assert name(file) == ["Moderator", "P1", "P2", "P3"]
        assert file.read_as_text == {"All": 1}

    def test_who_opens_a_conversation_speaks_but_the_head_of_a_document_does_not(self):
        talk = "Anna: How?\nBen: So.\nAnna: Why?\nBen: Thus.\n"
        assert name(read(f"Host: Welcome.\n{talk}")) == ["Host", "Anna", "Ben"]
        headed = read(f"Study: Harbour\nDatum: 3. Mai\n\n{talk}")
        assert name(headed) == ["Anna", "Ben"]
        assert headed.interviews[0].metadata == {"preamble": "Study: Harbour\nDatum: 3. Mai"}

    def test_an_article_of_sections_is_no_conversation(self):
        text = "Methods: We asked.\nResults: They said.\nMethods: Again.\nResults: The same.\n"
        with pytest.raises(ReadError, match="no format that is known here"):
            read(text)


class TestAnswersOfChatbots:
    ANSWER = "User: Which?\n\nAssistant: Two ways.\nPros: cheap\nCons: slow\n\nPros: fast\nCons: dear\n\nUser: So?\n\nAssistant: "

    def test_headings_in_an_answer_are_no_speakers(self):
        file = read(f"{self.ANSWER}The first.\nPros: done\n")
        assert name(file) == ["User", "Assistant"]
        assert file.read_as_text == {"Pros": 3, "Cons": 2}

    @pytest.mark.parametrize(
        "heading",
        ["Lemma: one", "**Lemma:** one", "Lemma: one\nLemma: two"],
        ids=["not behind an empty line", "bold", "not behind an empty line"],
    )
    def test_what_does_not_look_like_the_speakers_is_text_and_is_listed(self, heading):
        file = read(f"{self.ANSWER}Then\n{heading}\n\nUser: And?\n\nAssistant: Then\n{heading}\n")
        assert name(file) == ["User", "Assistant"]
        assert "Lemma" in file.read_as_text

    def test_what_comes_in_one_answer_only_is_text(self):
        file = read("User: Which?\nAssistant: Two.\nLemma: one\nLemma: two\nUser: So?\nAssistant: No.\n")
        assert name(file) == ["User", "Assistant"]

    def test_a_third_party_speaks_as_the_others_do(self):
        file = read("User: a\nAssistant: b\nObserver: c\nUser: d\nAssistant: e\nObserver: f\n")
        assert name(file) == ["User", "Assistant", "Observer"]


class TestForms:
    @pytest.mark.parametrize(
        ("line", "turn"),
        [
            ("[00:00:01] {0}: {1}", "00:00:01"),
            ("00:01 - {0}: {1}", "00:01"),
            ("(0:01:02.5) {0}: {1}", "0:01:02.5"),
            ("{0} [00:00:01]: {1}", "00:00:01"),
            ("{0} (00:01): {1}", "00:01"),
            ("[{0}]: {1}", ""),
            ("{0} : {1}", ""),
            ("{0}\u00a0:\u00a0{1}", ""),
            ("{0}：{1}", ""),
            ("\u200f{0}: {1}", ""),
            ("{0}:\n{1}", ""),
            ("{0}:({1})", ""),
        ],
    )
    def test_a_time_spaces_and_other_colons_are_no_words(self, line, turn):
        text = "\n".join(
            line.format(*said) for said in (("Ana", "Why?"), ("Ben", "So."), ("Ana", "Oh."), ("Ben", "Yes."))
        )
        [interview] = read(text).interviews
        assert [(each.speaker, each.text.strip("()")) for each in interview.turns] == [
            ("Ana", "Why?"),
            ("Ben", "So."),
            ("Ana", "Oh."),
            ("Ben", "Yes."),
        ]
        assert interview.turns[0].details == ({"from": turn} if turn else {})

    @pytest.mark.parametrize("before", ["   ", "- ", "{}  ", "{}. ", "\t"])
    def test_indents_and_numbers_of_lines_are_before_the_names(self, before):
        lines = ("Interviewer: Why?", "Participant: So.", "Interviewer: Oh.")
        file = read("\n".join(before.format(number) + line for number, line in enumerate(lines, 1)))
        assert show(file) == [("Interviewer", "Why?"), ("Participant", "So."), ("Interviewer", "Oh.")]

    def test_a_list_is_no_conversation(self):
        with pytest.raises(ReadError, match="no format that is known here"):
            read("1. First: we go\n2. Second: we stay\n")

    def test_an_address_and_a_time_are_no_speakers(self):
        file = read("User: Where?\nhttps://a.example/b\nBot: There.\nat 10:30\nhttps://a.example/c\nat 10:40\n")
        assert name(file) == ["User", "Bot"]
        assert file.read_as_text == {}

    @pytest.mark.parametrize(
        ("text", "asks"),
        [
            ("Interviewerin: Warum?\nBefragte/r: Darum.\nBefragte/r (lacht): Ja.", "Interviewerin"),
            ("Enquêteur : Pourquoi ?\nEnquêtée : Parce que.", "Enquêteur"),
            ("受访者：是。\n采访者：为什么？\n受访者：好。", "采访者"),
            ("המרואיין: כן.\nהמראיין: למה?\nהמרואיין: ככה.", "המראיין"),
        ],
    )
    def test_usual_names_of_other_languages_tell_who_asks(self, text, asks):
        file = read(text)
        roles = {turn.speaker: turn.role for turn in file.interviews[0].turns}
        assert [speaker for speaker, role in roles.items() if role == "interviewer"] == [asks]
        assert not any("do not show who" in warning for warning in file.warnings)

    def test_the_time_of_a_head_line_is_kept(self):
        [interview] = read("Sara Lind  00:03\nWhere?\n\nP7 (01:05)\nThere.\n").interviews
        assert [(turn.speaker, turn.details) for turn in interview.turns] == [
            ("Sara Lind", {"from": "00:03"}),
            ("P7", {"from": "01:05"}),
        ]


class TestForeignTexts:
    def test_a_third_speaker_is_one_in_a_project_of_another_program_too(self):
        starts = find_starts(INTERPRETED)
        assert [speaker for _, speaker, _ in starts][:3] == ["Interviewer", "Participant", "Interpreter"]
        assert is_dialogue(INTERPRETED, starts)

    def test_a_list_with_each_name_twice_is_no_conversation(self):
        text = "Alpha: one\nAlpha: two\nBeta: one\nBeta: two\n"
        assert not is_dialogue(text, find_starts(text))


class TestChoosing:
    def test_the_page_lists_the_names_and_a_tick_makes_one_a_speaker(self, study, lead, client_of):
        url = reverse("corpus:import", args=[study.slug])
        shown = client_of(lead).post(url, upload(FOCUS_GROUP, check="1"))
        page = " ".join(shown.content.decode().split())
        assert 'name="speaker" value="Chris"' in page
        assert '<option value="text">Nobody: this is text</option>' in page
        typed = {**upload(FOCUS_GROUP), "speaker": "Chris", "role:Chris": "interviewer", "role:Ben": "text"}
        client_of(lead).post(url, typed)
        turns = study.interviews.get().turns.order_by("position")
        assert [(turn.speaker, turn.role) for turn in turns][1:3] == [("Anna", "model"), ("Chris", "interviewer")]

    def test_the_command_makes_a_name_a_speaker(self, study, tmp_path, capsys):
        file = tmp_path / "group.txt"
        file.write_text(FOCUS_GROUP)
        options = {"study": study.slug, "dry_run": True, "json": True}
        call_command("interview", "import", str(file), **options)
        [told] = json.loads(capsys.readouterr().out)["files"]
        assert told["preview"]["read_as_text"] == [{"name": "Chris", "lines": 1}]
        call_command("interview", "import", str(file), speaker=["Chris:"], **options)
        [told] = json.loads(capsys.readouterr().out)["files"]
        assert told["turns"] == 7
        assert told["preview"]["read_as_text"] == []

    def test_a_name_is_not_both(self, study, lead, client_of):
        typed = {**upload(FOCUS_GROUP), "speaker": "Ben", "role:Ben": "text"}
        page = client_of(lead).post(reverse("corpus:import", args=[study.slug]), typed)
        assert page.status_code == 422
        assert "Ben cannot be both a speaker and text" in page.content.decode()
