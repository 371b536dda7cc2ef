"""Export a batch: its report as files, and all of it as a bundle. Every export is recorded."""

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
from auditapp.sob.errors import SobError
from auditapp.sob.pure.outputs.bundle_writing import write_bundle
from auditapp.sob.report.bundle_rows import describe_source, list_members, open_source
from auditapp.sob.report.computing import ReportChoice
from auditapp.sob.report.snapshot import read_snapshot
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
    """Write the bundle of a batch completely or not at all, and record it.

    It holds the batch as it was at one moment, even while answers arrive, and blocks no writer. Without
    ``with_texts`` the texts are left out and their hashes stay. Raises ``SobError``.
    """
    try:
        with _draft_beside(path) as draft:
            written = _write_draft(draft, batch, choice, with_texts=with_texts)
            taken = TakenOut(
                path=path,
                sha256=_hash(draft),
                bytes=draft.stat().st_size,
                texts=written["inputs.jsonl"],
                answers=written["answers.jsonl"],
                attempts=written["attempts.jsonl"],
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


def _write_draft(draft: Path, batch: Batch, choice: ReportChoice | None, *, with_texts: bool) -> dict[str, int]:
    with draft.open("wb") as stream:
        with read_snapshot():
            as_it_is = Batch.objects.select_related("project").get(pk=batch.pk)
            source = open_source(as_it_is, choice=choice, with_texts=with_texts)
            written = write_bundle(stream, about=describe_source(source), members=list_members(source))
        stream.flush()
        os.fsync(stream.fileno())
    return written


@transaction.atomic
def record_download(*, batch: Batch, what: str, by: trail.Actor, details: dict[str, object] | None = None) -> None:
    """One audit event for an exported file."""
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
