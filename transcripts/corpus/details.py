"""Correcting what is known of an interview. Texts never change; every correction leaves the old value in the history."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.utils import timezone
from django.utils.text import capfirst

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.models import Interview, InterviewChange, Standing, Turn
from transcripts.corpus.standing import store_standings
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.ui.replacing import check_seen

# The fields that can be corrected, by the names that people see.
FIELDS = {
    field.name: capfirst(field.verbose_name)
    for field in Interview._meta.fields
    if field.name in {"title", "model_label", "period", "tier", "inclusion", "inclusion_reason"}
}
# Those that are sealed in a masked interview.
SEALED = ("title", "model_label", "period", "tier")
PROMPT_KIND = "prompt_kind"


def name_kind(turn_id: int) -> str:
    """The field with the kind of a prompt."""
    return f"kind-{turn_id}"


def read_details(interview: Interview) -> dict[str, object]:
    """Everything that ``edit_details`` replaces, by the fields of its form."""
    kinds = interview.turns.filter(role=Turn.Role.INTERVIEWER).order_by("position").values_list("pk", "prompt_kind")
    return {name: getattr(interview, name) for name in FIELDS} | {name_kind(pk): kind for pk, kind in kinds}


@transaction.atomic
def edit_details(
    *,
    project: Project,
    interview: Interview,
    values: Mapping[str, str],
    kinds: Mapping[int, str],
    reason: str,
    by: User,
    seen: Mapping[str, object] | None = None,
) -> list[InterviewChange]:
    """Correct fields of an interview (``FIELDS``) and the kinds of its interviewer's prompts, by turn.

    ``seen`` is what ``read_details`` gave when ``by`` began; raises ``ChangedMeanwhile`` where it is something else by now.
    What ``inclusion`` says makes a counted interview excluded, and an excluded one counted. Returns what changed. Raises
    ``Refused``.
    """
    held = Interview.objects.kept().select_for_update(no_key=True).filter(pk=interview.pk, study=project).first()
    if held is None:
        raise Refused("This interview is not part of this study; nothing was changed.")
    check_seen(seen, read_details(held))
    new = {name: values[name].strip() for name in FIELDS if name in values}
    if held.is_masked and any(new.get(name, getattr(held, name)) != getattr(held, name) for name in SEALED):
        raise Refused("This interview is masked: its title, model, date and tier can be corrected once it is unmasked.")
    if not new.get("title", held.title):
        raise Refused("An interview needs a title.")
    for name, value in new.items():
        limit = getattr(Interview._meta.get_field(name), "max_length", None)
        if limit is not None and len(value) > limit:
            raise Refused(f"{FIELDS[name]} has {len(value):,} characters; the limit is {limit:,}.")
    now = timezone.now()
    changes = [
        InterviewChange(field=name, old=getattr(held, name), new=value)
        for name, value in new.items()
        if getattr(held, name) != value
    ]
    asked = held.turns.filter(pk__in=list(kinds), role=Turn.Role.INTERVIEWER).order_by("position")
    changes += [
        InterviewChange(turn=turn, field=PROMPT_KIND, old=turn.prompt_kind, new=kinds[turn.pk])
        for turn in asked.only("pk", "prompt_kind", "interview")
        if turn.prompt_kind != kinds[turn.pk]
    ]
    if not changes:
        return []
    for change in changes:
        change.interview, change.reason, change.changed_at, change.changed_by = held, reason.strip(), now, by
        if change.turn is not None:
            Turn.objects.filter(pk=change.turn.pk).update(prompt_kind=change.new)
        else:
            setattr(held, change.field, change.new)
    held.save(update_fields=list(FIELDS))
    InterviewChange.objects.bulk_create(changes)
    if held.standing in (Standing.COUNTED, Standing.EXCLUDED):
        store_standings([held], to=Standing.COUNTED, reason=held.inclusion_reason, by=by)
    trail.record(
        "corpus.interview.edited",
        target=held,
        by=by,
        details={
            "fields": [change.field for change in changes if change.turn is None],
            "turns": [change.turn.pk for change in changes if change.turn is not None],
            "standing": held.standing,
        },
    )
    return changes
