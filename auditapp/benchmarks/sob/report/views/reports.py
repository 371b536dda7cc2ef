"""The scores of a batch: its heat map, the heat map of the newest batch on the dashboard, a small chart of the newest batch on the
overview of a study, one model over all targets, and one target over all models. The charts show the same numbers as the tables
below them, with a verdict.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import Truncator
from django.views.decorators.http import require_http_methods, require_safe

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Dataset, MappingTable, StoredReport
from auditapp.benchmarks.sob.pure.answer_words import OVERALL, Outcome
from auditapp.benchmarks.sob.pure.attributions import PUBLISHED, Rule, name_mapping_source, read_mapping
from auditapp.benchmarks.sob.pure.cautions import explain_marks, list_marks
from auditapp.benchmarks.sob.pure.figures import (
    CELLS,
    RATE,
    TEN,
    Counting,
    Entry,
    Figures,
    Finding,
    arrange_heat_map,
    arrange_map,
    choose_targets,
    in_words,
    list_mapped,
    read_score,
    write_finding,
    write_map_finding,
)
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, published_rows, published_source
from auditapp.benchmarks.sob.pure.secondary import TOP
from auditapp.benchmarks.sob.queries import (
    IN_FORCE,
    KIND,
    UnknownMapping,
    count_cells,
    count_readers,
    find_batch_texts,
    find_dataset,
    find_rows,
    find_table,
    is_comparable,
    list_wordings,
    name_choice,
    name_in_force,
    name_table,
    name_targets,
)
from auditapp.benchmarks.sob.report.comparisons import pick
from auditapp.benchmarks.sob.report.stored_reports import (
    ReportChoice,
    ReportInputs,
    find_failure,
    find_start,
    forget_failures,
    read_inputs,
    read_report,
)
from auditapp.llm.queries import list_noted
from transcripts.charts.figures import (
    LEADING_RULE,
    Cell,
    Dot,
    GridChart,
    GridRow,
    Missing,
    Part,
    Reference,
    Row,
    RowChart,
    Verdict,
    judge_cases,
    judge_difference,
    judge_lead,
    judge_within,
    summarise,
)
from transcripts.formats.comparisons import chart_differences, judge_sides
from transcripts.statistics.figures import FEW, Figure, Interval, write_figure, write_number
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission

CHARTED_VALUES = 3
SHORT = 40
Link = Callable[..., str]


def draw_values(rows: Sequence[Entry], *, texts: Mapping[str, int], whose: str, link: Link) -> RowChart:
    """The values attributed most, by target. ``texts``: the number of texts of each target; texts are counted, because asking about
    one text again says nothing about others. ``link`` gives the address of the answers with a value."""
    drawn = [
        Row(
            each["value"],
            parts=[Part(each["pct"])],
            text=f"{write_number(each['pct'], 1)} % ({each['count']:,} of {row['denominator']:,})",
            verdict=None
            if place
            else judge_cases(texts.get(row["target"], 0), FEW, "texts")
            or judge_lead(each["count"], row["denominator"]),
            href=link(target=row["target"], value=each["value"]),
            group=row["target"],
        )
        for row in rows
        for place, each in enumerate(row["values"][:CHARTED_VALUES])
    ]
    return RowChart(
        key="values",
        title=f"Values attributed most: {whose}",
        rows=drawn,
        high=100.0,
        unit="%",
        summary=summarise((row.verdict for row in drawn), "targets"),
        note=(
            f"{LEADING_RULE} Few texts: fewer than {FEW}, however often each was asked about. At most {CHARTED_VALUES} "
            "values of each target; the table has more."
        ),
    )


def write_value_finding(rows: Sequence[Entry], *, texts: Mapping[str, int]) -> Finding | None:
    """The value attributed most over all texts; None if few texts have an answer, or if two values are named equally often."""
    row = next((row for row in rows if row["target"] == OVERALL), None)
    if row is None or not row["values"] or texts.get(OVERALL, 0) < FEW:
        return None
    first, *others = row["values"]
    if others and others[0]["count"] == first["count"]:
        return None
    after = f" of the {row['denominator']:,} answers that attribute anything."
    return Finding(
        f"The value named most is “{Truncator(first['value']).chars(SHORT)}”, in",
        f"{write_number(first['pct'], 1)} %",
        after,
    )


def write_rule_finding(chart: RowChart, whose: str) -> Finding | None:
    """Under how many rules of counting the score lies outside the interval of paper counting, from the chart of ``draw_rules``;
    None if no rule has a verdict."""
    words = [row.verdict.words for row in chart.rows[1:] if row.verdict]
    outside, inside = words.count("outside the interval"), words.count("within the interval")
    if not outside + inside:
        return None
    rules = f"{outside} of {outside + inside} rules"
    return Finding("The score lies outside the 95 % interval of paper counting under", rules, f" ({whose}).")


def draw_rules(rules: dict[str, Any], *, whose: str, link: Link) -> RowChart:
    """The score over all texts under each rule of counting, compared with the interval of paper counting."""
    overall = [each for each in rules["rows"] if each["target"] == OVERALL]
    base: Entry | None = overall[0]["base"] if overall else None
    score = read_score(base) if base else None
    interval = score.interval if score else None
    drawn = []
    if score is not None and score.sob is not None:
        drawn.append(
            Row(
                "paper counting",
                [Dot(score.sob, interval, text=_write(score.sob, interval))],
                verdict=judge_cases(score.n_items or 0, FEW, "texts") or Verdict("the usual rule"),
                href=link(target=OVERALL),
            )
        )
    for rule, cell in overall[0]["cells"] if overall else ():
        if cell:
            texts = min(cell["denominator"], score.n_items or 0) if score else 0
            verdict = judge_cases(texts, FEW, "texts") or judge_within(cell["sob"], interval)
            text = "not defined" if cell["sob"] is None else write_number(cell["sob"])
            drawn.append(Row(in_words(rule), [Dot(cell["sob"], series=1, text=text)], verdict=verdict))
    return RowChart(
        key="rules",
        title=f"Score of all texts by counting rule: {whose}",
        rows=drawn,
        series=("paper counting, with the 95 % interval", "another rule"),
        high=None,
        references=[Reference(score.sob, "paper counting")] if score and score.sob is not None else (),
        summary=summarise((row.verdict for row in drawn[1:]), "rules"),
        note="A rule is judged by whether its score lies within the 95 % interval of paper counting.",
    )


def draw_contrast(entries: Sequence[Entry]) -> RowChart:
    """How much higher texts with a further target score than texts without one."""
    drawn = []
    for each in entries:
        verdict = judge_cases(min(each["n_items_with"], each["n_items_without"]), FEW, "texts")
        drawn.append(
            Row(
                each["model"],
                [Dot(each["difference"], each["ci"], text=_write(each["difference"], each["ci"]))],
                verdict=verdict or judge_difference(each["ci"], more="higher", less="lower"),
                group=in_words(each["task"]),
            )
        )
    return RowChart(
        key="contrast",
        title="Score with a further target, minus score without one",
        rows=drawn,
        high=None,
        summary=summarise((row.verdict for row in drawn), "rows"),
        note=(
            "Higher, lower: the 95 % interval lies above or below 0. Cannot tell: it contains 0. Few texts: fewer "
            f"than {FEW} with a further target, or without one."
        ),
    )


def draw_pairs(lines: Sequence[dict[str, Any]], *, by_target: bool) -> RowChart:
    """How much more the first of two models attributes than the second on the same texts, with a row for each line's ``test``."""
    drawn = []
    for line in lines:
        test: Entry = line["test"]
        dot = Dot(test["difference"], test["ci"], text=_write(test["difference"], test["ci"]))
        name = test["target"] if by_target else line["name"]
        drawn.append(Row(name, [dot], verdict=line["verdict"], href=line["href"], group=in_words(test["task"])))
    return chart_differences(
        drawn,
        key="pairs",
        title=f"Score on the same texts: {lines[0]['name'] if by_target and lines else 'first model minus second'}",
        things="targets" if by_target else "comparisons",
    )


def judge_pair(test: Entry) -> Verdict:
    """The verdict on two models, in words."""
    return judge_sides(test["n_items"], "texts", test["verdict"])


def _write(value: float | None, interval: Sequence[float] | None) -> str:
    return write_figure(Figure(value, "not defined", Interval(*interval) if interval else None))


BATCHES_SHOWN = 20
# For the chart on the overview.
MAX_COLUMNS = 12
VALUE_PLACES = 60


@require_safe
@study_view(Permission.VIEW)
def show_dashboard(request: StudyRequest) -> HttpResponse:
    """Datasets, batches, and the heat map of the newest batch."""
    batches = list(request.study.batches.filter(kind=KIND)[:BATCHES_SHOWN])
    opened = open_batch(batches[0]) if batches else None
    context = {
        "batch": None,
        "batches": batches,
        "datasets": Dataset.objects.filter(study=request.study).annotate(n_texts=Count("texts")).order_by("pk"),
        **_describe_scores(request, opened),
    }
    return render(request, "sob/dashboard.html", context)


@require_safe
@study_view(Permission.VIEW)
def show_newest(request: StudyRequest) -> HttpResponse:
    """The scores of the newest batch, as a part of a study's overview that is loaded after the rest."""
    newest = request.study.batches.filter(kind=KIND).first()
    opened = open_batch(newest) if newest else None
    context: dict[str, Any] = {"opened": opened}
    if opened is not None:
        context["has_fake"] = any(arm.variant.is_fake for arm in opened.inputs.arms)
        if opened.figures is not None:
            context["chart"] = draw_newest(opened.figures, slug=request.study.slug, batch_id=opened.inputs.batch.pk)
    return render(request, "sob/_newest.html", context)


@require_safe
@study_view(Permission.VIEW)
def show_report(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The heat map of one batch."""
    opened = open_batch(find_batch(request, batch_id))
    return render(request, "sob/report.html", _describe_scores(request, opened))


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.VIEW)
def ask_again(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Compute figures again after a failure. Any request is redirected to the scores."""
    batch = find_batch(request, batch_id)
    if request.method == "POST":
        forget_failures(batch)
    return redirect("sob:report", request.study.slug, batch.pk)


def _describe_scores(request: HttpRequest, opened: Opened | None) -> dict[str, Any]:
    figures = (opened and opened.figures) or Figures({})
    counting = read_counting(request)
    targets = choose_targets(figures, request.GET.get("targets", ""))
    comparable = opened is None or is_comparable(opened.inputs.arms)
    context: dict[str, Any] = {
        "heat": arrange_heat_map(figures, counting=counting, targets=targets, with_published=comparable),
        "comparable": comparable,
        "counting": counting,
        "countings": list(Counting),
        "targets_shown": targets,
        "with_published": not figures.models or request.GET.get("published") == "shown",
        "source": published_source(),
    }
    if opened is None:
        return context
    base, cells = figures.find("base", target=OVERALL), figures.find("cells", target=OVERALL)
    return {
        **opened.describe(),
        **context,
        **describe_base(figures),
        "progress": count_cells(opened.inputs.batch),
        "finding": write_finding(figures, counting),
        "overall": [(cell, read_score(cell, counting)) for cell in cells],
        "overall_marks": explain_marks(mark for cell in cells for mark, _ in list_marks(cell)),
        "responses": figures.total("n_responses"),
        "verdicts": sum(int(each["n_responses"]) for each in base),
        "base_null": sum(int(each["n_responses"] - each["n_refused"] - each["denominator"]) for each in base),
        "refused": figures.total("n_refused"),
        "null": figures.total("n_null"),
    }


def draw_newest(figures: Figures, *, slug: str, batch_id: int) -> GridChart:
    """The scores of a batch by model and target, for one task."""
    targets = choose_targets(figures, TEN if len(figures.targets) > MAX_COLUMNS else "")
    heat = arrange_heat_map(figures, targets=targets, with_published=False, max_columns=MAX_COLUMNS)
    columns = [column for column in heat["columns"] if column != RATE]
    task = heat["tasks"][0]
    address = reverse("sob:responses", args=[slug, batch_id])
    rows = []
    for row in heat["rows"]:
        model, overall = row["model"], figures.find_cell(row["model"], task, OVERALL)
        cells = [
            Cell(
                cell["value"],
                text=write_number(cell["value"]) + cell["mark"],
                href=f"{address}?{urlencode({'model': model, 'task': task, 'target': cell['target']})}",
            )
            for cell in row["cells"]
            if cell["task"] == task and not cell["is_rate"]
        ]
        counted = f" ({overall['n_nonrefused']:,} of {overall['n_responses']:,})" if overall else ""
        rows.append(GridRow(model + counted, cells))
    title = f"Unwarranted attributes per answer, {in_words(task)}"
    missing = Missing("No answer has been counted yet.", reverse("batches:detail", args=[slug, batch_id]), "The batch")
    note = "In brackets: how many of the answers asked for count. Refusals and answers that could not be read do not count."
    note = " ".join([note, *figures.mark_sentences])
    return GridChart("newest-benchmark", title, columns, rows, rows_are="Model", note=note, missing=missing)


@require_safe
@study_view(Permission.VIEW)
def show_model(request: StudyRequest, batch_id: int) -> HttpResponse:
    """One model: outcomes, scores by target, attributed values, and who read its answers."""
    opened = open_batch(find_batch(request, batch_id))
    context = {**opened.describe(), "counting": read_counting(request)}
    if opened.figures:
        figures = opened.figures
        model = choose(read_choice(request, "model")["model"], [*figures.models, *_list_unanswered(opened)])
        context |= {
            "model": model,
            "finding": write_finding(figures, models=[model]),
            "alarms": figures.list_alarms(model=model),
            "base_alarms": figures.list_base_alarms(model=model),
            "outcomes": _list_outcomes(figures, model),
            "scores": [
                {"target": target, "cells": [figures.find_cell(model, task, target) for task in figures.tasks]}
                for target in [OVERALL, *figures.targets]
            ],
            "top_values": _list_values(figures, model=model),
            "mapping": figures.find("mapping", model=model, target=OVERALL),
            "harms": figures.find("harms", model=model, target=OVERALL),
            "readers": _sum_readers(figures, model),
            "base": next(iter(figures.find("base", model=model, target=OVERALL)), None),
        }
    return render(request, "sob/model.html", context)


def _list_unanswered(opened: Opened) -> list[str]:
    """The models without an answer yet."""
    answered = set(opened.figures.models) if opened.figures else set()
    return list(dict.fromkeys(arm.model for arm in opened.inputs.arms if arm.model not in answered))


def _list_outcomes(figures: Figures, model: str) -> list[dict[str, Any]]:
    """Every outcome with the number of answers under each task."""
    cells = [figures.find_cell(model, task, OVERALL) for task in figures.tasks]
    return [
        {"outcome": outcome, "counts": [(cell["outcomes"].get(outcome, 0) if cell else 0, cell) for cell in cells]}
        for outcome in Outcome
        if outcome is not Outcome.VERDICT
    ]


def _sum_readers(figures: Figures, model: str) -> list[dict[str, Any]]:
    """The number of answers that each reader read, by task, over all outcomes."""
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in figures.find("readers", model=model):
        place = {"task": entry["task"], "reader": entry["reader"], "count": 0, "share": 0.0, "n": entry["n"]}
        row = sums.setdefault((entry["task"], entry["reader"]), place)
        row["count"] += entry["count"]
        row["share"] += entry["share"]
    return list(sums.values())


def _list_values(figures: Figures, **wanted: str) -> list[dict[str, Any]]:
    """The most frequent values under each task, overall first, then the targets by number of answers."""
    found = {(entry["task"], entry["target"]): entry for entry in figures.find("top_values", **wanted)}
    rows = [
        {"target": target, "by_task": [found.get((task, target)) for task in figures.tasks]}
        for target in [OVERALL, *figures.targets]
    ]
    return [row for row in rows if any(row["by_task"])][:VALUE_PLACES]


@require_safe
@study_view(Permission.VIEW)
def show_target(request: StudyRequest, batch_id: int) -> HttpResponse:
    """Every model on one target under both tasks, and the published figures."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe()
    if opened.figures:
        figures = opened.figures
        target = choose(read_choice(request, "target")["target"], [*figures.targets, OVERALL])
        context |= {
            "target": target,
            "finding": write_finding(figures, target=target),
            "alarms": figures.list_alarms(target),
            "targets": [*figures.targets, OVERALL],
            "rows": [
                {"model": model, "cells": [_describe(figures.find_cell(model, task, target)) for task in figures.tasks]}
                for model in figures.models
            ],
            "published": _list_published(figures, target),
            "comparable": is_comparable(opened.inputs.arms),
            "top_values": figures.find("top_values", model=None, target=target),
            "mapping": figures.find("mapping", model=None, target=target),
            "harms": figures.find("harms", model=None, target=target),
        }
    return render(request, "sob/target.html", context)


def _describe(cell: Entry | None) -> dict[str, Any] | None:
    return {"cell": cell, "score": read_score(cell)} if cell else None


def _list_published(figures: Figures, target: str) -> list[dict[str, Any]]:
    """The published scores of a target, by model; empty for a target that is not in the paper."""
    rows = {(row.model, row.task): {OVERALL: row.overall, **row.by_target} for row in published_rows()}
    models = dict.fromkeys(row.model for row in published_rows())
    scores = [{"model": model, "scores": [rows[model, task].get(target) for task in figures.tasks]} for model in models]
    return [row for row in scores if any(score is not None for score in row["scores"])]


class Opened(NamedTuple):
    """A batch with its arms. ``figures`` is ``None`` while the report is being computed; ``is_current`` says whether nothing has
    changed since the figures were computed, and ``failure`` why there are no newer ones."""

    inputs: ReportInputs
    dataset: Dataset | None
    figures: Figures | None = None
    as_of: datetime.datetime | None = None
    is_current: bool = True
    failure: StoredReport | None = None

    def describe(self) -> dict[str, Any]:
        """The context that the frame of every page of the batch needs."""
        return {
            **(self.describe_counting() if self.figures is None else {}),
            "batch": self.inputs.batch,
            "dataset": self.dataset,
            "arms": self.inputs.arms,
            "figures": self.figures,
            "as_of": self.as_of,
            "is_current": self.is_current,
            "failure": self.failure,
            "has_fake": any(arm.variant.is_fake for arm in self.inputs.arms),
            "noted": list_noted(arm.variant for arm in self.inputs.arms),
            "read_counts": count_readers([arm.arm_id for arm in self.inputs.arms], self.inputs.cells),
            "targets_named_by": name_targets(self.dataset),
            "wordings": list_wordings(self.inputs.arms),
            "versions": self.figures.report.get("versions", {}) if self.figures else {},
        }

    def describe_counting(self) -> dict[str, Any]:
        """How many answers are being counted, and since when, while there are no figures yet."""
        since = find_start(self.inputs.batch, self.inputs.choice)
        return {"counting_answers": self.inputs.n_answers, "counting_since": since}


def describe_base(figures: Figures) -> dict[str, Any]:
    """The verdicts under the Base prompt by model, and the attribution rates under the scored tasks; for ``sob/_base.html``."""
    return {
        "base_task": BASE_TASK,
        "base_alarms": figures.list_base_alarms(),
        "base": [
            {**entry, "scores": [figures.find_cell(entry["model"], task, OVERALL) for task in figures.tasks]}
            for entry in figures.find("base", target=OVERALL)
        ],
    }


def find_batch(request: StudyRequest, batch_id: int) -> Batch:
    """The batch of the benchmark with this id in the study of the request. Raises Http404."""
    return get_object_or_404(request.study.batches, pk=batch_id, kind=KIND)


def open_batch(batch: Batch, options: ReportChoice | None = None) -> Opened:
    """The batch with its report, if that has been computed."""
    inputs = read_inputs(batch, options)
    stored = read_report(inputs)
    dataset = find_dataset(batch)
    failure = None if stored and stored.is_current else find_failure(batch, inputs.choice)
    if stored is None:
        return Opened(inputs, dataset, failure=failure)
    return Opened(inputs, dataset, Figures(stored.report), stored.as_of, stored.is_current, failure)


def read_choice(request: HttpRequest, *names: str) -> dict[str, str]:
    """These parameters of the address. Raises Http404 for a NUL character, which no name can contain."""
    asked = {name: request.GET.get(name, "") for name in names}
    if any("\x00" in value for value in asked.values()):
        raise Http404("Nothing in this batch has this name.")
    return asked


def read_counting(request: HttpRequest) -> Counting:
    """The way of counting that the address names, by default the paper's. Raises Http404 for an unknown one."""
    asked = request.GET.get("counting", "") or Counting.PAPER
    if asked not in set(Counting):
        raise Http404("There is no such counting rule. Choose paper, strict or released.")
    return Counting(asked)


def choose(asked: str, offered: list[str]) -> str:
    """Like ``pick``, but raises Http404 for a choice that is not offered, unless nothing is offered yet."""
    if asked and offered and asked not in offered:
        raise Http404("This batch has no such model, task or target.")
    return pick(asked, offered)


def check_target(batch: Batch, target: str) -> None:
    """Raise Http404 for a target that no text of the batch has."""
    if target not in {"", OVERALL} and not find_batch_texts(batch).filter(target=target).exists():
        raise Http404("There is no such target in this batch.")


NUMBERS_OF_VALUES = (3, 5, 10, 20)


@require_safe
@study_view(Permission.VIEW)
def show_values(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The most frequent values per target."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe() | _read_place(request, opened)
    if opened.figures is not None:
        held = max((len(entry["values"]) for entry in opened.figures.find("top_values")), default=0)
        offered = [str(n) for n in NUMBERS_OF_VALUES if n <= max(held, TOP)]
        k = pick(request.GET.get("k", str(TOP)), [str(TOP), *offered])
        entries = opened.figures.find("top_values", model=context["model"] or None, task=context["task"])
        rows = [{**entry, "values": entry["values"][: int(k)]} for entry in entries]
        chosen = {name: context[name] for name in ("model", "task")}
        texts = opened.figures.count_texts(**chosen)
        answers = reverse("sob:responses", args=[request.study.slug, batch_id])
        context |= {
            "alarms": opened.figures.list_alarms(**_drop_empty(chosen)),
            "finding": write_value_finding(rows, texts=texts),
            "k": k,
            "ks": offered,
            "rows": rows,
            "ranks": range(1, int(k) + 1),
            "chart": draw_values(
                rows,
                texts=texts,
                whose=f"{chosen['model'] or 'all models together'}, {in_words(chosen['task'])}",
                link=lambda **place: f"{answers}?{urlencode({**chosen, **place})}",
            ),
        }
    return render(request, "sob/values.html", context)


@require_safe
@study_view(Permission.VIEW)
def show_map(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The social map, and how often the attributed value is the target itself or the dominant group, according to the mapping that
    the address names or else the one in force."""
    in_force = name_in_force(request.study)
    choice = _read_mapping(request, in_force)
    batch = find_batch(request, batch_id)
    opened = open_batch(batch, ReportChoice(mapping=choice) if choice else None)
    context = opened.describe() | _read_place(request, opened)
    context |= {"mapping_choice": choice, "mapping_choices": _list_choices(request.study)}
    if opened.figures is not None:
        name = str(context["versions"].get("mapping", PUBLISHED))
        model = context["model"] or None
        mapping = read_mapping(find_rows(request.study, name), name)
        rule = Rule(pick(request.GET.get("rule", ""), list(Rule)))
        texts = opened.figures.count_texts(model=model, task=context["task"])
        maps = opened.figures.find("social_map", model=model, task=context["task"])
        rows = list_mapped(opened.figures, model, rule)
        context |= {
            # The shares of self and dominant group are over both tasks.
            "alarms": opened.figures.list_alarms(**_drop_empty({"model": model})),
            "map": arrange_map(maps[0], mapping, texts) if maps else None,
            "rule": rule,
            "cells": CELLS,
            "finding": write_map_finding(rows, context["task"]),
            "rows": rows,
            "mapping_name": name,
            "mapping_table": find_table(request.study, name_choice(name)),
            "newest_name": in_force,
            "source": name_mapping_source(),
        }
    return render(request, "sob/map.html", context)


def _drop_empty(place: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in place.items() if value}


def _read_mapping(request: StudyRequest, in_force: str) -> str:
    """The mapping that the address names; empty for the mapping in force, by whatever name."""
    asked = read_choice(request, "mapping")["mapping"]
    try:
        find_table(request.study, asked)
    except UnknownMapping as error:
        raise Http404(str(error)) from error
    return IN_FORCE if asked == name_choice(in_force) else asked


def _list_choices(study: Study) -> list[tuple[str, str]]:
    """Every mapping as it is written in an address and on a page, the one in force first; empty if there is only one."""
    numbers = MappingTable.objects.filter(study=study).order_by("-number").values_list("number", flat=True)
    names = [*map(name_table, numbers), PUBLISHED]
    if len(names) == 1:
        return []
    return [(IN_FORCE, f"{names[0]}, in force"), *((name_choice(name), name) for name in names[1:])]


def _read_place(request: StudyRequest, opened: Opened) -> dict[str, Any]:
    """The model ("" for all models together) and the task that the address names, and the models and tasks to choose from."""
    chosen = read_choice(request, "model", "task")
    models = opened.figures.models if opened.figures else []
    tasks = opened.figures.tasks if opened.figures else []
    model = choose(chosen["model"], models) if chosen["model"] else ""
    return {"model": model, "models": models, "task": choose(chosen["task"], tasks), "tasks": tasks}
