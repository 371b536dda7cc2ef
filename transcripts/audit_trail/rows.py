"""What events say of rows that are evidence, so that these can be rebuilt from the trail and compared with it.

A room registers its models with ``register_rows``; its actions hand ``row_made`` and ``row_changed`` to ``trail.record``. What a
person typed is personal and may have to be erased one day, but an event stays for ever: so the event holds a salted hash,
and ``AuditText`` the text with its salt.
"""

from __future__ import annotations

import datetime
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.db import models

from transcripts.audit_trail.pure.chain import CANONICAL

EMPTY: tuple[object, ...] = (None, "", [], {})
"""What a row that was just made is not said to hold."""
ROWS = "rows"
"""The detail of an event that says what became of rows."""
ERASED = "[erased]"
"""What a column says whose text was erased."""


class RecordedModel(NamedTuple):
    """A model whose rows can be rebuilt from the trail.

    ``columns`` are the names that events use, each with the attribute it stands for ("code_id", "code.identifier");
    ``texts`` are columns that hold what people typed. ``study`` is the attribute with the number of the study.
    """

    model: type[models.Model]
    columns: Mapping[str, str]
    texts: Sequence[str]
    study: str
    read: Callable[[Any], tuple[Any, ...]]

    @property
    def label(self) -> str:
        """``app.model``, as in the targets of events."""
        return self.model._meta.label_lower


class RowChange(NamedTuple):
    """What an act did to one row: ``made`` it with all it holds, or ``set`` some of its columns."""

    row: str
    kind: str
    columns: Mapping[str, object]
    texts: Mapping[str, object]


_REGISTERED: dict[type[models.Model], RecordedModel] = {}


def register_rows(
    model: type[models.Model], names: str, /, *, texts: Sequence[str] = (), study: str, **attributes: str
) -> None:
    """Let the rows of ``model`` be rebuilt from the trail; every action that writes them says so in its event.

    ``names`` are the columns as events call them, divided by blanks: the names of fields, unless ``attributes`` has another
    attribute of the row. ``study`` is the attribute with the number of the study.
    """
    columns = {
        name: attributes.get(name) or cast("models.Field[Any, Any]", model._meta.get_field(name)).attname
        for name in names.split()
    }
    read = attrgetter(*columns.values(), *texts)
    _REGISTERED[model] = RecordedModel(model, columns, tuple(texts), study, read)


def list_recorded() -> list[RecordedModel]:
    """The registered models, by label."""
    return sorted(_REGISTERED.values(), key=lambda recorded: recorded.label)


def row_made(row: models.Model) -> RowChange:
    """A row that was just stored, with all it holds. Reads its relations: load them first where there are many rows."""
    recorded = _REGISTERED[type(row)]
    held = {
        name: as_json(value)
        for name, value in zip((*recorded.columns, *recorded.texts), recorded.read(row), strict=True)
        if value not in EMPTY and value != ERASED
    }
    texts = {name: held.pop(name) for name in recorded.texts if name in held}
    return RowChange(f"{recorded.label}:{row.pk}", "made", held, texts)


def row_changed(model: type[models.Model], pk: int, **values: object) -> RowChange:
    """Columns of a stored row that got other values, by the names that ``register_rows`` gave them."""
    recorded = _REGISTERED[model]
    columns = {name: as_json(value) for name, value in values.items() if name in recorded.columns}
    texts = {
        name: as_json(value)
        for name, value in values.items()
        if name in recorded.texts and value not in (*EMPTY, ERASED)
    }
    if unknown := values.keys() - recorded.columns.keys() - set(recorded.texts):
        raise ValueError(f"{recorded.label} has no recorded column {min(unknown)!r}.")
    return RowChange(f"{recorded.label}:{pk}", "set", columns, texts)


def seal(rows: Sequence[RowChange]) -> tuple[list[dict[str, object]], list[tuple[str, str, str]]]:
    """What an event says of rows, and the texts to store beside it: hash, salt and content."""
    said, kept = list[dict[str, object]](), list[tuple[str, str, str]]()
    for change in rows:
        hashes = {}
        for name, value in change.texts.items():
            content, salt = as_content(value), secrets.token_hex(16)
            hashes[name] = hash_text(salt, content)
            kept.append((hashes[name], salt, content))
        texts = {"texts": hashes} if hashes else {}
        said.append({"row": change.row, change.kind: change.columns, **texts})
    return said, kept


def hash_text(salt: str, content: str) -> str:
    """The hash by which an event knows a text."""
    return hashlib.sha256(f"{salt}\n{content}".encode()).hexdigest()


def as_content(value: object) -> str:
    """A text as it is stored beside the trail; answers to a code's questions as JSON."""
    return value if isinstance(value, str) else CANONICAL.encode(value)


def as_json(value: object) -> object:
    """A value of a column as an event holds it."""
    if isinstance(value, datetime.datetime):
        return format_time(value)
    return value.hex if isinstance(value, UUID) else value


def format_time(at: datetime.datetime) -> str:
    """ISO 8601 in UTC with microseconds, the form that is hashed."""
    return at.astimezone(datetime.UTC).isoformat(timespec="microseconds")


def list_changes(details: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the details of an event say of rows. Other events count something under that name: the rows of a file, of a backup."""
    told = details.get(ROWS)
    return told if isinstance(told, list) else []
