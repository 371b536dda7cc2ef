"""Writing normative stances. New wording is the next number of the same name; no number is ever written over."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.actions import CodingError, WrongInput
from transcripts.coding.actions.checks import check_text
from transcripts.negotiation.models import Stance
from transcripts.projects.models import Project

MAX_NAME = 60
MAX_AUTHOR = 200
MAX_TEXT = 20_000
MAX_REASON = 2_000


class StanceText(NamedTuple):
    """What a stance says: what is to be achieved, whose interests come first, which trade-offs are acceptable, what counts as
    an answerable justification, for which deployment; and who holds it."""

    statement: str
    author: str
    priorities: str = ""
    trade_offs: str = ""
    justification: str = ""
    context: str = ""

    @property
    def sha256(self) -> str:
        """Of these texts as a JSON list in their order, in UTF-8: two numbers with one hash say the same."""
        return hashlib.sha256(json.dumps(list(self), ensure_ascii=False).encode()).hexdigest()


class StanceChanged(CodingError):
    """Somebody else wrote a number meanwhile; ``latest`` is what holds now."""

    def __init__(self, latest: Stance) -> None:
        super().__init__(
            f"{latest.written_by.username} wrote number {latest.number} of {latest.name} after you opened this page. Nothing was "
            "stored. Read it first; your text is still in the form."
        )
        self.latest = latest


@transaction.atomic
def write_stance(
    *, project: Project, name: str, text: StanceText, by: User, based_on: int = 0, reason: str = ""
) -> Stance:
    """Store a new normative stance, or the next number of one that is there.

    ``based_on``: the latest number that ``by`` saw, 0 for a name that is new. The next number needs a ``reason``, and wording
    that differs from the latest. Scores stay with the number under which they were given. Raises ``WrongInput`` or
    ``StanceChanged``.
    """
    # Numbers are given out one at a time.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    name = _check_name(name)
    text = _check_text(text)
    reason = check_text(reason, field="reason", max_length=MAX_REASON)
    same = Stance.objects.filter(project=project, name__iexact=name).select_related("written_by")
    latest = same.order_by("-number").first()
    if latest is None and based_on:
        raise WrongInput("There is no stance of this name. Reload the page.", field="name")
    if latest is not None:
        if not based_on:
            raise WrongInput(
                f"There is a stance named {latest.name} already. Write its next number, or choose another name.",
                field="name",
            )
        if latest.number != based_on:
            raise StanceChanged(latest)
        if latest.sha256 == text.sha256:
            raise WrongInput(
                f"This is the wording of number {latest.number}. Change it, or leave number {latest.number} as it is.",
                field="statement",
            )
        if not reason:
            raise WrongInput("Say in a few words why the wording changes.", field="reason")
        name = latest.name
    stance = Stance.objects.create(
        project=project,
        name=name,
        number=based_on + 1,
        **text._asdict(),
        reason=reason,
        sha256=text.sha256,
        written_at=timezone.now(),
        written_by=by,
    )
    trail.record(
        "negotiation.stance.written",
        target=stance,
        by=by,
        stream=trail.project_stream(project.pk),
        details={"number": stance.number, "sha256": stance.sha256},
    )
    return stance


def _check_name(name: str) -> str:
    needed = "Give the stance a short name, such as care."
    name = " ".join(check_text(name, field="name", max_length=MAX_NAME, needed=needed).split())
    if "/" in name:
        raise WrongInput(
            "The name cannot have a slash, which stands between name and number: care/1. Leave it out.", field="name"
        )
    return name


def _check_text(text: StanceText) -> StanceText:
    checked = {
        field: check_text(value, field=field, max_length=MAX_AUTHOR if field == "author" else MAX_TEXT)
        for field, value in text._asdict().items()
    }
    if not checked["statement"]:
        raise WrongInput("Say what is to be achieved: scores are given under this statement.", field="statement")
    if not checked["author"]:
        raise WrongInput("Say whose stance this is: a person, a team, a document.", field="author")
    return StanceText(**checked)
