"""A batch with one queue, and a kind whose inputs are numbers: what the tests of ledger and runner work on.

The batch services of the fake paid API, as a test orders them about and asks what they counted."""

import asyncio
import json
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal

from django.db import connection, connections
from django.utils import timezone

from auditapp.batches import launching
from auditapp.batches.kinds import BatchKind
from auditapp.batches.ledger import claims, leases, results
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.pure.stopping import stopping
from auditapp.batches.routes import live_run
from auditapp.llm.actions import add_model
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, ErrorClass, NextStep
from transcripts.audit_trail import trail

RUNNER = "here:1:aaaa"
ANSWER = ChatAnswer(CallOutcome.ANSWERED, content="yes", raw='{"yes": 1}', http_status=200, tokens_in=10, tokens_out=5)
LOST = ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error_class=ErrorClass.CUT_OFF, error="lost")
BUSY = ChatAnswer(
    CallOutcome.REFUSED, NextStep.RETRY, http_status=500, error_class=ErrorClass.SERVER_ERROR, error="status 500"
)
TOO_MANY = ChatAnswer(
    CallOutcome.REFUSED, NextStep.SLOW_DOWN, http_status=429, error_class=ErrorClass.RATE_LIMITED, retry_after=30.0
)


class Echo(BatchKind):
    """A kind whose inputs are numbers; input 13 has no text."""

    name = "echo"

    def __init__(self):
        self.seen = []

    def write_prompts(self, arm, input_ids):
        return {number: f"text {number}" for number in input_ids if number != 13}

    def store_answers(self, batch, answers):
        self.seen.extend(answers)
        return {each.cell_id: "said" if each.answer is not None else "silent" for each in answers}

    def reopen(self, cell_ids):
        return None


class ScriptedProvider:
    """Answers as its script says, and notes what it was asked."""

    def __init__(self, answer=None, *, takes=0.0):
        self.answer, self.takes = answer or (lambda request: ANSWER), takes
        self.asked = []
        self.in_flight = self.most_in_flight = 0

    async def chat(self, request):
        self.asked.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.takes)
            return self.answer(request)
        finally:
            self.in_flight -= 1

    async def close(self):
        return None


def make_variant(*, base_url="https://models.example/v1", max_tokens=100, reasoning="", **others):
    """A priced model; those with the same address are of the same account."""
    return add_model(
        label=f"model {uuid.uuid4().hex[:6]}",
        provider="openai_compatible",
        base_url=base_url,
        model="m",
        max_tokens=max_tokens,
        reasoning=reasoning,
        price_in=Decimal(1),
        price_out=Decimal(2),
        by=trail.SYSTEM,
        **others,
    )


def plan(
    study,
    *,
    inputs=(1, 2, 3),
    variant=None,
    cap_usd=None,
    repeats=1,
    concurrency=30,
    pilot=0,
    lost_answers="retry",
    uses_cache=False,
):
    """A launched batch's queue, held by nobody."""
    batch = launching.launch_batch(
        study=study,
        kind="echo",
        title="Echo",
        arms=[launching.PlannedArm(variant or make_variant(), "task", "Say it.")],
        input_ids=list(inputs),
        options=launching.LaunchOptions(
            cap_usd=cap_usd,
            repeats=repeats,
            concurrency=concurrency,
            pilot=pilot,
            lost_answers=lost_answers,
            uses_cache=uses_cache,
        ),
        by=trail.SYSTEM,
    )
    return batch.queues.get()


def hold(queue):
    """The queue, held by ``RUNNER``."""
    held = leases.acquire_queue(queue.pk, RUNNER)
    assert held is not None
    return held


def launch(study, *, inputs=(1, 2, 3), cap_usd=None):
    """A launched batch's queue, held by ``RUNNER``."""
    return hold(plan(study, inputs=inputs, cap_usd=cap_usd))


def claim(queue, count=10):
    return claims.claim_calls(queue, RUNNER, count)


def finish(queue, leased, answer):
    now = timezone.now()
    results.store_completed(queue.batch_id, [CompletedCall(call.leased, answer, now, now) for call in leased.calls])


class NoConnections:
    """The writer's thread borrows the test's connection, which it must not close."""

    @staticmethod
    def close_all():
        return None


@contextmanager
def borrowed_connection(monkeypatch):
    """Inside, the writer of a runner sees what the test has not committed."""
    shared = connections["default"]

    def make_writer(**_):
        return ThreadPoolExecutor(max_workers=1, initializer=lambda: connections.__setitem__("default", shared))

    monkeypatch.setattr(live_run, "ThreadPoolExecutor", make_writer)
    monkeypatch.setattr(live_run, "connections", NoConnections)
    connection.inc_thread_sharing()
    stopping.clear()
    yield
    stopping.clear()
    connection.dec_thread_sharing()


class Shop:
    """Speaks to the routes of ``tests/support/fake_jobs.py``."""

    def __init__(self, provider):
        self.provider = provider
        self.address = provider.base_url.removesuffix("/v1")

    def order(self, **orders):
        self._ask("/jobs/orders", json.dumps(orders).encode())

    def stats(self):
        return dict(json.loads(self._ask("/jobs/stats")))

    def _ask(self, path, data=None):
        with urllib.request.urlopen(self.address + path, data=data, timeout=10) as response:
            return bytes(response.read())
