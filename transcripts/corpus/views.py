"""Pages of the texts: their list, import, archive, exclusion, and details."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, retarget

from transcripts.accounts.models import User
from transcripts.corpus import queries
from transcripts.corpus.actions import find_refused, import_files, plan_imports
from transcripts.corpus.changes import (
    FIELDS,
    PROMPT_KIND,
    UndoRefused,
    archive_interviews,
    count_work,
    edit_details,
    restore_interviews,
    undo_import,
)
from transcripts.corpus.consent import preview, record_consent, save_redaction, suggest_entries, tidy_entries
from transcripts.corpus.forms import (
    MAX_UPLOAD_SIZE,
    ROLE_CHOICES,
    ChosenForm,
    ConsentForm,
    DetailsForm,
    ImportForm,
    RedactionForm,
)
from transcripts.corpus.models import RUN_FACTS, Consent, ImportedFile, Interview, Kind, RedactionList
from transcripts.corpus.planning import ImportReport
from transcripts.corpus.pure.markdown_lines import summarise
from transcripts.corpus.pure.previews import ChoiceRefused, Choices, read_choices
from transcripts.corpus.pure.redacting import read_stored, write_lines
from transcripts.corpus.queries import (
    IMPORT,
    STATES,
    count_states,
    find_redaction,
    holds,
    list_consents,
    list_matching,
    list_run_facts,
    list_scopes,
    read_wanted,
)
from transcripts.history.views import at_next
from transcripts.jobs.actions import start_job
from transcripts.jobs.runs import list_recent_jobs
from transcripts.refusals import Refused
from transcripts.statistics.figures import Mark, explain_mark, mark_clusters
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import ChangedMeanwhile, at_form, at_top, takes_uploads
from transcripts.ui.typed_text import find_numbers

INTERVIEWS_PER_PAGE = 50
FILES_NAMED = 3
# A file of this size takes a second or two to read and store; a worker imports larger ones.
LARGE_SIZE = 500_000
FILES_PER_PAGE = 50
TITLES_SHOWN = 20


@require_safe
@study_view(Permission.VIEW)
def list_interviews(request: StudyRequest) -> HttpResponse:
    """The interviews that match the request, with the work on them, and a summary of their counts.

    People who see every coding see everybody's work; a coder sees her own.
    """
    wanted = queries.read_wanted(request.GET)
    sees_all = Permission.SEE_ALL_CODINGS in request.role.permissions
    only = None if sees_all else request.user
    shown = queries.list_matching(request.study, wanted, only)
    page = Paginator(shown, INTERVIEWS_PER_PAGE).get_page(request.GET.get("page"))
    if not wanted.needs_work:
        queries.add_work(list(page), only)
    models = request.study.interviews.exclude(model_label="").order_by("model_label")
    coders = request.study.members.filter(is_active=True).order_by("username") if sees_all else User.objects.none()
    of_kind = {kind: [row.counts for row in shown if row.kind == kind] for kind in Kind}
    # Interviews and agent runs are never summed together: interviews are shown, or runs if there is nothing else.
    counted = next((kind for kind, rows in of_kind.items() if rows), Kind.INTERVIEW)
    return render(
        request,
        "corpus/interviews.html",
        {
            "page": page,
            "summary": summarise(of_kind[counted]),
            "summary_of": {Kind.INTERVIEW: "interview", Kind.TRAJECTORY: "agent run"}[counted],
            "summary_is_few": mark_clusters(len(of_kind[counted])) == Mark.FEW,
            "few": explain_mark(Mark.FEW, {Kind.INTERVIEW: "interviews", Kind.TRAJECTORY: "agent runs"}[counted]),
            "runs_apart": 0 if counted == Kind.TRAJECTORY else len(of_kind[Kind.TRAJECTORY]),
            "runs_query": urlencode(
                [each for each in wanted._replace(kind=Kind.TRAJECTORY)._asdict().items() if each[1]]
            ),
            "models": list(models.values_list("model_label", flat=True).distinct()),
            "coders": list(coders.values_list("username", flat=True)),
            "wanted": wanted,
            "wanted_items": wanted._asdict().items(),
            "is_narrowed": any(wanted._replace(sort="")),
            "sorts": queries.SORTS.items(),
            "stages": queries.STAGES.items(),
            "kinds": Kind.choices,
            "facts": [(RUN_FACTS[key], key, values) for key, values in list_run_facts(request.study).items()],
            "sees_all": sees_all,
            "consent_form": ConsentForm(),
            "has_masked": any(row.is_masked for row in shown),
            "study_is_empty": not shown and not any(wanted) and not request.study.interviews.exists(),
        },
    )


@takes_uploads(MAX_UPLOAD_SIZE)
@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def import_interviews(request: StudyRequest) -> HttpResponse:
    """Show the contents of files (``check`` in the form) or import them. Without htmx the whole page is sent."""
    if request.method != "POST":
        return _render_import(request, ImportForm(), ChosenForm(), None)
    form, sent, is_check = ImportForm(request.POST, request.FILES), ChosenForm(request.POST), "check" in request.POST
    # The contents of files can be shown before a consent has its basis.
    chosen = ChosenForm(initial=sent.options) if is_check else sent
    if not form.is_valid():
        return _render_import(request, form, chosen, None)
    without = set(request.POST.getlist("without"))
    uploads = [file for file in form.cleaned_data["uploads"] if (file.name or "file") not in without]
    if not uploads:
        form.add_error("uploads", "All the chosen files are left out.")
        return _render_import(request, form, chosen, None)
    is_fit = is_check or chosen.is_valid()
    options = {"format": form.cleaned_data["format"], **chosen.options}
    if is_fit and sum(file.size or 0 for file in uploads) > LARGE_SIZE:
        return _leave_to_worker(request, form, chosen, uploads, options)
    files = [(file.name or "file", file.read()) for file in uploads]
    try:
        choices = read_choices({**options, "consent": {}})
    except ChoiceRefused:
        return _render_import(request, form, sent, None)
    try:
        if is_fit and not is_check:
            reports = import_files(study=request.study, files=files, by=request.user, choices=read_choices(options))
            return _report_import(request, reports)
        reports = plan_imports(study=request.study, files=files, choices=choices)
    except Refused as error:
        refused = find_refused(study=request.study, files=files, choices=choices) if len(files) > 1 else {}
        field = "format" if _can_be_detected(request, files, choices) else "uploads"
        for sentence in refused.values() or [str(error)]:
            form.add_error(field, sentence)
        return _render_import(request, form, chosen, None, refused=list(refused))
    return _render_import(request, form, chosen, reports)


def _can_be_detected(request: StudyRequest, files: Sequence[tuple[str, bytes]], choices: Choices) -> bool:
    """Whether files are unreadable only because of the format that the person chose."""
    if choices.format == "auto":
        return False
    try:
        plan_imports(study=request.study, files=files, choices=replace(choices, format="auto"))
    except Refused:
        return False
    return True


def _leave_to_worker(
    request: StudyRequest,
    form: ImportForm,
    chosen: ChosenForm,
    uploads: Sequence[UploadedFile[bytes]],
    options: Mapping[str, object],
) -> HttpResponse:
    """Have a worker check or import the files, and go to the page that shows its progress."""
    with at_form(form):
        job = start_job(
            study=request.study,
            kind=IMPORT,
            files=uploads,
            check_only="check" in request.POST,
            options=options,
            by=request.user,
        )
        if request.htmx:  # type: ignore[attr-defined]
            return HttpResponseClientRedirect(job.get_absolute_url())
        return redirect(job)
    return _render_import(request, form, chosen, None)


def _report_import(request: StudyRequest, reports: list[ImportReport]) -> HttpResponse:
    """Say on the list of interviews what was imported, with each warning once unless the preview showed it."""
    created = [report for report in reports if report.created]
    if interviews := sum(report.interviews for report in created):
        sentences = sum(report.sentences or 0 for report in created)
        came = f"{interviews} interview{pluralize(interviews)} with {sentences} sentence{pluralize(sentences)}"
        of = f", from {len(created)} files" if len(created) > 1 else ""
        messages.success(request, f"Imported: {came}{of}.{_name_left_out(request)}")
    if turns := sum(report.grown_turns for report in created if report.grown):
        messages.success(request, f"{turns} turn{pluralize(turns)} were added to interviews that continued.")
    if "looked" not in request.POST or not created:
        files_of: dict[str, list[str]] = defaultdict(list)
        for report in reports:
            for warning in report.warnings:
                files_of[warning].append(report.name)
        for warning, names in files_of.items():
            more = f" and {len(names) - FILES_NAMED} more files" if len(names) > FILES_NAMED else ""
            messages.warning(request, f"{', '.join(names[:FILES_NAMED])}{more}: {warning}")
    address = reverse("corpus:interviews", args=[request.study.slug])
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)  # type: ignore[attr-defined]


def _name_left_out(request: StudyRequest) -> str:
    """The chosen files that were not imported, because they could not be read."""
    chosen = {file.name or "file" for file in request.FILES.getlist("uploads")}
    names = [name for name in request.POST.getlist("without") if name in chosen]
    return f" Left out: {', '.join(names)}." if names else ""


def _render_import(
    request: StudyRequest,
    form: ImportForm,
    chosen: ChosenForm,
    reports: list[ImportReport] | None,
    *,
    refused: Sequence[str] = (),
) -> HttpResponse:
    """The page; for htmx only the report or the problems, so that the chosen files stay chosen."""
    is_wrong = bool(form.errors or chosen.errors)
    context: dict[str, object] = {
        "form": form,
        "chosen": chosen,
        "is_wrong": is_wrong,
        "reports": reports,
        "jobs": list_recent_jobs(request.study, IMPORT, request.user),
        "roles": ROLE_CHOICES,
        "refused": refused,
        "without": request.POST.getlist("without"),
    }
    status = 422 if is_wrong else 200
    if not request.htmx:  # type: ignore[attr-defined]
        return render(request, "corpus/import.html", context, status=status)
    if is_wrong:
        # The report on files that cannot be read is outdated; choices for readable files stay.
        context["forget_report"] = "check" in request.POST
        return retarget(render(request, "corpus/import.html#problems", context, status=status), "#problems")
    return render(request, "corpus/import.html#report", context)


@require_safe
@study_view(Permission.VIEW)
def show_archive(request: StudyRequest) -> HttpResponse:
    """Every interview that is archived or excluded: since when, by whom and why."""
    rows = queries.list_left_out(request.study)
    may_restore = Permission.IMPORT in request.role.permissions
    return render(request, "corpus/archive.html", {"rows": rows, "may_restore": may_restore})


@require_POST
@study_view(Permission.IMPORT)
def archive(request: StudyRequest) -> HttpResponse:
    """Archive the ticked interviews."""
    interviews = _find_ticked(request)
    with at_top(request):
        count = archive_interviews(
            study=request.study, interviews=interviews, reason=request.POST.get("reason", ""), by=request.user
        )
        messages.success(request, f"{count} interview{pluralize(count)} archived. Nothing was deleted.")
        return redirect("corpus:archive", request.study.slug)
    return redirect("corpus:interviews", request.study.slug)


@require_POST
@study_view(Permission.IMPORT)
def restore(request: StudyRequest) -> HttpResponse:
    """Restore the ticked interviews."""
    with at_top(request):
        count = restore_interviews(study=request.study, interviews=_find_ticked(request), by=request.user)
        messages.success(request, f"{count} interview{pluralize(count)} restored.")
        return redirect("corpus:interviews", request.study.slug)
    return redirect("corpus:archive", request.study.slug)


@require_safe
@study_view(Permission.VIEW)
def list_files(request: StudyRequest) -> HttpResponse:
    """Every imported file, newest first, with the number of its interviews that still count."""
    page = Paginator(queries.list_files(request.study), FILES_PER_PAGE).get_page(request.GET.get("page"))
    may_undo = Permission.IMPORT in request.role.permissions
    return render(request, "corpus/files.html", {"page": page, "may_undo": may_undo})


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.IMPORT)
def undo(request: StudyRequest, file_id: int) -> HttpResponse:
    """Undo the import of a file after a confirmation; if somebody has worked with it, say who and undo nothing."""
    file = get_object_or_404(request.study.imported_files, pk=file_id, state=ImportedFile.State.STORED)
    work = count_work(file)
    if request.method == "POST" and not work:
        try:
            count = undo_import(file=file, by=request.user)
        except UndoRefused as error:
            work = error.work
        except Refused as error:
            messages.error(request, str(error))
            return redirect("corpus:files", request.study.slug)
        else:
            messages.success(
                request, f"The import of {file.name} is undone: {count} interview{pluralize(count)} taken back."
            )
            return redirect("corpus:files", request.study.slug)
    context = {"file": file, "work": work, "interviews": file.interviews.order_by("pk")[:TITLES_SHOWN]}
    context["more"] = max(0, file.interviews.count() - TITLES_SHOWN)
    return render(request, "corpus/undo.html", context, status=409 if request.method == "POST" else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.VIEW)
def show_details(request: StudyRequest, interview_id: int) -> HttpResponse:
    """The details of an interview, with the history of corrections; people who may import can correct them here."""
    may_edit = Permission.IMPORT in request.role.permissions
    if request.method == "POST" and not may_edit:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    interview = get_object_or_404(
        request.study.every_interview.kept().select_related("imported_file", "hangs_on__interview"), pk=interview_id
    )
    form = DetailsForm(request.POST if request.method == "POST" else None, interview=interview)
    status = 422
    if request.method == "POST" and form.is_valid():
        values = {name: form.cleaned_data[name] for name in FIELDS}
        try:
            changes = edit_details(
                study=request.study,
                interview=interview,
                values=values,
                kinds=form.read_kinds(),
                reason=form.cleaned_data["reason"],
                by=request.user,
                seen=form.cleaned_data["seen"],
            )
        except Refused as error:
            form.add_error(None, str(error))
        except ChangedMeanwhile as error:
            interview.refresh_from_db()
            form, status = form.rebase(error.stored, interview=interview), 409
        else:
            messages.success(request, "Saved." if changes else "Nothing was changed, so nothing was saved.")
            return redirect("corpus:details", request.study.slug, interview.pk)
    rows = interview.changes.select_related("changed_by", "turn").defer("turn__text").order_by("-pk")
    names = {**FIELDS, "standing": "State", "masked": "Masking", PROMPT_KIND: "Kind of prompt"}
    context = {
        "interview": interview,
        "form": form,
        "may_edit": may_edit,
        "names_covered": interview.masked_facts.names_covered if interview.unmasked_at else None,
        "versions": interview.versions.select_related("imported_file", "first_turn").defer("first_turn__text"),
        "known": [(names[name], getattr(interview, name)) for name in FIELDS],
        "changes": [(row, names.get(row.field, row.field)) for row in rows],
    }
    return render(request, "corpus/details.html", context, status=status if form.errors else 200)


def show_left_out(request: HttpRequest) -> HttpResponse | None:
    """The page at an address of an archived or excluded interview, for a member of its study; otherwise nothing."""
    study, match = getattr(request, "study", None), request.resolver_match
    if study is None or match is None:
        return None
    holes = match.kwargs
    interview = queries.find_left_out(
        study, interview_id=holes.get("interview_id"), sentence_id=holes.get("sentence_id")
    )
    if interview is None:
        return None
    changes = interview.changes.filter(field="standing").select_related("changed_by")
    context = {
        "interview": interview,
        "latest": changes.order_by("-pk").first(),
        "study": study,
        "may_restore": Permission.IMPORT in request.role.permissions,  # type: ignore[attr-defined]
    }
    return render(request, "corpus/left_out.html", context, status=404)


def _find_ticked(request: StudyRequest) -> list[Interview]:
    """The ticked interviews, or all that match the filter of the list."""
    if "every" in request.POST:
        return queries.list_matching(request.study, queries.read_wanted(request.POST), None)
    ticked = find_numbers(request.POST.getlist("interview"))
    return list(request.study.every_interview.kept().filter(pk__in=ticked).only("pk", "standing"))


CONSENTS_PER_PAGE = 100


@require_safe
@study_view(Permission.VIEW)
def list_consent(request: StudyRequest) -> HttpResponse:
    """Every interview with its consents; ``?model=``, ``?in_scope=`` with ``?state=`` filter them."""
    return _render_list(request, ConsentForm(initial={"scope": request.GET.get("in_scope", "")}))


@require_POST
@study_view(Permission.SET_METHOD)
def record(request: StudyRequest) -> HttpResponse:
    """Record a consent for the ticked interviews, or for all that match the filter."""
    form = ConsentForm(request.POST)
    chosen = _read_chosen(request)
    if form.is_valid():
        with at_form(form):
            rows = record_consent(
                study=request.study,
                interviews=chosen,
                scope=form.cleaned_data["scope"],
                is_given=form.is_given,
                basis=form.cleaned_data["basis"],
                by=request.user,
            )
            what = Consent.Scope(form.cleaned_data["scope"]).label
            said = "given" if form.is_given else "not given"
            messages.success(request, f"{what}: {said}, recorded for {len(rows)} interview{pluralize(len(rows))}.")
            return redirect("corpus:consent", request.study.slug)
    return _render_list(request, form, {interview.pk for interview in chosen})


@require_safe
@study_view(Permission.VIEW)
def show_history(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Every record of one interview, newest first."""
    interview = get_object_or_404(request.study.interviews, pk=interview_id)
    context = {
        "interview": interview,
        "scopes": list_scopes(interview),
        "records": interview.consents.order_by("-pk"),
        "form": ConsentForm(),
    }
    return render(request, "corpus/interview_consent.html", context)


def _read_chosen(request: StudyRequest) -> list[Interview]:
    """The interviews that a person has ticked, without those of other studies and invalid numbers."""
    if "every" in request.POST and "sort" in request.POST:
        # From the list of interviews, which has other filters.
        return list_matching(request.study, read_wanted(request.POST), None)
    if "every" in request.POST:
        shown = [line["pk"] for line in _filter(list_consents(request.study), request.POST)]
        return list(request.study.interviews.filter(pk__in=shown))
    ticked = find_numbers(request.POST.getlist("interview"))
    return list(request.study.interviews.filter(pk__in=ticked))


def _filter(lines: Sequence[dict[str, Any]], asked: QueryDict) -> list[dict[str, Any]]:
    model, scope, state = asked.get("model", ""), asked.get("in_scope", ""), asked.get("state", "")
    return [
        line
        for line in lines
        if (not model or line["model_label"] == model) and (not scope or not state or holds(line, scope, state))
    ]


def _render_list(request: StudyRequest, form: ConsentForm, ticked: set[int] | None = None) -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    every = list_consents(request.study)
    shown = _filter(every, asked)
    context = {
        "form": form,
        "page": Paginator(shown, CONSENTS_PER_PAGE).get_page(asked.get("page")),
        "counts": count_states(every),
        "ticked": ticked or set(),
        "every": "every" in asked,
        "asked": {name: asked.get(name, "") for name in ("model", "in_scope", "state")},
        "models": sorted({line["model_label"] for line in every if line["model_label"]}),
        "scopes": Consent.Scope.choices,
        "states": STATES.items(),
        "study_is_empty": not every,
        "may_record": Permission.SET_METHOD in request.role.permissions,
    }
    return render(request, "corpus/consent.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def edit_redaction(request: StudyRequest) -> HttpResponse:
    """Show the current list, show what another would change (``check`` in the form), or save it.

    ``?suggested=1`` puts the names that came in with the interviews below the entries.
    """
    current = find_redaction(request.study)
    form = RedactionForm(request.POST if request.method == "POST" else None, initial=_describe(request, current))
    if form.is_valid():
        with at_next(form, "entries"):
            if "check" in request.POST:
                effects = preview(request.study, tidy_entries(form.cleaned_data["entries"]))
                return _render(request, form, current, effects)
            row = save_redaction(study=request.study, by=request.user, **form.cleaned_data)
            messages.success(request, f"List {row.number} is now in use for every copy that has not been sent yet.")
            return redirect("corpus:redaction", request.study.slug)
    # A person who is late sees her entries again, next to the list that was saved before; saved again, they replace it.
    return _render(request, form, form.latest or current)


def _describe(request: StudyRequest, current: RedactionList | None) -> dict[str, object]:
    entries = read_stored(current.entries) if current else []
    if "suggested" in request.GET:
        entries = [*entries, *suggest_entries(request.study, entries)]
    return {"entries": write_lines(entries), "based_on": current.number if current else 0}


def _render(
    request: StudyRequest,
    form: RedactionForm,
    current: RedactionList | None,
    effects: list[dict[str, object]] | None = None,
) -> HttpResponse:
    held = read_stored(current.entries) if current else []
    context = {
        "form": form,
        "current": current,
        "held": held,
        "effects": effects,
        "suggested": suggest_entries(request.study, held),
        "lists": request.study.redaction_lists.order_by("-number"),
    }
    return render(request, "corpus/redaction.html", context, status=form.status)
