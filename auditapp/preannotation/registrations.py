"""What pre-annotation adds to the registries of other apps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from auditapp.batches.kinds import ArmOutcomes, Parts, register_kind, sum_by_model
from auditapp.batches.runner.sweeps import register_sweep
from auditapp.llm.queries import register_scorecard_part
from auditapp.preannotation.annotators.pure.answers import list_annotator_alarms, list_critic_alarms
from auditapp.preannotation.annotators.queries.batch_visibility import (
    find_critic_visibility,
    find_machine_read,
    find_turn_visibility,
    list_read_interviews,
)
from auditapp.preannotation.annotators.runner.parse_responses import CheckKind, PreannotationKind, write_turn_schema
from auditapp.preannotation.evaluation.exports import EXPORTS
from auditapp.preannotation.evaluation.queries.machine_use import read_machine_notes, read_machine_uses
from auditapp.preannotation.evaluation.queries.scorecard import read_parts
from auditapp.preannotation.evaluation.runner import CriticKind, write_critic_schema
from auditapp.preannotation.models import Annotator, Reading
from auditapp.preannotation.suggestions.exports import SHOWINGS, SUGGESTIONS, TURN_ARMS
from auditapp.preannotation.suggestions.queries.arms import is_draft
from transcripts.blinding.labels_seen import register_labels
from transcripts.coding.queries import register_drafts
from transcripts.exchange.registry import register_export, register_machine_notes, register_machine_use
from transcripts.studies.access import ProjectRequest
from transcripts.studies.overview import register_card
from transcripts.studies.roles import Permission


def notify_idle_runs() -> None:
    """A sweep that loads Celery only where one is done: in a worker."""
    from auditapp.preannotation.annotators.tasks import ring_idle_runs

    ring_idle_runs()


def alarm_by_model(find: Callable[[Mapping[str, int]], list[str]]) -> Callable[[ArmOutcomes], list[str]]:
    """The alarms of each model of a batch, over all its codes."""
    return lambda outcomes: [
        f"{label}: {alarm}" for label, counts in sum_by_model(outcomes).items() for alarm in find(counts)
    ]


def place_differences(request: ProjectRequest) -> Mapping[str, object] | None:
    """A place that the browser fills: comparing a machine with people takes longer than all the rest of the overview."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions:
        return None
    return {} if Annotator.objects.filter(project=request.project).exists() else None


register_drafts(is_draft)
register_labels(find_machine_read)
TURNS = Parts(
    find_turn_visibility,
    list_read_interviews,
    write_turn_schema,
    unreadable=[Reading.Outcome.INVALID],
    find_alarms=alarm_by_model(list_annotator_alarms),
)
for kind in (PreannotationKind(), CheckKind()):
    register_kind(kind, TURNS)
critic_alarms = alarm_by_model(list_critic_alarms)
register_kind(
    CriticKind(),
    TURNS._replace(find_visibility=find_critic_visibility, write_schema=write_critic_schema, find_alarms=critic_alarms),
)
register_sweep("offline runs", notify_idle_runs)
for export in (SUGGESTIONS, SHOWINGS, TURN_ARMS, *EXPORTS):
    register_export(export)
register_card("preannotation/_differences_card.html", place_differences, rank=45)
register_machine_use(read_machine_uses)
register_machine_notes("preannotation/machine_notes.html", read_machine_notes)
# What became of suggestions is colleagues' decisions.
register_scorecard_part("suggestions", read_parts, Permission.SEE_ALL_CODINGS)
