"""What coders are shown. Some turns never show suggestions; only on these is it certain that suggestions influenced nobody
(method brief 2.3). In draft interviews, suggestions can be shown before a coder's own decision, and labels made after such a
suggestion are left out of every measure.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Collection, Sequence
from itertools import groupby

from django.db import IntegrityError, transaction
from django.utils import timezone

from auditapp.annotators.models import DraftInterview, TurnArm, WithholdingPlan
from auditapp.annotators.queries.withholding import find_plan, list_undrawn
from transcripts.audit_trail import trail
from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_SEED, check_reason

USUAL_SHARE = 20


@transaction.atomic
def set_withholding(
    *, study: Study, share_percent: int, reason: str, by: trail.Actor, seed: int | None = None
) -> WithholdingPlan:
    """Use this share for drawing turns from now on. Turns that were already drawn are not changed. Raises ``Refused``."""
    if not 0 <= share_percent <= 100:
        raise Refused(f"The share must be a whole percentage from 0 to 100, not {share_percent}.")
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise Refused(f"The seed must be a whole number from 0 to {MAX_SEED:,}, not {seed:,}.")
    needed = "Give a reason for this share. It is shown with every figure that depends on it."
    reason = check_reason(reason, needed=needed, one_line=True)
    Study.objects.select_for_update().get(pk=study.pk)
    plan = _make_plan(study, share_percent, reason, by, seed)
    trail.record(
        "annotators.withholding.planned",
        target=plan,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"plan": plan.number, "share_percent": plan.share_percent, "seed": plan.seed},
    )
    return plan


def ensure_arms(*, study: Study, interviews: Collection[int] | None, by: trail.Actor) -> int:
    """Draw the model's turns in ``interviews`` (numbers; ``None``: all interviews of the study) that have not been drawn yet.

    Returns how many. Each turn is drawn only once. Called before anything is annotated or shown; needs one query if all turns are
    drawn. If there is no plan, the first draw makes one with a share of 20 %.
    """
    if not list_undrawn(study, interviews).exists():
        return 0
    return _draw(study, interviews, by)


@transaction.atomic
def _draw(study: Study, interviews: Collection[int] | None, by: trail.Actor) -> int:
    Study.objects.select_for_update().get(pk=study.pk)
    undrawn = list(list_undrawn(study, interviews).values_list("interview_id", "pk", "position"))
    if not undrawn:
        return 0
    plan = find_plan(study) or _make_plan(study, USUAL_SHARE, "", by, None)
    arms = []
    for interview, rows in groupby(undrawn, key=lambda row: row[0]):
        turns = list(rows)
        # Named by the first turn, too: turns that come later are not drawn at the same places again.
        source = random.Random(f"{plan.seed} {interview} {turns[0][2]}")  # noqa: S311 - a sample, not a secret
        held = choose_withheld([pk for _, pk, _ in turns], plan.share_percent, source)
        arms += [
            TurnArm(
                turn_id=pk,
                plan=plan,
                arm=TurnArm.Arm.WITHHELD if pk in held else TurnArm.Arm.SHOWN,
                probability=plan.share_percent / 100,
            )
            for _, pk, _ in turns
        ]
    TurnArm.objects.bulk_create(arms, batch_size=1_000)
    trail.record(
        "annotators.arms.drawn",
        target=plan,
        by=by,
        stream=trail.study_stream(study.pk),
        details={
            "plan": plan.number,
            "share_percent": plan.share_percent,
            "seed": plan.seed,
            "interviews": len({interview for interview, _, _ in undrawn}),
            "turns": len(arms),
            "withheld": sum(arm.arm == TurnArm.Arm.WITHHELD for arm in arms),
        },
    )
    return len(arms)


def choose_withheld(turns: Sequence[int], share_percent: int, source: random.Random) -> set[int]:
    """The turns of one interview that are withheld, each with a probability of exactly the share.

    Their number is the share of all turns, rounded down, plus one with a probability equal to the remainder.
    """
    whole, rest = divmod(share_percent * len(turns), 100)
    return set(source.sample(turns, whole + (source.randrange(100) < rest)))


def _make_plan(study: Study, share_percent: int, reason: str, by: trail.Actor, seed: int | None) -> WithholdingPlan:
    former = find_plan(study)
    return WithholdingPlan.objects.create(
        study=study,
        number=former.number + 1 if former else 1,
        share_percent=share_percent,
        seed=secrets.randbelow(MAX_SEED) if seed is None else seed,
        reason=reason,
        made_at=timezone.now(),
        made_by_name=by.get_username(),
    )


@transaction.atomic
def open_draft_interview(*, study: Study, interview: Interview, reason: str, by: trail.Actor) -> DraftInterview:
    """Allow suggestions to be opened before one's own decision in this interview. Raises ``Refused``."""
    if interview.study_id != study.pk:
        raise Refused("This interview is not part of this study.")
    needed = (
        "Give a reason for making this interview a draft. Codings made after seeing its suggestions are left out of every "
        "measure."
    )
    reason = check_reason(reason, needed=needed, one_line=True)
    try:
        with transaction.atomic():
            draft = DraftInterview.objects.create(
                interview=interview, reason=reason, opened_at=timezone.now(), opened_by_name=by.get_username()
            )
    except IntegrityError as error:
        raise Refused(f"Interview {interview.pk} is already a draft interview.") from error
    _record("opened", draft, study, by)
    return draft


@transaction.atomic
def close_draft_interview(*, study: Study, draft: DraftInterview, by: trail.Actor) -> None:
    """Require one's own decision first again. What was coded in the meantime stays assisted. Draft mode that is already closed
    stays as it is."""
    still_open = DraftInterview.objects.filter(pk=draft.pk, closed_at__isnull=True)
    if still_open.update(closed_at=timezone.now()):
        _record("closed", draft, study, by)


def _record(what: str, draft: DraftInterview, study: Study, by: trail.Actor) -> None:
    trail.record(
        f"annotators.draft.{what}",
        target=draft,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"interview": draft.interview_id},
    )
