"""The servers of a test session leave nothing behind, however the session ends."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from tests.support.services import quick_on

ROOT = Path(__file__).resolve().parent.parent


@quick_on("sqlite")
@pytest.mark.processes
def test_servers_are_gone_once_nobody_holds_their_input():
    servers = subprocess.Popen(
        [sys.executable, "-m", "tools.throwaway_servers"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert servers.stdout is not None
    address = json.loads(servers.stdout.readline())["database_url"]
    if address is None:
        servers.communicate()
        pytest.skip("needs the PostgreSQL that pip installs")
    folder = Path(parse_qs(urlsplit(address).query)["host"][0])
    started = psutil.Process(servers.pid).children(recursive=True)
    assert (folder / "pg").is_dir()
    assert any(process.name() == "postgres" for process in started)
    servers.communicate(timeout=30)
    assert servers.returncode == 0
    assert psutil.wait_procs(started, timeout=5)[1] == []
    assert not folder.exists()
