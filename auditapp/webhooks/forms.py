"""What leads type. The action checks it."""

from __future__ import annotations

from django import forms

from auditapp.webhooks.events import list_events
from auditapp.webhooks.models import MAX_ADDRESS


def list_choices() -> list[tuple[str, str]]:
    """The events with what they mean."""
    return [(name, f"{name}: {meaning}") for name, meaning in list_events().items()]


class WebhookForm(forms.Form):
    """A new webhook."""

    address = forms.CharField(
        max_length=MAX_ADDRESS, help_text="Where a program of yours waits for events, such as https://example.org/hook."
    )
    events = forms.MultipleChoiceField(choices=list_choices, widget=forms.CheckboxSelectMultiple)
