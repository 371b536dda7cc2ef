import json

import pytest
from django.core.management import CommandError, call_command

from tests.transcripts.agreement.cast import EXAMPLES
from transcripts.statistics.figures import Reason

SEVERAL = EXAMPLES["several_codes"]


def write_sets(path, *, turns=False):
    """AC26 as a file: a row for each coder, sentence and code."""
    lines = ["coder,unit,code,value" + ",turn" * turns]
    lines += [
        f"{coder},{unit},{code},{int(code in codes)}" + f",{unit // 3}" * turns
        for coder in ("anna", "ben")
        for unit, codes in enumerate(SEVERAL[coder])
        for code in SEVERAL["codes"]
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_ratings(path, rows):
    lines = ["coder,unit,code,value"]
    for coder, row in enumerate(rows):
        lines += [f"coder {coder},{unit:02},c,{'' if value is None else value}" for unit, value in enumerate(row)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(capsys, *args):
    call_command("agreement", "report", *map(str, args), "--json")
    return json.loads(capsys.readouterr().out)


def test_codes_come_with_counts_coefficients_and_why_there_is_no_interval(tmp_path, capsys):
    answer = run(capsys, write_sets(tmp_path / "labels.csv", turns=True), "--seed", 4, "--resamples", 200)
    assert (answer["coders"], answer["units"], answer["clusters"]) == (["anna", "ben"], 8, 3)
    assert (answer["seed"], answer["resamples"], answer["level"]) == (4, 200, "nominal")
    for name, expected in SEVERAL["codes"].items():
        figures = answer["codes"][name]
        assert {key: figures[key] for key in expected} == pytest.approx(expected, abs=1e-6)
        assert figures["n_units"] == 8
    for name in ("mean_jaccard", "mean_jaccard_excluding_empty", "exact_match"):
        assert answer[name] == pytest.approx(SEVERAL[name], abs=1e-6)
        assert answer["no_interval"][name] == "fewer than 10 turns, too few to resample"
    assert (answer["mark"], answer["intervals"]) == ("few", {})


def write_labels(path, turns):
    """Twelve sentences, on nine of which two coders agree: kappa is .5."""
    rows = {"anna": "111111000000", "ben": "111110110000"}
    lines = ["coder,unit,turn,code,value"]
    lines += [f"{coder},{n},{turns[n]},c,{v}" for coder, row in rows.items() for n, v in enumerate(row)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_two_turns_give_no_interval_and_the_reason(tmp_path, capsys):
    path = write_labels(tmp_path / "labels.csv", [0] * 6 + [1] * 6)
    answer = run(capsys, path)
    code = answer["codes"]["c"]
    assert (answer["clusters"], answer["mark"], code["kappa"]) == (2, "few", 0.5)
    assert (code["intervals"], code["kappa_ci95"]) == ({}, None)
    assert code["no_interval"]["kappa"] == code["reasons"]["kappa_ci95"] == Reason.FEW_DRAWN
    call_command("agreement", "report", str(path))
    printed = capsys.readouterr().out
    assert "No figure has an interval, as 2 turns are too few." in printed
    assert ".." not in printed


def test_from_ten_turns_on_an_interval_is_rough(tmp_path, capsys):
    answer = run(capsys, write_labels(tmp_path / "labels.csv", list(range(12))))
    assert answer["mark"] == "rough"
    low, high = answer["codes"]["c"]["intervals"]["kappa"]
    assert low < 0.5 < high
    assert answer["codes"]["c"]["kappa_ci95"] is not None


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_worked_example_ac23_by_level(level, tmp_path, capsys):
    expected = EXAMPLES["four_observers"]
    path = write_ratings(tmp_path / "ratings.csv", expected["ratings"])
    answer = run(capsys, path, "--level", level)
    assert answer["codes"]["c"]["alpha"] == pytest.approx(expected["alpha"][level], abs=1e-6)
    assert answer["codes"]["c"]["kappa"] is None
    assert answer["level"] == level


def test_command_needs_no_database(tmp_path, capsys):
    # No test here asks for the database, and pytest-django would refuse any query.
    assert run(capsys, write_sets(tmp_path / "labels.csv"), "--resamples", 0)["clusters"] == 8


def test_table_for_people_names_coders_figures_and_what_is_missing(tmp_path, capsys):
    path = write_ratings(tmp_path / "labels.csv", [[1, 1, 0, 0], [1, 0, 0, 0]])
    path.write_text(path.read_text() + "coder 0,1,unused,0\ncoder 1,1,unused,0\n", encoding="utf-8")
    call_command("agreement", "report", str(path), "--resamples", "50")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 coders (coder 0, coder 1); ")
    assert any("no column turn" in line for line in lines)
    [row] = [line for line in lines if line.startswith("c ")]
    assert row.split()[:6] == ["c", "4", "1", "1", "0", "2"]
    assert "0.500" in row
    assert any(line.startswith("- nobody used the code: unused positive, unused kappa") for line in lines)


def test_table_of_three_coders_says_what_the_means_are_over(tmp_path, capsys):
    path = write_ratings(tmp_path / "labels.csv", [[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0]])
    call_command("agreement", "report", str(path), "--resamples", "0")
    text = capsys.readouterr().out
    assert "means over pairs of coders" in text
    assert "mean kappa" in text
    assert "interval:" not in text


def test_names_cannot_write_control_characters_to_the_terminal(tmp_path, capsys):
    path = tmp_path / "labels.csv"
    path.write_text("coder,unit,code,value\na\x1b[2Jnna,1,x,1\nben,1,x,1\n", encoding="utf-8")
    call_command("agreement", "report", str(path))
    assert "\x1b" not in capsys.readouterr().out


def test_bad_file_is_refused_in_one_sentence_with_its_line(tmp_path):
    path = write_sets(tmp_path / "labels.csv")
    path.write_text(path.read_text() + "ben,9,balance,maybe\n", encoding="utf-8")
    with pytest.raises(CommandError, match=r"labels\.csv, line 98: found the value “maybe”; expected 1, 0") as refused:
        call_command("agreement", "report", str(path))
    assert "\n" not in str(refused.value)
    assert refused.value.returncode == 1


def test_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CommandError, match=r"absent\.csv cannot be read: No such file"):
        call_command("agreement", "report", str(tmp_path / "absent.csv"))


@pytest.mark.parametrize("given", [("--resamples", "-1"), ("--seed", "-1"), ("--level", "cardinal")])
def test_options_that_make_no_sense_are_refused(given, tmp_path):
    with pytest.raises(CommandError):
        call_command("agreement", "report", str(write_sets(tmp_path / "labels.csv")), *given)
