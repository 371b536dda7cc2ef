"""Interview scripts. Interviews held here: their list, opening one, its console, and closing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.batches.models import WORKING_STATES, Batch
from auditapp.batches.pure.estimates import to_dollars
from auditapp.benchmarks.scenarios.actions.asking import (
    LONG_QUESTION,
    AskedMeanwhile,
    ask,
    ask_again,
    check_kind,
    check_said,
    find_length,
    give_up,
    record_answer,
)
from auditapp.benchmarks.scenarios.actions.scripts import branch_session, open_session, write_script
from auditapp.benchmarks.scenarios.actions.storing import Closed, close_session, discard_session, find_places
from auditapp.benchmarks.scenarios.forms import (
    AskForm,
    CloseForm,
    DiscardForm,
    KeyedForm,
    NextScriptForm,
    OpenSessionForm,
    ScriptForm,
    describe_script,
)
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.scripts import read_published_openings
from auditapp.benchmarks.scenarios.queries.sessions import (
    Exchange,
    Raised,
    count_kinds,
    find_opening,
    find_raised,
    held_sessions,
    latest_scripts,
    list_bank,
    list_scripts,
    read_talk,
    visible_sessions,
)
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.desk.keys import list_console_keys
from transcripts.formats.interviews.base import MAX_TURN_SIZE
from transcripts.history.views import NumberPage, write_number
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, post, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form

POLL_MILLISECONDS = 400
KEY_HINTS = {
    "bank": "bank",
    "previous_turn": "turn before",
    "next_turn": "turn after",
    "branch": "ask a different question",
    "again": "ask again",
    "text": "to the text",
}
USE = Script.Use.INTERVIEW


@require_safe
@study_view(Permission.VIEW)
def list_sessions(request: StudyRequest) -> HttpResponse:
    """All interviews that were held here, latest first."""
    sessions = list(held_sessions(request.study))
    seen = set(visible_sessions(get_viewer(request)).values_list("pk", flat=True))
    context = {
        "sessions": sessions,
        "seen": seen,
        "kinds": [label for _, label in Question.Kind.choices],
        "counts": count_kinds(request.study),
    }
    return render(request, "scenarios/sessions.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def open_new(request: StudyRequest) -> HttpResponse:
    """Open an interview: with a model, which gets the opening at once, or recorded from a chat page."""
    scripts = list(latest_scripts(request.study, Script.Use.INTERVIEW).prefetch_related("questions"))
    script = _choose_script(request, scripts)
    if script is None:
        status = 422 if request.method == "POST" else 200
        return render(request, "scenarios/choose_script.html", {"scripts": scripts}, status=status)
    form = OpenSessionForm(request.POST if request.method == "POST" else None, script=script)
    if form.is_valid():
        with at_form(form):
            session = open_session(study=request.study, by=request.user, **form.read())
            return redirect("scenarios:session", request.study.slug, session.pk)
    context = {"form": form, "script": script, "has_others": len(scripts) > 1, "tells_intents": True}
    return render(request, "scenarios/open_session.html", context, status=422 if form.errors else 200)


def _choose_script(request: StudyRequest, scripts: Sequence[Script]) -> Script | None:
    """The script that the address or the form names, or else the only script of the study; ``None`` if there are several."""
    wanted = request.POST.get("script") or request.GET.get("script") or ""
    if not wanted:
        return scripts[0] if len(scripts) == 1 else None
    return next((each for each in scripts if str(each.pk) == wanted), None)


@require_safe
@study_view(Permission.VIEW)
def show_session(request: StudyRequest, session_id: int) -> HttpResponse:
    """The console of an interview, or the reason why the person may not see it."""
    session = find_session(request, session_id)
    return _render_closed(request, session_id) if session is None else _render(request, session)


@require_safe
@study_view(Permission.VIEW)
def poll_talk(request: StudyRequest, session_id: int) -> HttpResponse:
    """What was said so far, for a page that waits for an answer; 204 if nothing has changed since ``mark``."""
    session = find_session(request, session_id)
    if session is None:
        return _render_closed(request, session_id)
    context = _describe(request, session)
    if request.GET.get("mark") == context["mark"]:
        return HttpResponse(status=204)
    return render(request, "scenarios/session.html#talk", context)


@require_POST
@study_view(Permission.RUN_BATCHES)
def warn(request: StudyRequest, session_id: int) -> HttpResponse:
    """Which codes the question that is being typed would raise before the model has done so."""
    session = _get_session(request, session_id)
    text, kind = request.POST.get("text", ""), request.POST.get("kind", "")
    raised = find_raised(session, read_talk(session), text, kind)
    return render(request, "scenarios/session.html#warning", {"raised": raised, "warned": ",".join(raised)})


@require_POST
@study_view(Permission.RUN_BATCHES)
def ask_next(request: StudyRequest, session_id: int) -> HttpResponse:
    """Send the next question, or record it with its answer. A question that raises a code is first shown with a warning, and a
    very long one is sent only after the person has confirmed it."""
    session = _get_session(request, session_id)
    form = AskForm(request.POST, is_recorded=session.mode == Session.Mode.RECORDED)
    shown: dict[str, Any] = {"status": 422}
    if form.is_valid():
        told = form.read()
        length = find_length(told["text"])
        is_doubted = (
            session.mode == Session.Mode.ASKED and length > LONG_QUESTION and form.cleaned_data["confirmed"] != length
        )
        shown["raised"] = find_raised(session, read_talk(session), told["text"], told["kind"])
        with at_form(form):
            check_kind(told["kind"], told["intent"])
            check_said(told["text"], field="text", what="The question")
            if not is_doubted and set(shown["raised"]) <= set(form.cleaned_data["warned"].split(",")):
                try:
                    (record_answer if session.mode == Session.Mode.RECORDED else ask)(
                        session=session, by=request.user, **told
                    )
                except AskedMeanwhile as error:
                    shown |= {"meanwhile": error, "status": error.status}
                    raise
                return _go_on(request, session.pk)
            shown["length"] = length if is_doubted else 0
    return _render(request, session, form=form, **shown)


def _find_question(request: StudyRequest, session_id: int, number: int) -> dict[str, Any]:
    return {"session": _get_session(request, session_id), "number": number}


def _find_branching(request: StudyRequest, session_id: int, number: int) -> dict[str, Any]:
    form = KeyedForm(request.POST)
    key = form.cleaned_data["idempotency_key"] if form.is_valid() else None
    return {"session": _get_session(request, session_id), "after": number, "idempotency_key": key}


def _find_open(request: StudyRequest, session_id: int) -> dict[str, Any]:
    return {"session": _get_session(request, session_id)}


def _show_refused(request: StudyRequest, form: None, *, session_id: int, number: int) -> HttpResponse:
    return _render(request, _get_session(request, session_id), status=409)


def _show_closing(request: StudyRequest, form: CloseForm, *, session_id: int) -> HttpResponse:
    return _render(request, _get_session(request, session_id), closing=form, status=422)


def _show_discarding(request: StudyRequest, form: DiscardForm, *, session_id: int) -> HttpResponse:
    return _render(request, _get_session(request, session_id), discarding=form, status=422)


def _show_asked(request: StudyRequest, question: Question) -> HttpResponse:
    return _go_on(request, question.session_id)


def _show_branch(request: StudyRequest, branch: Session) -> HttpResponse:
    messages.success(
        request, f"This session branches after answer {branch.after_position}. The other session stays as it is."
    )
    return redirect("scenarios:session", request.study.slug, branch.pk)


def _describe_closed(closed: Closed) -> str:
    left = "".join(f" Question {each.question} is left out: {each.why}." for each in closed.unanswered)
    return f"Stored as an interview: {closed.questions} questions, {closed.turns} turns, {closed.sentences} sentences.{left}"


RUN = Permission.RUN_BATCHES
send_again = post(ask_again, RUN, on=_find_question, page=_show_refused, then=_show_asked)
stop_waiting = post(give_up, RUN, on=_find_question, page=_show_refused, then=_show_asked)
branch = post(branch_session, RUN, on=_find_branching, page=_show_refused, then=_show_branch)
close = post(
    close_session,
    RUN,
    form=CloseForm,
    page=_show_closing,
    on=_find_open,
    done=_describe_closed,
    to=("scenarios:session", "session_id"),
)
discard = post(
    discard_session,
    RUN,
    form=DiscardForm,
    page=_show_discarding,
    on=_find_open,
    done="The interview is discarded. What was said in it is kept here.",
    to=("scenarios:session", "session_id"),
)


def find_session(request: StudyRequest, session_id: int) -> Session | None:
    """The session with this id, if the person may see its content."""
    return _load(visible_sessions(get_viewer(request))).filter(pk=session_id).first()


def _render_closed(request: StudyRequest, session_id: int) -> HttpResponse:
    """A page that says that somebody else held the interview, and how it can be opened."""
    session = get_object_or_404(held_sessions(request.study), pk=session_id)
    interviews = [session.interview_id] if session.interview_id else []
    context = {"session": session, "unblinding": offer_unblinding(request, interviews, where="interview held here")}
    return render(request, "scenarios/session_closed.html", context)


def _get_session(request: StudyRequest, session_id: int | None) -> Session:
    """Like ``find_session``, but raises Http404 if she may not see it."""
    return get_object_or_404(_load(visible_sessions(get_viewer(request))), pk=session_id)


def _load(sessions: QuerySet[Session]) -> QuerySet[Session]:
    return sessions.select_related("study", "script", "interview", "branch_of__interview", "arm__batch", "arm__variant")


def _go_on(request: StudyRequest, session_id: int | None) -> HttpResponse:
    """Return to the console; a page with JavaScript gets only the part that changes."""
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect("scenarios:session", request.study.slug, session_id)
    return _render(request, _get_session(request, session_id))


def _render(request: StudyRequest, session: Session, *, status: int = 200, **more: Any) -> HttpResponse:
    part = "#console" if request.htmx else ""  # type: ignore[attr-defined]
    return render(request, f"scenarios/session.html{part}", _describe(request, session, **more), status=status)


def _describe(
    request: StudyRequest,
    session: Session,
    *,
    form: Form | None = None,
    closing: Form | None = None,
    discarding: Form | None = None,
    meanwhile: AskedMeanwhile | None = None,
    raised: Mapping[str, Raised] | None = None,
    length: int = 0,
) -> dict[str, Any]:
    talk = read_talk(session)
    last = talk[-1] if talk else None
    number = last.number if last else 0
    limit = session.script.max_questions
    may_ask = Permission.RUN_BATCHES in request.role.permissions and session.state == Session.State.OPEN
    is_recorded = session.mode == Session.Mode.RECORDED
    batch = session.arm.batch if session.arm else None
    # Stopped means that the calls wait until a person acts.
    is_stopped = bool(batch and batch.is_open and batch.state not in WORKING_STATES and not batch.awaits_server)
    kinds = Counter(each.question.kind for each in talk)
    if form is None:
        form = AskForm(initial=_begin(session, talk), is_recorded=is_recorded)
    return {
        "session": session,
        "talk": talk,
        "last": last,
        "desk": _find_desk(session),
        "places": find_places(session, talk),
        "number": number,
        "next_number": number + 1,
        "limit": limit,
        "is_recorded": is_recorded,
        "is_waiting": bool(last and last.is_waiting),
        "is_at_limit": limit is not None and number >= limit,
        "may_ask": may_ask,
        "tells_intents": get_viewer(request).sees_all,
        "kinds": [(label, kinds[kind]) for kind, label in Question.Kind.choices],
        "batch": batch,
        "is_stopped": is_stopped,
        # Not offered in the short time before a worker takes a question.
        "may_give_up": bool(last and not last.is_shared and last.can_be_given_up and (is_stopped or last.calls)),
        "money": _read_money(batch) if batch else {},
        "mark": _mark(session, talk),
        "poll_milliseconds": POLL_MILLISECONDS,
        "form": form,
        "bank": list_bank(session.script) if may_ask else [],
        "raised": raised or {},
        "warned": ",".join(raised or {}),
        "length": length,
        "words": len(str(form["text"].value()).split()) if length else 0,
        **_list_keys(request.user.pk),
        "max_bytes": MAX_TURN_SIZE,
        "long_question": LONG_QUESTION,
        "meanwhile": meanwhile,
        "branch_form": KeyedForm(),
        "closing": closing or CloseForm(),
        "discarding": discarding or DiscardForm(),
        "branches": session.branches.order_by("pk"),
    }


def _list_keys(user_id: int) -> dict[str, Any]:
    """The keyboard shortcuts of the console, for its script and its hint."""
    keys = list_console_keys(user_id)
    hints = [(keys[name], does) for name, does in KEY_HINTS.items() if keys[name]["key"]]
    kinds = [keys[kind] for kind in Question.Kind.values if keys[kind]["key"]]
    return {"keys": keys, "kind_keys": kinds, "other_keys": hints}


def _begin(session: Session, talk: list[Exchange]) -> dict[str, object]:
    """The initial values of the form: in a recorded interview, the opening is the first question."""
    if talk or session.mode != Session.Mode.RECORDED:
        return {}
    return {"text": find_opening(session), "kind": Question.Kind.OPEN}


def _find_desk(session: Session) -> str:
    """The address of the session's interview at the desk; empty if it has none, or if that is excluded or archived."""
    interview = session.interview
    if interview is None or interview.study_id is None:
        return ""
    return reverse("desk:desk", args=[session.study.slug, interview.pk])


def _read_money(batch: Batch) -> dict[str, Any]:
    """What the interview and its branches have cost, what is reserved, and the cap, in dollars."""
    return {
        "spent": to_dollars(batch.spent_nano),
        "reserved": to_dollars(batch.reserved_nano),
        "cap": None if batch.cap_nano is None else to_dollars(batch.cap_nano),
    }


def _mark(session: Session, talk: list[Exchange]) -> str:
    """A mark that changes whenever the state of the conversation changes."""
    tries = [f"{each.cell.state}{each.cell.fence}" for exchange in talk for each in exchange.tries]
    batch = session.arm.batch if session.arm else None
    money = [batch.state, batch.spent_nano] if batch else []
    return "-".join(map(str, (session.state, len(talk), *tries, *money)))


@require_safe
@study_view(Permission.VIEW)
def show_scripts(request: StudyRequest) -> HttpResponse:
    """Every interview script with all its numbers."""
    context = {"scripts": list_scripts(request.study, USE), "tells_intents": get_viewer(request).sees_all}
    return render(request, "scenarios/scripts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def write_new(request: StudyRequest) -> HttpResponse:
    """Write a script under a new name."""
    notes = [
        f"The opening [{each.id}] is quoted word for word from {each.source}." for each in read_published_openings()
    ]
    return write_number(request, PAGE, ScriptForm, notes=notes)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def write_next(request: StudyRequest, script_id: int) -> HttpResponse:
    """Write the next number of a script; sessions keep the number with which they began."""
    script = get_object_or_404(Script, study=request.study, use=USE, pk=script_id)
    return write_number(request, PAGE, NextScriptForm, latest_scripts(request.study, USE).get(name=script.name))


def _write(request: StudyRequest, form: ScriptForm, latest: Script | None) -> Script:
    try:
        return write_script(
            study=request.study,
            script=form.read(latest.name if latest else ""),
            by=request.user,
            reason=form.cleaned_data.get("reason", ""),
            based_on=form.cleaned_data["based_on"],
        )
    except Refused as error:
        if not error.field.startswith("turn"):
            raise
        place = f"{error.field.replace('turn ', 'Question ')}: " if error.field != "turns" else ""
        raise Refused(f"{place}{error}", field="bank") from error


PAGE = NumberPage(
    first_title="New interview script",
    next_title="Next number of an interview script",
    list_title="Interview scripts",
    short="script",
    kept="the interviews held with it",
    done="You can now hold interviews with it.",
    back="scenarios:scripts",
    style="css/console.css",
    initial=describe_script,
    write=_write,
)
