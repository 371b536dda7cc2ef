"""The desk and the acts done at it: codes, links, decisions, memos and boundary edits, with the page that lists those edits.

A browser without JavaScript posts plain forms and is redirected to its place. The page's own script posts the same fields with
the header ``X-Desk`` and receives what is now stored at that place, as a fragment of the page or, for a boundary edit, the new
sentences as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple
from uuid import UUID, uuid5

from django.http import Http404, HttpResponse, HttpResponseBase, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST, require_safe

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding import actions, queries
from transcripts.coding.actions.boundary_edits import merge_sentences, split_sentence
from transcripts.coding.actions.checks import check_readable
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence, Turn
from transcripts.corpus.pure.boundaries import BoundaryEditRefused, Extent
from transcripts.corpus.queries import list_boundary_edits
from transcripts.desk.forms import (
    WrongField,
    WrongSpan,
    find_points,
    find_span,
    find_words,
    is_uuid,
    read_count,
    read_id,
    read_idempotency_key,
    read_quote,
    read_uuid,
    read_values,
)
from transcripts.desk.rendering import Refusal, make_desk_url, render_desk, render_details, render_marks
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number

SCRIPT_HEADER = "X-Desk"
STORED_HEADER = "X-Desk-Stored"
# The field that a refusal is about, so that the script can ask for it.
FIELD_HEADER = "X-Desk-Field"


class Done(NamedTuple):
    """A stored act: where it is shown, its idempotency key, and where to continue.

    ``sentence`` is ``None`` for a memo on the interview; ``unit`` is that of the code.
    """

    sentence: Sentence | None
    stored: UUID
    unit: str = CodeFamily.Unit.SENTENCE
    go_on: bool = False


Act = Callable[[StudyRequest, int], Done]


@require_safe
@study_view(Permission.VIEW)
def show_desk(request: StudyRequest, interview_id: int) -> HttpResponse:
    """One interview, to read and code. ``?at=`` names the current sentence, ``?show=`` the filter."""
    at = find_number(request.GET.get("at", ""))
    return render_desk(request, interview_id, at=at, show=request.GET.get("show", ""))


@require_safe
@study_view(Permission.CODE)
def show_marks(request: StudyRequest, interview_id: int, sentence_id: int) -> HttpResponse:
    """The person's own work on a sentence and its turn, for the page's script."""
    return render_marks(request, _get_sentence(request, interview_id, sentence_id), units=list(CodeFamily.Unit))


@require_safe
@study_view(Permission.CODE)
def show_details(request: StudyRequest, interview_id: int, idempotency_key: str) -> HttpResponse:
    """The values of one of the person's own codings as a form, for browsers without the page's script."""
    if not is_uuid(idempotency_key):
        raise Http404("This coding does not exist.")
    coding = _get_own_coding(request, interview_id, UUID(idempotency_key))
    if coding.withdrawn_at is not None:
        raise Http404("This coding was removed.")
    return render_details(request, coding)


def _act(view: Act) -> Callable[..., HttpResponseBase]:
    """Turn an act into a view that checks the person, answers refusals, and answers scripts and browsers in their own ways."""

    @require_POST
    @study_view(Permission.CODE)
    @wraps(view)
    def answer(request: StudyRequest, interview_id: int) -> HttpResponse:
        actor = request.headers.get(SCRIPT_HEADER)
        if refused := refuse_another(request, actor):
            return refused
        try:
            done = view(request, interview_id)
        except WrongInput as error:
            return _refuse(request, interview_id, str(error), status=422, field=error.field)
        except WrongField as error:
            return _refuse(request, interview_id, str(error), status=422, field=error.name)
        except Refused as error:
            return _refuse(request, interview_id, str(error), status=409)
        if actor is None:
            return _send_back(request, interview_id, done)
        response = render_marks(request, done.sentence, units=[done.unit])
        response.headers[STORED_HEADER] = done.stored.hex
        return response

    return answer


@_act
def add(request: StudyRequest, interview_id: int) -> Done:
    """Apply a code to a sentence, or with ``again`` restore one as it was."""
    if "again" in request.POST:
        return _add_again(request, interview_id)
    sentence_id, code_id = read_id(request.POST, "sentence"), read_id(request.POST, "code")
    values, quote = read_values(request.POST), read_quote(request.POST)
    range_id = read_uuid(request.POST, "range") if request.POST.get("range") else None
    idempotency_key = read_idempotency_key(request.POST)
    sentence = _get_sentence(request, interview_id, sentence_id)
    code = queries.find_code(request.study, code_id)
    if code is None:
        raise Http404("This code is not in the codebook of this study.")
    coding = actions.add_coding(
        study=request.study,
        sentence=sentence,
        code=code,
        by=request.user,
        idempotency_key=idempotency_key,
        values=values._replace(quote=_find_quote(sentence, quote)),
        range_id=range_id,
        reason=request.POST.get("reason", ""),
    )
    return Done(sentence, coding.idempotency_key, unit=code.family.unit)


def _find_quote(sentence: Sentence, quote: tuple[int, int] | str | None) -> Extent | None:
    """The quote in code points of the turn's text."""
    if quote is None:
        return None
    text = queries.read_text(sentence.pk)
    try:
        span = find_words(text, quote) if isinstance(quote, str) else find_span(text, *quote)
    except WrongSpan as error:
        raise WrongInput(str(error), field="quote_start") from error
    return Extent(sentence.start + span.start, sentence.start + span.end)


def _add_again(request: StudyRequest, interview_id: int) -> Done:
    sentence_id, again = read_id(request.POST, "sentence"), read_uuid(request.POST, "again")
    idempotency_key = read_idempotency_key(request.POST)
    sentence = _get_sentence(request, interview_id, sentence_id)
    earlier = _get_own_coding(request, interview_id, again)
    coding = actions.restore_coding(
        study=request.study,
        coding=earlier,
        sentence=sentence,
        by=request.user,
        idempotency_key=idempotency_key,
        reason=request.POST.get("reason", ""),
    )
    return Done(sentence, coding.idempotency_key, unit=earlier.code.family.unit)


@_act
def withdraw(request: StudyRequest, interview_id: int) -> Done:
    """Remove one's own coding."""
    coding = _get_own_coding(request, interview_id, read_uuid(request.POST, "coding"))
    actions.withdraw_coding(study=request.study, coding=coding, by=request.user, reason=request.POST.get("reason", ""))
    return Done(coding.sentence, coding.idempotency_key, unit=coding.code.family.unit)


@_act
def link(request: StudyRequest, interview_id: int) -> Done:
    """Link one's own coding to a feature (``code``) or to a sentence (``target``), or to words in it."""
    coding, kind, code, target = _read_link(request, interview_id)
    quote = read_quote(request.POST)
    if target is not None:
        # Checked before the quote is looked for, because that would reveal the length of the text.
        check_readable([target.turn], request.user, field="target")
    stored = actions.add_link(
        study=request.study,
        coding=coding,
        kind=kind,
        code=code,
        sentence=target,
        quote=_find_quote(target, quote) if target else None,
        by=request.user,
        idempotency_key=read_idempotency_key(request.POST),
    )
    return Done(stored.coding.sentence, stored.idempotency_key, unit=coding.code.family.unit)


@_act
def unlink(request: StudyRequest, interview_id: int) -> Done:
    """Remove one's own link, which the same fields identify. A link that is already gone is ignored."""
    coding, kind, code, target = _read_link(request, interview_id)
    found = actions.find_link(coding, kind, code=code, sentence_id=target.pk if target else None)
    if found is not None:
        actions.withdraw_link(study=request.study, link=found, by=request.user)
    return Done(coding.sentence, read_idempotency_key(request.POST), unit=coding.code.family.unit)


def _read_link(request: StudyRequest, interview_id: int) -> tuple[Coding, str, Code | None, Sentence | None]:
    """The coding of a link, its kind, and the feature or the sentence at its other end."""
    key = read_uuid(request.POST, "coding")
    own = Coding.objects.select_related("code__family", "code__version", "sentence__turn__interview")
    coding = own.filter(coder=request.user, idempotency_key=key, sentence__turn__interview=interview_id).first()
    if coding is None:
        raise WrongInput("You can make links only from your own codings, and this coding is not yours.", field="coding")
    code = sentence = None
    if request.POST.get("code"):
        code = queries.find_code(request.study, read_id(request.POST, "code"))
        if code is None:
            raise WrongInput("This code is not in the codebook of this study.", field="code")
    if request.POST.get("target"):
        sentences = Sentence.objects.select_related("turn__interview")
        sentence = sentences.filter(pk=read_id(request.POST, "target")).first()
        if sentence is None or sentence.turn.interview.study_id != request.study.pk:
            raise WrongInput("This sentence is not part of this study.", field="target")
    return coding, request.POST.get("kind", ""), code, sentence


@_act
def decide(request: StudyRequest, interview_id: int) -> Done:
    """ "Read; nothing more here": a browser goes on to the next sentence."""
    sentence_id, idempotency_key = read_id(request.POST, "sentence"), read_idempotency_key(request.POST)
    sentence = _get_sentence(request, interview_id, sentence_id)
    decision = actions.decide_sentence(
        study=request.study, sentence=sentence, by=request.user, idempotency_key=idempotency_key
    )
    return Done(sentence, decision.idempotency_key, go_on=True)


@_act
def reopen(request: StudyRequest, interview_id: int) -> Done:
    """Take back one's own decision."""
    decision = get_object_or_404(
        Decision.objects.select_related("sentence__turn__interview"),
        coder=request.user,
        idempotency_key=read_uuid(request.POST, "decision"),
        sentence__turn__interview=interview_id,
    )
    actions.reopen_sentence(
        study=request.study, decision=decision, by=request.user, reason=request.POST.get("reason", "")
    )
    return Done(decision.sentence, decision.idempotency_key)


@_act
def memo(request: StudyRequest, interview_id: int) -> Done:
    """Write the memo on a sentence, or on the interview when none is named."""
    sentence_id = read_id(request.POST, "sentence") if request.POST.get("sentence") else None
    idempotency_key = read_idempotency_key(request.POST)
    sentence = _get_sentence(request, interview_id, sentence_id) if sentence_id else None
    interview = sentence.turn.interview if sentence else get_object_or_404(request.study.interviews, pk=interview_id)
    written = actions.write_memo(
        study=request.study,
        interview=interview,
        sentence=sentence,
        text=request.POST.get("text", ""),
        by=request.user,
        idempotency_key=idempotency_key,
        kind=request.POST.get("kind", ""),
    )
    return Done(sentence, written.idempotency_key)


@require_POST
@study_view(Permission.CODE)
def open_reasoning(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Open a model's reasoning, which is recorded; leads to its first sentence."""
    try:
        turn_id = read_id(request.POST, "turn")
    except WrongField as error:
        return _refuse(request, interview_id, str(error), status=422)
    turns = Turn.objects.select_related("interview").filter(interview__study=request.study)
    turn = get_object_or_404(turns, pk=turn_id, interview=interview_id)
    try:
        actions.open_stage(study=request.study, turn=turn, by=request.user)
    except Refused as error:
        return _refuse(request, interview_id, str(error), status=409)
    first = turn.sentences.current().order_by("position", "start").values_list("pk", flat=True).first()
    return HttpResponseRedirect(make_desk_url(request, interview_id, first), status=303)


def _get_sentence(request: StudyRequest, interview_id: int, sentence_id: int) -> Sentence:
    sentence = queries.find_sentence(request.study, interview_id, sentence_id)
    if sentence is None:
        raise Http404("This sentence is not in this interview.")
    return sentence


def _get_own_coding(request: StudyRequest, interview_id: int, idempotency_key: UUID) -> Coding:
    """The person's own coding, active or withdrawn."""
    return get_object_or_404(
        Coding.objects.select_related("code__family", "code__version", "sentence__turn__interview"),
        coder=request.user,
        idempotency_key=idempotency_key,
        sentence__turn__interview=interview_id,
    )


def refuse_another(request: StudyRequest, actor: str | None) -> HttpResponse | None:
    """Refuse to store anything if another person has signed in since the page was opened."""
    if actor is None or actor == str(request.user.pk):
        return None
    return HttpResponse("Another person is signed in now. Sign in as yourself to save this.", status=401)


def _send_back(request: StudyRequest, interview_id: int, done: Done) -> HttpResponse:
    """Back to where the person was, or on to the next sentence of the model."""
    at = _posted_place(request) or (done.sentence.pk if done.sentence else None)
    if done.go_on and done.sentence:
        at = queries.find_next_answer(interview_id, done.sentence) or at
    return HttpResponseRedirect(make_desk_url(request, interview_id, at), status=303)


def _refuse(request: StudyRequest, interview_id: int, message: str, *, status: int, field: str = "") -> HttpResponse:
    """Report a refusal: to a script in plain text, to a browser on the page, next to the field if there is one."""
    if SCRIPT_HEADER in request.headers:
        answer = HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
        if field:
            answer.headers[FIELD_HEADER] = field
        return answer
    refusal = Refusal(message, field, held=request.POST.dict(), action=request.path)
    if is_uuid(request.POST.get("details", "")):
        coding = _get_own_coding(request, interview_id, UUID(request.POST["details"]))
        return render_details(request, coding, status=status, refusal=refusal)
    if (field == "attributes" or "asked" in request.POST) and (unsaved := _find_unsaved(request, interview_id)):
        return render_details(request, unsaved, status=status, refusal=refusal)
    return render_desk(request, interview_id, at=_posted_place(request), status=status, refusal=refusal)


def _find_unsaved(request: StudyRequest, interview_id: int) -> Coding | None:
    """The coding that a form would make, so that the page can ask for what its code requires if the script does not."""
    try:
        sentence_id, code_id = read_id(request.POST, "sentence"), read_id(request.POST, "code")
    except WrongField:
        return None
    sentence = queries.find_sentence(request.study, interview_id, sentence_id)
    code = queries.find_code(request.study, code_id)
    return Coding(sentence=sentence, code=code) if sentence and code else None


def _posted_place(request: StudyRequest) -> int | None:
    return find_number(request.POST.get("sentence", ""))


Edit = Callable[[StudyRequest, Sentence], BoundaryEdit]


def _boundary_edit(view: Edit) -> Callable[..., HttpResponseBase]:
    """Turn a boundary edit into a view, which answers the page's script with JSON and a plain form with a page."""

    @require_POST
    @study_view(Permission.EDIT_BOUNDARIES)
    @wraps(view)
    def answer(request: StudyRequest, interview_id: int) -> HttpResponse:
        actor = request.headers.get(SCRIPT_HEADER)
        if refused := refuse_another(request, actor):
            return refused
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
    """What the page's script needs to continue: the new sentences and rows in place of the old ones."""
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
    """The position in the new sentence, as browsers count, at which a split would undo the merge."""
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
