"""How long the calls of a launch will be, before anything is written. In bytes: no tokenizer makes more tokens than that."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from auditapp.batches.kinds import ANSWER_SCHEMA, Said, get_kind, write_answer_schema
from auditapp.batches.launching import LaunchPlan, PlannedArm
from auditapp.batches.ledger.prompts import write_json
from auditapp.batches.models import Arm, Batch
from auditapp.batches.pure.chaining import Conversation, list_chains, list_depths

READ_AT_ONCE = 2000
TOKENS_PER_MESSAGE = 16
# Of English text, roughly; other scripts have fewer bytes to a token.
LIKELY_BYTES_PER_TOKEN = 4


class CallSize(NamedTuple):
    """What a call sends beside its arm's instructions: ``length`` bytes of texts that are known, and ``answers`` earlier answers,
    which are not."""

    length: int
    answers: int = 0

    def count_most_tokens(self, answer: int) -> int:
        """The most tokens of it, where one answer has at most so many."""
        return self.length + self.answers * (answer + 2 * TOKENS_PER_MESSAGE)

    def count_likely_tokens(self, beside: int, answer: int) -> int:
        """The tokens that it probably sends together with ``beside`` bytes of instructions, where an answer usually has so many."""
        known = beside + self.length + self.answers * 2 * TOKENS_PER_MESSAGE
        return math.ceil(known / LIKELY_BYTES_PER_TOKEN) + self.answers * answer


class _Part(NamedTuple):
    """The bytes of one call: what is said, and what goes with it each time (a schema, other instructions)."""

    said: int
    beside: int


def measure_calls(plan: LaunchPlan) -> list[Counter[CallSize]]:
    """For each arm, how many calls of one repeat have which size. Arms that share messages share the count.

    A call that continues others sends their messages and answers too.
    """
    kind = get_kind(plan.kind)
    measured: dict[tuple[object, ...], Counter[CallSize]] = {}
    found: list[Counter[CallSize]] = []
    for planned in plan.arms:
        own = planned.list_inputs(plan.input_ids)
        key = (id(own), *_name_messages(planned))
        if key not in measured:
            arm = Arm(
                variant=planned.variant,
                task=planned.task,
                system_prompt=planned.system_prompt,
                settings=planned.settings,
                batch=Batch(kind=plan.kind),
            )
            said: dict[int, Said] = {}
            for start in range(0, len(own), READ_AT_ONCE):
                said |= kind.write_prompts(arm, own[start : start + READ_AT_ONCE])
            measured[key] = Counter(measure_said(arm, said, own, plan.after).values())
        found.append(measured[key])
    return found


def measure_said(
    arm: Arm, said: Mapping[int, Said], inputs: Sequence[int], after: Mapping[int, int]
) -> dict[int, CallSize]:
    """The size of each call, by input, where ``after`` says which input continues which. Where one cannot be asked, nor can those
    behind it."""
    parts = {input_id: _measure(arm, each) for input_id, each in said.items()}
    if not after:
        return {input_id: CallSize(part.said + part.beside) for input_id, part in parts.items()}
    sizes: dict[int, CallSize] = {}
    for chain in list_chains(inputs, after):
        for each, before in list_depths(chain, after).items():
            if each in parts and all(earlier in parts for earlier in before):
                length = sum(parts[earlier].said for earlier in before)
                sizes[each] = CallSize(length + parts[each].said + parts[each].beside, len(before))
    return sizes


def _name_messages(planned: PlannedArm) -> tuple[object, ...]:
    # A schema is written by arm: it names the codes.
    if planned.messages and not planned.settings.get(ANSWER_SCHEMA):
        return planned.variant.pk, planned.messages
    return planned.task, planned.system_prompt, json.dumps(planned.settings, sort_keys=True)


def _measure(arm: Arm, said: Said) -> _Part:
    """The bytes of a call's messages, and of the schema that its answer is held to: both are paid for."""
    given = Conversation(arm.system_prompt, (), said) if isinstance(said, str) else said
    schema = write_answer_schema(arm, given.user)
    messages = [given.user, *(part for exchange in given.history for part in exchange)]
    beside = _count(given.system) - _count(arm.system_prompt) + (_count(write_json(schema)) if schema else 0)
    return _Part(sum(map(_count, messages)) + 2 * TOKENS_PER_MESSAGE * len(given.history), beside)


def _count(text: str) -> int:
    return len(text.encode())
