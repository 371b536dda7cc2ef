"""Fields of what is sent and of what is answered.

Input has fields that accept exactly one type, and bodies and parameters that accept only known names. What is stored in a field
of a model takes its limits, its choices and what is said of it from there: ``RowBody``. In answers about rows and records, what a
field means, its type and whether it may be null are said where these are declared: ``RowOutput`` and ``RecordOutput``.
"""

from __future__ import annotations

import binascii
import copy
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import NoneType
from typing import IO, Any, ClassVar, get_args, get_origin, get_type_hints

from django.db import models
from django.db.backends.base.operations import BaseDatabaseOperations
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.fields import empty
from rest_framework.parsers import BaseParser
from rest_framework.settings import api_settings
from rest_framework.utils.field_mapping import ClassLookupDict

from auditapp.api.errors import TooLarge
from auditapp.batches.pure.estimates import to_dollars
from transcripts.exchange.rows import describe, find_fields
from transcripts.formats.json_lines import read_value
from transcripts.formats.problems import ReadError
from transcripts.ui.forms import read_limits
from transcripts.ui.typed_text import MAX_ID, find_fault, find_number

# Five texts of as many characters as a text may have, each escaped, and the rest.
MAX_BODY = 2_000_000
MAX_FILE_BODY = 8_000_000
MAX_LINES = 10_000
MAX_UNKNOWN = 10
MAX_FILE_NAME = 200
# What keys and reasons that are sent are for; what they are once they are stored is said in answers.
SENT = {"idempotency_key": "A UUID that you generate. If you send it again, nothing is stored twice."}
TYPES: dict[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    str: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
}


class StrictJsonParser(BaseParser):
    """JSON in UTF-8, whatever charset the header names. Refuses long or deeply nested bodies, repeated names and NaN."""

    media_type = "application/json"
    max_body = MAX_BODY

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return read_json(_read_body(stream, self.max_body), "The body")


class FileParser(StrictJsonParser):
    """JSON that carries a file."""

    max_body = MAX_FILE_BODY


class LinesParser(BaseParser):
    """Lines of JSON, as bytes; each is parsed only when it is reached. Empty lines are kept, so that line numbers are right."""

    media_type = "application/x-ndjson"

    def parse(  # type: ignore[override]
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> list[bytes]:
        lines = _read_body(stream, MAX_FILE_BODY).split(b"\n")
        if len(lines) > MAX_LINES + 1:
            raise TooLarge(f"A body can have at most {MAX_LINES:,} lines. Send the rest in another request.")
        return lines


def _read_body(stream: IO[bytes], limit: int) -> bytes:
    body = stream.read(limit + 1)
    if len(body) > limit:
        raise TooLarge(f"A body can have at most {limit:,} bytes.")
    return body


def read_json(data: bytes, what: str) -> Any:
    """The value of JSON in UTF-8; ``what`` begins the sentence of a refusal. Raises ``ParseError``."""
    try:
        return read_value(data, what)
    except ReadError as error:
        place = f", line {error.line}" if error.line and b"\n" in data else ""
        raise ParseError(f"{what}{place}: found {error.found}; expected {error.expected}.") from error


class WholeNumber(serializers.IntegerField):
    """A JSON number without a fraction; a string that looks like a number is refused."""

    def to_internal_value(self, data: object) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return data


class Numeral(serializers.IntegerField):
    """A whole number in an address: decimal digits."""

    def to_internal_value(self, data: object) -> int:
        number = find_number(data) if isinstance(data, str) else None
        if number is None:
            self.fail("invalid")
        return number


class Words(serializers.CharField):
    """A JSON string; numbers are refused. Its limit applies to the text as it was sent, including spaces at its ends, as the
    schema says."""

    def run_validation(self, data: Any = empty) -> Any:
        # Before what is blank is taken as empty.
        if isinstance(data, str) and (fault := find_fault(data, max_length=self.max_length or len(data))):
            raise serializers.ValidationError([fault])
        return super().run_validation(data)

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Choice(serializers.ChoiceField):
    """One of a few values. An invalid value is not repeated in the message."""

    def __init__(self, choices: Any, **options: Any) -> None:
        super().__init__(choices, **options)
        self.error_messages["invalid_choice"] = f"Choose one of: {', '.join(map(str, self.choices))}."


class TrueOrFalse(serializers.BooleanField):
    """A JSON true or false; numbers and strings that stand for them are refused."""

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


@extend_schema_field({"type": "number", "exclusiveMinimum": 0})
class Dollars(serializers.DecimalField):
    """US dollars as a JSON number, to a millionth of a dollar."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=15, decimal_places=6, **options)

    def to_internal_value(self, data: object) -> Decimal:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        amount = super().to_internal_value(repr(data))
        if amount <= 0:
            raise serializers.ValidationError(["An amount must be more than 0. For no amount, leave it out."])
        return amount


class InDollars(serializers.FloatField):
    """US dollars, for an amount that is stored in nanodollars."""

    def to_representation(self, value: Any) -> Any:
        return float(to_dollars(value) or 0)


class Uuid(serializers.UUIDField):
    """A UUID as text."""

    def to_internal_value(self, data: object) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Moment(serializers.DateTimeField):
    """A time with its time zone, in an address. It is converted to UTC, because PostgreSQL refuses offsets of sixteen hours or
    more."""

    def to_internal_value(self, value: object) -> datetime:
        try:
            moment = datetime.fromisoformat(str(value))
            if moment.tzinfo is not None:
                return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        raise serializers.ValidationError(["Write a time with its time zone, such as 2026-11-24T10:00:00Z."])


class Described(serializers.Serializer[Any]):
    """An output or a body whose fields are described elsewhere.

    ``Meta.fields`` names the fields in order, separated by spaces. Only computed fields are declared by hand; they come last
    unless ``Meta.fields`` names them.
    """

    Meta: ClassVar[Any]

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        declared = copy.deepcopy(self._declared_fields)
        names = dict.fromkeys([*self.Meta.fields.split(), *declared])
        return {name: declared.get(name) or self.make_field(name) for name in names}

    def make_field(self, name: str) -> serializers.Field[Any, Any, Any, Any]:
        """The field of this name."""
        raise NotImplementedError


class _Named(serializers.Serializer[Any]):
    """Accepts an object with known names only."""

    what = "field"

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            sentence = "Send a JSON object with the fields by name."
            raise serializers.ValidationError({api_settings.NON_FIELD_ERRORS_KEY: [sentence]})
        unknown = [name for name in data if name not in self.fields][:MAX_UNKNOWN]
        if unknown:
            known = f"Use only: {', '.join(self.fields)}." if self.fields else f"No {self.what} is accepted here."
            raise serializers.ValidationError({name: [f"There is no such {self.what}. {known}"] for name in unknown})
        return super().to_internal_value(data)


class Body(_Named):
    """The body of a request."""


class RowBody(Described, Body):
    """A body with fields of a model, which takes their limits, choices and descriptions from the model.

    ``Meta(RowBody.Meta)`` has ``model``, ``fields`` and ``paths`` as ``RowOutput``; the meaning in a pair describes the value
    that is sent. A field that the model does not require need not be sent, and then gets the model's default. ``needed`` are
    fields that this body requires all the same. ``optional`` are fields that it may leave out although the model requires them;
    they are then missing from the validated data.
    """

    class Meta:
        fields: ClassVar[str] = ""
        paths: ClassVar[Mapping[str, str | tuple[str, str]]] = {}
        needed: ClassVar[str] = ""
        optional: ClassVar[str] = ""

    def make_field(self, name: str) -> serializers.Field[Any, Any, Any, Any]:
        place = self.Meta.paths.get(name, name)
        path, meaning = (place, SENT.get(name, "")) if isinstance(place, str) else place
        model = self.Meta.model
        fields = find_fields(model, path)
        options: dict[str, Any] = {"help_text": meaning or describe(model, path, name)}
        if name in self.Meta.optional.split():
            options["required"] = False
        elif name in self.Meta.needed.split():
            pass
        elif any(field.null for field in fields):
            options |= {"allow_null": True, "default": None}
        elif fields[-1].blank or fields[-1].has_default():
            options |= {"default": fields[-1].get_default()}
        return make_input(fields[-1], **options)


def make_input(field: models.Field[Any, Any], **options: Any) -> serializers.Field[Any, Any, Any, Any]:
    """The field of a body for a field of a model: a text, a number, true or false, a UUID or one of its choices.

    A related row is sent by its number. ``options`` are options of the body's field.
    """
    if field.is_relation:
        return WholeNumber(min_value=1, max_value=MAX_ID, **options)
    if field.choices:
        return Choice(field.choices, allow_blank=options.get("default") == "", **options)
    if isinstance(field, models.CharField | models.TextField):
        return Words(max_length=field.max_length, allow_blank=options.get("default") == "", **options)
    if isinstance(field, models.IntegerField):
        least, most = BaseDatabaseOperations.integer_field_ranges[field.get_internal_type()]
        return WholeNumber(**{"min_value": least, "max_value": most, **read_limits(field), **options})
    return KINDS[type(field)](**options)


KINDS: dict[type[models.Field[Any, Any]], type[serializers.Field[Any, Any, Any, Any]]] = {
    models.BooleanField: TrueOrFalse,
    models.UUIDField: Uuid,
}


class Parameters(_Named):
    """The query parameters of an address."""

    what = "parameter"


class FileBody(Body):
    """A file, as text or as base64."""

    name = Words(max_length=MAX_FILE_NAME, help_text="The file's name, without a folder.")
    content = Words(
        required=False, trim_whitespace=False, help_text="The content of the file as text. Send this or base64."
    )
    base64 = Words(required=False, help_text="The content of the file as base64, for archives and documents.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """With ``data``, the bytes of the file."""
        content, encoded = attrs.pop("content", None), attrs.pop("base64", None)
        if (content is None) == (encoded is None):
            raise serializers.ValidationError({"content": ["Send either content or base64."]})
        if content is not None:
            return {**attrs, "data": content.encode("utf-8", "surrogatepass")}
        try:
            return {**attrs, "data": b64decode(encoded, validate=True)}
        except (binascii.Error, ValueError) as error:
            raise serializers.ValidationError({"base64": ["This is not base64."]}) from error


class RowOutput(Described):
    """Output about a row of ``Meta.model``.

    ``Meta.paths`` gives the path of each field that has another name in the model; a pair ``(path, meaning)`` also gives its
    meaning in this output. A row to which a path leads backwards must exist. ``Meta.lists`` names the JSON fields that are lists
    of texts.
    """

    # What is stored is answered as it is: how it has to be typed does not matter here.
    _classes: ClassVar[Any] = ClassLookupDict(
        {
            **serializers.ModelSerializer.serializer_field_mapping,
            models.BigAutoField: serializers.IntegerField,
            models.BigIntegerField: serializers.IntegerField,
            models.URLField: serializers.CharField,
        }
    )

    def make_field(self, name: str) -> serializers.Field[Any, Any, Any, Any]:
        place = getattr(self.Meta, "paths", {}).get(name, name)
        path, meaning = (place, "") if isinstance(place, str) else place
        fields = find_fields(self.Meta.model, path)
        field = fields[-1]
        options: dict[str, Any] = {
            "help_text": meaning or describe(self.Meta.model, path, name),
            "allow_null": any(each.null for each in fields if each.concrete),
        }
        if field.is_relation:
            path = path if path.endswith("_id") else f"{path}_id"
            field = field.target_field
        if path != name:
            options["source"] = path
        if path.endswith("_nano"):
            return InDollars(**options)
        if name in getattr(self.Meta, "lists", "").split():
            return serializers.ListField(child=serializers.CharField(), **options)
        if field.choices:
            return serializers.ChoiceField(field.choices, allow_blank=field.blank, **options)
        made: serializers.Field[Any, Any, Any, Any] = self._classes[field](**options)
        return made


class RecordOutput(Described):
    """Output about a record, ``Meta.record``: a named tuple, a dataclass or a typed dictionary. The record says what each field
    means, as in ``turns: Annotated[int, "Number of their turns."]``."""

    def make_field(self, name: str) -> serializers.Field[Any, Any, Any, Any]:
        kind, meaning = get_args(get_type_hints(self.Meta.record, include_extras=True)[name])
        return _find_field(kind, help_text=meaning)


def _find_field(kind: Any, **options: Any) -> serializers.Field[Any, Any, Any, Any]:
    """A field for values of a type such as ``int``, ``float | None``, ``list[str]`` or ``dict[str, int]``."""
    *_, last = kinds = get_args(kind) or (kind,)
    if last is NoneType:
        return _find_field(kinds[0], allow_null=True, **options)
    if get_origin(kind) is list:
        return serializers.ListField(child=_find_field(last), **options)
    if get_origin(kind) is dict:
        return serializers.DictField(child=_find_field(last), **options)
    return TYPES[kind](**options)
