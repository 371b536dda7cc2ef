"""Having interviews read by an annotator that needs no key: keyword rules, or what was learnt from blind codings."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from auditapp.annotators.actions.annotators import ensure_annotator
from auditapp.annotators.actions.withholding import ensure_arms
from auditapp.annotators.models import Annotator, OfflineRun
from auditapp.annotators.pure.learning import MIN_POSITIVES
from auditapp.annotators.queries.offline import (
    ACTIVE,
    list_coded_interviews,
    list_interviews_to_read,
    list_rules,
    read_training_set,
)
from auditapp.annotators.runner.offline import name_reader
from auditapp.batches.launching import DEFAULT_OPTIONS, digest_asked
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import CodebookVersion
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.studies.models import Study

SEED = 0
MAX_POSITIVES = 10_000
OF_ANOTHER_STUDY = "This form has already launched a run in another study. Open it again and send it once more."
ASKS_OTHERWISE = (
    "This form has already launched run {run}, with other settings, so nothing was launched now. To launch this as well, "
    "send it once more."
)


def preview_rules(study: Study) -> dict[str, list[str]]:
    """The rules that a launch now would go by, by code; writes nothing. Raises ``Refused``."""
    return list_rules(_require_version(study))


def preview_training_set(study: Study, *, minimum: int = MIN_POSITIVES) -> dict[str, Any]:
    """What a launch now would learn from; writes nothing. Raises ``Refused``."""
    version = _require_version(study)
    if not 2 <= minimum <= MAX_POSITIVES:
        raise Refused(f"The minimum number of examples must be between 2 and {MAX_POSITIVES:,}.")
    return read_training_set(study, version, minimum=minimum)


def _require_version(study: Study) -> CodebookVersion:
    version = current_version(study)
    if version is None:
        raise Refused("This study has no published codebook yet. Publish one first.")
    return version


def launch_offline(
    *,
    study: Study,
    kind: str,
    by: trail.Actor,
    interviews: Sequence[Interview] | None = None,
    idempotency_key: uuid.UUID | None = None,
    minimum: int = MIN_POSITIVES,
) -> OfflineRun:
    """Have what the models say in these interviews (all unless given) read; a worker begins at once.

    What the annotator has read already is not read again. ``minimum``: the fewest positive examples a code is learnt
    from. The same ``idempotency_key`` gives the run that it made, unless it asks for something else. Raises
    ``Refused``.
    """
    ids = None if interviews is None else [each.pk for each in interviews]
    asked = _digest(kind, minimum, ids)
    current = _find_run(study, idempotency_key, asked)
    if current is not None:
        return current
    name_reader(kind)
    recipe = _write_recipe(study, kind, minimum)
    is_learnt = kind == Annotator.Kind.LEARNT
    drawn = sorted({*ids, *list_coded_interviews(study)}) if ids is not None and is_learnt else ids
    if ensure_arms(study=study, interviews=drawn, by=by) and is_learnt:
        # Some of what there was to learn from is withheld now.
        recipe = _write_recipe(study, kind, minimum)
    return _store_run(
        study=study, kind=kind, recipe=recipe, ids=ids, idempotency_key=idempotency_key, asked=asked, by=by
    )


@transaction.atomic
def cancel_run(*, run: OfflineRun, by: trail.Actor) -> None:
    """Stop a run after its current interview; what was annotated is kept. Raises ``Refused``."""
    ended = OfflineRun.objects.filter(pk=run.pk, state__in=ACTIVE).update(
        state=OfflineRun.State.CANCELLED, ended_at=timezone.now(), claimed_by="", claimed_until=None
    )
    if not ended:
        raise Refused("This run has already ended.")
    stream = trail.study_stream(run.annotator.study_id)
    trail.record("annotators.offline_run.cancelled", target=run, by=by, stream=stream)


def _digest(kind: str, minimum: int, ids: list[int] | None) -> str:
    """What a form asks for; rules do not ask for a number of examples."""
    fewest = minimum if kind == Annotator.Kind.LEARNT else None
    return digest_asked(str(kind), DEFAULT_OPTIONS, minimum=fewest, interviews=None if ids is None else sorted(ids))


def _find_run(study: Study, idempotency_key: uuid.UUID | None, asked: str) -> OfflineRun | None:
    """The run that the form with this ``idempotency_key`` has launched before."""
    if idempotency_key is None:
        return None
    current = OfflineRun.objects.select_related("annotator").filter(idempotency_key=idempotency_key).first()
    if current is None:
        return None
    if current.annotator.study_id != study.pk:
        raise Refused(OF_ANOTHER_STUDY)
    if current.asked not in {"", asked}:
        raise Refused(ASKS_OTHERWISE.format(run=current.pk))
    return current


def _write_recipe(study: Study, kind: str, minimum: int) -> dict[str, Any]:
    if kind == Annotator.Kind.RULES:
        rules = preview_rules(study)
        if not rules:
            raise Refused(
                "No code for sentences has a keyword rule. Write rules in a draft of the codebook and publish it."
            )
        return {"reader": name_reader(Annotator.Kind.RULES), "rules": rules}
    if kind != Annotator.Kind.LEARNT:
        raise Refused("An annotator without a model is either rules or learnt.")
    found = preview_training_set(study, minimum=minimum)
    if all(each["reason"] for each in found["codes"].values()):
        raise Refused(_explain_too_few(found["codes"], minimum))
    return {"reader": name_reader(Annotator.Kind.LEARNT), "seed": SEED, "minimum": minimum, **found}


def _explain_too_few(outcomes: Mapping[str, Mapping[str, Any]], minimum: int) -> str:
    code = max(outcomes, key=lambda code: outcomes[code]["positives"], default="")
    if not code or not outcomes[code]["positives"]:
        return (
            "There is nothing to learn from yet, because no code was applied to a sentence by most of its blind coders. Code some "
            "interviews first."
        )
    return (
        f"No code has enough blind examples yet: {minimum} sentences in at least 3 interviews. "
        f"{code} has the most, {outcomes[code]['positives']} in {outcomes[code]['interviews']}; {outcomes[code]['reason']}"
    )


@transaction.atomic
def _store_run(
    *,
    study: Study,
    kind: str,
    recipe: dict[str, Any],
    ids: list[int] | None,
    idempotency_key: uuid.UUID | None,
    asked: str,
    by: trail.Actor,
) -> OfflineRun:
    # Two who send the same form take turns here, and the second finds the run of the first.
    Study.objects.select_for_update().get(pk=study.pk)
    current = _find_run(study, idempotency_key, asked)
    if current is not None:
        return current
    annotator = ensure_annotator(study=study, kind=kind, recipe=recipe, by=by)
    left = list_interviews_to_read(annotator, ids)
    if not left:
        raise Refused(
            f"There is nothing to annotate: {annotator} has already annotated every sentence of the models, or there are none."
        )
    run = OfflineRun.objects.create(
        annotator=annotator,
        idempotency_key=idempotency_key,
        asked=asked if idempotency_key else "",
        created_at=timezone.now(),
        launched_by=by if isinstance(by, User) else None,
        launched_by_name=by.get_username(),
    )
    run.interviews.set(left)
    details: dict[str, object] = {"annotator": annotator.pk, "kind": str(kind), "interviews": len(left)}
    stream = trail.study_stream(study.pk)
    trail.record("annotators.offline_run.launched", target=run, by=by, stream=stream, details=details)
    transaction.on_commit(partial(_notify_workers, run.pk))
    return run


def _notify_workers(run_id: int) -> None:
    from auditapp.annotators import tasks  # loads Celery

    tasks.ring_run(run_id)
