"""The probe's worked examples, put to the commands."""

import json

import pytest
from django.core.management import call_command

from auditapp.benchmarks.gender_cues.pure.parsing import parse_answer
from auditapp.benchmarks.gender_cues.pure.reviews import make_funnel
from auditapp.benchmarks.gender_cues.pure.tables import compare_counts, compare_shares, make_table2, measure_counts
from tests.auditapp.benchmarks.gender_cues.making import make_trial
from tests.support.worked_examples import read_example


def run(capsys, folder, check, *args):
    for name, content in check["files"].items():
        (folder / name).write_text(content, encoding="utf-8")
    call_command(*(str(folder / each) if "." in each else each for each in args), "--json")
    return json.loads(capsys.readouterr().out)


def differs(found, expected, tolerance):
    if isinstance(expected, list):
        return len(found) != len(expected) or any(map(differs, found, expected, [tolerance] * len(found)))
    if expected is None or isinstance(expected, str | bool):
        return bool(found != expected)
    return found is None or abs(found - expected) > tolerance


def list_differences(report, expected, tolerance):
    wrong = []
    for each in expected:
        found = report
        for key in each["path"]:
            found = found[key]
        if differs(found, each["value"], tolerance):
            wrong.append((each["path"], each["value"], found))
    assert expected
    return wrong


def test_the_funnel_of_the_worked_example_comes_out(capsys, tmp_path):
    check = read_example("NC13")
    found = run(capsys, tmp_path, check, "probe", "winnow", "reviews.csv", "--rules", "rules.json")
    assert list_differences(found, check["expected"], check["tolerance"]) == []


def test_table_1_of_the_worked_example_comes_out(capsys, tmp_path):
    check = read_example("NC14")
    found = run(capsys, tmp_path, check, "probe", "report", "trials.jsonl")
    assert list_differences(found, check["expected"], check["tolerance"]) == []


@pytest.mark.parametrize("axis", ["truth", "prediction"])
def test_table_2_of_the_worked_example_comes_out(capsys, tmp_path, axis):
    check = read_example("NC15")
    found = run(capsys, tmp_path, check, "probe", "report", "trials.jsonl", "--themes", "themes.jsonl", "--axis", axis)
    assert list_differences(found, check["expected"][axis], check["tolerance"]) == []


def test_the_answers_of_the_worked_example_are_read(capsys, tmp_path):
    check = read_example("NC16")
    found = run(capsys, tmp_path, check, "probe", "parse", "answers.jsonl")
    assert found["answers"] == check["expected"]["answers"]


@pytest.mark.parametrize("number", ["AC16", "AC17", "AC18"])
def test_table_1_follows_from_four_counts(number):
    check = read_example(number)
    counts, expected = check["inputs"], check["expected"]
    found = measure_counts(*(counts[key] for key in ("women_pred_woman", "women_n", "men_pred_woman", "men_n")))
    names = {
        "rate_women": "rate_woman",
        "rate_men": "rate_man",
        "chi2": "chi2",
        "p_chi2": "p_chi2",
        "p_fisher": "p_fisher",
        "accuracy": "accuracy",
        "balanced_accuracy": "balanced_accuracy",
        "accuracy_wilson95": "accuracy_ci",
        "difference": "difference",
        "difference_newcombe95": "difference_ci",
    }
    assert [name for name, own in names.items() if differs(found[own], expected[name], check["tolerance"])] == []


def test_ratios_of_counts_are_never_smoothed():
    check = read_example("AC14")
    found = {each["theme"]: compare_counts(each["W"], each["M"]) for each in check["inputs"]["counts"]}
    assert not [name for name, value in check["expected"].items() if differs(found[name], value, check["tolerance"])]


def test_ratios_of_shares_and_with_a_half_added_stand_beside():
    check = read_example("AC15")
    given, expected = check["inputs"], check["expected"]
    assert compare_shares(given["W"], given["M"], given["n_W"], given["n_M"]) == pytest.approx(
        expected["ln_rate_ratio"], abs=check["tolerance"]
    )
    women = [make_trial(f"w{number}", "woman") for number in range(given["n_W"])]
    men = [make_trial(f"m{number}", "man") for number in range(given["n_M"])]
    citing = [*women[: given["W"]], *men[: given["M"]]]
    table = make_table2([*women, *men], {trial.key: ["Capitals"] for trial in citing}, axis="truth")
    row = table["themes"]["Capitals"]
    assert [table["offset"], row["bias"], row["bias_rate"], row["bias_half"]] == pytest.approx(
        [expected[name] for name in ("offset_ln_nW_over_nM", "ln_count_ratio", "ln_rate_ratio", "haldane_05")],
        abs=check["tolerance"],
    )


def test_the_published_funnel_adds_up():
    check = read_example("AC19")
    rows = check["inputs"]["funnel"]
    funnel = make_funnel(
        [(name, {"man": row["men"], "woman": row["women"], "androgynous": row["androg"]}) for name, row in rows.items()]
    )
    for row in funnel:
        expected = check["expected"][row["step"]]
        assert row["total"] == expected["row_sum"] == rows[row["step"]]["total"]
        assert 100 * row["of_step_before"] == pytest.approx(
            expected["retained_vs_previous_pct"], abs=check["tolerance"]
        )
        assert 100 * row["of_first"] == pytest.approx(expected["retained_vs_first_pct"], abs=check["tolerance"])


def test_published_answers_are_read():
    check = read_example("AC35")
    for raw, expected in zip(check["inputs"]["outputs"], check["expected"], strict=True):
        found = parse_answer(raw)
        assert (found.predicted, list(found.codes), found.status, found.subset) == (
            expected["gender"],
            expected["codes"],
            expected["status"],
            expected["subset"],
        )
