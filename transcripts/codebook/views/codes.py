"""Pages for the codes and families of a draft: editing single ones, merging codes, and splitting one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from transcripts.codebook import actions, queries
from transcripts.codebook.forms import (
    AttributeFormSet,
    CodeForm,
    FamilyForm,
    MergeForm,
    PartFormSet,
    ReasonForm,
    list_attributes,
)
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.pure import editing
from transcripts.codebook.queries import FamilyNode
from transcripts.codebook.views import at_edit, draft_url, draft_view, find_clashes
from transcripts.codebook.views.proposals import make_example_context
from transcripts.formats.codebook_rules import CodeContent
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest
from transcripts.ui.forms import at_form, post_again
from transcripts.ui.typed_text import find_numbers


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def add_code(request: StudyRequest, version: CodebookVersion) -> HttpResponse:
    """Add a code. ``?family=`` names the family that is preset."""
    families = queries.read_tree(version)
    if not families:
        messages.info(request, "Add a family first: every code belongs to one.")
        return redirect("codebook:add_family", request.study.slug, version.number)
    posted = request.POST if request.method == "POST" else None
    place = f"f:{request.GET.get('family') or families[0].family.identifier}"
    form = CodeForm(posted, families=families, asks_effect=False, initial={"place": place})
    questions = AttributeFormSet(posted, prefix="q")
    if form.is_valid() and questions.is_valid():
        given = form.read_content(families, questions.read_attributes())
        with at_form(form, family="place"):
            code = actions.add_code(version=version, given=given, by=request.user, reason=form.cleaned_data["reason"])
            messages.success(request, f"{code.name} is in the draft.")
            return redirect(f"{draft_url(version)}#code-{code.pk}")
    context = {"version": version, "form": form, "questions": questions}
    return render(request, "codebook/code_form.html", context, status=_status(form, questions))


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def edit_code(request: StudyRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
    """Edit the texts, the name, the place and the questions of a code."""
    code = version.codes.select_related("family").filter(pk=code_id).first()
    if code is None:
        return _show_lost(request, version, code_id)
    code.version = version
    page = _CodePage(request, code)
    if page.is_valid():
        return page.save()
    return page.show()


class _CodePage:
    """The form of one code and the rest of its page."""

    def __init__(self, request: StudyRequest, code: Code) -> None:
        self.request, self.code = request, code
        self.families = queries.read_tree(code.version)
        self.content = editing.find_code(queries.read_content(code.version), code.identifier)
        posted = _take_theirs(request.POST, self.content) if request.method == "POST" else None
        self.bind(posted)

    def bind(self, posted: QueryDict | None) -> None:
        """Fill the forms with the posted or the stored values."""
        initial = _list_initial(self.content) | {"revision": self.code.revision}
        asks_effect = not queries.is_new(self.code)
        self.form = CodeForm(posted, families=self.families, asks_effect=asks_effect, initial=initial)
        self.form.fields["color"].offer(self.content.color)  # type: ignore[attr-defined]
        self.questions = AttributeFormSet(posted, prefix="q", initial=list_attributes(self.content))

    def is_valid(self) -> bool:
        return self.form.is_valid() and self.questions.is_valid()

    def save(self) -> HttpResponse:
        """Store the input, or show it again with the problems or with what somebody else stored."""
        given = self.form.read_content(self.families, self.questions.read_attributes())
        try:
            with at_form(self.form, ways=actions.WrongInput, family="place"):
                code = actions.edit_code(
                    code=self.code,
                    revision=self.form.cleaned_data["revision"],
                    given=given,
                    effect=self.form.cleaned_data.get("effect", ""),
                    reason=self.form.cleaned_data["reason"],
                    by=self.request.user,
                )
                messages.success(self.request, f"{code.name} is saved.")
                return redirect(f"{draft_url(self.code.version)}#code-{code.pk}")
        except actions.EditConflict as error:
            return self.show_clash(given, error)
        except Refused as error:
            self.form.add_error(None, str(error))
            return self.show(status=409)
        return self.show()

    def show_clash(self, given: CodeContent, error: actions.EditConflict) -> HttpResponse:
        """Show both texts side by side; her input stays in the form, which is now based on the current text."""
        self.code = self.code.version.codes.select_related("family").get(pk=self.code.pk)
        self.code.version = error.current.version
        self.families = queries.read_tree(self.code.version)
        self.content = editing.find_code(queries.read_content(self.code.version), self.code.identifier)
        self.bind(post_again(self.request.POST, revision=self.code.revision))
        self.form.is_valid()
        clashes = find_clashes(self.form, given, self.content, also={"attributes": "Questions for each coding"})
        places = [_show_place(side, self.families) for side in (given, self.content)]
        return self.show(status=409, clashes=clashes, places=places, message=str(error))

    def show(self, status: int | None = None, **more: Any) -> HttpResponse:
        context = {
            "version": self.code.version,
            "code": self.code,
            "form": self.form,
            "questions": self.questions,
            **make_example_context(self.request, self.code),
            **more,
        }
        return render(
            self.request, "codebook/code_form.html", context, status=status or _status(self.form, self.questions)
        )


def _list_initial(content: CodeContent) -> dict[str, object]:
    place = f"c:{content.parent}" if content.parent else f"f:{content.family}"
    return vars(content) | {"place": place}


def _take_theirs(posted: QueryDict, theirs: CodeContent) -> QueryDict:
    """The posted values, except for the fields in which she chose the other person's version."""
    chosen = _list_chosen(posted)
    if not chosen:
        return posted
    merged = posted.copy()
    if "attributes" in chosen:
        _put_questions(merged, theirs)
    initial = _list_initial(theirs)
    for name in initial.keys() & set(chosen) - {"attributes"}:
        _set_value(merged, name, initial[name])
    return merged


def _list_chosen(posted: QueryDict) -> list[str]:
    """The fields in which she chose the other person's version."""
    given = posted.items()
    return [name.removeprefix("take-") for name, value in given if name.startswith("take-") and value == "theirs"]


def _put_questions(posted: QueryDict, theirs: CodeContent) -> None:
    """The stored questions where a form would send them."""
    posted["q-TOTAL_FORMS"] = str(len(theirs.attributes))
    for number, question in enumerate(theirs.attributes):
        for name in ("label", "kind", "key"):
            posted[f"q-{number}-{name}"] = getattr(question, name)
        if question.required:
            posted[f"q-{number}-required"] = "on"
        posted[f"q-{number}-choices"] = "\n".join(question.choices)


def _show_place(content: CodeContent, families: list[FamilyNode]) -> str:
    family = next((each.family.name for each in families if each.family.identifier == content.family), content.family)
    names = {node.code.identifier: node.code.name for each in families for node in each.codes}
    return f"{family}, under {names.get(content.parent, content.parent)}" if content.parent else family


def _show_lost(request: StudyRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
    """The code was removed from the draft while its form was open: show the input so that she can copy it."""
    known = Code.objects.filter(pk=code_id, version__study=request.study).exists()
    typed = [
        (field.label, request.POST.get(name, ""))
        for name, field in CodeForm.base_fields.items()
        if request.POST.get(name) and name not in {"revision", "place", "color", "effect"}
    ]
    if known or request.method != "POST" or not typed:
        get_object_or_404(version.codes, pk=code_id)
    context = {"version": version, "typed": typed, "missing": queries.find_missing(version)}
    return render(request, "codebook/lost.html", context, status=409)


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def retire_code(request: StudyRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
    """Take a code out of the draft, with a reason."""
    code = get_object_or_404(version.codes.select_related("family"), pk=code_id)
    form = ReasonForm(request.POST if request.method == "POST" else None, initial={"revision": code.revision})
    if form.is_valid():
        with at_edit(form, "Read it again. Press the button again to retire it as it is now."):
            actions.retire_code(code=code, by=request.user, **form.cleaned_data)
            said = f"{code.name} is removed from the draft. Its codings stay on the version they were made with."
            messages.success(request, said)
            return redirect(draft_url(version))
    context = {"version": version, "code": form.current or code, "form": form}
    return render(request, "codebook/retire.html", context, status=form.status)


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def add_family(request: StudyRequest, version: CodebookVersion) -> HttpResponse:
    """Add a family."""
    form = FamilyForm(request.POST if request.method == "POST" else None, initial={"carries_level": True})
    if form.is_valid():
        with at_form(form):
            family = actions.add_family(version=version, given=form.read_content(), by=request.user)
            messages.success(request, f"The family {family.name} is added to the draft. Add its codes next.")
            return redirect(f"{draft_url(version)}#family-{family.pk}")
    return render(request, "codebook/family_form.html", {"version": version, "form": form}, status=_status(form))


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def edit_family(request: StudyRequest, version: CodebookVersion, family_id: int) -> HttpResponse:
    """Edit name, rules and unit of a family."""
    family = get_object_or_404(version.families, pk=family_id)
    form = _make_family_form(request, family)
    status, clashes, message = None, None, ""
    if form.is_valid():
        given = form.read_content()
        try:
            with at_form(form, ways=actions.WrongInput):
                actions.edit_family(family=family, revision=form.cleaned_data["revision"], given=given, by=request.user)
                messages.success(request, f"The family {form.cleaned_data['name']} is saved.")
                return redirect(f"{draft_url(version)}#family-{family.pk}")
        except actions.EditConflict as error:
            family = version.families.get(pk=family_id)
            form = _make_family_form(request, family, again=True)
            form.is_valid()
            status, clashes, message = 409, find_clashes(form, given, family), str(error)
        except Refused as error:
            form.add_error(None, str(error))
            status = 409
    context = {"version": version, "family": family, "form": form, "clashes": clashes, "message": message}
    return render(request, "codebook/family_form.html", context, status=status or _status(form))


def _make_family_form(request: StudyRequest, family: CodeFamily, *, again: bool = False) -> FamilyForm:
    initial: dict[str, Any] = {name: getattr(family, name) for name in queries.FAMILY_COLUMNS}
    posted = None
    if request.method == "POST":
        posted = request.POST.copy()
        for name in initial.keys() & set(_list_chosen(request.POST)):
            _set_value(posted, name, initial[name])
        if again:
            posted["revision"] = str(family.revision)
    form = FamilyForm(posted, initial=initial | {"revision": family.revision})
    form.fields["color"].offer(family.color)  # type: ignore[attr-defined]
    return form


def _set_value(posted: QueryDict, name: str, value: object) -> None:
    """Put a stored value where a form would send it; unticked boxes are not sent."""
    if value is False:
        posted.pop(name, None)
    else:
        posted[name] = "on" if value is True else "\n".join(value) if isinstance(value, tuple) else str(value)


@require_POST
@draft_view
def remove_family(request: StudyRequest, version: CodebookVersion, family_id: int) -> HttpResponse:
    """Remove an empty family from the draft."""
    family = get_object_or_404(version.families, pk=family_id)
    actions.remove_family(family=family, revision=None, by=request.user)
    messages.success(request, f"The family {family.name} is removed from the draft.")
    return redirect(draft_url(version))


def _status(*sides: Any) -> int:
    """422 if one of the forms has an error."""
    return 422 if any(side.is_bound and not side.is_valid() for side in sides) else 200


@require_http_methods(["GET", "HEAD", "POST"])
@draft_view
def merge_codes(request: StudyRequest, version: CodebookVersion) -> HttpResponse:
    """Choose codes to merge and the result. ``?code=`` ticks some of them in advance."""
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
def split_code(request: StudyRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
    """Name the codes that replace one."""
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
    """The entered codes that have a name."""
    typed = [form.cleaned_data for form in parts if form.cleaned_data.get("name", "").strip()]  # type: ignore[attr-defined]
    return [
        CodeContent(identifier="", family=code.family.identifier, name=each["name"], definition=each["definition"])
        for each in typed
    ]
