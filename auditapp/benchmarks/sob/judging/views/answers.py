"""How answers were read, reader by reader, with the queue of those that only a person can read. The answers behind a number, as a
page and as a file with the same choice of answers. The human audit of interpretations: the sample, the marks one by one, and the
results.

People who read an answer see neither the model that gave it nor a formatter's interpretation. Reviewers of an audit mark an answer
without knowing the model, the machine's interpretation or their colleagues' marks. They see the machine's interpretation once they
have stored their own, and their colleagues' marks once they have marked the whole sample.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.audits import views as pages
from auditapp.audits.models import BaseMark
from auditapp.audits.views import OpenResultsForm
from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import Batch
from auditapp.batches.views.launch import run_wizard
from auditapp.benchmarks.sob.judging import queries as interpretation_queries
from auditapp.benchmarks.sob.judging.actions import (
    FORMATTER_SIZE,
    draw_audit,
    launch_formatter,
    mark_item,
    plan_formatter,
    read_by_person,
    send_answers,
)
from auditapp.benchmarks.sob.judging.forms import AuditForm, FormatterForm, InterpretationForm, MarkForm
from auditapp.benchmarks.sob.judging.kind import READABLE_OUTCOMES, find_current_interpretations, list_for_formatter
from auditapp.benchmarks.sob.judging.queries import (
    ANY_FURTHER,
    COUNTED_TO,
    LOOKED_THROUGH,
    NO_FURTHER,
    RULES,
    Answer,
    Choice,
    choose_arms,
    iterate_answers,
    list_frame,
    read_answers_on_text,
    read_page,
    read_report,
    sum_texts,
)
from auditapp.benchmarks.sob.models import Audit, AuditItem, Interpretation, Judgment, Text
from auditapp.benchmarks.sob.pure.answer_words import OVERALL, Outcome
from auditapp.benchmarks.sob.pure.attributions import Kind, Rule, TargetMapping
from auditapp.benchmarks.sob.pure.figures import TASKS, Entry, Figures, in_words
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.secondary import Harm
from auditapp.benchmarks.sob.queries import (
    TABLE,
    AskedArm,
    UnknownMapping,
    count_readers,
    count_repeats,
    count_targets,
    find_batch_texts,
    find_cell_range,
    find_mapping,
    find_schema,
    read_arms,
)
from auditapp.benchmarks.sob.report.views.reports import Opened, check_target, find_batch, open_batch, read_choice
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import sends_files
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form
from transcripts.ui.typed_text import find_number


@require_safe
@study_view(Permission.VIEW)
def show_interpretations(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The share of each reader and outcome per model, and how many answers are left for a formatter and for people."""
    batch = find_batch(request, batch_id)
    arms = list(batch.arms.select_related("variant__account"))
    context = {
        "batch": batch,
        "table": interpretation_queries.count_readers(batch),
        "runs": interpretation_queries.list_formatter_runs(batch),
        **{str(outcome): len(list_for_formatter(batch, [outcome])) for outcome in READABLE_OUTCOMES},
        "waiting": len(interpretation_queries.list_queue(batch, request.user.pk)),
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "read_counts": count_readers([arm.pk for arm in arms], find_cell_range(batch)),
    }
    return render(request, "sob/interpretations.html", context)


def _read_formatter(chosen: dict[str, Any]) -> dict[str, Any]:
    return {"outcomes": chosen["outcomes"], "without_schema": chosen["without_schema"]}


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def read_by_formatter(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Have a formatter read the answers that the rules could not, in two steps."""
    batch = find_batch(request, batch_id)
    form = FormatterForm(request.POST or None, source=batch)

    def plan() -> LaunchPlan:
        chosen = form.cleaned_data
        return plan_formatter(batch=batch, variant=chosen["model"], **_read_formatter(chosen))

    def send() -> Batch:
        chosen = form.cleaned_data
        return launch_formatter(
            batch=batch, variant=chosen["model"], **_read_formatter(chosen), by=request.user, options=form.options()
        )

    return run_wizard(request, form, template="sob/formatter_launch.html", plan=plan, launch=send)


@require_safe
@study_view(Permission.CODE)
def read_next(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Redirect to the next answer that needs a person; ``after`` skips one."""
    batch = find_batch(request, batch_id)
    after = request.GET.get("after", "")
    queue = interpretation_queries.list_queue(batch, request.user.pk)
    following = interpretation_queries.choose_next(queue, request.user.pk, find_number(after))
    if following is None:
        messages.info(request, "No answers of this batch need a person.")
        return redirect("sob:interpretations", request.study.slug, batch.pk)
    return redirect("sob:read_answer", request.study.slug, batch.pk, following)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def read_answer(request: StudyRequest, batch_id: int, cell_id: int) -> HttpResponse:
    """Read one answer as a person."""
    batch = find_batch(request, batch_id)
    judgment = _find_judgment(batch, cell_id)
    current = find_current_interpretations([judgment.pk]).get(judgment.pk)
    number = current.number + 1 if current else 1
    form = InterpretationForm(
        request.POST if request.method == "POST" else None,
        task=judgment.arm.task,
        schema=find_schema(judgment.arm),
        initial={"number": number},
    )
    may_read = _may_read(request, judgment, current)
    if form.is_valid():
        with at_form(form):
            if not may_read:
                raise Refused(
                    "Another person has read this answer since you opened the page. A lead can read it again."
                )
            read_by_person(judgment=judgment, by=request.user, **form.read())
            messages.success(request, "Your interpretation is stored.")
            here = reverse("sob:read_next", args=[request.study.slug, batch.pk])
            return redirect(f"{here}?after={judgment.pk}")
    context = {"batch": batch, "judgment": judgment, "form": form, "may_read": may_read}
    return render(request, "sob/interpretation.html", context, status=422 if form.errors else 200)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_history(request: StudyRequest, batch_id: int, cell_id: int) -> HttpResponse:
    """Every interpretation of one answer, from that of the rules to the current one."""
    batch = find_batch(request, batch_id)
    judgment = _find_judgment(batch, cell_id)
    later = interpretation_queries.list_history(judgment)
    return render(request, "sob/interpretation_history.html", {"batch": batch, "judgment": judgment, "later": later})


def _may_read(request: StudyRequest, judgment: Judgment, current: Interpretation | None) -> bool:
    """Whether this user may read the answer: it needs a person, the user has read it before, or the user is a lead."""
    if Permission.SEE_ALL_CODINGS in request.role.permissions:
        return True
    if current is not None and current.reader == Interpretation.Reader.PERSON:
        return current.read_by_id == request.user.pk
    return (current or judgment).outcome == Outcome.OFF_FORMAT


def _find_judgment(batch: Batch, cell_id: int) -> Judgment:
    found = Judgment.objects.select_related("arm__batch", "arm__variant", "text", "cell__result__attempt")
    return get_object_or_404(found, pk=cell_id, arm__batch=batch, cell__result__isnull=False)


FILTERS = (
    "model",
    "task",
    "target",
    "further",
    "outcome",
    "reader",
    "value",
    "harm",
    "maps",
    "rule",
    "mapping",
    "repeat",
    "text",
)
MORE_FILTERS = ("target", "outcome", "reader", "harm", "maps", "value", "repeat")
"""The filters of the page that are folded."""
IN_A_CELL = frozenset({"model", "task", "target", "outcome"})
KIND_WORDS = {str(Kind.SELF): "the target itself", str(Kind.DOMINANT): "the dominant group"}
_NO_NAME = re.compile(r"[^A-Za-z0-9.+_]+")
READERS = (RULES, *Interpretation.Reader.values)


@require_safe
@study_view(Permission.VIEW)
def list_responses(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The answers behind a number: how each was read and, on demand, the text and the answer as it arrived."""
    opened = open_batch(find_batch(request, batch_id))
    asked = read_choice(request, *FILTERS)
    choice = _read_filters(asked, opened.inputs.batch, opened.inputs.arms)
    cells = _find_cells(opened, asked)
    page = read_page(
        choice,
        after=find_number(request.GET.get("after", "")),
        before=find_number(request.GET.get("before", "")),
        known_count=_count_in_cells(cells, asked["outcome"]),
    )
    context = {
        **opened.describe(),
        "chosen": asked,
        "narrowed": _describe_filters(asked),
        "more_set": sum(bool(asked[name]) for name in MORE_FILTERS),
        "page": page,
        "cell": cells[0] if cells and len(cells) == 1 and not asked["outcome"] else None,
        "counted_to": COUNTED_TO,
        "looked_through": LOOKED_THROUGH,
        "outcomes": [str(outcome) for outcome in Outcome],
        "readers": READERS,
        "harms": [(str(harm), harm.words) for harm in Harm],
        "kinds": KIND_WORDS,
        "models": list(dict.fromkeys(arm.model for arm in opened.inputs.arms)),
        "tasks": list(dict.fromkeys(arm.task for arm in opened.inputs.arms)),
        "targets": _list_targets(opened),
        "repeats": count_repeats(opened.inputs.batch),
        "query": request.GET.urlencode(),
    }
    return render(request, "sob/responses.html", context)


@sends_files
@require_POST
@study_view(Permission.EXPORT)
def download_responses(request: StudyRequest, batch_id: int) -> StreamingHttpResponse:
    """The same answers as CSV, with texts and original answers if requested.

    This is a POST because exports are recorded.
    """
    batch = find_batch(request, batch_id)
    asked = read_choice(request, *FILTERS)
    choice = _read_filters(asked, batch, read_arms(batch))
    with_texts = request.POST.get("texts") == "on"
    pieces = send_answers(batch=batch, answers=iterate_answers(choice), with_texts=with_texts, by=request.user)
    headers = {"Content-Disposition": f'attachment; filename="{_name_download(batch, asked)}"'}
    return StreamingHttpResponse(pieces, content_type="text/csv; charset=utf-8", headers=headers)


def _refuse_unknown(asked: dict[str, str], batch: Batch, arms: list[AskedArm]) -> None:
    """Raise Http404 for a filter value that this batch does not have, because an empty list would look as if no such answer had
    been given."""
    offered: dict[str, set[str]] = {
        "model": {arm.model for arm in arms},
        "task": {arm.task for arm in arms},
        "outcome": set(Outcome),
        "reader": set(READERS),
        "harm": set(Harm),
        "maps": set(Kind),
        "rule": set(Rule),
    }
    for name, known in offered.items():
        if asked[name] and asked[name] not in known:
            raise Http404(f"There is no such {name} in this batch.")
    check_target(batch, asked["target"])
    repeat, text = (_read_whole(asked[name], name) for name in ("repeat", "text"))
    if repeat is not None and not 1 <= repeat <= count_repeats(batch):
        raise Http404("There is no such repeat in this batch.")
    if text is not None and not find_batch_texts(batch).filter(pk=text).exists():
        raise Http404("There is no such text in this batch.")


def _read_whole(value: str, name: str) -> int | None:
    """A number to filter answers by; ``None`` if not given. Raises Http404 if it is not a number."""
    if value and find_number(value) is None:
        raise Http404(f"There is no such {name} in this batch.")
    return find_number(value)


def _name_download(batch: Batch, asked: dict[str, str]) -> str:
    """A different file name for each cell: batch, model, task and target, and a short digest if further filters apply. It never
    contains words of a text or an answer."""
    place = [_NO_NAME.sub("-", asked[name]).strip("-")[:60] for name in ("model", "task", "target")]
    more = {name: value for name, value in asked.items() if value and name not in {"model", "task", "target"}}
    digest = hashlib.sha256(json.dumps(more, sort_keys=True).encode()).hexdigest()[:8] if more else ""
    return "-".join(filter(None, [f"sob-batch-{batch.pk}-answers", *place, digest])) + ".csv"


def _read_filters(asked: dict[str, str], batch: Batch, arms: list[AskedArm]) -> Choice:
    _refuse_unknown(asked, batch, arms)
    return Choice(
        batch,
        arms=choose_arms(arms, model=asked["model"], task=asked["task"]),
        target=asked["target"],
        outcome=asked["outcome"],
        reader=asked["reader"],
        value=asked["value"],
        harm=asked["harm"],
        maps=asked["maps"],
        rule=asked["rule"],
        further=asked["further"],
        repeat=find_number(asked["repeat"]),
        text=find_number(asked["text"]),
        mapping=_find_mapping(batch, asked["mapping"]),
    )


def _find_mapping(batch: Batch, choice: str) -> TargetMapping:
    try:
        return find_mapping(batch.study, choice)
    except UnknownMapping as error:
        raise Http404(str(error)) from error


def _describe_filters(asked: dict[str, str]) -> list[str]:
    """The filters beyond model, task and target, in words."""
    harms = {str(harm): harm.words for harm in Harm}
    every = ", by every value listed" if asked["rule"] == Rule.ALL else ""
    further = {ANY_FURTHER: "with a further target", NO_FURTHER: "without a further target"}
    words_by_filter = {
        "further": further.get(asked["further"], f"further target {asked['further']}"),
        "outcome": in_words(asked["outcome"]),
        "reader": f"read by {asked['reader']}",
        "value": f"value “{asked['value']}”",
        "harm": harms.get(asked["harm"], f"harm {asked['harm']}, which there is not"),
        "maps": f"stands for {KIND_WORDS.get(asked['maps'], asked['maps'])}{every}",
        "mapping": f"mapping {asked['mapping'].replace(TABLE, 'table ')}",
        "repeat": f"repeat {asked['repeat']}",
        "text": f"text {asked['text']}",
    }
    return [words for name, words in words_by_filter.items() if asked[name]]


def _find_cells(opened: Opened, asked: dict[str, str]) -> list[Entry] | None:
    """The cells of the report whose answers are shown; ``None`` if the report has no cells for this choice."""
    if opened.figures is None or any(asked[name] for name in FILTERS if name not in IN_A_CELL):
        return None
    wanted = {name: asked[name] for name in ("model", "task") if asked[name]}
    cells = opened.figures.find("cells", target=asked["target"] or OVERALL, **wanted)
    # No cell contains answers to the base task.
    asked_arms = choose_arms(opened.inputs.arms, model=asked["model"], task=asked["task"])
    return cells if {arm.task for arm in asked_arms} <= set(TASKS) else None


def _count_in_cells(cells: list[Entry] | None, outcome: str) -> int | None:
    if cells is None:
        return None
    return sum(int(cell["outcomes"].get(outcome, 0) if outcome else cell["n_responses"]) for cell in cells)


def _list_targets(opened: Opened) -> list[Any]:
    if opened.figures and opened.figures.targets:
        return list(opened.figures.targets)
    return list(count_targets(opened.dataset)) if opened.dataset else []


PER_PAGE = 50
LISTS_KEPT = 8


@require_safe
@study_view(Permission.VIEW)
def list_texts(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The texts that have an answer, beginning with those that received the most attributes."""
    opened = open_batch(find_batch(request, batch_id))
    chosen = read_choice(request, "target")
    check_target(opened.inputs.batch, chosen["target"])
    page = Paginator(_sum_texts(opened, chosen["target"]), PER_PAGE).get_page(request.GET.get("page"))
    totals = list(page)
    texts = Text.objects.in_bulk([total["text"] for total in totals])
    context = {
        **opened.describe(),
        "page": page,
        "rows": [(texts[total["text"]], total) for total in totals],
        "has_verdicts": any(arm.task == BASE_TASK for arm in opened.inputs.arms),
        "chosen": chosen,
        "targets": (opened.figures or Figures({})).targets,
    }
    return render(request, "sob/texts.html", context)


def _sum_texts(opened: Opened, target: str) -> list[dict[str, int]]:
    """The totals at the time of the report. Adding up a million answers takes seconds, so the last lists are cached."""
    arms = tuple(arm.arm_id for arm in opened.inputs.arms)
    return sum_texts(arms, target) if opened.as_of is None else _sum_texts_as_of(arms, target, opened.as_of)


@lru_cache(maxsize=LISTS_KEPT)
def _sum_texts_as_of(arms: tuple[int, ...], target: str, as_of: datetime.datetime) -> list[dict[str, int]]:
    return sum_texts(arms, target)


@require_safe
@study_view(Permission.VIEW)
def show_text(request: StudyRequest, batch_id: int, text_id: int) -> HttpResponse:
    """One text: every model's answer to each task, with the harms of each (Tables 3 and 7, arXiv 2606.17506)."""
    batch = find_batch(request, batch_id)
    text = get_object_or_404(Text, pk=text_id, dataset__study=request.study)
    opened = open_batch(batch)
    choice = Choice(opened.inputs.batch, opened.inputs.arms, text=text.pk, mapping=find_mapping(request.study))
    answers = read_answers_on_text(choice)
    tasks = list(dict.fromkeys(arm.task for arm in sorted(opened.inputs.arms, key=lambda arm: arm.task)))
    context = {
        **opened.describe(),
        "text": text,
        "tasks": [in_words(task) for task in tasks],
        "rows": _lay_out(opened.inputs.arms, tasks, answers),
        "n_answers": sum(answer.task != BASE_TASK for answer in answers),
        "n_verdicts": sum(answer.task == BASE_TASK for answer in answers),
    }
    return render(request, "sob/text.html", context)


def _lay_out(arms: Sequence[AskedArm], tasks: Sequence[str], answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """One row per model and one column per task, with the repeats of an answer below each other."""
    cells: dict[tuple[str, str], list[Answer]] = {}
    for answer in answers:
        cells.setdefault((answer.model, answer.task), []).append(answer)
    models = dict.fromkeys(arm.model for arm in arms)
    return [{"model": model, "cells": [cells.get((model, task), []) for task in tasks]} for model in models]


@require_safe
@study_view(Permission.VIEW)
def list_audits(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The audits of a batch, and the user's progress in each."""
    batch = find_batch(request, batch_id)
    audits = Audit.objects.filter(batch=batch).with_progress(request.user).order_by("-number")
    return render(request, "sob/audits.html", {"batch": batch, "audits": audits})


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.ASSIGN)
def draw(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Draw a sample."""
    batch = find_batch(request, batch_id)
    form = AuditForm(request.POST if request.method == "POST" else None, initial={"size": FORMATTER_SIZE})
    sizes = [(scope.label, len(list_frame(batch, scope))) for scope in Audit.Scope]
    draw_from_batch = partial(draw_audit, batch=batch)
    return pages.draw_sample(request, form, draw_from_batch, "sob/audit_new.html", {"batch": batch, "sizes": sizes})


@require_safe
@study_view(Permission.VIEW)
def show_audit(request: StudyRequest, batch_id: int, audit_id: int) -> HttpResponse:
    """The progress of an audit, and its results for people who may see them."""
    return _render_audit(request, _find_audit(request, batch_id, audit_id))


def _render_audit(request: StudyRequest, audit: Audit, opening: OpenResultsForm | None = None) -> HttpResponse:
    state = pages.read_state(request, audit, Permission.CODE)
    sees_results = state["sees_results"]
    arms = list(audit.batch.arms.select_related("variant__account"))
    context = {
        **state,
        **({"opening": opening} if opening else {}),
        "batch": audit.batch,
        "following": audit.list_unmarked(request.user).first(),
        "report": read_report(audit, None if sees_results else request.user) if sees_results or state["own"] else None,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "read_counts": count_readers([arm.pk for arm in arms], find_cell_range(audit.batch)),
    }
    return render(request, "sob/audit.html", context, status=422 if opening else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.CODE)
def mark(request: StudyRequest, batch_id: int, audit_id: int, item_id: int) -> HttpResponse:
    """Mark one answer; the machine's interpretation of it is shown afterwards."""
    audit = _find_audit(request, batch_id, audit_id)
    found = AuditItem.objects.select_related(
        "audit__batch", "judgment__arm", "judgment__text", "judgment__cell__result"
    )
    item = get_object_or_404(found, pk=item_id, audit=audit)

    def describe(own_mark: BaseMark | None) -> dict[str, Any]:
        others = (
            item.marks.active().exclude(reviewer=request.user) if audit.count_own(request.user) >= audit.size else None
        )
        return {
            "batch": audit.batch,
            "attributes": list(item.attributes.items()),
            "others": others.select_related("reviewer").order_by("reviewer__username") if others is not None else [],
            "following": audit.list_unmarked(request.user).first(),
        }

    return pages.mark_item(
        request, item, form_class=MarkForm, store=mark_item, template="sob/mark.html", describe=describe
    )


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SEE_ALL_CODINGS)
def open_results(request: StudyRequest, batch_id: int, audit_id: int) -> HttpResponse:
    """Show the results to a person who could still mark, and record this. GET requests are redirected to the audit."""
    audit = _find_audit(request, batch_id, audit_id)
    if request.method != "POST":
        return redirect(audit)
    return pages.answer_opening(request, audit, partial(_render_audit, request, audit))


def _find_audit(request: StudyRequest, batch_id: int, audit_id: int) -> Audit:
    audits = Audit.objects.select_related("batch__study")
    audit: Audit = get_object_or_404(audits, pk=audit_id, batch=find_batch(request, batch_id))
    return audit
