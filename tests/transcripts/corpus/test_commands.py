import io
import json
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.support.shared import shared
from transcripts.corpus.management.commands.interview import format_import
from transcripts.corpus.models import Interview, Sentence
from transcripts.corpus.planning import ImportReport
from transcripts.corpus.pure.segmenting import SEGMENTER, SEGMENTER_VERSION

LINE = json.dumps({"id": "a", "model": "Model A", "turns": [{"role": "model", "text": "One thing. Another thing."}]})


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "interviews.jsonl"
    path.write_text(LINE, encoding="utf-8")
    return path


def run(capsys, *args):
    call_command(*map(str, args), "--json")
    answer = json.loads(capsys.readouterr().out)
    assert isinstance(answer, dict)
    return answer


def test_import_tells_what_came_in(study, path, capsys):
    answer = run(capsys, "interview", "import", path, "--study", study.slug)
    interview = Interview.objects.get(study=study)
    file = answer["files"][0]
    assert (answer["created"], answer["skipped"]) == (1, 0)
    assert (file["path"], file["interviews"], file["turns"], file["sentences"]) == (str(path), 1, 1, 2)
    assert file["interview_ids"] == [interview.pk]


def test_importing_again_skips(study, path, capsys):
    run(capsys, "interview", "import", path, "--study", study.slug)
    answer = run(capsys, "interview", "import", path, "--study", study.slug)
    assert (answer["created"], answer["skipped"]) == (0, 1)
    assert Interview.objects.count() == 1


def test_dry_run_creates_nothing(study, path, capsys):
    answer = run(capsys, "interview", "import", path, "--study", study.slug, "--dry-run")
    assert answer["dry_run"] is True
    assert answer["created"] == 0
    assert answer["files"][0]["sentences"] == 2
    assert not Interview.objects.exists()


def test_several_files_come_in_together_or_not_at_all(study, path):
    wrong = path.with_name("wrong.jsonl")
    wrong.write_text(LINE + "\n{\n", encoding="utf-8")
    with pytest.raises(CommandError, match=r"wrong\.jsonl.*line 2") as refused:
        call_command("interview", "import", str(path), str(wrong), "--study", study.slug)
    assert "\n" not in str(refused.value)
    assert not Interview.objects.exists()


def test_file_that_is_not_there_is_named(study, tmp_path):
    with pytest.raises(CommandError, match=r"absent\.jsonl cannot be read: No such file"):
        call_command("interview", "import", str(tmp_path / "absent.jsonl"), "--study", study.slug)


def test_interviews_by_standard_input_are_called_so(study, path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    call_command("interview", "import", "-", "--study", study.slug)
    assert capsys.readouterr().out.startswith("standard input: imported ")


def test_study_that_is_not_there_is_named(db, path):
    with pytest.raises(CommandError, match="no study 'nowhere'"):
        call_command("interview", "import", str(path), "--study", "nowhere")


def test_words_tell_a_dry_run_from_an_import():
    report = ImportReport("a.jsonl", "interviews", "0" * 64, 1, 2, 3, warnings=["Mind the gap."], created=True)
    assert format_import(Path("a.jsonl"), report, dry_run=True) == (
        "a.jsonl: would import 1 interview, 2 turns, 3 sentences (read as interviews).\n  Mind the gap."
    )


def test_shared_conversations_come_in_beside_the_excerpts(study, capsys):
    paths = (
        shared("data/interviews/excerpts.jsonl"),
        shared("data/conversations/openai_messages/chat_messages_120.jsonl"),
    )
    answer = run(capsys, "interview", "import", *paths, "--study", study.slug)
    assert answer["created"] == Interview.objects.count()
    assert answer["files"][1]["interviews"] == 120
    assert sum(file["sentences"] for file in answer["files"]) == Sentence.objects.count()


def test_segment_cuts_a_file_by_code_points(tmp_path, capsys):
    text = "\ufeff# Köpfe 👋\r\n\r\nEin Satz. Noch einer!\r\n- Punkt eins\r\n"
    path = tmp_path / "text.md"
    path.write_bytes(text.encode())
    answer = run(capsys, "interview", "segment", path)
    assert answer["segmenter"] == f"{SEGMENTER} {SEGMENTER_VERSION}"
    sentences = answer["sentences"]
    assert isinstance(sentences, list)
    assert all(sentence["text"] == text[sentence["start"] : sentence["end"]] for sentence in sentences)
    assert [sentence["text"] for sentence in sentences][-3:] == ["Ein Satz.", "Noch einer!", "Punkt eins"]
    assert sentences[-1]["kind"] == "list_item"


def test_segment_prints_a_line_for_each_sentence(tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text("One. Two.", encoding="utf-8")
    call_command("interview", "segment", str(path))
    assert capsys.readouterr().out == "1\t0-4\tprose\tOne.\n2\t5-9\tprose\tTwo.\n"


def test_segment_refuses_what_is_not_utf8_and_names_the_line(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("One.\nTwo é.".encode("latin-1"))
    with pytest.raises(CommandError, match=r"text\.txt, line 2: found byte 0xE9"):
        call_command("interview", "segment", str(path))
