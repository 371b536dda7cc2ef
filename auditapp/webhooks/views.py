"""The webhooks of a study, for its leads."""

from __future__ import annotations

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from auditapp.webhooks import actions
from auditapp.webhooks.models import EVENTS, MAX_ADDRESS, Webhook
from auditapp.webhooks.pure import MAX_TRIES
from transcripts.studies.access import StudyRequest, post, study_view
from transcripts.studies.roles import Permission

MAX_SHOWN = 50


def list_choices() -> list[tuple[str, str]]:
    """The events with their meanings."""
    return [(name, f"{name}: {meaning}") for name, meaning in EVENTS.items()]


class WebhookForm(forms.Form):
    """A new webhook."""

    address = forms.CharField(
        max_length=MAX_ADDRESS, help_text="Where your program receives events, such as https://example.org/hook."
    )
    events = forms.MultipleChoiceField(choices=list_choices, widget=forms.CheckboxSelectMultiple)


@require_safe
@study_view(Permission.SET_METHOD)
def list_webhooks(request: StudyRequest) -> HttpResponse:
    """The addresses to which the study reports events."""
    return _render_list(request, WebhookForm())


@require_safe
@study_view(Permission.SET_METHOD)
def show_webhook(request: StudyRequest, webhook_id: int) -> HttpResponse:
    """What was sent to a webhook, and with what result."""
    webhook = _find(request, webhook_id)["webhook"]
    page = {"webhook": webhook, "deliveries": webhook.deliveries.all()[:MAX_SHOWN], "max_tries": MAX_TRIES}
    return render(request, "webhooks/webhook.html", page)


def _find(request: StudyRequest, webhook_id: int) -> dict[str, Webhook]:
    return {"webhook": get_object_or_404(request.study.webhooks, pk=webhook_id)}


def _render_list(request: StudyRequest, form: WebhookForm, added: tuple[Webhook, str] | None = None) -> HttpResponse:
    webhook, secret = added or (None, "")
    page = {"webhooks": request.study.webhooks.with_counts(), "form": form, "added": webhook, "secret": secret}
    return render(request, "webhooks/list.html", page, status=422 if form.errors else 200)


def _show_secret(request: StudyRequest, added: tuple[Webhook, str]) -> HttpResponse:
    """The list with the secret of a new webhook, which is shown only once."""
    return _render_list(request, WebhookForm(), added)


add_webhook = post(actions.add_webhook, Permission.SET_METHOD, form=WebhookForm, page=_render_list, then=_show_secret)
send_test = post(
    actions.send_test,
    Permission.SET_METHOD,
    on=_find,
    done="A test is being sent. Reload the page to see how it ended.",
    to=("webhooks:webhook", "webhook_id"),
)
turn_off = post(
    actions.turn_off_webhook,
    Permission.SET_METHOD,
    on=_find,
    done="The webhook is turned off. Nothing more is sent there.",
    to=("webhooks:list",),
)
