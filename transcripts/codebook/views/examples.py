"""Examples of codes: sentences that are pinned, and sentences that are invented."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from transcripts.codebook import actions, queries
from transcripts.codebook.forms.examples import InventedExampleForm, PinForm, PinnedExampleForm
from transcripts.codebook.models import Code, CodebookVersion, CodeExample
from transcripts.codebook.quotes import find_labelled_sentence, find_pieces, find_sentence, read_examples
from transcripts.codebook.views.common import draft_view, find_coder, refuse
from transcripts.corpus.models import Sentence
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused
from transcripts.ui.acts import at_form
from transcripts.ui.typed_text import find_number


def make_example_context(
    request: ProjectRequest,
    code: Code,
    *,
    example_form: PinnedExampleForm | None = None,
    invented_form: InventedExampleForm | None = None,
) -> dict[str, Any]:
    """What the part of a code's page needs on which its examples stand."""
    examples = read_examples(Q(code=code), coder=find_coder(request)).get(code.pk, [])
    return {
        "examples": examples,
        "pieces": find_pieces(
            example.sentence_id for example in examples if example.sentence and example.sentence.retired_by_id
        ),
        "example_form": example_form or _make_form(request),
        "invented_form": invented_form or InventedExampleForm(prefix="invented"),
    }


def _make_form(request: ProjectRequest, *, posted: bool = False) -> PinnedExampleForm:
    interviews = list(request.project.interviews.order_by("pk").values_list("pk", "title"))
    return PinnedExampleForm(
        request.POST if posted else None, interviews=[(str(pk), title) for pk, title in interviews], prefix="pin"
    )


def _edit_url(code: Code) -> str:
    args = [code.version.project.slug, code.version.number, code.pk]
    return reverse("codebook:edit_code", args=args)


@require_POST
@draft_view
def pin(request: ProjectRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
    """Pin a sentence, named by interview and number, to a code of the draft."""
    code = get_object_or_404(version.codes.select_related("family"), pk=code_id)
    code.version = version
    form = _make_form(request, posted=True)
    if form.is_valid():
        line = find_labelled_sentence(request.project, int(form.cleaned_data["interview"]), form.cleaned_data["number"])
        if line is None:
            form.add_error("number", "No sentence of this interview has this number.")
        else:
            sentence = _get_sentence(request, line.pk)
            kind, note = form.cleaned_data["kind"], form.cleaned_data["note"]
            with at_form(form, ways=actions.WrongInput, sentence="number"):
                actions.pin_example(
                    version=version, code=code, sentence=sentence, kind=kind, note=note, by=request.user
                )
                messages.success(request, f"Sentence {line.label} is pinned to {code.name}.")
                return redirect(f"{_edit_url(code)}#examples")
    context = {"version": version, "code": code, **make_example_context(request, code, example_form=form)}
    return render(request, "codebook/pin_to_code.html", context, status=422)


@require_POST
@draft_view
def add_invented(request: ProjectRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
    """Give a code of the draft an example that was invented for the codebook."""
    code = get_object_or_404(version.codes.select_related("family"), pk=code_id)
    code.version = version
    form = InventedExampleForm(request.POST, prefix="invented")
    if form.is_valid():
        with at_form(form, ways=actions.WrongInput):
            actions.add_invented_example(version=version, code=code, by=request.user, **form.cleaned_data)
            messages.success(request, f"{code.name} has another example.")
            return redirect(f"{_edit_url(code)}#examples")
    context = {"version": version, "code": code, **make_example_context(request, code, invented_form=form)}
    return render(request, "codebook/pin_to_code.html", context, status=422)


@require_POST
@draft_view
def unpin(request: ProjectRequest, version: CodebookVersion, example_id: int) -> HttpResponse:
    """Take an example off its code."""
    example = _get_example(version, example_id)
    actions.unpin_example(example=example, by=request.user)
    messages.success(request, "The example was removed.")
    return redirect(f"{_edit_url(example.code)}#examples")


@require_POST
@draft_view
def repin(request: ProjectRequest, version: CodebookVersion, example_id: int) -> HttpResponse:
    """Pin a piece in place of a sentence whose boundaries were edited."""
    example = _get_example(version, example_id)
    if not request.POST.get("sentence"):
        return refuse(request, Refused("Choose one of the new sentences."), back=_edit_url(example.code))
    sentence = _get_sentence(request, _read_id(request.POST["sentence"]))
    try:
        actions.repin_example(example=example, sentence=sentence, by=request.user)
    except Refused as error:
        return refuse(request, error, back=_edit_url(example.code))
    messages.success(request, f"Sentence {sentence.label} is pinned instead.")
    return redirect(f"{_edit_url(example.code)}#examples")


def _get_example(version: CodebookVersion, example_id: int) -> CodeExample:
    found = CodeExample.objects.select_related("code__version__project")
    return get_object_or_404(found, pk=example_id, code__version=version)


def _get_sentence(request: ProjectRequest, pk: int) -> Sentence:
    found = Sentence.objects.select_related("turn__interview").defer("turn__text")
    return get_object_or_404(found, pk=pk, turn__interview__project=request.project)


def _read_id(text: str) -> int:
    number = find_number(text)
    if number is None:
        raise Http404("No sentence is named.")
    return number


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.EDIT_CODEBOOK)
def pin_from_desk(request: ProjectRequest) -> HttpResponse:
    """Pin the sentence ``?sentence=`` to a code of the open draft, which begins with it where there is none."""
    asked = request.POST.get("sentence") or request.GET.get("sentence", "")
    if not asked:
        return render(request, "codebook/pin.html", {"line": None}, status=422 if request.method == "POST" else 200)
    line = find_sentence(request.project, _read_id(asked))
    if line is None:
        raise Http404("There is no such sentence in this study.")
    draft = queries.find_open_draft(request.project)
    version = draft or queries.current_version(request.project)
    families = queries.read_tree(version) if version else []
    form = PinForm(request.POST if request.method == "POST" else None, families=families)
    if form.is_valid():
        with at_form(form):
            example = actions.pin_in_open_draft(
                project=request.project,
                identifier=form.cleaned_data["code"],
                sentence=_get_sentence(request, line.pk),
                kind=form.cleaned_data["kind"],
                note=form.cleaned_data["note"],
                by=request.user,
            )
            code = example.code
            messages.success(request, f"Sentence {line.label} is pinned to {code.name} in the draft {code.version}.")
            desk = reverse("coding:desk", args=[request.project.slug, line.turn.interview_id])
            return redirect(f"{desk}?at={line.pk}#s{line.pk}")
    context = {"line": line, "form": form, "draft": draft, "pieces": find_pieces([line.pk]).get(line.pk, [])}
    return render(request, "codebook/pin.html", context, status=422 if form.errors else 200)
