"""Pairs: two threads that differ in one thing, and whether that should change what the model does."""

from __future__ import annotations

import re
from typing import Any

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.actions import WrongInput
from transcripts.coding.actions.checks import check_text
from transcripts.corpus.models import Interview
from transcripts.negotiation.actions.errors import MAX_REASON, NegotiationError, WrittenMeanwhile
from transcripts.negotiation.models import Pair
from transcripts.projects.models import Project

MAX_NAME = 100
MAX_DIFFERS = 500
# A name stands in addresses.
NAME = re.compile(r"\w[\w.-]*(?: [\w.-]+)*")


@transaction.atomic
def pair_threads(
    *,
    project: Project,
    name: str,
    a: Interview,
    b: Interview,
    differs: str,
    expect: str,
    reason: str = "",
    by: trail.Actor,
    based_on: int | None = None,
) -> Pair:
    """Pair two threads under a name. A pair that has the name already is replaced by this one, which needs a ``reason``.

    ``expect``: "change" or "no_change". ``based_on``: the latest number of the name that ``by`` saw, 0 for a new name; another
    one since raises ``WrittenMeanwhile``. Raises ``WrongInput``.
    """
    name = _check_name(name)
    _check_threads(project, a, b)
    differs = check_text(differs, field="differs", max_length=MAX_DIFFERS, needed="Say in what the two threads differ.")
    if expect not in Pair.Expect.values:
        raise WrongInput(
            f"Say whether the difference should change what the model does: {' or '.join(Pair.Expect.values)}.",
            field="expect",
        )
    reason = check_text(reason, field="reason", max_length=MAX_REASON)
    # Numbered one at a time.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    last, current = _find_before(project, name, based_on)
    said: dict[str, Any] = {"a": a, "b": b, "differs": differs, "expect": expect}
    if current is not None and all(getattr(current, field) == value for field, value in said.items()):
        raise WrongInput(f"The pair “{name}” says just this already, so nothing was stored.", field="name")
    if last and not reason:
        raise WrongInput(
            f"There is, or was, a pair “{name}”. Say why this one replaces it, or choose another name.", field="reason"
        )
    now = timezone.now()
    if current is not None:
        current.withdrawn_at = now
        current.save(update_fields=["withdrawn_at"])
    pair = Pair.objects.create(
        project=project,
        name=name,
        number=last + 1,
        **said,
        reason=reason,
        made_at=now,
        made_by=by if isinstance(by, User) else None,
    )
    _record("pair.made", pair, by=by)
    return pair


def _check_name(name: str) -> str:
    name = check_text(name, field="name", max_length=MAX_NAME, needed="Give the pair a name.")
    if not NAME.fullmatch(name):
        raise WrongInput(
            "A name of a pair has letters, digits, single spaces and - _ . inside, and begins with a letter or digit.",
            field="name",
        )
    return name


def _check_threads(project: Project, a: Interview, b: Interview) -> None:
    for field, thread in (("a", a), ("b", b)):
        if thread.project_id != project.pk:
            raise WrongInput("This thread is not part of this study. Choose one of its threads.", field=field)
    if a.pk == b.pk:
        raise WrongInput("A pair has two different threads; this is the same one twice.", field="b")


def _find_before(project: Project, name: str, based_on: int | None) -> tuple[int, Pair | None]:
    """The latest number of the name, 0 where it is new, and the pair that counts under it. Raises ``WrittenMeanwhile``."""
    before = Pair.objects.filter(project=project, name=name)
    newest = before.select_related("made_by").order_by("-number").first()
    if newest is not None and based_on is not None and newest.number != based_on:
        raise WrittenMeanwhile(f"number {newest.number} of the pair “{name}”", newest.author)
    current = before.filter(withdrawn_at__isnull=True).select_related("a", "b").first()
    return (newest.number if newest else 0), current


@transaction.atomic
def withdraw_pair(*, pair: Pair, by: User) -> None:
    """Withdraw a pair; its rows are kept. Raises ``NegotiationError`` if it does not count any more."""
    own = Pair.objects.select_for_update(no_key=True).get(pk=pair.pk)
    if own.withdrawn_at is not None:
        raise NegotiationError(f"The pair “{own.name}” was withdrawn or replaced before. Open the list of pairs again.")
    own.withdrawn_at = timezone.now()
    own.save(update_fields=["withdrawn_at"])
    pair.withdrawn_at = own.withdrawn_at
    _record("pair.withdrawn", own, by=by)


def _record(action: str, pair: Pair, *, by: trail.Actor) -> None:
    """What differs and what is expected is not told: people who have still to code the threads may read the history."""
    details: dict[str, object] = {"name": pair.name, "number": pair.number, "a": pair.a_id, "b": pair.b_id}
    trail.record(action, target=pair, by=by, stream=trail.project_stream(pair.project_id), details=details)
