"""Pages of rounds: assigning, completing, locking; and completing where nothing is assigned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.accounts.models import User
from transcripts.corpus import queries as corpus_queries
from transcripts.corpus.consent import list_without
from transcripts.corpus.models import Consent, Interview
from transcripts.refusals import Refused
from transcripts.rounds import actions, queries
from transcripts.rounds.actions import complete_interview, reopen_interview
from transcripts.rounds.forms import (
    CLOSE,
    CellsForm,
    CompleteForm,
    CompleteInterviewForm,
    CompleteSeveralForm,
    LockForm,
    RoundForm,
)
from transcripts.rounds.models import Assignment, Round
from transcripts.rounds.pure import fingerprint
from transcripts.rounds.queries import read_all_work, read_progress
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, at_top
from transcripts.ui.typed_text import find_number, find_numbers

INTERVIEWS_PER_PAGE = 50


@require_safe
@study_view(Permission.CODE)
def show_own_work(request: StudyRequest) -> HttpResponse:
    """The person's own assignments and progress."""
    return render_own_work(request)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_all_work(request: StudyRequest) -> HttpResponse:
    """A part of the overview, loaded after the rest of it: the progress of each coder and of each interview."""
    return render(request, "rounds/_all_work.html", read_all_work(request.study))


@require_POST
@study_view(Permission.CODE)
def complete_assignment(request: StudyRequest, number: int, interview_id: int) -> HttpResponse:
    """Complete an interview."""
    round_ = get_object_or_404(request.study.rounds, number=number)
    interview = get_object_or_404(request.study.interviews, pk=interview_id)
    assignment = queries.find_own(round_, interview, request.user)
    if assignment is None:
        messages.error(request, f"“{interview.title}” is not assigned to you in {round_.name}.")
        return render_own_work(request, status=409)
    form = CompleteForm(request.POST, auto_id=f"%s-{assignment.pk}")
    if not form.is_valid():
        return render_own_work(request, form, assignment)

    reason = form.cleaned_data["reason"]
    act = partial(actions.complete_assignment, assignment=assignment, reason=reason, by=request.user)
    return _hand_in(request, form, assignment, act, f"“{interview.title}” is")


@require_POST
@study_view(Permission.CODE)
def complete_several(request: StudyRequest, number: int) -> HttpResponse:
    """Complete the ticked interviews of a round: all of them, or none."""
    round_ = get_object_or_404(request.study.rounds, number=number)
    own = {row.interview_id: row for row, _ in queries.list_own(request.study, request.user) if row.round == round_}
    form = CompleteSeveralForm(request.POST, own=own, auto_id=f"%s-several-{round_.number}")
    if not form.is_valid():
        return render_own_work(request, form, round_)
    chosen = [own[pk] for pk in form.cleaned_data["interview"]]

    reason, count = form.cleaned_data["reason"], len(chosen)
    act = partial(actions.complete_several, assignments=chosen, reason=reason, by=request.user)
    which = f"{count} interviews are" if count > 1 else f"“{chosen[0].interview.title}” is"
    return _hand_in(request, form, round_, act, which)


def _hand_in(
    request: StudyRequest, form: CompleteForm, wrong: Assignment | Round, act: Callable[[], None], which: str
) -> HttpResponse:
    try:
        act()
    except Refused as error:
        if error.field:
            form.add_error(error.field, str(error))
            return render_own_work(request, form, wrong)
        messages.error(request, str(error))
        return render_own_work(request, status=409)
    messages.success(request, f"{which} completed. Your codings there can no longer be changed.")
    return redirect("rounds:work", request.study.slug)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def list_rounds(request: StudyRequest) -> HttpResponse:
    """Every round, newest first."""
    return render(request, "rounds/list.html", {"rounds": queries.list_rounds(request.study)})


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.ASSIGN)
def make_round(request: StudyRequest) -> HttpResponse:
    """Plan a round, show who would code what, and confirm it (``plan_name`` in the form)."""
    # The list of interviews sends what was ticked there, and nothing else yet.
    is_begun = request.method == "POST" and "pick" not in request.POST
    picked = [] if is_begun else _list_picked(request)
    form = RoundForm(request.POST if is_begun else None, study=request.study, picked=picked)
    picture, status = None, 200
    if is_begun and form.is_valid():
        fields = form.read()
        try:
            if name := form.cleaned_data["plan_name"]:
                round_ = actions.open_round(
                    study=request.study,
                    plan_name=name,
                    idempotency_key=form.cleaned_data["idempotency_key"],
                    by=request.user,
                    **fields,
                )
                messages.success(request, f"{round_.name} is open. Coders find it under “My work”.")
                return redirect("rounds:detail", request.study.slug, round_.number)
            picture = _picture_plan(request, form, *actions.plan_round(study=request.study, **fields))
        except actions.PlanChanged as error:
            messages.warning(request, str(error))
            picture = _picture_plan(request, form, *actions.plan_round(study=request.study, **fields))
            status = 409
        except Refused as error:
            form.add_error(error.field or None, str(error))
    return render(request, "rounds/new.html", {"form": form, "plan": picture}, status=422 if form.errors else status)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_round(request: StudyRequest, number: int) -> HttpResponse:
    """Who codes what in a round, the progress, and the coverage of interviews."""
    return _render_round(request, get_object_or_404(request.study.rounds, number=number))


@require_POST
@study_view(Permission.ASSIGN)
def change_assignments(request: StudyRequest, number: int) -> HttpResponse:
    """Assign, unassign or return the ticked cells: all of them, or none."""
    round_ = get_object_or_404(request.study.rounds, number=number)
    form = CellsForm(request.POST)
    if not form.is_valid():
        return _render_round(request, round_, form=form)
    try:
        changed = _change_cells(request, round_, form)
    except Refused as error:
        if error.field:
            form.add_error(error.field, str(error))
            return _render_round(request, round_, form=form)
        messages.error(request, str(error))
        return _render_round(request, round_, form=form, status=409)
    messages.success(request, f"Done in {changed} cell{'' if changed == 1 else 's'} of the table.")
    return redirect("rounds:detail", request.study.slug, number)


@require_POST
@study_view(Permission.ASSIGN)
def lock(request: StudyRequest, number: int) -> HttpResponse:
    """Lock a round, or unlock it with a reason."""
    round_ = get_object_or_404(request.study.rounds, number=number)
    form = LockForm(request.POST)
    if form.is_valid() and form.cleaned_data["act"] == "lock" and not form.cleaned_data["confirmed"]:
        uncompleted = sum(row.completed_at is None for row in queries.list_active(round_))
        if uncompleted:
            form.add_error("confirmed", f"{uncompleted} not completed. Tick the box to lock the round anyway.")
    if not form.is_valid():
        return _render_round(request, round_, lock_form=form)
    with at_form(form, "reason"):
        if form.cleaned_data["act"] == "lock":
            actions.lock_round(round_=round_, by=request.user)
            messages.success(request, f"{round_.name} is locked. Nobody can code its interviews now.")
        else:
            actions.unlock_round(round_=round_, reason=form.cleaned_data["reason"], by=request.user)
            messages.success(request, f"{round_.name} is open again.")
        return redirect("rounds:detail", request.study.slug, number)
    return _render_round(request, round_, lock_form=form)


@transaction.atomic
def _change_cells(request: StudyRequest, round_: Round, form: CellsForm) -> int:
    """Carry out the request in every ticked cell; returns the number of cells that changed."""
    act, reason = form.cleaned_data["act"], form.cleaned_data["reason"]
    interviews = request.study.interviews.in_bulk([interview for interview, _ in form.cells])
    coders = request.study.members.in_bulk([coder for _, coder in form.cells])
    active = {(row.interview_id, row.coder_id): row for row in queries.list_active(round_)}
    done = 0
    for interview, coder in form.cells:
        row = active.get((interview, coder))
        if act == "assign":
            if interview not in interviews or coder not in coders:
                raise Http404("This place does not exist in this study.")
            actions.assign(round_=round_, interview=interviews[interview], coder=coders[coder], by=request.user)
            done += row is None
        elif row is not None and act == "unassign":
            actions.unassign(assignment=row, by=request.user)
            done += 1
        elif row is not None and row.completed_at:
            actions.reopen_assignment(assignment=row, reason=reason, by=request.user)
            done += 1
    return done


def _list_picked(request: StudyRequest) -> list[str]:
    """The ticked interviews in the list, or all that matched there."""
    if "every" in request.POST:
        found = corpus_queries.list_matching(request.study, corpus_queries.read_wanted(request.POST), None)
        return [str(interview.pk) for interview in found]
    return request.POST.getlist("interview")


def _picture_plan(
    request: StudyRequest, form: RoundForm, coders: list[User], allocation: dict[int, tuple[int, ...]]
) -> dict[str, object]:
    """A plan by model and by coder, as the page of a round would show it; and its form for confirmation."""
    interviews = {row.pk: row for row in request.study.interviews.only("pk", "title", "model_label", "study_id")}
    users = {user.pk: user for user in coders}
    rows = [
        Assignment(interview=interviews[pk], coder=users[coder])
        for pk, readers in allocation.items()
        for coder in readers
    ]
    return {
        "name": fingerprint(allocation),
        "coders": len(coders),
        "coverage": queries.measure_coverage({pk: interviews[pk].model_label for pk in allocation}, rows),
        "allocation": [
            (interviews[pk], [users[coder].username for coder in readers]) for pk, readers in allocation.items()
        ],
        "shared": sum(len(readers) > 1 for readers in allocation.values()),
        "begun": len(rows),
        "outside": len(interviews) - len(allocation),
        "refused": len(list_without(interviews.values(), Consent.Scope.CODING)),
        "closes_others": form.cleaned_data["closes_others"] == CLOSE,
        "fields": [
            (name, value) for name in form.fields if name != "plan_name" for value in request.POST.getlist(name)
        ],
    }


def render_own_work(
    request: StudyRequest,
    form: CompleteForm | CompleteInterviewForm | None = None,
    wrong: Assignment | Interview | Round | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """One's own work; an invalid ``form`` is shown at its assignment, at its round, or at the unassigned interview.
    ``?interview=`` names the interview from which the person comes."""
    own = queries.list_own(request.study, request.user)
    to_sign = Counter(row.round.number for row, _ in own if row.is_open and not row.completed_at)
    page = {
        "own": own,
        "begun": [] if own else queries.list_begun(request.study, request.user),
        "complete_form": CompleteInterviewForm(),
        "wrong": wrong,
        "wrong_form": form,
        "form": CompleteForm(),
        "several_form": CompleteSeveralForm(),
        "several": {number for number, count in to_sign.items() if count > 1},
        "ticked": find_numbers(request.POST.getlist("interview")),
        "asked": find_number(request.GET.get("interview", "")),
        "decided": sum(progress.decided for _, progress in own),
        "total": sum(progress.total for _, progress in own),
    }
    return render(request, "rounds/work.html", page, status=422 if form and form.errors else status)


def _render_round(
    request: StudyRequest,
    round_: Round,
    *,
    form: CellsForm | None = None,
    lock_form: LockForm | None = None,
    status: int = 200,
) -> HttpResponse:
    active = queries.list_active(round_)
    assigned = {row.interview_id for row in active}
    everything = request.GET.get("show") == "all" or not active
    labels = queries.read_labels(request.study)
    label_of = {pk: label for pk, label in labels.items() if everything or pk in assigned}
    page = Paginator(list(label_of), INTERVIEWS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "round": round_,
        "page": page,
        "everything": everything,
        "rows": _list_rows(request, list(page), active, frozenset(form.cells) if form else frozenset()),
        "coverage": queries.measure_coverage(label_of, active),
        "labels": sorted(set(label_of.values())),
        "completed": sum(row.completed_at is not None for row in active),
        "assignments": len(active),
        "form": form or CellsForm(),
        "lock_form": lock_form or LockForm(),
    }
    is_wrong = any(each is not None and each.errors for each in (form, lock_form))
    return render(request, "rounds/detail.html", context, status=422 if is_wrong else status)


def _list_rows(
    request: StudyRequest, keys: list[int], active: list[Assignment], ticked: frozenset[tuple[int, int]]
) -> list[dict[str, object]]:
    """The table of a page: its interviews, and a cell for everybody who may code or has an assignment."""
    coders = {user.pk: user for user in queries.list_coders(request.study)}
    coders.update({row.coder_id: row.coder for row in active})
    order = sorted(coders.values(), key=lambda user: user.username.lower())
    found = {(row.interview_id, row.coder_id): row for row in active}
    progress = read_progress(keys)
    interviews = request.study.interviews.in_bulk(keys)
    readers = Counter(row.interview_id for row in active)
    return [
        {
            "interview": interviews[key],
            "readers": readers[key],
            "cells": [
                (user, found.get((key, user.pk)), progress.find(key, user.pk), (key, user.pk) in ticked)
                for user in order
            ],
        }
        for key in keys
    ]


@require_POST
@study_view(Permission.CODE)
def complete_unassigned(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Complete an unassigned interview."""
    interview = get_object_or_404(request.study.interviews, pk=interview_id)
    form = CompleteInterviewForm(request.POST, auto_id=f"%s-{interview.pk}")
    if not form.is_valid():
        return render_own_work(request, form, interview)
    try:
        reason = form.cleaned_data["reason"]
        complete_interview(study=request.study, interview=interview, reason=reason, by=request.user)
    except Refused as error:
        if error.field:
            form.add_error(error.field, str(error))
            return render_own_work(request, form, interview)
        messages.error(request, str(error))
        return render_own_work(request, status=409)
    messages.success(
        request, f"“{interview.title}” is completed. Your codings of it cannot be changed until you reopen it."
    )
    return redirect("rounds:work", request.study.slug)


@require_POST
@study_view(Permission.CODE)
def take_back(request: StudyRequest, interview_id: int) -> HttpResponse:
    """Reopen an unassigned interview that one has completed."""
    interview = get_object_or_404(request.study.interviews, pk=interview_id)
    with at_top(request):
        reopen_interview(study=request.study, interview=interview, by=request.user)
        messages.success(request, f"“{interview.title}” is open again.")
        return redirect("rounds:work", request.study.slug)
    return render_own_work(request, status=409)
