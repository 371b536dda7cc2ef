"""A small kind of batch and the calls of one, without a network: what tests of planning, control and money stand on."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from auditapp.batches.kinds import Answered
from auditapp.batches.launching import LaunchOptions, PlannedArm, launch_batch
from auditapp.batches.ledger import claiming, leases, storing
from auditapp.batches.ledger.claiming import Call
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, NextStep
from auditapp.outbound.clock import read_now
from transcripts.audit_trail import trail
from transcripts.studies.models import Study

RUNNER = "here:1:aaaa"
GIVEN_UP = ChatAnswer(CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=400, error="no")
LOST = ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error="lost")


class Numbers:
    """A kind whose inputs are numbers; it remembers what it was told."""

    name = "numbers"

    def __init__(self) -> None:
        self.told: list[Answered] = []
        self.reopened: list[int] = []

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, str]:
        return {number: f"Number {number}" for number in input_ids}

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        self.told.extend(answers)
        return {each.cell_id: "provider_error" if each.answer is None else "said" for each in answers}

    def reopen(self, cell_ids: Sequence[int]) -> None:
        self.reopened.extend(cell_ids)


def make_variant(label: str = "model a", *, price: int | None = 1, **options: Any) -> ModelVariant:
    """A model at $1 for a million tokens in and $2 for a million out; with ``price`` ``None`` at an unknown one."""
    address = "https://models.example/v1"
    given: dict[str, Any] = {"provider": "openai_compatible", "base_url": address, "model": label, "max_tokens": 100}
    prices = {} if price is None else {"price_in": Decimal(price), "price_out": Decimal(2 * price)}
    return add_model(label=label, by=trail.SYSTEM, **(given | prices | options))


def launch(study: Study, *variants: ModelVariant, inputs: int = 3, **options: Any) -> Batch:
    """A batch of ``inputs`` numbers for each model."""
    chosen = variants or (make_variant(f"model {uuid.uuid4().hex[:6]}"),)
    return launch_batch(
        study=study,
        kind="numbers",
        title="Numbers",
        arms=[PlannedArm(variant, "task", "Say it.") for variant in chosen],
        input_ids=list(range(1, inputs + 1)),
        by=options.pop("by", trail.SYSTEM),
        options=LaunchOptions(**options),
    )


def claim(batch: Batch, count: int) -> list[Call]:
    """So many calls of the batch's queues, as a runner takes them; the queues are let go again."""
    calls: list[Call] = []
    for queue_id in batch.queues.order_by("pk").values_list("pk", flat=True):
        queue = leases.acquire_queue(queue_id, RUNNER)
        if queue is not None:
            calls += claiming.claim_calls(queue, RUNNER, count - len(calls)).calls
            leases.release_queue(queue, RUNNER)
    return calls


def finish(batch: Batch, calls: Sequence[Call], answer: ChatAnswer) -> None:
    """Every one of the calls ends with ``answer``."""
    now = read_now()
    storing.store_completed(batch.pk, [CompletedCall(call.leased, answer, now, now) for call in calls])
    batch.refresh_from_db()


def answer(batch: Batch, count: int, *, tokens_out: int = 5) -> list[Call]:
    """So many calls are made and answered."""
    calls = claim(batch, count)
    said = ChatAnswer(
        CallOutcome.ANSWERED, content="yes", raw="{}", http_status=200, tokens_in=10, tokens_out=tokens_out
    )
    finish(batch, calls, said)
    return calls


def count_states(batch: Batch) -> dict[str, int]:
    """Cells by state."""
    found: dict[str, int] = {}
    for state in Cell.objects.filter(batch=batch).values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found
