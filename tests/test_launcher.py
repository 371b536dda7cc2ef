"""``make run`` as its user meets it: the real launcher, web server and worker, on a free port and new data."""

from __future__ import annotations

import ast
import http.cookiejar
import importlib.util
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.support.instance import PATIENCE, ROOT, find_free_port, wait_until
from tools import bytecode, environment
from tools.children import end_children, start_child, wait_for_first_end
from tools.data_folder import lock_data_folder
from tools.launch import explain_old_python
from tools.problem import CannotGoOn
from tools.restarts import Restarts
from tools.start import describe_start, keep_running, read_port

# What the session set for the tests themselves; a newcomer has none of it.
SESSION_VARIABLES = {"AUDITAPP_DATA", "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE"}


@dataclass(frozen=True)
class RunningApp:
    """A launcher that has said it is ready, and what it said."""

    launcher: subprocess.Popen[str]
    port: int
    data: Path
    sign_in_link: str

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def processes(self):
        """Everything the launcher started, and what that started."""
        return psutil.Process(self.launcher.pid).children(recursive=True)

    def process_of(self, name):
        wait_until(lambda: self.noted(name) != 0, what=f"the {name} is noted")
        return psutil.Process(self.noted(name))

    def noted(self, name):
        """The number of a process as the launcher wrote it down, 0 while it is writing."""
        text = (self.data / "run.lock").read_text(encoding="ascii")
        try:
            return int(json.loads(text)[name])
        except ValueError:
            return 0

    def end(self, number):
        """Send the launcher a signal; its exit status."""
        self.launcher.send_signal(number)
        return self.launcher.wait(PATIENCE)


def launch(*, port, data):
    """What ``make run`` does, with the Python of the tests instead of one to be set up."""
    variables = {name: value for name, value in os.environ.items() if name not in SESSION_VARIABLES}
    return subprocess.Popen(
        [sys.executable, "-m", "tools.launch", "run", "--skip-setup"],
        cwd=ROOT,
        env=variables | {"PORT": str(port), "DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_app(data):
    port = find_free_port()
    launcher = launch(port=port, data=data)
    assert launcher.stdout is not None
    said = launcher.stdout.readline() + launcher.stdout.readline()
    link = re.search(r"http://\S+/sign-in/\S+", said)
    if link is None:
        launcher.kill()
        pytest.fail(f"The launcher did not say how to sign in: {said}{launcher.communicate()}")
    return RunningApp(launcher, port, data, link.group())


def end_app(app):
    """For after a test, whatever state it left: nothing stays."""
    rest = app.processes() if app.launcher.poll() is None else []
    if app.launcher.poll() is None:
        app.end(signal.SIGTERM)
    for process in rest:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    app.launcher.communicate()


def await_end(processes):
    """Until none of them runs any more."""
    wait_until(lambda: not any(is_alive(process) for process in processes), what="every process had ended")


def is_alive(process):
    """Whether it runs; one that nobody has buried yet does not."""
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.fixture(scope="module")
def running_app(tmp_path_factory):
    """One app for the tests that leave it running."""
    app = start_app(tmp_path_factory.mktemp("shared") / "data")
    yield app
    end_app(app)


@pytest.fixture
def own_app(running_app, tmp_path):
    """A second start, on a copy of the first one's data, for a test that ends it."""
    data = tmp_path / "data"
    shutil.copytree(running_app.data, data, ignore=shutil.ignore_patterns("run.lock", "*.sqlite3*"))
    name = "auditapp.sqlite3"
    with closing(sqlite3.connect(running_app.data / name)) as source, closing(sqlite3.connect(data / name)) as copy:
        source.backup(copy)
    app = start_app(data)
    yield app
    end_app(app)


def refusal_of(launcher):
    """The one line with which a launcher refused to start."""
    words, complaint = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 1
    assert words == ""
    assert complaint.count("\n") == 1
    return complaint


@pytest.mark.processes
def test_started_app_answers_to_strangers_with_its_sign_in_page(running_app):
    with urllib.request.urlopen(running_app.address, timeout=PATIENCE) as page:
        assert page.status == 200
        assert "/accounts/login/" in page.url


@pytest.mark.processes
def test_sign_in_link_works_once(running_app):
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    page = browser.open(running_app.sign_in_link, timeout=PATIENCE).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None
    form = urllib.parse.urlencode({"csrfmiddlewaretoken": token.group(1)}).encode()
    with browser.open(running_app.sign_in_link, data=form, timeout=PATIENCE) as answer:
        assert "/accounts/login/" not in answer.url
    with browser.open(running_app.address + "/account/", timeout=PATIENCE) as answer:
        assert answer.url == running_app.address + "/account/"
    with pytest.raises(urllib.error.HTTPError) as refusal, browser.open(running_app.sign_in_link):
        pass
    refusal.value.close()
    assert refusal.value.code == 410


@pytest.mark.processes
def test_data_folder_is_for_its_owner_only(running_app):
    assert running_app.data.stat().st_mode & 0o777 == 0o700


@pytest.mark.processes
def test_taken_port_is_refused_by_its_number(running_app, tmp_path):
    refusal = refusal_of(launch(port=running_app.port, data=tmp_path))
    assert str(running_app.port) in refusal
    assert "make run PORT=" in refusal


@pytest.mark.processes
def test_second_run_on_the_same_data_is_refused(running_app):
    refusal = refusal_of(launch(port=find_free_port(), data=running_app.data))
    assert f"process {running_app.launcher.pid}" in refusal
    assert str(running_app.data) in refusal


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)])
def test_ctrl_c_ends_every_process_and_keeps_the_data(own_app, number):
    processes = own_app.processes()
    assert len(processes) >= 2
    assert own_app.end(number) == 0
    await_end(processes)
    assert (own_app.data / "auditapp.sqlite3").exists()


@pytest.mark.processes
@pytest.mark.parametrize("name", [pytest.param("worker", marks=pytest.mark.full), "web server"])
def test_a_part_that_dies_is_named_and_started_again(running_app, name):
    killed = running_app.process_of(name)
    killed.kill()
    assert running_app.launcher.stderr is not None
    said = ""
    while "started again" not in said:
        said = running_app.launcher.stderr.readline()
        assert said, "the launcher ended"
    assert f"The {name} was ended by signal 9 (SIGKILL); it is started again." in said
    wait_until(lambda: running_app.noted(name) not in {0, killed.pid}, what=f"the new {name} was noted")
    assert running_app.process_of(name).is_running()
    wait_until(lambda: answers(running_app), what="the site answers")


@pytest.mark.processes
def test_a_part_that_keeps_dying_ends_the_rest():
    def start(name):
        children.append(start_child(name, ["false"], environment=os.environ, folder=ROOT))

    rest = start_child("worker", ["sleep", "600"], environment=os.environ, folder=ROOT)
    children = [rest]
    try:
        start("web server")
        with pytest.raises(CannotGoOn) as error:
            keep_running(children, start, again="make run PORT=8001")
    finally:
        end_children(children, patience_seconds=PATIENCE)
    assert str(error.value) == (
        "The web server stopped by itself with status 1, after 5 new starts within a minute, so the rest was ended too. "
        "Start again with: make run PORT=8001"
    )


def answers(app):
    with suppress(OSError), urllib.request.urlopen(app.address, timeout=PATIENCE) as page:
        return bool(page.status == 200)
    return False


def test_what_keeps_dying_is_started_again_five_times_a_minute_at_most():
    clock = [0.0]
    restarts = Restarts(monotonic=lambda: clock[0])
    assert [restarts.may_restart() for _ in range(6)] == [True] * 5 + [False]
    clock[0] = 60.0
    assert restarts.may_restart()


def test_the_hint_repeats_what_was_given_and_nothing_else():
    assert describe_start({}) == "make run"
    assert describe_start({"PORT": "8001", "DATA": "my data", "HOME": "/"}) == "make run PORT=8001 DATA='my data'"


def test_data_that_a_killed_run_left_in_use_is_refused_with_what_to_kill(tmp_path):
    launcher = subprocess.Popen([sys.executable, "-c", ""])
    launcher.wait()
    left_behind = lock_data_folder(tmp_path, address="http://127.0.0.1:8000")
    left_behind.note({"launcher": launcher.pid, "worker": os.getpid()})
    with pytest.raises(CannotGoOn, match=rf"was killed .* kill {os.getpid()}$"):
        lock_data_folder(tmp_path, address="http://127.0.0.1:8001")
    os.close(left_behind.descriptor)
    os.close(lock_data_folder(tmp_path, address="http://127.0.0.1:8001").descriptor)


@pytest.mark.processes
def test_data_below_a_file_is_refused(tmp_path):
    file = tmp_path / "notes.txt"
    file.touch()
    refusal = refusal_of(launch(port=find_free_port(), data=file / "data"))
    assert str(file / "data") in refusal
    assert "DATA=" in refusal


@pytest.mark.parametrize("text", ["", "eighty", "0", "65536", "-1", "80.5"])
def test_nonsense_for_a_port_is_refused(text):
    with pytest.raises(CannotGoOn, match="PORT must be a number from 1 to 65535"):
        read_port(text)


def test_old_python_is_told_its_version_and_what_to_do():
    line = explain_old_python((3, 9, 18), "/usr/bin/python3")
    assert line is not None
    assert "/usr/bin/python3 is Python 3.9.18" in line
    assert "make run PYTHON=" in line


def test_python_3_11_is_new_enough():
    assert explain_old_python((3, 11, 0), "python3") is None


@pytest.mark.parametrize("name", ["__init__.py", "launch.py"])
def test_what_an_old_python_reads_is_within_its_grammar(name):
    source = (ROOT / "tools" / name).read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 6))
    assert "__future__" not in source


def test_python_without_venv_is_told_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CannotGoOn, match="apt install python3-venv"):
        environment.ensure_environment("base")


def test_failed_installation_passes_on_pips_own_words(tmp_path, monkeypatch):
    fake_python = tmp_path / ".venv" / "bin" / "python"
    fake_python.parent.mkdir(parents=True)
    fake_python.write_text(
        '#!/bin/sh\ncase "$*" in *install*) echo "ERROR: no network"; exit 1;; *) echo 3.11.7;; esac\n'
    )
    fake_python.chmod(0o755)
    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(environment, "STAMP", tmp_path / ".venv" / "installed.json")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CannotGoOn, match="ERROR: no network"):
        environment.ensure_environment("base")
    assert not environment.STAMP.exists()


@pytest.mark.parametrize("group", environment.INCLUDES)
def test_tests_run_on_the_very_versions_that_users_get(group):
    pins = {
        name: set(
            re.findall(
                r"^[\w.-]+(?:\[[\w,]+\])?==\S+", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE
            )
        )
        for name in environment.INCLUDES
    }
    assert pins[group]
    assert pins[group] - pins["dev"] == set()
    for name in environment.INCLUDES[group]:
        assert pins[name] - pins[group] == set()


def test_a_lock_file_names_no_server():
    for file in (ROOT / "requirements").iterdir():
        text = file.read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert "index-url" not in text


@pytest.mark.parametrize("uv_works", [True, False])
def test_uv_is_fetched_by_pip_and_pip_installs_where_uv_fails(tmp_path, monkeypatch, uv_works):
    calls = []

    def run(command, folder=None):
        calls.append(" ".join(command))
        if "--target" in command:
            uv = Path(command[-1]) / "bin" / "uv"
            uv.parent.mkdir()
            uv.touch()
        return "no such index" if "/bin/uv pip" in calls[-1] and not uv_works else None

    monkeypatch.setattr(environment, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(environment, "STAMP", tmp_path / "installed.json")
    monkeypatch.setattr(environment, "_version_of", lambda python: "3.11.7")
    monkeypatch.setattr(environment, "_run_quietly", run)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    environment.ensure_environment("base")
    installs = [call for call in calls if call.endswith("base.txt")]
    assert ["/bin/uv pip install" in call for call in installs] == ([True] if uv_works else [True, False])
    assert all("--no-compile" in call for call in calls if "-m pip" in call and " install " in call)
    assert calls[-1].endswith("-m tools.bytecode")
    assert set(json.loads(environment.STAMP.read_text())) == {"base", "python"}


def test_what_the_product_imports_is_compiled_also_where_python_is_told_to_write_no_bytecode(tmp_path, monkeypatch):
    (tmp_path / "product").mkdir()
    (tmp_path / "product" / "__init__.py").write_text(
        "def measure():\n    import used_by_product\n    import not_there\n"
    )
    for name in ("used_by_product", "used_by_nobody"):
        (tmp_path / f"{name}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(bytecode, "ROOT", tmp_path)
    monkeypatch.setattr(bytecode, "PACKAGES", ("product",))
    bytecode.compile_product()
    assert sorted(path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")) == ["__init__", "used_by_product"]


def test_stubborn_child_is_killed_when_patience_ends():
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
    child = start_child("stubborn", [sys.executable, "-c", stubborn], environment=os.environ, folder=ROOT)
    end_children([child], patience_seconds=0)
    assert child.process.returncode < 0


def test_child_that_ends_is_named_with_its_status():
    child = start_child("clerk", [sys.executable, "-c", "raise SystemExit(3)"], environment=os.environ, folder=ROOT)
    ended = wait_for_first_end([child])
    assert ended.describe_end() == "The clerk stopped by itself with status 3"


def test_a_second_ctrl_c_while_children_are_asked_to_end_kills_them_all(monkeypatch):
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
    children = [
        start_child(name, [sys.executable, "-c", stubborn], environment=os.environ, folder=ROOT) for name in ("a", "b")
    ]
    asked = []

    def interrupt_the_first(group, number):
        if not asked:
            asked.append(group)
            raise KeyboardInterrupt
        killpg(group, number)

    killpg = os.killpg
    monkeypatch.setattr(os, "killpg", interrupt_the_first)
    with pytest.raises(KeyboardInterrupt):
        end_children(children, patience_seconds=60)
    assert all(child.process.poll() is not None for child in children)
