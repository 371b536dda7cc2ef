"""Forms that replace what is stored. What somebody else stored meanwhile is shown next to what was typed, and nothing is lost.

A form is made from stored values and carries them with it, hidden. Its act compares them under its lock with what is stored
by then, by ``check_seen``, and raises ``ChangedMeanwhile`` where they differ. The page then answers with 409 and the form of
``rebase``: what the person did not touch is as it is stored now, and what both changed is listed with both texts.

``tests/test_two_people.py`` names every form of the site; one that replaces something needs this or a guard like it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from django import forms
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.http import QueryDict

MEANWHILE = (
    "Somebody else changed this after you opened the page, so nothing was saved. Compare the two, then save again."
)


class ChangedMeanwhile(Exception):
    """What a form was made from is not what is stored. ``stored`` has the values of now, by field."""

    def __init__(self, stored: Mapping[str, object]) -> None:
        super().__init__(MEANWHILE)
        self.stored = stored


class Clash(NamedTuple):
    """A field in which two people differ: its label, what is stored now, and what was typed."""

    label: str
    stored: object
    typed: object


def check_seen(seen: Mapping[str, object] | None, stored: Mapping[str, object]) -> None:
    """Raise ``ChangedMeanwhile`` where ``seen`` is not what is stored. ``None``: nobody looked, as with commands."""
    if seen is not None and _write(seen) != _write(stored):
        raise ChangedMeanwhile(stored)


def _write(values: Mapping[str, object]) -> str:
    return json.dumps(values, cls=DjangoJSONEncoder, sort_keys=True)


def post_again(data: QueryDict, **fields: object) -> QueryDict:
    """What was typed, with these fields as they are stored now: for forms that carry the number of what they replace."""
    copy = data.copy()
    for name, value in fields.items():
        copy[name] = "" if value is None else str(value)
    return copy


def list_clashes(form: forms.BaseForm, stored: Mapping[str, object]) -> list[Clash]:
    """The fields of a sent form in which it does not say what is ``stored`` now, by field."""
    clashes = []
    for name, value in stored.items():
        bound = form[name]
        typed = bound.data.replace("\r\n", "\n") if isinstance(bound.data, str) else bound.data
        if not bound.is_hidden and bound.field.has_changed(value, typed):
            clashes.append(Clash(str(bound.label), show(bound.field, value), show(bound.field, typed)))
    return clashes


class ReplacingForm(forms.Form):
    """A form made from ``stored`` values. ``cleaned_data["seen"]`` is what its act compares."""

    seen = forms.CharField(
        widget=forms.HiddenInput,
        strip=False,
        error_messages={"required": "The form came incomplete, so nothing was saved. Load the page again."},
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, stored: Mapping[str, object], **kwargs: Any) -> None:
        kwargs["initial"] = {**stored, "seen": _write(stored), **kwargs.get("initial", {})}
        super().__init__(data, **kwargs)
        self.clashes: list[Clash] = []

    def clean_seen(self) -> dict[str, object]:
        try:
            seen = json.loads(self.cleaned_data["seen"])
        except (ValueError, RecursionError):
            seen = None
        if not isinstance(seen, dict):
            raise ValidationError(self.fields["seen"].error_messages["required"])
        return seen

    def rebase(self, stored: Mapping[str, object], **kwargs: Any) -> Self:
        """The form again, of what is ``stored`` now, and with its clashes."""
        seen: dict[str, object] = self.cleaned_data["seen"]
        data = QueryDict(mutable=True)
        data.update(self.data)
        clashes = []
        for name, value in stored.items():
            # What is stored may have got a part, such as a turn, since the form was made.
            if (field := self.fields.get(name)) is None:
                continue
            bound = self[name]
            if _write({"": seen.get(name)}) == _write({"": value}):
                continue
            if not field.has_changed(seen.get(name), bound.data):
                _put(data, self.add_prefix(name), field, value)
            elif field.has_changed(value, bound.data):
                clashes.append(Clash(str(bound.label), show(field, value), show(field, self.cleaned_data.get(name))))
        data[self.add_prefix("seen")] = _write(stored)
        again = type(self)(data, stored=stored, **kwargs)
        again.is_valid()
        again.add_error(None, MEANWHILE)
        again.clashes = clashes
        return again


def _put(data: QueryDict, name: str, field: forms.Field, value: object) -> None:
    if isinstance(field, forms.BooleanField):
        data.pop(name, None)
        if value:
            data[name] = "on"
    else:
        data[name] = "" if value is None else str(field.prepare_value(value))


def show(field: forms.Field, value: object) -> object:
    """A value as people read it in a form."""
    if isinstance(field, forms.BooleanField):
        return "yes" if value else "no"
    choices = dict(getattr(field, "choices", []))
    return choices.get(value, value)
