"""The alarms of a benchmark batch and of a formatter, from the outcomes of their cells: what came, as the rules read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from auditapp.batches.kinds import ArmOutcomes, sum_by_model
from auditapp.batches.ledger.batch_state import NO_ROOM, NOT_STORABLE
from auditapp.batches.models import Arm
from auditapp.batches.pure.alarms import describe_unreadable
from auditapp.sob.pure.formatter_answers import REJECTED, FormatterEnd
from auditapp.sob.pure.measures.cautions import describe_alarm, find_alarm
from auditapp.sob.pure.outcomes import Outcome
from auditapp.sob.pure.showing.figures import in_words

# What a call to the formatter can end in without a reading that says something of the answer.
UNREADABLE_BY_FORMATTER = frozenset({FormatterEnd.UNREADABLE, *REJECTED})


def list_judge_alarms(outcomes: ArmOutcomes) -> list[str]:
    """A sentence for every model and task whose answers, as they came, are no evidence. Reads arm.variant."""
    found = ((arm, _describe(arm, counts)) for arm, counts in outcomes)
    return [f"{arm.variant.label}, {in_words(arm.task)}: {said}" for arm, said in found if said]


def _describe(arm: Arm, counts: Mapping[str, int]) -> str:
    count = Counter({str(outcome): counts.get(outcome, 0) for outcome in Outcome})
    # Where thinking used up the limit, the engine says so instead of the rules; what could not be stored came all the same.
    count[str(Outcome.TRUNCATED)] += counts.get(NO_ROOM, 0)
    count[str(Outcome.OFF_FORMAT)] += counts.get(NOT_STORABLE, 0)
    answered = count[Outcome.ATTRIBUTED] + count[Outcome.UNKNOWN] + count[Outcome.VERDICT]
    refused, cut_off = count[Outcome.REFUSAL], count[Outcome.TRUNCATED]
    alarm = find_alarm(
        answered=answered,
        unknown=count[Outcome.UNKNOWN],
        came=count.total() - count[Outcome.PROVIDER_ERROR],
        read_by_rules=answered + refused,
        refused=refused,
        cut_off=cut_off,
    )
    if alarm is None:
        return ""
    cell = {
        "alarm": alarm,
        "n_responses": count.total(),
        "n_nonrefused": answered,
        "n_refused": refused,
        "outcomes": count,
        "output_limit": arm.variant.max_tokens,
    }
    return describe_alarm(cell, as_came=True)


def list_formatter_alarms(outcomes: ArmOutcomes) -> list[str]:
    """A sentence for every formatter that could read nothing. Reads arm.variant."""
    alarms = []
    for label, counts in sum_by_model(outcomes).items():
        no_room = counts[NO_ROOM]
        unread = sum(counts[end] for end in UNREADABLE_BY_FORMATTER) + counts[NOT_STORABLE] + no_room
        readable = sum(counts[end] for end in {*FormatterEnd} - UNREADABLE_BY_FORMATTER - {FormatterEnd.NO_ANSWER})
        said = describe_unreadable(unread + readable, readable, no_room)
        alarms += [f"{label}: {said}"] if said else []
    return alarms
