"""The suite that comes with the program, played by a real worker with the fake paid API."""

import pytest

from tests.support.instance import wait_until
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]
STUDY = "scenarios"


def test_a_suite_is_played_by_a_worker_and_its_sessions_become_masked_threads_with_sheets_and_pairs(ground, tmp_path):
    """24 scripts of three turns under two conditions; a call is sent only once the one before it was stored."""
    ask, query = ground.instance.ask, ground.instance.query
    ground.instance.manage("study", "create", STUDY, "--name", "Scenarios")
    assert ask("scenario", "load", "--shipped", "--study", STUDY)["loaded"] == 24
    team = tmp_path / "team.txt"
    team.write_text("Ask before you assume.", encoding="utf-8")
    ground.provider.order(answer="I would look at the rule.\n\nConfidence: 70 %\n\nyes")
    ground.instance.start_worker()
    told = ask(
        "scenario", "launch", "--study", STUDY, "--suite", "everyday-institutions", "--model", "m",
        "--condition", f"prompted={team}", "--cap", "2",
    )  # fmt: skip
    assert (told["sessions"], told["cells"]) == (48, 144)
    shown = ground.wait_for_end(told["batch"])
    ground.check_whole(told["batch"], cells=144, shown=shown)
    wait_until(
        lambda: query("SELECT count(*) FROM scenarios_session WHERE state = 'stored'") == [(48,)],
        what="the worker stored the sessions",
    )
    masked = query("SELECT count(*), count(DISTINCT mask_label) FROM corpus_interview WHERE title = mask_label")
    assert masked == [(48, 48)]
    assert query("SELECT count(*) FROM negotiation_casesheet WHERE written_by_id IS NULL") == [(48,)]
    assert query("SELECT count(*) FROM negotiation_pair") == [(24,)]
    report = ask("scenario", "report", "--batch", str(told["batch"]))
    assert report["states"] == {"open": 0, "stored": 48, "failed": 0}
    # Every model says yes: right in one of the two sides of the cases that ask for yes or no, and unreadable in the others.
    assert [(arm["condition"], arm["n"], arm["right"]) for arm in report["arms"]] == [
        ("prompted", 4, 2),
        ("unprompted", 4, 2),
    ]
