"""A web server that is killed again and again while programs of people save codings: what was acknowledged is there, once."""

import json
import random
import threading
import time
import urllib.error
import urllib.request
import uuid
from http import HTTPStatus

import pytest

from tests.support.instance import HOST, PATIENCE, find_free_port, kill_group, wait_until

pytestmark = [pytest.mark.processes, pytest.mark.full]

ROUNDS, PEOPLE = 20, 4
CODES = ("theme.balance", "theme.models_metamodels", "theme.remediating_harm", "theme.intersectionality")
SETUP = f"""
import json
from pathlib import Path
from django.conf import settings
from transcripts.accounts.actions import create_token, create_user
from transcripts.audit_trail import trail
from transcripts.codebook.actions import start_study
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.studies.actions import set_member_role

study = start_study(slug="kills", name="Kills", by=trail.SYSTEM)
text = " ".join(f"Invented sentence number {{number}}." for number in range(400))
line = json.dumps({{"id": "i", "turns": [{{"role": "model", "text": text}}]}})
import_file(study=study, name="i.jsonl", data=line.encode(), by=trail.SYSTEM)
tokens = []
for number in range({PEOPLE}):
    user = create_user(username=f"coder{{number}}", by=trail.SYSTEM)
    set_member_role(study=study, user=user, role="coder", by=trail.SYSTEM)
    tokens.append(create_token(user=user, name="t", by=trail.SYSTEM)[1])
sentences = list(Sentence.objects.order_by("position").values_list("pk", flat=True))
(settings.DATA / "kills.json").write_text(json.dumps({{"tokens": tokens, "sentences": sentences}}))
"""


class Coder(threading.Thread):
    """Saves codings one after the other, and each again with the same key until it is acknowledged."""

    def __init__(self, port, token, sentences, over):
        super().__init__(daemon=True)
        self.address = f"http://{HOST}:{port}/api/v1/studies/kills/codings/"
        self.token, self.over = token, over
        self.todo = [(sentence, code) for sentence in sentences for code in CODES]
        self.acknowledged = []
        self.cut_off = 0
        self.refused = []

    def run(self):
        for sentence, code in self.todo:
            key = str(uuid.uuid4())
            while not self.over.is_set() and not self.save(
                {"sentence": sentence, "code": code, "idempotency_key": key}
            ):
                time.sleep(0.2)
            if self.over.is_set():
                return
            self.acknowledged.append(key)
            time.sleep(0.01)

    def save(self, body):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return bool(answer.status in {HTTPStatus.OK, HTTPStatus.CREATED})
        except urllib.error.HTTPError as error:
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code != HTTPStatus.TOO_MANY_REQUESTS:
                self.refused.append(f"{error.code}: {error.read()[:200]!r}")
            return False
        except OSError:
            self.cut_off += 1
            return False


def test_twenty_kills_lose_no_acknowledged_coding_and_store_none_twice(instance):
    instance.environment["API_REQUESTS_PER_MINUTE"] = "100000"
    assert instance.start_code(SETUP).wait(PATIENCE) == 0, instance.read_words()
    stage = json.loads((instance.folder / "kills.json").read_text())
    port, over = find_free_port(), threading.Event()

    def serve():
        return instance.start(
            "-m", "auditapp.site.serving", "--host", HOST, "--port", str(port), API_REQUESTS_PER_MINUTE="100000"
        )

    server = serve()
    coders = [Coder(port, token, stage["sentences"], over) for token in stage["tokens"]]
    for coder in coders:
        coder.start()
    chance = random.Random(7)
    for _ in range(ROUNDS):
        before = sum(len(coder.acknowledged) for coder in coders)
        wait_until(
            lambda before=before: sum(len(coder.acknowledged) for coder in coders) > before,
            what="the server takes codings again",
        )
        time.sleep(chance.uniform(0.2, 1.2))
        kill_group(server)
        server = serve()
    after = sum(len(coder.acknowledged) for coder in coders)
    wait_until(lambda: sum(len(coder.acknowledged) for coder in coders) > after, what="the last server takes codings")
    over.set()
    for coder in coders:
        coder.join(PATIENCE)
    assert [words for coder in coders for words in coder.refused] == []
    assert sum(coder.cut_off for coder in coders) >= ROUNDS
    stored = [uuid.UUID(str(key)) for (key,) in instance.query("SELECT idempotency_key FROM coding_coding")]
    acknowledged = {uuid.UUID(key) for coder in coders for key in coder.acknowledged}
    assert len(stored) == len(set(stored))
    assert acknowledged <= set(stored)
    # Each coder had at most one save under way that nobody acknowledged.
    assert len(stored) <= len(acknowledged) + PEOPLE
    twice = "SELECT count(*) FROM coding_coding GROUP BY coder_id, sentence_id, code_id HAVING count(*) > 1"
    assert instance.query(twice) == []
    assert instance.ask("audit", "verify")["breaks"] == []
    print(
        f"{len(acknowledged)} acknowledged, {ROUNDS} kills, {sum(coder.cut_off for coder in coders)} requests cut off"
    )
