"""How the tables of exports are read: columns by the names people see, rows streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import CharField, F, QuerySet
from django.db.models.functions import Cast, Concat, Substr

CHUNK = 5_000


def stream(rows: QuerySet[Any, Any], columns: Mapping[str, str]) -> Iterator[Sequence[object]]:
    """The rows of a query in the order of ``columns``, a few thousand at a time."""
    return rows.values_list(*columns.values()).iterator(chunk_size=CHUNK)


def label_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """With ``label``, the number of the sentence as people see it: 14, or 14a for a piece of what was 14."""
    number = Cast(f"{prefix}position", CharField())
    return rows.annotate(label=Concat(number, F(f"{prefix}suffix"), output_field=CharField()))


def quote_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """With ``quoted``, the text of the sentence. It is cut by the database, in code points."""
    length = F(f"{prefix}end") - F(f"{prefix}start")
    return rows.annotate(quoted=Substr(f"{prefix}turn__text", F(f"{prefix}start") + 1, length))


def place_columns(prefix: str = "sentence__") -> dict[str, str]:
    """Where a sentence lies, for rows that point at one through ``prefix``; they need ``label_sentences``."""
    return {
        "project": f"{prefix}turn__interview__project__slug",
        "interview": f"{prefix}turn__interview__external_id",
        "turn": f"{prefix}turn__position",
        "sentence_id": f"{prefix}id",
        "sentence_label": "label",
    }
