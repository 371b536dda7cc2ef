"""Pages of batches: the list, the progress of one, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from django.core.paginator import Paginator
from django.forms import BaseForm
from django.http import HttpResponse, HttpResponseNotModified
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_safe

from auditapp.batches.forms import AnswersForm, CapForm, ConcurrencyForm, ConfirmForm, NameForm
from auditapp.batches.kinds import is_always_visible
from auditapp.batches.ledger.worker_signs import read_workers
from auditapp.batches.models import Batch
from auditapp.batches.pages import live
from auditapp.batches.pages.attempts import find_arms
from auditapp.batches.pages.progress import count_percent, is_sum_shown, read_progress, read_progress_of
from auditapp.batches.pages.spending import (
    SPEND,
    estimate_batch,
    list_prices,
    read_cache_saving,
    read_spend,
    warn_of_cap,
)
from auditapp.batches.pure.money import to_dollars, to_nano
from auditapp.batches.views.charts import draw_days, draw_spend
from auditapp.batches.views.gate import BatchRequest, batch_view, offer_calls
from auditapp.llm.queries import list_noted
from transcripts.blinding.viewers import get_viewer
from transcripts.formats.report_tables import write_report_table
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.downloads import CONTENT_TYPES
from transcripts.projects.roles import Permission

PER_PAGE = 50


@require_safe
@project_view(Permission.VIEW)
def list_batches(request: ProjectRequest) -> HttpResponse:
    """Every batch of the study, newest first, in the same number of queries however many there are.

    While one of them is open, htmx asks for the page again every five seconds and takes the list from it.
    """
    page = Paginator(Batch.objects.filter(project=request.project), PER_PAGE).get_page(request.GET.get("page"))
    batches, viewer = list(page), get_viewer(request)
    progress = read_progress_of(batches)
    fake = live.find_fake_batches(batches)
    unpriced = live.find_unpriced_batches(batches)
    rows = [
        {
            "batch": batch,
            "progress": progress[batch.pk],
            "percent": count_percent(progress[batch.pk]),
            "is_fake": batch.pk in fake,
            "is_priced": batch.pk not in unpriced,
            "is_open": is_always_visible(batch, viewer),
        }
        for batch in batches
    ]
    context = {
        "page": page,
        "rows": rows,
        "is_watched": any(batch.is_open for batch in batches),
        "has_closed": not all(row["is_open"] for row in rows),
        "worker": live.sum_up_workers(read_workers()),
        "has_fake": bool(fake),
    }
    return render(request, "batches/list.html", context)


@require_safe
@batch_view(Permission.VIEW, hides_by_itself=True)
def show_batch(request: BatchRequest) -> HttpResponse:
    """One batch; htmx polls every two seconds for the parts that changed."""
    return render_batch(request)


def render_batch(request: BatchRequest, *, status: int = 200, **forms: BaseForm) -> HttpResponse:
    """The page of a batch, or for htmx the changed parts of it. ``forms`` are those with errors."""
    batch = request.batch
    if request.method == "POST":
        # The change may have been made in part, or by somebody else.
        batch.refresh_from_db()
    arms = find_arms(batch)
    is_poll = bool(request.htmx) and request.method != "POST"  # type: ignore[attr-defined]
    context = live.describe_batch(batch, arms, visibility=request.visibility, afresh=not is_poll)
    parts = live.render_parts(request, context)
    hashes = live.hash_parts(parts, controls=live.list_control_facts(context))
    tag = live.write_tag(hashes)
    if is_poll:
        response = _answer_poll(request, context, parts, hashes, tag)
    else:
        context |= _describe_controls(request, context, forms)
        wrong_form = next(iter(forms.values()), None)
        context["unblinding"] = offer_calls(request)
        page = {**context, "parts": parts, "tag": tag, "arms": arms, "wrong_form": wrong_form}
        response = render(request, "batches/detail.html", page, status=status)
    response["ETag"] = tag
    # The browser must not cache parts: each response depends on what it showed before.
    response["Cache-Control"] = "no-store"
    return response


def _answer_poll(
    request: BatchRequest,
    context: dict[str, object],
    parts: Mapping[str, str],
    hashes: dict[str, str],
    tag: str,
) -> HttpResponse:
    changed = live.find_changed(hashes, request.headers.get("If-None-Match", ""))
    if not changed:
        return HttpResponseNotModified()
    if live.CONTROLS in changed:
        controls = {**context, **_describe_controls(request, context, {})}
        parts = {**parts, live.CONTROLS: render_to_string("batches/_controls.html", controls, request)}
    content = format_html_join(
        "", '<div id="live-{}" hx-swap-oob="innerHTML">{}</div>', ((name, parts[name]) for name in changed)
    )
    if not context["is_watched"]:
        # Replacing the element by one without a trigger ends the polling.
        content += format_html('<div id="poll" hx-swap-oob="true" data-tag="{}"></div>', tag)
    return HttpResponse(content)


def _describe_controls(
    request: BatchRequest, context: Mapping[str, object], forms: dict[str, BaseForm]
) -> dict[str, object]:
    """The forms of those who may control the batch, with the estimate for the approval. Nothing for others."""
    if Permission.RUN_BATCHES not in request.role.permissions:
        return {}
    batch = request.batch
    cap = to_dollars(batch.cap_nano)
    shown = None if cap is None else f"{cap.normalize():f}"
    given: dict[str, object] = {
        "name_form": NameForm(initial={"name": batch.title}),
        "cap_form": CapForm(initial={"cap": shown}),
        "concurrency_form": ConcurrencyForm(initial={"concurrency": batch.concurrency}),
        "confirm_form": ConfirmForm(initial={"cap": shown}),
        "answers_form": AnswersForm(),
        **forms,
    }
    if batch.state == Batch.State.WAITING and (request.visibility.is_whole or context["is_sum_shown"]):
        given["estimate"] = found = estimate_batch(batch)
        form = forms.get("confirm_form")
        typed = form.cleaned_data.get("cap", to_dollars(batch.cap_nano)) if form else to_dollars(batch.cap_nano)
        given["cap_warning"] = warn_of_cap(found, None if typed is None else to_nano(typed))
        given["warned_cap"] = typed
    return given


def find_cap_warning(request: BatchRequest, cap: Decimal | None) -> str:
    """What the page says of this cap by the estimate after the pilot; empty where the person may not see the estimate."""
    batch = request.batch
    if batch.state != Batch.State.WAITING or cap is None:
        return ""
    if not (request.visibility.is_whole or is_sum_shown(batch, read_progress(batch))):
        return ""
    return warn_of_cap(estimate_batch(batch), to_nano(cap))


@require_safe
@batch_view(Permission.VIEW)
def show_spend(request: BatchRequest) -> HttpResponse:
    """What the calls of a batch cost, by arm and day, and the prices that were used."""
    batch = request.batch
    arms = find_arms(batch)
    cache_hits, cache_saving = read_cache_saving(batch)
    rows, is_priced = read_spend(batch), all(arm.price_in is not None for arm in arms)
    context = {
        "batch": batch,
        "rows": rows,
        "chart": draw_spend(batch, rows, is_priced=is_priced, models_url=reverse("llm:models")),
        "days_chart": draw_days(batch, rows),
        "prices": list_prices(batch),
        "cache_hits": cache_hits,
        "cache_saving": cache_saving,
        "is_priced": is_priced,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
    }
    return render(request, "batches/spend.html", context)


@require_safe
@batch_view(Permission.VIEW)
def download_spend(request: BatchRequest) -> HttpResponse:
    """The same as a CSV file."""
    batch = request.batch
    headers = {"Content-Disposition": f'attachment; filename="batch-{batch.pk}-spend.csv"'}
    return HttpResponse(
        write_report_table(SPEND, read_spend(batch), "csv"), content_type=CONTENT_TYPES["csv"], headers=headers
    )
