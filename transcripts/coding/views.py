"""The desk and the acts done at it.

A browser without JavaScript posts plain forms and is sent back to its place. The page's own script posts the same
fields with the header ``X-Desk`` and gets back what now stands at that place, as a fragment of the page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.template.loader import get_template
from django.urls import NoReverseMatch, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from transcripts.codebook.models import CodeFamily
from transcripts.coding import actions, queries
from transcripts.coding.desk import build_page
from transcripts.coding.forms import AgainFields, MemoFields, PlaceFields, PutFields, WrongField, read_uuid
from transcripts.coding.marks import Viewer, read_marks_at
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.models import Interview, Sentence
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission

SCRIPT_HEADER = "X-Desk"
STORED_HEADER = "X-Desk-Stored"
# Named in the page, so that the browser fetches all parts of the script at once instead of one import after another.
SCRIPT_PARTS = (
    *("acts", "ask", "caps", "keys", "marks", "memo", "page", "palette", "panel", "queue", "refresh", "rows"),
    *("savestate", "stored", "suggestions", "undo"),
)


class Done(NamedTuple):
    """An act that was stored: where it shows, under which client id it stands, and where to go on.

    ``sentence`` is ``None`` for what belongs to the interview; ``of_turn`` says that a code of the turn was touched.
    """

    sentence: Sentence | None
    stored: UUID
    of_turn: bool = False
    go_on: bool = False


class Refusal(NamedTuple):
    """Why a plain form was not taken, and what it held: ``family`` names the form, ``field`` the field in it."""

    message: str
    field: str
    family: str
    note: str
    text: str


Act = Callable[[ProjectRequest, int], Done]
ACT_NAMES = ("add", "withdraw", "decide", "reopen", "memo")


@require_safe
@never_cache
@project_view(Permission.VIEW)
def show_desk(request: ProjectRequest, interview_id: int) -> HttpResponse:
    """One interview, to read and to code. ``?at=`` names the current sentence."""
    at = request.GET.get("at", "")
    return _render_desk(request, interview_id, at=int(at) if at.isdecimal() and len(at) < 19 else None)


@require_safe
@never_cache
@project_view(Permission.CODE)
def show_marks(request: ProjectRequest, interview_id: int, sentence_id: int) -> HttpResponse:
    """What of the person's own work stands at a sentence and its turn, for the page's script."""
    return _render_marks(request, _get_sentence(request, interview_id, sentence_id), parts={"sentence", "turn"})


def _act(view: Act) -> Callable[..., HttpResponseBase]:
    """Turn an act into a view: checks who acts, answers refusals, and answers a script and a browser each its way."""

    @require_POST
    @project_view(Permission.CODE)
    @wraps(view)
    def answer(request: ProjectRequest, interview_id: int) -> HttpResponse:
        actor = request.headers.get(SCRIPT_HEADER)
        if actor is not None and actor != str(request.user.pk):
            # The page was opened by one person, and another has signed in since: keep the first one's work apart.
            return HttpResponse("Somebody else is signed in now. Sign in as yourself to save this.", status=401)
        try:
            done = view(request, interview_id)
        except actions.WrongInput as error:
            return _refuse(request, interview_id, str(error), status=422, field=error.field)
        except WrongField as error:
            return _refuse(request, interview_id, str(error), status=422, field=error.name)
        except actions.CodingError as error:
            return _refuse(request, interview_id, str(error), status=409)
        if actor is None:
            return _send_back(request, interview_id, done)
        response = _render_marks(request, done.sentence, parts={"turn" if done.of_turn else "sentence"})
        response.headers[STORED_HEADER] = done.stored.hex
        return response

    return answer


@_act
def add(request: ProjectRequest, interview_id: int) -> Done:
    """Put a code on a sentence, or with ``again`` put one back as it was."""
    if "again" in request.POST:
        return _add_again(request, interview_id)
    given = PutFields.read(request.POST)
    sentence = _get_sentence(request, interview_id, given.sentence_id)
    code = queries.find_code(request.project, given.code_id)
    if code is None:
        raise Http404("This code is not in the codebook of this study.")
    coding = actions.add_coding(
        project=request.project,
        sentence=sentence,
        code=code,
        by=request.user,
        client_id=given.client_id,
        level=given.level,
        enactment=given.enactment,
        note=given.note,
    )
    return Done(sentence, coding.client_id, of_turn=code.family.unit == CodeFamily.Unit.TURN)


def _add_again(request: ProjectRequest, interview_id: int) -> Done:
    given = AgainFields.read(request.POST)
    sentence = _get_sentence(request, interview_id, given.sentence_id)
    earlier = _get_own_coding(request, interview_id, given.again)
    coding = actions.add_coding(
        project=request.project,
        sentence=sentence,
        code=earlier.code,
        by=request.user,
        client_id=given.client_id,
        level=earlier.level,
        enactment=earlier.enactment,
        note=earlier.note,
    )
    return Done(sentence, coding.client_id, of_turn=earlier.code.family.unit == CodeFamily.Unit.TURN)


@_act
def withdraw(request: ProjectRequest, interview_id: int) -> Done:
    """Take one's own coding off."""
    coding = _get_own_coding(request, interview_id, read_uuid(request.POST, "coding"))
    actions.withdraw_coding(project=request.project, coding=coding, by=request.user)
    return Done(coding.sentence, coding.client_id, of_turn=coding.code.family.unit == CodeFamily.Unit.TURN)


@_act
def decide(request: ProjectRequest, interview_id: int) -> Done:
    """ "Read; nothing more here": a browser goes on to the next sentence."""
    given = PlaceFields.read(request.POST)
    sentence = _get_sentence(request, interview_id, given.sentence_id)
    decision = actions.decide_sentence(
        project=request.project, sentence=sentence, by=request.user, client_id=given.client_id
    )
    return Done(sentence, decision.client_id, go_on=True)


@_act
def reopen(request: ProjectRequest, interview_id: int) -> Done:
    """Take back one's own decision."""
    decision = get_object_or_404(
        Decision.objects.select_related("sentence__turn__interview"),
        coder=request.user,
        client_id=read_uuid(request.POST, "decision"),
        sentence__turn__interview=interview_id,
    )
    actions.reopen_sentence(project=request.project, decision=decision, by=request.user)
    return Done(decision.sentence, decision.client_id)


@_act
def memo(request: ProjectRequest, interview_id: int) -> Done:
    """Write the memo on a sentence, or on the interview when none is named."""
    given = MemoFields.read(request.POST)
    sentence = _get_sentence(request, interview_id, given.sentence_id) if given.sentence_id else None
    interview = sentence.turn.interview if sentence else get_object_or_404(request.project.interviews, pk=interview_id)
    written = actions.write_memo(
        project=request.project,
        interview=interview,
        sentence=sentence,
        text=given.text,
        by=request.user,
        client_id=given.client_id,
    )
    return Done(sentence, written.client_id)


def _get_sentence(request: ProjectRequest, interview_id: int, sentence_id: int) -> Sentence:
    sentence = queries.find_sentence(request.project, interview_id, sentence_id)
    if sentence is None:
        raise Http404("This sentence is not in this interview.")
    return sentence


def _get_own_coding(request: ProjectRequest, interview_id: int, client_id: UUID) -> Coding:
    """A coding of the person herself, standing or not."""
    return get_object_or_404(
        Coding.objects.select_related("code__family", "code__version", "sentence__turn__interview"),
        coder=request.user,
        client_id=client_id,
        sentence__turn__interview=interview_id,
    )


class UrlAround(NamedTuple):
    """The two ends of an address with a sentence id between them."""

    before: str
    after: str


@lru_cache(maxsize=1000)
def _find_suggestions_url(slug: str) -> UrlAround | None:
    """Where the machine half shows suggestions, if this site has one: the only thing known of it here."""
    try:
        before, _, after = reverse("preannotation:panel", args=[slug, 0]).rpartition("/0/")
    except NoReverseMatch:
        return None
    return UrlAround(f"{before}/", f"/{after}")


def _render_marks(request: ProjectRequest, sentence: Sentence | None, *, parts: set[str]) -> HttpResponse:
    """What stands at a sentence and at its turn, each with the id it has on the page."""
    if sentence is None:
        return HttpResponse(status=204)
    viewer = Viewer(request.user.pk)
    template = get_template("coding/_marks.html")
    html = []
    if "sentence" in parts:
        marks = read_marks_at(sentence.pk, viewer)
        marks.split_off_turn()
        context = {"marks": marks, "place": "m", "place_id": sentence.pk, "writable": True}
        context["reopen_url"] = reverse("coding:reopen", args=[request.project.slug, sentence.turn.interview_id])
        html.append(template.render({**context, "suggestions": _find_suggestions_url(request.project.slug)}))
    if "turn" in parts:
        marks = read_marks_at(queries.find_first_of_turn(sentence).pk, viewer).split_off_turn()
        html.append(template.render({"marks": marks, "place": "tm", "place_id": sentence.turn_id, "writable": True}))
    return HttpResponse("".join(html))


def _render_desk(
    request: ProjectRequest, interview_id: int, *, at: int | None, status: int = 200, refusal: Refusal | None = None
) -> HttpResponse:
    interview = get_object_or_404(Interview, project=request.project, pk=interview_id)
    writable = Permission.CODE in request.role.permissions
    viewer = Viewer(request.user.pk, sees_all=not writable and Permission.SEE_ALL_CODINGS in request.role.permissions)
    page = build_page(request.project, interview, viewer, at=at)
    context = {
        "page": page,
        "writable": writable,
        "viewer": viewer,
        "suggestions": _find_suggestions_url(request.project.slug) if writable else None,
        "refusal": refusal,
        "urls": {name: reverse(f"coding:{name}", args=[request.project.slug, interview_id]) for name in ACT_NAMES},
        "reopen_url": reverse("coding:reopen", args=[request.project.slug, interview_id]),
        "marks_url": reverse("coding:marks", args=[request.project.slug, interview_id, 0]),
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "script_parts": SCRIPT_PARTS if writable else (),
    }
    return render(request, "coding/desk.html", context, status=status)


def _send_back(request: ProjectRequest, interview_id: int, done: Done) -> HttpResponse:
    """Back to where the person was, or on to the next sentence of the model."""
    at = _posted_place(request) or (done.sentence.pk if done.sentence else None)
    if done.go_on and done.sentence:
        at = queries.find_next_answer(interview_id, done.sentence.position) or at
    url = reverse("coding:desk", args=[request.project.slug, interview_id])
    return HttpResponseRedirect(f"{url}?at={at}#s{at}" if at else url, status=303)


def _refuse(request: ProjectRequest, interview_id: int, message: str, *, status: int, field: str = "") -> HttpResponse:
    """Say what was wrong: to a script in plain text, to a browser on the page, beside the field where there is one."""
    if SCRIPT_HEADER in request.headers:
        return HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
    held = (request.POST.get(name, "") for name in ("family", "note", "text"))
    refusal = Refusal(message, field, *held)
    return _render_desk(request, interview_id, at=_posted_place(request), status=status, refusal=refusal)


def _posted_place(request: ProjectRequest) -> int | None:
    posted = request.POST.get("sentence", "")
    return int(posted) if posted.isdecimal() and len(posted) < 19 else None
