"""Auditing positives: a seeded sample of an annotator's suggestions of each code, and people's verdict on each of them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Collection, Sequence

from django.db import transaction
from django.utils import timezone

from auditapp.annotators.actions.withholding import ensure_arms
from auditapp.annotators.models import Annotator
from auditapp.annotators.queries.withholding import list_withheld_answers
from auditapp.audits.actions import check_seed, store_mark, store_sample
from auditapp.evaluation.models import MAX_PER_CODE, USUAL_PER_CODE, AuditedSuggestion, PositiveAudit, PositiveMark
from auditapp.evaluation.queries.positives import Positive, list_positives
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.viewers import Viewer
from transcripts.refusals import Refused
from transcripts.studies.access import find_role


@transaction.atomic
def draw_positive_audit(
    *,
    annotator: Annotator,
    seed: int,
    by: trail.Actor,
    per_code: int = USUAL_PER_CODE,
    with_critic: bool = False,
    codes: Collection[str] | None = None,
) -> PositiveAudit:
    """Draw ``per_code`` of the current suggestions of each code, all where there are no more; never of withheld turns.

    ``with_critic``: only what no critic rejected. The same choice and seed of the same suggestions give the same sample,
    as a new audit. Reads annotator.study. Raises ``Refused``.
    """
    if not 1 <= per_code <= MAX_PER_CODE:
        raise Refused(f"An audit needs between 1 and {MAX_PER_CODE:,} suggestions of each code.")
    check_seed(seed)
    frame = _find_frame(annotator, codes=codes, with_critic=with_critic, by=by)
    drawn = draw_sample(frame, per_code=per_code, seed=seed)
    audit = PositiveAudit(
        annotator=annotator,
        with_critic=with_critic,
        per_code=per_code,
        seed=seed,
        made_at=timezone.now(),
        made_by_name=by.get_username(),
    )
    details = {
        "annotator": annotator.pk,
        "per_code": per_code,
        "seed": seed,
        "with_critic": with_critic,
        "items": len(drawn),
        "frame": len(frame),
    }
    items = [AuditedSuggestion(suggestion_id=each.suggestion, population=population) for each, population in drawn]
    store_sample(audit=audit, items=items, by=by, details=details)
    return audit


def _find_frame(
    annotator: Annotator, *, codes: Collection[str] | None, with_critic: bool, by: trail.Actor
) -> list[Positive]:
    """What an audit draws from: current suggestions, on turns that show suggestions."""
    positives = list_positives(annotator, codes=codes, with_critic=with_critic)
    ensure_arms(study=annotator.study, interviews={each.interview for each in positives}, by=by)
    withheld = list_withheld_answers(annotator.study)
    frame = [each for each in positives if each.turn not in withheld]
    if not frame:
        raise Refused(
            f"There is nothing to draw from, because {annotator} has no current suggestion on a turn that shows suggestions."
        )
    return frame


def draw_sample(frame: Sequence[Positive], *, per_code: int, seed: int) -> list[tuple[Positive, int]]:
    """A simple random sample of each code, shuffled over all codes; with how many there were of the code.

    Each code has a source of its own, so that one more code moves no other's sample.
    """
    of_code: dict[str, list[Positive]] = {}
    for each in sorted(frame):
        of_code.setdefault(each.code, []).append(each)
    drawn = []
    for code, own in of_code.items():
        source = random.Random(f"{seed} {code}")  # noqa: S311 - a sample that can be drawn again, not a secret
        drawn += [(each, len(own)) for each in source.sample(own, min(per_code, len(own)))]
    drawn.sort()
    random.Random(seed).shuffle(drawn)  # noqa: S311 - an order, not a secret
    return drawn


@transaction.atomic
def mark_positive(
    *, item: AuditedSuggestion, verdict: str, by: User, number: int, idempotency_key: uuid.UUID, note: str = ""
) -> PositiveMark:
    """Store whether the code applies, as ``by`` reads the sentence. See ``store_mark``.

    People who code themselves must have unblinded the interview before, so that what they code there afterwards is assisted.
    Reads item.audit.annotator.study and item.suggestion.sentence.turn. Raises ``Refused``.
    """
    if verdict not in PositiveMark.Verdict.values:
        raise Refused("Choose whether the code applies, does not apply, or cannot be decided.")
    study = item.audit.annotator.study
    role = find_role(by, study)
    if role is None or Viewer(study, by, role).blinded([item.suggestion.sentence.turn.interview_id]):
        raise Refused(
            "Unblind this interview first. Marking shows you a machine's label in it, and what you code there afterwards counts "
            "as assisted."
        )
    mark = PositiveMark(item=item, verdict=verdict, note=note, number=number, idempotency_key=idempotency_key)
    return store_mark(mark, by=by)
