"""Pairs: two threads that differ in one thing, and whether that should change what the model does."""

from __future__ import annotations

import re

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.corpus.models import Interview
from transcripts.negotiation.models import Pair
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.models import Project
from transcripts.ui.typed_text import check_reason, check_text

MAX_NAME = 100
MAX_DIFFERS = 500
# A name stands in addresses.
NAME = re.compile(r"\w[\w.-]*(?: [\w.-]+)*")


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

    ``expect``: "change" or "no_change". ``based_on``: the latest number of the name that ``by`` saw, 0 for a new name.
    Raises ``Refused``.
    """
    name = _check_name(name)
    _check_threads(project, a, b)
    differs = check_text(differs, field="differs", max_length=MAX_DIFFERS, needed="Say in what the two threads differ.")
    if expect not in Pair.Expect.values:
        raise WrongInput(
            f"Say whether the difference should change what the model does: {' or '.join(Pair.Expect.values)}.",
            field="expect",
        )
    reason = check_reason(reason)
    pair = Pair(project=project, name=name, a=a, b=b, differs=differs, expect=expect, reason=reason)
    return pair.write(by=by, based_on=based_on)


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


@transaction.atomic
def withdraw_pair(*, pair: Pair, by: User) -> None:
    """Withdraw a pair; its rows are kept. Raises ``Refused`` if it does not count any more."""
    own = Pair.objects.select_for_update(no_key=True).get(pk=pair.pk)
    if own.withdrawn_at is not None:
        raise Refused(f"The pair “{own.name}” was withdrawn or replaced before. Open the list of pairs again.")
    own.withdrawn_at = timezone.now()
    own.save(update_fields=["withdrawn_at"])
    pair.withdrawn_at = own.withdrawn_at
    stream = trail.project_stream(own.project_id)
    trail.record("pair.withdrawn", target=own, by=by, stream=stream, details=own.describe())
