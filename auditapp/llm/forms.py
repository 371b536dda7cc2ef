"""What the owner of the site types about models, accounts and prices. What it means is checked by the actions."""

from __future__ import annotations

from typing import Any

from django import forms

from auditapp.llm.models import Capabilities
from auditapp.llm.providers import PROVIDERS
from auditapp.llm.pure.variables import is_variable


class VariableInput(forms.TextInput):
    """The name of a variable. Whatever else was typed is not shown again: it may be a key in the wrong field."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        return super().get_context(name, value if is_variable(value or "") else "", attrs)


def make_price_field(label: str, help_text: str, *, required: bool) -> forms.DecimalField:
    """A price per million tokens."""
    return forms.DecimalField(
        label=label, help_text=help_text, required=required, min_value=0, max_digits=12, decimal_places=6
    )


class ModelForm(forms.Form):
    """A model variant as typed."""

    label = forms.CharField(max_length=100, help_text="What tables call it, such as llama-3.1-8b.")
    provider = forms.ChoiceField(choices=[(key, f"{key}: {text}") for key, text in PROVIDERS.items()])
    base_url = forms.CharField(
        max_length=300,
        required=False,
        label="Base URL",
        help_text="Such as https://api.openai.com/v1. Holds no key. Leave it out when you name a standing account below.",
    )
    model = forms.CharField(max_length=200, required=False, help_text="The model's name at the provider.")
    account = forms.CharField(
        max_length=100,
        required=False,
        help_text="The account that pays, by its name. Left out: the one of this address and key variable, or a new one.",
    )
    key_env = forms.CharField(
        max_length=100,
        required=False,
        label="Key variable",
        help_text="Name of the worker's environment variable that holds the key, never the key itself. A key can also "
        "be stored on the page of the account.",
        widget=VariableInput({"autocomplete": "off"}),
    )
    reasoning = forms.CharField(
        max_length=20, required=False, help_text="Reasoning effort as the provider names it, or on or off."
    )
    max_tokens = forms.IntegerField(
        min_value=1,
        initial=1024,
        label="Longest answer",
        help_text="In tokens. Thinking set by an effort counts within it; a budget of tokens for thinking comes on top.",
    )
    timeout_seconds = forms.IntegerField(
        min_value=1, max_value=3600, initial=600, label="Time-out", help_text="Seconds that an answer is waited for."
    )
    price_in = make_price_field("Price in", "US dollars per million tokens read.", required=False)
    price_out = make_price_field("Price out", "US dollars per million tokens written.", required=False)


class PriceForm(forms.Form):
    """A new row of prices."""

    price_in = make_price_field("Price in", "US dollars per million tokens read.", required=True)
    price_out = make_price_field("Price out", "US dollars per million tokens written.", required=True)
    batch_share = forms.DecimalField(
        label="Share of the batch service",
        help_text="What part of this a call of the provider's own batch service costs: 0.5 is half, 1 all of it.",
        initial=1,
        max_value=1,
        max_digits=4,
        decimal_places=3,
    )
    source = forms.CharField(max_length=300, required=False, help_text="Where the price is written, and from when.")


class CapabilitiesForm(forms.Form):
    """A new row of what a model understands."""

    reasoning = forms.ChoiceField(choices=Capabilities.Reasoning.choices)
    token_limit = forms.ChoiceField(
        label="Longest answer", choices=Capabilities.TokenLimit.choices, help_text="What the setting is called."
    )
    takes_system = forms.BooleanField(label="Takes a system message", required=False)
    takes_temperature = forms.BooleanField(label="Takes a temperature", required=False)
    offers_batches = forms.BooleanField(label="The provider's batch service takes it", required=False)
    most_output_tokens = forms.IntegerField(
        label="Most tokens of an answer", required=False, min_value=1, help_text="Empty where not known."
    )
    source = forms.CharField(max_length=300, required=False, help_text="Where this is written.")


class AddressForm(forms.Form):
    """Another address for an account."""

    base_url = forms.CharField(max_length=300, label="Base URL", help_text="Such as https://api.openai.com/v1.")


class KeyForm(forms.Form):
    """The key of an account. It is never shown again, not even in the form that refuses it."""

    key = forms.CharField(
        max_length=1000,
        label="Key",
        help_text="Stored sealed. Nobody can read it back; its last four characters are shown.",
        widget=forms.PasswordInput(
            {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}, render_value=False
        ),
    )


class KeyVariableForm(forms.Form):
    """The environment variable that holds the key of an account."""

    key_env = forms.CharField(
        max_length=100,
        required=False,
        label="Key variable",
        help_text="Name of the worker's environment variable, never the key itself. Empty: no key.",
        widget=VariableInput({"autocomplete": "off"}),
    )
