"""Writing normative stances. New wording is the next number of the same name; no number is ever written over."""

from __future__ import annotations

from django.db.models import CharField, TextField

from transcripts.accounts.models import User
from transcripts.negotiation.models import Stance
from transcripts.refusals import WrongInput
from transcripts.ui.typed_text import check_text


def write_stance(*, stance: Stance, by: User, based_on: int = 0) -> Stance:
    """Store a new normative stance, or the next number of one that is there.

    ``based_on``: the latest number that ``by`` saw, 0 for a name that is new. The next number needs a reason, and wording
    that differs from the latest. Scores stay with the number under which they were given. Raises ``Refused``.
    """
    for name in ("name", *stance.wording):
        field = Stance._meta.get_field(name)
        assert isinstance(field, CharField | TextField)  # noqa: S101 - for the type checker
        needed = "" if field.blank else str(field.error_messages["blank"])
        text = check_text(getattr(stance, name), field=name, max_length=field.max_length or 0, needed=needed)
        setattr(stance, name, text)
    stance.name = " ".join(stance.name.split())
    if "/" in stance.name:
        raise WrongInput(
            "The name cannot have a slash, which stands between name and number: care/1. Leave it out.", field="name"
        )
    stance.reason = check_text(stance.reason)
    stance.sha256 = stance.hash_wording()
    return stance.write(by=by, based_on=based_on)
