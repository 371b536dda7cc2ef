"""How accurate an annotator is, code by code, compared with blind human labels; and the sentences of every count.

Several annotators side by side: each by itself and every two of them, apart from people's codings.

A coder sees figures of interviews that she has unblinded. Elsewhere a rate would show what machines said about sentences
that she has still to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from auditapp.annotators.actions.annotators import record_calibration
from auditapp.annotators.forms import FamilyReasonForm
from auditapp.annotators.queries.annotators import name_side
from auditapp.annotators.views import count_moved_seen
from auditapp.evaluation.forms import CellForm, ThresholdForm
from auditapp.evaluation.queries.calibration_tables import (
    ANSWERS,
    CALIBRATION,
    CodeRow,
    Source,
    caption_calibration,
    read_compared_items,
)
from transcripts.blinding.viewers import get_viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.formats.report_tables import ReportTable
from transcripts.refusals import Refused
from transcripts.statistics.figures import FEW
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import offer_table, send_report_table
from transcripts.studies.roles import Permission
from transcripts.ui.forms import at_form

if TYPE_CHECKING:
    from auditapp.evaluation.queries.calibration import Compared
from collections.abc import Mapping

from transcripts.charts.figures import (
    Dot,
    Reference,
    Row,
    RowChart,
    judge_against,
    judge_cases,
    judge_difference,
    summarise,
)
from transcripts.statistics.figures import NONE, Figure, explain_marks, write_figure, write_number

if TYPE_CHECKING:
    from transcripts.statistics.resampling import ClusterShare
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from django.http import QueryDict

from auditapp.annotators.models import Annotator
from auditapp.annotators.queries.annotators import list_with_answers
from auditapp.evaluation.forms import CalibrationForm
from transcripts.agreement.queries import list_families
from transcripts.blinding.viewers import Viewer
from transcripts.blinding.views import UnblindingForm
from transcripts.codebook.models import CodeFamily
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import Methods, read_methods

if TYPE_CHECKING:
    from auditapp.evaluation.queries.calibration import Compared
    from transcripts.coding.blind import BlindLabels
from auditapp.annotators.queries.annotators import Warnings, list_judge_results, warn_of_family, warn_of_relatives
from auditapp.evaluation.forms import SpreadForm
from auditapp.evaluation.queries.calibration_tables import read_spread
from transcripts.codebook.models import Code

ITEMS_PER_PAGE = 25


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_calibration(request: StudyRequest) -> HttpResponse:
    """Every figure of one annotator; of families that are read reflexively, why there is none."""
    return _render(request, read_asked(request.study, request.GET))


@require_POST
@study_view(Permission.SET_METHOD)
def compute(request: StudyRequest) -> HttpResponse:
    """The figures of a family that is read reflexively: once, for a reason that is kept."""
    asked, form = read_asked(request.study, request.POST), FamilyReasonForm(request.POST)
    if asked.annotator is None or not form.is_valid():
        return _render(request, asked, reason_form=form, status=422)
    compared = compare(get_viewer(request), asked.annotator, **asked.scope)
    if compared.is_hidden:
        return _ask_to_unblind(request, asked, compared)
    family, reason = form.cleaned_data["family"], form.cleaned_data["reason"]
    with at_form(form):
        if family not in {each.family for each in compared.codes}:
            raise Refused("The annotator has no labels for this family here.")
        record_calibration(
            study=request.study, annotator=asked.annotator, family=family, reason=reason, by=request.user
        )
        return _render(request, asked, compared=compared, shown_for=(family, reason))
    return _render(request, asked, reason_form=form, status=422)


@require_POST
@study_view(Permission.SEE_ALL_CODINGS)
def download(request: StudyRequest) -> HttpResponse:
    """The figures the page shows, as a file: those of codes, or (``table``) the answers to their own questions."""
    asked = read_asked(request.study, request.POST)
    if asked.annotator is None:
        return _render(request, asked, status=422)
    compared = compare(get_viewer(request), asked.annotator, **asked.scope)
    if compared.is_hidden:
        return _ask_to_unblind(request, asked, compared)
    measured = measure(asked, compared)
    source = Source(compared, *(measured[name] for name in ("rows", "tables", "seed", "resamples")))
    table = {"": CALIBRATION, "answers": ANSWERS}.get(request.GET.get("table", ""))
    if table is None:
        raise Http404("No such table.")
    return send_table(request, table, source, caption=caption_calibration(compared) if table is CALIBRATION else "")


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def list_cell(request: StudyRequest) -> HttpResponse:
    """The sentences of a count: who applied the code and what the machine said."""
    from auditapp.evaluation.queries.calibration import find_listable
    from auditapp.evaluation.queries.calibration import list_cell as find_cell

    asked, form = read_asked(request.study, request.GET), CellForm(request.GET)
    page: dict[str, object] = {"asked": asked, "form": form}
    if asked.annotator is None or not form.is_valid():
        return render(request, "evaluation/calibration_cell.html", page, status=422)
    compared = compare(get_viewer(request), asked.annotator, **asked.scope)
    code, cell = form.cleaned_data["code"], form.cleaned_data["cell"]
    found = compared.find(code)
    places = find_cell(compared, code, cell)
    may_code = Permission.CODE in request.role.permissions
    listable = find_listable(compared, request.user.pk, may_code=may_code).get(code)
    listed = places if listable is None else places[listable[places]]
    wanted = Paginator(listed.tolist(), ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    page |= {
        "compared": compared,
        "unblinding": offer_unblinding(request, compared.interviews, where="calibration"),
        "code": found,
        "cell": dict(form.fields["cell"].choices)[cell],  # type: ignore[attr-defined]
        "page": wanted,
        "not_listed": len(places) - len(listed),
        "items": read_compared_items(compared, [(place, found) for place in wanted], viewer=request.user)
        if found
        else [],
    }
    return render(request, "evaluation/calibration_cell.html", page)


def measure(
    asked: Asked, compared: Compared, *, shown: Sequence[str] = (), resamples: int | None = None
) -> dict[str, Any]:
    """The figures of every family that is not coded reflexively, and of those in ``shown``: all ``rows``, and by family in
    ``tables``, whose rows are None where the family is reflexive; with the draws of turns for intervals."""
    from auditapp.evaluation.pure.calibration import USUAL_RESAMPLES, calibrate
    from auditapp.evaluation.queries.calibration import read_answer_tables

    codes = [each for each in compared.codes if each.family in shown or not asked.is_reflexive(each.family)]
    drawn = {"seed": asked.form.chosen_seed, "resamples": USUAL_RESAMPLES if resamples is None else resamples}
    found, n_clusters = calibrate([each.labels for each in codes], compared.turn_ids, **drawn)
    rows: dict[str, list[CodeRow]] = {}
    for each, figures in zip(codes, found, strict=True):
        changed = (f"means something else since codebook v{each.changed_in}",) if each.changed_in else ()
        row = CodeRow(each.code, each.family, figures, each.set_aside, (*figures["warnings"], *changed))
        rows.setdefault(each.family, []).append(row)
    families = dict.fromkeys(each.family for each in compared.codes)
    sides = {each.family: name_side(each.code.family) for each in compared.codes}
    questions = {family: read_answer_tables(compared, family) for family in rows}
    n_labels, n_units = compared.count_labels()
    return {
        "tables": [
            {
                "identifier": family,
                "name": asked.name_family(family),
                "rows": rows.get(family),
                "questions": questions.get(family, []),
                "unit": "turn" if sides[family] else "sentence",
                "turns_of": sides[family],
            }
            for family in families
        ],
        "rows": [row for family in families for row in rows.get(family, ())],
        "n_clusters": n_clusters,
        "n_labels": n_labels,
        "n_units": n_units,
        "has_answers": any(question.table.n for family in rows for question in questions.get(family, ())),
        **drawn,
    }


def send_table(request: StudyRequest, table: ReportTable[Any], source: object, *, caption: str = "") -> HttpResponse:
    """A table in the format that was asked for; kept on record."""
    return send_report_table(
        table,
        source,
        request.POST.get("format", "csv"),
        f"evaluation.{table.name}.exported",
        stem=f"{request.study.slug}-{table.name}",
        study=request.study,
        target=f"study:{request.study.pk}",
        by=request.user,
        details={"rows": len(table.list_rows(source))},
        caption=caption,
    )


def _offer_files(request: StudyRequest, *, has_answers: bool) -> list[dict[str, object]]:
    answers = f"{reverse('evaluation:calibration_file', args=[request.study.slug])}?table=answers"
    offered = [offer_table(CALIBRATION, "These figures")]
    return (
        [*offered, offer_table(ANSWERS, "Answers to the codes’ own questions", lambda _: answers)]
        if has_answers
        else offered
    )


def _ask_to_unblind(request: StudyRequest, asked: Asked, compared: Compared) -> HttpResponse:
    messages.error(request, "Everything compared here is hidden from you. Unblind the interviews first.")
    return _render(request, asked, compared=compared, status=409)


def _render(
    request: StudyRequest,
    asked: Asked,
    *,
    compared: Compared | None = None,
    shown_for: tuple[str, str] = ("", ""),
    reason_form: FamilyReasonForm | None = None,
    status: int = 200,
) -> HttpResponse:
    family, reason = shown_for
    page: dict[str, object] = {
        "asked": asked,
        "reason": reason,
        "reason_form": reason_form or FamilyReasonForm(),
        "computed_at": timezone.now(),
        "threshold": ThresholdForm({}).chosen,
        "few": FEW,
    }
    if asked.annotator is not None:
        compared = compared or compare(get_viewer(request), asked.annotator, **asked.scope)
        page["compared"] = compared
        page["unblinding"] = offer_compared(request, asked, compared.interviews, "calibration")
        if not compared.is_hidden:
            measured = measure(asked, compared, shown=[family] if family else ())
            for table in measured["tables"]:
                if table["rows"]:
                    table["chart"] = draw_calibration(
                        table["identifier"], table["name"], table["rows"], threshold=ThresholdForm({}).chosen
                    )
            page["measured"] = measured
            page["offered_tables"] = _offer_files(request, has_answers=measured["has_answers"])
            page["table_files"] = reverse("evaluation:calibration_file", args=[request.study.slug])
            page["query"] = asked.fields
            page |= count_moved_seen(request, asked.annotator)
            page["scarce"] = [row for row in measured["rows"] if row.is_scarce]
            page["weak"] = [row for row in measured["rows"] if row.is_below(ThresholdForm({}).chosen)]
    elif asked.annotators:
        status = 422
    return render(request, "evaluation/calibration.html", page, status=status)


def draw_calibration(family: str, name: str, rows: Sequence[CodeRow], *, threshold: float) -> RowChart:
    """Kappa of each code: the annotator's with people, and that of people with one another where two decided."""
    drawn, marks = [], []
    for row in rows:
        machine: Figure = row.figures["figures"]["kappa"].figure
        people: Figure | None = row.figures["people"] and row.figures["people"]["kappa"]
        dots = [_draw(machine, 1)]
        if people is not None and people.value is not None:
            dots.insert(0, _draw(people, 0))
            marks.append(people.mark)
        estimates = {words: row.figures["figures"][key].value for words, key in (("F1", "f1"), ("kappa", "kappa"))}
        verdict = judge_against(estimates, threshold, row.positive_turns, things="turns")
        drawn.append(Row(row.code.name, dots, verdict=verdict))
    rule = (
        f"Usable: F1 and kappa are at least {write_number(threshold)}; figures below it are named. Few turns: people applied it in "
        f"fewer than {FEW} of the turns compared. Lines: 95 % intervals over whole turns."
    )
    return RowChart(
        key=f"calibration-{family}",
        title=f"Kappa by code: {name}",
        rows=drawn,
        series=("people with one another", "the annotator with people"),
        references=(Reference(threshold, f"the threshold, {write_number(threshold)}"),),
        summary=summarise((row.verdict for row in drawn), "codes"),
        note=" ".join([rule, *explain_marks(marks, "turns coded by two or more people")]),
    )


def _draw(figure: Figure, series: int) -> Dot:
    return Dot(figure.value, figure.interval, series, write_figure(figure))


def draw_influence(key: str, title: str, rows: Sequence[Mapping[str, Any]]) -> RowChart:
    """How often labels agree with the annotator's, by family: where suggestions were shown, and where they were withheld."""
    drawn = []
    for row in rows:
        found = row["by_turn"]
        verdict = judge_cases(min(row["turns"]), things="turns") or judge_difference(
            found["interval"], more="towards the suggestions", less="away from them"
        )
        dots = [_draw_share(found["shown"], 0), _draw_share(found["withheld"], 1)]
        drawn.append(Row(row["name"], dots, verdict=verdict))
    return RowChart(
        key=key,
        title=title,
        rows=drawn,
        series=("suggestions shown", "suggestions withheld"),
        summary=summarise((row.verdict for row in drawn), "rows"),
        note=(
            "The share of units whose label is the annotator’s, by turns, with 95 % intervals. Towards the suggestions: the "
            "interval of the difference, in the table, lies above 0. Away from them: it lies below 0. "
            "Cannot tell: it contains 0. "
            f"Few turns: an arm has fewer than {FEW}."
        ),
    )


def _draw_share(share: ClusterShare | None, series: int) -> Dot:
    return Dot(None, series=series, text=NONE) if share is None else _draw(share.figure, series)


REFLEXIVE = MethodChoice.Method.REFLEXIVE
FIELDS = ("annotator", "turns", "critic", "seed")


class Asked(NamedTuple):
    """What a page was asked for. ``annotator`` is None where the form is wrong, or nothing reads here yet."""

    form: CalibrationForm
    annotator: Annotator | None
    annotators: list[Annotator]
    families: dict[str, CodeFamily]
    methods: Methods

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The same as names and values, to be sent again by another form."""
        if self.annotator is None:
            return []
        data = self.form.data
        given = [(name, str(data.get(name, ""))) for name in FIELDS if name != "annotator" and data.get(name)]
        return [("annotator", str(self.annotator.pk)), *given]

    @property
    def query(self) -> str:
        """The same as the part of an address after the question mark."""
        return urlencode(self.fields)

    @property
    def only_withheld(self) -> bool:
        return self.form.cleaned_data.get("turns") == "withheld"

    @property
    def with_critic(self) -> bool:
        return self.form.cleaned_data.get("critic") == "with"

    @property
    def scope(self) -> dict[str, Any]:
        """Which of the annotator's labels are compared: the keywords of ``compare``."""
        return {"with_critic": self.with_critic, "only_withheld": self.only_withheld}

    def is_reflexive(self, family: str) -> bool:
        return self.methods.find(family) == REFLEXIVE

    def name_family(self, family: str) -> str:
        found = self.families.get(family)
        return found.name if found else family


def read_asked(study: Study, data: QueryDict, *, annotators: list[Annotator] | None = None) -> Asked:
    """Read the form; without an annotator named, the newest of ``annotators``, or of all that have read."""
    annotators = list_with_answers(study.pk) if annotators is None else annotators
    form = CalibrationForm(data, annotators=annotators)
    families = {family.identifier: family for family in list_families(study)}
    annotator = form.chosen if form.is_valid() else None
    if annotator is not None:
        annotator.study = study
    return Asked(form, annotator, annotators, families, read_methods(study))


def compare(
    viewer: Viewer,
    annotator: Annotator,
    *,
    with_critic: bool = False,
    only_withheld: bool = False,
    turn_answers: BlindLabels | None = None,
    with_alternatives: bool = False,
) -> Compared:
    """The annotator and people, as far as the viewer may see them now."""
    from auditapp.evaluation.queries.calibration import read_compared

    compared = read_compared(
        annotator,
        with_critic=with_critic,
        only_withheld=only_withheld,
        seen=viewer.visible_interviews,
        turn_answers=turn_answers,
        with_alternatives=with_alternatives,
    )
    compared.blinded = viewer.blinded(compared.interviews)
    return compared


def offer_compared(
    request: StudyRequest, asked: Asked, interviews: Iterable[int], page: str, *, query: str = ""
) -> UnblindingForm | None:
    """The notice of a page of calibration; it leads back to that page, whichever address is asked now."""
    address = reverse(f"evaluation:{page}", args=[request.study.slug])
    query = query or asked.query
    return offer_unblinding(request, interviews, where=page, back=f"{address}?{query}" if query else address)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def show_spread(request: StudyRequest) -> HttpResponse:
    """How often each annotator applied each code to the sentences that all annotated, and how far every two agree."""
    form, annotators = _read_chosen(request, request.GET)
    seen = get_viewer(request).visible_interviews
    spread, interviews = read_spread(annotators, seen=seen) if len(annotators) > 1 else ([], set[int]())
    codes = Code.objects.filter(version__study=request.study).order_by("version__number")
    context = {
        "form": form,
        "annotators": annotators,
        "by_key": {each.pk: each for each in annotators},
        "spread": spread,
        "unblinding": offer_unblinding(request, interviews, where="spread"),
        "names": dict(codes.values_list("identifier", "name")),
        "versions": sorted({each.version.number for each in annotators}),
        "warnings": _list_warnings(request.study, annotators),
    }
    return render(request, "evaluation/spread.html", context, status=200 if form.is_valid() else 422)


def _read_chosen(request: StudyRequest, data: QueryDict) -> tuple[SpreadForm, list[Annotator]]:
    """The form, and the annotators it names, or all."""
    form = SpreadForm(data, study=request.study)
    chosen = form.cleaned_data["annotators"] if form.is_valid() else Annotator.objects.none()
    every = Annotator.objects.filter(study=request.study)
    return form, list((chosen or every).select_related("variant__account", "version").order_by("pk"))


def _list_warnings(study: Study, annotators: list[Annotator]) -> Warnings:
    warnings = warn_of_relatives(annotators)
    variants = {each.variant.pk: each.variant for each in annotators if each.variant is not None}
    for variant in variants.values():
        warnings += [*warn_of_family(study, variant, None), *list_judge_results(study, variant)]
    if any(variant.is_fake for variant in variants.values()):
        warnings.append({"code": "fake"})
    return warnings
