"""The command, and the examples that were worked out apart from the code, where they lie beside the checkout."""

import json

import pytest
from django.core.management import CommandError, call_command

from tests.support.worked_examples import read_example
from tests.transcripts.negotiation.loading import load
from tests.transcripts.negotiation.report_lines import DATA, Coder, encode, make_thread
from transcripts.negotiation.queries.scores import KEPT, LEFT_OUT, OF_FEATURES, OF_SCORES, leave_out_coefficients
from transcripts.studies.actions import set_method

TWO_THREADS = DATA / "two_threads.jsonl"
WORKED = {
    "ledger": "NC04",
    "sequences": "NC05",
    "episodes": "NC06",
    "pairs": "NC07",
    "links": "NC08",
    "scores": "NC09",
}


def run(capsys, *args):
    call_command("trajectory", "report", *map(str, args), "--json")
    return json.loads(capsys.readouterr().out)


def write_example(check, folder):
    [(name, content)] = check["files"].items()
    path = folder / str(name)
    path.write_text(content, encoding="utf-8")
    return path


def differs(found, expected, tolerance):
    if isinstance(expected, list):
        return len(found) != len(expected) or any(map(differs, found, expected, [tolerance] * len(found)))
    if expected is None or isinstance(expected, str | bool):
        return type(found) is not type(expected) or found != expected
    return found is None or abs(found - expected) > tolerance


# Where the examples take the features or episodes of one thread for independent: two threads, and one with four challenges.
OF_UNITS = {
    ("ledger", "total", "coverage", "ci"): None,
    ("ledger", "total", "over_raising", "ci"): None,
    ("ledger", "total", "disclosure", "ci"): None,
    ("ledger", "total", "elicit_first", "ci"): None,
    ("episodes", "unwarranted", "ci"): [0.12473, 0.496681],
    ("episodes", "warrant_sensitivity", "ci"): [0.06615, 0.604328],
    ("episodes", "warrant_sensitivity", "p_fisher"): None,
}


def list_differences(report, check):
    """What the example expects, and does not find; it expects something."""
    wrong = []
    for expected in correct(check["expected"]):
        found = report
        for key in expected["path"]:
            found = found[key]
        if differs(found, expected["value"], check["tolerance"]):
            wrong.append((expected["path"], expected["value"], found))
    return wrong if check["expected"] else ["nothing is expected"]


def correct(expected):
    """What an example expects, with intervals over threads."""
    return [{**each, "value": OF_UNITS.get(tuple(each["path"][2:]), each["value"])} for each in expected]


@pytest.mark.parametrize("what", WORKED)
def test_the_worked_examples_come_out(what, tmp_path, capsys):
    check = read_example(WORKED[what])
    report = run(capsys, write_example(check, tmp_path), *check.get("options", []))
    assert not list_differences(report, check)


@pytest.mark.django_db
@pytest.mark.parametrize("what", WORKED)
def test_a_study_gives_the_same_report(what, study, owner, capsys):
    check = read_example(WORKED[what])
    [content] = check["files"].values()
    lines = [json.loads(line) for line in content.splitlines()]
    if what == "pairs":
        # In a study it is known who read what: here everything, also where nothing was found.
        lines += [
            {"record": "decided", "thread": line["thread"], "turn": line["turn"], "coder": "ana"}
            for line in lines
            if line["record"] == "turn" and line["channel"] == "utterance"
        ]
    load(study, owner, lines)
    for line in lines:
        if "condition" in line:
            study.interviews.filter(external_id=line["thread"]).update(metadata={"condition": line["condition"]})
    report = run(capsys, "--study", study.slug, *check.get("options", []))
    assert not list_differences(report, check)


@pytest.mark.django_db
def test_of_a_study_that_is_read_reflexively_a_warning_tells_what_pages_leave_out(study, owner, capsys):
    ana, ben = Coder("ana"), Coder("ben")
    lines = make_thread("t1", turns="imim")
    lines += [each.enter(2, "power", "supported") for each in (ana, ben)]
    lines += [ana.enter(4, "power", "revised"), ben.enter(4, "power", "dropped")]
    lines += [
        {"record": "score", "thread": "t1", "coder": name, "stance": "care/1", "criterion": "moves", "value": value}
        for name, value in (("ana", 2), ("ben", 3))
    ]
    load(study, owner, lines)
    set_method(study=study, method="codebook", reason="Agreed before.", by=owner)
    before = run(capsys, "--study", study.slug)
    assert not [warning for warning in before["warnings"] if "reflexive" in warning]
    set_method(study=study, method="reflexive", reason="Readings may differ.", by=owner)
    report = run(capsys, "--study", study.slug)
    told = [warning for warning in report["warnings"] if "reflexive" in warning]
    assert told == [OF_FEATURES + KEPT, OF_SCORES + KEPT]
    assert {**report, "warnings": before["warnings"]} == before
    call_command("trajectory", "report", "--study", study.slug)
    assert "reports no alpha of scores" in capsys.readouterr().out
    # As pages and the API have it.
    shown = leave_out_coefficients(before, study)
    assert shown["agreement"]["status"] is None
    assert "by_coder" in shown["stances"]["care/1"]["moves"]
    assert "alpha" not in json.dumps({**shown, "warnings": []})
    assert shown["warnings"][-2:] == [OF_FEATURES + LEFT_OUT, OF_SCORES + LEFT_OUT]


@pytest.mark.parametrize("what", WORKED)
def test_the_table_for_people_has_the_same_numbers(what, tmp_path, capsys):
    check = read_example(WORKED[what])
    call_command("trajectory", "report", str(write_example(check, tmp_path)), *check.get("options", []))
    printed = capsys.readouterr().out
    for words in {
        "ledger": ["4 of 5 in 2 threads = 0.800 (few)", "6 entries of both, equal 0.667, alpha 0.627"],
        "sequences": ["8 steps", "1.75 (small)"],
        "episodes": ["Warranted minus unwarranted: 0.379 (rough) ["],
        "pairs": ["19 of 40 flip = 0.475", "missed 0.525, unwanted 0.175"],
        "links": ["5 moves, 6 links", "without an entry: 4"],
        "scores": ["prompted over unprompted 0.542", "0: 1, 1: 8, 2: 10, 3: 4, na: 1; n 23, median 2"],
    }[what]:
        assert words in printed


def test_a_file_in_the_spellings_of_the_export_is_reported(capsys):
    report = run(capsys, TWO_THREADS, "--outcome", "move.revise")
    assert report["coders"] == ["anna", "bert"]
    anna = report["by_coder"]["anna"]
    assert anna["ledger"]["threads"]["h1"]["conduct"]["feature.power"] == {
        "entries": [[3, "hypothesised"], [7, "supported"]],
        "first_raised": 3,
        "last": "supported",
        "flags": ["no warrant"],
    }
    assert anna["ledger"]["total"]["coverage"] == {"share": 0.5, "ci": None, "threads": 1, "mark": "few"}
    assert anna["decided"] == {"front": 8, "back": 0, "tool": 2}
    assert anna["presence"]["move.elicit"]["per_100"] == {"front": 0.0, "back": None, "tool": 50.0}
    assert anna["episodes"]["warranted"]["rate"] == 1.0
    assert (anna["episodes"]["unwarranted"]["none"], anna["episodes"]["unwarranted"]["decided"]) == (1, 1)
    assert anna["pairs"]["change"]["a_only"] == 1
    # Of the two sentences of turn 7 bert has decided one, so what the model answered is not known.
    assert report["by_coder"]["bert"]["episodes"]["unwarranted"]["undecided"] == 1
    assert report["agreement"]["status"]["units"] == 1
    assert list(report["stances"]) == ["care/1"]


def test_one_coder_can_be_chosen(capsys):
    report = run(capsys, TWO_THREADS, "--coder", "bert")
    assert (report["coders"], list(report["by_coder"]), report["stances"]) == (["bert"], ["bert"], {})
    assert report["agreement"]["status"] is None


def test_pairs_without_an_outcome_are_told(capsys):
    report = run(capsys, TWO_THREADS)
    assert report["by_coder"]["anna"]["pairs"] is None
    assert any("No outcome was chosen" in warning for warning in report["warnings"])


def test_reasoning_counts_when_it_is_asked_for(tmp_path, capsys):
    ana = Coder()
    path = tmp_path / "threads.jsonl"
    path.write_bytes(b"".join(encode([*make_thread(turns="irm"), ana.move(2, "balance"), ana.move(3, "elicit")])))
    assert run(capsys, path)["by_coder"]["ana"]["positions"] == {"t1": [["move.elicit"]]}
    opened = run(capsys, path, "--stage", "all")["by_coder"]["ana"]["positions"]
    assert opened == {"t1": [["move.balance"], ["move.elicit"]]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--coder", "nobody"], "There is no coder nobody; there are: anna, bert."),
        (["--outcome", "move.sing"], "There is no code move.sing; there are: challenge.unwarranted, "),
    ],
)
def test_who_and_what_is_not_there_is_told_with_what_is(options, words):
    with pytest.raises(CommandError) as refused:
        call_command("trajectory", "report", str(TWO_THREADS), *options)
    assert words in str(refused.value)


def test_a_file_that_cannot_be_read_is_told_in_one_line(tmp_path):
    path = tmp_path / "threads.jsonl"
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("trajectory", "report", str(path))
    path.write_text('{"record": "thread", "thread": "t"}\n{"record": "score"}\n', encoding="utf-8")
    with pytest.raises(CommandError, match=r"threads\.jsonl, line 2: found a score without “criterion”; expected"):
        call_command("trajectory", "report", str(path))


@pytest.mark.parametrize("arguments", [[], ["file.jsonl", "--study", "study"]])
def test_it_reads_a_file_or_a_study(arguments):
    with pytest.raises(CommandError):
        call_command("trajectory", "report", *arguments)


@pytest.mark.django_db
def test_of_a_study_that_is_not_there_it_says_so():
    with pytest.raises(CommandError, match="There is no study 'nowhere'"):
        call_command("trajectory", "report", "--study", "nowhere")
    with pytest.raises(CommandError, match="--blinding is for files"):
        call_command("trajectory", "report", "--study", "nowhere", "--blinding", "assisted")
