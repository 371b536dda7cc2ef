"""Take a batch out of the house: its report as files, and all of it as a bundle. What leaves is on record."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from auditapp.batches.models import Batch
from auditapp.sob.actions.errors import SobError
from auditapp.sob.outputs.bundle_rows import describe_source, list_members, open_source
from auditapp.sob.outputs.bundle_writing import write_bundle
from auditapp.sob.reporting import ReportChoice
from transcripts.audit_trail import trail

PIECE = 1024 * 1024


class TakenOut(NamedTuple):
    """A bundle that was written; ``answers`` and ``attempts`` are lines of it."""

    path: Path
    sha256: str
    bytes: int
    texts: int
    answers: int
    attempts: int


def write_sob_bundle(
    *, batch: Batch, path: Path, by: trail.Actor, with_texts: bool = True, choice: ReportChoice | None = None
) -> TakenOut:
    """Write the bundle of a batch, which is there whole or not at all, and record it. Reads batch.project.

    Without ``with_texts`` the texts are left out and their hashes stay. Rows are read outside of a transaction, which on
    SQLite would keep everybody else from writing all the while. Raises ``SobError``.
    """
    try:
        source = open_source(batch, choice=choice, with_texts=with_texts)
        with _draft_beside(path) as draft:
            with draft.open("wb") as stream:
                written = write_bundle(stream, about=describe_source(source), members=list_members(source))
                stream.flush()
                os.fsync(stream.fileno())
            taken = TakenOut(
                path=path,
                sha256=_hash(draft),
                bytes=draft.stat().st_size,
                texts=written.lines["inputs.jsonl"],
                answers=written.lines["answers.jsonl"],
                attempts=written.lines["attempts.jsonl"],
            )
            details = {"sha256": taken.sha256, "texts": with_texts, "answers": taken.answers}
            with transaction.atomic():
                record_download(batch=batch, what="bundle", by=by, details=details)
                draft.replace(path)
    except LookupError as error:
        raise SobError(str(error)) from error
    except OSError as error:
        raise SobError(f"{path} cannot be written: {error.strerror}.") from error
    return taken


@transaction.atomic
def record_download(*, batch: Batch, what: str, by: trail.Actor, details: dict[str, object] | None = None) -> None:
    """One audit event for a file that leaves."""
    trail.record(
        "sob.file.taken_out",
        target=batch,
        by=by,
        stream=trail.project_stream(batch.project_id),
        details={"what": what, **(details or {})},
    )


@contextmanager
def _draft_beside(path: Path) -> Iterator[Path]:
    """An empty file in the same folder, gone at the end unless it was put in its place."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".bundle-", delete=False) as stream:
        draft = Path(stream.name)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
