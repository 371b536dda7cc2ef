"""The codebook changes while people code on pages they opened before: nothing they save is lost, moved or renamed."""

import json
import random
import uuid

import pytest
from django.urls import reverse

from tests.conftest import TURNS, make_member
from tests.transcripts.revision.codebooks import code_of, current, give, merge, narrow, split
from transcripts.codebook import actions
from transcripts.coding.models import Coding
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence, Turn
from transcripts.refusals import Refused

CODERS = 20
CODES = ("theme.balance", "theme.compassion", "theme.models_metamodels", "theme.remediating_harm")


def rename(study, identifier, name, by):
    draft = actions.start_draft(study=study, by=by)
    code = code_of(draft, identifier)
    actions.edit_code(code=code, revision=None, given=give(code, name=name, attributes=()), by=by)
    actions.publish_version(version=draft, by=by)
    return current(study)


def retire(study, identifier, by):
    draft = actions.start_draft(study=study, by=by)
    actions.retire_code(code=code_of(draft, identifier), revision=None, reason="never used", by=by)
    actions.publish_version(version=draft, by=by)
    return current(study)


@pytest.mark.django_db
def test_twenty_coders_lose_nothing_while_the_codebook_is_published_five_times(study, interview, owner, client_of):
    first = current(study)
    codes = [code_of(first, identifier) for identifier in CODES]
    names = {code.pk: code.name for code in codes}
    sentences = list(Sentence.objects.filter(turn__interview=interview, turn__role="model").order_by("position"))
    coders = [make_member(study, owner, "coder", f"coder-{number}") for number in range(CODERS)]
    clients = {coder.pk: client_of(coder) for coder in coders}
    sends = [(coder, sentence, code) for coder in coders for sentence in sentences[:3] for code in codes]
    random.Random(26).shuffle(sends)
    changes = iter(
        (
            lambda: narrow(study, "theme.balance", owner),
            lambda: rename(study, "theme.compassion", "Care", owner),
            lambda: retire(study, "theme.models_metamodels", owner),
            lambda: merge(study, ["theme.balance", "theme.remediating_harm"], "theme.remediating_harm", owner),
            lambda: split(study, "theme.compassion", ["For one", "For all"], owner),
        )
    )
    saved = {}
    for number, (coder, sentence, code) in enumerate(sends):
        if number % (len(sends) // 5) == 10:
            next(changes)()
        key = uuid.uuid4()
        answer = clients[coder.pk].post(
            reverse("desk:add", args=[study.slug, interview.pk]),
            {"sentence": sentence.pk, "code": code.pk, "idempotency_key": str(key)},
        )
        assert answer.status_code == 303, (code.identifier, answer.status_code, answer.content[:300])
        saved[key] = (coder.pk, sentence.pk, code.pk)
    assert current(study).number == 6
    stored = {each.idempotency_key: each for each in Coding.objects.select_related("code__version")}
    assert set(saved) <= set(stored)
    assert {key: (stored[key].coder_id, stored[key].sentence_id, stored[key].code_id) for key in saved} == saved
    assert {stored[key].code.version.number for key in saved} == {1}
    # Whatever no longer stands was carried to the code that its own was merged into, on the same sentence.
    carried = {each.migrated_from_id: each for each in stored.values() if each.migrated_from_id}
    for key in saved:
        if stored[key].withdrawn_at is not None:
            assert carried[stored[key].pk].sentence_id == stored[key].sentence_id
    for code in codes:
        code.refresh_from_db()
        assert code.name == names[code.pk]


@pytest.mark.django_db
def test_a_file_that_comes_again_moves_no_coding(study, interview, sentence, owner, client_of):
    code = code_of(current(study), "theme.balance")
    sent = {"sentence": sentence.pk, "code": code.pk, "idempotency_key": str(uuid.uuid4())}
    client_of(owner).post(reverse("desk:add", args=[study.slug, interview.pk]), sent)
    before = list(Coding.objects.values()), list(Sentence.objects.values()), list(Turn.objects.values())
    file = {"id": "i1", "model": "Model A", "title": "First interview", "turns": TURNS}
    assert import_file(study=study, name="again.jsonl", data=json.dumps(file).encode(), by=owner).skipped
    changed = [{**TURNS[0]}, {**TURNS[1], "text": TURNS[1]["text"] + "!"}, *TURNS[2:]]
    for turns in (changed, TURNS[:-1]):
        with pytest.raises(Refused, match="new id"):
            import_file(study=study, name="x.jsonl", data=json.dumps({**file, "turns": turns}).encode(), by=owner)
    assert (list(Coding.objects.values()), list(Sentence.objects.values()), list(Turn.objects.values())) == before
    longer = {**file, "turns": [*TURNS, {"role": "model", "text": "One more."}]}
    import_file(study=study, name="longer.jsonl", data=json.dumps(longer).encode(), by=owner)
    codings, sentences, _ = before
    assert list(Coding.objects.values()) == codings
    assert list(Sentence.objects.order_by("pk").values())[: len(sentences)] == sentences
    assert list(Turn.objects.order_by("pk").values_list("text", flat=True))[len(TURNS) :] == ["One more."]
