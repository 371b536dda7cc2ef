"""Export the answers that a page lists: those of one cell as CSV, line by line. Every export is recorded."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.answers.pages import Answer
from auditapp.benchmarks.sob.report.actions import TAKEN_OUT
from transcripts.audit_trail import trail
from transcripts.formats.tabular import ROWS_AT_A_TIME, write_csv
from transcripts.studies.downloads import record_download


def send_answers(*, batch: Batch, answers: Iterable[Answer], with_texts: bool, by: trail.Actor) -> Iterator[bytes]:
    """The answers as CSV in pieces. The download is recorded before the first piece, its rows and its hash after the last.

    An interrupted download has only the first event.
    """
    details: dict[str, object] = {"what": "answers", "format": "csv", "texts": with_texts}
    record_download(TAKEN_OUT, study=batch.study, target=batch, by=by, details=details)
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
    record_download("sob.file.sent_whole", study=batch.study, target=batch, by=by, details=whole)


COLUMNS = (
    "cell",
    "model",
    "task",
    "repeat",
    "text_id",
    "source",
    "external_id",
    "target",
    "target_secondary",
    "target_tertiary",
    "outcome",
    "verdict",
    "reader",
    "parser",
    "repaired",
    "n_attributes",
    "n_strict",
    "attributes",
    "harms",
    "attempt",
    "tokens_in",
    "tokens_out",
)
WITH_TEXTS = ("text", "answer")
"""They may be hateful or offensive: only when asked for."""


def write_answers(answers: Iterable[Answer], *, with_texts: bool) -> Iterator[tuple[str, int]]:
    """The file in pieces, each with the number of its answers; formulas are escaped."""
    header = COLUMNS + (WITH_TEXTS if with_texts else ())
    rows = (_list_values(answer, with_texts=with_texts) for answer in answers)
    yield _write_piece((), header), 0
    while group := list(islice(rows, ROWS_AT_A_TIME)):
        # Every piece is written under the headings; the file has them once.
        yield _write_piece(group, header).partition("\r\n")[2], len(group)


def _write_piece(rows: Iterable[Sequence[object]], header: Sequence[str]) -> str:
    piece = io.StringIO(newline="")
    write_csv(rows, header=header, stream=piece)
    return piece.getvalue()


def _list_values(answer: Answer, *, with_texts: bool) -> tuple[object, ...]:
    judgment, current, text = answer.judgment, answer.current, answer.judgment.text
    attempt = answer.attempt
    values: tuple[object, ...] = (
        judgment.pk,
        answer.model,
        answer.task,
        judgment.repeat,
        text.pk,
        text.source,
        text.external_id,
        text.target,
        text.target_secondary,
        text.target_tertiary,
        current.outcome,
        current.verdict,
        answer.reader,
        current.parser,
        current.repaired,
        current.n_attributes,
        current.n_strict,
        current.attributes,
        " ".join(answer.harms),
        attempt.pk if attempt else None,
        attempt.tokens_in if attempt else None,
        attempt.tokens_out if attempt else None,
    )
    return (*values, text.text, answer.raw) if with_texts else values
