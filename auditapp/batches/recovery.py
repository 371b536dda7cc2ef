"""What the sweeper does: settle what dead runners left, and ring every lane that has work and no runner.

That one mechanism covers a killed worker, a flushed broker, a lost message and a deploy.
"""

from __future__ import annotations

import datetime
import logging
import os

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from auditapp.batches import ledger
from auditapp.batches.endings import Claimed, Finished
from auditapp.batches.models import Lane
from auditapp.batches.runner import name_machine
from auditapp.batches.spool import SpoolContent, read_spool, spool_path
from auditapp.llm.providers.base import ChatAnswer, End, Remedy

logger = logging.getLogger(__name__)

LOST = "the runner died before the answer came; the provider may have charged for it"
NEVER_LEFT = "the runner died before it was sent"


def recover_lanes() -> int:
    """Settle every lane whose runner is dead; the number of lanes settled."""
    settled = 0
    silent = {lane.pk for lane in ledger.find_expired_lanes()}
    for lane in Lane.objects.exclude(runner=""):
        if lane.pk not in silent and not is_dead_here(lane.runner):
            continue
        try:
            settle_runner(lane)
            settled += 1
        except Exception:
            # One lane that cannot be settled must not keep the others waiting; the next sweep tries it again.
            logger.exception("Lane %s could not be settled", lane.pk)
    return settled


def is_dead_here(runner: str) -> bool:
    """Whether ``runner`` lived on this machine and its process is gone. ``False`` when that cannot be known from here."""
    host, pid, _ = runner.rsplit(":", 2)
    if host != name_machine() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def settle_runner(lane: Lane) -> None:
    """Bring the ledger up to what is known of a dead runner, then let its lane go. Safe to repeat."""
    runner = lane.runner
    path = spool_path(settings.SPOOL_FOLDER, runner)
    content = read_spool(path)
    is_dead = is_dead_here(runner)
    with transaction.atomic():
        group = [
            _find_end(str(claim.request_id), ledger.describe_claim(claim), content, is_dead=is_dead)
            for claim in ledger.find_open_claims(runner)
        ]
        if group:
            ledger.store_finished(lane.batch_id, group, stopped=True)
        ledger.release_lane(lane, runner)
    path.unlink(missing_ok=True)
    ends = [each.answer.end for each in group]
    logger.warning(
        "Runner %s died: %d answers finished from its spool, %d calls never sent, %d with unknown end",
        runner,
        ends.count(End.ANSWERED),
        ends.count(End.UNSENT),
        ends.count(End.UNKNOWN),
    )


def _find_end(request_id: str, claimed: Claimed, content: SpoolContent | None, *, is_dead: bool) -> Finished:
    now = timezone.now()
    if content is None:
        return Finished(claimed, ChatAnswer(End.UNKNOWN, Remedy.RETRY, error=LOST), now)
    for spooled in content.answers:
        if spooled.request_id == request_id:
            return Finished(claimed, spooled.answer, datetime.datetime.fromisoformat(spooled.done_at))
    # A runner that is only silent may yet send what it holds; of a dead one the spool tells the whole story.
    if request_id in content.sent or not is_dead:
        return Finished(claimed, ChatAnswer(End.UNKNOWN, Remedy.RETRY, error=LOST), now)
    return Finished(claimed, ChatAnswer(End.UNSENT, Remedy.RETRY, error=NEVER_LEFT), now)
