"""The page on which models are compared on the questions that several were asked alike, and its file."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from transcripts.analysis.themes.compared import compare, list_families
from transcripts.analysis.themes.evidence import LayerChoice, choose_viewpoint
from transcripts.analysis.themes.pure.comparing import COMPARISONS, draw_models
from transcripts.analysis.themes.views.themes import describe_viewpoint
from transcripts.blinding.viewers import get_viewer
from transcripts.formats.comparisons import RULE
from transcripts.statistics.figures import explain_marks
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.downloads import name_narrowed, offer_table, send_report_table
from transcripts.studies.roles import Permission

NO_CODES = "None of these codes is in a decided answer to a question that two models were asked."
NO_ANSWERS_OF_THE_CHOSEN = "The models chosen have no answers with these codes that could be compared."


@require_safe
@project_view(Permission.VIEW)
def show_compared(request: ProjectRequest) -> HttpResponse:
    """Every two models, by the codes of a family or by themes; only the pairs of one model, or one pair, if they are chosen."""
    report, context = _read(request, request.GET)
    rows = report["comparisons"]
    context |= {
        "report": report,
        "rows": COMPARISONS.print_rows(report),
        "heads": COMPARISONS.list_heads(),
        "chart": draw_models(
            rows,
            report["why"] or (NO_ANSWERS_OF_THE_CHOSEN if context["chosen"] else NO_CODES),
        ),
        "marks": explain_marks((row["mark"] for row in rows), "cases"),
        "query": [
            (name, request.GET[name])
            for name in ("family", "coder", "layer", "model", "other")
            if request.GET.get(name)
        ],
    }
    if rows and Permission.SEE_ALL_CODINGS in request.role.permissions:
        context["offered_tables"] = [offer_table(COMPARISONS, "These comparisons")]
        context["table_files"] = reverse("themes:compared_file", args=[request.project.slug])
    return render(request, "analysis/themes/compared.html", context)


@require_POST
@project_view(Permission.SEE_ALL_CODINGS)
def download(request: ProjectRequest) -> HttpResponse:
    """The comparisons that the page shows, as a file."""
    report, context = _read(request, request.POST)
    marks = explain_marks((row["mark"] for row in report["comparisons"]), "cases")
    whose = f"Codings of {report['coder']}, {report['layer']}."
    basis = {name: report[name] for name in ("family", "coder", "layer", "models", "interviews")} | context["chosen"]
    return send_report_table(
        COMPARISONS,
        report,
        request.POST.get("format", "csv"),
        "models.compared",
        stem=name_narrowed(f"{request.project.slug}-models-compared", basis, is_narrowed=True),
        project=request.project,
        target=f"family:{report['family']}",
        by=request.user,
        details={"rows": len(report["comparisons"]), **basis},
        caption=" ".join([COMPARISONS.caption, whose, RULE, *marks, *report["notes"]]),
    )


def _read(request: ProjectRequest, asked: QueryDict) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is compared, as it was asked for, and what the page offers instead. What there is not is passed over."""
    layer = asked.get("layer", LayerChoice.BLIND)
    viewpoint = choose_viewpoint(get_viewer(request), coder=asked.get("coder", ""), layer=layer)
    families = dict(list_families(viewpoint))
    family = asked.get("family", "")
    report = compare(viewpoint, family if family in families else next(iter(families), ""))
    chosen = {name: found for name in ("model", "other") if (found := asked.get(name, "")) in report["models"]}
    report["comparisons"] = [
        row for row in report["comparisons"] if {*chosen.values()} <= {row["first"], row["second"]}
    ]
    return report, {"families": families, "chosen": chosen, **describe_viewpoint(request, viewpoint)}
