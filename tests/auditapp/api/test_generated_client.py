"""A client that a stranger generates from the schema works: it imports, codes, launches a batch and reads its answers.

What the client does stands in functions of their own, one for each task; a further task is one more of them.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from django.conf import settings
from django.core.wsgi import get_wsgi_application

from auditapp.api.schema import build_schema
from auditapp.batches.models import Batch, Result
from auditapp.batches.routes import live_run
from auditapp.llm.actions import add_model
from perf.serving import PRODUCT, serve
from tests.auditapp.batches.queues import borrowed_connection
from transcripts.accounts.actions import create_token
from transcripts.accounts.models import Scope
from transcripts.audit_trail import trail
from transcripts.corpus.models import Sentence

PACKAGE = "client_of_the_tests"
TEXT = "It depends on the person. Ask them first."


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The name of a package that was generated from the schema, as its documentation says, and can be imported."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "schema.json").write_text(json.dumps(build_schema(), default=str), encoding="utf-8")
    (folder / "config.yml").write_text(f"package_name_override: {PACKAGE}\n", encoding="utf-8")
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        [
            *(str(binaries / "openapi-python-client"), "generate", "--meta", "none"),
            *("--path", "schema.json", "--config", "config.yml", "--output-path", PACKAGE),
        ],
        cwd=folder,
        # It formats what it wrote with ruff.
        env=os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    try:
        yield PACKAGE
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


class Stranger:
    """Somebody with the generated package, an address and a token."""

    def __init__(self, package, base_url, token, slug):
        self.package, self.slug = package, slug
        client = self.load("client").AuthenticatedClient
        self.client = client(base_url=base_url, token=token, raise_on_unexpected_status=True)

    def load(self, path):
        return importlib.import_module(f"{self.package}.{path}")

    def model(self, name):
        return getattr(self.load("models"), name)

    def call(self, operation, *address, **sent):
        """What an operation answers, which is no error."""
        answer = self.load(f"api.{operation}").sync(self.slug, *address, client=self.client, **sent)
        assert not isinstance(answer, self.model("Error")), answer
        assert answer is not None
        return answer


def connect(package, study, user):
    """A stranger with a token of ``user``, who asks the application in this process."""
    _, token = create_token(user=user, name="generated", by=user, scopes=Scope.values)
    stranger = Stranger(package, "http://testserver", token, study.slug)
    transport = httpx.WSGITransport(app=get_wsgi_application())
    headers = {"Authorization": f"Bearer {token}"}
    stranger.client.set_httpx_client(httpx.Client(transport=transport, base_url="http://127.0.0.1", headers=headers))
    return stranger


def list_titles(stranger):
    return [interview.title for interview in stranger.call("interviews.list_interviews", limit=1000).results]


def bring_in_a_file(stranger):
    """The number of the interview that came in."""
    content = json.dumps({"id": "generated", "title": "Brought in", "turns": [{"role": "model", "text": TEXT}]})
    new_file = stranger.model("NewFileRequest")(name="new.jsonl", content=content)
    [found] = stranger.call("imports.import_interviews", body=new_file).files
    [interview_id] = found.interview_ids
    return int(interview_id)


def code_a_sentence(stranger, interview_id):
    """The coding of the first sentence of an interview."""
    sentences = stranger.call("interviews.list_sentences", interview_id).results
    assert [sentence.text for sentence in sentences] == ["It depends on the person.", "Ask them first."]
    families = stranger.call("codebook.read_codebook").families
    family = next(each for each in families if each.unit == "sentence" and not each.carries_enactment)
    coding = stranger.model("NewCodingRequest")(
        sentence=sentences[0].id,
        code=family.codes[0].identifier,
        level=stranger.model("LevelEnum").LATENT,
        note="It leaves the answer open.",
        idempotency_key=uuid4(),
    )
    return stranger.call("codings.add_coding", body=coding)


def launch_a_batch(stranger, dataset, model):
    """The number of a batch that asks ``model`` about the texts of ``dataset``, reviewed first."""
    asked = {
        "dataset": dataset,
        "models": [model],
        "tasks": ["acceptability"],
        "pilot": 0,
        "idempotency_key": str(uuid4()),
    }
    review = {name: value for name, value in asked.items() if name != "idempotency_key"}
    estimate = stranger.call("launching.estimate_sob", body=stranger.model("ReviewedSobRequest").from_dict(review))
    launched = stranger.call("launching.launch_sob", body=stranger.model("NewSobRequest").from_dict(asked))
    assert launched.cells == estimate.calls
    return int(launched.id)


def read_answers(stranger, batch_id):
    """The answers of a batch: lines, which generators leave out, by the client's own connection."""
    http = stranger.client.get_httpx_client()
    answer = http.get(f"/api/v1/studies/{stranger.slug}/batches/{batch_id}/answers/")
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def work(stranger):
    """Everything that the client is to be able to do."""
    with stranger.client:
        before = list_titles(stranger)
        interview_id = bring_in_a_file(stranger)
        assert list_titles(stranger) == [*before, "Brought in"]
        coding = code_a_sentence(stranger, interview_id)
        found = stranger.call("codings.list_codings", interview=interview_id)
    assert [each.id for each in found.results] == [coding.id]
    assert (found.count, coding.note, coding.withdrawn_at) == (1, "It leaves the answer open.", None)


def test_every_operation_in_json_is_generated(generated):
    """Generators leave out what takes or answers lines of JSON; those are sent as the reference shows."""
    package = importlib.import_module(generated)
    [folder] = package.__path__
    operations = [operation for path in build_schema()["paths"].values() for operation in path.values()]
    generated_ones = 0
    for operation in operations:
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        if {kind for body in bodies for kind in body.get("content", {})} <= {"application/json"}:
            module = Path(folder) / "api" / operation["tags"][0] / f"{operation['operationId']}.py"
            assert module.exists(), operation["operationId"]
            generated_ones += 1
    assert generated_ones > 15


@pytest.mark.django_db
def test_a_client_generated_from_the_schema_lists_imports_and_codes(generated, study, lead):
    work(connect(generated, study, lead))
    assert Sentence.objects.filter(turn__interview__external_id="generated").count() == 2


@pytest.mark.django_db
@pytest.mark.full
def test_a_generated_client_launches_a_batch_and_reads_its_answers(
    generated, study, lead, dataset, monkeypatch, tmp_path
):
    monkeypatch.setattr(settings, "SPOOL_FOLDER", tmp_path / "spool")
    add_model(label="judge", provider="fake", by=trail.SYSTEM)
    stranger = connect(generated, study, lead)
    with borrowed_connection(monkeypatch), stranger.client:
        batch_id = launch_a_batch(stranger, dataset.name, "judge")
        assert read_answers(stranger, batch_id) == []
        for queue_id in Batch.objects.get(pk=batch_id).queues.values_list("pk", flat=True):
            live_run.run_queue(queue_id)
        answers = read_answers(stranger, batch_id)
    stored = dict(Result.objects.values_list("cell", "answer"))
    assert {row["cell"]: row["answer"] for row in answers} == stored
    assert len(stored) == 2


@pytest.mark.full
@pytest.mark.processes
def test_a_generated_client_works_with_a_running_server(generated, instance, tmp_path):
    instance.manage("prepare")
    # In the demo one codes what one is assigned.
    instance.manage("study", "create", "generated", "--name", "Generated")
    token = instance.ask("user", "create-token", "owner")["token"]
    with serve(PRODUCT, environment=instance.environment, log=tmp_path / "server.log") as server:
        work(Stranger(generated, f"http://127.0.0.1:{server.port}", token, "generated"))
