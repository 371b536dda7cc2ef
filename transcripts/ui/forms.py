"""Forms with the fields of a model, fields that several rooms share, files that are uploaded, and forms that replace what
somebody may have changed meanwhile.

When an action is refused, the reason is shown next to the field where it was typed, or at the top of the next page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import (
    EMPTY_VALUES,
    MaxLengthValidator,
    MaxValueValidator,
    MinValueValidator,
    ProhibitNullCharactersValidator,
)
from django.db import models
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.forms.models import construct_instance
from django.http import HttpRequest, QueryDict
from django.template.defaultfilters import filesizeformat

from transcripts.refusals import Refused
from transcripts.ui.typed_text import MAX_ID, MAX_NOTE, MAX_REASON, find_fault

# Characters that may be written into a box of one line.
MAX_LINE = 300
DJANGO_SAYS = (MaxLengthValidator, ProhibitNullCharactersValidator)
LIMITS = {MinValueValidator: "min_value", MaxValueValidator: "max_value"}
View = TypeVar("View", bound=Callable[..., Any])

MEGABYTE = 1024 * 1024
# What any page takes from somebody who may be signed in: forms, and requests to the API.
USUAL_BYTES = 10 * MEGABYTE
TO_BE_REFUSED_IN_WORDS = 16 * MEGABYTE
MEANWHILE = (
    "Another person changed this after you opened the page, so nothing was saved. Compare the two, then save again."
)


class LinesOfText(forms.CharField):
    """Text of several lines. A browser sends two characters for the end of a line but counts one, and one is stored."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


def read_limits(field: models.Field[Any, Any]) -> dict[str, Any]:
    """The least and the most that a field of a model takes, where it names them: ``min_value`` and ``max_value``."""
    validators = field.deconstruct()[3].get("validators", ())
    return {LIMITS[type(each)]: each.limit_value for each in validators if type(each) in LIMITS}


def make_field(field: models.Field[Any, Any], **options: Any) -> forms.Field | None:
    """The form field for a field of a model, with its label, help text, limits and choices.

    Text may be written in either direction, and a longer limit makes a higher box. The model's message for "blank" is the
    form's for a missing value. Raises ``ImproperlyConfigured`` for a relation: a form has to say itself which rows it offers.
    """
    if field.is_relation:
        raise ImproperlyConfigured(f"Declare {field} in the form, with the rows that it offers.")
    if isinstance(field, models.TextField) or (field.max_length or 0) > MAX_LINE:
        most = field.max_length or MAX_NOTE
        rows = 2 if most <= MAX_REASON else 3 if most <= MAX_NOTE else 5
        options.setdefault("widget", forms.Textarea({"rows": rows, "dir": "auto"}))
        options.setdefault("form_class", LinesOfText)
    elif isinstance(field, models.CharField) and not field.choices:
        options.setdefault("widget", forms.TextInput({"dir": "auto", "autocomplete": "off"}))
    if field.choices:
        # The options say it themselves.
        options.setdefault("help_text", "")
    if said := field.deconstruct()[3].get("error_messages", {}).get("blank"):
        options.setdefault("error_messages", {"required": said})
    made = field.formfield(**{**read_limits(field), **options})
    if isinstance(made, forms.ChoiceField) and not field.blank:
        made.choices = field.get_choices(include_blank=False)
    if isinstance(made, forms.CharField):
        _say_as_acts(made)
    return made


def _say_as_acts(field: forms.CharField) -> None:
    """Refuse text that cannot be stored with the sentence that actions and the API use, not with Django's."""

    def check(text: str) -> None:
        if fault := find_fault(text, max_length=field.max_length or len(text)):
            raise forms.ValidationError(fault)

    kept = [each for each in field.validators if not isinstance(each, DJANGO_SAYS)]
    field.validators = [*kept, check]


class OnceForm(forms.Form):
    """A form with a key, so that its action is done once however often it is sent. If it was sent without a key, it gets one
    here."""

    idempotency_key = forms.UUIDField(required=False, initial=uuid4, widget=forms.HiddenInput)

    def clean_idempotency_key(self) -> UUID:
        return self.cleaned_data["idempotency_key"] or uuid4()


class RowForm(forms.ModelForm):  # type: ignore[type-arg] # Django has no generic one at run time
    """Input for fields of a model. The form checks each field by itself and stores nothing: actions store, and check whether
    the fields fit together.

    ``Meta(RowForm.Meta)`` has ``model`` and the names of its ``fields``. ``needed`` are those that this form requires though
    its model does not, and ``optional`` the reverse. ``others`` are fields of other models. The choices of ``radios`` all show
    at once, without an empty one. A field that no model has, or that differs from the model's, is declared as usual.
    """

    others: ClassVar[Mapping[type[models.Model], Sequence[str]]] = {}
    needed: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()
    radios: ClassVar[tuple[str, ...]] = ()

    class Meta:
        fields: ClassVar[tuple[str, ...]] = ()
        formfield_callback = make_field

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for model, names in self.others.items():
            self.fields.update(forms.fields_for_model(model, names, formfield_callback=make_field))
        self.order_fields(self.field_order)
        for name in self.needed:
            self.fields[name].required = True
        for name in self.optional:
            self.fields[name].required = False
        for name in self.radios:
            field: Any = self.fields[name]
            field.widget = forms.RadioSelect()
            field.widget.is_required = field.required
            field.choices = [choice for choice in field.choices if choice[0] != ""]

    def clean(self) -> dict[str, Any]:
        """What was typed."""
        return self.cleaned_data

    def _post_clean(self) -> None:
        # Unlike a form that stores, this one does not ask the database what is unique, nor the model what fits together.
        row = self.instance = construct_instance(self, self.instance, self._meta.fields, self._meta.exclude)
        typed = {name for name in self._meta.fields or () if self.cleaned_data.get(name) not in EMPTY_VALUES}
        try:
            row.clean_fields(exclude={each.name for each in row._meta.fields} - typed)
        except forms.ValidationError as error:
            self.add_error(None, error)


class RowsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Several rows of a table. A number too large for a database is refused like any other number that is not offered; Django
    would ask the database for it, and SQLite would fail."""

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
    """The number of a row or a version that a page sends along with its form. It can be no larger than a database can hold."""

    def __init__(self, *, min_value: int = 1, required: bool = True, initial: int | None = None) -> None:
        super().__init__(
            min_value=min_value, max_value=MAX_ID, required=required, initial=initial, widget=forms.HiddenInput
        )


def limit_size(most: int, hint: str = "") -> Callable[[UploadedFile[bytes]], None]:
    """The validator of a file field: it refuses a file of more than ``most`` bytes; ``hint`` says what to do about it."""

    def check(file: UploadedFile[bytes]) -> None:
        size = file.size or 0
        if size > most:
            sentence = f"This file is {filesizeformat(size)}; the limit is {filesizeformat(most)}. {hint}"
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


def takes_uploads(largest_file: int) -> Callable[[View], View]:
    """Decorate a view that takes files of up to this many bytes. Somewhat larger ones reach it too, so that it can explain."""

    def mark(view: View) -> View:
        view.largest_request = largest_file + TO_BE_REFUSED_IN_WORDS  # type: ignore[attr-defined]
        return view

    return mark


def read_largest_request(view: Callable[..., Any]) -> int:
    """The most bytes that a request to ``view`` may have."""
    return int(getattr(view, "largest_request", USUAL_BYTES))


class ChangedMeanwhile(Exception):
    """The stored values are no longer those that the form was made from. ``stored`` has the current values, by field."""

    def __init__(self, stored: Mapping[str, object]) -> None:
        super().__init__(MEANWHILE)
        self.stored = stored


class Clash(NamedTuple):
    """A field in which two people differ: its label, what is stored now, and what was typed."""

    label: str
    stored: object
    typed: object


def check_seen(seen: Mapping[str, object] | None, stored: Mapping[str, object]) -> None:
    """Raise ``ChangedMeanwhile`` where ``seen`` differs from what is stored. ``None``: nobody saw a form, as with commands."""
    if seen is not None and _write(seen) != _write(stored):
        raise ChangedMeanwhile(stored)


def _write(values: Mapping[str, object]) -> str:
    return json.dumps(values, cls=DjangoJSONEncoder, sort_keys=True)


def post_again(data: QueryDict, **fields: object) -> QueryDict:
    """The typed values, but these fields as they are stored now: for forms that carry the number of what they replace."""
    copy = data.copy()
    for name, value in fields.items():
        copy[name] = "" if value is None else str(value)
    return copy


def list_clashes(form: forms.BaseForm, stored: Mapping[str, object]) -> list[Clash]:
    """The fields in which a sent form differs from what is ``stored`` now, by field."""
    clashes = []
    for name, value in stored.items():
        bound = form[name]
        typed = bound.data.replace("\r\n", "\n") if isinstance(bound.data, str) else bound.data
        if not bound.is_hidden and bound.field.has_changed(value, typed):
            clashes.append(Clash(str(bound.label), show(bound.field, value), show(bound.field, typed)))
    return clashes


class ReplacingForm(forms.Form):
    """A form that replaces what is ``stored``: what somebody else stored meanwhile is shown next to what was typed.

    It carries the stored values with it, hidden, as ``cleaned_data["seen"]``. Its action compares them, under its lock, with
    what is stored by then (``check_seen``), and raises ``ChangedMeanwhile`` where they differ. The page then answers with 409
    and the form of ``rebase``: what the person did not touch is as it is stored now, and what both changed is listed with both
    texts. ``tests/test_two_people.py`` names every form of the site; one that replaces something needs this or a guard like it.
    """

    seen = forms.CharField(
        widget=forms.HiddenInput,
        strip=False,
        error_messages={"required": "The form was incomplete, so nothing was saved. Reload the page."},
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
        """The form again, made from what is ``stored`` now, with its clashes."""
        seen: dict[str, object] = self.cleaned_data["seen"]
        data = QueryDict(mutable=True)
        data.update(self.data)
        clashes = []
        for name, value in stored.items():
            # A part, such as a turn, may have been added since the form was made.
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


class _Saying(AbstractContextManager[None]):
    """Ends an action that is refused in one of these ways, and gives the reason."""

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
    """``with at_form(form):`` adds the reason of a refused action to the fields of the form that the refusal names, or else to
    ``field`` or above the form. After a successful action, return inside the block; the code after the ``with`` shows the form
    again.

    ``renamed`` are inputs that the form names differently. Refusals in other ``ways`` are not caught.
    """

    def say(error: Refused) -> None:
        for name, sentence in error.faults:
            place = renamed.get(name, name)
            form.add_error(place if place in form.fields else field, sentence)

    return _Saying(say, ways)


def at_top(request: HttpRequest) -> _Saying:
    """``with at_top(request):`` shows the reason of a refused action at the top of the next page."""
    return _Saying(lambda error: messages.error(request, str(error)))
