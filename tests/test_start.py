"""What a command, a web server and a worker load at their start: a library that few use must not make all of them wait."""

import os
import subprocess
import sys

import pytest

from tests.support.instance import ROOT

NUMBERS = {"numpy", "scipy", "pandas", "sklearn", "fastparquet"}
NOT_EVERYWHERE = NUMBERS | {"lxml", "psycopg", "cryptography", "rest_framework", "drf_spectacular", "resvg_py"}
BROKER = {"celery", "kombu", "aiohttp"}

SEGMENT = """
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "interview", "segment", TEXT])
"""
# The URLs of every page, a request, and the template engine with the tags of every app.
WEB = """
import io
from auditapp.wsgi import application
from django.template.loader import get_template
from wsgiref.util import setup_testing_defaults
environ = {"PATH_INFO": "/livez", "HTTP_HOST": "127.0.0.1"}
setup_testing_defaults(environ)
assert b"".join(application(environ, lambda status, headers: None)) == b"alive\\n"
get_template("account/login.html")
"""
WORKER = """
import django
django.setup()
import auditapp.batches.management.commands.worker
from auditapp.batches.runner import worker_process
from auditapp.celery import app
worker_process.prepare(sweeps=True, queues=3)
app.loader.import_default_modules()
"""


REPORT = """
import sys
sys.stderr.write("LOADED " + " ".join(set(sys.argv[1:]) & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        pytest.param(
            SEGMENT, NOT_EVERYWHERE | BROKER | {"auditapp.urls", "transcripts.exchange.exports"}, id="segment"
        ),
        pytest.param(WEB, NOT_EVERYWHERE | BROKER, id="web"),
        pytest.param(WORKER, NOT_EVERYWHERE | {"prompt_toolkit", "auditapp.urls"}, id="worker"),
    ],
)
def test_what_a_start_does_not_load(code, unwanted, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("First sentence. Second sentence.", encoding="utf-8")
    on_servers = {"DATABASE_URL", "REDIS_URL"}
    environment = {name: value for name, value in os.environ.items() if name not in on_servers}
    environment |= {"AUDITAPP_DATA": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "auditapp.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code.replace("TEXT", repr(str(text))) + REPORT, *unwanted],
        cwd=ROOT,
        env=environment | {"CELERY_SKIP_CHECKS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.split("LOADED ")[1] == ""
