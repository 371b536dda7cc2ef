"""Auditing positives: a seeded sample of an annotator's suggestions of each code, and people's word on each of them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Collection, Sequence

from django.db import transaction
from django.utils import timezone

from auditapp.preannotation.errors import PreannotationError
from auditapp.preannotation.evaluation.queries.audits import (
    count_own,
    find_standing_mark,
    list_interviews,
)
from auditapp.preannotation.evaluation.queries.positives import Positive, list_positives
from auditapp.preannotation.models import Annotator, AuditedSuggestion, PositiveAudit, PositiveMark, ResultsOpening
from auditapp.preannotation.suggestions.actions.withholding import ensure_arms
from auditapp.preannotation.suggestions.queries.arms import list_withheld
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.blinding.viewers import Viewer
from transcripts.projects.access import find_role
from transcripts.projects.models import Project

USUAL_PER_CODE = 60
"""So many per code Dunivin and others (2026) read again of what their annotators said in deployment."""
MAX_PER_CODE = 1_000
MAX_SEED = 2**31 - 1
MAX_NOTE = 5_000
INSERT_SIZE = 500


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
    """Draw ``per_code`` of the suggestions of each code that stand now, all where there are no more; never of withheld turns.

    ``with_critic``: only what no critic reversed. The same choice and seed of the same suggestions give the same sample,
    as a new audit. Reads annotator.project. Raises ``PreannotationError``.
    """
    _check_draw(per_code, seed)
    frame = _find_frame(annotator, codes=codes, with_critic=with_critic, by=by)
    audit = PositiveAudit.objects.create(
        annotator=annotator,
        with_critic=with_critic,
        per_code=per_code,
        seed=seed,
        drawn_at=timezone.now(),
        drawn_by_name=by.get_username(),
    )
    drawn = draw_sample(frame, per_code=per_code, seed=seed)
    AuditedSuggestion.objects.bulk_create(
        [
            AuditedSuggestion(audit=audit, suggestion_id=each.suggestion, place=place, population=population)
            for place, (each, population) in enumerate(drawn, start=1)
        ],
        batch_size=INSERT_SIZE,
    )
    trail.record(
        "preannotation.audit.drawn",
        target=audit,
        by=by,
        stream=trail.project_stream(annotator.project_id),
        details={
            "annotator": annotator.pk,
            "per_code": per_code,
            "seed": seed,
            "with_critic": with_critic,
            "items": len(drawn),
            "frame": len(frame),
        },
    )
    return audit


def _find_frame(
    annotator: Annotator, *, codes: Collection[str] | None, with_critic: bool, by: trail.Actor
) -> list[Positive]:
    """What an audit draws from: suggestions that stand, on turns that show suggestions."""
    positives = list_positives(annotator, codes=codes, with_critic=with_critic)
    ensure_arms(project=annotator.project, interviews={each.interview for each in positives}, by=by)
    withheld = list_withheld(annotator.project)
    frame = [each for each in positives if each.turn not in withheld]
    if not frame:
        raise PreannotationError(
            f"There is nothing to draw from: {annotator} has no suggestion that stands on a turn that shows suggestions."
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
    *,
    item: AuditedSuggestion,
    verdict: str,
    by: User,
    client_id: uuid.UUID,
    note: str = "",
    standing_id: int | None = None,
) -> PositiveMark:
    """Store whether the code applies, as ``by`` reads the sentence. A second thought is a new row.

    ``standing_id`` is the mark of hers that she was shown. The same ``client_id`` again changes nothing. Whoever codes
    herself has opened the interview before, so that what she codes there afterwards is assisted. Reads
    item.audit.annotator.project and item.suggestion.sentence.turn. Raises ``PreannotationError``.
    """
    if verdict not in PositiveMark.Verdict.values:
        raise PreannotationError("Choose whether the code applies, does not, or cannot be said.")
    if len(note) > MAX_NOTE:
        raise PreannotationError(f"The note is longer than {MAX_NOTE:,} characters. Shorten it.")
    project = item.audit.annotator.project
    _require_opened(project, item, by)
    AuditedSuggestion.objects.select_for_update(no_key=True).get(pk=item.pk)
    sent = PositiveMark.objects.filter(reader=by, client_id=client_id).first()
    if sent is not None:
        if sent.item_id != item.pk:
            raise PreannotationError(
                "This form was sent before, for another item. Open the item again and mark it there."
            )
        return sent
    standing = find_standing_mark(item, by)
    if (standing.pk if standing else None) != standing_id:
        raise PreannotationError("You have marked this item since the page was shown. Open it again to see your mark.")
    mark = PositiveMark(item=item, reader=by, verdict=verdict, note=note.strip(), client_id=client_id)
    _put(mark, instead_of=standing)
    trail.record(
        "preannotation.audit.marked",
        target=mark,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"audit": item.audit_id, "item": item.pk, "is_second_thought": standing is not None},
    )
    return mark


def _put(mark: PositiveMark, *, instead_of: PositiveMark | None) -> None:
    """Store a mark. One of a reader stands at a time, so the former one points at her first mark on the item, to which
    nothing else points, until there is the new one."""
    mark.marked_at = timezone.now()
    if instead_of is None:
        mark.save(force_insert=True)
        return
    former = PositiveMark.objects.filter(pk=instead_of.pk)
    first = PositiveMark.objects.get(item=mark.item_id, reader=mark.reader_id, supersedes__isnull=True)
    former.update(superseded_by=first)
    mark.save(force_insert=True)
    former.update(superseded_by=mark)


@transaction.atomic
def open_results(*, audit: PositiveAudit, by: User) -> None:
    """Put on record that ``by`` sees results before she has marked everything: her later marks are not blind to them.

    Nothing is recorded twice, nor once she is through. Reads audit.annotator.
    """
    marked = count_own([audit], by).get(audit.pk, 0)
    if marked >= audit.items.count():
        return
    _, is_new = ResultsOpening.objects.get_or_create(audit=audit, reader=by, defaults={"opened_at": timezone.now()})
    if is_new:
        trail.record(
            "preannotation.audit.results_opened",
            target=audit,
            by=by,
            stream=trail.project_stream(audit.annotator.project_id),
            details={"audit": audit.pk, "marked": marked},
        )


def find_closed(project: Project, audit: PositiveAudit, by: User) -> set[int]:
    """The interviews of an audit that ``by`` has to open before she may see machines' labels there."""
    role = find_role(by, project)
    return Viewer(project, by, role).blinded(list_interviews(audit)) if role else list_interviews(audit)


def _require_opened(project: Project, item: AuditedSuggestion, by: User) -> None:
    role = find_role(by, project)
    interview = item.suggestion.sentence.turn.interview_id
    if role is None or Viewer(project, by, role).blinded([interview]):
        raise PreannotationError(
            "Open this interview first: marking shows you a machine's label in it, and what you code there afterwards "
            "counts as assisted."
        )


def _check_draw(per_code: int, seed: int) -> None:
    if not 1 <= per_code <= MAX_PER_CODE:
        raise PreannotationError(f"An audit has between 1 and {MAX_PER_CODE:,} suggestions of each code.")
    if not 0 <= seed <= MAX_SEED:
        raise PreannotationError(f"A seed is a whole number from 0 to {MAX_SEED:,}.")
