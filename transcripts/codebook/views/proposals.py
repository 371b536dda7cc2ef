"""Pages for proposals of codes, and for the examples of codes."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.codebook import actions, queries
from transcripts.codebook.forms import AnswerForm, InventedExampleForm, PinForm, PinnedExampleForm, ProposalForm
from transcripts.codebook.models import Code, CodebookVersion, CodeExample, CodeProposal
from transcripts.codebook.pure.editing import find_similar
from transcripts.codebook.queries import find_labelled_sentence, find_pieces, find_sentence, read_examples
from transcripts.codebook.views import draft_view, find_coder, refuse
from transcripts.corpus.models import Sentence
from transcripts.formats.codebook_rules import CodeContent
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form
from transcripts.ui.typed_text import find_number

MAX_IN_VIVO_LENGTH = 120


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def propose(request: StudyRequest) -> HttpResponse:
    """A form for proposing a code, on a separate page or in a dialog of the desk (requested by htmx).

    ``?sentence=`` names the sentence that prompted it, ``from`` and ``to`` the marked words in UTF-16 units of its text, as the
    desk counts; they become the name. If codes have a similar name, the form asks once whether one of them fits.
    """
    line = _find_line(request)
    may_use = Permission.EDIT_CODEBOOK in request.role.permissions
    families = actions.list_families(request.study)
    posted = request.POST if request.method == "POST" else None
    initial = {"name": _quote(request, line), "sentence": line.pk if line else None}
    form = ProposalForm(posted, families=families, may_use=may_use, initial=initial)
    similar: list[CodeContent] = []
    if form.is_valid():
        if not form.cleaned_data["sure"]:
            similar = _find_similar(request, form.cleaned_data["name"])
        if not similar:
            with at_form(form):
                return _answer(request, _store(request, form), line)
    context = {
        "form": form,
        "line": line,
        "similar": similar,
        "propose_url": reverse("codebook:propose", args=[request.study.slug]),
    }
    template = "codebook/_propose_form.html" if request.htmx else "codebook/propose.html"  # type: ignore[attr-defined]
    return render(request, template, context, status=422 if form.errors or similar else 200)


def _find_line(request: StudyRequest) -> Sentence | None:
    asked = find_number(request.POST.get("sentence") or request.GET.get("sentence", ""))
    if asked is None:
        return None
    line = find_sentence(request.study, asked)
    if line is None:
        raise Http404("There is no such sentence in this study.")
    return line


def _quote(request: StudyRequest, line: Sentence | None) -> str:
    """The marked words of the sentence; empty if none or too many are marked."""
    start, end = (find_number(request.GET.get(name, "")) for name in ("from", "to"))
    if line is None or start is None or end is None:
        return ""
    # The page counts as browsers do, in UTF-16; half a character at an edge is left out.
    words = line.read_text().encode("utf-16-le", "replace")[2 * start : 2 * end].decode("utf-16-le", "ignore")
    quote = " ".join(words.split())
    return quote if len(quote) <= MAX_IN_VIVO_LENGTH else ""


def _find_similar(request: StudyRequest, name: str) -> list[CodeContent]:
    """Codes of the draft or the current version with a similar name, without colleagues' proposals."""
    version = queries.find_open_draft(request.study) or queries.current_version(request.study)
    return find_similar(name, queries.read_content(version).codes) if version else []


def _store(request: StudyRequest, form: ProposalForm) -> CodeProposal:
    pk, then = form.cleaned_data["sentence"], form.cleaned_data.get("then", "")
    found = Sentence.objects.select_related("turn__interview")
    given = {
        "study": request.study,
        "name": form.cleaned_data["name"],
        "family_identifier": form.cleaned_data["family"],
        "definition": form.cleaned_data["definition"],
        "sentence": get_object_or_404(found, pk=pk, turn__interview__study=request.study) if pk else None,
        "idempotency_key": form.cleaned_data["idempotency_key"],
        "by": request.user,
    }
    if then:
        return actions.use_at_once(**given, publish=then == ProposalForm.USE)
    return actions.propose_code(**given)


def _answer(request: StudyRequest, proposal: CodeProposal, line: Sentence | None) -> HttpResponse:
    """Report what was stored: to htmx as an event of the page, to a browser on the page of origin."""
    version = proposal.code.version if proposal.code else None
    if request.htmx:  # type: ignore[attr-defined]
        said = {
            "proposal": proposal.pk,
            "state": proposal.state,
            "version": version.number if version else None,
            "published": version is not None and version.status == version.Status.PUBLISHED,
        }
        return HttpResponse(status=204, headers={"HX-Trigger": json.dumps({"codeProposed": said})})
    if version is None:
        messages.success(request, f"{proposal.name} is proposed. You will find the answer under Proposals.")
    elif version.status == version.Status.PUBLISHED:
        messages.success(request, f"{proposal.name} is now in {version} and can be used.")
    else:
        messages.success(
            request, f"{proposal.name} is in the draft {version}. It can be used once the draft is published."
        )
    if line is None:
        return redirect("codebook:proposals", request.study.slug)
    desk = reverse("desk:desk", args=[request.study.slug, line.turn.interview_id])
    return HttpResponseRedirect(f"{desk}?at={line.pk}#s{line.pk}", status=303)


@require_safe
@study_view(Permission.VIEW)
def list_proposals(request: StudyRequest) -> HttpResponse:
    """Proposals with their answers: all for people who edit the codebook or see everybody's work, otherwise one's own."""
    return _render_list(request)


def _render_list(
    request: StudyRequest, *, wrong: AnswerForm | None = None, answered: int = 0, status: int = 200
) -> HttpResponse:
    sees_all = not request.role.permissions.isdisjoint({Permission.EDIT_CODEBOOK, Permission.SEE_ALL_CODINGS})
    rows = list(queries.list_proposals(request.study, only=None if sees_all else request.user))
    names = dict(actions.list_families(request.study))
    context = {
        "rows": [
            (row, names.get(row.family_identifier, row.family_identifier), wrong if row.pk == answered else None)
            for row in rows
        ],
        "sees_all": sees_all,
        "draft": queries.find_open_draft(request.study),
    }
    return render(request, "codebook/proposals.html", context, status=status)


@require_POST
@study_view(Permission.EDIT_CODEBOOK)
def answer_proposal(request: StudyRequest, proposal_id: int) -> HttpResponse:
    """Accept a proposal, or decline it with a reason."""
    proposal = get_object_or_404(
        CodeProposal.objects.select_related("study", "proposed_by"), pk=proposal_id, study=request.study
    )
    form = AnswerForm(request.POST)
    if form.is_valid():
        verdict, answer = form.cleaned_data["verdict"], form.cleaned_data["answer"]
        try:
            with at_form(form, ways=actions.WrongInput):
                if verdict == AnswerForm.DECLINE:
                    actions.decline_proposal(proposal=proposal, by=request.user, answer=answer)
                    messages.success(request, f"{proposal.name} is declined.")
                else:
                    version = actions.accept_proposal(
                        proposal=proposal, by=request.user, answer=answer, publish=verdict == AnswerForm.USE
                    )
                    messages.success(request, f"{proposal.name} is in {version}.")
                return redirect("codebook:proposals", request.study.slug)
        except Refused as error:
            proposal.refresh_from_db(fields=["state"])
            if proposal.state != CodeProposal.State.OPEN:
                return refuse(request, error, back=reverse("codebook:proposals", args=[request.study.slug]))
            form.add_error(None, str(error))
    return _render_list(request, wrong=form, answered=proposal.pk, status=422)


def make_example_context(
    request: StudyRequest,
    code: Code,
    *,
    example_form: PinnedExampleForm | None = None,
    invented_form: InventedExampleForm | None = None,
) -> dict[str, Any]:
    """The context for the examples on the page of a code."""
    examples = read_examples(Q(code=code), coder=find_coder(request)).get(code.pk, [])
    return {
        "examples": examples,
        "pieces": find_pieces(
            example.sentence_id for example in examples if example.sentence and example.sentence.retired_by_id
        ),
        "example_form": example_form or _make_form(request),
        "invented_form": invented_form or InventedExampleForm(prefix="invented"),
    }


def _make_form(request: StudyRequest, *, posted: bool = False) -> PinnedExampleForm:
    interviews = list(request.study.interviews.order_by("pk").values_list("pk", "title"))
    return PinnedExampleForm(
        request.POST if posted else None, interviews=[(str(pk), title) for pk, title in interviews], prefix="pin"
    )


def _edit_url(code: Code) -> str:
    args = [code.version.study.slug, code.version.number, code.pk]
    return reverse("codebook:edit_code", args=args)


@require_POST
@draft_view
def pin(request: StudyRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
    """Pin a sentence, named by interview and number, to a code of the draft."""
    code = get_object_or_404(version.codes.select_related("family"), pk=code_id)
    code.version = version
    form = _make_form(request, posted=True)
    if form.is_valid():
        line = find_labelled_sentence(request.study, int(form.cleaned_data["interview"]), form.cleaned_data["number"])
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
def add_invented(request: StudyRequest, version: CodebookVersion, code_id: int) -> HttpResponse:
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
def unpin(request: StudyRequest, version: CodebookVersion, example_id: int) -> HttpResponse:
    """Remove an example from its code."""
    example = _get_example(version, example_id)
    actions.unpin_example(example=example, by=request.user)
    messages.success(request, "The example was removed.")
    return redirect(f"{_edit_url(example.code)}#examples")


@require_POST
@draft_view
def repin(request: StudyRequest, version: CodebookVersion, example_id: int) -> HttpResponse:
    """Pin one of the new sentences in place of a sentence whose boundaries were edited."""
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
    found = CodeExample.objects.select_related("code__version__study")
    return get_object_or_404(found, pk=example_id, code__version=version)


def _get_sentence(request: StudyRequest, pk: int) -> Sentence:
    found = Sentence.objects.select_related("turn__interview").defer("turn__text")
    return get_object_or_404(found, pk=pk, turn__interview__study=request.study)


def _read_id(text: str) -> int:
    number = find_number(text)
    if number is None:
        raise Http404("No sentence is named.")
    return number


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.EDIT_CODEBOOK)
def pin_from_desk(request: StudyRequest) -> HttpResponse:
    """Pin the sentence ``?sentence=`` to a code of the open draft, which is started if there is none."""
    asked = request.POST.get("sentence") or request.GET.get("sentence", "")
    if not asked:
        return render(request, "codebook/pin.html", {"line": None}, status=422 if request.method == "POST" else 200)
    line = find_sentence(request.study, _read_id(asked))
    if line is None:
        raise Http404("There is no such sentence in this study.")
    draft = queries.find_open_draft(request.study)
    version = draft or queries.current_version(request.study)
    families = queries.read_tree(version) if version else []
    form = PinForm(request.POST if request.method == "POST" else None, families=families)
    if form.is_valid():
        with at_form(form):
            example = actions.pin_in_open_draft(
                study=request.study,
                identifier=form.cleaned_data["code"],
                sentence=_get_sentence(request, line.pk),
                kind=form.cleaned_data["kind"],
                note=form.cleaned_data["note"],
                by=request.user,
            )
            code = example.code
            messages.success(request, f"Sentence {line.label} is pinned to {code.name} in the draft {code.version}.")
            desk = reverse("desk:desk", args=[request.study.slug, line.turn.interview_id])
            return redirect(f"{desk}?at={line.pk}#s{line.pk}")
    context = {"line": line, "form": form, "draft": draft, "pieces": find_pieces([line.pk]).get(line.pk, [])}
    return render(request, "codebook/pin.html", context, status=422 if form.errors else 200)
