"""How answers were parsed: counts by batch and annotator, and the single answers that are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from auditapp.annotators.models import CHECK_KIND, CRITIC_KIND, KIND, Annotator, CheckAnswer, OfflineRun, TurnAnswer
from auditapp.annotators.offline import count_by_code, read_run_progress
from auditapp.annotators.pure.checking import FIRST, Answer, build_report, judge_check
from auditapp.batches.models import Arm, Batch, Cell
from transcripts.codebook.models import Code
from transcripts.corpus.models import Turn

PER_PAGE = 50
READ_AT_ONCE = 2_000


@dataclass
class AnswerCounts:
    """Answers by how they were parsed. ``missing``: sentences that an answer left out, which is not the same as "no code".
    ``rejected``: items that were not applied, by reason; ``curtailed``: sentences with such an item, which count as annotated all
    the same, because what is measured is the model together with the checks."""

    valid: int = 0
    partial: int = 0
    invalid: int = 0
    suggestions: int = 0
    missing: int = 0
    curtailed: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    flagged: int = 0

    @property
    def turn_answers(self) -> int:
        """The number of all answers."""
        return self.valid + self.partial + self.invalid

    @property
    def rejected_items(self) -> int:
        """The number of items that were not applied, whatever the reason."""
        return self.rejected.total()

    @property
    def proposed_items(self) -> int:
        """The number of all items in the answers, applied or not."""
        return self.suggestions + self.rejected_items

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why items were not applied, the most frequent reason first. (A template cannot use a counter, which returns 0 for
        every name.)"""
        return self.rejected.most_common()


def count_turn_answers(batch: Batch) -> dict[str, object]:
    """The results of a batch's answers, as commands print them. Answers to repeated questions are counted separately."""
    found = _count(TurnAnswer.objects.filter(cell__batch=batch)).get(batch.pk, AnswerCounts())
    return {
        "turn_answers": found.turn_answers,
        "suggestions": found.suggestions,
        "valid": found.valid,
        "partial": found.partial,
        "invalid": found.invalid,
        "missing_sentences": found.missing,
        "curtailed_sentences": found.curtailed,
        "rejected_items": found.rejected_items,
        "rejected_by_reason": dict(found.rejected.most_common()),
        "flagged": found.flagged,
        "asked_again": CheckAnswer.objects.filter(cell__batch=batch).count(),
    }


def count_run(run: OfflineRun) -> dict[str, object]:
    """The results of a run without a model, as commands print them: each interview counts as one answer, and nothing is left
    out. Reads run.annotator."""
    progress = read_run_progress(run)
    return {
        "run": run.pk,
        "annotator": str(run.annotator),
        "annotator_number": run.annotator.number,
        "annotator_hash": run.annotator.hash,
        "kind": run.annotator.kind,
        "state": run.state,
        "problem": run.problem,
        "interviews": progress["interviews"],
        "turn_answers": progress["done"],
        "sentences": progress["sentences"],
        "suggestions": progress["suggestions"],
        "suggestions_by_code": count_by_code(run),
        "missing_sentences": 0,
        "curtailed_sentences": 0,
        "rejected_items": 0,
        "rejected_by_reason": {},
    }


def count_by_batch(annotator: Annotator) -> dict[int, AnswerCounts]:
    """The results of the annotator's answers, by number of the batch. Two queries."""
    return _count(TurnAnswer.objects.filter(annotator=annotator))


def _count(turn_answers: QuerySet[TurnAnswer]) -> dict[int, AnswerCounts]:
    found: dict[int, AnswerCounts] = defaultdict(AnswerCounts)
    rows = turn_answers.order_by().values_list("cell__batch", "outcome").annotate(Count("pk"), Sum("accepted"))
    for batch_id, outcome, count, accepted in rows:
        setattr(found[batch_id], outcome, count)
        found[batch_id].suggestions += accepted or 0
    # An answer that is whole has neither, so most rows are never read.
    faulty = turn_answers.exclude(outcome=TurnAnswer.Outcome.VALID).order_by()
    columns = ("cell__batch", "rejected", "asked", "missing")
    for batch_id, rejected, asked, missing in faulty.values_list(*columns).iterator(READ_AT_ONCE):
        found[batch_id].rejected.update(_read_reason(item) for item in rejected)
        found[batch_id].missing += len(missing)
        named = {item.get("sentence") for item in rejected if isinstance(item, dict)}
        found[batch_id].curtailed += len(named & set(asked) - set(missing))
    flagged = turn_answers.exclude(flags=[]).order_by().values_list("cell__batch").annotate(Count("pk"))
    for batch_id, count in flagged:
        found[batch_id].flagged = count
    return dict(found)


def _read_reason(item: object) -> str:
    return str(item.get("reason", "")) if isinstance(item, dict) else ""


def find_turn_answers(
    annotator: Annotator,
    *,
    batch: int | None = None,
    what: str = "",
    reason: str = "",
    after: int = 0,
    turns: QuerySet[Any] | None = None,
) -> tuple[list[dict[str, object]], int | None]:
    """A page of the annotator's answers, oldest first, and the key from which to continue (``None`` at the end).

    ``what`` is an outcome, "missing", "rejected" or "flagged"; anything else means all answers. ``reason`` selects answers with
    an item rejected for this reason, ``turns`` (a query of keys) answers about these turns. The page never shows what an answer
    suggests, or how much, because the viewer may still have to decide that turn.
    """
    turn_answers = TurnAnswer.objects.filter(annotator=annotator, cell__gt=after).select_related(
        "cell__arm", "cell__result"
    )
    turn_answers = turn_answers.defer("cell__arm__system_prompt", "cell__result__answer")
    if batch is not None:
        turn_answers = turn_answers.filter(cell__batch=batch)
    if turns is not None:
        turn_answers = turn_answers.filter(cell__input_id__in=turns)
    if what in TurnAnswer.Outcome.values:
        turn_answers = turn_answers.filter(outcome=what)
    elif what in {"missing", "rejected"}:
        turn_answers = turn_answers.exclude(outcome=TurnAnswer.Outcome.VALID)
    elif what == "flagged":
        turn_answers = turn_answers.exclude(flags=[])
    kept = _take(turn_answers.order_by("cell"), what, reason)
    return _show(kept[:PER_PAGE]), kept[PER_PAGE - 1].cell_id if len(kept) > PER_PAGE else None


def _take(turn_answers: QuerySet[TurnAnswer], what: str, reason: str) -> list[TurnAnswer]:
    """One more than a page of the matching answers. Values inside JSON are checked here, in the same way on every database."""
    kept: list[TurnAnswer] = []
    for turn_answer in turn_answers.iterator(READ_AT_ONCE):
        if what == "missing" and not turn_answer.missing:
            continue
        if what == "rejected" and not turn_answer.rejected:
            continue
        if reason and reason not in {_read_reason(item) for item in turn_answer.rejected}:
            continue
        kept.append(turn_answer)
        if len(kept) > PER_PAGE:
            break
    return kept


def _show(turn_answers: list[TurnAnswer]) -> list[dict[str, object]]:
    ids = {turn_answer.cell.input_id for turn_answer in turn_answers}
    turns = {turn.pk: turn for turn in Turn.objects.filter(pk__in=ids).select_related("interview").defer("text")}
    return [
        {
            "cell_id": turn_answer.cell_id,
            "batch_id": turn_answer.cell.batch_id,
            "attempt_id": result.attempt_id if (result := getattr(turn_answer.cell, "result", None)) else None,
            "task": turn_answer.cell.arm.task,
            "turn": turns.get(turn_answer.cell.input_id),
            "outcome": turn_answer.get_outcome_display(),
            "problem": turn_answer.problem,
            "missing": len(turn_answer.missing),
            "reasons": sorted({_read_reason(item) for item in turn_answer.rejected}),
            "flags": list(turn_answer.flags),
        }
        for turn_answer in turn_answers
    ]


def list_batches(annotator: Annotator) -> dict[str, list[Batch]]:
    """Every batch about the annotator by its kind, newest first. For batches from before there were settings, the parameters
    are used."""
    named = Q(arms__settings__annotator=annotator.pk) | Q(parameters__annotators=[annotator.pk])
    found: dict[str, list[Batch]] = {KIND: [], CHECK_KIND: [], CRITIC_KIND: []}
    for batch in Batch.objects.filter(named, study=annotator.study_id).distinct().order_by("-pk"):
        found.get(batch.kind, found[KIND]).append(batch)
    return found


UNKNOWN = "unknown code"


def find_annotator(batch: Batch) -> Annotator | None:
    """The annotator that a batch of these kinds is about."""
    keys = batch.parameters.get("annotators") or []
    return Annotator.objects.select_related("variant__account", "version").filter(pk__in=keys).first()


def list_checks(annotator: Annotator) -> list[Batch]:
    """The checks of an annotator, newest first."""
    return _list_batches(annotator, CHECK_KIND)


def list_turn_answers(annotator: Annotator) -> list[Batch]:
    """The batches in which an annotator annotated turns, newest first."""
    return _list_batches(annotator, KIND)


def _list_batches(annotator: Annotator, kind: str) -> list[Batch]:
    # The annotator is named in JSON, which the databases search differently; a study has few batches.
    batches = Batch.objects.filter(study=annotator.study_id, kind=kind).order_by("-pk")
    return [batch for batch in batches if annotator.pk in (batch.parameters.get("annotators") or [])]


def read_check(batch: Batch) -> tuple[list[Answer], list[str], dict[str, str]]:
    """The answers of a check, the codes in order, and which codes were swapped. Three queries."""
    arms = {arm.pk: arm for arm in batch.arms.all()}
    answers = [read_answer(row, arms[row.cell.arm_id]) for row in find_answers(batch)]
    firsts = [arm for arm in arms.values() if arm.settings.get("condition") == FIRST]
    definitions: dict[str, str] = {}
    for arm in arms.values():
        definitions |= arm.settings.get("definitions") or {}
    codes = [code for arm in firsts for code in arm.settings["codes"]]
    return answers, codes, definitions


def read_check_report(batch: Batch) -> dict[str, Any]:
    """Every figure of a check, from the answers so far."""
    answers, codes, definitions = read_check(batch)
    return build_report(answers, codes=codes, definitions=definitions)


def find_latest_check(annotator: Annotator) -> dict[str, Any] | None:
    """The ``batch`` of the annotator's latest check, and its ``verdicts`` in one line; ``None`` if it was never checked, or is
    not stored yet."""
    checks = list_checks(annotator) if annotator.pk else []
    if not checks:
        return None
    report = read_check_report(checks[0])
    verdicts = judge_check(report) if report["answers"] else []
    line = "; ".join(f"{each['title'][:1].lower()}{each['title'][1:]}: {each['words']}" for each in verdicts)
    return {"batch": checks[0], "verdicts": line or "no answer has arrived yet"}


def find_answers(batch: Batch, *, conditions: Sequence[str] | None = None) -> QuerySet[CheckAnswer]:
    """The answers of a batch that are not shown at the desk, each with its cell."""
    found = CheckAnswer.objects.filter(cell__batch=batch).select_related("cell__result").order_by("pk")
    return found if conditions is None else found.filter(condition__in=conditions)


def read_answer(row: CheckAnswer, arm: Arm) -> Answer:
    """An answer in the form that the measures use. Reads row.cell.result."""
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
    """By code: to how many sentences a batch's answers applied it, and for how many sentences it was asked for and answered."""
    arms = {arm.pk: arm for arm in batch.arms.all() if not arm.settings.get("condition") and "codes" in arm.settings}
    read: dict[int, int] = defaultdict(int)
    rows = TurnAnswer.objects.filter(cell__arm__in=arms).exclude(outcome=TurnAnswer.Outcome.INVALID).order_by()
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
    """The codes that an annotator's prompt may contain, by identifier, each with its family."""
    codes = Code.objects.filter(version=annotator.version_id).select_related("family")
    return {code.identifier: code for code in codes}
