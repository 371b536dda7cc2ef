"""The word of somebody who opens others' labels; each room that opens them asks for it, and adds what it needs to know."""

from __future__ import annotations

from django import forms


class OpeningForm(forms.Form):
    """The word of somebody who codes herself that she knows what follows from opening what others, or machines, said."""

    confirmed = forms.BooleanField(
        label="I know that what I code in these interviews from now on counts as assisted.",
        error_messages={"required": "Tick the box to say that you know what follows from opening them."},
    )
