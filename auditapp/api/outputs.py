"""Output about rows and records: the meaning of a field, its type and whether it may be null come from the declaration of the row
or record."""

from __future__ import annotations

import copy
from datetime import datetime
from types import NoneType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from django.db import models
from rest_framework import serializers
from rest_framework.utils.field_mapping import ClassLookupDict

from auditapp.batches.pure.estimates import to_dollars
from transcripts.exchange.rows import describe, find_fields

TYPES: dict[Any, type[serializers.Field[Any, Any, Any, Any]]] = {
    str: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
}


class InDollars(serializers.FloatField):
    """US dollars, for an amount that is stored in nanodollars."""

    def to_representation(self, value: Any) -> Any:
        return float(to_dollars(value) or 0)


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
