"""The worked examples of the benchmark, put to our functions."""

from collections.abc import Mapping
from typing import Any

import pytest

from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTE_ALIASES, ATTRIBUTES, NULL_LEXICON, OVERALL, Outcome
from auditapp.benchmarks.sob.pure.attributions import (
    AttributionTally,
    Kind,
    list_mapping,
    published_mapping,
    read_mapping,
)
from auditapp.benchmarks.sob.pure.instruments import TARGETS, published_rows
from auditapp.benchmarks.sob.pure.parsing import parse_answer
from auditapp.benchmarks.sob.pure.ranks import compare_nemenyi, compare_targets, merge_families, rank_blocks
from auditapp.benchmarks.sob.pure.report import PUBLISHED_FAMILIES, published_report
from auditapp.benchmarks.sob.pure.scores import tally_observations
from auditapp.benchmarks.sob.pure.secondary import list_top_values
from tests.auditapp.benchmarks.sob.measures.answering import answer_in_turn, score
from tests.support.worked_examples import list_examples, read_example

NAMES = {
    "AC01": "score of one cell, paper counting",
    "AC02": "score of one cell, strict counting",
    "AC03": "degenerate cells",
    "AC04": "Friedman, acceptability",
    "AC05": "Friedman, non-acceptability",
    "AC06": "mean ranks, acceptability",
    "AC07": "mean ranks, non-acceptability",
    "AC08": "Friedman over families",
    "AC09": "figures derived from Table 4",
    "AC10": "self and dominant of one target",
    "AC11": "pooled rows of Table 13",
    "AC12": "commonest values",
    "AC13": "interpretations by rules",
}
TASKS = {"acc": "acceptability", "nonacc": "non_acceptability"}

Found = Mapping[str, Any]


def inputs_of(name):
    """A check's input; one that is the same as another's is found there."""
    return read_example(name)["inputs"]


def score_cell(responses):
    [cell] = [cell for cell in score(answer_in_turn(responses)) if cell.target == OVERALL]
    return cell


def write_cell(cell):
    return {
        "n_nonrefused": cell.n_nonrefused,
        "n_attributed": cell.n_attributed,
        "attribution_rate": cell.attribution_rate,
        "mean_attributes_given_attribution": cell.mean_attributes,
        "sob": cell.sob,
        "total_attributes": cell.n_attributes,
    }


def find_paper_score(inputs):
    return write_cell(score_cell(inputs["responses"]))


def find_strict_score(inputs):
    assert set(inputs["null_lexicon"]) == NULL_LEXICON
    assert set(inputs["schema"]) == set(ATTRIBUTES)
    assert inputs["aliases"] == ATTRIBUTE_ALIASES
    cell = score_cell(inputs["responses"])
    strict = [
        group.counts.strict for group in tally_observations(answer_in_turn(inputs["responses"])).groups.elements()
    ]
    rate, sob = cell.attribution_rate_strict, cell.sob_strict
    assert rate is not None
    assert sob is not None
    return {
        "n_nonrefused": cell.n_nonrefused,
        "n_attributed": sum(count > 0 for count in strict),
        "attribution_rate": rate,
        "mean_attributes_given_attribution": sob / rate,
        "sob": sob,
        "total_attributes": sum(strict),
    }


def find_degenerate_scores(inputs):
    return {name: write_cell(score_cell(responses)) for name, responses in inputs["cells"].items()}


def write_test(found):
    return {
        "chi2": found["chi2"],
        "df": found["df"],
        "p": found["p"],
        "kendalls_W": found["kendalls_w"],
        "n_blocks": found["n_blocks"],
        "k_treatments": found["k_treatments"],
        "iman_davenport_F": found["iman_davenport_f"],
        "iman_davenport_p": found["iman_davenport_p"],
    }


def find_friedman(inputs):
    [scores] = inputs.values()
    return write_test(compare_targets(scores, TARGETS, task="t"))


def find_mean_ranks(inputs):
    [scores] = inputs_of(inputs["same_as"]).values()
    ranks = compare_targets(scores, TARGETS, task="t")["mean_ranks"]
    return {
        "mean_rank": ranks,
        "order_high_to_low": sorted(ranks, key=lambda target: -ranks[target]),
        "sum_of_mean_ranks": sum(ranks.values()),
        "nemenyi_cd_alpha_05": compare_nemenyi(rank_blocks(scores, TARGETS), task="t")["critical_difference"],
    }


def find_friedman_of_families(inputs):
    ours = {}
    for row in published_rows():
        ours.setdefault(PUBLISHED_FAMILIES.get(row.model, row.model), set()).add(row.model)
    assert sorted(map(sorted, ours.values())) == sorted(map(sorted, inputs["families"].values()))
    found = {}
    for task, name in zip(TASKS, inputs["same_as"], strict=True):
        [scores] = inputs_of(name).values()
        found[task] = write_test(
            compare_targets(merge_families(scores, PUBLISHED_FAMILIES), TARGETS, task="t", blocks="families")
        )
    return found


def find_figures_of_table_4(inputs):
    """From our own copy of the table, which has to be the one of the check."""
    cells = published_report()["cells"]
    found = {"invariant_holds_for_all_24": True}
    for short, task in TASKS.items():
        rows = {cell["model"]: cell for cell in cells if (cell["task"], cell["target"]) == (task, OVERALL)}
        assert {model: row["sob"] for model, row in rows.items()} == inputs[f"overall_{short}"]
        assert {model: row["attribution_rate"] for model, row in rows.items()} == inputs[f"attr_{short}"]
        scores = {model: row["sob"] for model, row in rows.items()}
        found[f"gpt51_T_over_I_increase_pct_{short}"] = 100 * (scores["gpt5.1-T"] / scores["gpt5.1-I"] - 1)
        found[f"mean_overall_{short}"] = sum(scores.values()) / len(scores)
        found["invariant_holds_for_all_24"] &= all(
            row["attribution_rate"] - 0.01 <= row["sob"] <= 10 * (row["attribution_rate"] + 0.005) + 0.005
            for row in rows.values()
        )
    return found


def list_shares(tally, kind, target):
    wanted = {"kind": kind, "rule": "any", "target": target, "model": None}
    [row] = [row for row in list_mapping(tally) if wanted.items() <= row.items()]
    return row


def tally_responses(responses, target, mapping=None):
    return tally_observations(answer_in_turn(responses, target=target), mapping=mapping).attributions


def find_mapped_shares(inputs):
    target = inputs["target"]
    tally = tally_responses(
        inputs["responses"], target.lower(), read_mapping({target: inputs["mapping"]}, "of the check")
    )
    rows = {kind: list_shares(tally, kind, target.lower()) for kind in ("self", "dominant")}
    assert rows["self"]["denominator"] == rows["dominant"]["denominator"]
    return {
        "denominator_attributed": rows["self"]["denominator"],
        **{f"{kind}_{figure}": row[figure] for kind, row in rows.items() for figure in ("count", "pct")},
    }


def find_pooled_shares(inputs):
    """Answers as many as Table 13 counts, of which the printed per cent map; then our sums over them."""
    found = {}
    for short, kind in (("acc", Kind.SELF), ("nonacc", Kind.DOMINANT)):
        sizes, shares = inputs[f"n_{short}"], inputs[f"{kind}_pct_{short}"]
        tally = AttributionTally()
        for target, n in sizes.items():
            mapped = round(n * shares[target] / 100)
            listed = min(published_mapping().list_values(target, kind))
            tally.add_answers("m", TASKS[short], target, [{"a": listed}] * mapped)
            tally.add_answers("m", TASKS[short], target, [{"a": "of no list"}] * (n - mapped))
        pooled = list_shares(tally, str(kind), OVERALL)
        rows = [row for row in published_rows() if row.task == TASKS[short]]
        found[f"sum_n_{short}"] = pooled["denominator"]
        found[f"n_weighted_{kind}_pct_{short}"] = pooled["pct"]
        found[f"implied_texts_{short}"] = pooled["denominator"] / sum(row.attribution_rate for row in rows)
        # Counts are whole, so shares of small targets come back within 0.1.
        own = [list_shares(tally, str(kind), target)["pct"] for target in sizes]
        assert own == pytest.approx(list(shares.values()), abs=0.2)
        # Nothing of ours shows this one: the plain mean of what is printed.
        found[f"unweighted_{kind}_pct_{short}"] = sum(shares.values()) / len(shares)
    return found


def find_commonest_values(inputs):
    [row] = [
        row
        for row in list_top_values(tally_responses(inputs["responses"], "women"))
        if (row["model"], row["target"]) == (None, "women")
    ]
    return {"denominator": row["denominator"], "top": row["values"]}


def find_interpretations(inputs):
    parsed = [parse_answer(raw) for raw in inputs["raw_outputs"]]
    # The check has one word for what a formatter would be asked about, and one for nothing at all.
    names = {Outcome.REFUSAL: "refusal_or_unparsed", Outcome.OFF_FORMAT: "refusal_or_unparsed", Outcome.EMPTY: "null"}
    known = {Outcome.ATTRIBUTED, Outcome.UNKNOWN}
    return {
        "status": [names.get(each.outcome, str(each.outcome)) for each in parsed],
        "person": [each.attributes if each.outcome in known else None for each in parsed],
    }


FUNCTIONS = {
    "AC01": find_paper_score,
    "AC02": find_strict_score,
    "AC03": find_degenerate_scores,
    "AC04": find_friedman,
    "AC05": find_friedman,
    "AC06": find_mean_ranks,
    "AC07": find_mean_ranks,
    "AC08": find_friedman_of_families,
    "AC09": find_figures_of_table_4,
    "AC10": find_mapped_shares,
    "AC11": find_pooled_shares,
    "AC12": find_commonest_values,
    "AC13": find_interpretations,
}


def compare(found, expected, tolerance, path):
    """Every figure that is expected is found; what is found beyond them is nobody's concern."""
    if isinstance(expected, dict) and path.endswith(".person"):
        assert found == expected, path
    elif isinstance(expected, dict):
        for name, value in expected.items():
            assert name in found, f"{path}.{name}"
            compare(found[name], value, tolerance, f"{path}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            compare(one, other, tolerance, path if path.endswith(".person") else f"{path}[{place}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=0, abs=tolerance), path
    else:
        assert found == expected, path


@pytest.mark.parametrize("name", FUNCTIONS, ids=[f"{name} {NAMES[name]}" for name in FUNCTIONS])
def test_worked_example_comes_out_as_expected(name):
    check = read_example(name)
    compare(FUNCTIONS[name](check["inputs"]), check["expected"], check["tolerance"], name)


def test_every_check_of_the_benchmark_is_tried():
    assert list_examples("sob") == set(FUNCTIONS)
