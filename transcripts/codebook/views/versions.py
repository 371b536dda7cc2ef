"""Pages of codebook versions.

Published versions can be read: whole versions, single codes, keys, and the differences between two versions. A draft is
started, ordered, published or discarded, and a codebook is imported from a file.
"""

from __future__ import annotations

import base64
from typing import cast

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from transcripts.accounts.actions import check_may_start_studies
from transcripts.accounts.models import User
from transcripts.codebook import actions, queries
from transcripts.codebook.forms import CodebookFileForm, CompareForm, ConfirmForm, StudyForm
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeFamily
from transcripts.codebook.pure.comparing import trace
from transcripts.codebook.pure.seed import NewerParts
from transcripts.codebook.queries import read_examples
from transcripts.codebook.views import add_problems, draft_url, draft_view, find_coder, refusing
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.actions import make_address
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number


@require_http_methods(["GET", "HEAD", "POST"])
def start_study(request: HttpRequest) -> HttpResponse:
    """Create a study with a codebook and a method; the person who creates it becomes its owner."""
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
            # The name is given, so the address was refused.
            form.add_error("slug", str(error))
        else:
            messages.success(request, f"{study.name} is set up. The steps below can be taken in any order, or later.")
            address = study.get_absolute_url()
            return HttpResponseClientRedirect(address) if request.htmx else redirect(address)  # type: ignore[attr-defined]
    return render(request, "codebook/start_study.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def show_current(request: StudyRequest) -> HttpResponse:
    """The version that people code with, or the latest draft if none is published."""
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
    """The page of a version; ``obstacles`` prevent its publication."""
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
    """The newer parts of the built-in codebook, for people who may start a draft with them, on the page of the version in use."""
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
    """Redirect from two chosen versions to the page that compares them."""
    versions = [(str(each.number), str(each)) for each in queries.list_versions(request.study)]
    form = CompareForm(request.GET or None, versions=versions)
    if form.is_valid():
        before, after = sorted((form.cleaned_data["before"], form.cleaned_data["after"]))
        return redirect("codebook:compare", request.study.slug, before, after)
    return render(request, "codebook/choose.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.VIEW)
def compare_versions(request: StudyRequest, older: int, number: int) -> HttpResponse:
    """The differences between version ``number`` and version ``older``, word by word."""
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


STEPS = {"up": -1, "down": 1}
FORMS = {"csv": "a table (CSV)", "json": "a codebook (JSON)", "qdc": "a REFI-QDA codebook (.qdc)"}
NOT_SAID = [("", "not given: its codings need re-review"), *CodeChange.Effect.choices]


@require_POST
@study_view(Permission.EDIT_CODEBOOK)
@refusing
def start_draft(request: StudyRequest) -> HttpResponse:
    """Start the next version."""
    version = actions.start_draft(study=request.study, by=request.user)
    messages.success(request, f"{version} is started. Nobody can code with it until you publish it.")
    return redirect("codebook:draft", request.study.slug, version.number)


@require_POST
@study_view(Permission.EDIT_CODEBOOK)
@refusing
def take_newer_parts(request: StudyRequest) -> HttpResponse:
    """Start the next version with the newer parts of the built-in codebook."""
    version = actions.take_newer_parts(study=request.study, by=request.user)
    messages.success(
        request,
        f"{version} is started with the newer parts of the built-in codebook. Look through it, then publish or discard it.",
    )
    return redirect("codebook:draft", request.study.slug, version.number)


@require_safe
@draft_view
def show_draft(request: StudyRequest, version: CodebookVersion) -> HttpResponse:
    """Families and codes of a draft, to edit and order. ``?moved=`` keeps the place in the order."""
    context = {
        "version": version,
        "families": queries.read_tree(version),
        "missing": queries.find_missing(version),
        "obstacles": actions.find_obstacles(version),
        "moved": request.GET.get("moved", ""),
    }
    return render(request, "codebook/draft.html", context)


@require_POST
@draft_view
def move(request: StudyRequest, version: CodebookVersion) -> HttpResponse:
    """Move one place up or down: ``what`` is code or family; its id, its revision, and the direction follow."""
    what, _, rest = request.POST.get("what", "").partition(":")
    named, _, rest = rest.partition(":")
    seen, _, way = rest.partition(":")
    number, revision = find_number(named), find_number(seen)
    if what not in {"code", "family"} or way not in STEPS or number is None or revision is None:
        raise Refused("This page is out of date. Open the draft again and repeat the move.")
    try:
        if what == "code":
            code = get_object_or_404(version.codes, pk=number)
            actions.shift_code(code=code, revision=revision, step=STEPS[way], by=request.user)
        else:
            family = get_object_or_404(version.families, pk=number)
            actions.shift_family(family=family, revision=revision, step=STEPS[way], by=request.user)
    except actions.EditConflict as error:
        return _ask_again(request, version, error.current, way)
    # No fragment in the address, because a browser that goes to one does not move the focus.
    return redirect(f"{draft_url(version)}?moved={what}-{number}-{way}")


def _ask_again(request: StudyRequest, version: CodebookVersion, current: Code | CodeFamily, way: str) -> HttpResponse:
    """Somebody else was faster: show the present state, and let her repeat the move or leave it."""
    what = "code" if isinstance(current, Code) else "family"
    context = {
        "version": version,
        "current": current,
        "place": _name_place(current),
        "way": way,
        "again": f"{what}:{current.pk}:{current.revision}:{way}",
    }
    return render(request, "codebook/move_again.html", context, status=409)


def _name_place(current: Code | CodeFamily) -> str:
    if isinstance(current, CodeFamily):
        before = current.version.families.filter(position__lt=current.position).count()
        return f"family {before + 1} of {current.version.families.count()}"
    siblings = current.version.codes.filter(family=current.family_id, parent=current.parent_id)
    before = siblings.filter(position__lt=current.position).count()
    under = f"under {current.parent.name}" if current.parent else f"in {current.family.name}"
    return f"{before + 1} of {siblings.count()} {under}"


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.EDIT_CODEBOOK)
@refusing
def publish(request: StudyRequest, number: int) -> HttpResponse:
    """Publish a draft after a confirmation, or list everything that prevents it."""
    version = get_object_or_404(request.study.codebook_versions, number=number)
    if request.method != "POST":
        if version.status != CodebookVersion.Status.DRAFT:
            return redirect(version)
        page = {"version": version, "obstacles": actions.find_obstacles(version)}
        return render(request, "codebook/publish.html", page)
    try:
        actions.publish_version(version=version, by=request.user)
    except actions.CodebookRefused as error:
        return render_version(request, version, obstacles=error.problems)
    messages.success(request, f"{version} is published: new codings use it, and it can no longer be changed.")
    return redirect("codebook:version", request.study.slug, number)


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def discard(request: StudyRequest, version: CodebookVersion) -> HttpResponse:
    """Discard a draft after a confirmation."""
    if request.method != "POST":
        return render(request, "codebook/discard.html", {"version": version})
    actions.discard_draft(version=version, by=request.user)
    messages.success(request, f"{version} is discarded. It can still be read; its number is not used again.")
    return redirect("codebook:current", request.study.slug)


@require_POST
@draft_view
def restore(request: StudyRequest, version: CodebookVersion) -> HttpResponse:
    """Restore a code that was removed from the draft."""
    code = actions.restore_code(version=version, identifier=request.POST.get("identifier", ""), by=request.user)
    messages.success(request, f"{code.name} is back as it was.")
    return redirect(f"{draft_url(version)}#code-{code.pk}")


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.EDIT_CODEBOOK)
def import_file(request: StudyRequest) -> HttpResponse:
    """Preview a file, then make a draft from it."""
    if request.method != "POST":
        return _show_form(request, CodebookFileForm())
    if "content" in request.POST and "file" not in request.FILES:
        return _confirm(request)
    form = CodebookFileForm(request.POST, request.FILES)
    if form.is_valid():
        file = form.cleaned_data["file"]
        data, name = file.read(), file.name or "file"
        try:
            plan = actions.plan_import(study=request.study, data=data, name=name)
        except actions.CodebookRefused as error:
            add_problems(form, error)
        else:
            content = base64.b64encode(data).decode()
            return _show_plan(
                request, plan, ConfirmForm(initial={"name": name, "content": content, "keep_missing": ""})
            )
    return _show_form(request, form)


def _show_form(request: StudyRequest, form: CodebookFileForm) -> HttpResponse:
    draft = queries.find_open_draft(request.study)
    context = {"form": form, "draft": draft}
    return render(request, "codebook/import.html", context, status=422 if form.errors else 200)


def _confirm(request: StudyRequest) -> HttpResponse:
    form = ConfirmForm(request.POST)
    if not form.is_valid():
        file_form = CodebookFileForm(request.POST)
        file_form.add_error("file", "The file was not uploaded completely. Choose it again.")
        return _show_form(request, file_form)
    chosen = {key.removeprefix("effect-"): value for key, value in request.POST.items() if key.startswith("effect-")}
    known = CodeChange.Effect.values
    try:
        version, is_new, warnings = actions.import_codebook(
            study=request.study,
            data=form.cleaned_data["content"],
            name=form.cleaned_data["name"],
            by=request.user,
            effects={identifier: effect for identifier, effect in chosen.items() if effect in known},
            keep_missing=form.cleaned_data["keep_missing"] == "keep",
        )
    except actions.CodebookRefused as error:
        file_form = CodebookFileForm(request.POST)
        file_form.errors.pop("file", None)
        add_problems(file_form, error)
        return _show_form(request, file_form)
    for warning in warnings:
        messages.warning(request, warning)
    if is_new:
        messages.success(request, f"{version} is a draft created from the file. Publish it to code with it.")
    else:
        messages.info(request, f"Nothing changed: {version} already has exactly the codes in the file.")
    return redirect("codebook:version", request.study.slug, version.number)


def _show_plan(request: StudyRequest, plan: actions.ImportPlan, form: ConfirmForm) -> HttpResponse:
    comparison = plan.comparison
    context = {
        "plan": plan,
        "form": form,
        "read_as": FORMS[plan.form],
        "added": [code for code in comparison.codes if code.is_added],
        "missing": [code for code in comparison.codes if code.is_removed],
        "changed": [code for code in comparison.codes if not (code.is_added or code.is_removed)],
        "effects": NOT_SAID,
        "is_same": comparison.is_empty and not plan.examples,
    }
    return render(request, "codebook/import_plan.html", context)
