"""Reading the codebook: versions, single codes, keys, and what two versions differ in."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from transcripts.accounts.actions import check_may_start_studies
from transcripts.accounts.models import User
from transcripts.codebook import actions, queries
from transcripts.codebook.forms.versions import CompareForm, StudyForm
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.codebook.pure.comparing import trace
from transcripts.codebook.pure.seed import NewerParts
from transcripts.codebook.queries import read_examples
from transcripts.codebook.views.common import add_problems, find_coder
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.actions import make_address
from transcripts.studies.roles import Permission


@require_http_methods(["GET", "HEAD", "POST"])
def start_study(request: HttpRequest) -> HttpResponse:
    """Make a study with a codebook and a method; its maker becomes its owner."""
    person = cast(User, request.user)
    check_may_start_studies(person)
    form = StudyForm(request.POST, request.FILES) if request.method == "POST" else StudyForm()
    if request.method == "POST" and form.is_valid():
        typed = form.cleaned_data
        upload = typed.pop("file")
        file = (upload.name, upload.read()) if upload is not None else None
        try:
            address = make_address(typed["slug"], by=person)
            study = actions.start_study(**typed | {"slug": address, "file": file}, by=person)
        except actions.CodebookRefused as error:
            add_problems(form, error)
        except Refused as error:
            # The name is there, so what was refused is the address.
            form.add_error("slug", str(error))
        else:
            messages.success(request, f"{study.name} is set up. The steps below can be taken in any order, or later.")
            address = study.get_absolute_url()
            return HttpResponseClientRedirect(address) if request.htmx else redirect(address)  # type: ignore[attr-defined]
    return render(request, "codebook/start_study.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def show_current(request: StudyRequest) -> HttpResponse:
    """The version people code with; the latest draft where none is published."""
    version = queries.current_version(request.study) or queries.latest_version(request.study)
    if version is None:
        return render(request, "codebook/none.html")
    return render_version(request, version)


@require_safe
@study_view(Permission.VIEW)
def show_version(request: StudyRequest, number: int) -> HttpResponse:
    """One version, draft or published."""
    return render_version(request, get_object_or_404(request.study.codebook_versions, number=number))


def render_version(
    request: StudyRequest, version: CodebookVersion, *, obstacles: list[str] | None = None
) -> HttpResponse:
    """The page of a version; ``obstacles`` are what keeps it from being published."""
    version.study = request.study
    versions = list(queries.list_versions(request.study))
    kept = [other for other in versions if other.status != CodebookVersion.Status.DISCARDED]
    published = [other for other in kept if other.status == CodebookVersion.Status.PUBLISHED]
    earlier = next((other for other in kept if other.number < version.number), None)
    families = queries.read_tree(version)
    history = queries.read_history(version)
    examples = read_examples(Q(code__version=version), coder=find_coder(request))
    for family in families:
        for node in family.codes:
            node.examples = examples.get(node.code.pk, [])
            node.lineage = trace(node.code.identifier, *history)
    context = {
        "version": version,
        "versions": versions,
        "current": published[0] if published else None,
        "draft": kept[0] if kept and kept[0].status == CodebookVersion.Status.DRAFT else None,
        "earlier": earlier,
        "families": families,
        "code_count": sum(len(family.codes) for family in families),
        "key_count": sum(1 for family in families for node in family.codes if node.code.key),
        "example_count": sum(map(len, examples.values())),
        "changes": queries.find_changes(version, since=earlier) if earlier else None,
        "compare_form": _make_compare_form(kept, earlier, version),
        "obstacles": obstacles,
        "newer": _find_newer(request, version, published, kept),
    }
    return render(request, "codebook/version.html", context, status=422 if obstacles else 200)


def _find_newer(
    request: StudyRequest, version: CodebookVersion, published: list[CodebookVersion], kept: list[CodebookVersion]
) -> NewerParts | None:
    """What the built-in codebook has gained, for those who may start a draft with it, on the page of the version in use."""
    is_current = bool(published) and published[0].pk == version.pk == kept[0].pk
    may_edit = Permission.EDIT_CODEBOOK in request.role.permissions
    return queries.find_newer_parts(version) if is_current and may_edit else None


def _make_compare_form(
    versions: list[CodebookVersion], before: CodebookVersion | None, after: CodebookVersion
) -> CompareForm | None:
    if len(versions) < 2:
        return None
    initial = {"before": before.number if before else None, "after": after.number}
    return CompareForm(versions=[(str(other.number), str(other)) for other in versions], initial=initial)


@require_safe
@study_view(Permission.VIEW)
def show_code(request: StudyRequest, number: int, code_id: int) -> HttpResponse:
    """One code of one version: all its texts, its pinned sentences, and its history."""
    code = _get_code(request, number, code_id)
    newest = queries.current_version(request.study)
    history = queries.read_history(newest if newest and newest.number > number else code.version)
    examples = read_examples(Q(code=code), coder=find_coder(request)).get(code.pk, [])
    context = {
        "version": code.version,
        "code": code,
        "node": next(
            node for family in queries.read_tree(code.version) for node in family.codes if node.code.pk == code.pk
        ),
        "examples": examples,
        "lineage": trace(code.identifier, *history),
        "wordings": queries.read_wordings(code),
        "meaning": request.study.codebook_versions.filter(number=code.meaning_version).first(),
    }
    return render(request, "codebook/code.html", context)


def _get_code(request: StudyRequest, number: int, code_id: int) -> Code:
    found = Code.objects.select_related("version", "family", "parent")
    code = get_object_or_404(found, pk=code_id, version__study=request.study, version__number=number)
    code.version.study = request.study
    return code


@require_safe
@study_view(Permission.VIEW)
def show_key_card(request: StudyRequest, number: int) -> HttpResponse:
    """Which key applies which code, for printing."""
    version = get_object_or_404(request.study.codebook_versions, number=number)
    families = queries.read_tree(version)
    return render(request, "codebook/key_card.html", {"version": version, "families": families})


@require_safe
@study_view(Permission.VIEW)
def choose_comparison(request: StudyRequest) -> HttpResponse:
    """From two chosen versions to the page that compares them."""
    versions = [(str(each.number), str(each)) for each in queries.list_versions(request.study)]
    form = CompareForm(request.GET or None, versions=versions)
    if form.is_valid():
        before, after = sorted((form.cleaned_data["before"], form.cleaned_data["after"]))
        return redirect("codebook:compare", request.study.slug, before, after)
    return render(request, "codebook/choose.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def compare_versions(request: StudyRequest, older: int, number: int) -> HttpResponse:
    """How version ``number`` differs from version ``older``, word by word."""
    versions = list(queries.list_versions(request.study))
    before = next((version for version in versions if version.number == older), None)
    after = next((version for version in versions if version.number == number), None)
    if before is None or after is None:
        raise Http404("There is no such version.")
    context = {
        "before": before,
        "after": after,
        "comparison": queries.find_comparison(before, after, coder=find_coder(request)),
        "compare_form": _make_compare_form(versions, before, after),
    }
    return render(request, "codebook/compare.html", context)
