"""Settings read from the environment and the data folder."""

import os
import subprocess
import sys
import threading
import time

import pytest
from django.core.exceptions import ImproperlyConfigured

from auditapp.site import environment
from auditapp.site.environment import env_field_keys, env_secret_key, make_data_folder, read_last_address
from tests.support.instance import ROOT

SITE_VARIABLES = {"AUDITAPP_DATA", "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "FIELD_KEY"}


@pytest.fixture(autouse=True)
def no_keys_given(monkeypatch):
    for name in ("SECRET_KEY", "SECRET_KEY_FILE", "FIELD_KEY", "FIELD_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)


def test_a_process_that_finds_the_key_file_still_empty_waits_for_the_one_that_writes_it(tmp_path):
    """A worker and a command started together on a new data folder: neither may call the other's key damaged."""
    file = tmp_path / "secret_key"
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    key = "k" * environment.SECRET_LENGTH

    def write_late():
        time.sleep(0.1)
        file.write_text(key, encoding="ascii")

    writer = threading.Thread(target=write_late)
    writer.start()
    assert env_secret_key(tmp_path) == key
    writer.join()


def test_a_key_file_that_stays_empty_is_called_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "SECONDS_TO_WRITE_A_SECRET", 0.02)
    (tmp_path / "secret_key").touch()
    with pytest.raises(ImproperlyConfigured, match="damaged"):
        str(env_secret_key(tmp_path))


def test_the_first_start_makes_a_key_that_every_later_one_reads(tmp_path):
    assert env_secret_key(tmp_path) == env_secret_key(tmp_path)


def test_links_lead_to_where_the_data_was_last_served(tmp_path):
    assert read_last_address(tmp_path, "http://127.0.0.1:8000") == "http://127.0.0.1:8000"
    (tmp_path / "address").write_text("http://127.0.0.1:8671\n", encoding="ascii")
    assert read_last_address(tmp_path, "http://127.0.0.1:8000") == "http://127.0.0.1:8671"


@pytest.mark.parametrize(
    "command", [("help",), ("help", "interview"), ("interview", "segment", "{text}"), ("sob", "parse", "{answers}")]
)
def test_a_command_that_needs_no_data_makes_no_folder_and_no_key(tmp_path, command):
    text, answers, data = tmp_path / "interview.txt", tmp_path / "answers.jsonl", tmp_path / "data"
    text.write_text("First sentence. Second sentence.", encoding="utf-8")
    answers.write_text('{"id": "1", "raw": "[]"}\n', encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in SITE_VARIABLES}
    done = subprocess.run(
        [sys.executable, "manage.py", *(word.format(text=text, answers=answers) for word in command)],
        cwd=ROOT,
        env=environment | {"AUDITAPP_DATA": str(data)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not data.exists()


def test_a_key_in_the_environment_that_is_too_short_is_refused_before_it_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "short")
    with pytest.raises(ImproperlyConfigured, match="at least 50 characters"):
        env_secret_key(tmp_path)


def test_the_data_folder_is_made_by_what_needs_it(tmp_path):
    data = tmp_path / "new" / "data"
    secret_key, field_keys = env_secret_key(data), env_field_keys(data)
    assert not data.parent.exists()
    assert len(secret_key) >= environment.SECRET_LENGTH
    assert len(field_keys) == 1
    assert sorted(path.name for path in data.iterdir()) == ["field_key", "secret_key"]
    assert data.stat().st_mode & 0o777 == 0o700


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match=r"AUDITAPP_DATA points to .*file/data, which cannot be used"):
        make_data_folder(tmp_path / "file" / "data")
