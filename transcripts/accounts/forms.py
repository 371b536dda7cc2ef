"""Forms for one's own account. The forms that ask for passwords are Django's."""

from __future__ import annotations

from allauth.account.forms import LoginForm
from django import forms
from django.core.exceptions import NON_FIELD_ERRORS

from transcripts.accounts.models import MAX_TOKEN_DAYS, TOKEN_DAYS, ApiToken, Scope
from transcripts.ui.forms import RowForm


class SignInForm(LoginForm):  # type: ignore[misc]
    """allauth's form, which counts wrong attempts, with labels instead of placeholders."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = "User name"
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)
        self.fields["login"].widget.attrs["autofocus"] = True

    @property
    def was_tried_too_often(self) -> bool:
        """Whether the password was not checked, because there had been too many wrong ones before."""
        return bool(self.has_error(NON_FIELD_ERRORS, code="too_many_login_attempts"))


class TokenForm(RowForm):
    """A new API token."""

    days = forms.IntegerField(
        label="Days until it expires",
        initial=TOKEN_DAYS,
        min_value=1,
        max_value=MAX_TOKEN_DAYS,
        help_text=f"At most {MAX_TOKEN_DAYS}. A program that still needs access after that needs a new token.",
    )
    scopes = forms.MultipleChoiceField(
        label="What a program may do with it",
        choices=Scope.choices,
        initial=[Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        help_text="Never more than you may do yourself. Tick only what the program needs.",
    )

    class Meta(RowForm.Meta):
        model = ApiToken
        fields = ("name",)
