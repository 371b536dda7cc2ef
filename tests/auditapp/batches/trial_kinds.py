"""A small kind of batch and the calls of one, without a network: which tests of planning, control and money use.

Sessions in an instance of its own: launched, asked again, and compared with what its calls sent. Their workers are those of
``tests.support.conversation_worker``.

A kind that converses, which the tests of conversations use. Inputs are numbers: the tens are the session,
the ones the question, from 1."""

import json
import uuid
from decimal import Decimal

from auditapp.batches import kinds
from auditapp.batches.launching import LaunchOptions, PlannedArm, launch_batch
from auditapp.batches.ledger import claims, leases, results
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.models import Attempt, Cell
from auditapp.batches.pure.conversations import Conversation
from auditapp.llm.actions import add_model
from auditapp.llm.models import ModelVariant
from auditapp.llm.providers.base import CallOutcome, ChatAnswer, NextStep
from auditapp.outbound.clock import read_now
from transcripts.audit_trail import trail
from transcripts.studies.models import Study

RUNNER = "here:1:aaaa"
GIVEN_UP = ChatAnswer(CallOutcome.REFUSED, NextStep.GIVE_UP, http_status=400, error="no")
LOST = ChatAnswer(CallOutcome.UNKNOWN, NextStep.RETRY, error="lost")


class Numbers(kinds.BatchKind):
    """A kind whose inputs are numbers; it remembers what it was told."""

    name = "numbers"

    def __init__(self):
        self.told = []
        self.reopened = []

    def write_prompts(self, arm, input_ids):
        return {number: f"Number {number}" for number in input_ids}

    def store_answers(self, batch, answers):
        self.told.extend(answers)
        return {each.cell_id: "provider_error" if each.answer is None else "said" for each in answers}

    def reopen(self, cell_ids):
        self.reopened.extend(cell_ids)


def make_variant(label="model a", *, price=1, **options):
    """A model at $1 for a million tokens in and $2 for a million out; with ``price`` ``None`` at an unknown one."""
    address = "https://models.example/v1"
    given = {"provider": "openai_compatible", "base_url": address, "model": label, "max_tokens": 100}
    prices = {} if price is None else {"price_in": Decimal(price), "price_out": Decimal(2 * price)}
    return add_model(label=label, by=trail.SYSTEM, **(given | prices | options))


def launch(study, *variants, inputs=3, **options):
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


def claim(batch, count):
    """So many calls of the batch's queues, as a runner takes them; the queues are let go again."""
    calls = []
    for queue_id in batch.queues.order_by("pk").values_list("pk", flat=True):
        queue = leases.acquire_queue(queue_id, RUNNER)
        if queue is not None:
            calls += claims.claim_calls(queue, RUNNER, count - len(calls)).calls
            leases.release_queue(queue, RUNNER)
    return calls


def finish(batch, calls, answer):
    """Every one of the calls ends with ``answer``."""
    now = read_now()
    results.store_completed(batch.pk, [CompletedCall(call.leased, answer, now, now) for call in calls])
    batch.refresh_from_db()


def answer(batch, count, *, tokens_out=5):
    """So many calls are made and answered."""
    calls = claim(batch, count)
    said = ChatAnswer(
        CallOutcome.ANSWERED, content="yes", raw="{}", http_status=200, tokens_in=10, tokens_out=tokens_out
    )
    finish(batch, calls, said)
    return calls


def count_states(batch):
    """Cells by state."""
    found = {}
    for state in Cell.objects.filter(batch=batch).values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


LAUNCH = (
    "import sys\n"
    "from tests.auditapp.batches.trial_kinds import launch_by_label, register\n"
    "register()\n"
    "sessions, questions, concurrency = map(int, sys.argv[2:5])\n"
    "print(launch_by_label(sys.argv[1], sessions=sessions, questions=questions, concurrency=concurrency))"
)
RETRY = (
    "import sys\n"
    "from auditapp.batches.actions import retry_failed\n"
    "from auditapp.batches.models import Batch\n"
    "from tests.auditapp.batches.trial_kinds import register\n"
    "from transcripts.audit_trail import trail\n"
    "register()\n"
    "print(retry_failed(batch=Batch.objects.get(pk=int(sys.argv[1])), by=trail.SYSTEM))"
)
CELLS = (
    "SELECT c.id, c.after_id, c.state, c.outcome, r.answer, a.prompt FROM batches_cell c "
    "LEFT JOIN batches_result r ON r.cell_id = c.id LEFT JOIN batches_attempt a ON a.id = r.attempt_id WHERE c.batch_id = {batch}"
)
CALLS = "SELECT a.cell_id, a.history FROM batches_attempt a JOIN batches_cell c ON c.id = a.cell_id WHERE c.batch_id = {batch}"
HASTY = (
    "SELECT count(*) FROM batches_attempt a JOIN batches_cell c ON c.id = a.cell_id "
    "LEFT JOIN batches_result r ON r.cell_id = c.after_id "
    "WHERE c.batch_id = {batch} AND c.after_id IS NOT NULL AND (r.stored_at IS NULL OR a.sent_at < r.stored_at)"
)


def launch_sessions(instance, label, *, sessions, questions, in_flight):
    """A batch of talks with a model of this label; its number."""
    return int(instance.run_code(LAUNCH, label, str(sessions), str(questions), str(in_flight)))


def retry_sessions(instance, batch):
    """Every failed question of the batch is asked again; their number."""
    return int(instance.run_code(RETRY, str(batch)))


def count_hasty_calls(instance, batch):
    """The calls that were sent before the answer they continue was stored."""
    return int(instance.query(HASTY.format(batch=batch))[0][0])


def find_wrong_histories(instance, batch):
    """Cells of which a call sent something else than the questions and answers of the cells before it, read one by one."""
    rows = {row[0]: row for row in instance.query(CELLS.format(batch=batch))}

    def say(cell):
        if cell is None:
            return [{"role": "system", "content": "You are asked."}]
        _, after, _, _, answer, prompt = rows[cell]
        return [*say(after), {"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]

    wrong = []
    for cell, history in instance.query(CALLS.format(batch=batch)):
        sent = json.loads(history) if isinstance(history, str) else history
        after = rows[cell][1]
        if sent != (None if after is None else say(after)):
            wrong.append(cell)
    return wrong


ASKED_BACK = "May I ask you something?"


class Talks(kinds.BatchKind):
    """A kind with one text for each question; the engine adds what was said before."""

    name = "talks"

    def __init__(self):
        self.told = []
        self.reopened = []

    def write_prompts(self, arm, input_ids):
        return {number: f"Question {number}" for number in input_ids}

    def store_answers(self, batch, answers):
        self.told.extend(answers)
        return {each.cell_id: "said" if each.answer is not None else "silent" for each in answers}

    def reopen(self, cell_ids):
        self.reopened.extend(cell_ids)


class Scripts(Talks):
    """A kind whose sessions have instructions of their own, and whose question depends on how the answer before it ends."""

    name = "scripts"

    def write_prompts(self, arm, input_ids):
        return {number: self.say(number, "Question") for number in input_ids}

    def write_conversations(self, arm, cells, exchanges):
        said = {}
        for cell in cells:
            before = exchanges.get(cell.pk, ())
            is_asked = bool(before) and before[-1][1].endswith("?")
            said[cell.pk] = self.say(cell.input_id, "Answer" if is_asked else "Question", repeat=cell.repeat)
        return said

    @staticmethod
    def say(number, word, repeat=1):
        return Conversation(f"Session {number // 10}.", (), f"{word} {number}, repeat {repeat}")


def number_inputs(sessions, questions):
    """The inputs of so many sessions, and which of them continues which."""
    inputs = [10 * session + question for session in range(1, sessions + 1) for question in range(1, questions + 1)]
    return inputs, {number: number - 1 for number in inputs if number % 10 > 1}


def launch_talks(study, *variants, sessions=1, questions=3, kind="talks", stays_open=False, **options):
    """A batch of so many sessions with so many questions each, for each model."""
    inputs, after = number_inputs(sessions, questions)
    return launch_batch(
        study=study,
        kind=kind,
        title="Talks",
        arms=[PlannedArm(each, "session", "You are asked.") for each in variants or (make_variant(),)],
        input_ids=inputs,
        by=options.pop("by", trail.SYSTEM),
        options=LaunchOptions(**options),
        after=after,
        stays_open=stays_open,
    )


def answer_request(request):
    """An answer that names what was asked and how much was said before, with reasoning beside it."""
    content = f"To “{request.user}” after {len(request.history)}."
    return ChatAnswer(
        CallOutcome.ANSWERED,
        content=content,
        reasoning="Hidden thoughts.",
        raw="{}",
        http_status=200,
        tokens_in=10,
        tokens_out=5,
    )


def read_states(batch):
    """The state of each cell by its input; of one that failed, its outcome."""
    rows = Cell.objects.filter(batch=batch).order_by("pk").values_list("input_id", "state", "outcome")
    return {number: outcome if state == "failed" else state for number, state, outcome in rows}


def read_histories(batch):
    """The history of each cell's latest attempt, by input."""
    rows = Attempt.objects.filter(cell__batch=batch).order_by("pk").values_list("cell__input_id", "history")
    return dict(rows)


def register():
    """Let this process work on talks and scripts."""
    for kind in (Talks(), Scripts()):
        kinds.register_kind(kind)


def launch_by_label(label, *, sessions, questions, concurrency, cap_usd=""):
    """A batch of talks with a model of the first study of this instance, for a process of its own; its number."""
    batch = launch_talks(
        Study.objects.order_by("pk")[0],
        ModelVariant.objects.get(label=label),
        sessions=sessions,
        questions=questions,
        concurrency=concurrency,
        cap_usd=Decimal(cap_usd) if cap_usd else None,
    )
    return batch.pk
