"""Fields of forms that several rooms share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Model, QuerySet
from django.template.defaultfilters import filesizeformat

from transcripts.ui.typed_text import MAX_ID


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Several rows of a table. A number that no database can hold is no choice, as any other number that is not offered;
    Django asks the database for it, and SQLite fails."""

    def _check_values(self, value: Any) -> QuerySet[Model]:
        try:
            return super()._check_values(value)  # type: ignore[misc, no-any-return]
        except OverflowError:
            raise ValidationError(
                self.error_messages["invalid_choice"],
                code="invalid_choice",
                params={"value": max(map(str, value), key=len)},
            ) from None


class NumberField(forms.IntegerField):
    """The number of a row or a version that a page sends along with its form. None can be larger than a database holds."""

    def __init__(self, *, min_value: int = 1, required: bool = True, initial: int | None = None) -> None:
        super().__init__(
            min_value=min_value, max_value=MAX_ID, required=required, initial=initial, widget=forms.HiddenInput
        )


def limit_size(most: int, hint: str = "") -> Callable[[UploadedFile[bytes]], None]:
    """The validator of a field for a file: refuses one of more than ``most`` bytes; ``hint`` says what to do with it."""

    def check(file: UploadedFile[bytes]) -> None:
        size = file.size or 0
        if size > most:
            sentence = f"This file has {filesizeformat(size)}; the limit is {filesizeformat(most)}. {hint}"
            raise ValidationError(sentence.rstrip())

    return check


def make_text_field(
    label: str, *, rows: int, max_length: int, required: bool = False, help_text: str = ""
) -> forms.CharField:
    """A field for several lines of text, in whichever direction it is written; ``rows`` are those that show at once."""
    return forms.CharField(
        label=label,
        max_length=max_length,
        required=required,
        help_text=help_text,
        widget=forms.Textarea({"rows": rows, "dir": "auto"}),
    )
