"""What an owner types about the people of her study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django import forms

from transcripts.projects.models import MethodStance
from transcripts.projects.roles import ROLE_CHOICES, ROLES
from transcripts.ui.forms import RowForm


class MemberForm(forms.Form):
    """Somebody to invite: with ``is_new`` an account is made for her."""

    username = forms.CharField(label="User name", max_length=150, widget=forms.TextInput({"autocomplete": "off"}))
    is_new = forms.BooleanField(
        label="This person has no account here yet: create one",
        help_text="You will get a link to give to this person. It works once, within seven days.",
        required=False,
    )
    role = forms.ChoiceField(
        label="Role",
        choices=[(role.key, f"{role.name}. {role.sentence}") for role in ROLES.values()],
        initial="coder",
        widget=forms.RadioSelect,
    )


class RoleForm(forms.Form):
    """Another role for a member."""

    role = forms.ChoiceField(label="Role", choices=ROLE_CHOICES)


class StanceForm(RowForm):
    """Another stance for the study or for one family of codes; the families come from its codebook."""

    family = forms.ChoiceField(label="For", required=False)
    stance = forms.ChoiceField(label="Method", choices=MethodStance.Stance.choices, widget=forms.RadioSelect)
    field_order = ("family", "stance")

    class Meta(RowForm.Meta):
        model = MethodStance
        fields = ("reason",)

    def __init__(self, *args: Any, families: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", "The study as a whole"), *((identifier, name) for identifier, name in families)]
        cast("forms.ChoiceField", self.fields["family"]).choices = choices
