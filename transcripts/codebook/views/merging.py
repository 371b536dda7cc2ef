"""Forms for codes that become one, and for one that becomes several."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from transcripts.codebook import actions
from transcripts.codebook.forms.codes import MergeForm, PartFormSet, ReasonForm
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.codebook.views.common import at_edit, draft_url, draft_view
from transcripts.formats.codebook_content import CodeContent
from transcripts.projects.access import ProjectRequest
from transcripts.ui.typed_text import find_numbers


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def merge_codes(request: ProjectRequest, version: CodebookVersion) -> HttpResponse:
    """Choose codes and what they become. ``?code=`` ticks some of them beforehand."""
    codes = {str(code.pk): code for code in version.codes.select_related("family").order_by("position")}
    offered = [(pk, f"{code.name} ({code.family.name})") for pk, code in codes.items()]
    ticked = [pk for pk in request.GET.getlist("code") if pk in codes]
    initial = {"codes": ticked, "target": ticked[0] if ticked else MergeForm.NEW, "seen": _note_seen(codes)}
    form = MergeForm(request.POST if request.method == "POST" else None, offered=offered, initial=initial)
    if form.is_valid():
        again = "Look at it again. Press the button again to merge the codes as they are now."
        with at_edit(form, again, seen=_note_seen(codes), place="codes"):
            chosen = [codes[pk] for pk in form.cleaned_data["codes"]]
            code = actions.merge_codes(
                version=version,
                codes=chosen,
                into=_find_target(form, codes, chosen),
                reason=form.cleaned_data["reason"],
                by=request.user,
                revisions=_read_seen(form.cleaned_data["seen"]),
            )
            messages.success(request, f"Merged into {code.name}. Codings with the other codes need re-review.")
            return redirect(f"{draft_url(version)}#code-{code.pk}")
    context = {"version": version, "form": form, "codes": codes.values()}
    return render(request, "codebook/merge.html", context, status=form.status)


def _find_target(form: MergeForm, codes: dict[str, Code], chosen: list[Code]) -> Code | CodeContent:
    if form.cleaned_data["target"] != MergeForm.NEW:
        return codes[form.cleaned_data["target"]]
    name, definition = form.cleaned_data["name"], form.cleaned_data["definition"]
    key = form.cleaned_data["key"] or next((code.key for code in chosen if code.key), "")
    family = chosen[0].family.identifier
    return CodeContent(identifier="", family=family, name=name, definition=definition, key=key)


def _note_seen(codes: dict[str, Code]) -> str:
    return " ".join(f"{code.pk}:{code.revision}" for code in codes.values())


def _read_seen(text: str) -> dict[int, int]:
    pairs = (find_numbers(pair.split(":", 1)) for pair in text.split())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def split_code(request: ProjectRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
    """Name the codes that take the place of one."""
    code = get_object_or_404(version.codes.select_related("family"), pk=code_id)
    posted = request.POST if request.method == "POST" else None
    form = ReasonForm(posted, initial={"revision": code.revision})
    parts = PartFormSet(posted, prefix="part")
    if form.is_valid() and parts.is_valid():
        with at_edit(form, "Read it again. Press the button again to split it as it is now."):
            given = _read_parts(parts, code)
            born = actions.split_code(code=code, parts=given, by=request.user, **form.cleaned_data)
            messages.success(request, f"{code.name} was split into {', '.join(each.name for each in born)}.")
            return redirect(f"{draft_url(version)}#code-{born[0].pk}")
    context = {"version": version, "code": form.current or code, "form": form, "parts": parts}
    status = 422 if parts.is_bound and not parts.is_valid() else form.status
    return render(request, "codebook/split.html", context, status=status)


def _read_parts(parts: PartFormSet, code: Code) -> list[CodeContent]:  # type: ignore[valid-type]
    """The named ones of the codes that were typed."""
    typed = [form.cleaned_data for form in parts if form.cleaned_data.get("name", "").strip()]  # type: ignore[attr-defined]
    return [
        CodeContent(identifier="", family=code.family.identifier, name=each["name"], definition=each["definition"])
        for each in typed
    ]
