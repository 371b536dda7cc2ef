"""The form of what is written again: it carries the number that its writer saw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django import forms
from django.http import QueryDict

from transcripts.history.models import WrittenMeanwhile
from transcripts.ui.acts import at_form
from transcripts.ui.forms import NumberField, post_again


class NextForm(forms.Form):
    """A form whose act stores the next number. ``based_on`` is the latest that the page showed, 0 for none; ``latest`` is what
    somebody wrote after it."""

    based_on = NumberField(min_value=0, required=False, initial=0)

    latest: Any = None

    def clean_based_on(self) -> int:
        return self.cleaned_data["based_on"] or 0

    @property
    def status(self) -> int:
        """Of the page that shows it."""
        return 409 if self.latest else 422 if self.errors else 200


@contextmanager
def at_next(form: NextForm, field: str | None = None) -> Iterator[None]:
    """As ``at_form``. Who is late keeps what she entered, and goes on from what was written meanwhile."""
    with at_form(form, field):
        try:
            yield
        except WrittenMeanwhile as error:
            form.latest, form.data = (
                error.latest,
                post_again(cast("QueryDict", form.data), based_on=error.latest.number),
            )
            form.add_error(None, str(error))
