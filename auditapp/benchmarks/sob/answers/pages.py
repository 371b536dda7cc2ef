"""The answers behind a number, a page at a time, each with the current reading and those before it.

Pages go by key, so that the last page of a million answers comes as fast as the first.

A call of the benchmark leads to the text it was asked about, the answer it read, and how that was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db.models import Count, Sum
from django.urls import reverse

from auditapp.batches.kinds import Link
from auditapp.batches.models import Attempt, Cell
from auditapp.benchmarks.sob.answers.keys import RULES, Choice, count_keys, list_keys, select_keys
from auditapp.benchmarks.sob.models import Judgment, Reading
from auditapp.benchmarks.sob.models.judgments import ReadAnswer
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.measures.harms import Harm, find_harms
from auditapp.benchmarks.sob.pure.measures.mapping import TargetMapping
from auditapp.benchmarks.sob.pure.parsing import Outcome
from auditapp.benchmarks.sob.queries import AskedArm

PER_PAGE = 25
COUNTED_TO = 10_000
LOOKED_THROUGH = 10_000
AT_A_TIME = 500
COUNTED_AT_A_TIME = 2_500
MAX_ON_A_TEXT = 200


class Answer(NamedTuple):
    """One answer: the current reading, its layer, and the readings before it, the rules' own first."""

    model: str
    task: str
    judgment: Judgment
    current: ReadAnswer
    layer: str
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
    readings: dict[int, list[Reading]] = {}
    later = Reading.objects.select_related("formatter_cell__result").defer("formatter_cell__result__answer")
    for reading in later.filter(judgment__in=again).order_by("judgment_id", "number"):
        readings.setdefault(reading.judgment_id, []).append(reading)
    arms = {arm.arm_id: arm for arm in choice.arms}
    return [_compose(arms[found[key].arm_id], found[key], readings.get(key, []), choice.mapping) for key in keys]


def _compose(arm: AskedArm, judgment: Judgment, readings: Sequence[Reading], mapping: TargetMapping) -> Answer:
    chain: list[ReadAnswer] = [judgment, *readings]
    current = chain[-1]
    attributes = current.attributes if current.outcome == Outcome.ATTRIBUTED else {}
    harms = find_harms(arm.task, judgment.text.target, attributes, mapping)
    layer = readings[-1].layer if readings else RULES
    return Answer(arm.model, arm.task, judgment, current, layer, chain[:-1], harms)


def sum_texts(arms: Sequence[int], target: str = "") -> list[dict[str, int]]:
    """The texts of these arms with their answers and the sum of their attributes, in paper counting; most attributes first.

    Counted by the current readings. ``verdicts`` are the answers to the base task, which are among none of the others.
    """
    first = Judgment.objects.filter(arm__in=arms, superseded_by=None)
    later = Reading.objects.filter(judgment__arm__in=arms, superseded_by=None)
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
    """From a model's call to its text with every model's answers, and to the readings of its own."""
    place = (cell.batch.project.slug, cell.batch_id)
    links = [("The text and all answers to it", reverse("sob:text", args=[*place, cell.input_id]))]
    if Judgment.objects.filter(pk=cell.pk, cell__result__isnull=False).exists():
        links.append(("How this answer was read", reverse("sob:reading_history", args=[*place, cell.pk])))
    return links


def link_formatter(cell: Cell) -> list[Link]:
    """From a formatter's call to the answer it was shown, and to that answer's readings."""
    shown = (
        Judgment.objects.filter(pk=cell.input_id, arm__batch__project=cell.batch.project_id, cell__result__isnull=False)
        .values_list("arm__batch", "cell__result__attempt")
        .first()
    )
    if shown is None:
        return []
    batch, attempt = shown
    slug = cell.batch.project.slug
    return [
        ("The answer it was shown", reverse("batches:attempt", args=[slug, batch, attempt])),
        ("How that answer was read", reverse("sob:reading_history", args=[slug, batch, cell.input_id])),
    ]
