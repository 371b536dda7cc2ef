"""Pages of the probe. If no owner has written its purpose, they only explain the probe; if the purpose was withdrawn, earlier
figures can still be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.models import OPEN_STATES, Batch
from auditapp.batches.pages.progress import send_batch_table
from auditapp.batches.views.launch import run_wizard
from auditapp.benchmarks.gender_cues.actions import (
    PER_THREAD,
    allow_probe,
    launch_probe,
    load_reviews,
    plan_probe,
    store_rationales,
    withdraw_purpose,
)
from auditapp.benchmarks.gender_cues.forms import (
    MAX_UPLOAD_BYTES,
    LaunchForm,
    LoadForm,
    PurposeForm,
    RationalesForm,
    ReportForm,
    WithdrawForm,
)
from auditapp.benchmarks.gender_cues.models import Purpose, ReviewSet
from auditapp.benchmarks.gender_cues.pure.outputs import (
    FUNNEL,
    RATIONALES,
    SUBSET_NAMES,
    TABLE1,
    TABLE2,
    TEXTS,
    caption_table,
    judge,
    list_table1,
    list_table2,
    write_ratio,
)
from auditapp.benchmarks.gender_cues.pure.parsing import (
    CONDITION_NAMES,
    MIN_TEXTS,
    SCORED,
    cite_source,
    load_prompts,
    write_theme_codebook,
)
from auditapp.benchmarks.gender_cues.pure.tables import (
    AXES,
    CHOSEN_BY_ANSWERS,
    COMPARED_WORDS,
    COMPARISONS,
    DEGENERATE,
    INFINITIES,
    describe_abstentions,
    judge_compared,
    mark_theme,
    name_measure,
    name_sides,
)
from auditapp.benchmarks.gender_cues.queries import (
    KIND,
    Coded,
    ProbeIsOff,
    describe_probe,
    describe_withdrawal,
    find_latest,
    find_rationale_study,
    read_report,
    require_figures,
    require_purpose,
)
from auditapp.llm.queries import list_noted
from transcripts.charts.figures import Chart, Dot, Missing, Reference, Row, RowChart, judge_cases, summarise
from transcripts.formats.comparisons import draw_comparisons
from transcripts.formats.report_tables import ReportTable
from transcripts.history.views import at_next
from transcripts.refusals import Refused
from transcripts.statistics.figures import explain_marks, write_estimate
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import address_files, offer_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form, list_clashes, takes_uploads
from transcripts.ui.typed_text import find_numbers

P = ParamSpec("P")


class ProbeRequest(StudyRequest):
    """A request about the probe of a study that has allowed it. ``purpose`` is the latest; it may have been withdrawn where the
    view only reads."""

    purpose: Purpose


def probe_view(
    permission: Permission, *, reads_figures: bool = False
) -> Callable[[Callable[Concatenate[ProbeRequest, P], HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """As ``study_view``, for a study whose owner has written the probe's purpose; another gets 403 with the explanation. One that
    ``reads_figures`` is there also after the purpose was withdrawn."""

    def decorate(view: Callable[Concatenate[ProbeRequest, P], HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def wrapped(request: ProbeRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                request.purpose = (require_figures if reads_figures else require_purpose)(request.study)
            except ProbeIsOff as error:
                return render_explanation(request, refused=str(error), status=403)
            return view(request, *args, **kwargs)

        return study_view(permission)(wrapped)  # type: ignore[arg-type]

    return decorate


def render_explanation(request: StudyRequest, *, status: int = 200, **context: object) -> HttpResponse:
    """The page that explains the probe and says whether it is on."""
    latest = find_latest(request.study)
    told = {
        "purpose": latest if latest and not latest.is_withdrawn else None,
        "withdrawn": latest if latest and latest.is_withdrawn else None,
        "withdrawal": describe_withdrawal(latest) if latest else "",
        "source": cite_source(),
        "prompts": list(load_prompts().values()),
        **context,
    }
    return render(request, "gender_cues/home.html", told, status=status)


def find_batch(request: StudyRequest, batch_id: int) -> Batch:
    """A probe of the study, or 404."""
    batch: Batch = get_object_or_404(request.study.batches, pk=batch_id, kind=KIND)
    batch.study = request.study
    return batch


@require_safe
@study_view(Permission.VIEW)
def show_home(request: StudyRequest) -> HttpResponse:
    """What the probe is, its purpose, and where it is or was allowed its reviews and batches."""
    if find_latest(request.study) is None:
        return render_explanation(request)
    sets = ReviewSet.objects.filter(study=request.study).annotate(n_reviews=Count("reviews")).order_by("-pk")
    return render_explanation(
        request, was_allowed=True, sets=sets, batches=request.study.batches.filter(kind=KIND).order_by("-pk")
    )


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.MANAGE_MEMBERS)
def allow(request: StudyRequest) -> HttpResponse:
    """Write the purpose for which the study runs the probe, which turns it on."""
    before = find_latest(request.study)
    initial = {"text": before.text, "based_on": before.number} if before else None
    form = PurposeForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        with at_next(form, "text"):
            allow_probe(study=request.study, by=request.user, **form.cleaned_data)
            messages.success(request, "The purpose is stored. The probe is on in this study.")
            return redirect("gender_cues:home", request.study.slug)
    clashes = list_clashes(form, {"text": form.latest.text}) if form.latest else []
    context = {"form": form, "before": form.latest or before, "clashes": clashes}
    return render(request, "gender_cues/purpose.html", context, status=form.status)


@require_http_methods(["GET", "HEAD", "POST"])
@probe_view(Permission.MANAGE_MEMBERS)
def withdraw(request: ProbeRequest) -> HttpResponse:
    """Withdraw the purpose, which turns the probe off."""
    typed = request.POST if request.method == "POST" else None
    form = WithdrawForm(typed, initial={"number": request.purpose.number})
    if form.is_valid():
        with at_form(form, "reason"):
            withdraw_purpose(study=request.study, by=request.user, **form.cleaned_data)
            messages.success(request, "The purpose is withdrawn. The probe is off in this study.")
            return redirect("gender_cues:home", request.study.slug)
    context = {
        "form": form,
        "purpose": request.purpose,
        "running": request.study.batches.filter(kind=KIND, state__in=OPEN_STATES).count(),
    }
    return render(request, "gender_cues/withdraw.html", context, status=422 if form.errors else 200)


@takes_uploads(MAX_UPLOAD_BYTES)
@require_http_methods(["GET", "HEAD", "POST"])
@probe_view(Permission.IMPORT)
def load(request: ProbeRequest) -> HttpResponse:
    """Load reviews by declared rules."""
    form = LoadForm(request.POST, request.FILES) if request.method == "POST" else LoadForm()
    if form.is_valid():
        with at_form(form):
            stored = load_reviews(study=request.study, by=request.user, **form.cleaned_data)
            messages.success(request, f"“{stored.name}” is loaded. The funnel shows what the rules kept.")
            return redirect("gender_cues:reviews", request.study.slug, stored.pk)
    return render(request, "gender_cues/load.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
@probe_view(Permission.VIEW, reads_figures=True)
def show_reviews(request: ProbeRequest, set_id: int) -> HttpResponse:
    """The funnel of one set of reviews. No review is shown."""
    reviews = get_object_or_404(ReviewSet, pk=set_id, study=request.study)
    last = reviews.funnel[-1]
    context = {
        "reviews": reviews,
        "too_few": [category for category in SCORED if last[category] < MIN_TEXTS],
        "min_texts": MIN_TEXTS,
        "withdrawal": describe_withdrawal(request.purpose),
    }
    return render(request, "gender_cues/reviews.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@probe_view(Permission.RUN_BATCHES)
def launch(request: ProbeRequest) -> HttpResponse:
    """Launch a probe, in two steps."""
    initial = {"reviews": request.GET["reviews"]} if "reviews" in request.GET else {}
    form = LaunchForm(request.POST or None, study=request.study, initial=initial)

    def plan() -> LaunchPlan:
        return plan_probe(**form.read())

    return run_wizard(
        request,
        form,
        template="gender_cues/launch.html",
        plan=plan,
        launch=lambda: launch_probe(
            **form.read(), options=form.options(), confirms_source=form.cleaned_data["confirms_source"], by=request.user
        ),
    )


TABLES: dict[str, ReportTable[Any]] = {"table1": TABLE1, "table2": TABLE2, "comparisons": COMPARISONS, "funnel": FUNNEL}


@require_safe
@probe_view(Permission.SEE_ALL_CODINGS, reads_figures=True)
def show_report(request: ProbeRequest, batch_id: int) -> HttpResponse:
    """Both tables, and models and conditions compared on the same texts. A theme leads to its rationales in the study in which they
    are coded, as far as the person may see them."""
    batch = find_batch(request, batch_id)
    report, coded = _read(request, batch_id)
    arms = list(batch.arms.select_related("variant__account"))
    links = _link_themes(coded)
    others = request.study.batches.filter(kind=KIND).exclude(pk=batch.pk).order_by("-pk")
    sections = []
    for place, model in enumerate(report["models"], 1):
        tables = report["by_model"][model]
        sections.append(draw_table1(model, tables["table1"], place=place))
        if tables["table2"] is not None:
            sections.append(draw_table2(model, tables["table2"], links, place=place))
    if sections:
        sections.append(draw_compared(report))
    context = {
        "batch": batch,
        "report": report,
        "coded": coded,
        "has_rationales": find_rationale_study(batch) is not None,
        "sections": sections,
        "test_heads": TEST_HEADS,
        "form": ReportForm(request.GET, coded.counts if coded else {}, has_themes=coded is not None, others=others),
        "query": [(name, request.GET[name]) for name in ("axis", "coder", "with") if request.GET.get(name)],
        "reviews": _find_reviews(request, batch.parameters.get("reviews")),
        "purpose": request.purpose,
        "withdrawal": describe_withdrawal(request.purpose),
        "notes": describe_probe(batch),
        "has_fake": any(arm.variant.is_fake for arm in arms),
        "noted": list_noted(arm.variant for arm in arms),
        "offered_tables": [
            offer_table(TABLES[what], words, address_files("gender_cues:file", batch.study.slug, batch.pk, what))
            for what, words, is_there in (
                ("table1", "Table 1", True),
                ("table2", "Table 2", bool(coded)),
                ("comparisons", "Comparisons", bool(report["comparisons"])),
                ("funnel", "Funnel", "reviews" in batch.parameters),
            )
            if is_there
        ],
        "may_store": Permission.RUN_BATCHES in request.role.permissions and not request.purpose.is_withdrawn,
    }
    return render(request, "gender_cues/report.html", context)


def _read(request: ProbeRequest, batch_id: int) -> tuple[dict[str, Any], Coded | None]:
    """The requested report. An axis, a coder or a batch for comparison that does not exist is ignored."""
    batch = find_batch(request, batch_id)
    asked = request.POST if request.method == "POST" else request.GET
    axis = asked.get("axis", AXES[0])
    axis = axis if axis in AXES else AXES[0]
    other = request.study.batches.filter(kind=KIND, pk__in=find_numbers([asked.get("with", "")])).first()
    read = partial(read_report, batch, user=request.user, axis=axis, other=other)
    try:
        return read(coder=asked.get("coder", ""))
    except Refused:
        return read()


def _link_themes(coded: Coded | None) -> dict[str, str]:
    if coded is None:
        return {}
    address = reverse("search:search", args=[coded.study.slug])
    return {name: f"{address}?{urlencode({**asked, 'coder': coded.coder})}" for name, asked in coded.codes.items()}


def _find_reviews(request: ProbeRequest, key: object) -> ReviewSet | None:
    return ReviewSet.objects.filter(study=request.study, pk=key).first() if isinstance(key, int) else None


@require_POST
@probe_view(Permission.SEE_ALL_CODINGS, reads_figures=True)
def download(request: ProbeRequest, batch_id: int, what: str, format: str) -> HttpResponse:
    """A table as a file. A POST, because downloads are recorded."""
    batch = find_batch(request, batch_id)
    if what not in TABLES:
        raise Http404("No such file.")
    send = partial(send_batch_table, batch=batch, report="probe", by=request.user)
    if what == "funnel":
        reviews = _find_reviews(request, batch.parameters.get("reviews"))
        if reviews is None:
            raise Http404("This batch has no funnel.")
        return send(FUNNEL, reviews.funnel, format, "gender_cues.downloaded")
    table, (report, _) = TABLES[what], _read(request, batch_id)
    return send(table, report, format, "gender_cues.downloaded", caption=caption_table(table, report))


@require_http_methods(["GET", "HEAD", "POST"])
@probe_view(Permission.RUN_BATCHES)
def store(request: ProbeRequest, batch_id: int) -> HttpResponse:
    """Store the rationales of a probe in another study, to be coded there."""
    batch = find_batch(request, batch_id)
    typed = request.POST if request.method == "POST" else None
    form = RationalesForm(typed, study=request.study, user=request.user)
    if form.is_valid():
        with at_form(form):
            counts = store_rationales(batch=batch, by=request.user, **form.cleaned_data)
            messages.success(
                request,
                f"{counts['rationales']} rationales are in {counts['threads']} masked threads of {form.cleaned_data['into'].name}.",
            )
            return redirect("gender_cues:report", request.study.slug, batch.pk)
    context = {"batch": batch, "form": form, "per_thread": PER_THREAD}
    return render(request, "gender_cues/rationales.html", context, status=422 if form.errors else 200)


@require_safe
@probe_view(Permission.VIEW)
def download_themes(request: ProbeRequest) -> HttpResponse:
    """The published themes as a codebook, for starting a study of rationales."""
    headers = {"Content-Disposition": 'attachment; filename="probe-themes.csv"'}
    return HttpResponse(write_theme_codebook(), content_type="text/csv; charset=utf-8", headers=headers)


# Of the columns of Table 1, those that are unfolded below its chart.
TEST_HEADS = ("Subset", "N (W/M)", "Difference", "P", "Test", "P (Holm)")


class Figure(NamedTuple):
    """One cell of a table: its text and its link."""

    text: str
    href: str = ""


@dataclass
class Section:
    """One table of one model: its chart, its table, and notes. ``tests`` are unfolded below the chart, by
    condition under ``TEST_HEADS``."""

    key: str
    title: str
    words: str
    chart: Chart
    heads: Sequence[str]
    rows: Sequence[Sequence[Figure]]
    notes: Sequence[str] = field(default=())
    tests: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


def draw_table1(model: str, table: Mapping[str, Any], *, place: int) -> Section:
    """Table 1 of a model: the two rates with their intervals, and whether they differ."""
    rows, lines, notes = [], [], []
    tests: dict[str, list[list[str]]] = {}
    listed = list(list_table1(model, table))
    for row in listed:
        name = CONDITION_NAMES[row["condition"]]
        rows.append(
            Row(
                f"{SUBSET_NAMES[row['subset']]}: {row['n_woman']} and {row['n_man']} texts",
                [_dot(row["rate_woman"], row["rate_woman_ci"], 0), _dot(row["rate_man"], row["rate_man_ci"], 1)],
                verdict=judge(row),
                group=name,
            )
        )
        cells = [(head, write(row)) for head, write in TABLE1.printed[1:]]
        lines.append([Figure(cell) for _, cell in cells])
        tests.setdefault(name, []).append([cell for head, cell in cells if head in TEST_HEADS])
    for condition, found in table.items():
        if condition == "paired":
            continue
        name = CONDITION_NAMES[condition]
        counts = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in found["not_counted"].items())
        apart = "; ".join(f"{category}: {sum(of.values())}" for category, of in found["not_counted_of"].items())
        notes.append(
            f"{name}, counted beside: {counts} (by category {apart}); androgynous or unknown, not scored: {found['not_scored']}."
        )
        if abstentions := describe_abstentions(found):
            notes.append(f"{name}: {abstentions}")
    notes += [CHOSEN_BY_ANSWERS, *explain_marks((row["mark"] for row in listed), TEXTS)]
    chart = RowChart(
        f"table1-{place}",
        f"Predicted to be a woman’s, {model}: shares with 95 % intervals",
        rows,
        series=["women’s texts", "men’s texts"],
        missing=Missing("No answer has been read yet."),
    )
    return Section(
        chart.key,
        f"Table 1, {model}",
        "How often a text is predicted to be by a woman, of texts by women and by men. Emotion: the answer applied Emotion or "
        f"Textual Style. None: it applied no category. {DEGENERATE}",
        chart,
        TABLE1.list_heads()[1:],
        lines,
        notes,
        tests,
    )


def draw_table2(model: str, table: Mapping[str, Any], links: Mapping[str, str], *, place: int) -> Section:
    """Table 2 of a model: ln(W/M) of counts and of shares by theme; a theme leads to its rationales."""
    rows, lines = [], []
    for row in list_table2(model, table):
        href = links.get(row["theme"], "")
        rows.append(
            Row(
                f"{row['theme']}: W {row['w']}, M {row['m']}",
                [_ratio(row["bias"], 0), _ratio(row["bias_rate"], 1)],
                verdict=judge_cases(row["w"] + row["m"], things="rationales"),
                href=href,
            )
        )
        theme, *cells = (write(row) for _, write in TABLE2.printed[2:])
        lines.append([Figure(theme, href), *map(Figure, cells)])
    by = "the model’s prediction" if table["axis"] == "prediction" else "the name-inferred category"
    chart = RowChart(
        f"table2-{place}",
        f"Themes of rationales, {model}: natural logarithm of women’s over men’s",
        rows,
        series=["of counts", "of shares"],
        low=-2.0,
        high=2.0,
        references=[Reference(0.0, "as many")],
        missing=Missing("No rationale has a theme yet."),
    )
    return Section(
        chart.key,
        f"Table 2, {model}",
        f"Distinct rationales of Emotion and Textual Style that cite a theme, women’s (W) and men’s (M) by {by}: "
        f"{table['n_woman']} and {table['n_man']} rationales. Their numbers alone make a logarithm of "
        f"{write_ratio(table['offset'])}.",
        chart,
        TABLE2.list_heads()[2:],
        lines,
        _explain_table2(table),
    )


def draw_compared(report: Mapping[str, Any]) -> Section:
    """Models, and conditions, against each other on the same texts."""
    rows = [name_sides(row) for row in report["comparisons"]]
    chart = draw_comparisons(
        rows,
        "texts",
        name_measure,
        key="compared",
        title="Differences between two shares of the same texts, with 95 % intervals",
        missing="No two models or conditions were asked about the same text.",
        by_pair=True,
    )
    lines = [replace(line, verdict=judge_compared(row)) for line, row in zip(chart.rows, rows, strict=False)]
    chart = replace(chart, rows=lines, summary=summarise((line.verdict for line in lines), "comparisons"))
    return Section(
        chart.key,
        "Compared on the same texts",
        COMPARED_WORDS,
        chart,
        COMPARISONS.list_heads(),
        [[Figure(cell) for cell in row] for row in COMPARISONS.print_rows({"comparisons": rows})],
        [
            *explain_marks((row["mark"] for row in rows), "texts"),
            *([DEGENERATE] if any(row["degenerate"] for row in rows) else []),
        ],
    )


def _explain_table2(table: Mapping[str, Any]) -> list[str]:
    """Notes on themes with few rationales, and on themes that only one side cites."""
    themes = table["themes"].values()
    said = explain_marks(map(mark_theme, themes), RATIONALES)
    if any(isinstance(row["bias"], str) for row in themes):
        said.append(
            f"{INFINITIES} Such logarithms are infinite, so no dot is drawn; the column with 0.5 added has a number."
        )
    return said


def _dot(value: float | None, interval: Sequence[float] | None, series: int) -> Dot:
    return Dot(value, interval, series, text=write_estimate(value, interval))


def _ratio(value: float | str | None, series: int) -> Dot:
    return Dot(value if isinstance(value, float) else None, series=series, text=write_ratio(value))
