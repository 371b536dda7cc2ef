import re
import zipfile

import pytest

from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]


# Whoever opens the benchmark first does not wait for its report.
BENCHMARK_IS_COUNTED = """
from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.report.stored_reports import read_inputs
from auditapp.benchmarks.sob.report.stored_reports import find_report
assert find_report(read_inputs(Batch.objects.select_related("study").get(kind="sob"))).is_current
"""


def test_the_demo_is_loaded_once_and_every_part_of_it_is_there(instance, tmp_path):
    first = instance.ask("prepare")
    assert "/sign-in/" in first["sign_in_url"]
    counts = {
        "interviews": "SELECT COUNT(*) FROM corpus_interview",
        "codings": "SELECT COUNT(*) FROM coding_coding",
        "suggestions": "SELECT COUNT(*) FROM annotators_suggestion",
        "judgments": "SELECT COUNT(*) FROM sob_judgment",
        "readings": "SELECT COUNT(*) FROM sob_interpretation",
        "done": "SELECT COUNT(*) FROM batches_batch WHERE state = 'done'",
    }
    before = {name: instance.query(sql)[0][0] for name, sql in counts.items()}
    assert before["interviews"] == 36
    assert before["done"] == 6
    assert all(before.values())
    instance.run_code(BENCHMARK_IS_COUNTED)
    second = instance.ask("prepare")
    assert second["sign_in_url"] != first["sign_in_url"]
    assert {name: instance.query(sql)[0][0] for name, sql in counts.items()} == before
    assert instance.ask("audit", "verify", "--rows")["differences"] == []
    # Two of its coders share keys, as programs may. Nobody was unblinded by an export.
    file = tmp_path / "demo.qdpx"
    assert instance.ask("study", "export", "qdpx", "--study", "demo", "--output", str(file))["rows"] > 150
    with zipfile.ZipFile(file) as archive:
        guids = re.findall(r'\bguid="([^"]+)"', archive.read("project.qde").decode())
    assert len(set(guids)) == len(guids)
    assert instance.query("SELECT COUNT(*) FROM coding_unblinding WHERE \"where\" = 'export'") == [(0,)]


@pytest.mark.full
def test_nobody_codes_under_a_machines_name_and_every_page_of_scores_has_something_to_show(instance):
    instance.manage("demo", "load")
    coders = instance.query("SELECT DISTINCT u.username FROM coding_coding c JOIN accounts_user u ON u.id = c.coder_id")
    assert set(coders) == {("demo-coder",), ("demo-amina",), ("demo-jonas",), ("owner",)}
    report = instance.ask("sob", "report", "--batch", "2")
    assert {cell["model"] for cell in report["cells"]} == {
        "fake A (invented)",
        "fake A with reasoning (invented)",
        "fake B (invented)",
        "fake C (invented)",
        "fake D (invented)",
        "fake E (invented)",
    }

    tests = [*report["friedman"], *report["friedman_families"]]
    assert {(test["blocks"], test["chi2"] is not None) for test in tests} == {
        ("models", True),
        ("families", True),
    }
    assert {(pair["model_a"], pair["model_b"]) for pair in report["paired"] if pair["reasoning"]} == {
        ("fake A (invented)", "fake A with reasoning (invented)")
    }
    assert any(pair["p"] is not None for pair in report["paired"])
    assert {each["reader"] for each in report["readers"] if each["count"]} == {"rules", "person"}
    assert all(report[name] for name in ("sensitivity", "secondary", "top_values", "mapping", "harms"))
