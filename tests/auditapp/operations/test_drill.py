"""The drill of docs/operations.md with people at work: what was acknowledged before the backup is there after the restore."""

import json
import os
import shutil
import threading
from contextlib import ExitStack

import pytest

from perf.client import Exchanges, exchange_with_pauses
from perf.serving import PRODUCT, serve
from perf.study import Person, prepare_study
from tests.auditapp.operations.test_backup import find_tools_of_throwaway_server
from tests.conftest import create_database
from tests.support.databases import is_postgres
from tests.support.instance import Instance

CODERS = 6
SECONDS = 25.0
IDS = "SELECT id FROM coding_coding ORDER BY id"


@pytest.fixture
def addresses(monkeypatch):
    """Of two empty databases; empty words on SQLite."""
    if not is_postgres():
        yield "", ""
        return
    monkeypatch.setenv("PATH", os.pathsep.join([*find_tools_of_throwaway_server(), os.environ["PATH"]]))
    with ExitStack() as stack:
        first, second = (stack.enter_context(create_database(os.environ["DATABASE_URL"])) for _ in range(2))
        yield first, second


@pytest.mark.full
@pytest.mark.processes
# The connections of the people at work end with their server.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning")
def test_a_site_is_lost_while_people_code_and_comes_back_as_it_was_backed_up(tmp_path, addresses):
    study = prepare_study(tmp_path / "site", interviews=12, coders=CODERS, codings=0, database_url=addresses[0])
    site, file, keys = study.instance, tmp_path / "site.backup", tmp_path / "site.keys"
    people_at_work = Exchanges()
    with serve(PRODUCT, environment=site.environment, log=tmp_path / "server.log") as server:
        interviews = list(study.answers)
        makers = []
        for number in range(CODERS):
            person = Person(study, f"coder{number}", server.port)
            own = interviews[number::CODERS]
            person.open_desk(own[0])
            makers.append(person.make_saves(own))

        def work():
            done = exchange_with_pauses(server.port, makers, pause=0.2, seconds=SECONDS)
            people_at_work.seconds += done.seconds
            people_at_work.failures += done.failures

        at_work = threading.Thread(target=work)
        at_work.start()
        while len(site.query(IDS)) < 100:
            assert at_work.is_alive(), people_at_work.failures
        before = [number for (number,) in site.query(IDS)]
        backed_up = json.loads(site.manage("backup", str(file), "--keys", str(keys), "--json"))
        assert at_work.is_alive(), "the backup took longer than people worked"
        at_work.join()
    assert people_at_work.failures == [], "somebody's work was refused while the backup was made"
    assert len(site.query(IDS)) > len(before)

    shutil.rmtree(site.folder)
    restored = Instance(tmp_path / "restored", database_url=addresses[1])
    restored.environment |= dict(line.split("=", 1) for line in keys.read_text(encoding="ascii").splitlines())
    told = restored.manage("restore", str(file), "--verify")
    assert "no invariant is broken" in told
    after = {number for (number,) in restored.query(IDS)}
    assert set(before) <= after
    assert len(after) == backed_up["counts"]["coding_coding"]
    assert json.loads(restored.manage("audit", "verify", "--rows", "--json"))["breaks"] == []
    with serve(PRODUCT, environment=restored.environment, log=tmp_path / "restored.log"):
        examined = json.loads(restored.run("doctor", "--json").stdout)
    wrong = [check for check in examined["checks"] if check["state"] == "wrong"]
    # The servers of the tests write without waiting for the disk.
    assert [check["name"] for check in wrong if "lose stored work" not in check["found"]] == []
