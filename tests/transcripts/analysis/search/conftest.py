"""Two interviews with two models, coded by two people, and the address bar of a search."""

import json
import re
import uuid

import pytest
from django.urls import reverse

from tests.support.databases import stored
from transcripts.codebook.models import Code
from transcripts.coding.actions import add_coding
from transcripts.coding.values import CodingValues
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Interview, Sentence

TURNS = [
    {"role": "interviewer", "text": "Do you weigh balance?"},
    {"role": "model", "text": "I weigh both sides. Nothing is settled."},
    {"role": "interviewer", "text": "Are you sure?", "prompt_kind": "challenge"},
    {"role": "model", "text": "I take that back. I weigh it again."},
]


class Answer:
    """A page of results, in the words that are seen on it."""

    def __init__(self, response):
        self.response = response
        self.status = response.status_code
        self.page = response.content.decode()
        findings = response.context.get("findings") if response.context else None
        self.texts = [each.sentence.read_text() for each in findings["results"]] if findings else []
        self.count = findings["sentences"] if findings else None

    @property
    def main(self):
        """The page without its frame, which holds a token that is new each time."""
        return str(self.page.partition("<main")[2])

    @property
    def heading(self):
        return "".join(re.findall(r"<h2 id=\"found\"[^>]*>([^<]*)</h2>", self.page))


@stored
def second_interview(study, interview, owner):
    line = json.dumps({"id": "i2", "model": "Model B", "title": "Second interview", "turns": TURNS})
    import_file(study=study, name="second.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(study=study, external_id="i2")


@pytest.fixture
def put(study):
    """Put a code on the sentence that begins with some words."""

    def put_code(by, begin, identifier, **how):
        sentences = Sentence.objects.select_related("turn__interview").filter(turn__interview__study=study)
        sentence = next(each for each in sentences.order_by("pk") if each.read_text().startswith(begin))
        code = Code.objects.get(version__study=study, identifier=identifier)
        if code.family.carries_enactment:
            how.setdefault("enactment", "enacted")
        values = CodingValues(**{name: how.pop(name) for name in CodingValues._fields if name in how})
        return add_coding(
            study=study, sentence=sentence, code=code, by=by, idempotency_key=uuid.uuid4(), values=values, **how
        )

    return put_code


@pytest.fixture
def ask(study, second_interview, client_of):
    """Search as somebody."""

    def ask_as(user, **query):
        return Answer(client_of(user).get(reverse("search:search", args=[study.slug]), query))

    return ask_as
