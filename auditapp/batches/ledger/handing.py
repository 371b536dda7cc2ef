"""Hand the ends of cells over to their kind."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import transaction

from auditapp.batches.kinds import Answered, get_kind
from auditapp.batches.ledger.batch_state import NOT_STORABLE
from auditapp.batches.models import Batch

logger = logging.getLogger(__name__)


def hand_over(batch: Batch, handed: Sequence[Answered]) -> dict[int, str]:
    """Let the kind store the answers; the outcomes by cell. One that it cannot store must not stop the others, nor the engine: it
    keeps its result and counts as not storable."""
    kind = get_kind(batch.kind)
    try:
        with transaction.atomic():
            return dict(kind.store_answers(batch, handed))
    except Exception:
        logger.exception("Batch %s: a group of %d answers could not be stored together", batch.pk, len(handed))
    outcomes: dict[int, str] = {}
    for each in handed:
        try:
            with transaction.atomic():
                outcomes.update(kind.store_answers(batch, [each]))
        except Exception:
            logger.exception("Batch %s: the answer of cell %s could not be stored", batch.pk, each.cell_id)
            outcomes[each.cell_id] = NOT_STORABLE
    return outcomes
