"""Programs that hold a token, and a batch for them to read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client

from auditapp.batches.models import Cell
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.models import Judgment
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.actions import add_model
from tests.auditapp.batches.queues import borrowed_connection
from tests.support.databases import stored
from transcripts.accounts.actions import create_token, note_token_use
from transcripts.accounts.models import Scope
from transcripts.audit_trail import trail
from transcripts.coding.actions import add_coding

TEXTS = b"text,target\nCat people never return borrowed books.,cat people\nDog people walk loudly.,dog people\n"


@dataclass
class Answer:
    """What the API said."""

    status: int
    body: Any
    headers: dict[str, str]

    @property
    def error(self):
        """The one error shape, checked."""
        assert set(self.body) == {"error"}
        error = self.body["error"]
        assert set(error) == {"code", "message", "fields"}
        assert error["code"]
        assert error["message"]
        assert error["fields"] is None or all(error["fields"].values())
        return dict(error)


class Program:
    """Asks the API with a token, as a script would."""

    def __init__(self, token=""):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.client = Client(headers=headers, raise_request_exception=True)

    def get(self, path, **query):
        return self.ask("GET", path, query_params=query)

    def post(self, path, body=None):
        return self.send(path, json.dumps({} if body is None else body).encode())

    def send(self, path, data, content_type="application/json"):
        return self.ask("POST", path, data=data, content_type=content_type)

    def ask(self, method, path, **options):
        response = self.client.generic(method, f"/api/v1/{path}", **options)
        kind = response.headers["Content-Type"]
        if response.headers.get("Content-Disposition"):
            return Answer(response.status_code, b"".join(response), dict(response.headers))
        assert kind.startswith(("application/json", "application/vnd.oai.openapi", "application/x-ndjson"))
        lines = kind.startswith("application/x-ndjson")
        content = response.getvalue()
        body = [json.loads(line) for line in content.split(b"\n")[:-1]] if lines else json.loads(content)
        return Answer(response.status_code, body, dict(response.headers))


@pytest.fixture
def spool(monkeypatch, tmp_path):
    """A worker's folder of its own, and a writer that sees what the test has not committed."""
    monkeypatch.setattr(settings, "SPOOL_FOLDER", tmp_path / "spool")
    with borrowed_connection(monkeypatch):
        yield


@pytest.fixture
def program_of():
    """A program with a token of the given person."""

    def make(user, *, scopes=()):
        token, secret = create_token(user=user, name="test", by=user, scopes=scopes or Scope.values)
        # Its first use is noted here: tests count queries of the others.
        note_token_use(token)
        return Program(secret)

    return make


@pytest.fixture
def put_code(study, sentence, code):
    """Puts the code on the sentence as the given person."""

    def put(user):
        return add_coding(study=study, sentence=sentence, code=code, by=user, idempotency_key=uuid4())

    return put


@stored
def dataset(study):
    return load_dataset(study=study, name="texts", file_name="texts.csv", data=TEXTS, by=trail.SYSTEM)[0]


@stored
def batch(dataset):
    """Two texts and one fake model; the first text was answered with three attributes, the second still waits."""
    variant = add_model(label="Fake model", provider="fake", by=trail.SYSTEM)
    launched = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=trail.SYSTEM)
    cell = launched.cells.order_by("pk")[0]
    Cell.objects.filter(pk=cell.pk).update(state=Cell.State.DONE, outcome="attributed")
    Judgment.objects.create(
        cell=cell, arm=cell.arm, text_id=cell.input_id, outcome="attributed", n_attributes=3, parser="test"
    )
    return launched
