"""An interview by commands, with a real worker that dies between sending and answer."""

import uuid

import pytest

from tests.support.instance import kill_group, wait_until
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]
STUDY = "held"


def test_an_interview_and_its_branch_become_threads_and_a_killed_worker_costs_no_turn(ground):
    """Three questions behind the opening, a branch after turn 2, both closed; kill -9 while a call is under way."""
    session = ground.instance.ask
    ground.instance.manage("study", "create", STUDY, "--name", "Held here")
    session("session", "script", "--study", STUDY, "--name", "gender")
    worker = ground.instance.start_worker()
    opened = session(
        "session",
        "open",
        "--study",
        STUDY,
        "--script",
        "gender",
        "--opening",
        "paper",
        "--model",
        "m",
        "--cap",
        "1",
        "--wait",
    )
    number, key = str(opened["session"]), str(uuid.uuid4())
    assert (opened["state"], opened["first"]["state"]) == ("open", "answered")
    for _ in range(2):
        told = session(
            "session", "ask", number, "--kind", "expand", "--text", "Two?", "--idempotency-key", key, "--wait"
        )
        assert (told["turn"], told["state"], told["possibly_paid_twice"]) == (2, "answered", 0)
    assert told["finish_reason"] == "stop"
    assert told["served_model"]
    session("session", "ask", number, "--kind", "reflect", "--text", "Three?", "--wait")

    before = ground.provider.stats()["received"]
    ground.provider.order(latency=600)
    session("session", "ask", number, "--kind", "challenge", "--intent", "warranted", "--text", "Four?")
    wait_until(lambda: ground.provider.stats()["received"] > before, what="the question was sent")
    kill_group(worker)
    ground.provider.order(latency=0)
    ground.instance.start_worker()
    wait_until(lambda: ground.count("result") == 4, what="the question was answered")
    shown = session("session", "show", number)
    assert [(each["turn"], each["state"]) for each in shown["turns"]] == [(at, "answered") for at in (1, 2, 3, 4)]
    assert [each["possibly_paid_twice"] for each in shown["turns"]] == [0, 0, 0, 1], "the unknown end is told"

    branch = session("session", "branch", number, "--turn", "2")
    other = str(branch["session"])
    session("session", "ask", other, "--kind", "open", "--text", "Otherwise?", "--wait")
    closed = [
        session("session", "close", each, "--inclusion", "included", "--reason", "Complete.")
        for each in (number, other)
    ]
    assert [(each["questions"], each["turns"]) for each in closed] == [(4, 8), (1, 2)]
    assert closed[0]["kinds"] == {"challenge": 1, "expand": 1, "open": 1, "reflect": 1}
    assert closed[0]["sha256"] != closed[1]["sha256"]

    query = ground.instance.query
    [(hangs_on, relation)] = query(
        f"SELECT hangs_on_id, relation FROM corpus_interview WHERE id = {closed[1]['interview']}"
    )
    [(thread, position)] = query(f"SELECT interview_id, position FROM corpus_turn WHERE id = {hangs_on}")
    assert (thread, position, relation) == (closed[0]["interview"], 4, "branch")
    said = query("SELECT text FROM corpus_turn WHERE role = 'model' ORDER BY interview_id, position")
    answered = query("SELECT r.answer FROM batches_result r JOIN batches_cell c ON c.id = r.cell_id ORDER BY c.id")
    assert said == answered, "byte for byte those of the attempts"
    [(history,)] = query("SELECT history FROM batches_attempt WHERE prompt = 'Otherwise?'")
    assert "Two?" in str(history)
    assert "Three?" not in str(history)
    assert query("SELECT state FROM batches_batch") == [("done",)]
    ground.check_books()
