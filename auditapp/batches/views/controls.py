"""The controls of a launched batch, and the route through files: download the requests, upload the answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.db import transaction
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.batches import actions
from auditapp.batches.actions import pause_granted
from auditapp.batches.forms import (
    MAX_ANSWER_FILE,
    AnswersForm,
    CapForm,
    ConcurrencyForm,
    ConfirmForm,
    GrantForm,
    NameForm,
)
from auditapp.batches.models import Batch, ProviderJob
from auditapp.batches.pages.progress import describe_grants
from auditapp.batches.routes import answer_files
from auditapp.batches.views.launch import BatchRequest, batch_view, control_view
from auditapp.batches.views.pages import find_cap_warning, render_batch
from auditapp.llm.grants import list_grants, revoke_grant, set_grant
from auditapp.llm.models import ProviderAccount
from auditapp.llm.views import owner_view
from transcripts.accounts.queries import person_of
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import sends_files
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, at_top, takes_uploads

ACTS: dict[str, Callable[..., None]] = {
    "pause": actions.pause_batch,
    "resume": actions.resume_batch,
    "drain": actions.drain_batch,
}
ENDS = {"cancel": False, "abort": True}


def _back(request: BatchRequest, batch: Batch) -> HttpResponse:
    return redirect("batches:detail", request.study.slug, batch.pk)


def _act(request: BatchRequest, act: Callable[[], object]) -> HttpResponse:
    """Go back to the batch after ``act``, with the words of the refusal if ``act`` was refused."""
    with at_top(request):
        act()
    return _back(request, request.batch)


def _change(act: Callable[..., object], form: type[BaseForm], name: str, value: str) -> Callable[..., HttpResponseBase]:
    """The view in which ``act`` stores the single field of ``form``; ``name`` is the form's name on the page, ``value`` the act's
    argument for the field."""

    @control_view
    def view(request: BatchRequest) -> HttpResponse:
        typed = form(request.POST)
        [field] = typed.fields
        if typed.is_valid():
            with at_form(typed, field):
                act(batch=request.batch, by=request.user, **{value: typed.cleaned_data[field]})
                return _back(request, request.batch)
        return render_batch(request, status=422, **{name: typed})

    return view


change_concurrency = _change(actions.change_concurrency, ConcurrencyForm, "concurrency_form", "concurrency")
rename_batch = _change(actions.rename_batch, NameForm, "name_form", "name")
change_cap = _change(actions.change_cap, CapForm, "cap_form", "cap_usd")


@control_view
def control_batch(request: BatchRequest) -> HttpResponse:
    """Pause, resume or drain; for cancel and abort, a page asks for confirmation first."""
    batch = request.batch
    name = request.POST.get("act", "")
    if name in ENDS:
        answer = redirect("batches:end", request.study.slug, batch.pk)
        answer["Location"] += "?" + urlencode({"how": name})
        return answer
    act = ACTS.get(name)
    if act is None:
        raise Http404("No such control.")
    return _act(request, partial(act, batch=batch, by=request.user))


@require_http_methods(["GET", "HEAD", "POST"])
@batch_view(Permission.RUN_BATCHES, hides_by_itself=True)
def end_batch(request: BatchRequest) -> HttpResponse:
    """Ask for confirmation, then cancel or abort."""
    batch = request.batch
    if request.method == "POST":
        how = request.POST.get("how", "cancel")
        if how not in ENDS:
            raise Http404("No such control.")
        return _act(request, partial(actions.cancel_batch, batch=batch, by=request.user, cut_off=ENDS[how]))
    how = "abort" if request.GET.get("how") == "abort" else "cancel"
    return render(request, "batches/end.html", {"batch": batch, "how": how})


@require_http_methods(["GET", "HEAD", "POST"])
@batch_view(Permission.RUN_BATCHES, hides_by_itself=True)
def end_job(request: BatchRequest, job_id: int) -> HttpResponse:
    """Ask for confirmation, then end a job that its provider no longer recognizes."""
    batch = request.batch
    job = get_object_or_404(ProviderJob, pk=job_id, queue__batch=batch)
    if request.method == "POST":
        return _act(request, partial(actions.end_job, job=job, by=request.user))
    calls, nano = actions.sum_open_calls(job)
    return render(request, "batches/end_job.html", {"batch": batch, "job": job, "calls": calls, "reserved": nano})


@control_view
def confirm_batch(request: BatchRequest) -> HttpResponse:
    """Approve the batch after its pilot, with the cap in the form."""
    batch = request.batch
    form = ConfirmForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        # The page says so once; who then sends the same cap means it.
        if given["cap"] != given["warned"] and (warning := find_cap_warning(request, given["cap"])):
            form.add_error(None, warning)
            return render_batch(request, confirm_form=form, status=422)
        with at_form(form, "cap"):
            actions.confirm_batch(batch=batch, by=request.user, cap_usd=given["cap"], anyway=given["anyway"])
            return _back(request, batch)
    return render_batch(request, confirm_form=form, status=422)


@control_view
def retry_failed(request: BatchRequest) -> HttpResponse:
    """Ask the failed cells again."""
    batch = request.batch
    with at_top(request):
        count = actions.retry_failed(batch=batch, by=request.user)
        messages.success(request, f"{count:,} failed cell{'' if count == 1 else 's'} will be asked again.")
    return _back(request, batch)


@control_view
def release_held(request: BatchRequest) -> HttpResponse:
    """Decide on the held cells: ask them again, or give them up."""
    batch = request.batch
    again = request.POST.get("again") == "yes"
    with at_top(request):
        count = actions.release_held(batch=batch, by=request.user, again=again)
        words = "will be asked again" if again else "given up"
        messages.success(request, f"{count:,} held cell{'' if count == 1 else 's'} {words}.")
    return _back(request, batch)


@sends_files
@control_view
def download_requests(request: BatchRequest) -> HttpResponseBase:
    """The requests of the cells that wait for an answer, one line of JSON each. It is a POST because the export is recorded."""
    batch = request.batch
    if not request.visibility.allows_requests:
        messages.error(request, f"The requests were not written. {request.visibility.sentence}")
        return redirect("batches:detail", request.study.slug, batch.pk)
    try:
        _, lines = answer_files.export_requests(batch=batch, by=request.user)
    except answer_files.AnswerFileError as error:
        messages.error(request, str(error))
        return redirect("batches:detail", request.study.slug, batch.pk)
    headers = {"Content-Disposition": f'attachment; filename="batch-{batch.pk}-requests.jsonl"'}
    return StreamingHttpResponse(lines, content_type="application/jsonl", headers=headers)


@takes_uploads(MAX_ANSWER_FILE)
@control_view
def import_answer_file(request: BatchRequest) -> HttpResponse:
    """Store the answers of a file, completely or not at all."""
    batch = request.batch
    form = AnswersForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            imported = answer_files.import_answer_file(batch=batch, file=form.cleaned_data["file"], by=request.user)
        except answer_files.AnswerFileError as error:
            form.add_error("file", [str(error), *error.problems])
        else:
            messages.success(
                request,
                f"{_count(imported.answered, 'answer')} imported, {_count(imported.failed, 'error')}, {imported.skipped:,} left "
                f"out because they had been imported before; {_count(imported.waiting, 'cell')} still "
                f"wait{'s' if imported.waiting == 1 else ''}.",
            )
            return redirect("batches:detail", request.study.slug, batch.pk)
    return render_batch(request, answers_form=form, status=422)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@owner_view
@require_http_methods(["GET", "HEAD", "POST"])
def grant_account(request: HttpRequest, account_id: int) -> HttpResponse:
    """The studies that may use an account, with what is left of their limits, and a form to grant it."""
    account = get_object_or_404(ProviderAccount, pk=account_id)
    form = GrantForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with at_form(form):
            grant = set_grant(account=account, by=person_of(request), **form.cleaned_data)
            messages.success(request, f"{grant.study.name} may now use the models of {account.name}.")
            return redirect("batches:account_grants", account.pk)
    return _render_account(request, account, form, status=422 if form.errors else 200)


@owner_view
@require_POST
def revoke(request: HttpRequest, account_id: int) -> HttpResponse:
    """End the grant of one study, and pause its batches if requested."""
    account = get_object_or_404(ProviderAccount, pk=account_id)
    study = get_object_or_404(Study, slug=request.POST.get("study", ""))
    person = person_of(request)
    with at_top(request):
        with transaction.atomic():
            grant = revoke_grant(study=study, account=account, by=person)
            paused = pause_granted(grant=grant, by=person) if request.POST.get("pause") else 0
        rest = f" {paused:,} of its batches {'was' if paused == 1 else 'were'} paused." if paused else ""
        messages.success(request, f"{study.name} may no longer use the models of {account.name}.{rest}")
        return redirect("batches:account_grants", account.pk)
    return _render_account(request, account, GrantForm(), status=422)


@require_safe
@study_view(Permission.RUN_BATCHES)
def show_grants(request: StudyRequest) -> HttpResponse:
    """The grants of a study, and what is left of them."""
    rows = describe_grants(list_grants(study=request.study), request.user)
    return render(request, "batches/grants.html", {"rows": rows})


def _render_account(request: HttpRequest, account: ProviderAccount, form: GrantForm, *, status: int) -> HttpResponse:
    rows = describe_grants(list_grants(account=account), person_of(request))
    page = {"account": account, "rows": rows, "form": form}
    return render(request, "batches/account_grants.html", page, status=status)
