"""The form that unblinds interviews, with a signed token that says which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from django import forms
from django.core import signing

from transcripts.blinding.viewers import Viewer, find_unopened
from transcripts.coding.models import NOT_CODING
from transcripts.rounds.queries import find_open
from transcripts.ui.typed_text import MAX_REASON

_signer = signing.Signer(salt="transcripts.blinding")
OUT_OF_DATE = "This page is out of date, or was opened by another person. Open it again and confirm there."


class UnblindingForm(forms.Form):
    """Unblind the interviews that the token names. The token is made for one person in one study.

    It contains no time, so that an unchanged page stays identical byte for byte; the action checks everything again. If she can
    no longer code any of them, as after completion or a lock, she has nothing to confirm.
    """

    confirmed = forms.BooleanField(
        label="I know that what I code in these interviews from now on counts as assisted.",
        error_messages={"required": "Tick the box to confirm that you know this."},
    )
    token = forms.CharField(widget=forms.HiddenInput, error_messages={"required": OUT_OF_DATE})

    def __init__(self, data: Any = None, *, viewer: Viewer, initial: dict[str, str] | None = None) -> None:
        super().__init__(data, initial=initial, auto_id="unblinding_%s")
        self.viewer = viewer
        self.interview_ids: list[int] = []
        self.where = self.back = ""
        self.opens_conditions = False
        token = data.get("token") if data is not None else self.initial.get("token")
        self.is_readable = bool(token) and self._read(str(token))
        self.open_count = len(set(self.interview_ids).intersection(find_open(viewer.study, viewer.user)[0]))
        if not (self.open_count or self.opens_conditions):
            del self.fields["confirmed"]

    @classmethod
    def offer(cls, viewer: Viewer, interview_ids: Iterable[int], *, where: str, back: str) -> Self | None:
        """The form for the interviews that the viewer has not unblinded; ``None`` if there are none. If she says that she will not
        code them, interviews whose condition is masked for her count too."""
        interview_ids = set(interview_ids)
        closed = viewer.blinded(interview_ids)
        if where == NOT_CODING:
            closed |= find_unopened(viewer.user_id, interview_ids)
        blinded = sorted(closed)
        if not blinded:
            return None
        return cls(viewer=viewer, initial={"token": _write(viewer, blinded, where, back)})

    @property
    def count(self) -> int:
        """The number of interviews in the form."""
        return len(self.interview_ids)

    def clean_token(self) -> str:
        if not self.is_readable:
            raise forms.ValidationError(OUT_OF_DATE)
        return str(self.cleaned_data["token"])

    def _read(self, token: str) -> bool:
        try:
            study, user, self.interview_ids, self.where, self.back = _signer.unsign_object(token)
        except (signing.BadSignature, ValueError):
            return False
        self.opens_conditions = self.where == NOT_CODING
        return [study, user] == [self.viewer.study.pk, self.viewer.user_id]


def _write(viewer: Viewer, interview_ids: Sequence[int], where: str, back: str) -> str:
    return _signer.sign_object([viewer.study.pk, viewer.user_id, interview_ids, where, back], compress=True)


class ConditionForm(forms.Form):
    """Open the condition of one masked interview for oneself."""

    confirmed = forms.BooleanField(
        label="I know that what I code in this interview from now on counts as assisted, and that this is on record.",
        error_messages={"required": "Tick the box to confirm that you know this."},
    )

    def __init__(self, data: Any = None, *, is_open: bool) -> None:
        """``is_open``: she can still code it. If she cannot, there is nothing to confirm."""
        super().__init__(data)
        if not is_open:
            del self.fields["confirmed"]


class UnmaskForm(forms.Form):
    """Unmask interviews for everybody."""

    reason = forms.CharField(
        max_length=MAX_REASON,
        help_text="Such as “All rounds are locked”. It is kept in the history of each interview.",
        error_messages={"required": "Give a reason for unmasking the interviews."},
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
