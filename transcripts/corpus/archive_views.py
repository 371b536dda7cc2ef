"""Archived and excluded interviews: their list, the buttons that archive and restore, and the page at their old addresses."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.corpus import listing, queries
from transcripts.corpus.details import FIELDS, PROMPT_KIND, edit_details
from transcripts.corpus.forms import DetailsForm
from transcripts.corpus.models import ImportedFile, Interview
from transcripts.corpus.standing import UndoRefused, archive_interviews, count_work, restore_interviews, undo_import
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.ui.acts import at_top
from transcripts.ui.replacing import ChangedMeanwhile
from transcripts.ui.typed_text import find_numbers

FILES_PER_PAGE = 50
TITLES_SHOWN = 20


@require_safe
@project_view(Permission.VIEW)
def show_archive(request: ProjectRequest) -> HttpResponse:
    """Every interview that is archived or excluded: since when, by whom and why."""
    rows = queries.list_left_out(request.project)
    may_restore = Permission.IMPORT in request.role.permissions
    return render(request, "corpus/archive.html", {"rows": rows, "may_restore": may_restore})


@require_POST
@project_view(Permission.IMPORT)
def archive(request: ProjectRequest) -> HttpResponse:
    """Archive the ticked interviews."""
    interviews = _find_ticked(request)
    with at_top(request):
        count = archive_interviews(
            project=request.project, interviews=interviews, reason=request.POST.get("reason", ""), by=request.user
        )
        messages.success(request, f"{count} interview{pluralize(count)} archived. Nothing was deleted.")
        return redirect("corpus:archive", request.project.slug)
    return redirect("corpus:interviews", request.project.slug)


@require_POST
@project_view(Permission.IMPORT)
def restore(request: ProjectRequest) -> HttpResponse:
    """Restore the ticked interviews."""
    with at_top(request):
        count = restore_interviews(project=request.project, interviews=_find_ticked(request), by=request.user)
        messages.success(request, f"{count} interview{pluralize(count)} restored.")
        return redirect("corpus:interviews", request.project.slug)
    return redirect("corpus:archive", request.project.slug)


@require_safe
@project_view(Permission.VIEW)
def list_files(request: ProjectRequest) -> HttpResponse:
    """Every file that was imported, newest first, with what of it still counts."""
    page = Paginator(queries.list_files(request.project), FILES_PER_PAGE).get_page(request.GET.get("page"))
    may_undo = Permission.IMPORT in request.role.permissions
    return render(request, "corpus/files.html", {"page": page, "may_undo": may_undo})


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.IMPORT)
def undo(request: ProjectRequest, file_id: int) -> HttpResponse:
    """Ask, then undo the import of a file; where somebody has worked with it, say who, and undo nothing."""
    file = get_object_or_404(request.project.imported_files, pk=file_id, state=ImportedFile.State.STORED)
    work = count_work(file)
    if request.method == "POST" and not work:
        try:
            count = undo_import(file=file, by=request.user)
        except UndoRefused as error:
            work = error.work
        except Refused as error:
            messages.error(request, str(error))
            return redirect("corpus:files", request.project.slug)
        else:
            messages.success(
                request, f"The import of {file.name} is undone: {count} interview{pluralize(count)} taken back."
            )
            return redirect("corpus:files", request.project.slug)
    context = {"file": file, "work": work, "interviews": file.interviews.order_by("pk")[:TITLES_SHOWN]}
    context["more"] = max(0, file.interviews.count() - TITLES_SHOWN)
    return render(request, "corpus/undo.html", context, status=409 if request.method == "POST" else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.VIEW)
def show_details(request: ProjectRequest, interview_id: int) -> HttpResponse:
    """What is known of an interview, with the history of corrections; who may import corrects it here."""
    may_edit = Permission.IMPORT in request.role.permissions
    if request.method == "POST" and not may_edit:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    interview = get_object_or_404(
        request.project.every_interview.kept().select_related("imported_file", "hangs_on__interview"), pk=interview_id
    )
    form = DetailsForm(request.POST if request.method == "POST" else None, interview=interview)
    status = 422
    if request.method == "POST" and form.is_valid():
        values = {name: form.cleaned_data[name] for name in FIELDS}
        try:
            changes = edit_details(
                project=request.project,
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
            messages.success(request, "Saved." if changes else "Nothing was different, so nothing was saved.")
            return redirect("corpus:details", request.project.slug, interview.pk)
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
    """The page at an address inside an archived or excluded interview, for a member of its study; otherwise nothing."""
    project, match = getattr(request, "project", None), request.resolver_match
    if project is None or match is None:
        return None
    holes = match.kwargs
    interview = queries.find_left_out(
        project, interview_id=holes.get("interview_id"), sentence_id=holes.get("sentence_id")
    )
    if interview is None:
        return None
    changes = interview.changes.filter(field="standing").select_related("changed_by")
    context = {
        "interview": interview,
        "latest": changes.order_by("-pk").first(),
        "project": project,
        "may_restore": Permission.IMPORT in request.role.permissions,  # type: ignore[attr-defined]
    }
    return render(request, "corpus/left_out.html", context, status=404)


def _find_ticked(request: ProjectRequest) -> list[Interview]:
    """The interviews that are ticked, or all that match what the list of interviews was asked for."""
    if "every" in request.POST:
        return listing.list_matching(request.project, listing.read_wanted(request.POST), None)
    ticked = find_numbers(request.POST.getlist("interview"))
    return list(request.project.every_interview.kept().filter(pk__in=ticked).only("pk", "standing"))
