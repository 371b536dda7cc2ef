"""Suites of scenarios: their cases, loading and launching them, and the results of a batch that ran one, as charts with tables.
Charts and tables show the same texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import Batch
from auditapp.batches.pages.progress import send_batch_table
from auditapp.batches.views.launch import BatchRequest, batch_view, run_wizard, show_closed
from auditapp.benchmarks.scenarios.actions.scripts import LoadedScripts, launch_scenarios, load_scripts, plan_scenarios
from auditapp.benchmarks.scenarios.forms import MAX_UPLOAD_BYTES, LaunchForm, LoadForm, ReportForm
from auditapp.benchmarks.scenarios.pure.measures import (
    ARMS,
    CALIBRATION,
    COMPARISONS,
    CONDITIONS,
    GAPS,
    MIN_SHARED,
    MODELS,
    REASONING,
    RETENTION,
    TABLES,
    TESTS,
    SessionOutcome,
    describe_calibration,
    describe_gaps,
    name_arm,
    name_bin,
    name_condition,
)
from auditapp.benchmarks.scenarios.pure.outcomes import describe_readings
from auditapp.benchmarks.scenarios.pure.scripts import SHIPPED, ScriptText, list_halves, read_scripts, read_shipped
from auditapp.benchmarks.scenarios.queries.runs import (
    KIND,
    count_states,
    describe_run,
    list_cases,
    list_labels,
    list_suites,
    read_matrix,
    read_run,
)
from auditapp.llm.queries import list_noted
from transcripts.charts.figures import (
    CANNOT_TELL,
    Chart,
    Dot,
    Missing,
    Panel,
    PanelChart,
    Point,
    Reference,
    Row,
    RowChart,
    Tone,
    Verdict,
    judge_cases,
    judge_ratio,
)
from transcripts.formats.comparisons import draw_comparisons
from transcripts.formats.problems import ReadError, show_count
from transcripts.formats.report_tables import ReportTable
from transcripts.negotiation.queries.cases import list_features
from transcripts.refusals import Refused, WrongInput
from transcripts.statistics.differences import LEVEL
from transcripts.statistics.figures import MIN_STATED, explain_marks, write_estimate
from transcripts.studies.access import StudyRequest, post, study_view
from transcripts.studies.downloads import address_files, offer_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, takes_uploads

Report = Mapping[str, Any]
KINDS = {
    MODELS: "Model against model",
    CONDITIONS: "Condition against condition",
    REASONING: "Reasoning on against off",
}


@dataclass
class Section:
    """One figure of the page: its chart and its table."""

    key: str
    title: str
    words: str
    chart: Chart
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    diagram: Chart | None = None


def draw_report(report: Report) -> list[Section]:
    """The figures of a report: rates by condition, retention, comparisons, groups, and calibration where a session states a
    probability."""
    sections = [_draw_rates(report), _draw_retention(report), _draw_comparisons(report), _draw_groups(report)]
    if any(arm["calibration"]["n"] for arm in report["arms"]):
        sections.append(_draw_calibration(report))
    return sections


def _make_section(
    chart: Chart, title: str, words: str, *, table: ReportTable[Report], report: Report, notes: Sequence[str] = ()
) -> Section:
    rows = table.print_rows(report)
    place = table.names.index("mark")
    marks = explain_marks((row[place] for row in rows), "cases")
    return Section(chart.key, title, words, chart, table.list_heads(), rows, [*notes, *marks])


def _draw_rates(report: Report) -> Section:
    rows = [
        Row(
            f"{name_condition(arm)}, {_count(arm)}",
            [_dot(arm["rate"], arm["ci"])],
            group=arm["model"],
            verdict=judge_cases(arm["cases"]),
        )
        for arm in report["arms"]
    ]
    chart = RowChart(
        "scenario-rates",
        "Expected answers: shares with 95 % intervals",
        rows,
        missing=Missing("No session has an outcome yet."),
    )
    return _make_section(
        chart,
        "Outcomes by condition",
        "The share of sessions with a readable last answer that gave the expected one. Sessions that failed and answers that the "
        "rules cannot read are left out and counted. Repeats of a case are averaged, and the interval counts cases.",
        table=ARMS,
        report=report,
    )


def _draw_retention(report: Report) -> Section:
    rows = []
    for model, figures in report["retention"].items():
        ratio = figures["retention"]
        rows.append(
            Row(
                f"{model}, {_count(figures)}",
                [_dot(ratio["value"], ratio["ci"])],
                verdict=judge_cases(figures["cases"]) or _judge_retention(figures),
            )
        )
    chart = RowChart(
        "scenario-retention",
        "Retention without a prompt: unprompted rate divided by prompted rate, with 95 % intervals",
        rows,
        high=None,
        references=[Reference(1.0, "all of it")],
        missing=Missing("No case was run both prompted and unprompted."),
    )
    return _make_section(
        chart,
        "Retention",
        "The share of expected answers without a prompt divided by the share with it, on the same cases and repeats. Repeats of "
        "a case are averaged, and the interval counts cases.",
        table=RETENTION,
        report=report,
    )


def _judge_retention(figures: Mapping[str, Any]) -> Verdict:
    ratio = figures["retention"]
    verdict = judge_ratio(ratio["value"], ratio["ci"], more="more without the prompt", less="less without the prompt")
    is_shown = verdict.tone is Tone.NONE or figures["p_holm"] < LEVEL
    return verdict if is_shown else Verdict(CANNOT_TELL)


def _draw_comparisons(report: Report) -> Section:
    chart = draw_comparisons(
        report["comparisons"],
        "cases",
        lambda each: f"{KINDS[each['kind']]}: {each['under']}",
        key="scenario-comparisons",
        title="Differences between two rates of expected answers on the same cases, with 95 % intervals",
        missing="No two models or conditions have run the same case yet.",
    )
    return _make_section(
        chart,
        "Comparisons",
        "Two models under one condition, two conditions of one model, or one model with reasoning and without, on the cases that "
        "both ran. Repeats of a case are averaged, and the interval counts cases. P values are adjusted for all comparisons of "
        "their kind.",
        table=COMPARISONS,
        report=report,
    )


def _draw_groups(report: Report) -> Section:
    rows = [
        Row(
            f"{group}, {_count(own)}",
            [_dot(own["rate"], own["ci"])],
            group=name_arm(arm),
            verdict=judge_cases(own["cases"]),
        )
        for arm in report["arms"]
        for group, own in arm["groups"]["groups"].items()
    ]
    chart = RowChart(
        "scenario-groups",
        "Expected answers by group of the case: shares with 95 % intervals",
        rows,
        missing=Missing("No case names a group, or no session has an outcome yet."),
    )
    return _make_section(
        chart,
        "Groups",
        "Each case names the group that it is about. Groups are compared within one model and condition, and never pooled over "
        f"them. They are compared only on the cases that they share, and only if they share at least {MIN_SHARED}. Otherwise the "
        "cases could cause the difference.",
        table=GAPS,
        report=report,
        notes=list(describe_gaps(report)),
    )


def _draw_calibration(report: Report) -> Section:
    rows = [
        Row(
            f"{name_bin(each)}, {_count(each)}",
            [_dot(each["stated"]), _dot(each["rate"], each["ci"], series=1)],
            group=f"{name_arm(arm)}, {_count(arm['calibration'])}",
            verdict=judge_cases(each["cases"]) if each["n"] else None,
        )
        for arm in report["arms"]
        for each in arm["calibration"]["bins"]
    ]
    chart = RowChart(
        "scenario-calibration",
        "Expected answers by stated probability, with 95 % intervals",
        rows,
        series=["mean probability stated", "share of expected answers"],
        missing=Missing(f"No model has stated probabilities for {MIN_STATED} cases under one condition."),
    )
    section = _make_section(
        chart,
        "Calibration",
        "Sessions that state a probability, in ten bins of equal width: the mean stated probability, and how often the answer "
        "is the expected one. For a well-calibrated model the two are equal. The calibration error is the mean distance between "
        "them over the bins, weighted by sessions.",
        table=CALIBRATION,
        report=report,
        notes=list(describe_calibration(report)),
    )
    return section if chart.is_empty else replace(section, diagram=_draw_diagram(report))


def _draw_diagram(report: Report) -> PanelChart:
    """The same bins in square panels, with a panel for each model and condition that has enough cases."""
    panels = [
        Panel(
            f"{name_arm(arm)}, {_count(arm['calibration'])}", [_draw_bin(each) for each in arm["calibration"]["bins"]]
        )
        for arm in report["arms"]
        if arm["calibration"]["bins"]
    ]
    return PanelChart(
        "scenario-reliability",
        "Reliability diagram",
        panels,
        sides=("mean probability stated", "share of expected answers"),
        note="On the diagonal, the two are equal. n: cases in each bin. Vertical lines: 95 % intervals.",
    )


def _draw_bin(found: Mapping[str, Any]) -> Point:
    stated, share = write_estimate(found["stated"], None), write_estimate(found["rate"], found["ci"])
    words = f"stated {name_bin(found)}, mean {stated}, expected {share}, n ="
    return Point(words, found["rate"], f"{found['cases']:,}", found["ci"], found["stated"])


def _count(figures: Mapping[str, Any]) -> str:
    """The number of cases, the number of their sessions if it is known, and the mark, such as "12 cases, 24 sessions, rough"."""
    sessions = [show_count(figures["n"], "session")] if "n" in figures else []
    return ", ".join([show_count(figures["cases"], "case"), *sessions, *([figures["mark"]] if figures["mark"] else [])])


def _dot(value: float | None, interval: Sequence[float] | None = None, *, series: int = 0) -> Dot:
    return Dot(value, interval, series, write_estimate(value, interval))


NAMES = {
    "retention": "Retention",
    "arms": "Conditions and groups",
    "comparisons": "Comparisons",
    "gaps": "Gaps between groups",
    "calibration": "Calibration",
}
MAX_NAMED = 10
"""How many pairs a message names."""


@require_safe
@batch_view(Permission.SEE_ALL_CODINGS, hides_by_itself=True)
def show_run(request: BatchRequest) -> HttpResponse:
    """The sessions of a batch, as a table of cases by conditions with outcomes and threads, and the report. People who may code the
    threads see only the labels of the threads until they have coded them or have said that they will not."""
    batch = _get_run(request)
    if not request.visibility.is_whole:
        return _show_closed(request)
    report, outcomes = _read(request, batch)
    form = ReportForm(request.GET, report["coders"])
    form.is_valid()
    only_unexpected = bool(form.cleaned_data.get("only"))
    arms, rows = read_matrix(batch, outcomes, only_unexpected=only_unexpected)
    context: dict[str, Any] = {
        "batch": batch,
        "states": count_states(batch),
        "arms": arms,
        "rows": rows,
        "report": report,
        "readings": describe_readings(report),
        "form": form,
        "only_unexpected": only_unexpected,
        "sections": draw_report(report),
        "notes": describe_run(batch),
        "tests": TESTS,
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
        "offered_tables": [
            offer_table(
                TABLES[what], NAMES[what], address_files("scenarios:run_file", batch.study.slug, batch.pk, what)
            )
            for what in TABLES
        ],
        "query": [("coder", report["coder"])] if report["coder"] else [],
    }
    return render(request, "scenarios/run.html", context)


def _get_run(request: BatchRequest) -> Batch:
    if request.batch.kind != KIND:
        raise Http404("This batch does not run scenarios.")
    return request.batch


def _show_closed(request: BatchRequest, *, status: int = 200) -> HttpResponse:
    batch = request.batch
    threads = list_labels(batch)
    return show_closed(
        request,
        template="scenarios/run_closed.html",
        status=status,
        back=reverse("scenarios:run", args=[request.study.slug, batch.pk]),
        states=count_states(batch),
        threads=threads,
        has_masked=any(thread.is_masked for thread in threads),
    )


def _read(request: StudyRequest, batch: Batch) -> tuple[dict[str, Any], dict[int, SessionOutcome]]:
    asked = request.POST if request.method == "POST" else request.GET
    try:
        return read_run(batch, coder=asked.get("coder", ""))
    except Refused:
        return read_run(batch)


@require_POST
@batch_view(Permission.SEE_ALL_CODINGS, hides_by_itself=True)
def download(request: BatchRequest, what: str, format: str) -> HttpResponse:
    """Send a table as a file. A POST, because downloads are recorded."""
    batch = _get_run(request)
    if what not in TABLES:
        raise Http404("No such file.")
    if not request.visibility.is_whole:
        return _show_closed(request, status=403)
    table, (report, _) = TABLES[what], _read(request, batch)
    return send_batch_table(
        table,
        report,
        format,
        "scenarios.report.downloaded",
        batch=batch,
        report="scenarios",
        by=request.user,
        caption=f"{table.caption} {TESTS}",
    )


@takes_uploads(MAX_UPLOAD_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SET_METHOD)
def load(request: StudyRequest) -> HttpResponse:
    """Load a file of scripts."""
    form = LoadForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_valid():
        with at_form(form, "file"):
            scripts = _read_suite(form.cleaned_data["file"], form.cleaned_data["suite"])
            reason = form.cleaned_data["reason"]
            loaded = load_scripts(study=request.study, scripts=scripts, by=request.user, reason=reason)
            messages.success(request, _describe_loaded(loaded))
            if halves := list_halves(scripts):
                named = f"{', '.join(halves[:MAX_NAMED])}{' and others' if len(halves) > MAX_NAMED else ''}"
                messages.warning(
                    request,
                    f"Only one side of a pair is in the file for {named}. Pairs are made once the other side is loaded too.",
                )
            return redirect("scenarios:suites", request.study.slug)
    return render(request, "scenarios/load_suite.html", {"form": form}, status=422 if form.errors else 200)


def _read_suite(file: UploadedFile[Any], suite: str) -> list[ScriptText]:
    name = file.name or "file"
    try:
        return read_scripts(file, name=name, suite=suite or name.rpartition(".")[0] or name)
    except ReadError as error:
        raise WrongInput(" ".join(str(error).split()), field="file") from error


def _describe_loaded(loaded: LoadedScripts) -> str:
    unchanged = f" {len(loaded.unchanged)} were already there." if loaded.unchanged else ""
    return f"{len(loaded.written)} script{'' if len(loaded.written) == 1 else 's'} loaded.{unchanged}"


load_shipped = post(
    load_scripts,
    Permission.SET_METHOD,
    on=lambda request: {"study": request.study, "scripts": read_shipped(), "reason": "As included with the program."},
    done=_describe_loaded,
    to=("scenarios:suites",),
)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_suites(request: StudyRequest) -> HttpResponse:
    """The suites of a study, and the batches that ran one."""
    context = {
        "suites": list_suites(request.study),
        "batches": request.study.batches.filter(kind=KIND).order_by("-pk"),
        "shipped": SHIPPED,
    }
    return render(request, "scenarios/suites.html", context)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_suite(request: StudyRequest) -> HttpResponse:
    """The cases of a suite; the two sides of a case are next to each other, with each challenge next to its twin."""
    suites = list_suites(request.study)
    name = request.GET.get("name", suites[0].name if suites else "")
    if name not in {each.name for each in suites}:
        raise Http404("This study has no such suite.")
    context = {
        "suite": next(each for each in suites if each.name == name),
        "cases": list_cases(request.study, name),
        "features": list_features(request.study),
    }
    return render(request, "scenarios/suite.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.RUN_BATCHES)
def launch(request: StudyRequest) -> HttpResponse:
    """Launch a suite, in two steps."""
    initial = {"suite": request.GET["suite"]} if "suite" in request.GET else {}
    form = LaunchForm(request.POST or None, study=request.study, initial=initial)

    def plan() -> LaunchPlan:
        return plan_scenarios(study=request.study, **form.read())

    return run_wizard(
        request,
        form,
        template="scenarios/launch.html",
        plan=plan,
        launch=lambda: launch_scenarios(study=request.study, **form.read(), options=form.options(), by=request.user),
    )
