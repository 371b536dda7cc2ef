import csv
import json

import pytest
from django.core.management import CommandError, call_command

from auditapp.annotators.pure.learning import halve, read_texts
from tests.support.shared import shared
from transcripts.formats.problems import ReadError

COLUMNS = ["unit", "group", "text", "codes"]


def write_csv(folder, rows, *, header=None):
    path = folder / "codings.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header or COLUMNS, *rows])
    return path


def report(path, capsys, *options):
    call_command("annotator", "learn", str(path), *options, "--json")
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def plain(tmp_path):
    """Twelve groups in which one word tells one code, and nothing tells the other."""
    rows = [
        [
            f"u{group}.{place}",
            f"g{group}",
            f"{'Rain' if place % 2 else 'Sun'} on day {place} of {group}.",
            "wet; odd" if place % 2 and (group + place) % 5 == 0 else "wet" if place % 2 else "",
        ]
        for group in range(12)
        for place in range(10)
    ]
    return write_csv(tmp_path, rows)


def test_one_half_is_learnt_from_and_the_other_scored(plain, capsys):
    found = report(plain, capsys)
    assert found["taught"] == found["read"] == {"units": 60, "groups": 6}
    wet = found["codes"]["wet"]
    assert (wet["tp"], wet["fp"], wet["fn"], wet["tn"]) == (30, 0, 0, 30)
    assert (wet["learnt"], wet["precision"], wet["recall"]) == (True, 1.0, 1.0)
    assert wet["precision_ci"] == pytest.approx([0.8865, 1.0], abs=1e-4)


def test_what_a_study_would_not_go_by_is_scored_and_says_why(plain, capsys):
    odd = report(plain, capsys)["codes"]["odd"]
    assert odd["learnt"] is False
    assert "of 20 needed" in odd["reason"]
    assert odd["tp"] + odd["fn"] == odd["positives"]
    call_command("annotator", "learn", str(plain))
    assert "A study would not use it." in capsys.readouterr().out


def test_a_group_is_whole_in_one_half(plain):
    taught, tested = halve(read_texts(plain), seed=3)
    assert not {text.group for text in taught} & {text.group for text in tested}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("unit;group;text;codes\na;g;x;c\n", "line 1: found columns separated by semicolons; expected by commas"),
        ("unit,group,text\n", "line 1: found no column codes"),
        ("unit,group,text,codes\n", "found no text; expected at least one"),
        (
            "unit,group,text,codes\na,g,x,\na,g,y,\n",
            "line 3: found the unit “a” of line 2 again; expected each unit once",
        ),
        (
            "unit,group,text,codes\na,g,x,\nb,,y,\n",
            "line 3: found an empty text for “group”; expected a text or a whole number",
        ),
        ("unit,group,text,codes\na,g, ,\n", "line 2: found a text of 1 character for “text”; expected a text"),
    ],
)
def test_a_wrong_csv_is_refused_with_a_sentence(tmp_path, content, says):
    path = tmp_path / "x.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CommandError, match=says):
        call_command("annotator", "learn", str(path))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nothing", "invalid JSON"),
        ("[]", "a list"),
        ('{"unit": 1}', "an object without “codes”; expected codes"),
        ('{"unit": 1, "group": "g", "text": "x", "codes": [2]}', "a list for “codes”"),
        ('{"unit": 1, "group": "g", "text": ["x"], "codes": []}', "a list for “text”; expected a text"),
        ('{"theme": "x", "id": "e", "turns": 3}', "3 for “turns”; expected a list of objects with role and text"),
        ('{"theme": "x", "id": "e"}', "an object without “text”"),
        ('"x"', "text"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, says):
    path = tmp_path / "x.jsonl"
    path.write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(ReadError, match=f"line 2: found {says}"):
        read_texts(path)


def test_a_column_that_a_csv_has_besides_changes_nothing(tmp_path):
    path = tmp_path / "codings.csv"
    path.write_text("unit,group,text,codes,id,theme\nu1,g,One. Two.,a;b,7,care\n", encoding="utf-8")
    [text] = read_texts(path)
    assert (text.unit, text.group, text.text, set(text.codes)) == ("u1", "g", "One. Two.", {"a", "b"})


def test_excerpts_as_papers_publish_them_are_read_sentence_by_sentence(tmp_path):
    turns = [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": "It depends. Ask first."}]
    path = tmp_path / "x.jsonl"
    lines = [{"id": "e1", "theme": "Care", "turns": turns}, {"id": "e2", "theme": None, "turns": turns}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert [(text.unit, text.text, set(text.codes)) for text in read_texts(path)] == [
        ("e1.1", "It depends.", {"Care"}),
        ("e1.2", "Ask first.", {"Care"}),
    ]


def test_the_published_excerpts_are_too_few_and_their_figures_are_printed(capsys):
    found = report(shared("data/interviews/excerpts.jsonl"), capsys)
    assert found["taught"]["groups"] + found["read"]["groups"] == 18
    assert len(found["codes"]) == 7
    assert not any(each["learnt"] for each in found["codes"].values())
    for each in found["codes"].values():
        assert each["tp"] + each["fn"] == each["positives"]
        assert each["tp"] + each["fp"] + each["fn"] + each["tn"] == each["n"]
