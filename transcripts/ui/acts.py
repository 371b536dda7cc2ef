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
    """Ends an act that is refused in one of these ways, and says why."""

    def __init__(self, say: Callable[[Refused], Any], ways: type[Refused] = Refused) -> None:
        self.say, self.ways = say, ways

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, self.ways):
            return False
        self.say(error)
        return True


def at_form(form: BaseForm, field: str | None = None, *, ways: type[Refused] = Refused, **renamed: str) -> _Saying:
    """``with at_form(form):`` adds what was wrong with a refused act to the fields of the form that the refusal names, and
    otherwise to ``field`` or above the form. An act that was done returns inside; the page after the ``with`` shows the form
    again.

    ``renamed`` are inputs that the form calls otherwise. What is refused in other ``ways`` goes on to who called.
    """

    def say(error: Refused) -> None:
        for name, sentence in error.faults:
            place = renamed.get(name, name)
            form.add_error(place if place in form.fields else field, sentence)

    return _Saying(say, ways)


def at_top(request: HttpRequest) -> _Saying:
    """``with at_top(request):`` shows the sentence of a refused act at the top of the next page."""
    return _Saying(lambda error: messages.error(request, str(error)))
