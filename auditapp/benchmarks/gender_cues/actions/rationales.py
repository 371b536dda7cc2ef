"""Rationales of a probe become threads of another study, to be coded there without the category and prediction beside them."""

from __future__ import annotations

import hashlib
import json
import random

from django.db import transaction

from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.models import RationaleTurn, Trial
from auditapp.benchmarks.gender_cues.pure.limits import PRIMED, SCORED
from auditapp.benchmarks.gender_cues.pure.parsing import CUES, OK
from auditapp.benchmarks.gender_cues.queries.purposes import require_purpose
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.actions import import_files
from transcripts.corpus.masked import find_sealed
from transcripts.corpus.models import Turn
from transcripts.corpus.pure.previews import Choices
from transcripts.refusals import Refused
from transcripts.studies.access import find_role
from transcripts.studies.models import Project
from transcripts.studies.roles import Permission

PER_THREAD = 25
MAX_SEED = 2**32 - 1
BASIS = "Words of a model on a text of a probe. They may quote the text; its source decides on any other use."


@transaction.atomic
def store_rationales(*, batch: Batch, into: Project, by: trail.Actor, seed: int) -> dict[str, int]:
    """Store the rationales of Emotion and Textual Style of a batch's primed answers as masked threads of ``into``, a study of their
    own, ``PER_THREAD`` to a thread, in an order drawn by ``seed``.

    Category, prediction, model and review are not stored with a rationale, whose own words may say what was predicted. What was
    stored before is left out, so a batch that has grown can be stored again. Returns how many "threads" and "rationales" were
    stored, and how many answers of the subset are "without_rationale". Reads batch.project. Raises ``Refused``.
    """
    require_purpose(batch.project, locks=True)
    if into.pk == batch.project_id:
        raise Refused("Rationales are coded in a study of their own, so that nobody who codes them sees the probe.")
    if isinstance(by, User) and not _may_import(into, by):
        raise Refused(
            f"You may not import into the study {into.name}. A lead of that study can store the rationales there."
        )
    if not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed is a whole number from 0 to {MAX_SEED:,}.")
    Batch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    elsewhere = (
        RationaleTurn.objects.filter(trial__cell__batch=batch)
        .exclude(turn__interview__study=into)
        .values_list("turn__interview__study__slug", flat=True)
        .first()
    )
    if elsewhere:
        raise Refused(f"Rationales of batch {batch.pk} are in the study {elsewhere} already. Store the rest there.")
    trials = Trial.objects.filter(
        cell__batch=batch,
        cell__arm__task=PRIMED,
        status=OK,
        review__category__in=SCORED,
        rationale_turn__isnull=True,
    ).order_by("cell_id")
    cited = [trial for trial in trials if set(trial.codes) & set(CUES)]
    written = [(trial.pk, _write_rationale(trial)) for trial in cited]
    rationales = [(key, text) for key, text in written if text]
    if not rationales:
        raise Refused(
            f"Batch {batch.pk} has no rationale of {' or '.join(CUES)} that is not stored yet. Rationales are those of valid "
            "primed answers that applied one of the two."
        )
    # The order has to be one that can be made again, not one that nobody can guess.
    random.Random(seed).shuffle(rationales)  # noqa: S311
    threads = [rationales[place : place + PER_THREAD] for place in range(0, len(rationales), PER_THREAD)]
    # Ids of a file are sealed where its threads are masked, and have to differ from those of every other file.
    name = hashlib.sha256(f"{batch.pk} {rationales[0][0]} {len(rationales)} {seed}".encode()).hexdigest()[:16]
    lines = [
        json.dumps(
            {
                "id": f"{name}-{number}",
                "turns": [{"role": "model", "text": text} for _, text in thread],
                "consent": {"coding": True, "basis": BASIS},
            },
            ensure_ascii=False,
        )
        for number, thread in enumerate(threads, 1)
    ]
    import_files(
        project=into,
        files=[(f"rationales-{name}.jsonl", "\n".join(lines).encode())],
        by=by,
        format="interview_jsonl",
        choices=Choices("interview_jsonl", mask=True),
    )
    _join(into, name, threads)
    counts = {
        "threads": len(threads),
        "rationales": len(rationales),
        "without_rationale": len(cited) - len(rationales),
    }
    # The other study's own event is that of the import, which names neither the batch nor anything of the probe.
    trail.record(
        "probe.rationales.stored",
        target=batch,
        by=by,
        stream=trail.project_stream(batch.project_id),
        details={**counts, "seed": seed, "into": into.slug},
    )
    return counts


def _may_import(into: Project, by: User) -> bool:
    role = find_role(by, into)
    return role is not None and Permission.IMPORT in role.permissions


def _write_rationale(trial: Trial) -> str:
    said = [f"{cue}: {trial.rationales[cue]}" for cue in CUES if cue in trial.codes and trial.rationales.get(cue)]
    return "\n".join(said)


def _join(into: Project, name: str, threads: list[list[tuple[int, str]]]) -> None:
    """Note which turn holds which rationale."""
    rows = []
    for number, thread in enumerate(threads, 1):
        turns = Turn.objects.filter(interview__in=find_sealed(into, [f"{name}-{number}"])).order_by("position")
        keys = turns.values_list("pk", flat=True)
        rows += [RationaleTurn(trial_id=trial, turn_id=turn) for (trial, _), turn in zip(thread, keys, strict=True)]
    RationaleTurn.objects.bulk_create(rows)
