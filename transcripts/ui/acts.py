"""Acts on pages: what was refused is said where it was typed, or at the top of the next page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest

from transcripts.refusals import Refused


class _Saying(AbstractContextManager[None]):
    """Ends an act that is refused, and says why."""

    def __init__(self, say: Callable[[Refused], Any]) -> None:
        self.say = say

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Refused):
            return False
        self.say(error)
        return True


def at_form(form: BaseForm, field: str | None = None) -> _Saying:
    """``with at_form(form):`` adds the sentence of a refused act to the field of the form that the refusal names, and otherwise to
    ``field`` or above the form. An act that was done returns inside; the page after the ``with`` shows the form again."""
    return _Saying(lambda error: form.add_error(error.field if error.field in form.fields else field, str(error)))


def at_top(request: HttpRequest) -> _Saying:
    """``with at_top(request):`` shows the sentence of a refused act at the top of the next page."""
    return _Saying(lambda error: messages.error(request, str(error)))
