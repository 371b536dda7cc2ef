"""Writing normative stances. New wording is the next number of the same name; no number is ever written over."""

from __future__ import annotations

from typing import Any

from transcripts.accounts.models import User
from transcripts.negotiation.models import Stance
from transcripts.refusals import WrongInput
from transcripts.ui.typed_text import check_reason, check_text


def write_stance(*, stance: Stance, by: User, based_on: int = 0) -> Stance:
    """Store a new normative stance, or the next number of one that is there.

    ``based_on``: the latest number that ``by`` saw, 0 for a name that is new. The next number needs a reason, and wording
    that differs from the latest. Scores stay with the number under which they were given. Raises ``Refused``.
    """
    for name in ("name", *stance.wording):
        field: Any = Stance._meta.get_field(name)
        needed = "" if field.blank else field.error_messages["blank"]
        text = check_text(getattr(stance, name), field=name, max_length=field.max_length, needed=needed)
        setattr(stance, name, text)
    stance.name = " ".join(stance.name.split())
    if "/" in stance.name:
        raise WrongInput(
            "The name cannot have a slash, which stands between name and number: care/1. Leave it out.", field="name"
        )
    stance.reason = check_reason(stance.reason)
    stance.sha256 = stance.hash_wording()
    return stance.write(by=by, based_on=based_on)
