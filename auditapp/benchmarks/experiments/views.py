"""Pages of experiments: the list with the form for a plan, and one experiment with its figures and its sample. The figures are
shown as charts and tables, also for a paper.

Coders see none of this: they read the threads of the sample without knowing the results.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.benchmarks.experiments import actions
from auditapp.benchmarks.experiments.actions import MAX_SAMPLE
from auditapp.benchmarks.experiments.models import Experiment, SampledUnit
from auditapp.benchmarks.experiments.pure.effects import (
    BOUNDS_EXPLAINED,
    list_marks,
    write_bounds,
    write_interaction,
    write_loads,
    write_missing,
    write_side,
    write_unused,
)
from auditapp.benchmarks.experiments.pure.plans import Plan, PlanRefused, read_plan
from auditapp.benchmarks.experiments.queries import (
    describe_experiment,
    list_experiments,
    read_report,
    read_sample,
    read_stored_plan,
)
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.charts.figures import Dot, Missing, Reference, Row, RowChart, Verdict
from transcripts.formats.problems import ReadError
from transcripts.formats.report_tables import Printed, ReportTable, Source, TableRow, declare, name_ends
from transcripts.refusals import Refused
from transcripts.statistics.figures import NONE, write_interval, write_number, write_out_of, write_p, write_signed
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import CONTENT_TYPES, address_files, offer_table, send_download, send_report_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import RowForm, at_form, limit_size, takes_uploads
from transcripts.ui.typed_text import MAX_SEED

SIDES = ("variant", "baseline")
MAX_PLAN_BYTES = 1_000_000
MAX_UNITS_BYTES = 100_000_000


class PlanForm(RowForm):
    """A plan to be locked."""

    plan = forms.FileField(label="Plan", help_text="A JSON file; Help says what it contains.")

    class Meta(RowForm.Meta):
        model = Experiment
        fields = ("name",)

    def clean_plan(self) -> Plan:
        """The plan in the file."""
        file = self.cleaned_data["plan"]
        if file.size > MAX_PLAN_BYTES:
            raise forms.ValidationError(f"The file has {file.size:,} bytes; a plan has at most {MAX_PLAN_BYTES:,}.")
        try:
            return read_plan(file.read(), name="the plan")
        except (PlanRefused, ReadError) as error:
            raise forms.ValidationError(str(error)) from error


class UnitsForm(forms.Form):
    """Units to be loaded."""

    file = forms.FileField(
        label="Units",
        help_text="A CSV with unit, arm, and where known group and outcomes.",
        validators=[limit_size(MAX_UNITS_BYTES, "Divide it.")],
    )


class DrawForm(forms.Form):
    """A sample to be drawn."""

    per_arm = forms.IntegerField(label="Threads of each arm", min_value=1, max_value=MAX_SAMPLE, initial=30)
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=MAX_SEED,
        help_text="Any number; with it anybody can draw the same sample again.",
    )


class Figures(NamedTuple):
    """The content of the file of figures: the report, and the SHA-256 of the plan that it follows."""

    report: Mapping[str, Any]
    plan_sha256: str


def list_effects(report: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Each effect with its outcome and its group, "" for all units: the primary one, its groups, the others."""
    yield report["outcome"], "", report["effect"]
    for group, effect in report["groups"].items():
        yield report["outcome"], group, effect
    for name, effect in report["others"].items():
        yield name, "", effect


def list_moves(report: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The same for each move of the sample's threads that has an effect, with the name of the move instead of an outcome."""
    for effect in (report["moves"] or {"effects": {}})["effects"].values():
        yield f"move: {effect['name']}", "", effect


def _read_figures(figures: Figures) -> Iterator[TableRow]:
    """Effects, then the moves of the sample, which count threads. Missing outcomes, and whether groups differ, are in the rows for
    all units."""
    report = figures.report
    p_groups_differ = (report["interaction"] or {}).get("p")
    for outcome, group, effect in (*list_effects(report), *list_moves(report)):
        missing = None if group else report["missing"].get(outcome)
        sides = {side: missing["arms"][report[side]][0] for side in SIDES} if missing else {}
        yield {
            **effect,
            **{f"{side}_{name}": value for side in SIDES for name, value in _name_side(effect[side])},
            **{f"{side}_missing": count for side, count in sides.items()},
            "outcome": outcome,
            "group": group,
            "effect": effect,
            **name_ends(effect["ci"]),
            **name_ends(missing and missing["bounds"], "bounds_"),
            **name_ends(missing and missing["bounds_ci"], "bounds_ci_"),
            "p_groups_differ": p_groups_differ if missing and outcome == report["outcome"] else None,
            "plan_sha256": figures.plan_sha256,
        }


def _name_side(side: Sequence[int] | Mapping[str, Any]) -> Iterable[tuple[str, object]]:
    """The counts of one side: how many units of how many, or the mean of how many values."""
    return side.items() if isinstance(side, Mapping) else zip(("yes", "n"), side, strict=True)


FIGURES = ReportTable(
    "figures",
    "Differences of shares with Newcombe's interval, of means with Welch's; Fisher's exact test or Welch's t from ten units in "
    "each arm on, Holm over groups, over other outcomes and over moves, which count threads of the sample.",
    (
        *declare(str, "outcome group"),
        *declare(int, "variant_yes variant_n baseline_yes baseline_n"),
        *(
            *declare(float, "difference low high"),
            *declare(str, "test"),
            *declare(float, "p p_holm"),
            *declare(int, "family"),
        ),
        *declare(float, "variant_mean variant_sd baseline_mean baseline_sd t df"),
        *declare(str, "mark"),
        *declare(int, "variant_missing baseline_missing"),
        *declare(float, "bounds_low bounds_high bounds_ci_low bounds_ci_high p_groups_differ"),
        *declare(str, "plan_sha256"),
    ),
    _read_figures,
    printed=[
        Printed("Outcome", lambda row: str(row["outcome"])),
        Printed("Group", lambda row: row["group"] or "all"),
        Printed("Variant", lambda row: write_side(row["effect"], "variant")),
        Printed("Baseline", lambda row: write_side(row["effect"], "baseline")),
        Printed("Difference", lambda row: write_signed(row["effect"]["difference"])),
        Printed("95 % interval", lambda row: write_interval(row["effect"]["ci"])),
        Printed("P (Fisher or Welch)", lambda row: write_p(row["effect"]["p"])),
        Printed("P (Holm)", lambda row: write_p(row["effect"].get("p_holm"))),
        Printed("P adjusted over", lambda row: str(row["effect"].get("family") or NONE)),
        Printed("", lambda row: row["effect"]["mark"] or ""),
    ],
)
SAMPLE: ReportTable[Sequence[SampledUnit]] = ReportTable(
    "sample",
    "The units whose threads are to be read, in the order in which they were drawn.",
    (*declare(int, "place"), *declare(str, "unit")),
    lambda units: [{"place": each.place, "unit": each.unit} for each in units],
)


def list_cells(effects: Iterable[tuple[str, str, Mapping[str, Any]]]) -> Iterator[list[str]]:
    """The printed rows of effects, or of moves, for the page."""
    for outcome, group, effect in effects:
        row = {"outcome": outcome, "group": group, "effect": effect}
        yield [write(row) for _, write in FIGURES.printed]


def list_arms(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """For each arm, the assigned units, those with a known primary outcome, and the number and share with it, or mean and SD."""
    for arm, own in report["arms"].items():
        is_share = "yes" in own
        value = write_number(own["rate" if is_share else "mean"], 3)
        estimate = f"{value} ({write_interval(own['ci'])})" if own["ci"] else value
        found = [f"{own['yes']:,}", estimate] if is_share else [estimate, write_number(own["sd"], 3)]
        yield [arm, f"{own['assigned']:,}", f"{own['with_outcome']:,}", *found]


def list_missing(report: Mapping[str, Any]) -> Iterator[list[str]]:
    """For each outcome, how many units of each arm lack it, and the bounds of the difference: the cells of a table with a column
    for each arm."""
    for name, found in report["missing"].items():
        yield [name, *(write_out_of(*counts) for counts in found["arms"].values()), write_bounds(found)]


def list_remarks(report: Mapping[str, Any]) -> list[str]:
    """What a file says about the differences: whether groups differ, what is missing, how often units were loaded, and marks."""
    missing = [f"Missing, {name}: {write_missing(found)}." for name, found in report["missing"].items()]
    if any(found["bounds"] for found in report["missing"].values()):
        missing.append(BOUNDS_EXPLAINED)
    said = [write_interaction(report["interaction"]), *missing, write_loads(report["loads"])]
    return [words for words in (*said, *list_marks(report)) if words]


def draw_effects(report: Mapping[str, Any], plan_sha256: str) -> list[RowChart]:
    """Every difference with its interval, and a line at 0. Differences of shares are in one chart; each numeric outcome has a
    separate chart, because it has a different scale."""
    by_outcome: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for outcome, group, effect in list_effects(report):
        of = outcome if effect["kind"] == "mean" else ""
        by_outcome.setdefault(of, []).append((f"group {group}" if group else outcome, effect))
    missing = "No unit with an outcome is loaded on both sides yet."
    return [
        _draw(
            named,
            key=f"effects-{place}" if outcome else "effects",
            title=_name_chart(report, f"differences of “{outcome}”, a number," if outcome else "differences"),
            sha256=plan_sha256,
            missing=missing,
        )
        for place, (outcome, named) in enumerate(by_outcome.items())
    ]


def draw_moves(report: Mapping[str, Any], plan_sha256: str) -> RowChart:
    """The same for the moves of the sample's threads."""
    named = [(effect["name"], effect) for _, _, effect in list_moves(report)]
    title = _name_chart(report, "differences in threads with each move,")
    missing = "No move is enacted in the threads read, or threads of only one arm are read to the end."
    return _draw(named, key="moves", title=title, sha256=plan_sha256, missing=missing)


def _name_chart(report: Mapping[str, Any], what: str) -> str:
    return f"{report['variant']} minus {report['baseline']}: {what} with 95 % intervals"


def _draw(
    named: Iterable[tuple[str, Mapping[str, Any]]], *, key: str, title: str, sha256: str, missing: str
) -> RowChart:
    shown = [(name, effect) for name, effect in named if effect["difference"] is not None]
    rows = [
        Row(
            f"{name} ({', '.join(_count(effect[side]) for side in ('variant', 'baseline'))})",
            [_dot(effect)],
            verdict=Verdict(effect["mark"]) if effect["mark"] else None,
        )
        for name, effect in shown
    ]
    # For a numeric outcome, the scale fits its differences; for shares, it is fixed.
    reach = max((abs(end) for _, effect in shown for end in effect["ci"] or [effect["difference"]]), default=0.2)
    reach = reach if key.startswith("effects-") and reach else 0.2
    return RowChart(
        key,
        title,
        rows,
        low=-reach,
        high=reach,
        references=[Reference(0.0, "no difference")],
        note=f"Plan: SHA-256 {sha256[:16]}…",
        missing=Missing(missing),
    )


def _count(side: Sequence[int] | Mapping[str, Any]) -> str:
    return f"n {side['n']}" if isinstance(side, Mapping) else f"{side[0]} of {side[1]}"


def _dot(effect: Mapping[str, Any]) -> Dot:
    return Dot(effect["difference"], effect["ci"], text=write_signed(effect["difference"]))


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.SEE_ALL_CODINGS)
def show_list(request: StudyRequest) -> HttpResponse:
    """Every experiment, and for leads the form that locks a new plan."""
    may_write = Permission.SET_METHOD in request.role.permissions
    form = PlanForm() if may_write else None
    if request.method == "POST":
        if not may_write:
            raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
        form = PlanForm(request.POST, request.FILES)
        if form.is_valid():
            with at_form(form):
                experiment = actions.lock_plan(study=request.study, by=request.user, **form.cleaned_data)
                messages.success(request, f"The plan of {experiment.name} is locked. Now load its units.")
                return redirect("experiments:show", request.study.slug, experiment.pk)
    context = {"experiments": list_experiments(request.study), "form": form}
    return render(request, "experiments/list.html", context, status=422 if form and form.errors else 200)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show(request: StudyRequest, experiment_id: int) -> HttpResponse:
    """One experiment: its plan, its figures, its sample."""
    return _render(request, _find(request, experiment_id))


@takes_uploads(MAX_UNITS_BYTES)
@require_POST
@study_view(Permission.SET_METHOD)
def load(request: StudyRequest, experiment_id: int) -> HttpResponse:
    """Load a file of units, all or none."""
    experiment = _find(request, experiment_id)
    form = UnitsForm(request.POST, request.FILES)
    if form.is_valid():
        with at_form(form):
            data = form.cleaned_data["file"].read()
            loaded = actions.load_enrolments(experiment=experiment, data=data, by=request.user)
            messages.success(
                request,
                f"{loaded.new:,} units are new, {loaded.completed:,} were completed, {loaded.unchanged:,} are as they were.",
            )
            return redirect("experiments:show", request.study.slug, experiment.pk)
    return _render(request, experiment, units=form)


@require_POST
@study_view(Permission.SET_METHOD)
def draw(request: StudyRequest, experiment_id: int) -> HttpResponse:
    """Draw the sample whose threads are to be read."""
    experiment = _find(request, experiment_id)
    form = DrawForm(request.POST)
    if form.is_valid():
        with at_form(form):
            drawn = actions.draw_audit(experiment=experiment, by=request.user, **form.cleaned_data)
            messages.success(request, f"{len(drawn):,} units are drawn. Their list is below.")
            return redirect("experiments:show", request.study.slug, experiment.pk)
    return _render(request, experiment, draw=form)


@require_POST
@study_view(Permission.SET_METHOD)
def list_sample(request: StudyRequest, experiment_id: int) -> HttpResponse:
    """The units of the sample without their arms, as a list for the person who keeps the logs."""
    experiment = _find(request, experiment_id)
    return _send(request, experiment, SAMPLE, read_sample(experiment).units, "csv")


@require_POST
@study_view(Permission.SEE_ALL_CODINGS)
def download(request: StudyRequest, experiment_id: int, format: str) -> HttpResponse:
    """The figures as a table, or the whole report as JSON."""
    experiment = _find(request, experiment_id)
    report = _read(request, experiment)
    if format == "json":
        return send_download(
            json.dumps(_describe(experiment, report), ensure_ascii=False).encode(),
            "experiments.downloaded",
            name=f"{_name_file(request, experiment, 'figures')}.json",
            content_type=CONTENT_TYPES["json"],
            study=request.study,
            target=experiment,
            by=request.user,
            details={"what": "report", "format": "json"},
        )
    caption = (
        f"{experiment.name}: {report['variant']} minus {report['baseline']}. {FIGURES.caption} "
        f"{' '.join(list_remarks(report))} Plan locked {experiment.locked_at:%d %B %Y}, SHA-256 {experiment.sha256[:12]}."
    )
    return _send(request, experiment, FIGURES, Figures(report, experiment.sha256), format, caption=caption)


def _find(request: StudyRequest, experiment_id: int) -> Experiment:
    return get_object_or_404(request.study.experiments, pk=experiment_id)


def _read(request: StudyRequest, experiment: Experiment) -> dict[str, Any]:
    """The report as this person may see it, from the readings of ``coder`` if that coder has read any thread of the sample."""
    asked = request.POST if request.method == "POST" else request.GET
    try:
        return read_report(experiment, viewer=get_viewer(request), coder=asked.get("coder", ""))
    except Refused:
        return read_report(experiment, viewer=get_viewer(request))


def _describe(experiment: Experiment, report: Mapping[str, Any]) -> dict[str, Any]:
    return {"experiment": experiment.name, "plan_sha256": experiment.sha256, **report}


def _send(
    request: StudyRequest,
    experiment: Experiment,
    table: ReportTable[Source],
    source: Source,
    format: str,
    *,
    caption: str = "",
) -> HttpResponse:
    return send_report_table(
        table,
        source,
        format,
        "experiments.downloaded",
        stem=_name_file(request, experiment, table.name),
        study=request.study,
        target=experiment,
        by=request.user,
        details={"what": table.name},
        caption=caption,
        label=f"experiment-{experiment.pk}",
    )


def _name_file(request: StudyRequest, experiment: Experiment, what: str) -> str:
    return f"{request.study.slug}-experiment-{experiment.pk}-{what}"


def _render(
    request: StudyRequest, experiment: Experiment, *, units: Form | None = None, draw: Form | None = None
) -> HttpResponse:
    report = _read(request, experiment)
    sample, plan = read_sample(experiment), read_stored_plan(experiment)
    may_write = Permission.SET_METHOD in request.role.permissions
    is_loaded = any(arm["assigned"] for arm in report["arms"].values())
    context = {
        "experiment": experiment,
        "plan": plan,
        "numbers": list(plan.numbers.items()),
        "report": report,
        "is_loaded": is_loaded,
        "charts": draw_effects(report, experiment.sha256),
        "heads": FIGURES.list_heads(),
        "offered_tables": [
            offer_table(
                FIGURES, "These figures", address_files("experiments:download", experiment.study.slug, experiment.pk)
            )
        ],
        "query": [("coder", report["moves"]["coder"])] if (report["moves"] or {}).get("coder") else [],
        "rows": list(list_cells(list_effects(report))),
        "arms": list(list_arms(report)),
        "missing": list(list_missing(report)),
        "bounds_explained": BOUNDS_EXPLAINED,
        "moves_chart": draw_moves(report, experiment.sha256),
        "moves_rows": list(list_cells(list_moves(report))),
        "unused": write_unused(report["moves"]) if report["moves"] else "",
        "unblinding": offer_unblinding(request, sample.threads.values(), where="experiment")
        if sample.is_open
        else None,
        "sample": sample,
        "notes": describe_experiment(experiment, report, sample),
        "units_form": (units or UnitsForm()) if may_write else None,
        "draw_form": (draw or DrawForm()) if may_write and is_loaded and not sample.units else None,
    }
    failed = any(form is not None and form.errors for form in (units, draw))
    return render(request, "experiments/show.html", context, status=422 if failed else 200)
