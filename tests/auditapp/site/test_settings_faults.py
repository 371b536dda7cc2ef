"""Wrong settings: every fault in one list, and no start."""

import os
import subprocess
import sys

import pytest

from auditapp.site.environment import KNOWN, check_environment, find_faults, find_misspelt_names
from tests.support.instance import ROOT

SECRET = "hunter2-hunter2"
WRONG = [
    ("SECRET_KEY", "x"),
    ("SECRET_KEY", SECRET),
    ("SECRET_KEY", "x" * 60),
    ("SECRET_KEY", f"django-insecure-{SECRET * 5}"),
    ("SECRET_KEY_FILE", "/nowhere/key"),
    ("SECRET_KEY_FILE", "/"),
    ("FIELD_KEY", SECRET),
    ("FIELD_KEY_FILE", "/nowhere/key"),
    ("DATABASE_URL", "nonsense"),
    ("DATABASE_URL", f"mysql://root:{SECRET}@host/name"),
    ("DATABASE_URL", f"postgresql://auditapp:{SECRET}@host:port/name"),
    ("DATABASE_URL", f"postgresql://auditapp:{SECRET}@host"),
    ("DATABASE_URL", f"postgresql://auditapp:{SECRET}[@host/name"),
    ("DATABASE_URL_FILE", "/nowhere/url"),
    ("REDIS_URL", "localhost:6379"),
    ("REDIS_URL", f"http://:{SECRET}@host:6379/0"),
    ("REDIS_URL", f"redis://:{SECRET}@host:port/0"),
    ("REDIS_URL", "redis://"),
    ("REDIS_URL", "redis://host:6379/zero"),
    ("REDIS_URL_FILE", "/nowhere/url"),
    ("BASE_URL", "coding.example.org"),
    ("BASE_URL", "https://coding.example.org/site"),
    ("BASE_URL", "http://[bad"),
    ("BASE_URL", f"https://me:{SECRET}@coding.example.org"),
    ("BASE_URL", "https://coding.example.org:99999"),
    ("DEBUG", "1"),
    ("TIME_ZONE", "Mars/Base"),
    ("TIME_ZONE", "../etc/passwd"),
    ("LOG_LEVEL", "LOUD"),
    ("LOG_LEVEL", "info"),
    ("CONN_MAX_AGE", "-1"),
    ("HSTS_SECONDS", "a year"),
    ("MAX_OPEN_BATCHES", "0"),
    ("ALLOW_PRIVATE_PROVIDERS", "http://127.0.0.1"),
    ("ALLOW_PRIVATE_PROVIDERS", f"127.0.0.1:11434,{SECRET}"),
    ("TRUSTED_PROXIES", SECRET),
    ("TRUSTED_PROXIES", "10.0.0.2/24"),
    ("PROVIDER_KEYS", "SECRET_KEY=models.example.org"),
    ("AUDITAPP_DATA", "/etc/hostname"),
]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in KNOWN:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_named_without_a_secret(name, value, tmp_path, monkeypatch):
    monkeypatch.setenv(name, value)
    faults = find_faults(tmp_path)
    assert len(faults) == 1
    assert name in faults[0]
    assert SECRET not in faults[0]


def test_nothing_is_wrong_with_the_defaults_or_usual_values(tmp_path, monkeypatch):
    assert find_faults(tmp_path) == []
    (tmp_path / "url").write_text("postgresql://auditapp:abc@postgres:5432/auditapp\n", encoding="ascii")
    usual = {
        "DATABASE_URL_FILE": str(tmp_path / "url"),
        "REDIS_URL": "rediss://:abc@redis:6379/0",
        "BASE_URL": "https://coding.example.org",
        "TIME_ZONE": "Europe/Zurich",
        "FIELD_KEY": "",
    }
    for name, value in usual.items():
        monkeypatch.setenv(name, value)
    assert find_faults(tmp_path) == []


def test_debug_is_refused_on_a_site_with_https(tmp_path, monkeypatch):
    monkeypatch.setenv("DEBUG", "True")
    assert find_faults(tmp_path) == []
    monkeypatch.setenv("BASE_URL", "https://coding.example.org")
    assert ["DEBUG" in fault for fault in find_faults(tmp_path)] == [True]


def test_a_name_that_is_nearly_a_setting_is_pointed_out(tmp_path, monkeypatch, capsys):
    assert find_misspelt_names() == []
    monkeypatch.setenv("SECRETKEY", SECRET)
    monkeypatch.setenv("DATABSE_URL", SECRET)
    check_environment(tmp_path)
    said = capsys.readouterr().err
    assert "no setting SECRETKEY. Did you mean SECRET_KEY?" in said
    assert "no setting DATABSE_URL. Did you mean DATABASE_URL?" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "command",
    [
        ["manage.py", "check"],
        ["-m", "auditapp.site.serving", "--port", "0"],
        ["-m", "celery", "--app=auditapp", "beat"],
    ],
)
def test_a_program_with_wrong_settings_lists_all_and_ends_with_78(command, tmp_path):
    wrong = {"SECRET_KEY": SECRET, "TIME_ZONE": "Mars/Base", "LOG_LEVEL": "LOUD", "REDIS_URL": "localhost"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **wrong, "AUDITAPP_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 78, done.stderr
    assert [name in done.stderr for name in wrong] == [True] * 4
    assert "Traceback" not in done.stderr
    assert SECRET not in done.stderr + done.stdout
