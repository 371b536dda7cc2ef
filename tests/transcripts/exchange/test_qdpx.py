"""A study goes out as a REFI-QDA project and comes in again."""

import io
import json
import re
import uuid
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.urls import reverse
from lxml import etree

from tests.support.shared import shared
from transcripts.accounts.models import User
from transcripts.analysis.themes.actions import ThemeText, create_theme
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import publish_version, start_draft, start_study
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.actions import add_coding, withdraw_coding, write_memo
from transcripts.coding.actions.links import add_link, withdraw_link
from transcripts.coding.models import Coding, Link, Memo
from transcripts.coding.values import CodingValues
from transcripts.corpus.actions import import_file
from transcripts.corpus.changes import archive_interviews
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.exchange.actions import StudyRefused, import_qdpx, importing, write_export
from transcripts.exchange.pure import read_headings
from transcripts.exchange.refi import details
from transcripts.exchange.refi.content import lay_out
from transcripts.exchange.rows import Scope, find_export
from transcripts.formats.interviews import read_bytes
from transcripts.formats.qdpx_read import read_qdpx
from transcripts.studies.actions import create_study, set_member_role


def export(study, folder, *, only=None):
    path = folder / f"{uuid.uuid4().hex}.qdpx"
    found = find_export("qdpx")
    assert found is not None
    write_export(export=found, scope=Scope(study, only), format="qdpx", path=path, by=trail.SYSTEM)
    return path


def test_the_text_alone_can_be_imported_with_its_speakers():
    turns = [
        Turn(position=1, role="interviewer", channel="utterance", text="Is it so?"),
        Turn(position=2, role="model", channel="reasoning", text="Thinking."),
        Turn(position=3, role="model", channel="utterance", text="Perhaps.\r\nI would ask."),
    ]
    assert lay_out(turns).text == (
        "Interviewer: Is it so?\n\nModel (reasoning): Thinking.\n\nModel: Perhaps.\r\nI would ask.\n\n"
    )
    [interview] = read_bytes(
        lay_out([turns[0], turns[2]]).text.encode(), name="talk.txt", format="speaker_text"
    ).interviews
    assert [(turn.role, turn.text.strip()) for turn in interview.turns] == [
        ("interviewer", "Is it so?"),
        ("model", "Perhaps.\r\nI would ask."),
    ]


def bring_in(study, path, **options):
    with path.open("rb") as stream:
        return import_qdpx(study=study, stream=stream, name=path.name, by=trail.SYSTEM, **options)


def describe(study):
    """What of a study has to survive the way through a file."""
    codings = Coding.objects.filter(sentence__turn__interview__study=study, withdrawn_at__isnull=True)
    told = ("level", "enactment", "grounding", "prompting", "blinding", "note", "reason", "attributes", "created_at")
    codes = Code.objects.filter(version__study=study).order_by("-version__number", "family__position", "position")
    newest = {
        row[0]: row for row in codes.values_list("identifier", "name", "definition", "color", "parent__identifier")
    }
    return {
        "interviews": list(study.interviews.order_by("external_id").values_list("external_id", "title", "metadata")),
        "turns": list(
            Turn.objects.filter(interview__study=study)
            .order_by("interview__external_id", "position")
            .values_list("interview__external_id", "interview__model_label", "role", "channel", "prompt_kind", "text")
        ),
        "codings": sorted(
            (
                *(row.sentence.turn.interview.external_id, row.sentence.position, row.code.identifier),
                *(row.coder.username, str(row.idempotency_key), row.quote_start, row.quote_end, str(row.range_id)),
                *(str(getattr(row, name)) for name in told),
            )
            for row in codings.select_related("sentence__turn__interview", "code", "coder")
        ),
        "memos": sorted(
            (memo.subject, memo.subject_key, memo.kind, memo.text, memo.author.username, str(memo.idempotency_key))
            for memo in Memo.objects.filter(study=study, withdrawn_at__isnull=True).select_related("author")
        ),
        "codes": sorted(newest.values()),
    }


@pytest.fixture
def worked(study, interview, coder, second_coder, lead, owner):
    """A study with one of everything that a project file holds."""
    tricky = '👩‍👩‍👧 e\u0301 weighs\x0b it. 日本 second.\r\n\r\n- <Third> & "last".  '
    facts = {"id": "odd", "title": "Odd\u202f<one>  two", "city": "Köln"}
    line = json.dumps({**facts, "turns": [{"role": "model", "text": tricky}]})
    import_file(study=study, name="odd.jsonl", data=line.encode(), by=owner)
    sentences = list(
        Sentence.objects.select_related("turn__interview")
        .filter(turn__interview__study=study, turn__role="model")
        .order_by("pk")
    )
    shared_range = uuid.uuid4()

    def put(by, place, identifier, **how):
        code = Code.objects.get(version__study=study, identifier=identifier)
        values = CodingValues(**{name: how.pop(name) for name in CodingValues._fields if name in how})
        return add_coding(
            study=study,
            sentence=sentences[place],
            code=code,
            by=by,
            idempotency_key=uuid.uuid4(),
            values=values,
            **how,
        )

    put(coder, 0, "theme.balance")
    put(coder, 1, "theme.balance", level="latent", note="Weighs & gives <way>.", range_id=shared_range)
    put(coder, 2, "theme.balance", level="latent", note="Weighs on.", range_id=shared_range)
    put(second_coder, 0, "move.elicit", enactment="described", grounding="abstract", prompting="unclear")
    put(second_coder, 1, "feature.task")
    first = sentences[0]
    put(second_coder, 0, "theme.compassion", quote=(first.start + 2, first.start + 7))
    for place, sentence in enumerate(sentences):
        if sentence.turn.interview.external_id == "odd":
            put(coder, place, "theme.balance")
    for by, about, text in ((coder, first, "On a sentence."), (coder, None, "On an interview.")):
        write_memo(
            study=study,
            interview=first.turn.interview,
            sentence=about,
            text=text,
            by=by,
            idempotency_key=uuid.uuid4(),
        )
    for subject, key in (("code", "theme.balance"), ("study", "")):
        Memo.objects.create(
            study=study,
            kind="methodological",
            subject=subject,
            subject_key=key,
            thread=(name := uuid.uuid4()),
            author=lead,
            text=f"On a {subject}.",
            idempotency_key=name,
            created_at=study.created_at,
        )
    create_theme(study=study, text=ThemeText("Weighing"), codes=["theme.balance"], by=lead)
    return study


def test_moves_without_enactment_come_in_undecided_and_answers_no_code_offers_are_told(
    worked, owner, coder, second_coder, lead, tmp_path
):
    Coding.objects.filter(code__identifier="move.elicit").update(enactment="")
    Coding.objects.filter(code__identifier="theme.compassion").update(attributes={"direction": "sideways"})
    other = create_study(slug="other", name="Other", by=owner)
    for user in (coder, second_coder, lead):
        set_member_role(study=other, user=user, role="coder", by=trail.SYSTEM)
    report = str(bring_in(other, export(worked, tmp_path)))
    here = Coding.objects.filter(sentence__turn__interview__study=other)
    assert here.get(code__identifier="move.elicit").enactment == ""
    assert here.get(code__identifier="theme.compassion").attributes == {}
    assert "1 coding of a move: imported as undecided (enactment not stated)" in report
    assert "'sideways' is not one of the answers. Choose towards the user or others or about self. Its coding" in report


class TestRoundTrip:
    def test_a_study_comes_back_into_an_empty_one_as_it_was(self, worked, owner, coder, second_coder, lead, tmp_path):
        other = create_study(slug="other", name="Other", by=owner)
        for user in (coder, second_coder, lead):
            set_member_role(study=other, user=user, role="coder", by=trail.SYSTEM)
        before = describe(worked)
        report = bring_in(other, export(worked, tmp_path))
        after = describe(other)
        assert drop_names(after) == drop_names(before)
        assert (report.new["interviews"], report.new["memos"]) == (2, 4)
        assert report.left_out == ["1 set of codes: themes are created in the study, with reasons."]

    def test_the_same_file_brings_nothing_twice(self, worked, owner, tmp_path):
        other = create_study(slug="other", name="Other", by=owner)
        path = export(worked, tmp_path)
        assert bring_in(other, path).is_new
        counts = Coding.objects.count(), Memo.objects.count(), Interview.objects.count(), User.objects.count()
        again = bring_in(other, path)
        assert not again.is_new
        assert (Coding.objects.count(), Memo.objects.count(), Interview.objects.count(), User.objects.count()) == counts

    def test_a_study_takes_its_own_file_and_finds_all_of_it_there(self, worked, tmp_path):
        before = describe(worked)
        report = bring_in(worked, export(worked, tmp_path))
        assert not report.is_new
        assert describe(worked) == before

    def test_a_second_coding_of_a_code_applied_once_per_answer_stays_out_and_is_named(
        self, worked, sentence, coder, owner, tmp_path
    ):
        CodeFamily.objects.filter(version__study=worked).update(once_per_answer=False)
        family = CodeFamily.objects.get(version__study=worked, identifier="repertoires")
        code = family.codes.all()[0]
        first, second = (
            add_coding(study=worked, sentence=each, code=code, by=coder, idempotency_key=uuid.uuid4())
            for each in sentence.turn.sentences.select_related("turn__interview__study").order_by("start")[:2]
        )
        CodeFamily.objects.filter(pk=family.pk).update(once_per_answer=True)
        other = create_study(slug="other", name="Other", by=owner)
        set_member_role(study=other, user=coder, role="coder", by=trail.SYSTEM)
        path = export(worked, tmp_path)
        report = bring_in(other, path)
        [told] = [each for each in report.left_out if "at most once per answer" in each]
        assert told.startswith("1 coding: ")
        assert told.endswith(f"Left out: coding {second.idempotency_key} in First interview.")
        # Whoever imports may have to code these sentences yet.
        assert code.name not in told
        here = Coding.objects.filter(sentence__turn__interview__study=other, code__identifier=code.identifier)
        assert here.get().sentence.position == first.sentence.position
        again = bring_in(other, path)
        assert (again.is_new, here.count()) == (False, 1)
        # The study itself keeps what it has.
        assert not bring_in(worked, path).is_new

    def test_a_coding_on_turns_its_code_is_not_for_stays_out_and_is_counted(
        self, worked, sentence, coder, owner, tmp_path
    ):
        family = CodeFamily.objects.get(version__study=worked, identifier="repertoires")
        code = family.codes.all()[0]
        add_coding(study=worked, sentence=sentence, code=code, by=coder, idempotency_key=uuid.uuid4())
        CodeFamily.objects.filter(pk=family.pk).update(applies_to="interviewer")
        other = create_study(slug="other", name="Other", by=owner)
        set_member_role(study=other, user=coder, role="coder", by=trail.SYSTEM)
        report = bring_in(other, export(worked, tmp_path))
        assert "1 coding: its code is for the turns of the other side." in report.left_out
        assert not Coding.objects.filter(sentence__turn__interview__study=other, code__identifier=code.identifier)
        assert CodeFamily.objects.get(version__study=other, identifier="repertoires").applies_to == "interviewer"

    def test_what_came_back_goes_out_as_the_same_texts_codes_and_codings(
        self, worked, owner, coder, second_coder, lead, tmp_path
    ):
        from transcripts.formats.qdpx_read import read_qdpx

        other = create_study(slug="other", name="Other", by=owner)
        for user in (coder, second_coder, lead):
            set_member_role(study=other, user=user, role="coder", by=trail.SYSTEM)
        first = export(worked, tmp_path)
        bring_in(other, first)
        one, two = (
            read_qdpx(io.BytesIO(each.read_bytes()), name="x.qdpx") for each in (first, export(other, tmp_path))
        )
        assert [source.text for source in one.sources] == [source.text for source in two.sources]
        assert [(code.name, code.color, code.description) for code in one.project.codes] == [
            (code.name, code.color, code.description) for code in two.project.codes
        ]
        spans = [
            [
                [(each.start, each.end, len(each.codings), each.user) for each in source.selections]
                for source in file.sources
            ]
            for file in (one, two)
        ]
        assert spans[0] == spans[1]

    def test_a_coders_own_file_holds_her_work_and_nobody_elses(self, worked, coder, second_coder, tmp_path):
        path = export(worked, tmp_path, only=second_coder)
        with zipfile.ZipFile(path) as archive:
            text = archive.read("project.qde").decode() + archive.read("auditapp.jsonl").decode()
        assert "second_coder" in text
        assert f'name="{coder.username}"' not in text
        assert "gives &lt;way" not in text
        assert "On a sentence." not in text

    def test_other_programs_find_lines_of_codings_and_memos_where_they_look(self, worked, tmp_path):
        """QualCoder reads the description of a selection, and notes whose text is a file."""
        path = export(worked, tmp_path)
        with zipfile.ZipFile(path) as archive:
            document = etree.fromstring(archive.read("project.qde"))
            told = document.findall(".//{*}PlainTextSelection/{*}Description")
            assert sorted(each.text or "" for each in told) == ["Weighs & gives <way>.", "Weighs on."]
            paths = [each.get("plainTextPath", "") for each in document.findall(".//{*}Note")]
            texts = {archive.read(path.replace("internal://", "sources/")).decode() for path in paths}
        assert {"On a sentence.", "On an interview.", "On a code.", "On a study."} <= texts

    def test_the_file_is_valid_against_the_published_schema(self, worked, tmp_path):
        schema = etree.XMLSchema(etree.parse(shared("data/qda/schemas/Project.xsd")))
        with zipfile.ZipFile(export(worked, tmp_path)) as archive:
            document = etree.fromstring(archive.read("project.qde"))
        schema.assertValid(document)


class TestRanges:
    """A code applied to a range is one coding of the file, as programs that know no sentences show it."""

    def put_range(self, study, by, *notes):
        sentences = Sentence.objects.filter(turn__interview__study=study, turn__role="model").order_by("pk")
        code, shared_range = Code.objects.get(version__study=study, identifier="theme.balance"), uuid.uuid4()
        for sentence, note in zip(sentences, notes, strict=False):
            if note != "left out":
                add_coding(
                    study=study,
                    sentence=sentence,
                    code=code,
                    by=by,
                    idempotency_key=uuid.uuid4(),
                    range_id=shared_range,
                    values=CodingValues(note=note),
                )

    def count_selections(self, path):
        with zipfile.ZipFile(path) as archive:
            return archive.read("project.qde").count(b"<PlainTextSelection ")

    def test_it_is_one_selection_and_comes_back_as_it_was(self, study, interview, coder, owner, tmp_path):
        self.put_range(study, coder, "Because.", "Because.", "Because.", "Because.")
        path = export(study, tmp_path)
        assert self.count_selections(path) == 1
        other = create_study(slug="other", name="Other", by=owner)
        set_member_role(study=other, user=coder, role="coder", by=trail.SYSTEM)
        report = bring_in(other, path)
        assert drop_names(describe(other)) == drop_names(describe(study))
        assert (report.new["codings"], report.new["memos"]) == (1, 0)
        assert not bring_in(study, path).is_new

    @pytest.mark.parametrize("notes", [("Because.", "Otherwise."), ("", "left out", "")])
    def test_what_says_something_else_or_has_a_gap_is_a_selection_each(self, study, interview, coder, tmp_path, notes):
        self.put_range(study, coder, *notes)
        assert self.count_selections(export(study, tmp_path)) == 2

    def test_names_and_times_come_back_where_they_are_free(self, study, interview, coder, tmp_path):
        self.put_range(study, coder, "", "", "")
        before, path = describe(study), export(study, tmp_path)
        Coding.objects.all()._raw_delete("default")
        bring_in(study, path)
        assert describe(study)["codings"] == before["codings"]

    def test_codings_of_another_program_go_out_as_many_as_came_in(self, study, owner, tmp_path):
        """But for one: it has the code of another one on the same sentence, and the import said that they were combined."""
        report = bring_in(study, shared("data/qda/refi/qualcoder_mannheimer_8.qdpx"))
        assert (report.new["codings"], str(report).count("the quotes were combined")) == (324, 1)
        path = export(study, tmp_path)
        with zipfile.ZipFile(path) as archive:
            assert archive.read("project.qde").count(b"<CodeRef ") == 323
        # Each of its 54 categories below the top holds a code of the same name: as codes they would double all these names.
        with path.open("rb") as stream:
            codes = read_qdpx(stream, name="out.qdpx").project.codes
        categories = [code.name for code in codes if code.parent_guid and not code.is_codable]
        assert len(categories) == 54
        assert sorted(code.name for code in codes if code.is_codable and code.name in categories) == sorted(categories)
        other = create_study(slug="other", name="Other", by=owner)
        assert bring_in(other, path).new["codings"] == 323
        assert drop_names(describe(other))["codings"] == drop_names(describe(study))["codings"]


def drop_names(told):
    """Without idempotency keys: they are a person's own, so in a second study of the same instance they are others."""
    return {
        **told,
        "codings": sorted((*row[:4], *row[5:]) for row in told["codings"]),
        "memos": sorted(row[:-1] for row in told["memos"]),
    }


FOREIGN = """<?xml version="1.0" encoding="utf-8"?>
<Project xmlns="urn:QDA-XML:project:1.0" name="Foreign" origin="Other">
<Users>
<User guid="00000000-0000-4000-8000-000000000001" name="Ann"/>
<User guid="00000000-0000-4000-8000-000000000002" name="{second}"/>
</Users>
<CodeBook><Codes>
<Code guid="c1000000-0000-4000-8000-0000000000c1" name="Feeling" isCodable="true" color="#ff0000">
<Code guid="c2000000-0000-4000-8000-0000000000c2" name="Joy" isCodable="true"/></Code>
</Codes></CodeBook>
<Sources><TextSource guid="00000000-0000-4000-8000-0000000000a1" name="Talk" plainTextPath="internal://talk.txt">
<PlainTextSelection guid="00000000-0000-4000-8000-0000000000b1" startPosition="{start}" endPosition="{end}"
 creatingUser="00000000-0000-4000-8000-000000000001" creationDateTime="2020-01-02T03:04:05Z">{about}
<Coding guid="00000000-0000-4000-8000-0000000000d1" creatingUser="{user}">
<CodeRef targetGUID="c2000000-0000-4000-8000-0000000000c2"/></Coding>
<NoteRef targetGUID="00000000-0000-4000-8000-0000000000e1"/>
</PlainTextSelection>
</TextSource></Sources>
<Notes><Note guid="00000000-0000-4000-8000-0000000000e1" name="Thought"
 creatingUser="00000000-0000-4000-8000-000000000001"><PlainTextContent>Hm.</PlainTextContent></Note></Notes>
</Project>"""
TALK = "Head of it\nInterviewer: How was it? Tell me.\nAnswer: It was good. I was glad. Then I left."
ANN = "00000000-0000-4000-8000-000000000001"
SECOND = "00000000-0000-4000-8000-000000000002"


def make_foreign(folder, *, text=TALK, words="glad. Then I", second="Bea", user=ANN, about="", code="Joy"):
    """A project file of another program, with one selection."""
    start = text.index(words)
    path = folder / "foreign.qdpx"
    content = FOREIGN.format(start=start, end=start + len(words), second=second, user=user, about=about)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("project.qde", content.replace('"Joy"', f'"{code}"'))
        archive.writestr("sources/talk.txt", text)
    return path


class TestAnotherProgramsFile:
    def test_speakers_are_told_apart_and_nothing_of_the_text_is_lost(self, study, tmp_path):
        bring_in(study, make_foreign(tmp_path))
        turns = Turn.objects.filter(interview__external_id="Talk").order_by("position")
        assert [(turn.role, turn.text) for turn in turns] == [
            ("system", "Head of it"),
            ("interviewer", "How was it? Tell me."),
            ("model", "It was good. I was glad. Then I left."),
        ]

    def test_a_third_speaker_keeps_her_words_and_who_is_named_once_is_told(self, study, tmp_path):
        text = "Interviewer: How?\nParticipant: So.\nInterpreter: She is glad.\nChris: Yes.\n"
        text += "Interviewer: Now?\nParticipant: No.\nInterpreter: She is not."
        report = bring_in(study, make_foreign(tmp_path, text=text, words="glad"))
        turns = Turn.objects.filter(interview__external_id="Talk").order_by("position")
        assert [(turn.speaker, turn.text) for turn in turns][2] == ("Interpreter", "She is glad.\nChris: Yes.")
        assert "Read as text, although they begin lines as speakers do: Chris:." in report.notes

    def test_a_text_without_speakers_is_one_turn_of_the_model(self, study, tmp_path):
        report = bring_in(study, make_foreign(tmp_path, text="All glad. Then I went on.", words="glad"))
        assert [turn.role for turn in Turn.objects.filter(interview__external_id="Talk")] == ["model"]
        assert "1 text: no speakers are named; the text becomes one turn of the model." in report.notes

    def test_a_code_goes_on_every_sentence_touched_with_the_words_that_were_selected(self, study, tmp_path):
        bring_in(study, make_foreign(tmp_path))
        codings = Coding.objects.select_related("sentence__turn", "code", "coder").order_by("sentence__position")
        quotes = [each.sentence.turn.text[each.quote_start : each.quote_end] for each in codings]
        assert quotes == ["glad.", "Then I"]
        assert len({each.range_id for each in codings} - {None}) == 1
        assert {each.code.name for each in codings} == {"Joy"}
        assert {each.created_at.year for each in codings} == {2020}

    def test_codings_of_another_program_are_never_blind(self, study, tmp_path):
        bring_in(study, make_foreign(tmp_path))
        assert set(Coding.objects.values_list("blinding", flat=True)) == {"assisted"}

    def test_codes_stand_below_each_other_in_a_published_version(self, study, tmp_path):
        report = bring_in(study, make_foreign(tmp_path))
        joy = Code.objects.select_related("parent", "version").get(name="Joy")
        assert joy.parent is not None
        assert (joy.parent.name, joy.parent.color, joy.version.status) == ("Feeling", "#ff0000", "published")
        assert report.codebook_version == joy.version.number == 2
        # Nothing of the study's own codebook is touched.
        assert Code.objects.filter(version=joy.version, identifier="theme.balance").exists()

    def test_somebody_unknown_gets_an_account_nobody_can_use(self, study, tmp_path):
        bring_in(study, make_foreign(tmp_path))
        ann = User.objects.get(username="Ann (imported)")
        assert not ann.is_active
        assert not ann.has_usable_password()
        assert not ann.memberships.exists()
        assert set(Coding.objects.values_list("coder", flat=True)) == {ann.pk}
        assert not User.objects.filter(username__startswith="Bea").exists()

    def test_two_files_that_come_in_at_once_share_the_account_of_somebody_unknown(self, study, tmp_path, monkeypatch):
        find = details._find_account

        def find_before_the_other_stores(name):
            monkeypatch.setattr(details, "_find_account", find)
            assert find(name) is None
            details._store_placeholder(name, by=trail.SYSTEM)
            return

        monkeypatch.setattr(details, "_find_account", find_before_the_other_stores)
        bring_in(study, make_foreign(tmp_path))
        assert {each.coder.username for each in Coding.objects.all()} == {"Ann (imported)"}

    def test_a_member_of_the_same_name_is_her_unless_she_is_kept_apart(self, study, coder, owner, tmp_path):
        path = make_foreign(tmp_path, second="Coder", user=SECOND)
        other = start_study(slug="other", name="Other", by=owner)
        set_member_role(study=other, user=coder, role="coder", by=trail.SYSTEM)
        bring_in(study, path)
        assert {each.coder for each in Coding.objects.all()} == {coder}
        bring_in(other, path, apart=[SECOND])
        apart = Coding.objects.filter(sentence__turn__interview__study=other)
        assert {each.coder.username for each in apart} == {"Coder (imported)"}

    def test_what_is_said_of_a_selection_is_said_of_its_codings(self, study, tmp_path):
        bring_in(study, make_foreign(tmp_path, about="<Description>She says\nso twice.</Description>"))
        assert {each.note for each in Coding.objects.all()} == {"She says so twice."}

    def test_a_note_on_a_selection_is_a_memo_on_its_first_sentence(self, study, tmp_path):
        bring_in(study, make_foreign(tmp_path))
        memo = Memo.objects.select_related("sentence__turn", "author").get()
        assert memo.sentence is not None
        assert memo.sentence.read_text() == "I was glad."
        assert (memo.text, memo.author.username) == ("Thought\nHm.", "Ann (imported)")

    def test_another_text_of_the_same_name_gets_an_identifier_of_its_own(self, study, owner, tmp_path):
        line = json.dumps({"id": "Talk", "turns": [{"role": "model", "text": "Another."}]})
        import_file(study=study, name="talk.jsonl", data=line.encode(), by=owner)
        bring_in(study, make_foreign(tmp_path))
        assert Interview.objects.filter(external_id="Talk (00000000)").exists()
        assert Turn.objects.get(interview__external_id="Talk").text == "Another."

    def test_codes_with_names_of_the_study_are_the_studys_where_that_is_said(self, study, tmp_path):
        own = Code.objects.get(version__study=study, identifier="theme.balance")
        path = make_foreign(tmp_path, code=own.name.upper())
        report = bring_in(study, path, dry_run=True)
        assert (report.namesakes, report.new["codes"]) == ([own.name.upper()], 2)
        told = "1 code has the name of a code of this study, but another GUID: it is "
        assert f"{told}imported as a new code." in report.notes
        report = bring_in(study, path, same_names=True)
        assert (report.new["codes"], report.known["codes"]) == (1, 1)
        assert f"{told}taken for the study’s." in report.notes
        assert {each.code.identifier for each in Coding.objects.select_related("code")} == {"theme.balance"}
        assert not bring_in(study, path, same_names=True).is_new

    def test_what_is_written_about_codings_and_links_becomes_no_memo_wherever_its_note_is(self, study, tmp_path):
        """QualCoder gives all notes back as notes of the study."""
        notes = {"auditapp link: acts on": "Task (feature.task)", "Interpretation 12": "Glad", "Interpretation": "Mine"}
        xml = "".join(
            f'<Note guid="00000000-0000-4000-8000-0000000000f{number}" name="{name}" creatingUser="{ANN}">'
            f"<PlainTextContent>{text}</PlainTextContent></Note>"
            for number, (name, text) in enumerate(notes.items())
        )
        path = tmp_path / "bare.qde"
        content = FOREIGN.format(start=0, end=4, second="Bea", user=ANN, about="<Description>Glad</Description>")
        content = content.replace('plainTextPath="internal://talk.txt">', "><PlainTextContent>Glad.</PlainTextContent>")
        path.write_text(content.replace("</Notes>", f"{xml}</Notes>"))
        report = bring_in(study, path)
        assert sorted(Memo.objects.values_list("text", flat=True)) == ["Interpretation\nMine", "Thought\nHm."]
        assert "1 link of a coding: links are in the file only for reading." in report.left_out
        assert "1 note: only the words of an interpretation that is imported with its coding." in report.left_out

    def test_an_import_measures_whether_the_last_position_is_the_last_character(self, study, owner, tmp_path):
        text = "One is here. Two is there. Three is gone. Four"
        words = ["One is", "Two", "there.", "Three is gone."]

        def write(shift):
            begin, rest = FOREIGN.split("<PlainTextSelection ", 1)
            one, end = rest.split("</PlainTextSelection>", 1)
            chosen = ""
            for number, each in enumerate(words):
                start = text.index(each)
                made = one.format(start=start, end=start + len(each) - shift, user=ANN, about="")
                made = re.sub(r"0000000([bd])1", rf"0{number}00000\g<1>1", made)
                chosen += f"<PlainTextSelection {made}</PlainTextSelection>"
            path = tmp_path / f"{shift}.qdpx"
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("project.qde", begin.format(second="Bea") + chosen + end)
                archive.writestr("sources/talk.txt", text)
            return path

        for shift, told in (
            (0, "4 selections: their last position was read as the character after their last one: so 4 of 4 end"),
            (1, "4 selections: their last position was read as their last character: so 4 of 4 end"),
        ):
            study = start_study(slug=f"study-{shift}", name="Study", by=owner)
            report = bring_in(study, write(shift))
            assert [note for note in report.notes if note.startswith(told)], report.notes
            codings = Coding.objects.filter(sentence__turn__interview__study=study).select_related("sentence__turn")
            quoted = {
                each.sentence.turn.text[each.quote_start : each.quote_end]
                if each.quote_start is not None
                else each.sentence.read_text()
                for each in codings
            }
            # Two selections of the second sentence became one quote.
            assert quoted == {"One is", "Two is there.", "Three is gone."}


class TestOurTextInAnotherProgramsFile:
    """What comes back is the text, without our own part."""

    TEXT = (
        "Interviewer: What is home?\n\nModel (reasoning): A place, I think.\n\nModel: A place.\n\nNote: or a person.\n\n"
        "Tool (tool_result): 3\n\nInterviewer: Only one?\n\nModel: Two.\n\n"
    )

    def test_the_headings_that_we_write_are_read(self, study, tmp_path):
        report = bring_in(study, make_foreign(tmp_path, text=self.TEXT, words="A place."))
        turns = Turn.objects.filter(interview__external_id="Talk").order_by("position")
        assert [(turn.role, turn.channel, turn.text) for turn in turns] == [
            ("interviewer", "utterance", "What is home?"),
            ("model", "reasoning", "A place, I think."),
            ("model", "utterance", "A place.\n\nNote: or a person."),
            ("tool", "tool_result", "3"),
            ("interviewer", "utterance", "Only one?"),
            ("model", "utterance", "Two."),
        ]
        assert "1 text: who speaks was read from the headings that this program writes." in report.notes

    @pytest.mark.parametrize(
        "text",
        [
            "Interviewer: a\nModel: b\nInterviewer: c\nModel: d\n\n",
            "Interviewer: a\n\nModel: b",
            "By the way.\n\nModel (reasoning): a\n\n",
            "",
        ],
    )
    def test_texts_of_others_are_read_as_before(self, text):
        assert read_headings(text, is_ours=False) == []

    def test_an_interview_that_is_there_is_found_again_though_no_heading_tells_kinds_of_prompts(
        self, study, owner, tmp_path
    ):
        turns = [
            {"role": "interviewer", "text": "What is home?", "prompt_kind": "opening"},
            {"role": "model", "text": "A place. "},
        ]
        line = json.dumps({"id": "Talk", "turns": turns})
        import_file(study=study, name="talk.jsonl", data=line.encode(), by=owner)
        text = lay_out(list(Turn.objects.filter(interview__external_id="Talk").order_by("position"))).text
        report = bring_in(study, make_foreign(tmp_path, text=text, words="A place."))
        assert (report.new["interviews"], report.known["interviews"], report.new["codings"]) == (0, 1, 1)


class TestGuids:
    def test_two_peoples_rows_with_one_key_have_two_guids_and_the_older_keeps_hers(
        self, worked, coder, second_coder, owner, tmp_path
    ):
        first = Coding.objects.filter(coder=coder).exclude(note="").earliest("pk")
        sentence = Sentence.objects.select_related("turn__interview__study").get(pk=first.sentence_id)
        entries = [
            add_coding(
                study=worked,
                sentence=sentence,
                code=Code.objects.get(version__study=worked, identifier=identifier),
                by=second_coder,
                idempotency_key=key,
                values=CodingValues(note="Hers."),
            )
            for identifier, key in (("theme.balance", first.idempotency_key), ("feature.power", uuid.uuid4()))
        ]
        key = uuid.uuid4()
        for by in (coder, second_coder):
            write_memo(
                study=worked,
                interview=sentence.turn.interview,
                sentence=sentence,
                text=f"By {by.username}.",
                by=by,
                idempotency_key=key,
            )
        path = export(worked, tmp_path)
        with zipfile.ZipFile(path) as archive:
            written = archive.read("project.qde").decode()
        guids = re.findall(r'\bguid="([^"]+)"', written)
        assert len(set(guids)) == len(guids)
        assert {str(first.idempotency_key), str(key)} <= set(guids)
        names = re.findall(r'<Note [^>]*\bname="([^"]+)"', written)
        assert len(set(names)) == len(names)
        assert {"Interpretation 1", "Interpretation 2"} <= set(names)
        # The study knows them again, also after one of them was withdrawn.
        assert not bring_in(worked, path).is_new
        withdraw_coding(study=worked, coding=entries[0], by=second_coder)
        assert not bring_in(worked, path).is_new
        other = create_study(slug="other", name="Other", by=owner)
        report = bring_in(other, path)
        assert report.new["codings"] == guids_of(written, "Coding")
        assert not bring_in(other, path).is_new
        with zipfile.ZipFile(export(other, tmp_path)) as archive:
            again = re.findall(r'\bguid="([^"]+)"', archive.read("project.qde").decode())
        assert len(set(again)) == len(again)


def guids_of(written, tag):
    return len(re.findall(rf"<{tag} ", written))


class TestAllOrNothing:
    def test_a_dry_run_tells_what_would_come_and_stores_nothing(self, study, tmp_path):
        events = AuditEvent.objects.count()
        report = bring_in(study, make_foreign(tmp_path), dry_run=True)
        assert (report.new["interviews"], report.new["codes"], report.new["codings"]) == (1, 2, 1)
        assert not Interview.objects.exists()
        assert not User.objects.filter(username__endswith="(imported)").exists()
        assert CodebookVersion.objects.filter(study=study).count() == 1
        assert AuditEvent.objects.count() == events

    def test_an_import_is_one_event_with_its_counts(self, study, tmp_path):
        bring_in(study, make_foreign(tmp_path))
        event = AuditEvent.objects.get(action="exchange.study.imported")
        assert event.details["new"] == {"interviews": 1, "sentences": 6, "codes": 2, "codings": 1, "memos": 1}

    def test_an_open_draft_is_not_published_by_the_way(self, study, owner, tmp_path):
        start_draft(study=study, by=owner)
        with pytest.raises(StudyRefused, match="draft"):
            bring_in(study, make_foreign(tmp_path))
        assert not Interview.objects.exists()

    def test_a_codebook_that_is_published_while_the_file_comes_in_is_not_taken_back(
        self, study, owner, tmp_path, monkeypatch
    ):
        store = importing._Incoming._store_on_new

        def publish_first(incoming, *given):
            draft = start_draft(study=study, by=owner)
            publish_version(version=draft, by=owner)
            return store(incoming, *given)

        monkeypatch.setattr(importing._Incoming, "_store_on_new", publish_first)
        with pytest.raises(StudyRefused, match="published during the import"), transaction.atomic():
            bring_in(study, make_foreign(tmp_path))
        assert not Code.objects.filter(name="Joy", version__status="published").exists()

    def test_codings_of_an_archived_interview_are_left_out_and_told(self, study, owner, tmp_path):
        path = make_foreign(tmp_path)
        bring_in(study, path)
        Coding.objects.all().delete()
        archive_interviews(study=study, interviews=study.interviews.all(), reason="Not ours.", by=owner)
        report = bring_in(study, path)
        assert not Coding.objects.exists()
        assert (
            "1 coding: the interview is archived or excluded in this study. Restore it, then import the file again."
            in report.left_out
        )

    def test_work_that_was_done_since_the_file_was_compared_is_compared_too(
        self, worked, coder, owner, tmp_path, monkeypatch
    ):
        path = export(worked, tmp_path)
        Coding.objects.filter(coder=coder).delete()
        merge, tries = importing._Incoming._merge, list[int]()

        def code_meanwhile(incoming, *given):
            merged = merge(incoming, *given)
            tries.append(len(merged.codings.counts))
            if len(tries) == 1:
                sentence = Sentence.objects.filter(turn__interview__study=worked, turn__role="model").earliest("pk")
                code = Code.objects.select_related("family", "version").get(
                    version__study=worked, identifier="theme.balance"
                )
                add_coding(study=worked, sentence=sentence, code=code, by=coder, idempotency_key=uuid.uuid4())
            return merged

        monkeypatch.setattr(importing._Incoming, "_merge", code_meanwhile)
        report = bring_in(worked, path)
        assert len(tries) == 2
        assert report.known["codings"] > 0
        active = Coding.objects.filter(coder=coder, withdrawn_at__isnull=True)
        assert active.count() == active.values("sentence", "code", "blinding").distinct().count() > 2

    def test_an_interview_that_is_archived_since_the_file_was_compared_gets_no_coding(
        self, study, owner, tmp_path, monkeypatch
    ):
        path = make_foreign(tmp_path)
        bring_in(study, path)
        Coding.objects.all().delete()
        merge, tries = importing._Incoming._merge, list[int]()

        def archive_meanwhile(incoming, *given):
            merged = merge(incoming, *given)
            tries.append(1)
            if len(tries) == 1:
                archive_interviews(study=study, interviews=study.interviews.all(), reason="Not ours.", by=owner)
            return merged

        monkeypatch.setattr(importing._Incoming, "_merge", archive_meanwhile)
        bring_in(study, path)
        assert len(tries) == 2
        assert not Coding.objects.exists()

    @pytest.mark.parametrize("data", [b"", b"PK", b"<Project/>", b"\x00" * 100, b"PK\x03\x04" + b"x" * 200])
    def test_what_is_no_project_file_is_refused_with_a_sentence(self, study, data):
        with pytest.raises(StudyRefused):
            import_qdpx(study=study, stream=io.BytesIO(data), name="x.qdpx", by=trail.SYSTEM)


class TestPage:
    def path(self, study):
        return reverse("exchange:import", args=[study.slug])

    def upload(self, path):
        return SimpleUploadedFile("foreign.qdpx", path.read_bytes())

    def test_people_have_to_be_looked_at_before_anything_comes_in(self, study, lead, client_of, tmp_path):
        client, file = client_of(lead), make_foreign(tmp_path)
        answer = client.post(self.path(study), {"file": self.upload(file)})
        assert answer.status_code == 422
        assert "Ann (imported)" in answer.content.decode()
        assert not Interview.objects.exists()
        seen = answer.context["report"].sha256
        answer = client.post(self.path(study), {"file": self.upload(file), "seen": seen})
        assert answer.status_code == 302
        assert Interview.objects.filter(external_id="Talk").exists()

    def test_a_check_stores_nothing(self, study, lead, client_of, tmp_path):
        answer = client_of(lead).post(self.path(study), {"file": self.upload(make_foreign(tmp_path)), "check": "1"})
        assert "rounds, completed assignments or adjudications" in answer.content.decode()
        assert answer.status_code == 200
        assert "Nothing has been stored yet" in answer.content.decode()
        assert not Interview.objects.exists()

    def test_who_bears_a_members_name_can_be_kept_apart(self, study, lead, coder, client_of, tmp_path):
        client, file = client_of(lead), make_foreign(tmp_path, second="coder", user=SECOND)
        answer = client.post(self.path(study), {"file": self.upload(file), "check": "1"})
        assert f'name="bears" value="{SECOND}"' in answer.content.decode()
        seen = answer.context["report"].sha256
        client.post(self.path(study), {"file": self.upload(file), "seen": seen, "bears": SECOND})
        assert {each.coder.username for each in Coding.objects.all()} == {"coder (imported)"}

    def test_codes_with_names_of_the_study_have_to_be_looked_at_too(self, study, lead, client_of, tmp_path):
        own = Code.objects.get(version__study=study, identifier="theme.balance")
        client, file = client_of(lead), make_foreign(tmp_path, code=own.name)
        answer = client.post(self.path(study), {"file": self.upload(file), "check": "1"})
        assert 'name="same_names" value="on" checked' in answer.content.decode()
        assert "taken for the study’s" in answer.content.decode()
        asked = {"file": self.upload(file), "seen": answer.context["report"].sha256}
        again = client.post(self.path(study), {**asked, "check": "1"}).content.decode()
        assert 'name="same_names" value="on">' in again
        client.post(self.path(study), {**asked, "file": self.upload(file), "same_names": "on"})
        assert {each.code.identifier for each in Coding.objects.select_related("code")} == {"theme.balance"}

    def test_a_broken_file_is_told_beside_the_field(self, study, lead, client_of):
        broken = SimpleUploadedFile("x.qdpx", b"PK nothing")
        answer = client_of(lead).post(self.path(study), {"file": broken}, headers={"HX-Request": "true"})
        assert answer.status_code == 422
        assert "zip archive" in answer.content.decode()

    def test_a_coder_may_not(self, study, coder, client_of):
        assert client_of(coder).get(self.path(study)).status_code == 403


class TestCommand:
    def test_it_tells_what_came_and_what_did_not(self, study, tmp_path):
        stream = io.StringIO()
        path = str(make_foreign(tmp_path))
        call_command("study", "import", path, "--study", study.slug, "--dry-run", "--json", stdout=stream)
        told = json.loads(stream.getvalue())
        assert told["dry_run"]
        assert told["new"]["codings"] == 1
        assert {person["name"] for person in told["people"]} == {"Ann", "Bea"}
        call_command("study", "import", path, "--study", study.slug, stdout=stream)
        assert "1 new and 0 known codings" in stream.getvalue()

    def test_it_asks_whether_codes_with_names_of_the_study_are_the_studys(self, study, tmp_path):
        stream = io.StringIO()
        own = Code.objects.get(version__study=study, identifier="theme.balance")
        path = str(make_foreign(tmp_path, code=own.name))
        call_command("study", "import", path, "--study", study.slug, "--dry-run", stdout=stream)
        assert "With --same-names, codes in the file are matched" in stream.getvalue()
        call_command("study", "import", path, "--study", study.slug, "--same-names", stdout=stream)
        assert {each.code.identifier for each in Coding.objects.select_related("code")} == {"theme.balance"}

    def test_a_refusal_says_each_thing_once(self, study, tmp_path):
        path = tmp_path / "x.qdpx"
        path.write_bytes(b"no archive")
        with pytest.raises(CommandError) as refused:
            call_command("study", "import", str(path), "--study", study.slug)
        assert str(refused.value).count("found ") == 1

    def test_a_file_that_is_not_there_is_told(self, study, tmp_path):
        with pytest.raises(CommandError, match="cannot be read"):
            call_command("study", "import", str(tmp_path / "no.qdpx"), "--study", study.slug)


@pytest.mark.parametrize(
    ("name", "sources", "codes", "codings"),
    [
        pytest.param("qualcoder_mannheimer_8.qdpx", 8, 284, 324, marks=pytest.mark.full),
        ("TestProject.qdpx", 0, 14, 0),
        ("target-atlas-project.qdpx", 0, 3, 0),
        ("atlasti_standard_project/Project.qde", 0, 14, 0),
    ],
)
def test_files_of_other_programs_come_in(study, name, sources, codes, codings):
    report = bring_in(study, shared(f"data/qda/refi/{name}"))
    assert (report.new["interviews"], report.new["codes"], report.new["codings"]) == (sources, codes, codings)
    assert not bring_in(study, shared(f"data/qda/refi/{name}")).is_new


def test_metadata_called_as_a_field_of_ours_comes_back_under_another_name(study, owner, tmp_path):
    line = {"id": "odd", "interview": "x", "city": "Köln", "turns": [{"role": "model", "text": "So."}]}
    import_file(study=study, name="odd.jsonl", data=json.dumps(line).encode(), by=owner)
    other = create_study(slug="other", name="Other", by=owner)
    bring_in(other, export(study, tmp_path))
    [again] = other.interviews.filter(external_id="odd")
    assert again.metadata == {"variable interview": "x", "city": "Köln"}


@pytest.mark.django_db
def test_links_are_notes_to_read_that_come_back_as_nothing_else(worked, second_coder, owner, tmp_path):
    codings = Coding.objects.filter(coder=second_coder).select_related("code", "sentence__turn__interview__study")
    move, entry = codings.get(code__identifier="move.elicit"), codings.get(code__identifier="feature.task")
    said_before = codings.get(code__identifier="theme.compassion").sentence
    ends = ((move, {"kind": "acts_on", "code": entry.code}), (entry, {"kind": "warrant", "sentence": said_before}))
    for coding, link in ends:
        add_link(study=worked, coding=coding, by=second_coder, idempotency_key=uuid.uuid4(), **link)
    withdrawn = add_link(
        study=worked,
        coding=move,
        kind="acts_on",
        code=Code.objects.get(version__study=worked, identifier="feature.power"),
        by=second_coder,
        idempotency_key=uuid.uuid4(),
    )
    withdraw_link(study=worked, link=withdrawn, by=second_coder)
    before = describe(worked)
    path = export(worked, tmp_path)
    with path.open("rb") as stream:
        notes = [note for note in read_qdpx(stream, name=path.name).notes if note.name.startswith("auditapp link: ")]
    assert sorted((note.name, note.text.partition(":")[0]) for note in notes) == [
        ("auditapp link: acts on 1", "Task (feature.task)"),
        ("auditapp link: rests on 1", "i1, turn 2, sentence 2"),
    ]
    other = create_study(slug="other", name="Other", by=owner)
    report = bring_in(other, path)
    assert [sentence for sentence in report.left_out if "link" in sentence] == [
        "2 links of a coding: links are in the file only for reading."
    ]
    after = describe(other)
    assert [row[-4] for row in after["codings"]] == [row[-4] for row in before["codings"]]
    assert len(after["memos"]) == len(before["memos"])
    assert not Link.objects.filter(coding__sentence__turn__interview__study=other).exists()


def test_the_file_says_what_it_does_not_hold(study, tmp_path):
    with zipfile.ZipFile(export(study, tmp_path)) as archive:
        told = archive.read("README.txt").decode()
    assert [word for word in ("decisions", "adjudications", "consents", "ids of calls") if word not in told] == []
