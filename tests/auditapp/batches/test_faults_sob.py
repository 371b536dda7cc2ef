"""The benchmark through a worker that is killed: its report is that of the answers, each of which counts once."""

import json

import pytest

from tests.auditapp.batches.cast import TEXTS
from tests.support.instance import kill_group
from tests.support.shared import SHARED

pytestmark = pytest.mark.processes

MODELS = ("m", "other")
TASKS = ("acceptability", "non_acceptability")
REAL_TEXTS = SHARED / "data" / "sob" / "sob_inputs.csv"


@pytest.mark.full
def test_a_benchmark_goes_whole_through_a_killed_worker_and_its_bundle_gives_the_same_report(ground, tmp_path):
    """Two models and both tasks, on the benchmark's own texts where they are there."""
    if REAL_TEXTS.exists():
        ground.instance.manage("sob", "load", str(REAL_TEXTS), "--name", "benchmark")
    else:
        ground.load("benchmark", [f"Invented text number {number}." for number in range(TEXTS)])
    ground.provider.order(latency=0.1)
    worker = ground.instance.start_worker()
    asked = [word for model in MODELS[1:] for word in ("--model", model)]
    batch = ground.launch(*asked, "--task", TASKS[1], "--limit", str(TEXTS), dataset="benchmark")
    cells = TEXTS * len(MODELS) * len(TASKS)
    ground.wait_for_results(cells // 3)
    kill_group(worker)
    ground.instance.start_worker()
    ground.check_whole(batch, cells=cells, shown=ground.wait_for_end(batch))
    report = ground.instance.ask("sob", "report", "--batch", str(batch))
    assert count_answers(report) == dict.fromkeys(((model, task) for model in MODELS for task in TASKS), TEXTS)
    bundle = tmp_path / "bundle.zip"
    ground.instance.manage("sob", "bundle", "--batch", str(batch), "--output", str(bundle))
    again = ground.instance.ask("sob", "report", "--bundle", str(bundle))
    assert json.dumps(again, sort_keys=True) == json.dumps(report, sort_keys=True)


def count_answers(report):
    """Answers over all texts, by model and task."""
    return {
        (cell["model"], cell["task"]): cell["n_responses"] for cell in report["cells"] if cell["target"] == "overall"
    }
