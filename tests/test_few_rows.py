"""Every page of a study that has nothing yet, one of everything, or two: no figure may need more than there is."""

import json
import re
from collections import Counter
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import resolve, reverse

from auditapp.batches.launching import LaunchOptions
from auditapp.benchmarks.sob.judging.launching import launch_sob
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.providers.base import CallOutcome, ChatAnswer
from tests.auditapp.batches.trial_kinds import claim, finish, make_variant
from tests.auditapp.benchmarks.sob.conftest import write_texts
from tests.conftest import make_member
from tests.transcripts.coding.cast import find_code, put
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence

ANSWER = ChatAnswer(
    CallOutcome.ANSWERED,
    content='{"Gender": "female"}',
    raw="{}",
    http_status=200,
    finish_reason="stop",
    tokens_in=10,
    tokens_out=5,
)
LINK = re.compile(r'<a [^>]*href="([^"#]+)')
PAGES_OF_A_KIND = 1


def judge_texts(study, by, *, texts, answered):
    """A paid batch of one model on so many texts, of which some were answered: the pilot."""
    dataset = load_dataset(study=study, name="Texts", file_name="texts.jsonl", data=write_texts(texts), by=by)[0]
    options = LaunchOptions(pilot=max(1, answered))
    batch = launch_sob(dataset=dataset, variants=[make_variant()], tasks=["acceptability"], options=options, by=by)
    finish(batch, claim(batch, answered), ANSWER)
    return batch


def fill(study, people, n):
    """``n`` interviews of ``n`` sentences, coded by ``people``; a batch of which ``n`` calls were answered."""
    for number in range(n):
        turns = [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": "Because it is so. " * n}]
        data = json.dumps({"id": f"interview-{number}", "model": f"model {number}", "turns": turns}).encode()
        import_file(study=study, name=f"{number}.json", data=data, by=people[0])
    for sentence in Sentence.objects.filter(turn__interview__study=study, turn__role="model"):
        for person in people:
            put(sentence, find_code(study, "theme.balance"), person)
    judge_texts(study, people[0], texts=n + 1, answered=n)


def crawl(client, start):
    """The status of each page that links lead to from ``start``; of a kind of page a few."""
    found = {}
    kinds = Counter()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        parts = urlsplit(path)
        kind = (resolve(parts.path).view_name, *sorted(parse_qs(parts.query)))
        if path in found or kinds[kind] == PAGES_OF_A_KIND:
            continue
        kinds[kind] += 1
        answer = client.get(path)
        found[path] = answer.status_code
        if answer.status_code == 200 and "html" in answer.get("Content-Type", ""):
            links = (urljoin(path, link.replace("&amp;", "&")) for link in LINK.findall(answer.content.decode()))
            waiting += [
                link for link in links if link.startswith("/") and not link.startswith(("/static/", "/accounts/"))
            ]
    return found


# Of none and of two of everything there are pages enough in the tests of each room.
@pytest.mark.full
@pytest.mark.parametrize("n", [0, 1, 2])
def test_every_page_has_an_answer_when_there_is_little_or_nothing(study, owner, n):
    # As the owner of the site she may use a paid model without a grant.
    owner.is_superuser = True
    owner.save(update_fields=["is_superuser"])
    fill(study, [owner, make_member(study, owner, "lead", "lead")], n)
    client = Client(raise_request_exception=False)
    client.force_login(owner)
    found = crawl(client, reverse("studies:home", args=[study.slug]))
    assert {path: status for path, status in found.items() if status >= 400} == {}
    assert len(found) > 100
