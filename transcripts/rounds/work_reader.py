"""The work on interviews, as their list shows it."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Collection, Mapping

from django.db import connection

from transcripts.accounts.models import User
from transcripts.corpus.listing import Person, Work
from transcripts.rounds.models import Assignment
from transcripts.rounds.progress import INTERVIEWS_AT_A_TIME, LABELLED, TOTALS


def read_work(interview_ids: Collection[int], only: User | None) -> Mapping[int, Work]:
    """Who is to code these interviews, how far each person is, and when a label was last added: four queries for each five
    hundred. ``only``: of one person."""
    found: dict[int, Work] = {}
    ids = sorted(interview_ids)
    for first in range(0, len(ids), INTERVIEWS_AT_A_TIME):
        found |= _read_some(ids[first : first + INTERVIEWS_AT_A_TIME], only)
    return found


def _read_some(ids: list[int], only: User | None) -> dict[int, Work]:
    places = ", ".join(["%s"] * len(ids))
    one = [only.pk] if only else []
    labelled = LABELLED.replace(":interviews", places).replace(":one", "AND d.coder_id = %s" if only else "")
    with connection.cursor() as cursor:
        cursor.execute(TOTALS.replace(":interviews", places), ids)
        totals = dict(cursor.fetchall())
        cursor.execute(labelled, [*ids, *one, *ids, *one])
        rows = cursor.fetchall()
    assigned = Assignment.objects.counted().filter(interview__in=ids, **({"coder": only} if only else {}))
    signed: dict[tuple[int, int], bool] = {}
    for interview, coder, at in assigned.values_list("interview", "coder", "signed_at"):
        signed[interview, coder] = signed.get((interview, coder), False) or at is not None
    decided = {(interview, coder): count for interview, coder, count, _ in rows}
    names = dict(User.objects.filter(pk__in={coder for _, coder in {*decided, *signed}}).values_list("pk", "username"))
    people: dict[int, list[Person]] = defaultdict(list)
    for interview, coder in sorted({*decided, *signed}, key=lambda key: (key[0], names[key[1]].lower())):
        key = (interview, coder)
        people[interview].append(
            Person(names[coder], decided.get(key, 0), totals.get(interview, 0), key in signed, signed.get(key, False))
        )
    last: dict[int, datetime.datetime] = {}
    for interview, _, _, made in rows:
        at = _read_time(made)
        last[interview] = max(at, last.get(interview, at))
    return {interview: Work(tuple(each), last.get(interview)) for interview, each in people.items()}


def _read_time(value: object) -> datetime.datetime:
    """A time as the database gives it in SQL of our own: SQLite gives text in UTC."""
    if isinstance(value, datetime.datetime):
        return value
    at = datetime.datetime.fromisoformat(str(value))
    return at if at.tzinfo else at.replace(tzinfo=datetime.UTC)
