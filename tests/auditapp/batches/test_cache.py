"""The response cache: an answer that was paid for once is taken again for the very same request, and says so."""

import dataclasses

import pytest

from auditapp.batches import kinds
from auditapp.batches.ledger.prompts import hash_request, make_request
from auditapp.batches.models import Attempt, Batch, Cell, Result
from auditapp.llm.models import ProviderAccount
from auditapp.llm.providers.base import ChatRequest, Traits
from tests.auditapp.batches.queues import ANSWER, LOST, Echo, claim, finish, hold, launch, make_variant, plan


@pytest.fixture(autouse=True)
def echo(monkeypatch):
    kind = Echo()
    monkeypatch.setitem(kinds._kinds, "echo", kind)
    return kind


def answer_all(study, *, repeats=1):
    """A batch without the cache, all of whose calls are answered."""
    queue = hold(plan(study, inputs=[1, 2], repeats=repeats))
    finish(queue, claim(queue), ANSWER)
    assert Batch.objects.latest("pk").state == "done"


def test_a_request_answered_before_is_not_sent_again_and_costs_nothing(study, echo):
    answer_all(study)
    originals = list(Attempt.objects.order_by("pk").values_list("pk", flat=True))
    queue = hold(plan(study, inputs=[1, 2], uses_cache=True))
    leased = claim(queue)
    assert leased.calls == []
    assert leased.settled == 2
    copies = Attempt.objects.filter(end="cached").order_by("pk")
    assert [copy.copied_from_id for copy in copies] == originals
    assert {(copy.cost_nano, copy.reserved_nano, copy.sent_at) for copy in copies} == {(0, 0, None)}
    batch = Batch.objects.latest("pk")
    assert (batch.state, batch.spent_nano, batch.reserved_nano) == ("done", 0, 0)
    assert set(Result.objects.filter(cell__batch=batch).values_list("answer", flat=True)) == {"yes"}
    assert [each.answer for each in echo.seen] == ["yes"] * 4
    assert set(Cell.objects.values_list("outcome", flat=True)) == {"said"}


def test_it_is_off_by_default(study):
    answer_all(study)
    assert len(claim(launch(study, inputs=[1, 2])).calls) == 2


def test_only_what_was_answered_before_is_taken(study):
    answer_all(study)
    queue = hold(plan(study, inputs=[1, 5], uses_cache=True))
    leased = claim(queue)
    assert [call.leased.input_id for call in leased.calls] == [5]
    assert leased.settled == 1
    assert Batch.objects.latest("pk").state == "running"


def test_repeats_are_not_copies_of_each_other(study):
    answer_all(study, repeats=1)
    queue = hold(plan(study, inputs=[1], repeats=2, uses_cache=True))
    assert [Cell.objects.get(pk=call.leased.cell_id).repeat for call in claim(queue).calls] == [2]


def test_a_copy_always_points_to_an_answer_that_was_paid_for(study):
    answer_all(study)
    for _ in range(2):
        claim(hold(plan(study, inputs=[1], uses_cache=True)))
    origins = Attempt.objects.filter(end="cached").values_list("copied_from__end", flat=True)
    assert list(origins) == ["answered", "answered"]


def test_a_lost_answer_is_nothing_to_copy(study):
    queue = hold(plan(study, inputs=[1], lost_answers="hold"))
    finish(queue, claim(queue), LOST)
    assert len(claim(hold(plan(study, inputs=[1], uses_cache=True))).calls) == 1


def test_another_account_is_another_answer(study):
    answer_all(study)
    elsewhere = make_variant(base_url="https://elsewhere.example/v1")
    assert len(claim(hold(plan(study, inputs=[1, 2], variant=elsewhere, uses_cache=True))).calls) == 2


def test_another_setting_is_another_answer(study):
    answer_all(study)
    settings = [{"reasoning": "high"}, {"max_tokens": 99}, {"temperature": 0.5}, {"seed": 1}]
    for variant in [make_variant(**each) for each in settings]:
        assert len(claim(hold(plan(study, inputs=[1, 2], variant=variant, uses_cache=True))).calls) == 2


def test_the_hash_covers_all_that_shapes_the_answer(study):
    queue = plan(study, inputs=[1])
    arm = queue.batch.arms.get()
    account = arm.variant.account
    request = make_request(arm, "text")
    changed = [
        dataclasses.replace(request, model="n"),
        dataclasses.replace(request, system="other"),
        dataclasses.replace(request, user="other"),
        dataclasses.replace(request, max_tokens=1),
        dataclasses.replace(request, reasoning="low"),
        dataclasses.replace(request, parameters={"temperature": 0}),
        *(dataclasses.replace(request, traits=traits) for traits in other_traits()),
    ]
    moved = make_variant(base_url="https://elsewhere.example/v1").account
    hashes = {hash_request(each, account) for each in [request, *changed]} | {hash_request(request, moved)}
    assert len(hashes) == len(changed) + 2
    same = dataclasses.replace(request, request_id="another", timeout_seconds=1.0)
    assert hash_request(same, account) == hash_request(request, account)


def test_the_hash_of_a_request_is_the_same_in_every_version_so_that_no_stored_answer_is_lost():
    account = ProviderAccount(pk=7, provider="openai", base_url="https://models.example/v1")
    request = ChatRequest("call-1", "model-1", "Answer briefly.", "Why?", 100)
    assert hash_request(request, account) == "edcab057361746c31177d5081580f70b106d890590829c4010e5fd6d02cadd56"
    held = dataclasses.replace(request, answer_schema={"type": "object"}, history=[("Why?", "So.")])
    assert hash_request(held, account) == "11c0decd933bb421b76b88d4932e9136b64709adbd2726f83c0b9a74c6b9060a"


def other_traits():
    return [
        Traits(reasoning="budget"),
        Traits(token_limit="max_completion_tokens"),
        Traits(takes_system=False),
        Traits(takes_temperature=False),
    ]
