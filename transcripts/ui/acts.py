"""Acts on pages: what was refused is said where it was typed, or at the top of the next page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from datetime import datetime
from types import TracebackType
from typing import Any

from django.contrib import messages
from django.core import signing
from django.forms import BaseForm
from django.http import HttpRequest
from django.utils.formats import date_format

from transcripts.charts.svg import PageSvg, write_file_svg
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


TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
NOTHING = "–"


def write_time(text: str) -> str:
    """An ISO 8601 time to the second in the zone that it names, as "1 Mar 2026, 10:00:05 UTC"; "" where it is none."""
    if not TIME.match(text):
        return ""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return ""
    offset = at.strftime("%z")
    zone = "" if not offset else " UTC" if offset == "+0000" else f" UTC{offset[:3]}:{offset[3:5]}"
    return f"{date_format(at, 'j M Y, H:i:s')}{zone}"


def write_value(value: Any) -> str:
    """A value of a file's JSON in words: "reward: 1, passed: yes". Texts that hold an object or a list are read first."""
    if isinstance(value, str):
        return write_time(value) or _write_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ({}, []):
        return NOTHING
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_hold_together(each)}" for key, each in value.items())
    if isinstance(value, Sequence):
        return ", ".join(_hold_together(each) for each in value)
    return str(value)


def _write_text(text: str) -> str:
    if text[:1] not in {"{", "["}:
        return text
    try:
        return write_value(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _hold_together(value: Any) -> str:
    """An object or list inside another in brackets, so that it can be told where it ends."""
    words = write_value(value)
    return f"({words})" if isinstance(value, (Mapping, list)) and value else words


# Without a time, so that a page is the same byte for byte while what it shows is.
SIGNER = signing.Signer(salt="transcripts.charts")


def sign_chart(svg: PageSvg, *, summary: str, note: str, study: str, user_id: int) -> str:
    """What the form of a chart sends: it serves this person in this study."""
    return SIGNER.sign_object([study, user_id, summary, note, *astuple(svg)], compress=True)


def read_chart(token: str, *, study: str, user_id: int) -> tuple[str, str] | None:
    """The name and the SVG of a signed chart; None if it was not signed, or for somebody else or another study."""
    try:
        for_study, for_user, summary, note, *drawn = SIGNER.unsign_object(token)
    except (signing.BadSignature, ValueError):
        return None
    if (for_study, for_user) != (study, user_id):
        return None
    svg = PageSvg(*drawn)
    return svg.key, write_file_svg(svg, summary=summary, notes=[note])
