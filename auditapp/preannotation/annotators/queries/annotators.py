"""The annotators of a study, what each has annotated, and the codes it is chosen for."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db.models import Count, Exists, OuterRef

from auditapp.preannotation.annotators.pure.recipes import list_read_codes
from auditapp.preannotation.models import Annotator, CodeChoice, CriticReading, OfflineReading, Reading
from transcripts.codebook.models import Code
from transcripts.projects.models import MethodStance, Project
from transcripts.projects.queries import read_stances
from transcripts.statistics.intervals import Share


def list_annotators(project: Project) -> list[dict[str, object]]:
    """Every annotator of the study, newest first, with the answers or interviews it has read and its codes: four queries."""
    annotators = (
        Annotator.objects.filter(project=project)
        .select_related("variant__account", "version")
        .defer("recipe")
        .order_by("-pk")
    )
    answers = dict(
        Reading.objects.filter(annotator__project=project).order_by().values_list("annotator").annotate(Count("pk"))
    )
    offline = OfflineReading.objects.filter(run__annotator__project=project).order_by()
    interviews = dict(offline.values_list("run__annotator").annotate(Count("interview", distinct=True)))
    chosen = read_choices(project)
    return [
        {
            "annotator": each,
            "answers": answers.get(each.pk, 0),
            "interviews": interviews.get(each.pk, 0),
            "chosen_for": chosen.get(each.pk, []),
        }
        for each in annotators
    ]


def list_with_readings(project_id: int) -> list[Annotator]:
    """The annotators of a study that have read something for some code, newest first: those a page lets one choose."""
    answers = Reading.objects.filter(annotator=OuterRef("pk")).exclude(outcome=Reading.Outcome.INVALID)
    interviews = OfflineReading.objects.filter(run__annotator=OuterRef("pk"))
    rows = Annotator.objects.filter(Exists(answers) | Exists(interviews), project=project_id)
    found = rows.select_related("variant", "version").order_by("-pk")
    return [each for each in found if each.kind == Annotator.Kind.MODEL or list_read_codes(each.recipe)]


def find_criticised(project_id: int) -> set[int]:
    """The annotators of whose suggestions a critic reversed some."""
    rows = CriticReading.objects.filter(
        suggestion__annotator__project=project_id, verdict=CriticReading.Verdict.REVERSED
    )
    return set(rows.order_by().values_list("suggestion__annotator", flat=True).distinct())


def read_code_names(project: Project) -> dict[str, str]:
    """What codes are called, by identifier, as the newest version that has them calls them."""
    codes = Code.objects.filter(version__project=project).order_by("version__number", "pk")
    return dict(codes.values_list("identifier", "name"))


def read_choices(project: Project) -> dict[int, list[str]]:
    """The identifiers of the codes an annotator is chosen for, by annotator."""
    chosen: dict[int, list[str]] = defaultdict(list)
    current = CodeChoice.objects.filter(project=project, superseded_at__isnull=True, annotator__isnull=False)
    for annotator_id, code in current.order_by("code_identifier").values_list("annotator_id", "code_identifier"):
        if annotator_id is not None:
            chosen[annotator_id].append(code)
    return dict(chosen)


def read_learnt(annotator: Annotator, *, shown: str = "") -> dict[str, Any] | None:
    """The table of a learnt annotator, as its recipe has it; None for others. Reads annotator.version, annotator.project.

    ``tried``: what there was of each code to learn from, with precision and recall where it was tested. ``untried``: codes
    with too few examples. ``hidden``: identifiers and names of families whose figures stay out; ``shown`` is one that was
    asked for with a reason.
    """
    if annotator.kind != Annotator.Kind.LEARNT:
        return None
    stances = read_stances(annotator.project)
    named = annotator.version.codes.values_list("identifier", "family__identifier", "family__name")
    families = {code: (family, name) for code, family, name in named}
    tried, untried = list[dict[str, Any]](), list[dict[str, Any]]()
    hidden: dict[tuple[str, str], None] = {}
    for code, found in annotator.recipe.get("codes", {}).items():
        tp, fp, fn = (found.get(cell) for cell in ("tp", "fp", "fn"))
        if found.get("reason") and tp is None:
            untried.append({"code": code, **found})
            continue
        family = families.get(code, ("", ""))
        is_tested = None not in {tp, fp, fn}
        is_hidden = is_tested and family[0] != shown and stances.find(family[0]) == MethodStance.Stance.REFLEXIVE
        row = {"code": code, "found": found, "threshold": found.get("threshold"), "is_hidden": is_hidden}
        if is_hidden:
            hidden[family] = None
        elif is_tested:
            row |= {"precision": Share(tp, tp + fp), "recall": Share(tp, tp + fn)}
        tried.append(row)
    return {"tried": tried, "untried": untried, "hidden": list(hidden)}
