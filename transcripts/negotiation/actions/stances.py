"""Writing normative stances. New wording is the next number of the same name; no number is ever written over."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from transcripts.accounts.models import User
from transcripts.negotiation.models import Stance
from transcripts.projects.models import Project
from transcripts.refusals import WrongInput
from transcripts.ui.typed_text import MAX_TEXT, check_text

MAX_NAME = 60
MAX_AUTHOR = 200


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


def write_stance(
    *, project: Project, name: str, text: StanceText, by: User, based_on: int = 0, reason: str = ""
) -> Stance:
    """Store a new normative stance, or the next number of one that is there.

    ``based_on``: the latest number that ``by`` saw, 0 for a name that is new. The next number needs a ``reason``, and wording
    that differs from the latest. Scores stay with the number under which they were given. Raises ``Refused``.
    """
    text = _check_text(text)
    return Stance(
        project=project,
        name=_check_name(name),
        reason=check_text(reason),
        sha256=text.sha256,
        **text._asdict(),
    ).write(by=by, based_on=based_on)


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
