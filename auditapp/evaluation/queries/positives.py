"""The active suggestions of an annotator: what critics check and audits sample, and what the marks of an audit show; and the
verdict of critics that counts for each, and how often each critic rejected a code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from copy import copy
from typing import Any, NamedTuple

from django.db.models import QuerySet

from auditapp.annotators.models import Annotator, CriticAnswer, Suggestion
from auditapp.annotators.queries.boundary_edits import map_moved
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.evaluation.models import PositiveAudit, PositiveMark
from auditapp.evaluation.pure.positives import Mark, build_report
from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import Code
from transcripts.statistics.figures import wilson_interval
from transcripts.studies.models import Study

MAX_AT_ONCE = 5_000
REVERSED, UPHELD = CriticAnswer.Verdict.REJECTED, CriticAnswer.Verdict.UPHELD
SCHEMA_PATH = f"cell__arm__settings__{ANSWER_SCHEMA}"


class Positive(NamedTuple):
    """An active suggestion, with its current place. ``code`` is an identifier."""

    suggestion: int
    sentence: int
    turn: int
    interview: int
    code: str


def list_positives(
    annotator: Annotator, *, codes: Collection[str] | None = None, with_critic: bool = False
) -> list[Positive]:
    """Of each sentence and code that the annotator's latest reading says yes to, the latest suggestion, in its order.

    ``with_critic`` leaves out what a critic rejected.
    """
    # Loads numpy.
    from auditapp.annotators.queries.machine_labels import read_machine_labels

    said = read_machine_labels(annotator, with_critic=with_critic)
    current = {
        (code, int(sentence))
        for code, row in zip(said.codes, said.labels, strict=True)
        if codes is None or code in codes
        for sentence in said.sentence_ids[row]
    }
    rows = Suggestion.objects.filter(annotator=annotator).order_by("pk")
    columns = ("pk", "sentence_id", "sentence__turn_id", "sentence__turn__interview_id", "code__identifier")
    latest: dict[tuple[str, int], Positive] = {}
    moved = map_moved(rows)
    for row in rows.values_list(*columns).iterator(chunk_size=5_000):
        found = Positive(*row)
        found = found._replace(sentence=moved.get(found.suggestion, found.sentence) or found.sentence)
        if (found.code, found.sentence) in current:
            latest[found.code, found.sentence] = found
    return sorted(latest.values())


def list_suggested_codes(annotators: QuerySet[Annotator]) -> list[tuple[str, str]]:
    """The identifiers and names of the codes that these annotators ever suggested, in the codebook's order."""
    rows = Code.objects.filter(suggestions__annotator__in=annotators).order_by("family__position", "position", "pk")
    found: dict[str, str] = {}
    for identifier, name in rows.values_list("identifier", "name").distinct():
        found.setdefault(identifier, name)
    return list(found.items())


def map_items(audit: PositiveAudit) -> dict[int, str]:
    """The code of each item of the sample, code by code in the order of the codebook."""
    rows = audit.items.order_by("suggestion__code__family__position", "suggestion__code__position", "position")
    return dict(rows.values_list("pk", "suggestion__code__identifier"))


def list_active_marks(audit: PositiveAudit) -> list[Mark]:
    """The latest mark of each reviewer and item."""
    rows = PositiveMark.objects.filter(item__audit=audit).active().order_by("pk")
    return [Mark(*row) for row in rows.values_list("item", "reviewer__username", "verdict")]


def read_report(audit: PositiveAudit) -> dict[str, Any]:
    """The results of an audit; ``second_thoughts`` are corrections, ``late`` first marks made after opening the results."""
    marks = PositiveMark.objects.filter(item__audit=audit).order_by("pk")
    first = marks.filter(number=1)
    blind_first = [Mark(*row) for row in first.blind().values_list("item", "reviewer__username", "verdict")]
    populations = dict(audit.items.values_list("suggestion__code__identifier", "population").order_by("pk"))
    return {
        **build_report(map_items(audit), list_active_marks(audit), blind_first, populations),
        "second_thoughts": marks.filter(number__gt=1).count(),
        "late": first.filter(after_opening=True).count(),
    }


def list_interviews(audit: PositiveAudit) -> set[int]:
    """The interviews of the sample."""
    return set(audit.items.values_list("suggestion__sentence__turn__interview_id", flat=True))


def find_verdicts(suggestion_ids: Collection[int]) -> dict[int, CriticAnswer]:
    """By suggestion: the latest reading that came to a verdict, with its critic."""
    wanted = sorted(suggestion_ids)
    found: dict[int, CriticAnswer] = {}
    for first in range(0, len(wanted), MAX_AT_ONCE):
        rows = CriticAnswer.objects.filter(suggestion__in=wanted[first : first + MAX_AT_ONCE]).exclude(verdict="")
        found |= {row.suggestion_id: row for row in rows.select_related("cell__arm__variant").order_by("cell_id")}
    return found


def list_read(annotator: Annotator, critic: ModelVariant, answer_schema: str = "") -> set[int]:
    """The suggestions of the annotator on which this critic has come to a verdict, its answers held to a schema of this form,
    or to none."""
    rows = CriticAnswer.objects.filter(suggestion__annotator=annotator, cell__arm__variant=critic).exclude(verdict="")
    held = {SCHEMA_PATH: answer_schema} if answer_schema else {f"{SCHEMA_PATH}__isnull": True}
    return set(rows.filter(**held).values_list("suggestion_id", flat=True))


def list_criticised(study: Study) -> list[Annotator]:
    """The annotators of which a critic has read something."""
    read = CriticAnswer.objects.filter(suggestion__annotator__study=study).values("suggestion__annotator")
    return list(Annotator.objects.filter(pk__in=read).select_related("variant__account", "version").order_by("pk"))


def find_tested_interviews(annotator: Annotator) -> set[int]:
    """The interviews in which a critic has read something of the annotator's."""
    rows = CriticAnswer.objects.filter(suggestion__annotator=annotator)
    return set(rows.values_list("suggestion__sentence__turn__interview_id", flat=True))


def count_rejections(
    annotator: Annotator, *, seen: Collection[int] | None = None
) -> list[tuple[ModelVariant, list[dict[str, Any]]]]:
    """Each critic of the annotator, with its rejections by code; critics are kept apart, also the same model with its answers
    held to a schema (``held_to_schema``) and without. ``seen``: in these interviews.

    ``n`` counts suggestions with a usable verdict, of which the latest counts: ``rejected`` or ``upheld``.
    """
    ends: dict[tuple[int, bool], dict[int, tuple[str, str]]] = {}
    columns = ("cell__arm__variant_id", SCHEMA_PATH, "suggestion_id", "suggestion__code__identifier", "verdict")
    rows = _limit(CriticAnswer.objects.filter(suggestion__annotator=annotator), seen).order_by("cell_id")
    for critic, form, suggestion, code, verdict in rows.values_list(*columns).iterator(chunk_size=MAX_AT_ONCE):
        own = ends.setdefault((critic, bool(form)), {})
        # An answer of no use takes nothing from the one before it.
        if verdict or suggestion not in own:
            own[suggestion] = (code, verdict)
    variants = ModelVariant.objects.select_related("account").in_bulk([critic for critic, _ in ends])
    codes = list(Code.objects.filter(version=annotator.version_id).order_by("family__position", "position"))
    found = []
    for (key, is_held), own in ends.items():
        critic = copy(variants[key])
        critic.held_to_schema = is_held
        found.append((critic, _count(codes, Counter(own.values()))))
    return found


def _count(codes: list[Code], ends: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    rows = []
    for code in codes:
        taken, upheld = ends[code.identifier, REVERSED], ends[code.identifier, UPHELD]
        unusable, n = ends[code.identifier, ""], taken + upheld
        if n or unusable:
            counts = {"code": code, "n": n, "rejected": taken, "upheld": upheld, "unusable": unusable}
            rows.append({**counts, "rate": taken / n if n else None, "interval": wilson_interval(taken, n)})
    return rows


def list_critic_answers(
    annotator: Annotator, *, code: str, verdict: str, seen: Collection[int] | None = None
) -> list[CriticAnswer]:
    """The turn answers of a count, latest last: of one code, with one verdict, each suggestion once per critic."""
    every = CriticAnswer.objects.filter(suggestion__annotator=annotator, suggestion__code__identifier=code)
    rows = _limit(every, seen)
    latest: dict[tuple[int, bool, int], CriticAnswer] = {}
    related = ("cell__arm__variant__account", "suggestion__sentence__turn__interview", "suggestion__code")
    for row in rows.exclude(verdict="").select_related(*related).order_by("cell_id"):
        arm = row.cell.arm
        latest[arm.variant_id, bool(arm.settings.get(ANSWER_SCHEMA)), row.suggestion_id] = row
    return [row for row in latest.values() if row.verdict == verdict]


def _limit(rows: QuerySet[CriticAnswer], seen: Collection[int] | None) -> QuerySet[CriticAnswer]:
    if seen is None:
        return rows
    return rows.filter(suggestion__sentence__turn__interview__in=sorted(seen))
