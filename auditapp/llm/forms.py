"""Forms for the owner of the site: models, accounts and prices. The actions check the values."""

from __future__ import annotations

from typing import Any

from django import forms

from auditapp.llm.models import Capabilities
from auditapp.llm.providers import PROVIDERS
from auditapp.llm.pure.sampling import read_stop
from auditapp.llm.pure.variables import is_variable
from transcripts.ui.replacing import ReplacingForm


class VariableInput(forms.TextInput):
    """The name of a variable. Any other input is not shown again: it may be a key in the wrong field."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        return super().get_context(name, value if is_variable(value or "") else "", attrs)


def make_price_field(label: str, help_text: str, *, required: bool) -> forms.DecimalField:
    """A price per million tokens."""
    return forms.DecimalField(
        label=label, help_text=help_text, required=required, min_value=0, max_digits=12, decimal_places=6
    )


class ModelForm(forms.Form):
    """A new model variant."""

    label = forms.CharField(max_length=100, help_text="The name shown in tables, such as llama-3.1-8b.")
    provider = forms.ChoiceField(choices=[(key, f"{key}: {text}") for key, text in PROVIDERS.items()])
    base_url = forms.CharField(
        max_length=300,
        required=False,
        label="Base URL",
        help_text="For example https://api.openai.com/v1, without a key. Leave it empty if you name an existing account below.",
    )
    model = forms.CharField(max_length=200, required=False, help_text="The model's name at the provider.")
    account = forms.CharField(
        max_length=100,
        required=False,
        help_text="The name of the account that pays. If empty, the account with this address and key variable is used, "
        "or a new one is added.",
    )
    key_env = forms.CharField(
        max_length=100,
        required=False,
        label="Key variable",
        help_text="The name of the worker's environment variable that holds the key, never the key itself. You can also store "
        "a key on the account's page.",
        widget=VariableInput({"autocomplete": "off"}),
    )
    reasoning = forms.CharField(
        max_length=20, required=False, help_text="The reasoning effort in the provider's terms, or on or off."
    )
    max_tokens = forms.IntegerField(
        min_value=1,
        required=False,
        label="Longest answer",
        help_text="In tokens. Leave empty for no limit. Thinking counts towards a limit, so a small one cuts off the answers of "
        "reasoning models; only a reasoning token budget is added to it. A small local model needs a limit, or it may never stop.",
    )
    temperature = forms.FloatField(
        required=False, help_text="0 to 2. Leave this and the next three fields empty for the provider's defaults."
    )
    top_p = forms.FloatField(required=False, label="Top p", help_text="Above 0, at most 1.")
    seed = forms.IntegerField(
        required=False,
        help_text="A whole number. Servers that honour it draw the same words each time; some ignore it.",
    )
    stop = forms.CharField(
        required=False,
        strip=False,
        label="Stop texts",
        help_text="At most four, one per line; an answer ends where one appears. \\n stands for a line break.",
        widget=forms.Textarea({"rows": 2, "spellcheck": "false"}),
    )
    timeout_seconds = forms.IntegerField(
        min_value=1, max_value=3600, initial=600, label="Time-out", help_text="How many seconds to wait for an answer."
    )
    note = forms.CharField(
        max_length=300, required=False, help_text="A warning for readers of its answers. It is shown beside them."
    )
    price_in = make_price_field("Price in", "US dollars per million input tokens.", required=False)
    price_out = make_price_field("Price out", "US dollars per million output tokens.", required=False)

    def clean_stop(self) -> list[str]:
        """The stop texts, without empty lines."""
        return [read_stop(line) for line in self.cleaned_data["stop"].splitlines() if line]


class PriceForm(forms.Form):
    """A new price."""

    price_in = make_price_field("Price in", "US dollars per million input tokens.", required=True)
    price_out = make_price_field("Price out", "US dollars per million output tokens.", required=True)
    batch_share = forms.DecimalField(
        label="Batch service share",
        help_text="The share of this price that a call costs through the provider's own batch service: 0.5 is half, 1 is "
        "the full price.",
        initial=1,
        max_value=1,
        max_digits=4,
        decimal_places=3,
    )
    source = forms.CharField(max_length=300, required=False, help_text="Where the price is published, and since when.")


class CapabilitiesForm(ReplacingForm):
    """New capabilities of a model."""

    reasoning = forms.ChoiceField(choices=Capabilities.Reasoning.choices)
    token_limit = forms.ChoiceField(
        label="Longest answer",
        choices=Capabilities.TokenLimit.choices,
        help_text="The name of the setting in requests.",
    )
    takes_system = forms.BooleanField(label="Accepts a system message", required=False)
    takes_temperature = forms.BooleanField(label="Accepts a temperature", required=False)
    takes_top_p = forms.BooleanField(label="Accepts top p", required=False)
    takes_seed = forms.BooleanField(label="Accepts a seed", required=False)
    takes_stop = forms.BooleanField(label="Accepts stop texts", required=False)
    offers_batches = forms.BooleanField(label="Available in the provider's batch service", required=False)
    max_output_tokens = forms.IntegerField(
        label="Maximum output tokens", required=False, min_value=1, help_text="Leave empty if unknown."
    )
    source = forms.CharField(max_length=300, required=False, help_text="Where this is documented.")


class AddressForm(forms.Form):
    """A new address for an account."""

    base_url = forms.CharField(max_length=300, label="Base URL", help_text="For example https://api.openai.com/v1.")


class KeyForm(forms.Form):
    """The key of an account. It is never shown again, not even when the form is refused."""

    key = forms.CharField(
        max_length=1000,
        label="Key",
        help_text="Stored encrypted. Nobody can read it back; only its last four characters are shown.",
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
        help_text="The name of the worker's environment variable, never the key itself. Leave empty for no key.",
        widget=VariableInput({"autocomplete": "off"}),
    )
