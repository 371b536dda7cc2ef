"""Store the cells of a launch: in the transaction of the launch or, if there are many, in short transactions after it.

While its cells are being stored, a batch is in the state *planning*. It has its arms, its money and its event from the start, but
no work queue until all of its cells are stored, so no worker can find it.
"""

from __future__ import annotations

import datetime
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from django.db import connection, transaction

from auditapp.batches.actions import cancel_batch, commit_cap, lock_batch, notify_queues
from auditapp.batches.ledger.statements import insert_cells
from auditapp.batches.models import Arm, Batch, Cell, WorkQueue
from auditapp.batches.pure.conversations import cut_by_length, list_conversations
from auditapp.outbound.clock import read_now
from transcripts.audit_trail import trail
from transcripts.corpus.storing import short_transaction
from transcripts.refusals import Refused

# At most this number of cells is stored in the transaction of the launch: it keeps others waiting for some 30 ms.
SMALL_SIZE = 5000
# A waiting writer of SQLite tries again after longer and longer pauses: of many short transactions it soon finds a gap.
# PostgreSQL lets others write meanwhile, so there are fewer commits that wait for the disk.
CELLS_AT_A_TIME = {"sqlite": 500, "postgresql": SMALL_SIZE}
MARKED_AT_ONCE = 1000
# Storing the largest launch takes seconds. One that was begun so long ago was killed.
ABANDONED_AFTER = datetime.timedelta(minutes=10)

STORING = "Its {cells:,} cells are being stored; its calls begin when all are stored."
REFUSED = "{why} Nothing was asked."
INTERRUPTED = "The launch was interrupted before all cells were stored, so nothing was asked. Launch it again."
STOPPED = "Batch {batch} was cancelled before all of its cells were stored. Nothing was asked."


class Grid(NamedTuple):
    """The cells of a planned batch: its arms, and for each arm its inputs and the number of conversations in its pilot.

    ``after`` says which input continues which; an input that continues none and that none continues is a conversation of its own.
    """

    arms: Sequence[Arm]
    inputs: Sequence[Sequence[int]]
    repeats: int
    pilots: Sequence[int]
    queue_names: Sequence[str]
    after: Mapping[int, int] = {}

    @property
    def cells(self) -> int:
        """How many cells there are in all."""
        return sum(len(ids) for ids in self.inputs) * self.repeats


def is_large(route: str, cells: int) -> bool:
    """Whether the cells are stored after the transaction of the launch. Answers from a file may be read in the same transaction."""
    return cells > SMALL_SIZE and route != Batch.Route.FILE


def plan_at_once(batch: Batch, grid: Grid) -> None:
    """Store all cells in the caller's transaction, arms with the same inputs in one statement, and open the queues."""
    together: dict[int, list[int]] = defaultdict(list)
    for place, ids in enumerate(grid.inputs):
        together[id(ids)].append(place)
    for places in together.values():
        arm_ids = [grid.arms[place].pk for place in places]
        again = range(1, grid.repeats + 1)
        ids = order_by_conversation(grid.inputs[places[0]], grid.after)
        insert_cells(batch_id=batch.pk, arm_ids=arm_ids, input_ids=ids, repeats=again, after=grid.after)
    for marked in _list_marked(batch, grid):
        _mark(*marked)
    _open_queues(batch, grid)


def plan_by_parts(batch: Batch, grid: Grid, *, by: trail.Actor) -> None:
    """Store the cells in short transactions; the last one makes the batch visible to the workers. Call it outside any
    transaction.

    If it cannot continue, the batch is cancelled before anything is asked. Raises ``Refused``.
    """
    try:
        for arm_id, again, ids in _cut(grid):
            with short_transaction():
                _refuse_stopped(batch)
                insert_cells(batch_id=batch.pk, arm_ids=[arm_id], input_ids=ids, repeats=again, after=grid.after)
        for marked in _list_marked(batch, grid):
            with short_transaction():
                _refuse_stopped(batch)
                _mark(*marked)
        with transaction.atomic():
            locked = _refuse_stopped(batch)
            if Cell.objects.filter(batch=batch).count() != grid.cells:
                raise Refused(STOPPED.format(batch=batch.pk))
            # A grant may have been revoked meanwhile.
            commit_cap(locked, locked.cap_nano, by)
            state = Batch.State.PILOT if locked.pilot_cells else Batch.State.RUNNING
            Batch.objects.filter(pk=batch.pk).update(state=state, state_reason="")
            _open_queues(batch, grid)
    except Refused as error:
        _give_up(batch, why=REFUSED.format(why=error))
        raise
    except BaseException:
        _give_up(batch)
        raise
    batch.refresh_from_db()


def cancel_abandoned(*, seconds: float = math.inf) -> None:
    """Cancel the batches whose launch was killed. After ``seconds``, the rest is left for later."""
    end = time.monotonic() + seconds
    late = read_now() - ABANDONED_AFTER
    for batch in Batch.objects.filter(state=Batch.State.PLANNING, created_at__lt=late).order_by("pk"):
        _give_up(batch, end=end)


def _refuse_stopped(batch: Batch) -> Batch:
    """The locked row of a batch that is still being planned. Raises ``Refused``."""
    locked = lock_batch(batch)
    if locked.state != Batch.State.PLANNING:
        raise Refused(STOPPED.format(batch=batch.pk))
    return locked


def _give_up(batch: Batch, *, end: float = math.inf, why: str = INTERRUPTED) -> None:
    """Remove the cells of a batch that is still being planned, which have not been seen or asked, and cancel the batch."""
    at_a_time = CELLS_AT_A_TIME[connection.vendor]
    while time.monotonic() < end:
        with short_transaction():
            locked = lock_batch(batch)
            if locked.state != Batch.State.PLANNING:
                return
            cells = list(Cell.objects.filter(batch=batch).order_by().values_list("pk", flat=True)[:at_a_time])
            if not cells:
                cancel_batch(batch=locked, by=trail.SYSTEM)
                Batch.objects.filter(pk=batch.pk).update(state_reason=why)
                return
            Cell.objects.filter(pk__in=cells)._raw_delete(connection.alias)  # noqa: SLF001


def _cut(grid: Grid) -> Iterator[tuple[int, Sequence[int], Sequence[int]]]:
    """The grid in parts of about ``CELLS_AT_A_TIME`` cells, none with half a conversation: an arm, some repeats and some inputs."""
    at_a_time = CELLS_AT_A_TIME[connection.vendor]
    for arm, ids in zip(grid.arms, grid.inputs, strict=True):
        together = max(1, at_a_time // len(ids))
        for first in range(1, grid.repeats + 1, together):
            again = range(first, min(first + together, grid.repeats + 1))
            for part in cut_by_length(list_conversations(ids, grid.after), at_a_time):
                yield arm.pk, again, list(chain.from_iterable(part))


def _list_marked(batch: Batch, grid: Grid) -> Iterator[tuple[Arm, int, list[int]]]:
    """The cells of the pilot in short lists: an arm, a repeat and inputs."""
    for arm, drawn in draw_pilots(batch, grid):
        for repeat, marked in drawn.items():
            for start in range(0, len(marked), MARKED_AT_ONCE):
                yield arm, repeat, marked[start : start + MARKED_AT_ONCE]


def _mark(arm: Arm, repeat: int, chosen: Sequence[int]) -> None:
    Cell.objects.filter(arm=arm, repeat=repeat, input_id__in=chosen).update(pilot=True)


def draw_pilots(batch: Batch, grid: Grid) -> Iterator[tuple[Arm, dict[int, list[int]]]]:
    """For each arm the inputs of its pilot by repeat, always the same for the same batch."""
    for arm, ids, pilot in zip(grid.arms, grid.inputs, grid.pilots, strict=True):
        yield (
            arm,
            draw_pilot(list_conversations(ids, grid.after), grid.repeats, pilot, seed=f"batch {batch.pk} arm {arm.pk}"),
        )


def draw_pilot(conversations: Sequence[Sequence[int]], repeats: int, count: int, *, seed: str) -> dict[int, list[int]]:
    """``count`` whole conversations of an arm as inputs by repeat: a simple random sample, the same for the same seed.

    The sample is random because texts have an order, so the cost of the first ones says little about the rest.
    """
    places = random.Random(seed).sample(range(len(conversations) * repeats), count)  # noqa: S311 - a sample, not a secret
    drawn: dict[int, list[int]] = defaultdict(list)
    for place in places:
        repeat, position = divmod(place, len(conversations))
        drawn[repeat + 1] += conversations[position]
    return dict(drawn)


def order_by_conversation(input_ids: Sequence[int], after: Mapping[int, int]) -> Sequence[int]:
    """The inputs with each conversation in one piece, so that one that was begun is finished before later ones are begun."""
    return list(chain.from_iterable(list_conversations(input_ids, after))) if after else input_ids


def _open_queues(batch: Batch, grid: Grid) -> None:
    queues = [WorkQueue.objects.create(batch=batch, name=name) for name in grid.queue_names]
    if batch.route != Batch.Route.FILE:
        notify_queues(queues)
