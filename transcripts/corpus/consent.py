"""Putting on record what may be done with interviews. A record is never changed: the next one holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.utils import timezone

from transcripts.audit_trail import trail
from transcripts.corpus.models import Consent, Interview
from transcripts.corpus.pure.readers.base import MAX_BASIS_LENGTH, ReadInterview
from transcripts.corpus.queries import list_consenting
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.ui.typed_text import check_text

HOW_TO_RECORD = (
    "A lead of the study can record a consent on the page “Consent” of “Interviews”, or with the command consent."
)
NO_CODING = (
    "The consent on record for this interview says that people may not code it: no code, link, score or memo can be added or "
    f"changed. {HOW_TO_RECORD}"
)
MAX_TITLES = 5


@transaction.atomic
def record_consent(
    *,
    project: Project,
    interviews: Iterable[Interview],
    scope: str,
    is_given: bool,
    basis: str,
    by: trail.Actor,
) -> list[Consent]:
    """Put on record for each of these interviews whether one thing may be done with it, and on what that rests.

    Raises ``Refused`` and records nothing when one of them is not of the study or the basis is missing.
    """
    basis = basis.strip()
    chosen = _check(project, interviews, scope=scope, basis=basis)
    now, name = timezone.now(), by.get_username()[:200]
    rows = Consent.objects.bulk_create(
        Consent(
            interview=interview,
            scope=scope,
            is_given=is_given,
            basis=basis,
            recorded_at=now,
            recorded_by_name=name,
        )
        for interview in chosen
    )
    trail.record(
        "corpus.consent.recorded",
        target=project,
        by=by,
        details={
            "scope": scope,
            "state": "given" if is_given else "not given",
            "interviews": [interview.pk for interview in chosen],
        },
    )
    return rows


def _check(project: Project, interviews: Iterable[Interview], *, scope: str, basis: str) -> list[Interview]:
    """The interviews, each once; raises ``Refused`` for what no record can say."""
    chosen = sorted({interview.pk: interview for interview in interviews}.values(), key=lambda each: each.pk)
    if not chosen:
        raise Refused("Choose at least one interview.")
    if scope not in Consent.Scope.values:
        raise Refused(f"There is no scope {scope[:40]!r}; choose {', '.join(Consent.Scope.values)}.")
    needed = "Give the basis, such as a signed form and its date, a platform's terms, or a withdrawal by letter."
    check_text(basis, field="basis", max_length=MAX_BASIS_LENGTH, needed=needed)
    if any(interview.project_id != project.pk for interview in chosen):
        raise Refused("One of these interviews is not part of this study; nothing was recorded.")
    return chosen


def list_without(interviews: Iterable[Interview], scope: str) -> list[Interview]:
    """Those of the interviews with which this may not be done now, in their order."""
    found = list(interviews)
    allowed = list_consenting([interview.pk for interview in found], scope)
    return [interview for interview in found if interview.pk not in allowed]


def explain_missing(interviews: Sequence[Interview], scope: str) -> str:
    """Which interviews something may not be done with, and how to record that it may."""
    return f"Consent to “{Consent.Scope(scope).label}” is not given for {name_some(interviews)}. {HOW_TO_RECORD}"


def name_some(interviews: Sequence[Interview]) -> str:
    """The titles of the first few, and how many more there are."""
    named = ", ".join(f"“{interview.title}”" for interview in interviews[:MAX_TITLES])
    return f"{named} and {len(interviews) - MAX_TITLES:,} more" if len(interviews) > MAX_TITLES else named


def name_basis(file: str) -> str:
    """What a consent rests on that a file gives without saying why."""
    return f"Said in the file {file}."


def store_stated(interviews: Sequence[Interview], read: Sequence[ReadInterview], *, file: str, by: trail.Actor) -> int:
    """Store the consent that a file gives for its interviews; returns the number of records.

    Part of an import, whose event records it.
    """
    now, name = timezone.now(), by.get_username()[:200]
    rows = [
        Consent(
            interview=interview,
            scope=scope,
            is_given=is_given,
            basis=given.consent_basis or name_basis(file),
            recorded_at=now,
            recorded_by_name=name,
        )
        for interview, given in zip(interviews, read, strict=True)
        for scope, is_given in given.consent.items()
    ]
    Consent.objects.bulk_create(rows, batch_size=500)
    return len(rows)
