"""Every command of the README, run as it stands there."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import urllib.request
from contextlib import suppress
from threading import Timer

import pytest

from tests.support.instance import PATIENCE, ROOT, find_free_port
from tools.environment import VENV, is_up_to_date

README = (ROOT / "README.md").read_text(encoding="utf-8")
MANAGE = ".venv/bin/python manage.py "
PROGRAMS = re.compile(r"make|export|cd|python\S*|\.venv\S*|manage\.py|docker|git|pip|uv|curl")
COMPOSE = "BASE_URL=https://coding.example.org docker compose up -d"
INTERVIEW = '{"id": "m-01", "turns": [{"role": "interviewer", "text": "What is fair?"}, {"role": "model", "text": "It depends."}]}'


def read_commands():
    """The lines of the README's blocks of shell, without what stands behind #."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]


COMMANDS = read_commands()
OF_STUDY = [command for command in COMMANDS if command.startswith(MANAGE)]
# The first runs this very test, the second keeps a quiet machine busy for minutes: only that make knows them is looked up.
LOOKED_UP = {"make test", "make bench"}
SLOW = {"make run", "make setup", "make check", COMPOSE}


def test_every_command_belongs_to_a_test():
    assert len(COMMANDS) > 9
    assert set(COMMANDS) == {*OF_STUDY, *LOOKED_UP, *SLOW}


def test_no_command_stands_outside_the_blocks_that_are_run():
    """One inside a sentence is one of theirs; nothing is indented as code, or fenced in another way."""
    assert set(re.findall(r"^```(.*)$", README, re.MULTILINE)) == {"sh", ""}
    assert re.findall(r"^ {4,}\S.*$", README, re.MULTILINE) == []
    prose = re.sub(r"^```sh\n.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    named = [text for text in re.findall(r"`([^`\n]+)`", prose) if PROGRAMS.fullmatch(text.split()[0])]
    assert [text for text in named if text not in COMMANDS] == []


def test_the_commands_of_a_study_lead_from_nothing_to_its_codings(instance, tmp_path):
    """The two files that they name lie in a folder of the test's own."""
    (tmp_path / "interviews.jsonl").write_text(INTERVIEW, encoding="utf-8")
    said = []
    for command in OF_STUDY:
        words = shlex.split(command.removeprefix(MANAGE))
        said.append(instance.manage(*(str(tmp_path / word) if "." in word else word for word in words)))
    assert "/sign-in/" in said[1]
    assert instance.query("SELECT count(*) FROM corpus_interview") == [(1,)]
    assert (tmp_path / "codings.csv").read_text(encoding="utf-8").count("\n") == 1


@pytest.mark.parametrize("command", sorted(command for command in COMMANDS if command.startswith("make ")))
def test_make_knows_the_command(command):
    done = subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_server_needs_what_the_command_gives_it_and_nothing_more():
    compose = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    assert re.findall(r"\$\{(\w+):\?", compose) == [COMPOSE.partition("=")[0]]


@pytest.mark.full
def test_docker_accepts_the_file():
    if shutil.which("docker") is None or subprocess.run(["docker", "compose", "version"], check=False).returncode:
        pytest.skip("There is no docker with its compose command here")
    command = [*shlex.split(COMPOSE)[1:3], "config", "--quiet"]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"BASE_URL": "https://coding.example.org"}, check=True)


@pytest.fixture
def set_up():
    """The commands below install what is missing, which is no work of a test."""
    if not is_up_to_date("dev", VENV / "bin" / "python"):
        pytest.skip("`make setup` has not been run here since the requirements changed")


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.usefixtures("set_up")
def test_make_run_starts_the_site_and_ends_with_it(tmp_path):
    """``tests/test_launcher.py`` does it without make in every run of the tests."""
    port = str(find_free_port())
    variables = {name: value for name, value in os.environ.items() if name not in {"AUDITAPP_DATA", "DATABASE_URL"}}
    site = subprocess.Popen(
        ["make", "run", f"PORT={port}", f"DATA={tmp_path / 'var'}"],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert site.stdout is not None
    # The site answers a moment before the launcher says so, which a test that asks the site itself would cut off.
    overdue = Timer(2 * PATIENCE, os.killpg, [site.pid, signal.SIGKILL])
    overdue.start()
    try:
        assert any("/sign-in/" in line for line in site.stdout)
        assert is_alive(port)
    finally:
        overdue.cancel()
        # As Ctrl-C: to make and to what it started.
        with suppress(ProcessLookupError):
            os.killpg(site.pid, signal.SIGINT)
        site.communicate(timeout=PATIENCE)
    assert not is_alive(port)


def is_alive(port):
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


@pytest.mark.full
@pytest.mark.usefixtures("set_up")
@pytest.mark.parametrize("command", ["make setup", "make check"])
def test_the_command_succeeds(command):
    done = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
