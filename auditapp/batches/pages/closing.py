"""What is left of a batch for those who may not look into its calls: its state, and how far it is.

What a call cost, how long it took and what came of it can tell what a machine said. A sum over few calls, or one that grows
while somebody looks, tells it as well.
"""

from __future__ import annotations

from auditapp.batches.models import WORKING_STATES, Batch
from auditapp.batches.pages.progress import Progress

ENOUGH_CALLS = 20


def close_progress(progress: Progress) -> Progress:
    """The same without outcomes, arms, calls and speed."""
    return progress._replace(
        outcomes={},
        by_arm={},
        calls=0,
        cached=0,
        unknown_calls=0,
        unknown_nano=0,
        throughput=0.0,
        eta_seconds=None,
        eta_basis="",
        last_answer_at=None,
    )


def count_percent(progress: Progress) -> int:
    """The share of calls that came to an end, in whole per cent, rounded down: nothing of their number."""
    return 100 * progress.ended // progress.cells if progress.cells else 0


def is_sum_told(batch: Batch, progress: Progress) -> bool:
    """Whether who answers for the money is told what all calls cost together."""
    return batch.state not in WORKING_STATES and progress.ended >= ENOUGH_CALLS
