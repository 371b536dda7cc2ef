"""What the desk's forms send, whether a browser posts them or the page's own script does."""

from __future__ import annotations

from django import forms


class PlaceForm(forms.Form):
    """An act at a sentence. ``client_id`` is made by the script; without one the server makes it."""

    sentence = forms.IntegerField(min_value=1)
    client_id = forms.UUIDField(required=False)


class PutForm(PlaceForm):
    """A code and how it is put. What fits the code is checked by the action."""

    code = forms.IntegerField(min_value=1)
    level = forms.CharField(required=False, max_length=20)
    enactment = forms.CharField(required=False, max_length=20)
    note = forms.CharField(required=False)


class AgainForm(PlaceForm):
    """Put a coding again that was taken off or changed: redo, and the undoing of a change."""

    again = forms.UUIDField()


class WithdrawForm(forms.Form):
    """One's own coding, by its client id, which the page knows before the server has stored it."""

    coding = forms.UUIDField()


class ReopenForm(forms.Form):
    """One's own decision, by its client id."""

    decision = forms.UUIDField()


class MemoForm(forms.Form):
    """A memo; without a sentence it is on the interview."""

    sentence = forms.IntegerField(min_value=1, required=False)
    client_id = forms.UUIDField(required=False)
    text = forms.CharField(required=False, strip=False)
