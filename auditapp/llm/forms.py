"""Forms for the owner of the site: models, accounts and prices. The actions check whether the values fit together."""

from __future__ import annotations

from typing import Any

from django import forms

from auditapp.llm.models import REPLACED_CAPABILITIES, Capabilities, ModelVariant, Price, ProviderAccount
from auditapp.llm.providers import PROVIDERS
from auditapp.llm.pure.model_settings import read_stop
from auditapp.outbound.addresses import is_variable
from transcripts.ui.forms import ReplacingForm, RowForm, make_field


class VariableInput(forms.TextInput):
    """The name of a variable. Any other input is not shown again: it may be a key in the wrong field."""

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        return super().get_context(name, value if is_variable(value or "") else "", attrs)


class KeyVariableForm(forms.Form):
    """The environment variable that contains the key of an account."""

    key_env = make_field(ProviderAccount._meta.get_field("key_env"), widget=VariableInput({"autocomplete": "off"}))


class ModelForm(KeyVariableForm, RowForm):
    """A new model variant."""

    provider = forms.ChoiceField(choices=[(key, f"{key}: {text}") for key, text in PROVIDERS.items()])
    account = forms.CharField(
        max_length=100,
        required=False,
        help_text="The name of the account that pays. For an existing account, leave the address and the key variable empty. "
        "Without a name, the account with this address and key variable is used, or a new one is added. A key can "
        "also be stored on its page.",
    )
    temperature = forms.FloatField(
        required=False, help_text="0 to 2. Leave this and the next three fields empty for the provider's defaults."
    )
    top_p = forms.FloatField(required=False, label="Top p", help_text="Above 0, at most 1.")
    seed = forms.IntegerField(
        required=False,
        help_text="A whole number. Servers that honour it give the same answer each time; some ignore it.",
    )
    stop = forms.CharField(
        required=False,
        strip=False,
        label="Stop texts",
        help_text="At most four, one per line; an answer ends where one appears. Write \\n for a line break.",
        widget=forms.Textarea({"rows": 2, "spellcheck": "false"}),
    )
    others = {ProviderAccount: ("base_url",), Price: ("price_in", "price_out")}
    optional = ("model", "price_in", "price_out")
    field_order = (
        *("label", "provider", "base_url", "model", "account", "key_env", "reasoning", "max_tokens"),
        *("temperature", "top_p", "seed", "stop", "timeout_seconds", "note", "price_in", "price_out"),
    )

    class Meta(RowForm.Meta):
        model = ModelVariant
        fields = ("label", "model", "reasoning", "max_tokens", "timeout_seconds", "note")

    def clean_stop(self) -> list[str]:
        """The stop texts, without empty lines."""
        return [read_stop(line) for line in self.cleaned_data["stop"].splitlines() if line]


class PriceForm(RowForm):
    """A new price."""

    class Meta(RowForm.Meta):
        model = Price
        fields = ("price_in", "price_out", "batch_share", "source")


class CapabilitiesForm(ReplacingForm, RowForm):
    """New capabilities of a model."""

    class Meta(RowForm.Meta):
        model = Capabilities
        fields = (*REPLACED_CAPABILITIES, "source")


class AddressForm(RowForm):
    """A new address for an account."""

    needed = ("base_url",)

    class Meta(RowForm.Meta):
        model = ProviderAccount
        fields = ("base_url",)


class KeyForm(forms.Form):
    """The key of an account. It is never shown again, even if the form is refused."""

    key = forms.CharField(
        max_length=1000,
        label="Key",
        help_text="Stored encrypted. Nobody can read it back; only its last four characters are shown.",
        widget=forms.PasswordInput(
            {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}, render_value=False
        ),
    )
