"""Having interviews read by an annotator that needs no key: keyword rules, or what was learnt from blind codings."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from auditapp.batches.actions import digest_asked
from auditapp.batches.pure.launch_options import DEFAULT_OPTIONS
from auditapp.preannotation.annotators.actions.annotators import ensure_annotator
from auditapp.preannotation.annotators.pure.learning import FEWEST_POSITIVES, LearningNotInstalled, Outcome
from auditapp.preannotation.annotators.queries.offline import ACTIVE, list_interviews_to_read, list_rules
from auditapp.preannotation.annotators.queries.training_set import Teaching, gather, list_coded_interviews
from auditapp.preannotation.annotators.runner.offline import list_outcomes, name_reader, run_offline
from auditapp.preannotation.errors import PreannotationError
from auditapp.preannotation.models import Annotator, OfflineRun
from auditapp.preannotation.suggestions.actions.withholding import ensure_arms
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import CodebookVersion
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project

__all__ = ["MOST_POSITIVES", "Preview", "cancel_run", "launch_offline", "preview_offline", "run_offline"]

SEED = 0
MOST_POSITIVES = 10_000
OF_ANOTHER_STUDY = "This form has launched a run of another study already. Open it again and send it once more."
ASKS_OTHERWISE = (
    "This form has launched run {run} already, with other settings, so nothing was launched now. To launch this as well, "
    "send it once more."
)


class Preview(NamedTuple):
    """What a launch would go by: the rules by code, or what there is to learn of each code."""

    version: CodebookVersion
    rules: dict[str, list[str]]
    teaching: Teaching | None

    @property
    def outcomes(self) -> list[Outcome]:
        return self.teaching.outcomes if self.teaching else []

    @property
    def taught(self) -> list[Outcome]:
        """Codes that have enough examples."""
        return [each for each in self.outcomes if not each.reason]

    @property
    def untaught(self) -> list[Outcome]:
        return [each for each in self.outcomes if each.reason]

    @property
    def learnable(self) -> int:
        return len(self.taught)


def preview_offline(*, project: Project, kind: str, minimum: int = FEWEST_POSITIVES) -> Preview:
    """What a launch now would go by; writes nothing. Raises ``PreannotationError``."""
    version = current_version(project)
    if version is None:
        raise PreannotationError("This study has no published codebook yet. Publish one first.")
    if not 2 <= minimum <= MOST_POSITIVES:
        raise PreannotationError(f"The fewest examples to learn from are between 2 and {MOST_POSITIVES:,}.")
    if kind == Annotator.Kind.RULES:
        return Preview(version, list_rules(version), None)
    if kind != Annotator.Kind.LEARNT:
        raise PreannotationError("An annotator that needs no key goes by rules, or by what it learnt.")
    return Preview(version, {}, gather(project, version, minimum=minimum))


def launch_offline(
    *,
    project: Project,
    kind: str,
    by: trail.Actor,
    interviews: Sequence[Interview] | None = None,
    client_id: uuid.UUID | None = None,
    minimum: int = FEWEST_POSITIVES,
) -> OfflineRun:
    """Have what the models say in these interviews (all unless given) read; a worker begins at once.

    What the annotator has read already is not read again. ``minimum``: the fewest positive examples a code is learnt
    from. The same ``client_id`` gives the run that it made, unless it asks for something else. Raises
    ``PreannotationError``.
    """
    ids = None if interviews is None else [each.pk for each in interviews]
    form = _Form(client_id, _digest(kind, minimum, ids))
    standing = _find_run(project, form)
    if standing is not None:
        return standing
    try:
        name_reader(kind)
    except LearningNotInstalled as error:
        raise PreannotationError(str(error)) from error
    recipe = _write_recipe(preview_offline(project=project, kind=kind, minimum=minimum), minimum)
    is_learnt = kind == Annotator.Kind.LEARNT
    drawn = sorted({*ids, *list_coded_interviews(project)}) if ids is not None and is_learnt else ids
    if ensure_arms(project=project, interviews=drawn, by=by) and is_learnt:
        # Some of what there was to learn from is withheld now.
        recipe = _write_recipe(preview_offline(project=project, kind=kind, minimum=minimum), minimum)
    return _store_run(project=project, kind=kind, recipe=recipe, ids=ids, form=form, by=by)


@transaction.atomic
def cancel_run(*, run: OfflineRun, by: trail.Actor) -> None:
    """Stop a run after the interview it is at; what was read stands. Raises ``PreannotationError``."""
    ended = OfflineRun.objects.filter(pk=run.pk, state__in=ACTIVE).update(
        state=OfflineRun.State.CANCELLED, ended_at=timezone.now(), claimed_by="", claimed_until=None
    )
    if not ended:
        raise PreannotationError("This run has ended already.")
    stream = trail.project_stream(run.annotator.project_id)
    trail.record("preannotation.offline_run.cancelled", target=run, by=by, stream=stream)


class _Form(NamedTuple):
    """The form that is sent, which launches once, and a hash of what it asks for."""

    client_id: uuid.UUID | None
    asked: str


def _digest(kind: str, minimum: int, ids: list[int] | None) -> str:
    """What a form asks for; rules do not ask for a number of examples."""
    fewest = minimum if kind == Annotator.Kind.LEARNT else None
    return digest_asked(str(kind), DEFAULT_OPTIONS, minimum=fewest, interviews=None if ids is None else sorted(ids))


def _find_run(project: Project, form: _Form) -> OfflineRun | None:
    if form.client_id is None:
        return None
    standing = OfflineRun.objects.select_related("annotator").filter(client_id=form.client_id).first()
    if standing is None:
        return None
    if standing.annotator.project_id != project.pk:
        raise PreannotationError(OF_ANOTHER_STUDY)
    if standing.asked not in {"", form.asked}:
        raise PreannotationError(ASKS_OTHERWISE.format(run=standing.pk))
    return standing


def _write_recipe(preview: Preview, minimum: int) -> dict[str, Any]:
    if preview.teaching is None:
        if not preview.rules:
            raise PreannotationError(
                "No code that is put on sentences has a keyword rule. Write rules in a draft of the codebook and publish it."
            )
        return {"reader": name_reader(Annotator.Kind.RULES), "rules": preview.rules}
    teaching = preview.teaching
    if not preview.learnable:
        raise PreannotationError(_tell_too_little(preview, minimum))
    return {
        "reader": name_reader(Annotator.Kind.LEARNT),
        "seed": SEED,
        "minimum": minimum,
        "set": {"hash": teaching.hash, "families": teaching.families},
        "taught": {"sentences": teaching.sentences, "interviews": teaching.interviews, "spared": teaching.spared},
        "codes": list_outcomes(teaching.outcomes),
    }


def _tell_too_little(preview: Preview, minimum: int) -> str:
    most = max(preview.outcomes, key=lambda each: each.positives, default=None)
    if most is None or not most.positives:
        return (
            "There is nothing to learn from yet: of no sentence most of those who decided blind put a code. "
            "Code some interviews first."
        )
    return (
        f"No code has enough blind examples yet: {minimum} sentences in at least 3 interviews. "
        f"{most.code} has the most, {most.positives} in {most.interviews}; {most.reason}"
    )


@transaction.atomic
def _store_run(
    *,
    project: Project,
    kind: str,
    recipe: dict[str, Any],
    ids: list[int] | None,
    form: _Form,
    by: trail.Actor,
) -> OfflineRun:
    # Two who send the same form take turns here, and the second finds the run of the first.
    Project.objects.select_for_update().get(pk=project.pk)
    standing = _find_run(project, form)
    if standing is not None:
        return standing
    annotator = ensure_annotator(project=project, kind=kind, recipe=recipe, by=by)
    left = list_interviews_to_read(annotator, ids)
    if not left:
        raise PreannotationError(
            f"There is nothing to read: {annotator} has read every sentence the models say there, or there are none."
        )
    run = OfflineRun.objects.create(
        annotator=annotator,
        client_id=form.client_id,
        asked=form.asked if form.client_id else "",
        created_at=timezone.now(),
        launched_by=by if isinstance(by, User) else None,
        launched_by_name=by.get_username(),
    )
    run.interviews.set(left)
    details: dict[str, object] = {"annotator": annotator.pk, "kind": str(kind), "interviews": len(left)}
    stream = trail.project_stream(project.pk)
    trail.record("preannotation.offline_run.launched", target=run, by=by, stream=stream, details=details)
    transaction.on_commit(partial(_notify_workers, run.pk))
    return run


def _notify_workers(run_id: int) -> None:
    from auditapp.preannotation.annotators import tasks  # loads Celery

    tasks.ring_run(run_id)
