"""The answers of one cell as CSV, line by line: what every page of answers shows, in columns."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from auditapp.sob.answers.pages import Answer
from transcripts.formats.tabular import ROWS_AT_A_TIME, write_csv

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
    "layer",
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
        answer.layer,
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
