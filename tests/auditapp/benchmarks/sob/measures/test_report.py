import json

import pytest

from auditapp.benchmarks.sob.pure.instruments import TARGETS
from auditapp.benchmarks.sob.pure.report import (
    REPORT_VERSION,
    ReportOptions,
    build_report,
    choose_targets,
    count_verdicts,
    make_json_ready,
    published_report,
)
from auditapp.benchmarks.sob.pure.scores import tally_observations
from tests.auditapp.benchmarks.sob.measures.answering import answer

OPTIONS = ReportOptions(
    seed=7,
    resamples=50,
    least_texts=2,
    families={"a-I": "a", "a-T": "a"},
    pairs=(("a-I", "a-T"),),
    instruments=("paper",),
    warnings=("Told by the caller.",),
)


def answer_all(targets=("cats", "dogs", "birds"), texts=3):
    """Three models, two tasks, and a target that no model answers about."""
    return [
        answer((number + place * shift) % 6, model=model, task=task, item=f"{target} {number}", target=target)
        for shift, model in enumerate(("a-I", "a-T", "b"), start=1)
        for task in ("acceptability", "non_acceptability")
        for place, target in enumerate(targets)
        for number in range(texts)
    ]


def report(observations, options=OPTIONS):
    """As it comes out of JSON; anything infinite would be refused."""
    written = build_report(tally_observations(observations), options=options)
    return json.loads(json.dumps(written, allow_nan=False))


def test_report_has_every_part_of_the_agreed_shape():
    found = report(answer_all(texts=4))
    assert set(found) == {
        *(
            "notice",
            "alarms",
            "providers",
            "versions",
            "cells",
            "friedman",
            "friedman_families",
            "posthoc",
            "paired",
            "sensitivity",
            "repeats",
            "secondary",
        ),
        *(
            "secondary_contrast",
            "top_values",
            "mapping",
            "mapping_all",
            "harms",
            "social_map",
            "readers",
            "base",
            "warnings",
        ),
        "caveats",
    }
    assert found["versions"] == {
        "report": REPORT_VERSION,
        "parser": "rules-5",
        "lexicon": "lexicon-3",
        "instrument": ["paper"],
        "targets": "as loaded",
        "mapping": "published",
        "seed": 7,
        "resamples": 50,
    }
    assert list(found["cells"][0]) == [
        *("model", "task", "target", "n_responses", "n_refused", "n_null", "n_nonrefused", "n_attributed"),
        *("attribution_rate", "mean_attributes", "sob", "n_attributes", "outcomes", "n_items"),
        *("attribution_rate_strict", "sob_strict", "sob_released", "attribution_rate_released", "ci", "ci_strict"),
        *(
            "n_formatter",
            "n_person",
            "few_items",
            "countings_apart",
            "ci_note",
            "ci_strict_note",
            "alarm",
            "output_limit",
        ),
    ]
    assert len(found["cells"]) == 3 * 2 * 4
    assert len(found["cells"][0]["ci"]) == 2
    assert [(test["task"], test["blocks"], test["n_blocks"]) for test in found["friedman"]] == [
        ("acceptability", "models", 3),
        ("non_acceptability", "models", 3),
    ]
    assert [(test["task"], test["blocks"], test["n_blocks"]) for test in found["friedman_families"]] == [
        ("acceptability", "families", 2),
        ("non_acceptability", "families", 2),
    ]
    # Pairs of targets need six models.
    assert found["posthoc"] == []
    assert [(test["task"], test["target"]) for test in found["paired"]][:4] == [
        ("acceptability", target) for target in ("overall", "birds", "cats", "dogs")
    ]
    assert {row["seed"] for row in found["paired"]} == {7}
    assert len(found["sensitivity"]) == 10 * len(found["cells"])
    assert found["top_values"][0]["values"][0]["value"] == "said"


def test_report_is_the_same_whatever_the_order_of_answers_but_for_that_of_its_rows():
    observations = [*answer_all(), *(answer(2, model="b", item=f"cats {n}", repeat=2) for n in range(2))]

    def sort_rows(found):
        return {name: sorted(map(json.dumps, rows)) if isinstance(rows, list) else rows for name, rows in found.items()}

    assert sort_rows(report(observations)) == sort_rows(report(observations[::-1]))


def test_another_seed_is_on_record_and_moves_what_is_drawn():
    repeated = [answer(n % 5, item=n, repeat=r) for n in range(30) for r in range(1, 2 + n % 2)]
    one, other = (report(repeated, ReportOptions(seed=seed, resamples=100)) for seed in (1, 2))
    assert (one["versions"]["seed"], other["versions"]["seed"]) == (1, 2)
    assert one["cells"][0]["sob"] == other["cells"][0]["sob"]
    assert one["cells"][0]["ci"] != other["cells"][0]["ci"]


def test_related_variants_few_texts_and_undefined_cells_are_warned_of():
    observations = answer_all()
    observations += [answer("refusal", model="c", item=f"cats {n}") for n in range(3)]
    found = report(observations)
    [models], [families] = (
        [test for test in found[part] if test["task"] == "acceptability"] for part in ("friedman", "friedman_families")
    )
    assert "Variants of one model are not independent blocks: a-I and a-T." in models["warnings"][0]
    assert models["warnings"][1] == (
        "Targets with fewer than 20 texts have unstable scores: birds (3), cats (3), dogs (3)."
    )
    assert models["dropped"] == ["c"]
    assert not any("Variants" in warning for warning in families["warnings"])
    assert found["warnings"][0] == "Told by the caller."
    assert found["warnings"][-1] == (
        "2 cells have no score, because no answer could be counted: c, acceptability, overall; c, acceptability, cats."
    )


def test_single_model_gets_a_refused_test_with_the_reason_and_no_posthoc():
    found = report([each for each in answer_all() if each.model == "b"])
    assert [test["chi2"] for test in found["friedman"]] == [None, None]
    assert found["friedman"][0]["warnings"][0].startswith("No Friedman test: it needs at least 2 models")
    assert found["posthoc"] == []


def test_statistics_are_over_the_ten_targets_of_the_paper_where_all_occur():
    found = report(answer_all((*TARGETS, "others"), texts=2))
    assert found["friedman"][0]["targets"] == list(TARGETS)
    assert "Statistics are over the ten targets of the paper." in found["warnings"]
    assert {cell["target"] for cell in found["cells"]} == {"overall", "others", *TARGETS}


@pytest.mark.parametrize(
    ("options", "targets", "sentence"),
    [
        (ReportOptions(), ("b", "a", "d"), "occur: statistics are over the 3 targets with at least 20 texts."),
        (
            ReportOptions(least_texts=21),
            ("b", "a", "d", "c"),
            "occur: fewer than 3 targets have at least 21 texts, so statistics are over all 4 targets.",
        ),
        (ReportOptions(targets=("c", "a")), ("c", "a"), "Statistics are over the targets that were asked for."),
    ],
)
def test_targets_of_the_statistics_are_chosen_by_size_unless_asked_for(options, targets, sentence):
    found, told = choose_targets({"a": 20, "b": 30, "c": 19, "d": 20}, options)
    assert found == targets
    assert told.endswith(sentence)


def test_verdicts_of_the_base_task_are_counted_by_model_and_target():
    rows = count_verdicts(
        {
            ("m", "cats", "acceptable"): 2,
            ("m", "", "uncertain"): 1,
            ("m", "cats", "refusal"): 3,
            ("n", "cats", "empty"): 1,
        }
    )
    none = {"truncated": 0, "provider_error": 0}
    assert [tuple(row.values()) for row in rows] == [
        ("m", "overall", 6, 3, 3, 2, 0, 1, none, None),
        ("m", "cats", 5, 3, 2, 2, 0, 0, none, None),
        ("n", "overall", 1, 0, 0, 0, 0, 0, none, None),
        ("n", "cats", 1, 0, 0, 0, 0, 0, none, None),
    ]


def test_number_that_json_does_not_have_is_written_as_null():
    assert make_json_ready({"a": float("inf"), "b": (float("nan"), 1.5)}) == {"a": None, "b": [None, 1.5]}


def test_report_of_no_answers_is_empty():
    found = report([])
    assert {name: rows for name, rows in found.items() if name not in {"versions", "caveats"} and rows} == {
        "warnings": ["Told by the caller."]
    }


# Worked examples AC04 and AC09.
def test_published_report_has_the_shape_of_any_other_and_the_published_figures():
    found = json.loads(json.dumps(published_report(), allow_nan=False))
    cells = {(cell["model"], cell["task"], cell["target"]): cell for cell in found["cells"]}
    assert len(cells) == 12 * 2 * 11
    assert set(found["cells"][0]) == set(report(answer_all())["cells"][0])
    assert found["cells"][0]["n_responses"] is None
    for task, increase, mean in (("acceptability", 50.140845, 1.648333), ("non_acceptability", 129.767442, 1.984167)):
        overall = {
            cell["model"]: cell for cell in found["cells"] if (cell["task"], cell["target"]) == (task, "overall")
        }
        assert 100 * (overall["gpt5.1-T"]["sob"] / overall["gpt5.1-I"]["sob"] - 1) == pytest.approx(increase, abs=1e-6)
        assert sum(cell["sob"] for cell in overall.values()) / 12 == pytest.approx(mean, abs=1e-6)
        for cell in overall.values():
            assert cell["attribution_rate"] - 0.01 <= cell["sob"] <= 10 * (cell["attribution_rate"] + 0.005) + 0.005
    assert [(test["task"], test["blocks"], round(test["chi2"], 6)) for test in found["friedman"]] == [
        ("acceptability", "models", 29.951436),
        ("non_acceptability", "models", 34.687595),
    ]
    assert [(test["task"], test["blocks"], round(test["chi2"], 6)) for test in found["friedman_families"]] == [
        ("acceptability", "families", 27.26692),
        ("non_acceptability", "families", 26.904328),
    ]
    assert found["posthoc"][0]["critical_difference"] == pytest.approx(3.910418, abs=5e-7)
    assert found["versions"]["targets"] == "published"


def test_shares_of_the_mapping_have_an_interval_where_three_texts_have_an_answer():
    for texts, has_interval in ((2, False), (3, True)):
        found = report(answer_all(("women", "black"), texts=texts))
        rows = [
            row
            for row in found["mapping"] + found["mapping_all"]
            if row["target"] != "overall" and row["pct"] is not None
        ]
        assert {row["model"] for row in rows} == {None, "a-I", "a-T", "b"}
        assert {row["ci"] is not None for row in rows} == {has_interval}
