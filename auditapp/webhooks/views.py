"""The webhooks of a study, for its leads."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from auditapp.webhooks import actions, queries
from auditapp.webhooks.forms import WebhookForm
from auditapp.webhooks.models import Webhook
from auditapp.webhooks.pure.protocol import MAX_TRIES
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused


@require_safe
@project_view(Permission.SET_METHOD)
def list_webhooks(request: ProjectRequest) -> HttpResponse:
    """Where the study reports what happened in it."""
    return _render_list(request, WebhookForm())


@never_cache
@require_POST
@project_view(Permission.SET_METHOD)
def add_webhook(request: ProjectRequest) -> HttpResponse:
    """Add a webhook and show its secret, this once."""
    form = WebhookForm(request.POST)
    if form.is_valid():
        try:
            added = actions.add_webhook(project=request.project, by=request.user, **form.cleaned_data)
        except Refused as error:
            form.add_error(error.field or None, str(error))
        else:
            return _render_list(request, WebhookForm(), added)
    return _render_list(request, form)


@require_safe
@project_view(Permission.SET_METHOD)
def show_webhook(request: ProjectRequest, webhook_id: int) -> HttpResponse:
    """What was sent to a webhook, and what became of it."""
    webhook = _find(request, webhook_id)
    page = {"webhook": webhook, "deliveries": queries.list_deliveries(webhook), "max_tries": MAX_TRIES}
    return render(request, "webhooks/webhook.html", page)


@require_POST
@project_view(Permission.SET_METHOD)
def send_test(request: ProjectRequest, webhook_id: int) -> HttpResponse:
    """Send an event that says nothing, to see whether it is received."""
    webhook = _find(request, webhook_id)
    try:
        actions.send_test(webhook=webhook, by=request.user)
    except Refused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "A test is on its way. Reload the page to see how it ended.")
    return redirect("webhooks:webhook", request.project.slug, webhook.pk)


@require_POST
@project_view(Permission.SET_METHOD)
def turn_off(request: ProjectRequest, webhook_id: int) -> HttpResponse:
    """Send nothing more to a webhook."""
    webhook = _find(request, webhook_id)
    actions.turn_off_webhook(webhook=webhook, by=request.user)
    messages.success(request, "The webhook is turned off. Nothing more is sent there.")
    return redirect("webhooks:list", request.project.slug)


def _find(request: ProjectRequest, webhook_id: int) -> Webhook:
    return get_object_or_404(request.project.webhooks, pk=webhook_id)


def _render_list(request: ProjectRequest, form: WebhookForm, added: tuple[Webhook, str] | None = None) -> HttpResponse:
    webhook, secret = added or (None, "")
    page = {"webhooks": queries.list_webhooks(request.project), "form": form, "added": webhook, "secret": secret}
    return render(request, "webhooks/list.html", page, status=422 if form.errors else 200)
