"""Keys that go through the whole program and are found nowhere afterwards: not in logs, database, spool, broker, exports."""

import base64
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from auditapp.llm.pure.key_removal import REMOVED, list_forms
from tests.conftest import copy_instance
from tests.support.instance import ROOT, Preloaded, wait_until
from tests.support.services import quick_on

pytestmark = [pytest.mark.processes, quick_on("sqlite")]

STORED = "sk-canary-Zk93bQ7tXw5LmN1a2b"
NAMED = "canary.Pq81/vR4+nYs6HdJ3c4d="
TEXTS = 14


class Parrot(BaseHTTPRequestHandler):
    """A model's address that sends back whatever key it is given, in every kind of failure and in an answer."""

    protocol_version = "HTTP/1.1"
    presented = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        header = self.headers.get("Authorization", "")
        key = header.removeprefix("Bearer ")
        self.presented.append(key)
        turn = len(self.presented) % 7
        echo = f"you sent {header}, that is {base64.b64encode(header.encode()).decode()} or {key.encode().hex()}"
        error = json.dumps({"error": {"message": echo, "code": key}})
        if turn == 6:
            self.close_connection = True
            return
        if turn == 5:
            self.reply(401 if len(self.presented) > 40 else 503, error, key)
            return
        answer = {"id": key, "model": key, "choices": [{"message": {"content": echo}, "finish_reason": "stop"}]}
        bodies = [
            (200, json.dumps(answer)),
            (500, error),
            (429, error),
            (200, f"<html>{echo}</html>"),
            (200, error),
        ]
        self.reply(*bodies[turn], key)

    def reply(self, status, body, key):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Retry-After", "0")
        self.send_header("x-request-id", key)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format, *args):
        return None


@pytest.fixture
def parrot():
    Parrot.presented = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Parrot)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def give_key(instance, account, key):
    """Store a key by command; what the command said."""
    done = subprocess.run(
        [sys.executable, "manage.py", "account", "--skip-checks", "set-key", account],
        cwd=ROOT,
        env=instance.environment,
        input=key,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


PAGES = [
    "/models/",
    "/models/1/",
    "/models/accounts/1/",
    "/models/accounts/2/",
    "/studies/benchmarks/history/",
    "/studies/benchmarks/batches/",
    "/studies/benchmarks/batches/1/",
    "/studies/benchmarks/batches/1/attempts/",
    *(f"/studies/benchmarks/batches/1/attempts/{number}/" for number in range(1, 13)),
]
LOOK = """
import sys, django
django.setup()
from django.test import Client
from transcripts.accounts.models import User
client = Client(SERVER_NAME="127.0.0.1")
client.force_login(User.objects.create(username="root", is_superuser=True))
for path in sys.argv[1:]:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    sys.stdout.write(answer.content.decode())
"""


def read_pages(instance):
    """What the owner of the site is shown."""
    environment = {**instance.environment, "DJANGO_SETTINGS_MODULE": "auditapp.settings"}
    looked = subprocess.run(
        [sys.executable, "-c", LOOK, *PAGES], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert looked.returncode == 0, looked.stderr
    return looked.stdout + looked.stderr


def dump(instance):
    """Everything the instance keeps: files (the key of the seals apart), tables, and what is in the broker."""
    kept = [path.read_bytes() for path in instance.folder.rglob("*") if path.is_file() and path.name != "field_key"]
    url = instance.environment.get("DATABASE_URL")
    if url:
        with psycopg.connect(url) as connection:
            names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            for (name,) in names:
                rows = connection.execute(f'SELECT t::text FROM "{name}" t'.encode()).fetchall()
                kept += [row[0].encode() for row in rows]
    if broker := instance.environment.get("REDIS_URL"):
        # kombu names the database of a socket otherwise than redis does.
        client = redis.Redis.from_url(broker.replace("redis+socket://", "unix://").replace("virtual_host=", "db="))
        kept += [client.dump(name) or b"" for name in client.scan_iter()]
        client.close()
    return b"\n".join(kept)


@pytest.fixture
def instance(migrated, parrot, tmp_path):
    """An instance whose settings let a variable's key be sent to the parrot."""
    with copy_instance(migrated, tmp_path / "copy") as copy:
        database_url, redis_url = (copy.environment.get(name, "") for name in ("DATABASE_URL", "REDIS_URL"))
        keys = f"A_PROVIDER_KEY={urlsplit(parrot).netloc}"
        own = Preloaded(tmp_path / "own", database_url=database_url, redis_url=redis_url, PROVIDER_KEYS=keys)
        own.refill(copy)
        yield own
        own.close()


def find_forms(key, kept):
    return [form for form in list_forms(key) if form.encode() in kept]


@pytest.mark.full
def test_no_key_is_kept_anywhere_but_in_its_seal(instance, parrot, tmp_path):
    said = ""
    address = ("--provider", "openai_compatible", "--base-url", parrot)
    instance.environment["A_PROVIDER_KEY"] = NAMED
    for label, more in (("stored", ()), ("named", ("--key-env", "A_PROVIDER_KEY"))):
        said += instance.manage("model", "add", label, *address, "--model", label, "--account", label, *more)
    said += give_key(instance, "stored", STORED)
    texts = tmp_path / "texts.jsonl"
    lines = (json.dumps({"text": f"Text {number}.", "target": "old"}) + "\n" for number in range(TEXTS))
    texts.write_text("".join(lines), encoding="utf-8")
    said += instance.manage("sob", "load", str(texts), "--name", "texts")
    instance.start_worker()
    asked = ("--dataset", "texts", "--model", "stored", "--model", "named", "--task", "acceptability")
    said += instance.manage("sob", "launch", *asked, "--confirm-terms", "--concurrency", "4")
    wait_until(lambda: len(Parrot.presented) > 30, what="the parrot was asked in all its ways")
    wait_until(
        lambda: instance.query("SELECT count(*) FROM batches_attempt WHERE \"end\" <> 'open'")[0][0] > 20,
        what="the ends of the calls were stored",
    )
    said += instance.manage("batch", "show", "1", "--json")
    said += instance.manage(
        "study", "export", "audit", "--study", "benchmarks", "--format", "jsonl", "--output", str(tmp_path / "audit")
    )
    said += (tmp_path / "audit").read_text(encoding="utf-8")
    said += instance.manage("sob", "report", "--batch", "1", "--format", "json")
    instance.stop()
    said += read_pages(instance)
    assert {STORED, NAMED} <= set(Parrot.presented)
    kept = dump(instance) + said.encode()
    assert REMOVED.encode() in kept
    assert [*find_forms(STORED, kept), *find_forms(NAMED, kept)] == []
    assert instance.query("SELECT key_last_four FROM llm_provideraccount WHERE name = 'stored'") == [("1a2b",)]
    assert os.environ.get("A_PROVIDER_KEY") is None
