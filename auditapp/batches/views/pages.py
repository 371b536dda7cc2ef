"""Pages of batches: the list, the progress of one batch, and its costs, also as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Q
from django.forms import BaseForm
from django.http import HttpResponse, HttpResponseNotModified
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_GET, require_POST, require_safe

from auditapp.batches.forms import AnswersForm, AttemptChoice, CapForm, ConcurrencyForm, ConfirmForm, NameForm
from auditapp.batches.kinds import NO_ROOM, get_kind, is_always_visible
from auditapp.batches.ledger.leases import read_workers
from auditapp.batches.models import UNANSWERED, Attempt, Batch, Result
from auditapp.batches.pages import live
from auditapp.batches.pages.costs import (
    SPEND,
    estimate_batch,
    list_prices,
    read_cache_saving,
    read_spend,
    warn_of_cap,
)
from auditapp.batches.pages.live import (
    COUNTED_TO,
    find_arms,
    find_attempts,
    find_newest,
    is_counted,
    read_attempt_page,
    rebuild_request,
)
from auditapp.batches.pages.progress import (
    count_percent,
    is_sum_shown,
    read_progress,
    read_progress_of,
    send_batch_table,
)
from auditapp.batches.pure.estimates import to_dollars, to_nano
from auditapp.batches.templatetags.batch_figures import nano_usd
from auditapp.batches.views.launch import BatchRequest, batch_view, offer_calls, show_closed
from auditapp.llm.queries import list_noted
from transcripts.blinding.viewers import get_viewer
from transcripts.charts.figures import (
    CAP_RULE,
    Missing,
    Panel,
    PanelChart,
    Part,
    Point,
    Reference,
    Row,
    RowChart,
    judge_cap,
)
from transcripts.statistics.figures import round_percent
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import offer_table
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import find_number

CAP_IN_SIGHT = 5
"""The cap is drawn unless it is more than this many times the amount spent, because the bars would then be too short to see."""
PER_PAGE = 50


def draw_spend(batch: Batch, rows: Sequence[dict[str, Any]], *, is_priced: bool, models_url: str) -> RowChart:
    """The money of each arm and of all arms: what is known to be spent, and what lost calls may have cost in addition."""
    drawn = []
    sums: dict[str, tuple[int, int]] = {}
    for row in rows:
        name = f"{row['model']}, {row['task'].replace('_', '-')}" if row["task"] else row["model"]
        spent, lost = sums.get(name, (0, 0))
        sums[name] = (spent + (row["nano"] or 0), lost + (row["unknown_nano"] or 0))
    for name, (spent, lost) in sums.items():
        drawn.append(_draw_sum(name, spent, lost))
    spent, lost = (sum(each) for each in zip(*sums.values(), strict=True)) if sums else (0, 0)
    references = []
    if sums and (batch.cap_nano is not None or len(sums) > 1):
        total = _draw_sum("all arms", spent, lost)
        verdict = None
        if batch.cap_nano is not None:
            percent = round_percent(spent + lost, batch.cap_nano)
            verdict = judge_cap(spent + lost, batch.cap_nano, percent=percent)
        drawn.append(Row(total.name, parts=total.parts, text=total.text, verdict=verdict))
        if batch.cap_nano is not None and batch.cap_nano <= CAP_IN_SIGHT * (spent + lost):
            references.append(Reference(_read_dollars(batch.cap_nano), f"the cap, {nano_usd(batch.cap_nano)}"))
    if not is_priced:
        missing = Missing(
            "A model has no price, so the cost is unknown.", models_url, "Record prices on the pages of the models."
        )
    elif rows:
        missing = Missing("Nothing was spent: the calls so far were free, or reused from earlier ones.")
    else:
        missing = Missing("No call has been sent yet. The cost appears here with the first answers.")
    return RowChart(
        key="spend",
        title=f"Spent by batch {batch.pk}, by arm",
        rows=drawn if is_priced and spent + lost else [],
        series=("spent", "may have been spent by calls with an unknown end"),
        high=None,
        unit="$",
        references=references,
        note=CAP_RULE if batch.cap_nano is not None else "",
        missing=missing,
    )


def draw_days(batch: Batch, rows: Sequence[dict[str, Any]]) -> PanelChart | None:
    """What the arms of each model spent by day; None for a batch of a single day or without any cost."""
    days = sorted({row["day"] for row in rows})
    if len(days) < 2 or not any(row["nano"] for row in rows):
        return None
    panels: dict[str, dict[Any, int]] = {}
    for row in rows:
        found = panels.setdefault(row["model"], dict.fromkeys(days, 0))
        found[row["day"]] += row["nano"] or 0
    return PanelChart(
        key="spend-days",
        title=f"Spent by batch {batch.pk}, by model and day (UTC)",
        panels=[
            Panel(model, [Point(f"{day:%-d %b}", _read_dollars(nano), nano_usd(nano)) for day, nano in found.items()])
            for model, found in panels.items()
        ],
        high=None,
        unit="$",
        has_columns=True,
    )


def _draw_sum(name: str, spent: int, lost: int) -> Row:
    text = nano_usd(spent) + (f", and at most {nano_usd(lost)} lost" if lost else "")
    return Row(name, parts=[Part(_read_dollars(spent)), Part(_read_dollars(lost), 1)], text=text)


def _read_dollars(nano: int) -> float:
    return float(to_dollars(nano) or 0)


@require_safe
@study_view(Permission.VIEW)
def list_batches(request: StudyRequest) -> HttpResponse:
    """Every batch of the study, newest first, in the same number of queries however many there are.

    While one of them is open, htmx requests the page again every five seconds and takes the list from it.
    """
    page = Paginator(Batch.objects.filter(study=request.study), PER_PAGE).get_page(request.GET.get("page"))
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
    """The page of a batch or, for htmx, its changed parts. ``forms`` are the forms with errors."""
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
    """The forms for people who may control the batch, with the estimate for the approval. Empty for others."""
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
    """What the page says about this cap, given the estimate after the pilot; empty if the person may not see the estimate."""
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
        "offered_tables": [offer_table(SPEND, "By arm and day")],
        "table_files": reverse("batches:spend_file", args=[batch.study.slug, batch.pk]),
        "prices": list_prices(batch),
        "cache_hits": cache_hits,
        "cache_saving": cache_saving,
        "is_priced": is_priced,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
    }
    return render(request, "batches/spend.html", context)


@require_POST
@batch_view(Permission.VIEW)
def download_spend(request: BatchRequest) -> HttpResponse:
    """The costs by arm and day, as a file."""
    batch, format = request.batch, request.POST.get("format", "csv")
    return send_batch_table(
        SPEND, read_spend(batch), format, "batch.downloaded", batch=batch, report="batch", by=request.user
    )


SIBLINGS_SHOWN = 50


@require_GET
@batch_view(Permission.VIEW, hides_by_itself=True)
def list_attempts(request: BatchRequest) -> HttpResponse:
    """The attempts of a batch, newest first, that match the selection and may be seen.

    Attempts without an answer reveal nothing about a machine's answers, so everybody who may see others' labels can read why they
    failed. Coders who may not would learn from their number how much was asked.
    """
    batch, visibility = request.batch, request.visibility
    sees_unanswered = Permission.SEE_ALL_CODINGS in request.role.permissions
    if visibility.is_closed and not sees_unanswered:
        return show_closed(request)
    arms = find_arms(batch)
    form = AttemptChoice(request.GET, arms=arms)
    form.is_valid()
    found = find_attempts(arms, form.cleaned_data)
    if visibility.is_closed or not visibility.is_whole:
        visible = Q(end__in=UNANSWERED) if sees_unanswered else Q()
        if visibility.inputs is not None:
            visible |= Q(cell__input_id__in=visibility.inputs)
        found = found.filter(visible)
    page = read_attempt_page(
        found,
        before=find_number(request.GET.get("before", "")),
        after=find_number(request.GET.get("after", "")),
        counts=is_counted(form.cleaned_data),
        begin=None if any(form.cleaned_data.values()) else find_newest(arms),
    )
    context = {
        "batch": batch,
        "form": form,
        "page": page,
        "counted_to": COUNTED_TO,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
        "visibility": visibility,
        "unblinding": offer_calls(request),
    }
    return render(request, "batches/attempts.html", context)


@require_GET
@batch_view(
    Permission.SEE_ALL_CODINGS, hides_by_itself=True
)  # a raw answer contains a machine's codes, which coders see only after their own
def show_attempt(request: BatchRequest, attempt_id: int) -> HttpResponse:
    """One attempt. Prompt and answer may quote a hateful text, so both open on demand."""
    attempts = Attempt.objects.select_related(
        "cell__batch__study",
        "arm__variant__account",
        "arm__price",
        "arm__capabilities",
        "job",
        "copied_from__arm__batch",
    )
    attempt = get_object_or_404(attempts, pk=attempt_id, cell__batch=request.batch)
    if not request.visibility.shows(attempt.cell):
        return _show_why_unanswered(request, attempt)
    lean = Attempt.objects.defer("raw", "prompt", "history").order_by("pk")
    context = {
        "batch": attempt.cell.batch,
        "attempt": attempt,
        "links": get_kind(attempt.cell.batch.kind).read_links(attempt.cell),
        "rebuilt": rebuild_request(attempt),
        "siblings": list(lean.filter(cell=attempt.cell_id)[:SIBLINGS_SHOWN]),
        "copies": list(lean.filter(copied_from=attempt, cell__batch__study=request.study)[:SIBLINGS_SHOWN]),
        "cost": to_dollars(attempt.cost_nano),
        "reserved": to_dollars(attempt.reserved_nano),
        "has_fake": attempt.arm.variant.is_fake,
        "noted": list_noted([attempt.arm.variant]),
        "reasoning": Result.objects.filter(attempt=attempt).values_list("reasoning", flat=True).first(),
        "has_no_room": attempt.cell.outcome == NO_ROOM and Result.objects.filter(attempt=attempt).exists(),
    }
    return render(request, "batches/attempt.html", context)


def _show_why_unanswered(request: BatchRequest, attempt: Attempt) -> HttpResponse:
    """Why an attempt brought no answer, for a person who may not see the calls of its cell: neither request nor tokens are shown.
    An attempt with an answer is hidden, and so is a message that could quote a request with a machine's labels."""
    if not attempt.is_unanswered:
        return show_closed(request, input_id=attempt.cell.input_id)
    lean = Attempt.objects.defer("raw", "prompt", "history").order_by("pk")
    context = {
        "batch": attempt.cell.batch,
        "attempt": attempt,
        "visibility": request.visibility,
        "unblinding": offer_calls(request, input_id=attempt.cell.input_id),
        "siblings": list(lean.filter(cell=attempt.cell_id, end__in=UNANSWERED)[:SIBLINGS_SHOWN]),
    }
    return render(request, "batches/unanswered.html", context)
