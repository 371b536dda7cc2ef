"""What somebody may see of an annotator beside people: interviews she has opened, if she may code there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from auditapp.preannotation.annotators.queries.annotators import list_with_readings
from auditapp.preannotation.evaluation.forms.calibration import CalibrationForm, OpeningForm
from auditapp.preannotation.models import Annotator
from transcripts.agreement.selection import list_families
from transcripts.blinding.actions import UnblindingRefused, unblind_interviews
from transcripts.blinding.viewers import get_viewer
from transcripts.codebook.models import CodeFamily
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.models import MethodStance
from transcripts.projects.queries import Stances, read_stances
from transcripts.projects.roles import Permission

if TYPE_CHECKING:
    from auditapp.preannotation.evaluation.queries.calibration import Compared, Scope
    from transcripts.coding.blind import BlindReadings

REFLEXIVE = MethodStance.Stance.REFLEXIVE
FIELDS = ("annotator", "turns", "critic", "seed")


class Asked(NamedTuple):
    """What a page was asked for. ``annotator`` is None where the form is wrong, or nothing reads here yet."""

    form: CalibrationForm
    annotator: Annotator | None
    annotators: list[Annotator]
    families: dict[str, CodeFamily]
    stances: Stances

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
        """The same as the part of an address behind the question mark."""
        return urlencode(self.fields)

    @property
    def only_withheld(self) -> bool:
        return self.form.cleaned_data.get("turns") == "withheld"

    @property
    def with_critic(self) -> bool:
        return self.form.cleaned_data.get("critic") == "with"

    def is_reflexive(self, family: str) -> bool:
        return self.stances.find(family) == REFLEXIVE

    def name_family(self, family: str) -> str:
        found = self.families.get(family)
        return found.name if found else family


class Sight(NamedTuple):
    """What is compared in interviews this person may see, and those she would have to open to see more."""

    compared: Compared
    unopened: set[int]

    @property
    def shared(self) -> int:
        return len(self.compared.interviews)

    @property
    def opened(self) -> int:
        return self.shared - len(self.unopened)

    @property
    def is_closed(self) -> bool:
        """Whether there is something to see and nothing of it is opened."""
        return bool(self.unopened) and not self.opened


def read_asked(request: ProjectRequest, data: QueryDict) -> Asked:
    """Read the form; without an annotator named, the newest one that has read."""
    annotators = list_with_readings(request.project.pk)
    form = CalibrationForm(data, annotators=annotators)
    families = {family.identifier: family for family in list_families(request.project)}
    annotator = form.chosen if form.is_valid() else None
    if annotator is not None:
        annotator.project = request.project
    return Asked(form, annotator, annotators, families, read_stances(request.project))


def look(
    request: ProjectRequest,
    scope: Scope,
    *,
    readings: BlindReadings | None = None,
    with_alternatives: bool = False,
) -> Sight:
    """The annotator beside people as far as this person may see them now."""
    from auditapp.preannotation.evaluation.queries.calibration import read_compared

    seen = get_viewer(request).visible_interviews
    compared = read_compared(scope, seen=seen, readings=readings, with_alternatives=with_alternatives)
    return Sight(compared, set() if seen is None else compared.interviews - seen)


def make_scope(asked: Asked, annotator: Annotator) -> Scope:
    """The readings of ``annotator`` that were asked for."""
    from auditapp.preannotation.evaluation.queries.calibration import Scope

    return Scope(annotator, asked.with_critic, asked.only_withheld)


@require_POST
@project_view(Permission.SEE_ALL_CODINGS)
def open_compared(request: ProjectRequest) -> HttpResponse:
    """Open the interviews in which somebody decided, after saying so: what one codes there later is assisted."""
    from transcripts.coding.blind import read_blind

    form, asked = OpeningForm(request.POST), read_asked(request, request.POST)
    kept = {name: request.POST.get(name, "") for name in ("filter_code", "state")}
    page = {"opening": form, "asked": asked, "kept": kept}
    if not form.is_valid():
        return render(request, "preannotation/calibration_not_opened.html", page, status=422)
    readings, seen = read_blind(request.project), get_viewer(request).visible_interviews
    wanted: set[int] = set()
    if seen is not None:
        for annotator in [asked.annotator] if form.cleaned_data["where"] in ONE_ANNOTATOR else asked.annotators:
            if annotator is not None:
                annotator.project = request.project
                wanted |= look(request, make_scope(asked, annotator), readings=readings).compared.interviews - seen
    interviews = list(request.project.interviews.filter(pk__in=wanted).order_by("pk"))
    where = form.cleaned_data["where"]
    try:
        unblind_interviews(project=request.project, interviews=interviews, by=request.user, where=where)
    except UnblindingRefused as error:
        form.add_error(None, str(error))
        return render(request, "preannotation/calibration_not_opened.html", page, status=409)
    narrowed = [("code", kept["filter_code"]), ("state", kept["state"])]
    query = urlencode([*asked.fields, *((name, value) for name, value in narrowed if value)])
    return redirect(f"{reverse(f'preannotation:{where}', args=[request.project.slug])}?{query}")


ONE_ANNOTATOR = ("calibration", "disagreements")
