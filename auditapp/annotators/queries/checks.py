"""Answers that were asked for to learn about an annotator, as the measures read them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, QuerySet

from auditapp.annotators.models import CHECK_KIND, KIND, Annotator, CheckAnswer, Reading
from auditapp.annotators.pure.check_verdicts import judge_check
from auditapp.annotators.pure.checking import Answer, build_report
from auditapp.annotators.pure.conditions import FIRST
from auditapp.batches.models import Arm, Batch, Cell
from transcripts.codebook.models import Code

UNKNOWN = "unknown code"


def find_annotator(batch: Batch) -> Annotator | None:
    """The annotator that a batch of these kinds asks."""
    keys = batch.parameters.get("annotators") or []
    return Annotator.objects.select_related("variant__account", "version").filter(pk__in=keys).first()


def list_checks(annotator: Annotator) -> list[Batch]:
    """The checks of an annotator, newest first."""
    return _list_batches(annotator, CHECK_KIND)


def list_readings(annotator: Annotator) -> list[Batch]:
    """The batches in which an annotator read, newest first."""
    return _list_batches(annotator, KIND)


def _list_batches(annotator: Annotator, kind: str) -> list[Batch]:
    # The annotator is named in JSON, which the databases search differently; a study has few batches.
    batches = Batch.objects.filter(project=annotator.project_id, kind=kind).order_by("-pk")
    return [batch for batch in batches if annotator.pk in (batch.parameters.get("annotators") or [])]


def read_check(batch: Batch) -> tuple[list[Answer], list[str], dict[str, str]]:
    """The answers of a check, the codes in their order, and what was swapped with what. Three queries."""
    arms = {arm.pk: arm for arm in batch.arms.all()}
    answers = [read_answer(row, arms[row.cell.arm_id]) for row in find_answers(batch)]
    firsts = [arm for arm in arms.values() if arm.settings.get("condition") == FIRST]
    definitions: dict[str, str] = {}
    for arm in arms.values():
        definitions |= arm.settings.get("definitions") or {}
    codes = [code for arm in firsts for code in arm.settings["codes"]]
    return answers, codes, definitions


def read_check_report(batch: Batch) -> dict[str, Any]:
    """Every figure of a check as far as it has come."""
    answers, codes, definitions = read_check(batch)
    return build_report(answers, codes=codes, definitions=definitions)


def find_latest_check(annotator: Annotator) -> dict[str, Any] | None:
    """The ``batch`` of the annotator's latest check, and its ``verdicts`` in one line; ``None`` where it was never
    checked, or is not stored yet."""
    checks = list_checks(annotator) if annotator.pk else []
    if not checks:
        return None
    report = read_check_report(checks[0])
    verdicts = judge_check(report) if report["answers"] else []
    line = "; ".join(f"{each['title'][:1].lower()}{each['title'][1:]}: {each['words']}" for each in verdicts)
    return {"batch": checks[0], "verdicts": line or "no answer has come yet"}


def find_answers(batch: Batch, *, conditions: Sequence[str] | None = None) -> QuerySet[CheckAnswer]:
    """The answers of a batch that are kept from the desk, each with its cell."""
    found = CheckAnswer.objects.filter(cell__batch=batch).select_related("cell__result").order_by("pk")
    return found if conditions is None else found.filter(condition__in=conditions)


def read_answer(row: CheckAnswer, arm: Arm) -> Answer:
    """An answer in the words of the measures. Reads row.cell.result."""
    asked, missing = frozenset(row.asked), frozenset(row.missing)
    is_usable = row.outcome != CheckAnswer.Outcome.INVALID
    named = [item for item in row.rejected if item.get("code") is not None]
    result = getattr(row.cell, "result", None)
    return Answer(
        condition=row.condition,
        codes=arm.settings["codes"],
        asked=asked,
        answered=asked - missing if is_usable else frozenset(),
        picks={int(sentence): frozenset(codes) for sentence, codes in row.picks.items()},
        rejected=Counter(str(item.get("reason", "")) for item in row.rejected),
        refused=len(named),
        unknown=sum(item.get("reason") == UNKNOWN for item in named),
        rejected_items=row.rejected,
        turn_id=row.cell.input_id,
        attempt_id=result.attempt_id if result else None,
        task=arm.task,
        problem=row.problem,
    )


def count_unanswered(batch: Batch) -> int:
    """The calls of a batch that ended without an answer."""
    return Cell.objects.filter(batch=batch, state=Cell.State.FAILED).count()


def count_rates(batch: Batch) -> dict[str, tuple[int, int]]:
    """By code: to how many sentences a batch's answers applied it, and for how many it was asked about and answered."""
    arms = {arm.pk: arm for arm in batch.arms.all() if not arm.settings.get("condition") and "codes" in arm.settings}
    read: dict[int, int] = defaultdict(int)
    rows = Reading.objects.filter(cell__arm__in=arms).exclude(outcome=Reading.Outcome.INVALID).order_by()
    for arm_id, asked, missing in rows.values_list("cell__arm_id", "asked", "missing").iterator():
        read[arm_id] += len(asked) - len(missing)
    put: dict[tuple[int, str], int] = {}
    suggestions = Code.objects.filter(suggestions__cell__batch=batch).order_by()
    counted = suggestions.values_list("suggestions__cell__arm_id", "identifier").annotate(n=Count("suggestions"))
    for arm_id, identifier, n in counted:
        put[arm_id, identifier] = n
    return {
        code: (put.get((arm_id, code), 0), read[arm_id])
        for arm_id, arm in arms.items()
        for code in arm.settings["codes"]
    }


def name_codes(annotator: Annotator) -> dict[str, Code]:
    """The codes that an annotator's prompt may hold, by identifier, each with its family."""
    codes = Code.objects.filter(version=annotator.version_id).select_related("family")
    return {code.identifier: code for code in codes}
