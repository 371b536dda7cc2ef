"""How answers were read: the share of each reader, and which answers need a person. For audits: the frame from which they are
drawn, the sample, and the reviewers' marks. And the answers behind a number, one page at a time, each with its current and
earlier interpretations.

Pages are found by key, so that the last page of a million answers is as fast as the first. The answers that an address asks for
are found as keys in order: by an index if the choice is narrow, otherwise by scanning the keys. The current interpretation
counts: that of the rules, or a later one. Properties without an index (a value, a harm) are looked up answer by answer.
"""

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Max, Min, Q, QuerySet, Sum
from django.db.models.expressions import CombinedExpression

from auditapp.batches.models import Attempt, Batch, Cell
from auditapp.benchmarks.sob.judging.kind import FORMATTER_KIND, SCORED_TASKS
from auditapp.benchmarks.sob.models import Audit, Interpretation, Judgment, ReadAnswer, Text
from auditapp.benchmarks.sob.pure.answer_words import OVERALL, Outcome
from auditapp.benchmarks.sob.pure.attributions import (
    Kind,
    Rule,
    TargetMapping,
    has_value,
    list_parts,
    published_mapping,
)
from auditapp.benchmarks.sob.pure.audits import FrameGroup, Item, Mark, build_audit_report
from auditapp.benchmarks.sob.pure.formatter_answers import FormatterEnd
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.secondary import Harm, find_harms
from auditapp.benchmarks.sob.queries import AskedArm
from transcripts.accounts.models import User

READERS = ("rules", "formatter", "person")
EXPLAINED_ENDS = (FormatterEnd.INVENTED, FormatterEnd.NO_EVIDENCE, FormatterEnd.UNREADABLE)


def count_readers(batch: Batch) -> dict[str, Any]:
    """The current interpretations of a batch by model, reader and outcome; ``by_outcome`` counts in the order of ``outcomes``."""
    counts: Counter[tuple[str, str, str]] = Counter()
    by_rules = (
        Judgment.objects.filter(arm__batch=batch, superseded_by__isnull=True)
        .values("arm__variant__label", "outcome")
        .annotate(n=Count("pk"))
        .order_by("arm__variant__label", "outcome")
    )
    for row in by_rules:
        counts[row["arm__variant__label"], "rules", row["outcome"]] += row["n"]
    later = (
        Interpretation.objects.filter(judgment__arm__batch=batch, superseded_by__isnull=True)
        .values("judgment__arm__variant__label", "reader", "outcome")
        .annotate(n=Count("pk"))
        .order_by("judgment__arm__variant__label", "reader", "outcome")
    )
    for each in later:
        counts[each["judgment__arm__variant__label"], each["reader"], each["outcome"]] += each["n"]
    return _arrange(counts)


def _arrange(counts: Counter[tuple[str, str, str]]) -> dict[str, Any]:
    seen = {outcome for _, _, outcome in counts}
    outcomes = [str(each) for each in Outcome if each in seen or each is not Outcome.VERDICT]
    models: list[dict[str, Any]] = []
    for model in sorted({model for model, _, _ in counts}):
        readers: list[dict[str, Any]] = []
        for reader in READERS:
            row = [counts[model, reader, outcome] for outcome in outcomes]
            readers.append({"reader": reader, "n": sum(row), "by_outcome": row})
        totals = [sum(column) for column in zip(*(reader["by_outcome"] for reader in readers), strict=True)]
        models.append({"model": model, "answers": sum(totals), "by_outcome": totals, "readers": readers})
    unread = sum(number for (_, _, outcome), number in counts.items() if outcome == Outcome.OFF_FORMAT)
    return {"outcomes": outcomes, "models": models, "answers": sum(counts.values()), "unread": unread}


def list_formatter_runs(batch: Batch) -> list[dict[str, Any]]:
    """The formatter's batches over the answers of ``batch``, oldest first, each with the number of its calls by how they ended.

    The ends that the page explains are listed even if no call ended that way.
    """
    runs = Batch.objects.filter(study=batch.study_id, kind=FORMATTER_KIND, parameters__source_batch=batch.pk).order_by(
        "pk"
    )
    ends: dict[int, Counter[str]] = {run.pk: Counter(dict.fromkeys(EXPLAINED_ENDS, 0)) for run in runs}
    rows = Cell.objects.filter(batch__in=runs).values("batch", "outcome").annotate(n=Count("pk")).order_by("outcome")
    for row in rows:
        ends[row["batch"]][row["outcome"]] += row["n"]
    return [{"batch": run, "calls": ends[run.pk].total(), "ends": sorted(ends[run.pk].items())} for run in runs]


def find_unread_by_all(batch: Batch) -> QuerySet[Judgment]:
    """The answers that neither rules nor a formatter could read and that no person has read yet."""
    judgments = Judgment.objects.filter(arm__batch=batch, cell__result__isnull=False)
    of_rules = judgments.filter(outcome=Outcome.OFF_FORMAT, superseded_by__isnull=True)
    of_formatter = judgments.filter(
        interpretations__superseded_by__isnull=True,
        interpretations__reader=Interpretation.Reader.FORMATTER,
        interpretations__outcome=Outcome.OFF_FORMAT,
    )
    return of_rules.union(of_formatter)


def list_queue(batch: Batch, reader_id: int) -> list[int]:
    """The keys of the answers that need a person, in an order that differs between readers and reveals nothing about the model."""
    ids = set(find_unread_by_all(batch).values_list("pk", flat=True))
    return sorted(ids, key=lambda pk: hashlib.sha256(f"{reader_id} {pk}".encode()).digest())


def choose_next(queue: Sequence[int], reader_id: int, after: int | None) -> int | None:
    """The next key of a queue, after ``after`` if it is given; after the last key, the first one again."""
    if not queue:
        return None
    if after is None:
        return queue[0]
    place = hashlib.sha256(f"{reader_id} {after}".encode()).digest()
    later = (pk for pk in queue if hashlib.sha256(f"{reader_id} {pk}".encode()).digest() > place)
    return next(later, queue[0])


def list_history(judgment: Judgment) -> list[Interpretation]:
    """The later interpretations of an answer in their order, with the formatter's model."""
    return list(
        judgment.interpretations.select_related(
            "formatter_cell__arm__variant", "formatter_cell__result__attempt"
        ).order_by("number")
    )


AUDITED = (Outcome.ATTRIBUTED, Outcome.UNKNOWN, Outcome.REFUSAL)
"""The outcomes of interpretations that an audit of answers draws from: those that count, and refusals."""
READ_AT_ONCE = 500


def list_frame(batch: Batch, scope: str) -> list[int]:
    """The keys of the answers whose current interpretation an audit may draw, in ascending order."""
    ids = set(_find_later(batch, scope).filter(superseded_by__isnull=True).values_list("judgment_id", flat=True))
    if scope == Audit.Scope.ANSWERS:
        ids |= set(_find_by_rules(batch).filter(superseded_by__isnull=True).values_list("pk", flat=True))
    return sorted(ids)


def read_current(ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The current interpretations of these answers, by key, as the fields of an item."""
    found: dict[int, dict[str, Any]] = {}
    columns = ("outcome", "n_attributes", "attributes")
    for start in range(0, len(ids), READ_AT_ONCE):
        part = ids[start : start + READ_AT_ONCE]
        rows = Judgment.objects.filter(pk__in=part, superseded_by__isnull=True).values("pk", *columns)
        found |= {
            row["judgment_id"]: row
            for row in ({"judgment_id": row.pop("pk"), "reader": "rules", **row} for row in rows)
        }
        later = Interpretation.objects.filter(judgment__in=part, superseded_by__isnull=True)
        found |= {row["judgment_id"]: row for row in later.values("judgment_id", "reader", *columns)}
    return found


def count_frame(audit: Audit) -> Counter[FrameGroup]:
    """The frame of an audit as it was when the sample was drawn, counted by groups of interpretations that count alike. Later
    interpretations do not change it."""
    at = audit.made_at
    groups: Counter[FrameGroup] = Counter()
    later = _find_later(audit.batch, audit.scope).filter(_was_current(at), made_at__lte=at)
    _add_groups(groups, later, "judgment__")
    if audit.scope == Audit.Scope.ANSWERS:
        by_rules = _find_by_rules(audit.batch).filter(_was_current(at), cell__result__stored_at__lte=at)
        _add_groups(groups, by_rules, "")
    return groups


def _find_by_rules(batch: Batch) -> QuerySet[Judgment]:
    return Judgment.objects.filter(arm__batch=batch, arm__task__in=SCORED_TASKS, outcome__in=AUDITED)


def _find_later(batch: Batch, scope: str) -> QuerySet[Interpretation]:
    found = Interpretation.objects.filter(judgment__arm__batch=batch, judgment__arm__task__in=SCORED_TASKS)
    if scope == Audit.Scope.FORMATTER:
        return found.filter(reader=Interpretation.Reader.FORMATTER)
    return found.filter(outcome__in=AUDITED)


def _was_current(at: datetime.datetime) -> Q:
    return Q(superseded_by__isnull=True) | Q(superseded_by__made_at__gt=at)


def _add_groups(groups: Counter[FrameGroup], found: QuerySet[Any], path: str) -> None:
    columns = (f"{path}arm__variant__label", f"{path}arm__task", "outcome", "n_attributes")
    for *group, n in found.order_by().values_list(*columns).annotate(n=Count("pk")).order_by(*columns):
        groups[tuple(group)] += n


def read_report(audit: Audit, reviewer: User | None = None) -> dict[str, Any]:
    """The results of an audit, or what one reviewer's marks alone would give. Reads audit.batch."""
    rows = audit.items.order_by("position").values_list(
        "pk", "judgment__arm__variant__label", "judgment__arm__task", "reader", "outcome", "n_attributes"
    )
    marks = audit.marks if reviewer is None else audit.marks.filter(reviewer=reviewer)
    blind = marks.blind().order_by("pk")
    columns = ("item", "reviewer__username", "outcome", "n_attributes", "n_warranted")
    # In the order in which they were made, so that a later one replaces an earlier one.
    latest = {(row[0], row[1]): Mark(*row) for row in blind.values_list(*columns)}
    first = [Mark(*row) for row in blind.filter(number=1).values_list(*columns)]
    frame = count_frame(audit)
    report = build_audit_report([Item(*row) for row in rows], list(latest.values()), first, frame)
    found, after_opening = sum(frame.values()), marks.filter(after_opening=True).count()
    if found != audit.frame:
        report["warnings"].append(
            f"{audit.frame:,} interpretations were drawn from, and {found:,} are found of that moment now: some were being "
            "stored while the sample was drawn. Corrected scores use those found."
        )
    if after_opening:
        were = "1 mark was" if after_opening == 1 else f"{after_opening:,} marks were"
        report["warnings"].append(
            f"{were} made after the reviewer had opened these results. Such marks are not blind: they are kept, but excluded "
            "from every figure here."
        )
    return {"second_thoughts": blind.filter(number__gt=1).count(), "after_opening": after_opening, **report}


def write_report(audit: Audit) -> dict[str, object]:
    """The results as JSON. Scores are not rounded, and an undefined value is null."""
    return {
        "audit": audit.number,
        "batch": audit.batch_id,
        "scope": audit.scope,
        "size": audit.size,
        "seed": audit.seed,
        "frame": audit.frame,
        **read_report(audit),
    }


PER_PAGE = 25
COUNTED_TO = 10_000
LOOKED_THROUGH = 10_000
AT_A_TIME = 500
COUNTED_AT_A_TIME = 2_500
MAX_ON_A_TEXT = 200


class Answer(NamedTuple):
    """One answer: the current interpretation, its reader, and the earlier interpretations, beginning with that of the rules."""

    model: str
    task: str
    judgment: Judgment
    current: ReadAnswer
    reader: str
    earlier: list[ReadAnswer]
    harms: list[Harm]

    @property
    def raw(self) -> str | None:
        """The answer as it arrived; ``None`` if none arrived."""
        return self.judgment.cell.result.answer if hasattr(self.judgment.cell, "result") else None

    @property
    def attempt(self) -> Attempt | None:
        """The call that returned it."""
        return self.judgment.cell.result.attempt if hasattr(self.judgment.cell, "result") else None


def read_page(
    choice: Choice, *, after: int | None = None, before: int | None = None, known_count: int | None = None
) -> dict[str, Any]:
    """The page that follows ``after``, or the one that ends before ``before``; the first page if neither is given.

    ``known_count`` is the number of matching answers, if that is known. The page has its ``rows``; its ``after`` and ``before`` are
    the keys from which the next and the previous page go on, ``None`` at the end. ``counted`` stops one above ``COUNTED_TO``; if
    each answer must be looked at, it counts only among the first ``LOOKED_THROUGH``, and ``counted_whole`` says whether these are
    all. ``stopped``: the page ended early because ``LOOKED_THROUGH`` answers had been looked at.
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
    """Every matching answer, in the order of the pages."""
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

    If each answer has to be looked at, the search stops after ``LOOKED_THROUGH`` answers.
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
    """How many answers match, and whether all were counted. If each answer must be looked at, only ``LOOKED_THROUGH`` are."""
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

    Current interpretations are counted. ``verdicts`` counts the answers to the base task, which ``answers`` does not include.
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


RULES = "rules"
ANY_FURTHER, NO_FURTHER = "*", "-"
# This many keys are scanned in order before an index is used, because with the index all matches must be read and sorted.
WINDOW = 50_000
FEW_TEXTS = 2_000


@dataclass(frozen=True)
class Choice:
    """Which answers to show; an empty value does not narrow the choice, and neither does the target "overall".

    ``maps`` is "self" or "dominant": the answer gives at least one value of the target's list of that kind or, with the ``rule``
    "all", every value in it. ``further`` names a text's second or third target; "*" is any, "-" none.
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
        """Whether each answer must be looked at, because no index has what is asked for."""
        return bool(self.value or self.harm or self.maps)

    def fits(self, task: str, target: str, outcome: str, attributes: dict[str, object]) -> bool:
        """Whether an interpretation has the requested value and harm, and maps to the requested group."""
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
    """The arms of a model and a task; an empty name means all."""
    return [arm for arm in arms if model in {"", arm.model} and task in {"", arm.task}]


def list_keys(choice: Choice, edge: int | None, *, backward: bool, limit: int) -> list[int]:
    """The next ``limit`` keys beyond ``edge``, regardless of value and harm."""
    first = _list_near(choice, edge, backward=backward, limit=limit)
    if first is None:
        first = _list_of(_find_first(choice), "cell_id", "arm_id", choice, edge, backward=backward, limit=limit)
    later = _list_of(
        _find_again(choice), "judgment_id", "judgment__arm_id", choice, edge, backward=backward, limit=limit
    )
    return list(islice(merge(first, later, reverse=backward), limit))


def count_keys(choice: Choice, limit: int) -> int:
    """How many keys there are, counted up to ``limit``."""
    found = _find_first(choice).filter(arm__in=choice.arm_ids)
    later = _find_again(choice).filter(judgment__arm__in=choice.arm_ids)
    return min(limit, found.order_by()[:limit].count() + later.order_by()[:limit].count())


def select_keys(choice: Choice, keys: Sequence[int]) -> list[int]:
    """Those of the keys whose current interpretation has the requested value, harm and group, in the same order."""
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


def _find_again(choice: Choice) -> QuerySet[Interpretation]:
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
    """The texts with the requested targets; ``None`` if all texts are requested."""
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
    """Keys found by an index: all matches are read and sorted."""
    if edge is not None:
        found = found.filter(**{f"{name}__lt" if backward else f"{name}__gt": edge})
    keys = found.filter(**{f"{arm}__in": choice.arm_ids}).order_by(f"-{name}" if backward else name)
    return list(keys.values_list(name, flat=True)[:limit])


def _list_near(choice: Choice, edge: int | None, *, backward: bool, limit: int) -> list[int] | None:
    """Keys of judgments found by scanning the next ``WINDOW`` keys; ``None`` if fewer than ``limit`` of those match."""
    if choice.text is not None or choice.reader not in {"", RULES}:
        return None
    mine = Judgment.objects.filter(arm__in=choice.arm_ids).order_by()
    beyond = mine if edge is None else mine.filter(**{"pk__lt" if backward else "pk__gt": edge})
    start = beyond.aggregate(edge=(Max if backward else Min)("pk"))["edge"]
    if start is None:
        return []
    low, high = (start - WINDOW, start) if backward else (start, start + WINDOW)
    # Adding 0 to a column keeps the database from using its index, which is not in the order of the keys.
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
