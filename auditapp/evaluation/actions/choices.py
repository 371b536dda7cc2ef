"""Choose an annotator for a code."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.annotators.models import Annotator, CodeChoice
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code, CodeFamily
from transcripts.refusals import Refused
from transcripts.studies.models import Project
from transcripts.ui.typed_text import check_reason


@transaction.atomic
def choose_annotator(
    *,
    project: Project,
    code_identifier: str,
    annotator: Annotator | None,
    reason: str,
    by: trail.Actor,
    with_critic: bool = False,
) -> CodeChoice:
    """Choose ``annotator`` for a code, or ``None`` to leave it to people. An earlier choice is superseded and stays on record.

    Raises ``Refused``.
    """
    reason = check_reason(reason, needed="Give a reason: people who use the rates will read it.", one_line=True)
    with_critic = with_critic and annotator is not None
    _check(project, code_identifier, annotator)
    choices = CodeChoice.objects.select_for_update().filter(project=project, code_identifier=code_identifier)
    current = choices.filter(superseded_at__isnull=True).first()
    if current is not None:
        if (current.annotator, current.with_critic, current.reason) == (annotator, with_critic, reason):
            return current
        current.superseded_at = timezone.now()
        current.save(update_fields=["superseded_at"])
    choice = CodeChoice(
        project=project,
        code_identifier=code_identifier,
        annotator=annotator,
        with_critic=with_critic,
        reason=reason,
        chosen_at=timezone.now(),
        chosen_by_name=by.get_username(),
    )
    try:
        with transaction.atomic():
            choice.save()
    except IntegrityError as error:
        raise Refused("Somebody else chose for this code meanwhile. Look at it, then choose again.") from error
    _record(choice, by, current)
    return choice


def _record(choice: CodeChoice, by: trail.Actor, current: CodeChoice | None) -> None:
    trail.record(
        "annotators.annotator.chosen",
        target=choice,
        by=by,
        details={
            "code": choice.code_identifier,
            "annotator": choice.annotator_id,
            "critic": int(choice.with_critic),
            "before": current.pk if current else None,
        },
    )


def _check(project: Project, code_identifier: str, annotator: Annotator | None) -> None:
    codes = Code.objects.filter(identifier=code_identifier, family__unit=CodeFamily.Unit.SENTENCE)
    if annotator is None:
        known = codes.filter(version__project=project, version__published_at__isnull=False).exists()
        if not known:
            raise Refused("This study's codebook has no such code that is coded by sentence.")
        return
    if annotator.project_id != project.pk:
        raise Refused("This annotator is not part of this study.")
    if not codes.filter(version=annotator.version_id).exists():
        raise Refused(f"{annotator} does not annotate this code: its codebook {annotator.version} lacks it.")
    if not has_read_for(annotator, code_identifier):
        raise Refused(
            f"{annotator} has annotated no sentence for this code, so it cannot be chosen. "
            "Let it annotate first, or choose another annotator or people only."
        )


def list_choices(project: Project) -> list[CodeChoice]:
    """The annotator now chosen for each code."""
    rows = CodeChoice.objects.filter(project=project, superseded_at__isnull=True)
    return list(rows.select_related("annotator__version", "annotator__project").order_by("code_identifier"))


def has_read_for(annotator: Annotator, code_identifier: str) -> bool:
    """Whether it read any sentence for a code; its silence about a code it was never asked about is no word."""
    from auditapp.annotators.queries.machine_labels import read_machine_labels

    machine = read_machine_labels(annotator)
    return code_identifier in machine.codes and bool(machine.was_read[machine.codes.index(code_identifier)].any())
