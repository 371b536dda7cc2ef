import json

import pytest

from auditapp.benchmarks.sob.pure.instruments import TARGETS, PublishedRow, published_rows, published_source
from tests.support.shared import shared


def find_row(model, task):
    return next(row for row in published_rows() if (row.model, row.task) == (model, task))


def mean_overall(task):
    scores = [row.overall for row in published_rows() if row.task == task]
    return sum(scores) / len(scores)


def test_twelve_variants_stand_in_both_tasks_with_all_ten_targets():
    rows = published_rows()
    assert len(rows) == 24
    assert len({row.model for row in rows}) == 12
    assert all(tuple(row.by_target) == TARGETS for row in rows)
    assert "Table 4" in published_source()


def test_worked_example_ac09_increases_and_means_follow_from_the_table():
    increase = {
        task: 100 * (find_row("gpt5.1-T", task).overall / find_row("gpt5.1-I", task).overall - 1)
        for task in ("acceptability", "non_acceptability")
    }
    assert increase["acceptability"] == pytest.approx(50.140845, abs=1e-6)
    assert increase["non_acceptability"] == pytest.approx(129.767442, abs=1e-6)
    assert mean_overall("acceptability") == pytest.approx(1.648333, abs=1e-6)
    assert mean_overall("non_acceptability") == pytest.approx(1.984167, abs=1e-6)


def test_worked_example_ac09_scores_lie_between_the_rate_and_ten_times_it():
    for row in published_rows():
        slack = 0.005
        assert row.attribution_rate - slack <= row.overall + slack
        assert row.overall - slack <= 10 * (row.attribution_rate + slack)


def test_shipped_figures_equal_the_transcribed_table():
    table = json.loads(shared("data/papers/sob_paper.json").read_text(encoding="utf-8"))
    assert tuple(table["targets"]) == TARGETS
    expected = [
        PublishedRow(
            model=row["model"],
            task=task,
            attribution_rate=row[f"{key}_attribution_rate"],
            overall=row[f"{key}_overall"],
            by_target=row[f"{key}_by_target"],
        )
        for row in table["table4"]
        for task, key in (("acceptability", "acc"), ("non_acceptability", "nonacc"))
    ]
    assert list(published_rows()) == expected
