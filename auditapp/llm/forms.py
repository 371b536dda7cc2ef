from __future__ import annotations

from django import forms

from auditapp.llm.providers import PROVIDERS


class ModelForm(forms.Form):
    """A model variant as typed. What it means is checked by the action."""

    label = forms.CharField(max_length=100, help_text="What tables call it, such as llama-3.1-8b.")
    provider = forms.ChoiceField(choices=[(key, f"{key}: {text}") for key, text in PROVIDERS.items()])
    base_url = forms.CharField(
        max_length=300, required=False, label="Base URL", help_text="Such as http://127.0.0.1:11434/v1. Holds no key."
    )
    model = forms.CharField(max_length=200, required=False, help_text="The model's name at the provider.")
    key_env = forms.CharField(
        max_length=100,
        required=False,
        label="Key variable",
        help_text="Name of the worker's environment variable that holds the key. Never the key itself.",
    )
    reasoning = forms.CharField(max_length=20, required=False, help_text="Reasoning effort, as the provider names it.")
    max_tokens = forms.IntegerField(min_value=1, max_value=200_000, initial=1024, label="Most tokens of an answer")
    price_in = forms.DecimalField(
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
        label="Price in",
        help_text="US dollars per million tokens read.",
    )
    price_out = forms.DecimalField(
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
        label="Price out",
        help_text="US dollars per million tokens written.",
    )
