"""What the evaluation of machines adds to the registries of other rooms."""

from __future__ import annotations

from collections.abc import Mapping

from auditapp.annotators.models import Annotator, TurnAnswer
from auditapp.annotators.pure.answers import list_critic_alarms
from auditapp.annotators.withholding import find_critic_visibility, list_read_interviews
from auditapp.batches.kinds import Parts, alarm_by_model, register_kind
from auditapp.evaluation.exports import EXPORTS, read_machine_notes, read_machine_uses, read_parts
from auditapp.evaluation.runner import CriticKind, write_critic_schema
from auditapp.llm.queries import register_scorecard_part
from transcripts.exchange.rows import register_export, register_machines
from transcripts.studies.access import StudyRequest
from transcripts.studies.queries import Card, register_overview
from transcripts.studies.roles import Permission


def place_differences(request: StudyRequest) -> Mapping[str, object] | None:
    """A place that the browser fills: comparing a machine with people takes longer than all the rest of the overview."""
    if Permission.SEE_ALL_CODINGS not in request.role.permissions:
        return None
    return {} if Annotator.objects.filter(study=request.study).exists() else None


register_kind(
    CriticKind(),
    Parts(
        find_critic_visibility,
        list_read_interviews,
        write_critic_schema,
        unreadable=[TurnAnswer.Outcome.INVALID],
        find_alarms=alarm_by_model(list_critic_alarms),
    ),
)
for export in EXPORTS:
    register_export(export)
# What became of suggestions is colleagues' decisions.
register_scorecard_part("suggestions", read_parts, Permission.SEE_ALL_CODINGS)
register_overview(Card(45, "evaluation/_differences_card.html", place_differences))
register_machines(uses=read_machine_uses, template="evaluation/machine_notes.html", notes=read_machine_notes)
