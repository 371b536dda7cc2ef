"""Which studies may use which accounts: the page of the owner of the site, and what a study sees of it."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.batches.actions import pause_granted
from auditapp.batches.forms import GrantForm
from auditapp.batches.pages.summaries import describe_grants
from auditapp.llm.granting import list_grants, revoke_grant, set_grant
from auditapp.llm.models import ProviderAccount
from auditapp.llm.views.models import owner_view
from transcripts.accounts.queries import person_of
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.models import Project
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form, at_top


@owner_view
@require_http_methods(["GET", "HEAD", "POST"])
def grant_account(request: HttpRequest, account_id: int) -> HttpResponse:
    """The studies that may use an account, with what is left of their limits, and a form to grant it."""
    account = get_object_or_404(ProviderAccount, pk=account_id)
    form = GrantForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with at_form(form):
            grant = set_grant(account=account, by=person_of(request), **form.cleaned_data)
            messages.success(request, f"{grant.project.name} may now use the models of {account.name}.")
            return redirect("batches:account_grants", account.pk)
    return _render_account(request, account, form, status=422 if form.errors else 200)


@owner_view
@require_POST
def revoke(request: HttpRequest, account_id: int) -> HttpResponse:
    """End the grant of one study; pause its batches if that was asked."""
    account = get_object_or_404(ProviderAccount, pk=account_id)
    project = get_object_or_404(Project, slug=request.POST.get("project", ""))
    person = person_of(request)
    with at_top(request):
        with transaction.atomic():
            grant = revoke_grant(project=project, account=account, by=person)
            paused = pause_granted(grant=grant, by=person) if request.POST.get("pause") else 0
        rest = f" {paused:,} of its batches {'was' if paused == 1 else 'were'} paused." if paused else ""
        messages.success(request, f"{project.name} may no longer use the models of {account.name}.{rest}")
        return redirect("batches:account_grants", account.pk)
    return _render_account(request, account, GrantForm(), status=422)


@require_safe
@project_view(Permission.RUN_BATCHES)
def show_grants(request: ProjectRequest) -> HttpResponse:
    """What the study was granted, and what is left of it."""
    rows = describe_grants(list_grants(project=request.project), request.user)
    return render(request, "batches/grants.html", {"rows": rows})


def _render_account(request: HttpRequest, account: ProviderAccount, form: GrantForm, *, status: int) -> HttpResponse:
    rows = describe_grants(list_grants(account=account), person_of(request))
    page = {"account": account, "rows": rows, "form": form}
    return render(request, "batches/account_grants.html", page, status=status)
