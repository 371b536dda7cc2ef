"""What a batch actually asks: which texts, their targets, and how often."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from django.db.models import Max, QuerySet

from auditapp.batches.models import Batch, Cell
from auditapp.sob.models import Text

AT_A_TIME = 5_000


def find_asked_texts(arm_ids: Sequence[int]) -> QuerySet[Text]:
    """The texts that these arms ask about, without cancelled cells."""
    cells = Cell.objects.filter(arm__in=arm_ids).exclude(state=Cell.State.CANCELLED)
    return Text.objects.filter(pk__in=cells.order_by().values("input_id"))


def hash_asked_texts(arm_ids: Sequence[int]) -> tuple[int, str, str]:
    """How many texts these arms ask about, and two hashes: of their words, and of their words with whom they target.

    Neither hash depends on the set the texts lie in, nor on their order, so that two batches can be compared.
    """
    words, targets = [], []
    rows = find_asked_texts(arm_ids).order_by().values_list("text", "target", "target_secondary", "target_tertiary")
    for text, *targeted in rows.iterator(chunk_size=AT_A_TIME):
        words.append(_hash([text]))
        targets.append(_hash([text, *targeted]))
    return len(words), _hash(sorted(words)), _hash(sorted(targets))


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def count_repeats(batch: Batch) -> int:
    """How often a batch asks about each text; counted from its cells if the batch did not record it."""
    known = batch.parameters.get("repeats")
    if isinstance(known, int):
        return known
    arm_ids = list(batch.arms.values_list("pk", flat=True))
    return Cell.objects.filter(arm__in=arm_ids).aggregate(most=Max("repeat"))["most"] or 1
