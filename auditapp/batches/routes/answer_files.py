"""The route through files: the requests of a batch are exported as a file, and the answers imported from one.

The files contain the texts. The audit trail records the number of lines, never their content.
"""

from __future__ import annotations

import datetime
import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from django.db import transaction
from django.db.models import F

from auditapp.batches.ledger import leases, results
from auditapp.batches.ledger.endings import CompletedCall
from auditapp.batches.ledger.prompts import hash_request, keep_history, make_request, write_requests
from auditapp.batches.models import Arm, Attempt, Batch, Cell
from auditapp.batches.pure.answer_lines import FileAnswer, read_answer_lines, refuse_line
from auditapp.llm.models import ModelVariant
from auditapp.llm.providers.base import CallOutcome, ChatRequest, SettingRefused
from auditapp.outbound.clock import read_now
from transcripts.audit_trail import trail
from transcripts.refusals import Refused

GROUP = 500
"""Cells read, or answers stored, at once."""
MAX_PROBLEMS = 20
FORMS = ("openai", "anthropic")
PIECE = 1024 * 1024


class AnswerFileError(Refused):
    """The file cannot be used; the message names the first line with a problem, ``problems`` are the next ones."""

    def __init__(self, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.problems = list(problems)


@dataclass
class AnswerImport:
    """A file of answers that is being imported, and the counts so far.

    ``failed``: lines with an error instead of an answer. ``skipped``: lines of cells that had already ended, or that were
    imported from the same file before. ``waiting``: cells of the batch that still have no answer when the import has ended.
    """

    batch: Batch
    arms: dict[int, Arm]
    sha256: str
    by: trail.Actor
    lines: int = 0
    answered: int = 0
    failed: int = 0
    skipped: int = 0
    waiting: int = 0

    @property
    def runner(self) -> str:
        """The owner of the cells' leases while they are stored."""
        return f"file:{self.sha256[:12]}"


def export_requests(
    *, batch: Batch, by: trail.Actor, variant: ModelVariant | None = None, form: str = FORMS[0]
) -> tuple[int, Iterator[bytes]]:
    """How many cells wait for an answer (of one model, if ``variant`` is given), and their requests, one line each.

    Of a conversation, only the next question is included: once its answer is imported, the export contains the question after it.
    Lines are written as they are read, always in the same order, in one of ``FORMS``. Raises ``AnswerFileError``.
    """
    _check_route(batch)
    if form not in FORMS:
        raise AnswerFileError(f"There is no format {form!r}. The formats are {', '.join(FORMS)}.")
    if not batch.is_open:
        raise AnswerFileError(f"Batch {batch.pk} is {batch.get_state_display().lower()}: none of its cells is waiting.")
    arms = [arm.pk for arm in _read_arms(batch).values() if variant is None or arm.variant_id == variant.pk]
    if not arms:
        raise AnswerFileError(f"Batch {batch.pk} does not use the model {variant}.")
    _check_settings(batch, arms, form)
    cells = Cell.objects.filter(batch=batch, arm__in=arms, state=Cell.State.PLANNED).count()
    with transaction.atomic():
        trail.record("batch.requests_exported", target=batch, by=by, details={"cells": cells})
    return cells, _write_lines(batch, arms, form)


def _check_settings(batch: Batch, arm_ids: Sequence[int], form: str) -> None:
    """Raise an error now that would otherwise occur while the file is being written."""
    for pk, arm in _read_arms(batch).items():
        if pk in arm_ids:
            try:
                _choose_writer(form)("cell-0", make_request(arm, ""))
            except SettingRefused as error:
                raise AnswerFileError(str(error)) from error


def _choose_writer(form: str) -> Callable[[str, ChatRequest], bytes]:
    from auditapp.llm.providers.anthropic import write_anthropic_line
    from auditapp.llm.providers.openai_compatible import write_openai_line

    return write_anthropic_line if form == "anthropic" else write_openai_line


def _check_route(batch: Batch) -> None:
    if batch.route != Batch.Route.FILE:
        raise AnswerFileError(
            f"Batch {batch.pk} calls its models itself. Only a batch whose answers come from a file has request files."
        )


def _read_arms(batch: Batch) -> dict[int, Arm]:
    return {arm.pk: arm for arm in batch.arms.select_related("variant__account", "capabilities")}


def _write_lines(batch: Batch, arm_ids: Sequence[int], form: str) -> Iterator[bytes]:
    write = _choose_writer(form)
    arms, last = _read_arms(batch), 0
    waiting = Cell.objects.filter(batch=batch, arm__in=arm_ids, state=Cell.State.PLANNED).order_by("pk")
    while cells := list(waiting.filter(pk__gt=last)[:GROUP]):
        last = cells[-1].pk
        requests, _ = write_requests(batch, arms, cells)
        for cell in cells:
            if cell.pk in requests:
                yield write(f"cell-{cell.pk}", requests[cell.pk]) + b"\n"


def import_answer_file(*, batch: Batch, file: BinaryIO, by: trail.Actor, dry_run: bool = False) -> AnswerImport:
    """Store the answers of a file after checking every line. Raises ``AnswerFileError``.

    The answers are stored in groups, each in one transaction with its audit event. If the import stops half-way, the same file
    can be imported again: answers that were stored are skipped, and importing a completely stored file changes nothing. ``file``
    is read three times from its beginning.
    """
    _check_route(batch)
    if batch.state == Batch.State.CANCELLED:
        raise AnswerFileError(f"Batch {batch.pk} is cancelled and accepts no answers.")
    sha256 = _hash(file)
    _check_lines(batch, file)
    intake = AnswerImport(batch, _read_arms(batch), sha256, by)
    for group in _read_groups(file):
        if dry_run:
            _count(intake, group, _leave_out_ended(group, intake.runner, lock=False))
        else:
            _store_group(intake, group)
    intake.waiting = Cell.objects.filter(batch=batch, state__in=[Cell.State.PLANNED, Cell.State.BLOCKED]).count()
    return intake


def _hash(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
    return digest.hexdigest()


def _read_groups(file: BinaryIO) -> Iterator[list[FileAnswer]]:
    file.seek(0)
    lines = (line for line in read_answer_lines(file) if isinstance(line, FileAnswer))
    while group := list(islice(lines, GROUP)):
        yield group


def _check_lines(batch: Batch, file: BinaryIO) -> None:
    file.seek(0)
    seen: dict[int, int] = {}
    problems: list[str] = []
    lines = count = 0
    read = read_answer_lines(file)
    while group := list(islice(read, GROUP)):
        lines += len(group)
        found = [*_find_problems(batch, group, seen)]
        count += len(found)
        problems.extend(found[: MAX_PROBLEMS - len(problems)])
    if not lines:
        raise AnswerFileError("The file is empty. It needs one line of JSON for each answer.")
    if count:
        raise AnswerFileError(
            f"{count} of {lines} lines cannot be used, so nothing was stored. {problems[0]}", problems[1:]
        )


def _find_problems(batch: Batch, group: Iterable[FileAnswer | str], seen: dict[int, int]) -> Iterator[str]:
    """The lines that are not exactly one answer to a cell of the batch, in order. Adds to ``seen``."""
    group = list(group)
    ids = [each.cell_id for each in group if isinstance(each, FileAnswer)]
    cells = Cell.objects.filter(pk__in=ids).only("batch_id", "state").in_bulk()
    for each in group:
        if isinstance(each, str):
            yield each
            continue
        cell = cells.get(each.cell_id)
        if cell is None or cell.batch_id != batch.pk:
            found = f"cell {each.cell_id}, which " + (
                "does not exist" if cell is None else f"is of batch {cell.batch_id}"
            )
            yield refuse_line(each.line, found, f"a cell of batch {batch.pk}")
        elif cell.state == Cell.State.BLOCKED:
            found = f"cell {each.cell_id}, whose request is only known when the question before it is answered"
            yield refuse_line(each.line, found, "an answer to an exported request")
        elif each.cell_id in seen:
            first = seen[each.cell_id]
            yield refuse_line(each.line, f"cell {each.cell_id} again (as on line {first})", "one line for each cell")
        seen.setdefault(each.cell_id, each.line)


def _leave_out_ended(group: Sequence[FileAnswer], runner: str, *, lock: bool) -> list[tuple[FileAnswer, Cell]]:
    """The lines that are to be stored, each with its cell."""
    ids = [each.cell_id for each in group]
    cells = Cell.objects.filter(pk__in=ids, state=Cell.State.PLANNED)
    waiting = {cell.pk: cell for cell in (cells.select_for_update() if lock else cells)}
    again = set(Attempt.objects.filter(cell__in=ids, runner=runner).values_list("cell_id", flat=True))
    return [(each, waiting[each.cell_id]) for each in group if each.cell_id in waiting and each.cell_id not in again]


def _count(
    intake: AnswerImport, group: Sequence[FileAnswer], taken: Sequence[tuple[FileAnswer, Cell]]
) -> dict[str, int]:
    """Store a group of lines and add their counts to the import."""
    answered = sum(line.answer.end is CallOutcome.ANSWERED for line, _ in taken)
    counts = {"answered": answered, "failed": len(taken) - answered, "skipped": len(group) - len(taken)}
    intake.lines += len(group)
    for name, count in counts.items():
        setattr(intake, name, getattr(intake, name) + count)
    return counts


@transaction.atomic
def _store_group(intake: AnswerImport, group: Sequence[FileAnswer]) -> None:
    batch = Batch.objects.select_for_update().get(pk=intake.batch.pk)
    taken = _leave_out_ended(group, intake.runner, lock=True)
    count = _count(intake, group, taken)
    if not taken:
        return
    results.store_completed(batch.pk, _write_attempts(intake, taken))
    trail.record("batch.answers_brought_in", target=batch, by=intake.by, details={"file": intake.runner, **count})


def _write_attempts(intake: AnswerImport, taken: Sequence[tuple[FileAnswer, Cell]]) -> list[CompletedCall]:
    """Lease the cells for a moment and write an open attempt for each, because every answer in the ledger has an attempt."""
    now = read_now()
    requests, _ = write_requests(intake.batch, intake.arms, [cell for _, cell in taken])
    Cell.objects.filter(pk__in=[cell.pk for _, cell in taken]).update(
        state=Cell.State.LEASED, lease_owner=intake.runner, lease_until=now + leases.LEASE, fence=F("fence") + 1
    )
    attempts = Attempt.objects.bulk_create(
        _write_attempt(intake, cell, requests.get(cell.pk), now) for _, cell in taken
    )
    return [
        CompletedCall(leases.make_leased_cell(attempt), line.answer, now)
        for attempt, (line, _) in zip(attempts, taken, strict=True)
    ]


def _write_attempt(intake: AnswerImport, cell: Cell, request: ChatRequest | None, now: datetime.datetime) -> Attempt:
    """``request`` is ``None`` if the input is gone."""
    cell.arm, cell.batch = intake.arms[cell.arm_id], intake.batch
    cell.fence += 1
    return Attempt(
        cell=cell,
        arm=cell.arm,
        prompt=request.user if request else "",
        history=keep_history(request, cell.arm) if request else None,
        fence=cell.fence,
        request_id=request.request_id if request else uuid.uuid4(),
        runner=intake.runner,
        request_hash=hash_request(request, cell.arm.variant.account) if request else "",
        written_at=now,
    )
