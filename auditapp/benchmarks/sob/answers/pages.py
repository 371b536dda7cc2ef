"""The answers behind a number, a page at a time, each with the current interpretation and those before it.

Pages go by key, so that the last page of a million answers comes as fast as the first.

A call of the benchmark leads to the text it was asked about, the answer it read, and how that was read.

Which answers an address asks for, as keys in order: by an index where the choice is narrow, else along the keys themselves.

The current interpretation counts: that of the rules, or a later one. What no index holds (a value, a harm) is looked for
answer by answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Max, Min, Q, QuerySet, Sum
from django.db.models.expressions import CombinedExpression
from django.urls import reverse

from auditapp.batches.kinds import Link
from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.benchmarks.sob.models import Interpretation, Judgment, ReadAnswer, Text
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.measures.attributions import has_value, list_parts
from auditapp.benchmarks.sob.pure.measures.mapping import Kind, Rule, TargetMapping, published_mapping
from auditapp.benchmarks.sob.pure.measures.secondary import Harm, find_harms
from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.parsing import Outcome
from auditapp.benchmarks.sob.queries import AskedArm

PER_PAGE = 25
COUNTED_TO = 10_000
LOOKED_THROUGH = 10_000
AT_A_TIME = 500
COUNTED_AT_A_TIME = 2_500
MAX_ON_A_TEXT = 200


class Answer(NamedTuple):
    """One answer: the current interpretation, its reader, and the interpretations before it, the rules' own first."""

    model: str
    task: str
    judgment: Judgment
    current: ReadAnswer
    reader: str
    earlier: list[ReadAnswer]
    harms: list[Harm]

    @property
    def raw(self) -> str | None:
        """The answer as it came; ``None`` where none did."""
        return self.judgment.cell.result.answer if hasattr(self.judgment.cell, "result") else None

    @property
    def attempt(self) -> Attempt | None:
        """The call that returned it."""
        return self.judgment.cell.result.attempt if hasattr(self.judgment.cell, "result") else None


def read_page(
    choice: Choice, *, after: int | None = None, before: int | None = None, known_count: int | None = None
) -> dict[str, Any]:
    """The page that follows ``after``, or the one that ends before ``before``; the first where neither is given.

    ``known_count`` is how many answers fit, if that is known. The page has its ``rows``, and the keys to go on from in ``after``
    and ``before``, ``None`` at the end. ``counted`` stops one above ``COUNTED_TO``; where each answer must be looked at, it is of
    the first ``LOOKED_THROUGH``, and ``counted_whole`` says whether these are all. ``stopped``: the page ended because enough
    was looked through.
    """
    backward = before is not None
    edge = before if backward else after
    found, last, stopped = _search(choice, edge, backward=backward, limit=PER_PAGE + 1)
    keys = found[:PER_PAGE]
    more = keys[-1] if len(found) > PER_PAGE else last if stopped else None
    back = (keys[0] if keys else edge) if edge is not None else None
    counted, is_whole = (known_count, True) if known_count is not None else _count(choice)
    return {
        "rows": _read_answers(keys[::-1] if backward else keys, choice),
        "before": more if backward else back,
        "after": back if backward else more,
        "counted": counted,
        "counted_whole": is_whole,
        "stopped": stopped,
    }


def iterate_answers(choice: Choice) -> Iterator[Answer]:
    """Every answer that fits, in the order of the pages."""
    edge = None
    while keys := list_keys(choice, edge, backward=False, limit=AT_A_TIME):
        yield from _read_answers(select_keys(choice, keys), choice)
        edge = keys[-1]


def read_answers_on_text(choice: Choice) -> list[Answer]:
    """The answers to one text, at most ``MAX_ON_A_TEXT``, by model, task and repeat."""
    answers = _read_answers(list_keys(choice, None, backward=False, limit=MAX_ON_A_TEXT), choice)
    return sorted(answers, key=lambda each: (each.model, each.task, each.judgment.repeat))


def _search(choice: Choice, edge: int | None, *, backward: bool, limit: int) -> tuple[list[int], int | None, bool]:
    """The first ``limit`` matching keys beyond ``edge``, the last key looked at, and whether the search stopped early.

    It stops after ``LOOKED_THROUGH`` answers that each had to be looked at.
    """
    if not choice.is_looked_for:
        return list_keys(choice, edge, backward=backward, limit=limit), None, False
    found: list[int] = []
    for _ in range(0, LOOKED_THROUGH, AT_A_TIME):
        keys = list_keys(choice, edge, backward=backward, limit=AT_A_TIME)
        found += select_keys(choice, keys)
        if len(found) >= limit or len(keys) < AT_A_TIME:
            return found[:limit], None, False
        edge = keys[-1]
    return found, edge, True


def _count(choice: Choice) -> tuple[int, bool]:
    """How many answers fit, and whether all were counted: what must be looked at is, as far as ``LOOKED_THROUGH``."""
    if not choice.is_looked_for:
        counted = count_keys(choice, COUNTED_TO + 1)
        return counted, counted <= COUNTED_TO
    counted, edge = 0, None
    step = min(COUNTED_AT_A_TIME, LOOKED_THROUGH)
    for _ in range(0, LOOKED_THROUGH, step):
        keys = list_keys(choice, edge, backward=False, limit=step)
        counted += len(select_keys(choice, keys))
        if len(keys) < step:
            return counted, True
        edge = keys[-1]
    return counted, False


def _read_answers(keys: Sequence[int], choice: Choice) -> list[Answer]:
    judgments = Judgment.objects.select_related("text", "cell__result__attempt").defer(
        "cell__result__attempt__raw", "cell__result__attempt__prompt"
    )
    found = {judgment.pk: judgment for judgment in judgments.filter(pk__in=keys)}
    again = [judgment.pk for judgment in found.values() if judgment.superseded_by_id]
    interpretations: dict[int, list[Interpretation]] = {}
    later = Interpretation.objects.select_related("formatter_cell__result").defer("formatter_cell__result__answer")
    for interpretation in later.filter(judgment__in=again).order_by("judgment_id", "number"):
        interpretations.setdefault(interpretation.judgment_id, []).append(interpretation)
    arms = {arm.arm_id: arm for arm in choice.arms}
    return [_compose(arms[found[key].arm_id], found[key], interpretations.get(key, []), choice.mapping) for key in keys]


def _compose(
    arm: AskedArm, judgment: Judgment, interpretations: Sequence[Interpretation], mapping: TargetMapping
) -> Answer:
    chain: list[ReadAnswer] = [judgment, *interpretations]
    current = chain[-1]
    attributes = current.attributes if current.outcome == Outcome.ATTRIBUTED else {}
    harms = find_harms(arm.task, judgment.text.target, attributes, mapping)
    reader = interpretations[-1].reader if interpretations else RULES
    return Answer(arm.model, arm.task, judgment, current, reader, chain[:-1], harms)


def sum_texts(arms: Sequence[int], target: str = "") -> list[dict[str, int]]:
    """The texts of these arms with their answers and the sum of their attributes, in paper counting; most attributes first.

    Counted by the current interpretations. ``verdicts`` are the answers to the base task, which are among none of the others.
    """
    first = Judgment.objects.filter(arm__in=arms, superseded_by=None)
    later = Interpretation.objects.filter(judgment__arm__in=arms, superseded_by=None)
    if target:
        first, later = first.filter(text__target=target), later.filter(judgment__text__target=target)
    answers: Counter[int] = Counter()
    attributes: Counter[int] = Counter()
    verdicts: Counter[int] = Counter()
    for rows, path in ((first, ""), (later, "judgment__")):
        counted = rows.order_by().values_list(f"{path}text_id", f"{path}arm__task")
        for text, task, count, total in counted.annotate(n=Count("pk"), k=Sum("n_attributes")):
            (verdicts if task == BASE_TASK else answers)[text] += count
            attributes[text] += total
    texts = answers.keys() | verdicts.keys()
    totals = [
        {"text": text, "answers": answers[text], "attributes": attributes[text], "verdicts": verdicts[text]}
        for text in texts
    ]
    return sorted(totals, key=lambda total: (-total["attributes"], total["text"]))


def link_answer(cell: Cell) -> list[Link]:
    """From a model's call to its text with every model's answers, and to the interpretations of its own."""
    place = (cell.batch.study.slug, cell.batch_id)
    links = [("The text and all answers to it", reverse("sob:text", args=[*place, cell.input_id]))]
    if Judgment.objects.filter(pk=cell.pk, cell__result__isnull=False).exists():
        links.append(("How this answer was read", reverse("sob:interpretation_history", args=[*place, cell.pk])))
    return links


def link_formatter(cell: Cell) -> list[Link]:
    """From a formatter's call to the answer it was shown, and to that answer's interpretations."""
    shown = (
        Judgment.objects.filter(pk=cell.input_id, arm__batch__study=cell.batch.study_id, cell__result__isnull=False)
        .values_list("arm__batch", "cell__result__attempt")
        .first()
    )
    if shown is None:
        return []
    batch, attempt = shown
    slug = cell.batch.study.slug
    return [
        ("The answer it was shown", reverse("batches:attempt", args=[slug, batch, attempt])),
        ("How that answer was read", reverse("sob:interpretation_history", args=[slug, batch, cell.input_id])),
    ]


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
    reader: str = ""
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
        """Whether an interpretation has the value and the harm, and maps to what is looked for."""
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
    """Those of the keys whose current interpretation has the value and the harm that are looked for, in the same order."""
    if not choice.is_looked_for:
        return list(keys)
    tasks = {arm.arm_id: arm.task for arm in choice.arms}
    judgments = Judgment.objects.filter(pk__in=keys).order_by()
    rows = judgments.values_list("pk", "arm_id", "text__target", "outcome", "attributes", "superseded_by")
    interpretations = Interpretation.objects.filter(judgment__in=keys, superseded_by=None).order_by()
    later = {
        key: interpretation
        for key, *interpretation in interpretations.values_list("judgment_id", "outcome", "attributes")
    }
    fitting = set()
    for key, arm_id, target, outcome, attributes, superseded_by in rows:
        current = later[key] if superseded_by else (outcome, attributes)
        if choice.fits(tasks[arm_id], target, *current):
            fitting.add(key)
    return [key for key in keys if key in fitting]


def _find_first(choice: Choice) -> QuerySet[Judgment]:
    if choice.reader not in {"", RULES}:
        return Judgment.objects.none()
    found = Judgment.objects.filter(superseded_by=None, **_narrow(choice, ""))
    return found.filter(outcome=choice.outcome) if choice.outcome else found


def _find_later(choice: Choice) -> QuerySet[Interpretation]:
    if choice.reader == RULES:
        return Interpretation.objects.none()
    found = Interpretation.objects.filter(superseded_by=None, **_narrow(choice, "judgment__"))
    if choice.reader:
        found = found.filter(reader=choice.reader)
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
    texts = Text.objects.filter(dataset__study=choice.batch.study_id)
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
    """Keys of first interpretations along the next stretch of all keys, where enough of them lie there; else ``None``."""
    if choice.text is not None or choice.reader not in {"", RULES}:
        return None
    mine = Judgment.objects.filter(arm__in=choice.arm_ids).order_by()
    beyond = mine if edge is None else mine.filter(**{"pk__lt" if backward else "pk__gt": edge})
    start = beyond.aggregate(edge=(Max if backward else Min)("pk"))["edge"]
    if start is None:
        return []
    low, high = (start - WINDOW, start) if backward else (start, start + WINDOW)
    # Adding nothing to a column keeps the database from its index, which is not in the order of the keys.
    found = Judgment.objects.alias(
        of_arm=_plain("arm_id"), of_interpretation=_plain("superseded_by_id"), of_text=_plain("text_id")
    )
    narrowed = {name.replace("text__in", "of_text__in"): value for name, value in _narrow(choice, "").items()}
    if choice.outcome:
        narrowed["outcome"] = choice.outcome
    near = found.filter(
        of_arm__in=choice.arm_ids, of_interpretation__isnull=True, pk__gte=low, pk__lte=high, **narrowed
    )
    keys = list(near.order_by("-pk" if backward else "pk").values_list("pk", flat=True)[:limit])
    return keys if len(keys) == limit else None


def _plain(column: str) -> ExpressionWrapper[CombinedExpression]:
    return ExpressionWrapper(F(column) + 0, output_field=BigIntegerField())
