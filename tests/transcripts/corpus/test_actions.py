import hashlib
import json

import pytest

from tests.support.shared import shared
from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import SYSTEM
from transcripts.corpus.actions import import_file, import_files, plan_imports
from transcripts.corpus.models import ImportedFile, Interview, Sentence, Turn
from transcripts.corpus.pure.segmenting import SEGMENTER, SEGMENTER_VERSION
from transcripts.refusals import Refused
from transcripts.studies.models import Study

ANSWER = "I would ask first. It depends on what you need."


def make_line(external_id, answer=ANSWER, **more):
    turns = [{"role": "interviewer", "text": "What would you do?"}, {"role": "model", "text": answer}]
    return json.dumps({"id": external_id, "model": "Model A", "turns": turns, **more})


def make_file(*lines, name="interviews.jsonl"):
    return (name, "\n".join(lines).encode())


def count_rows():
    return [model.objects.count() for model in (ImportedFile, Interview, Turn, Sentence, AuditEvent)]


def test_file_comes_in_with_turns_and_sentences(study, lead):
    file_name, data = make_file(make_line("a"), make_line("b"))
    report = import_file(study=study, name=file_name, data=data, by=lead)
    assert (report.interviews, report.turns, report.sentences) == (2, 4, 6)
    assert report.created
    assert not report.skipped
    assert report.sha256 == hashlib.sha256(data).hexdigest()
    assert list(study.interviews.values_list("pk", flat=True)) == report.interview_ids


def test_interviewers_turns_are_cut_into_sentences_too(interview):
    asked = Sentence.objects.filter(turn__interview=interview, turn__role="interviewer")
    assert [sentence.read_text() for sentence in asked.select_related("turn")] == [
        "How do you handle a question where culture may matter?",
        "You said it never settles it.",
        "Never?",
    ]


def test_sentences_are_numbered_over_the_whole_interview(interview):
    positions = Sentence.objects.filter(turn__interview=interview).order_by("turn__position", "start")
    assert list(positions.values_list("position", flat=True)) == list(range(1, 11))


def test_offsets_and_hash_belong_to_the_stored_text(study, lead):
    answer = "A café — naïve? 👩‍👩‍👧 Yes.\n\n* **Bold** claim\n"
    import_file(study=study, name="x.jsonl", data=make_line("a", answer).encode(), by=lead)
    turn = Turn.objects.get(role="model")
    assert turn.text == answer
    for sentence in turn.sentences.all():
        quoted = answer[sentence.start : sentence.end]
        assert sentence.read_text() == quoted
        assert sentence.text_hash == hashlib.sha256(quoted.encode()).hexdigest()[:32]


def test_a_text_that_was_cut_by_an_older_version_keeps_its_sentences(study, lead):
    old, new = (make_line(name, "IV. Next comes the law.").encode() for name in ("old", "new"))
    import_file(study=study, name="old.jsonl", data=old, by=lead)
    # As version 1 cut it.
    Interview.objects.update(segmenter="markdown-sentencex 1")
    [sentence] = Sentence.objects.filter(turn__role="model")
    Sentence.objects.filter(pk=sentence.pk).update(end=3)
    stored = list(Sentence.objects.order_by("pk").values())
    import_file(study=study, name="old again.jsonl", data=old + b"\n" + new, by=lead)
    assert list(Sentence.objects.filter(turn__interview__external_id="old").order_by("pk").values()) == stored
    assert dict(Interview.objects.values_list("external_id", "segmenter")) == {
        "old": "markdown-sentencex 1",
        "new": f"markdown-sentencex {SEGMENTER_VERSION}",
    }
    [cut_now] = Sentence.objects.filter(turn__interview__external_id="new", turn__role="model").select_related("turn")
    assert cut_now.read_text() == "IV. Next comes the law."


def test_interview_keeps_what_is_known_of_it(interview, owner):
    assert (interview.title, interview.model_label) == ("First interview", "Model A")
    assert interview.segmenter == f"{SEGMENTER} {SEGMENTER_VERSION}"
    assert interview.imported_file.imported_by == owner
    assert interview.imported_file.imported_by_name == "owner"


def test_counts_are_taken_at_import(interview):
    assert (interview.turn_count, interview.sentence_count, interview.questions) == (4, 10, 2)
    assert interview.author_words == 17
    assert interview.model_words == 41


def test_interviewers_kind_of_question_is_kept(interview):
    kinds = interview.turns.order_by("position").values_list("prompt_kind", flat=True)
    assert list(kinds) == ["open", "", "challenge", ""]


def test_a_call_of_a_tool_and_its_result_are_one_unit_each(study, lead):
    calls = [{"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"q": "One. Two."}'}}]
    messages = [
        {"role": "user", "content": "What is the rule?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "First rule. Second rule."},
        {"role": "assistant", "content": "There are two."},
    ]
    import_file(study=study, name="x.jsonl", data=json.dumps({"messages": messages}).encode(), by=lead)
    traffic = Turn.objects.filter(channel__in=["tool_call", "tool_result"])
    assert [turn.text for turn in traffic if "rule" in turn.text] == ["First rule. Second rule."]
    units = Sentence.objects.filter(turn__in=traffic)
    assert [(unit.kind, unit.read_text()) for unit in units] == [
        ("call", '{"q": "One. Two."}'),
        ("result", "First rule. Second rule."),
    ]
    assert [turn.call_id for turn in traffic] == ["c", "c"]
    assert list(Turn.objects.order_by("position").values_list("is_answer", flat=True)) == [False, True, False, True]


def test_import_leaves_one_event_with_numbers_and_no_text(study, lead):
    report = import_file(study=study, name="x.jsonl", data=make_line("a").encode(), by=lead)
    event = AuditEvent.objects.get(action="corpus.file.imported")
    assert event.actor_name == "lead"
    assert event.details == {
        "sha256": report.sha256,
        "format": report.format,
        "interviews": report.interview_ids,
        "turns": 2,
        "sentences": 3,
    }


def test_same_file_twice_stores_nothing_and_says_so(study, lead):
    file_name, data = make_file(make_line("a"), make_line("b"))
    first = import_file(study=study, name=file_name, data=data, by=lead)
    before = count_rows()
    second = import_file(study=study, name="renamed.jsonl", data=data, by=lead)
    assert count_rows() == before
    assert second.skipped
    assert not second.created
    assert second.already_there == 2
    assert second.interview_ids == first.interview_ids
    assert "Already imported" in second.warnings[0]
    assert "interviews.jsonl" in second.warnings[0]


def test_same_file_may_come_into_two_studies(study, owner, lead):
    other = Study.objects.create(slug="other", name="Other", created_at=study.created_at)
    data = make_line("a").encode()
    assert import_file(study=study, name="x.jsonl", data=data, by=lead).created
    assert import_file(study=other, name="x.jsonl", data=data, by=owner).created


def test_interview_the_study_has_word_for_word_is_left_out(study, lead):
    import_file(study=study, name="x.jsonl", data=make_line("a").encode(), by=lead)
    report = import_files(study=study, files=[make_file(make_line("a"), make_line("b"))], by=lead)[0]
    assert (report.interviews, report.already_there) == (1, 1)
    assert report.created
    assert any("word for word" in warning and "a" in warning for warning in report.warnings)
    assert study.interviews.count() == 2


def test_file_of_interviews_that_are_all_there_stores_nothing(study, lead):
    import_file(study=study, name="x.jsonl", data=make_line("a").encode(), by=lead)
    before = count_rows()
    report = import_file(study=study, name="y.jsonl", data=make_line("a", tier="brief").encode(), by=lead)
    assert report.skipped
    assert count_rows() == before


def test_changed_text_under_a_known_id_is_refused(study, lead):
    import_file(study=study, name="x.jsonl", data=make_line("a").encode(), by=lead)
    before = count_rows()
    with pytest.raises(Refused, match=r"y\.jsonl, line 2.*a new id"):
        import_files(
            study=study, files=[make_file(make_line("b"), make_line("a", "Another text."), name="y.jsonl")], by=lead
        )
    assert count_rows() == before


def test_half_valid_file_stores_nothing_and_names_the_line(study, lead):
    before = count_rows()
    file_name, data = make_file(make_line("a"), '{"id": "b", "turns": [', make_line("c"))
    with pytest.raises(Refused, match=r"interviews\.jsonl.*line 2"):
        import_file(study=study, name=file_name, data=data, by=lead)
    assert count_rows() == before


def test_one_wrong_file_keeps_the_right_ones_out(study, lead):
    before = count_rows()
    with pytest.raises(Refused, match=r"second\.jsonl"):
        import_files(
            study=study,
            files=[make_file(make_line("a"), name="first.jsonl"), make_file("{", name="second.jsonl")],
            by=lead,
        )
    assert count_rows() == before


def test_same_file_given_twice_comes_in_once(study, lead):
    reports = import_files(
        study=study,
        files=[make_file(make_line("a"), name="first.jsonl"), make_file(make_line("a"), name="second.jsonl")],
        by=lead,
    )
    assert [report.created for report in reports] == [True, False]
    assert "word for word" in reports[1].warnings[0]
    assert study.imported_files.count() == 1


def test_two_files_given_together_may_not_disagree_on_a_text(study, lead):
    with pytest.raises(Refused, match=r"second\.jsonl"):
        import_files(
            study=study,
            files=[
                make_file(make_line("a"), name="first.jsonl"),
                make_file(make_line("a", "Another text."), name="second.jsonl"),
            ],
            by=lead,
        )
    assert not study.interviews.exists()


def test_a_title_that_the_database_cannot_keep_is_refused(study, lead):
    line = make_line("a", title="t" * 301)
    with pytest.raises(Refused, match=r"x\.jsonl, line 1.*title.*301"):
        import_file(study=study, name="x.jsonl", data=line.encode(), by=lead)
    assert not study.interviews.exists()


def test_characters_that_no_database_keeps_are_replaced_and_told(study, lead):
    lines = [
        make_line("a", "half \ud83d of a pair"),
        make_line("b", "before \u0000 after"),
        make_line("c", "Plain.", mood="so\ud800so"),
    ]
    report = import_file(study=study, name="x.jsonl", data="\n".join(lines).encode(), by=lead)
    told = dict(Turn.objects.filter(position=2).values_list("interview__external_id", "text"))
    assert told == {"a": "half \ufffd of a pair", "b": "before \u2400 after", "c": "Plain."}
    assert [warning for warning in report.warnings if "replaced" in warning] == [
        "Half of a surrogate pair, which is not a character, was replaced by U+FFFD. (2 times)",
        "The character U+0000, which no database keeps, was replaced by its symbol, U+2400.",
    ]


def test_dry_run_reports_the_same_and_stores_nothing(study, lead):
    files = [make_file(make_line("a"), make_line("b"))]
    before = count_rows()
    planned = plan_imports(study=study, files=files)[0]
    assert count_rows() == before
    done = import_files(study=study, files=files, by=lead)[0]
    told = ("interviews", "turns", "sentences", "format", "sha256", "warnings", "created")
    assert [getattr(planned, name) for name in told] == [getattr(done, name) for name in told]


def test_dry_run_refuses_what_an_import_refuses(study):
    with pytest.raises(Refused, match="line 1"):
        plan_imports(study=study, files=[("x.jsonl", b"{")])


def test_import_takes_as_many_queries_for_many_interviews_as_for_few(study, lead, django_assert_max_num_queries):
    for name, count in (("few.jsonl", 2), ("many.jsonl", 60)):
        file = make_file(*(make_line(f"{name} {number}") for number in range(count)), name=name)
        with django_assert_max_num_queries(38):
            import_files(study=study, files=[file], by=lead)


def test_program_itself_may_import(study):
    import_file(study=study, name="x.jsonl", data=make_line("a").encode(), by=SYSTEM)
    imported = ImportedFile.objects.get()
    assert imported.imported_by is None
    assert imported.imported_by_name == "system"


def test_published_excerpts_come_in_whole(study, lead):
    path = shared("data/interviews/excerpts.jsonl")
    report = import_file(study=study, name=path.name, data=path.read_bytes(), by=lead)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert report.interviews == len(lines)
    stored = Interview.objects.get(study=study, external_id=lines[0]["id"])
    assert stored.model_label == lines[0]["model"]
    assert [turn.text for turn in stored.turns.order_by("position")] == [turn["text"] for turn in lines[0]["turns"]]
    assert report.sentences == Sentence.objects.filter(turn__interview__study=study).count()
    covered = Sentence.objects.filter(turn__interview=stored).select_related("turn")
    assert all(sentence.read_text().strip() for sentence in covered)
