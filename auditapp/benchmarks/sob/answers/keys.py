"""Which answers an address asks for, as keys in order: by an index where the choice is narrow, else along the keys themselves.

The current reading counts: that of the rules, or a later one. What no index holds (a value, a harm) is looked for
answer by answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import Any

from django.db.models import BigIntegerField, ExpressionWrapper, F, Max, Min, Q, QuerySet
from django.db.models.expressions import CombinedExpression

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Judgment, Reading, Text
from auditapp.benchmarks.sob.pure.measures.attributions import has_value, list_parts
from auditapp.benchmarks.sob.pure.measures.harms import find_harms
from auditapp.benchmarks.sob.pure.measures.mapping import Kind, Rule, TargetMapping, published_mapping
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.parsing import Outcome
from auditapp.benchmarks.sob.queries import AskedArm

RULES = "rules"
ANY_FURTHER, NO_FURTHER = "*", "-"
# Along the keys so many answers are looked at before an index is asked, which must read and sort all it finds.
WINDOW = 50_000
FEW_TEXTS = 2_000


@dataclass(frozen=True)
class Choice:
    """Which answers to show; an empty value does not narrow, and neither does the target "overall".

    ``maps`` is "self" or "dominant", by any value of the list or, with the ``rule`` "all", by every one. ``further`` names a
    text's second or third target; "*" is any, "-" none.
    """

    batch: Batch
    arms: Sequence[AskedArm]
    target: str = ""
    outcome: str = ""
    layer: str = ""
    value: str = ""
    harm: str = ""
    maps: str = ""
    rule: str = ""
    further: str = ""
    repeat: int | None = None
    text: int | None = None
    mapping: TargetMapping = field(default_factory=published_mapping)

    @property
    def arm_ids(self) -> list[int]:
        """The keys of the arms."""
        return [arm.arm_id for arm in self.arms]

    @property
    def is_looked_for(self) -> bool:
        """Whether each answer must be looked at."""
        return bool(self.value or self.harm or self.maps)

    def fits(self, task: str, target: str, outcome: str, attributes: dict[str, object]) -> bool:
        """Whether a reading has the value and the harm, and maps to what is looked for."""
        known = attributes if outcome == Outcome.ATTRIBUTED else {}
        if self.harm and self.harm not in find_harms(task, target, known, self.mapping):
            return False
        if self.maps and not self._maps(target, known):
            return False
        return not self.value or has_value(known, self.value)

    def _maps(self, target: str, known: dict[str, object]) -> bool:
        listed = self.mapping.list_values(target, Kind(self.maps)) if self.maps in set(Kind) else frozenset()
        parts = list_parts(known)
        return bool(listed) and (listed <= parts if self.rule == Rule.ALL else not listed.isdisjoint(parts))


def choose_arms(arms: Sequence[AskedArm], *, model: str, task: str) -> list[AskedArm]:
    """The arms of a model and a task; an empty name is every one."""
    return [arm for arm in arms if model in {"", arm.model} and task in {"", arm.task}]


def list_keys(choice: Choice, edge: int | None, *, backward: bool, limit: int) -> list[int]:
    """The next ``limit`` keys beyond ``edge``; value and harm are not looked at."""
    first = _list_near(choice, edge, backward=backward, limit=limit)
    if first is None:
        first = _list_of(_find_first(choice), "cell_id", "arm_id", choice, edge, backward=backward, limit=limit)
    later = _list_of(
        _find_later(choice), "judgment_id", "judgment__arm_id", choice, edge, backward=backward, limit=limit
    )
    return list(islice(merge(first, later, reverse=backward), limit))


def count_keys(choice: Choice, limit: int) -> int:
    """How many keys there are, as far as ``limit``."""
    found = _find_first(choice).filter(arm__in=choice.arm_ids)
    later = _find_later(choice).filter(judgment__arm__in=choice.arm_ids)
    return min(limit, found.order_by()[:limit].count() + later.order_by()[:limit].count())


def select_keys(choice: Choice, keys: Sequence[int]) -> list[int]:
    """Those of the keys whose current reading has the value and the harm that are looked for, in the same order."""
    if not choice.is_looked_for:
        return list(keys)
    tasks = {arm.arm_id: arm.task for arm in choice.arms}
    judgments = Judgment.objects.filter(pk__in=keys).order_by()
    rows = judgments.values_list("pk", "arm_id", "text__target", "outcome", "attributes", "superseded_by")
    readings = Reading.objects.filter(judgment__in=keys, superseded_by=None).order_by()
    later = {key: reading for key, *reading in readings.values_list("judgment_id", "outcome", "attributes")}
    fitting = set()
    for key, arm_id, target, outcome, attributes, superseded_by in rows:
        current = later[key] if superseded_by else (outcome, attributes)
        if choice.fits(tasks[arm_id], target, *current):
            fitting.add(key)
    return [key for key in keys if key in fitting]


def _find_first(choice: Choice) -> QuerySet[Judgment]:
    if choice.layer not in {"", RULES}:
        return Judgment.objects.none()
    found = Judgment.objects.filter(superseded_by=None, **_narrow(choice, ""))
    return found.filter(outcome=choice.outcome) if choice.outcome else found


def _find_later(choice: Choice) -> QuerySet[Reading]:
    if choice.layer == RULES:
        return Reading.objects.none()
    found = Reading.objects.filter(superseded_by=None, **_narrow(choice, "judgment__"))
    if choice.layer:
        found = found.filter(layer=choice.layer)
    return found.filter(outcome=choice.outcome) if choice.outcome else found


def _narrow(choice: Choice, prefix: str) -> dict[str, Any]:
    narrowed: dict[str, Any] = {}
    texts = _find_texts(choice)
    if texts is not None:
        few = list(texts.order_by().values_list("pk", flat=True)[: FEW_TEXTS + 1])
        if len(few) <= FEW_TEXTS:
            narrowed[f"{prefix}text__in"] = few
        elif choice.further:
            narrowed[f"{prefix}text__in"] = texts.order_by().values("pk")
        else:
            narrowed[f"{prefix}text__target"] = choice.target
    if choice.repeat is not None:
        narrowed[f"{prefix}repeat"] = choice.repeat
    if choice.text is not None:
        narrowed[f"{prefix}text"] = choice.text
    return narrowed


def _find_texts(choice: Choice) -> QuerySet[Text] | None:
    """The texts of the targets that are asked for; ``None`` where it is all."""
    has_target = choice.target and choice.target != OVERALL
    if not has_target and not choice.further:
        return None
    texts = Text.objects.filter(dataset__project=choice.batch.project_id)
    if has_target:
        texts = texts.filter(target=choice.target)
    without = Q(target_secondary="", target_tertiary="")
    if choice.further == ANY_FURTHER:
        return texts.exclude(without)
    if choice.further == NO_FURTHER:
        return texts.filter(without)
    named = Q(target_secondary=choice.further) | Q(target_tertiary=choice.further)
    return texts.filter(named) if choice.further else texts


def _list_of(
    found: QuerySet[Any], name: str, arm: str, choice: Choice, edge: int | None, *, backward: bool, limit: int
) -> list[int]:
    """Keys by an index: all that fit are read and sorted."""
    if edge is not None:
        found = found.filter(**{f"{name}__lt" if backward else f"{name}__gt": edge})
    keys = found.filter(**{f"{arm}__in": choice.arm_ids}).order_by(f"-{name}" if backward else name)
    return list(keys.values_list(name, flat=True)[:limit])


def _list_near(choice: Choice, edge: int | None, *, backward: bool, limit: int) -> list[int] | None:
    """Keys of first readings along the next stretch of all keys, where enough of them lie there; else ``None``."""
    if choice.text is not None or choice.layer not in {"", RULES}:
        return None
    mine = Judgment.objects.filter(arm__in=choice.arm_ids).order_by()
    beyond = mine if edge is None else mine.filter(**{"pk__lt" if backward else "pk__gt": edge})
    start = beyond.aggregate(edge=(Max if backward else Min)("pk"))["edge"]
    if start is None:
        return []
    low, high = (start - WINDOW, start) if backward else (start, start + WINDOW)
    # Adding nothing to a column keeps the database from its index, which is not in the order of the keys.
    found = Judgment.objects.alias(
        of_arm=_plain("arm_id"), of_reading=_plain("superseded_by_id"), of_text=_plain("text_id")
    )
    narrowed = {name.replace("text__in", "of_text__in"): value for name, value in _narrow(choice, "").items()}
    if choice.outcome:
        narrowed["outcome"] = choice.outcome
    near = found.filter(of_arm__in=choice.arm_ids, of_reading__isnull=True, pk__gte=low, pk__lte=high, **narrowed)
    keys = list(near.order_by("-pk" if backward else "pk").values_list("pk", flat=True)[:limit])
    return keys if len(keys) == limit else None


def _plain(column: str) -> ExpressionWrapper[CombinedExpression]:
    return ExpressionWrapper(F(column) + 0, output_field=BigIntegerField())
