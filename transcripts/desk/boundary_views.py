"""Boundary edits at the desk, and the page that lists those of an interview."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from uuid import UUID, uuid5

from django.http import Http404, HttpResponse, HttpResponseBase, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from transcripts.accounts.models import User
from transcripts.coding import queries
from transcripts.coding.actions.boundary_edits import merge_sentences, split_sentence
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence
from transcripts.corpus.pure.boundaries import BoundaryEditRefused
from transcripts.corpus.queries import list_boundary_edits
from transcripts.desk.forms import (
    WrongField,
    WrongSpan,
    find_points,
    find_words,
    read_count,
    read_id,
    read_idempotency_key,
)
from transcripts.desk.rendering import Refusal, make_desk_url, render_desk
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number

SCRIPT_HEADER = "X-Desk"

Edit = Callable[[StudyRequest, Sentence], BoundaryEdit]


def _boundary_edit(view: Edit) -> Callable[..., HttpResponseBase]:
    """Turn a boundary edit into a view, which answers the page's script with JSON and a plain form with a page."""

    @require_POST
    @study_view(Permission.EDIT_BOUNDARIES)
    @wraps(view)
    def answer(request: StudyRequest, interview_id: int) -> HttpResponse:
        actor = request.headers.get(SCRIPT_HEADER)
        if actor is not None and actor != str(request.user.pk):
            return HttpResponse("Another person is signed in now. Sign in as yourself to save this.", status=401)
        try:
            sentence = queries.find_sentence(request.study, interview_id, read_id(request.POST, "sentence"))
            if sentence is None:
                raise Http404("This sentence is not in this interview.")
            edit = view(request, sentence)
        except WrongField as error:
            return _refuse(request, interview_id, str(error), status=422, field=error.name)
        except WrongSpan:
            words = "These words are not in the sentence, or occur in it more than once. Copy them exactly."
            return _refuse(request, interview_id, words, status=422, field="before")
        except BoundaryEditRefused as error:
            return _refuse(request, interview_id, str(error), status=409)
        made = list(edit.made.order_by("start"))
        if actor is None:
            return HttpResponseRedirect(make_desk_url(request, interview_id, made[0].pk), status=303)
        return JsonResponse(_describe(edit, made, request.user))

    return answer


@_boundary_edit
def split(request: StudyRequest, sentence: Sentence) -> BoundaryEdit:
    """Split a sentence at a place (``at``, as browsers count), or before the first words of the second piece."""
    text = queries.read_text(sentence.pk)
    if request.POST.get("before"):
        at = find_words(text, request.POST["before"]).start
    else:
        at = find_points(text, read_count(request.POST, "at"))
    return split_sentence(
        study=request.study,
        sentence=sentence,
        at=sentence.start + at,
        by=request.user,
        idempotency_key=read_idempotency_key(request.POST),
    )


@_boundary_edit
def merge(request: StudyRequest, sentence: Sentence) -> BoundaryEdit:
    """Merge a sentence with the next; ``below`` is the one the person saw there."""
    return merge_sentences(
        study=request.study,
        first=sentence,
        by=request.user,
        idempotency_key=read_idempotency_key(request.POST),
        second_id=read_id(request.POST, "below") if request.POST.get("below") else None,
    )


@require_safe
@study_view(Permission.VIEW)
def show_boundary_edits(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Every boundary edit in an interview, with the sentences before and after."""
    interview = get_object_or_404(Interview, study=request.study, pk=interview_id)
    return render(
        request, "desk/boundary_edits.html", {"interview": interview, "edits": list_boundary_edits(interview)}
    )


def _describe(edit: BoundaryEdit, made: list[Sentence], user: User) -> dict[str, object]:
    """What the page's script needs to go on: the new sentences and rows in place of the old."""
    retired = list(edit.retired.order_by("start").values_list("pk", flat=True))
    return {
        "kind": edit.kind,
        "sentence": made[0].pk,
        "label": made[0].label,
        "at": _find_boundary(edit, made),
        "sentences": dict.fromkeys(retired, made[0].pk),
        "rows": {old.hex: new.hex for old, new in _find_renamed(retired, made, user)},
    }


def _find_boundary(edit: BoundaryEdit, made: list[Sentence]) -> int | None:
    """Where, as browsers count in the new sentence, a split would undo the merge."""
    if edit.kind == BoundaryEdit.Kind.SPLIT:
        return None
    second = edit.retired.order_by("start")[1]
    before = edit.turn.text[made[0].start : second.start].replace("\r\n", "\n")
    return len(before.encode("utf-16-le")) // 2


def _find_renamed(retired: list[int], made: list[Sentence], user: User) -> list[tuple[UUID, UUID]]:
    """The idempotency keys of the person's own rows before and after, for the page's undo list.

    A migrated row takes its key from the old row and the new sentence, so that it can be computed here.
    """
    found = []
    for model in (Coding, Decision):
        own = model.objects.filter(coder=user)
        numbers = set(own.filter(sentence__in=made).values_list("idempotency_key", flat=True))
        for old in own.filter(sentence__in=retired).values_list("idempotency_key", flat=True):
            new = next((each for sentence in made if (each := uuid5(old, str(sentence.pk))) in numbers), None)
            if new is not None:
                found.append((old, new))
    return found


def _refuse(request: StudyRequest, interview_id: int, message: str, *, status: int, field: str = "") -> HttpResponse:
    if SCRIPT_HEADER in request.headers:
        return HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
    at = find_number(request.POST.get("sentence", ""))
    refusal = Refusal(message, field, held=request.POST.dict(), action=request.path)
    return render_desk(request, interview_id, at=at, status=status, refusal=refusal)
