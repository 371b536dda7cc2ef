"""Export the answers that a page lists. Every export is recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from auditapp.batches.models import Batch
from auditapp.sob.answers.pages import Answer
from auditapp.sob.answers.rows import write_answers
from auditapp.sob.report.actions import TAKEN_OUT
from transcripts.audit_trail import trail
from transcripts.projects.downloads import record_download


def send_answers(*, batch: Batch, answers: Iterable[Answer], with_texts: bool, by: trail.Actor) -> Iterator[bytes]:
    """The answers as CSV in pieces. The download is recorded before the first piece, its rows and its hash after the last.

    An interrupted download has only the first event.
    """
    details: dict[str, object] = {"what": "answers", "format": "csv", "texts": with_texts}
    record_download(TAKEN_OUT, project=batch.project, target=batch, by=by, details=details)
    return _send_pieces(batch, answers, details, with_texts=with_texts, by=by)


def _send_pieces(
    batch: Batch, answers: Iterable[Answer], details: dict[str, object], *, with_texts: bool, by: trail.Actor
) -> Iterator[bytes]:
    digest, rows = hashlib.sha256(), 0
    for piece, n in write_answers(answers, with_texts=with_texts):
        written = piece.encode()
        digest.update(written)
        rows += n
        yield written
    whole = {**details, "rows": rows, "sha256": digest.hexdigest()}
    record_download("sob.file.sent_whole", project=batch.project, target=batch, by=by, details=whole)
