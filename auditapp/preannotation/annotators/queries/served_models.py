"""Which models answered behind an annotator's readings, as the provider named them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from auditapp.batches.models import Arm
from auditapp.preannotation.models import Annotator, Reading

# By turn the names of those who answered; "" where the provider told none.
ServedModels = dict[int, set[str]]


def read_served_models(annotator: Annotator, code: str) -> ServedModels:
    """Of each turn that the annotator read for this code, who gave the answers that may stand: the last whole one and what
    came after it. Two queries."""
    readings = Reading.objects.filter(annotator=annotator).exclude(outcome=Reading.Outcome.INVALID)
    columns = ("cell__arm_id", "cell__input_id", "missing", "cell__result__attempt__served_model")
    rows = list(readings.order_by("pk").values_list(*columns))
    asking = _find_asking({arm for arm, *_ in rows}, code)
    found: ServedModels = defaultdict(set)
    for arm, turn, missing, served in rows:
        if arm in asking:
            if not missing:
                found[turn].clear()
            found[turn].add(served or "")
    return dict(found)


def _find_asking(arms: Collection[int], code: str) -> set[int]:
    """The arms that asked for the code; one of before codes were listed asked for all of its family, so it counts."""
    rows = Arm.objects.filter(pk__in=arms).values_list("pk", "settings")
    return {pk for pk, settings in rows if code in settings.get("codes", [code])}
