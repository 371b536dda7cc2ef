"""Settings read from the environment and the data folder."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from auditapp import environment
from auditapp.environment import env_secret_key, read_last_address


@pytest.fixture(autouse=True)
def no_keys_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_KEY", "SECRET_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)


def test_a_process_that_finds_the_key_file_still_empty_waits_for_the_one_that_writes_it(tmp_path: Path) -> None:
    """A worker and a command started together on a new data folder: neither may call the other's key damaged."""
    file = tmp_path / "secret_key"
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    key = "k" * environment.SECRET_LENGTH

    def write_late() -> None:
        time.sleep(0.1)
        file.write_text(key, encoding="ascii")

    writer = threading.Thread(target=write_late)
    writer.start()
    assert env_secret_key(tmp_path) == key
    writer.join()


def test_a_key_file_that_stays_empty_is_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "SECONDS_TO_WRITE_A_SECRET", 0.02)
    (tmp_path / "secret_key").touch()
    with pytest.raises(ImproperlyConfigured, match="damaged"):
        env_secret_key(tmp_path)


def test_the_first_start_makes_a_key_that_every_later_one_reads(tmp_path: Path) -> None:
    assert env_secret_key(tmp_path) == env_secret_key(tmp_path)


def test_links_lead_to_where_the_data_was_last_served(tmp_path: Path) -> None:
    assert read_last_address(tmp_path, "http://127.0.0.1:8000") == "http://127.0.0.1:8000"
    (tmp_path / "address").write_text("http://127.0.0.1:8671\n", encoding="ascii")
    assert read_last_address(tmp_path, "http://127.0.0.1:8000") == "http://127.0.0.1:8671"
