"""Records of consent to uses of interviews, and of what is replaced in copies that leave the site. A record is never changed; the
latest one applies."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from transcripts.audit_trail import trail
from transcripts.corpus.models import Consent, Interview, RedactionList, Turn
from transcripts.corpus.pure.redacting import (
    BadEntry,
    Entry,
    Place,
    check_entries,
    count_inside,
    find_places,
    replace,
    write_lines,
)
from transcripts.corpus.queries import list_consenting
from transcripts.formats.interviews.base import MAX_BASIS_LENGTH, ReadInterview
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import check_reason, check_text

HOW_TO_RECORD = (
    "A lead of the study can record a consent on the page “Consent” of “Interviews”, or with "
    "`manage.py interview consent`."
)
NO_CODING = (
    "The consent on record for this interview does not allow coding by people, so no code, link, score or memo can be added or "
    f"changed. {HOW_TO_RECORD}"
)
MAX_TITLES = 5
SAMPLES_PER_ENTRY = 2
AROUND = 60
# Words for roles in a conversation, which are not names.
PARTS = {"interviewer", "interviewee", "author", "user", "human", "assistant", "model", "system", "moderator"}


@transaction.atomic
def record_consent(
    *,
    study: Study,
    interviews: Iterable[Interview],
    scope: str,
    is_given: bool,
    basis: str,
    by: trail.Actor,
) -> list[Consent]:
    """Record for each of these interviews whether one use is allowed, and on what basis.

    Raises ``Refused`` and records nothing if one of them is not in the study or the basis is missing.
    """
    basis = basis.strip()
    chosen = _check(study, interviews, scope=scope, basis=basis)
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
        target=study,
        by=by,
        details={
            "scope": scope,
            "state": "given" if is_given else "not given",
            "interviews": [interview.pk for interview in chosen],
        },
    )
    return rows


def _check(study: Study, interviews: Iterable[Interview], *, scope: str, basis: str) -> list[Interview]:
    """The interviews, each once; raises ``Refused`` for what no record can say."""
    chosen = sorted({interview.pk: interview for interview in interviews}.values(), key=lambda each: each.pk)
    if not chosen:
        raise Refused("Choose at least one interview.")
    if scope not in Consent.Scope.values:
        raise Refused(f"There is no scope {scope[:40]!r}; choose {', '.join(Consent.Scope.values)}.")
    needed = "Give the basis, such as a signed form and its date, a platform's terms, or a withdrawal by letter."
    check_text(basis, field="basis", max_length=MAX_BASIS_LENGTH, needed=needed)
    if any(interview.study_id != study.pk for interview in chosen):
        raise Refused("One of these interviews is not part of this study; nothing was recorded.")
    return chosen


def list_without(interviews: Iterable[Interview], scope: str) -> list[Interview]:
    """The interviews for which this use is not allowed now, in their order."""
    found = list(interviews)
    allowed = list_consenting([interview.pk for interview in found], scope)
    return [interview for interview in found if interview.pk not in allowed]


def explain_missing(interviews: Sequence[Interview], scope: str) -> str:
    """A sentence that names the interviews without this consent, and how to record it."""
    return f"Consent to “{Consent.Scope(scope).label}” is not given for {name_some(interviews)}. {HOW_TO_RECORD}"


def name_some(interviews: Sequence[Interview]) -> str:
    """The titles of the first few, and how many more there are."""
    named = ", ".join(f"“{interview.title}”" for interview in interviews[:MAX_TITLES])
    return f"{named} and {len(interviews) - MAX_TITLES:,} more" if len(interviews) > MAX_TITLES else named


def name_basis(file: str) -> str:
    """The basis of a consent that a file gives without a basis."""
    return f"Stated in the file {file}."


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


@transaction.atomic
def save_redaction(
    *, study: Study, entries: Sequence[Entry], reason: str, by: trail.Actor, based_on: int
) -> RedactionList:
    """Save the next list of the study; ``based_on`` is the number of the list from which it was made (0 for none).

    A list without entries ends redaction. Raises ``Refused``; earlier lists stay as they are.
    """
    reason = check_reason(reason)
    row = RedactionList(study=study, entries=[entry._asdict() for entry in tidy_entries(entries)], reason=reason)
    latest = row.find_latest(based_on)
    if latest is None and not row.entries:
        raise Refused("Nothing changed, because these are the current entries.")
    return row.store_after(latest, by=by)


def tidy_entries(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without outer blanks. Raises ``Refused``."""
    tidied = [Entry(entry.text.strip(), entry.replacement.strip()) for entry in entries]
    try:
        check_entries(tidied)
    except BadEntry as error:
        raise Refused(str(error)) from error
    return tidied


PARTS |= {"ai", "researcher", "question", "q", "i", "me"}


def preview(study: Study, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The effect of every entry on the study's texts; reads all texts, in one query.

    ``inside`` counts places inside longer words, which are not replaced. Samples show the text as it would be in the copy.
    """
    places: Counter[int] = Counter()
    inside: Counter[int] = Counter()
    interviews: defaultdict[int, set[int]] = defaultdict(set)
    samples: defaultdict[int, list[dict[str, object]]] = defaultdict(list)
    turns = Turn.objects.filter(interview__study=study).order_by("interview", "position")
    for interview_id, title, text in turns.values_list("interview", "interview__title", "text").iterator():
        inside.update(count_inside(text, entries))
        for place in find_places(text, entries):
            entry = place[2]
            places[entry] += 1
            known = interviews[entry]
            if len(samples[entry]) < SAMPLES_PER_ENTRY and interview_id not in known:
                samples[entry].append(_show(interview_id, title, text, place, entries))
            known.add(interview_id)
    return [
        {
            "entry": entry,
            "places": places[number],
            "interviews": len(interviews[number]),
            "inside": inside[number],
            "samples": samples[number],
        }
        for number, entry in enumerate(entries)
    ]


def _show(interview_id: int, title: str, text: str, place: Place, entries: Sequence[Entry]) -> dict[str, object]:
    """The words around a place, themselves redacted. Cut after redaction, so that no half of a name shows."""
    start, end, entry = place
    before, after = replace(text[:start], entries), replace(text[end:], entries)
    return {
        "interview_id": interview_id,
        "interview": replace(title, entries),
        "before": " ".join(before.split())[-AROUND:],
        "replacement": entries[entry].replacement,
        "after": " ".join(after.split())[:AROUND],
    }


def suggest_entries(study: Study, entries: Sequence[Entry]) -> list[Entry]:
    """Entries for the names of people in the imported files that no entry replaces yet."""
    named = set(study.interviews.exclude(interviewer="").values_list("interviewer", flat=True))
    asking = Turn.objects.filter(interview__study=study, role=Turn.Role.INTERVIEWER).exclude(speaker="")
    named |= set(asking.order_by().values_list("speaker", flat=True).distinct())
    names = sorted({name for each in named for name in re.split(r"\s*(?:,|;|&|\band\b)\s*", each) if _is_name(name)})
    missing = [name for name in names if not find_places(name, entries)]
    taken = write_lines(entries)
    suggested: list[Entry] = []
    number = 0
    for name in missing:
        number += 1
        while f"[INTERVIEWER {number}]" in taken:
            number += 1
        suggested.append(Entry(name, f"[INTERVIEWER {number}]"))
    return suggested


def _is_name(name: str) -> bool:
    return any(map(str.isalpha, name)) and name.casefold() not in PARTS and len(name) <= 100
