"""Let the trail say what codings, decisions, memos, finishes and adjudications there are.

Events of before say too little to rebuild these rows. From here on the trail knows each as it was found; it proves nothing
about what was done to them before. The names of columns are those of 2026: this migration uses no code that may change.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import secrets
from collections.abc import Iterator
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.utils import timezone

ROWS_IN_AN_EVENT = 200
ROWS_AT_A_TIME = 2_000
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
OF_A_SENTENCE = "sentence__turn__interview__project_id"
# Of each model: where its study is, its columns by the names of events, and the columns that hold what people typed.
MODELS: list[tuple[str, str, str, dict[str, str], list[str]]] = [
    (
        "agreement",
        "adjudication",
        "project_id",
        {
            "project": "project_id",
            "sentence": "sentence_id",
            "family": "family_identifier",
            "readings": "readings",
            "outcome": "outcome",
            "chosen": "chosen_coder_id",
            "codes": "codes",
            "adjudicator": "adjudicator_id",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
            "revision": "revision",
            "superseded_by": "superseded_by_id",
        },
        ["reason"],
    ),
    (
        "coding",
        "coding",
        OF_A_SENTENCE,
        {
            "sentence": "sentence_id",
            "code": "code_id",
            "identifier": "code__identifier",
            "version": "code__version__number",
            "coder": "coder_id",
            "layer": "layer",
            "level": "level",
            "enactment": "enactment",
            "grounding": "grounding",
            "prompting": "prompting",
            "quote_start": "quote_start",
            "quote_end": "quote_end",
            "range": "range_id",
            "migrated_from": "migrated_from_id",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
            "superseded_by": "superseded_by_id",
        },
        ["note", "reason", "withdrawal_reason", "attributes"],
    ),
    (
        "coding",
        "decision",
        OF_A_SENTENCE,
        {
            "sentence": "sentence_id",
            "coder": "coder_id",
            "layer": "layer",
            "none_applies": "none_applies",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
        },
        ["withdrawal_reason"],
    ),
    (
        "coding",
        "memo",
        "project_id",
        {
            "project": "project_id",
            "author": "author_id",
            "kind": "kind",
            "subject": "subject",
            "key": "subject_key",
            "thread": "thread",
            "revision": "revision",
            "interview": "interview_id",
            "sentence": "sentence_id",
            "created_at": "created_at",
            "withdrawn_at": "withdrawn_at",
            "superseded_by": "superseded_by_id",
        },
        ["text"],
    ),
    (
        "rounds",
        "finish",
        "interview__project_id",
        {
            "interview": "interview_id",
            "coder": "coder_id",
            "finished_at": "finished_at",
            "shown_at": "shown_at",
            "withdrawn_at": "withdrawn_at",
        },
        [],
    ),
]


def record_rows(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for room, name, study, columns, texts in MODELS:
        paths = [*columns.values(), *texts]
        rows = apps.get_model(room, name)._base_manager.order_by(study, "pk")  # noqa: SLF001
        stored = rows.values_list(study, "pk", *paths).iterator(chunk_size=ROWS_AT_A_TIME)
        for project_id, own in groupby(stored, key=lambda row: row[0]):
            for some in _batch(own):
                _record(apps, f"project:{project_id}", f"{room}.{name}", (list(columns), texts), some)


def _batch(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    some: list[tuple[Any, ...]] = []
    for row in rows:
        some.append(row)
        if len(some) == ROWS_IN_AN_EVENT:
            yield some
            some = []
    if some:
        yield some


def _record(
    apps: StateApps,
    stream: str,
    label: str,
    names: tuple[list[str], list[str]],
    rows: list[tuple[Any, ...]],
) -> None:
    """One event that says what is found of some rows, chained to the last of its stream."""
    columns, texts = names
    AuditText = apps.get_model("audit_trail", "AuditText")
    said, kept = [], []
    for _, key, *values in rows:
        held = {
            name: _as_json(value)
            for name, value in zip([*columns, *texts], values, strict=True)
            if value not in (None, "", [], {})
        }
        change: dict[str, Any] = {"row": f"{label}:{key}"}
        for name in texts:
            if name in held:
                text, salt = held.pop(name), secrets.token_hex(16)
                content = text if isinstance(text, str) else CANONICAL.encode(text)
                digest = hashlib.sha256(f"{salt}\n{content}".encode()).hexdigest()
                change.setdefault("texts", {})[name] = digest
                kept.append(AuditText(hash=digest, salt=salt, content=content))
        said.append({**change, "found": held})
    AuditText.objects.bulk_create(kept, batch_size=200)
    head, _ = apps.get_model("audit_trail", "AuditHead").objects.get_or_create(stream=stream)
    at, details = timezone.now(), {"count": len(said), "rows": said}
    sequence, previous = head.sequence + 1, head.hash
    written = at.astimezone(datetime.UTC).isoformat(timespec="microseconds")
    content = CANONICAL.encode([stream, sequence, written, "system", "system", "trail.rows_found", label, details])
    digest = hashlib.sha256(f"auditapp.audit.1\n{previous}\n{content}".encode()).hexdigest()
    apps.get_model("audit_trail", "AuditEvent").objects.create(
        stream=stream,
        sequence=sequence,
        at=at,
        actor_id="system",
        actor_name="system",
        action="trail.rows_found",
        target=label,
        details=json.loads(CANONICAL.encode(details)),
        previous_hash=previous,
        hash=digest,
    )
    type(head).objects.filter(stream=stream).update(sequence=sequence, hash=digest)


def _as_json(value: object) -> Any:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(timespec="microseconds")
    return value.hex if isinstance(value, UUID) else value


class Migration(migrations.Migration):
    dependencies = [
        ("audit_trail", "0004_texts"),
        ("agreement", "0003_idempotency_keys"),
        ("coding", "0010_codings_are_migrated"),
        ("rounds", "0004_idempotency_keys"),
    ]

    operations = [migrations.RunPython(record_rows, migrations.RunPython.noop)]
