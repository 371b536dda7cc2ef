"""The columns of exported tables, and how their rows are streamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models import CharField, F, Field, Model, OneToOneRel, QuerySet
from django.db.models.functions import Cast, Concat, Substr

from transcripts.accounts.models import User

CHUNK = 5_000
# What is no field of a model, or means the same in every model, by the name of the column or of the field.
SHARED = {
    "sentence_id": "Number of the sentence; it never changes and is never used again.",
    "sentence_label": "The number people see: the place, with a letter for a piece of a split sentence (14a).",
    "text": "The exact words.",
    "quote": "The marked words.",
    "prompting_source": "said (by the coder) or derived (from the words and codes of earlier turns).",
    "name": "Name, as people read it.",
    "reason": "Why, in the person's own words.",
    "note": "What the person noted.",
    "coder": "User name of the coder.",
    "author": "User name of the author.",
    "layer": "blind, or assisted: made after others' labels were seen.",
    "codes": "List of code identifiers; an empty list says that none applies.",
    "idempotency_key": "The idempotency key it was sent with, a UUID.",
    "created_at": "When it was stored, in UTC.",
    "written_at": "When it was written, in UTC.",
    "withdrawn_at": "When it was withdrawn or replaced, in UTC; empty while it is active.",
    "withdrawal_reason": "Why it was withdrawn, where a reason was asked for.",
    "superseded_by": "Number of the row of the same table that replaced it, if any.",
    "stage": "Where it took place: front (said), back (reasoning) or tool; empty for what others than the model say.",
    "script": "Name and number of the script, such as gender/2.",
    "track": "conduct (what the model says and its calls) or back (its reasoning), which are carried apart.",
    "holds": "true for the latest one, which counts.",
    "saw_reasoning": "true where the coder had opened reasoning of the interview before she made the coding.",
}

# The types of the fields whose cells are not text in Parquet, and of columns that are no fields.
TYPES: dict[type, type] = {
    models.IntegerField: int,
    models.BooleanField: bool,
    models.FloatField: float,
    models.DateTimeField: datetime,
}
KINDS: dict[str, type] = {"explained": bool, "holds": bool, "saw_reasoning": bool}
# The field that people know a row by, of a model that columns lead to.
NAMED_BY = {"accounts.user": "username", "studies.project": "slug", "corpus.interview": "external_id"}
Paths = Mapping[str, str | tuple[str, str]]


class Column(NamedTuple):
    """A column of an export. ``source`` is where a query finds it, empty where the rows are not read by a query. ``kind`` is the
    type of its cells in Parquet; lists and mappings are text there, as JSON."""

    name: Annotated[str, "Its heading."]
    source: str
    meaning: Annotated[str, "What it means, as the data dictionary says it; may be empty."]
    kind: type = str


def find_fields(model: type[Model], path: str) -> list[Any]:
    """The fields of models along a path such as ``sentence__turn``; none where it does not lead to a field."""
    found: list[Any] = []
    at: Any = model
    for name in path.replace(".", "__").split("__"):
        try:
            field = at._meta.pk if name == "pk" else at._meta.get_field(name)
        except (FieldDoesNotExist, AttributeError):
            return []
        if not isinstance(field, Field | OneToOneRel):
            return []
        found, at = [*found, field], field.related_model
    return found


def describe(model: type[Model], path: str, name: str = "") -> str:
    """What is said of a field where it is declared, in its model. A person's name is described by the field that leads to her,
    and so is the id of an interview, where that field says which one it is.

    What is called alike everywhere is in ``SHARED``, by the name of its column or of its field. Raises ``KeyError`` for
    what nobody has described.
    """
    fields = find_fields(model, path)
    if not fields:
        return SHARED[name or path]
    *before, field = fields
    if before and (field.model is User or (field.name == "external_id" and before[-1].help_text)):
        field = before[-1]
    if said := getattr(field, "help_text", "") or SHARED.get(name) or SHARED.get(field.name):
        return str(said)
    if field.primary_key or field.is_relation:
        return f"Number of the {(field.related_model or field.model)._meta.verbose_name}."
    raise KeyError(f"{field} has no help_text.")


def find_kind(model: type[Model], path: str, name: str) -> type:
    """The type of the cells of a column in Parquet: that of the field, or of what is called so in every table."""
    *_, field = [None, *find_fields(model, path)]
    if field is not None and field.is_relation:
        field = field.target_field
    return next((kind for stored, kind in TYPES.items() if isinstance(field, stored)), KINDS.get(name, str))


def find_path(model: type[Model], name: str) -> str:
    """Where a query finds what a heading names: a field of this name, or the time (``withdrawn_at``), the person or the identifier
    that is stored under it. Of a row that the field leads to, its name for people; ``coding_id`` is the number of a coding."""
    if name == f"{model._meta.model_name}_id":
        return "pk"
    for path in (f"{name}_name" if name.endswith("_by") else name, name, f"{name}_at", f"{name}_identifier"):
        if fields := find_fields(model, path):
            shown = fields[-1].related_model and NAMED_BY.get(fields[-1].related_model._meta.label_lower)
            return f"{path}__{shown}" if shown else path
    return name


def columns(
    model: type[Model], names: str, place: Paths = MappingProxyType({}), /, **paths: str | tuple[str, str]
) -> list[Column]:
    """Columns with fields of a model, each described where it is declared.

    ``names`` are the headings, divided by blanks; ``paths``, and the ``place`` of a sentence (``find_place``), say where a query
    finds those that ``find_path`` does not, and what those mean that nobody describes.
    """
    made = []
    for name in names.split():
        path = paths.get(name) or place.get(name) or find_path(model, name)
        path, meaning = path if isinstance(path, tuple) else (path, describe(model, path, name))
        made.append(Column(name, path, meaning, find_kind(model, path, name)))
    return made


def column(name: str, source: str = "", meaning: str = "", kind: type | None = None) -> Column:
    """A column; one without a meaning or a kind of its own has those that its name has everywhere."""
    return Column(name, source, meaning or SHARED[name], kind or KINDS.get(name, str))


def stream(rows: QuerySet[Any, Any], columns: Iterable[Column]) -> Iterator[Sequence[Any]]:
    """The rows of a query in the order of ``columns``, in constant memory."""
    return rows.values_list(*(each.source for each in columns)).iterator(chunk_size=CHUNK)


def find_places(columns: Sequence[Column], *names: str) -> list[int]:
    """At which places in a row these columns are."""
    headings = [each.name for each in columns]
    return [headings.index(name) for name in names]


def label_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """With ``label``, the number of the sentence as people see it: 14, or 14a for a piece of what was 14."""
    number = Cast(f"{prefix}position", CharField())
    return rows.annotate(label=Concat(number, F(f"{prefix}suffix"), output_field=CharField()))


def quote_sentences(rows: QuerySet[Any, Any], prefix: str = "sentence__") -> Any:
    """With ``quoted``, the text of the sentence. It is cut by the database, in code points."""
    length = F(f"{prefix}end") - F(f"{prefix}start")
    return rows.annotate(quoted=Substr(f"{prefix}turn__text", F(f"{prefix}start") + 1, length))


PLACE = "project interview turn sentence_id sentence_label"
"""The columns that say where a sentence lies; their rows need ``label_sentences``, and ``text`` needs ``quote_sentences``."""


def find_place(prefix: str = "sentence__") -> dict[str, str | tuple[str, str]]:
    """The paths of ``PLACE``, and of the text and model of its sentence, for rows from which ``prefix`` leads to a sentence."""
    return {
        "project": f"{prefix}turn__interview__study__slug",
        "interview": f"{prefix}turn__interview__external_id",
        "turn": f"{prefix}turn__position",
        "sentence_id": f"{prefix}pk",
        "sentence": f"{prefix}position",
        "sentence_label": "label",
        "text": "quoted",
        "model": f"{prefix}turn__interview__model_label",
        "start": f"{prefix}start",
        "end": f"{prefix}end",
    }
