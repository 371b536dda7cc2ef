"""The report of a probe: both tables, their files, and the way to coding the rationales."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.batches.pages.progress import send_batch_table
from auditapp.benchmarks.gender_cues.actions.rationales import PER_THREAD, store_rationales
from auditapp.benchmarks.gender_cues.forms.reports import RationalesForm, ReportForm
from auditapp.benchmarks.gender_cues.models import ReviewSet
from auditapp.benchmarks.gender_cues.pure.comparing import COMPARISONS
from auditapp.benchmarks.gender_cues.pure.outputs import FUNNEL, TABLE1, TABLE2, caption_table
from auditapp.benchmarks.gender_cues.pure.tables import AXES
from auditapp.benchmarks.gender_cues.pure.themes import write_theme_codebook
from auditapp.benchmarks.gender_cues.queries.method import describe_probe
from auditapp.benchmarks.gender_cues.queries.purposes import describe_withdrawal
from auditapp.benchmarks.gender_cues.queries.trials import KIND, Coded, find_rationale_study, read_report
from auditapp.benchmarks.gender_cues.views.drawing import TEST_HEADS, draw_compared, draw_table1, draw_table2
from auditapp.benchmarks.gender_cues.views.gate import ProbeRequest, find_batch, probe_view
from auditapp.llm.queries import list_noted
from transcripts.formats.report_tables import ReportTable
from transcripts.refusals import Refused
from transcripts.studies.downloads import address_files, offer_table
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form
from transcripts.ui.typed_text import find_numbers

TABLES: dict[str, ReportTable[Any]] = {
    "table1": TABLE1,
    "table2": TABLE2,
    "comparisons": COMPARISONS,
    "funnel": FUNNEL,
}


@require_safe
@probe_view(Permission.SEE_ALL_CODINGS, reads_figures=True)
def show_report(request: ProbeRequest, batch_id: int) -> HttpResponse:
    """Both tables, and models and conditions compared on the same texts. A theme leads to its rationales in the study in which they
    are coded, as far as the person may see them."""
    batch = find_batch(request, batch_id)
    report, coded = _read(request, batch_id)
    arms = list(batch.arms.select_related("variant__account"))
    links = _link_themes(coded)
    others = request.project.batches.filter(kind=KIND).exclude(pk=batch.pk).order_by("-pk")
    sections = []
    for place, model in enumerate(report["models"], 1):
        tables = report["by_model"][model]
        sections.append(draw_table1(model, tables["table1"], place=place))
        if tables["table2"] is not None:
            sections.append(draw_table2(model, tables["table2"], links, place=place))
    if sections:
        sections.append(draw_compared(report))
    context = {
        "batch": batch,
        "report": report,
        "coded": coded,
        "has_rationales": find_rationale_study(batch) is not None,
        "sections": sections,
        "test_heads": TEST_HEADS,
        "form": ReportForm(request.GET, coded.counts if coded else {}, has_themes=coded is not None, others=others),
        "query": [(name, request.GET[name]) for name in ("axis", "coder", "with") if request.GET.get(name)],
        "reviews": _find_reviews(request, batch.parameters.get("reviews")),
        "purpose": request.purpose,
        "withdrawal": describe_withdrawal(request.purpose),
        "notes": describe_probe(batch),
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
        "offered_tables": [
            offer_table(TABLES[what], words, address_files("gender_cues:file", batch.project.slug, batch.pk, what))
            for what, words, is_there in (
                ("table1", "Table 1", True),
                ("table2", "Table 2", bool(coded)),
                ("comparisons", "Comparisons", bool(report["comparisons"])),
                ("funnel", "Funnel", "reviews" in batch.parameters),
            )
            if is_there
        ],
        "may_store": Permission.RUN_BATCHES in request.role.permissions and not request.purpose.is_withdrawn,
    }
    return render(request, "gender_cues/report.html", context)


def _read(request: ProbeRequest, batch_id: int) -> tuple[dict[str, Any], Coded | None]:
    """The report as it was asked for. An axis, a coder or a batch to compare with that there is not is passed over."""
    batch = find_batch(request, batch_id)
    asked = request.POST if request.method == "POST" else request.GET
    axis = asked.get("axis", AXES[0])
    axis = axis if axis in AXES else AXES[0]
    other = request.project.batches.filter(kind=KIND, pk__in=find_numbers([asked.get("with", "")])).first()
    read = partial(read_report, batch, user=request.user, axis=axis, other=other)
    try:
        return read(coder=asked.get("coder", ""))
    except Refused:
        return read()


def _link_themes(coded: Coded | None) -> dict[str, str]:
    if coded is None:
        return {}
    address = reverse("search:search", args=[coded.project.slug])
    return {name: f"{address}?{urlencode({**asked, 'coder': coded.coder})}" for name, asked in coded.codes.items()}


def _find_reviews(request: ProbeRequest, key: object) -> ReviewSet | None:
    return ReviewSet.objects.filter(project=request.project, pk=key).first() if isinstance(key, int) else None


@require_POST
@probe_view(Permission.SEE_ALL_CODINGS, reads_figures=True)
def download(request: ProbeRequest, batch_id: int, what: str, format: str) -> HttpResponse:
    """A table as a file. A POST, because downloads are recorded."""
    batch = find_batch(request, batch_id)
    if what not in TABLES:
        raise Http404("No such file.")
    send = partial(send_batch_table, batch=batch, report="probe", by=request.user)
    if what == "funnel":
        reviews = _find_reviews(request, batch.parameters.get("reviews"))
        if reviews is None:
            raise Http404("This batch has no funnel.")
        return send(FUNNEL, reviews.funnel, format, "probe.downloaded")
    table, (report, _) = TABLES[what], _read(request, batch_id)
    return send(table, report, format, "probe.downloaded", caption=caption_table(table, report))


@require_http_methods(["GET", "HEAD", "POST"])
@probe_view(Permission.RUN_BATCHES)
def store(request: ProbeRequest, batch_id: int) -> HttpResponse:
    """Store the rationales of a probe in another study, to be coded there."""
    batch = find_batch(request, batch_id)
    typed = request.POST if request.method == "POST" else None
    form = RationalesForm(typed, project=request.project, user=request.user)
    if form.is_valid():
        with at_form(form):
            counts = store_rationales(batch=batch, by=request.user, **form.cleaned_data)
            messages.success(
                request,
                f"{counts['rationales']} rationales are in {counts['threads']} masked threads of {form.cleaned_data['into'].name}.",
            )
            return redirect("gender_cues:report", request.project.slug, batch.pk)
    context = {"batch": batch, "form": form, "per_thread": PER_THREAD}
    return render(request, "gender_cues/rationales.html", context, status=422 if form.errors else 200)


@require_safe
@probe_view(Permission.VIEW)
def download_themes(request: ProbeRequest) -> HttpResponse:
    """The published themes as a codebook, to begin a study of rationales with."""
    headers = {"Content-Disposition": 'attachment; filename="probe-themes.csv"'}
    return HttpResponse(write_theme_codebook(), content_type="text/csv; charset=utf-8", headers=headers)
