"""Answers about rows: what a field means, its type and whether it may be null are said at the model."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

from django.db import models
from rest_framework import serializers
from rest_framework.utils.field_mapping import ClassLookupDict

from transcripts.exchange.rows import describe, find_fields


class RowOutput(serializers.ModelSerializer[Any]):
    """An answer about a row of ``Meta.model``.

    ``Meta.fields`` names what it has, in order, divided by blanks. ``Meta.paths`` says where those are found that are named
    differently in the model; a pair ``(path, meaning)`` also says what one means in this answer. A row that a path leads back
    to has to be there. Only what is computed is declared by hand; it comes last where it is not named among the fields.
    """

    # What is stored is answered as it is: how it has to be typed does not matter here.
    _classes: ClassVar[Any] = ClassLookupDict(
        {
            **serializers.ModelSerializer.serializer_field_mapping,
            models.BigAutoField: serializers.IntegerField,
            models.BigIntegerField: serializers.IntegerField,
            models.SlugField: serializers.CharField,
            models.URLField: serializers.CharField,
        }
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        declared, paths = copy.deepcopy(self._declared_fields), getattr(self.Meta, "paths", {})
        names = dict.fromkeys([*str(self.Meta.fields).split(), *declared])
        return {name: declared.get(name) or self._build(name, paths.get(name, name)) for name in names}

    def _build(self, name: str, place: str | tuple[str, str]) -> serializers.Field[Any, Any, Any, Any]:
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
        if field.choices:
            return serializers.ChoiceField(field.choices, allow_blank=field.blank, **options)
        made: serializers.Field[Any, Any, Any, Any] = self._classes[field](**options)
        return made
