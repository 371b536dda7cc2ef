"""The page of exports, the downloads, and the page that imports a study from another program."""

from __future__ import annotations

from collections.abc import Collection

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, retarget

from transcripts.blinding.viewers import get_viewer
from transcripts.charts.svg import NoRenderer, write_png
from transcripts.corpus.models import RUN_FACTS, Kind
from transcripts.corpus.queries import count_left_out, is_fact, list_run_facts
from transcripts.exchange import actions
from transcripts.exchange.actions.exporting import PROJECT_FILE, find_hidden, write_or_leave
from transcripts.exchange.methods import draft_methods
from transcripts.exchange.refi.details import StudyReport
from transcripts.exchange.rows import (
    Export,
    Scope,
    count_without_consent,
    find_export,
    group_exports,
    list_exports,
    say_without_consent,
)
from transcripts.formats.report_tables import HOW_TO_GET_IT, is_installed
from transcripts.jobs.actions import start_job
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import list_own_files, list_recent_jobs
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import CONTENT_TYPES, send_download, sends_files
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, at_top, limit_size, takes_uploads
from transcripts.ui.templatetags.charts import read_chart

MAX_FILE_SIZE = 200 * 1024 * 1024
MAX_TOLD = 20
# A project file of this size takes seconds to read; a larger one is left to a worker.
LARGE_SIZE = 300_000


class StudyFileForm(forms.Form):
    """A project file."""

    file = forms.FileField(
        label="Project file",
        help_text="A .qdpx or .qde file of ATLAS.ti, MAXQDA, NVivo, QualCoder or this program.",
        widget=forms.ClearableFileInput(attrs={"accept": ".qdpx,.qde"}),
        validators=[limit_size(MAX_FILE_SIZE)],
    )


@require_safe
@study_view(Permission.VIEW)
def list_downloads(request: StudyRequest) -> HttpResponse:
    """The exports that this person may download."""
    exports = [export for export in list_exports() if export.permission in request.role.permissions]
    groups = group_exports(exports)
    context = {
        "groups": [(use, [(export, *_say_beside(request, export)) for export in group]) for use, group in groups],
        "own_only": not get_viewer(request).sees_all,
        "jobs": list_own_files(request.study, request.user),
        "left_out": sum(count_left_out(request.study).values()),
        "with_left_out": request.GET.get("left_out") == "on",
        "kind": _read_kind(request.GET),
        "run": _read_run(request.GET),
        "counts_long": _counts_long(request),
        "to_count_long": _write_query(request, long="on"),
        "kinds": Kind.choices,
        "facts": [(RUN_FACTS[key], key, values) for key, values in list_run_facts(request.study).items()],
        "has_parquet": is_installed(),
        "how_to_get_parquet": HOW_TO_GET_IT,
    }
    return render(request, "exchange/exports.html", context)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_methods(request: StudyRequest) -> HttpResponse:
    """The methods paragraph from the present record."""
    return render(request, "exchange/methods.html", {"text": draft_methods(request.study)})


@sends_files
@require_POST
@study_view(Permission.VIEW)
def download(request: StudyRequest, what: str, format: str) -> HttpResponseBase:
    """Write an export and send it. It is a POST, because downloads are recorded.

    A person who codes must confirm first if the file would show her hidden labels: she can take only her own rows, or unblind.
    """
    export = find_export(what)
    if export is None or format not in export.formats:
        raise Http404("No such export.")
    if export.permission not in request.role.permissions:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    viewer = get_viewer(request)
    only_own = not viewer.sees_all or request.POST.get("rows") == "own"
    scope = Scope(
        request.study,
        request.user if only_own else None,
        with_left_out=request.POST.get("left_out") == "on",
        kind=_read_kind(request.POST),
        run=_read_run(request.POST),
        coder=request.user if viewer.codes else None,
    )
    hidden = find_hidden(viewer, export, scope) if export.unblinds and not only_own else set()
    if hidden and request.POST.get("rows") != "all":
        context = {
            "export": export,
            "format": format,
            "hidden": len(hidden),
            "exact": request.POST.get("exact"),
            "scope": scope,
            "kind_name": Kind(scope.kind).label if scope.kind else "",
        }
        return render(request, "exchange/confirm.html", context, status=409)
    return _send(request, export, format, scope, unblind=hidden)


@require_POST
@study_view(Permission.VIEW)
def download_chart(request: StudyRequest) -> HttpResponseBase:
    """A chart as SVG or PNG, exactly as this person's page showed it: the form contains it, signed. Recorded."""
    format = request.POST.get("format", "")
    found = read_chart(request.POST.get("chart", ""), study=request.study.slug, user_id=request.user.pk)
    if found is None or format not in {"svg", "png"}:
        messages.error(
            request, "This chart can no longer be downloaded. Open its page again and choose SVG or PNG there."
        )
        return redirect("exchange:exports", request.study.slug)
    try:
        name, svg = found
        data = write_png(svg) if format == "png" else svg.encode()
    except NoRenderer as error:
        messages.error(request, str(error))
        return redirect("exchange:exports", request.study.slug)
    return send_download(
        data,
        "chart.downloaded",
        name=f"{request.study.slug}-{name}.{format}",
        content_type=CONTENT_TYPES[format],
        study=request.study,
        target=f"chart:{name}",
        by=request.user,
        details={"format": format},
    )


def _say_beside(request: StudyRequest, export: Export) -> tuple[str, str]:
    """Notes on a file with the page's filters: the words that are left out because consent is missing, and the cells that are too
    long for a spreadsheet."""
    scope = Scope(
        request.study,
        None,
        with_left_out=request.GET.get("left_out") == "on",
        kind=_read_kind(request.GET),
        run=_read_run(request.GET),
    )
    without = say_without_consent(export, count_without_consent(export, scope))
    if export.count_long is None or not _counts_long(request):
        return without, ""
    return without, actions.say_long_cells(export.count_long(scope))


def _counts_long(request: StudyRequest) -> bool:
    """Whether long cells are counted, which reads every sentence of the study and is done only on request."""
    return request.GET.get("long") == "on"


def _write_query(request: StudyRequest, **more: str) -> str:
    """The query of the page with its filters and further values."""
    query = request.GET.copy()
    query.update(more)
    return query.urlencode()


def _read_kind(asked: QueryDict) -> str:
    """The chosen kind of interviews; an unknown value does not filter."""
    kind = asked.get("kind", "")
    return kind if kind in Kind.values else ""


def _read_run(asked: QueryDict) -> str:
    """The chosen fact about a run; an unknown value does not filter."""
    run = asked.get("run", "")
    return run if is_fact(run) else ""


def _send(
    request: StudyRequest, export: Export, format: str, scope: Scope, *, unblind: Collection[int]
) -> HttpResponseBase:
    """Write the file and send it or, if that takes long, leave it to a worker and show its progress."""
    exact = request.POST.get("exact") == "on"
    with at_top(request):
        written = write_or_leave(
            export=export,
            scope=scope,
            format=format,
            exact=exact,
            by=request.user,
            role=request.role,
            unblind=unblind,
        )
        if isinstance(written, ImportJob):
            return redirect(written)
        if note := actions.say_long_cells(int(written.get("X-Long-Cells", "0"))):
            messages.warning(request, f"{export.name} as {format.upper()}: {note}")
        return written
    return redirect("exchange:exports", request.study.slug)


@takes_uploads(MAX_FILE_SIZE)
@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def import_study(request: StudyRequest) -> HttpResponse:
    """Check a project file (``check`` in the form), or import it after the check.

    The people in it must be reviewed first: ``seen`` is the hash of the file whose people were shown, ``member`` says which of
    them are the members with the same names.
    """
    form = StudyFileForm(request.POST, request.FILES) if request.method == "POST" else StudyFileForm()
    report: StudyReport | None = None
    problems: list[str] = []
    if request.method == "POST" and form.is_valid():
        if (form.cleaned_data["file"].size or 0) > LARGE_SIZE:
            return leave_study_to_worker(request, form)
        try:
            report = read_study(request, form, dry_run=True)
            if "check" not in request.POST and may_store(request, report):
                report = read_study(request, form, dry_run=False)
                return report_import(request, report)
            if "check" not in request.POST:
                form.add_error(
                    "file",
                    "Check who the people and which codes in this file are. Then choose the file again and press Import.",
                )
        except actions.StudyRefused as error:
            form.add_error("file", str(error))
            problems = error.problems
    apart = set(request.POST.getlist("bears")) - set(request.POST.getlist("member"))
    context: dict[str, object] = {"form": form, "report": report, "problems": problems, "apart": apart}
    context["are_same"] = _are_same(request.POST)
    context["jobs"] = list_recent_jobs(request.study, PROJECT_FILE.name, request.user)
    return render_import(request, form, context)


def leave_study_to_worker(request: StudyRequest, form: StudyFileForm) -> HttpResponse:
    """Have a worker check the file; the people in it are reviewed on the job's page before it is imported."""
    with at_form(form, "file"):
        job = start_job(
            study=request.study,
            kind=PROJECT_FILE.name,
            files=[form.cleaned_data["file"]],
            by=request.user,
            check_only=True,
        )
        if request.htmx:  # type: ignore[attr-defined]
            return HttpResponseClientRedirect(job.get_absolute_url())
        return redirect(job)
    return render_import(request, form, {"form": form})


def read_study(request: StudyRequest, form: StudyFileForm, *, dry_run: bool) -> StudyReport:
    """Import the file, or find out what that would do."""
    file = form.cleaned_data["file"]
    apart = set(request.POST.getlist("bears")) - set(request.POST.getlist("member"))
    return actions.import_qdpx(
        study=request.study,
        stream=file.file,
        name=file.name or "file",
        by=request.user,
        apart=apart,
        same_names=_are_same(request.POST),
        dry_run=dry_run,
    )


def may_store(request: StudyRequest, report: StudyReport) -> bool:
    """Whether the people of exactly this file, and codes with the study's names, were shown if there are any."""
    return not (report.people or report.namesakes) or request.POST.get("seen") == report.sha256


def _are_same(asked: QueryDict) -> bool:
    """Whether codes with the study's names are the study's; yes by default, until somebody has reviewed them."""
    return "same_names" in asked or "seen" not in asked


def report_import(request: StudyRequest, report: StudyReport) -> HttpResponse:
    """Report the import on the list of interviews."""
    new = ", ".join(f"{number:,} {kind}" for kind, number, _ in report.kinds if number)
    messages.success(request, f"{report.name}: imported {new}." if new else f"{report.name}: nothing in it is new.")
    for sentence in [*report.notes, *report.left_out][:MAX_TOLD]:
        messages.warning(request, f"{report.name}: {sentence}")
    return redirect("corpus:interviews", request.study.slug)


def render_import(request: StudyRequest, form: StudyFileForm, context: dict[str, object]) -> HttpResponse:
    """The page; for htmx only the report, so that the chosen file stays chosen, or the form if it has errors."""
    status = 422 if form.errors else 200
    if not request.htmx:  # type: ignore[attr-defined]
        return render(request, "exchange/import.html", context, status=status)
    if form.errors:
        return retarget(render(request, "exchange/import.html#form", context, status=status), "#import")
    return render(request, "exchange/import.html#report", context)
