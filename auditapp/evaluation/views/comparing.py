"""An annotator beside people, as a page asks for it and as its viewer may see it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from auditapp.annotators.models import Annotator
from auditapp.annotators.queries.annotators import list_with_readings
from auditapp.evaluation.forms import CalibrationForm
from transcripts.agreement.queries import list_families
from transcripts.blinding.forms import UnblindingForm
from transcripts.blinding.viewers import Viewer
from transcripts.blinding.views import offer_unblinding
from transcripts.codebook.models import CodeFamily
from transcripts.studies.access import ProjectRequest
from transcripts.studies.models import MethodStance, Project
from transcripts.studies.queries import Stances, read_stances

if TYPE_CHECKING:
    from auditapp.evaluation.queries.calibration import Compared
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

    @property
    def scope(self) -> dict[str, Any]:
        """Which of the annotator's labels are compared: the keywords of ``compare``."""
        return {"with_critic": self.with_critic, "only_withheld": self.only_withheld}

    def is_reflexive(self, family: str) -> bool:
        return self.stances.find(family) == REFLEXIVE

    def name_family(self, family: str) -> str:
        found = self.families.get(family)
        return found.name if found else family


def read_asked(project: Project, data: QueryDict, *, annotators: list[Annotator] | None = None) -> Asked:
    """Read the form; without an annotator named, the newest of ``annotators``, or of all that have read."""
    annotators = list_with_readings(project.pk) if annotators is None else annotators
    form = CalibrationForm(data, annotators=annotators)
    families = {family.identifier: family for family in list_families(project)}
    annotator = form.chosen if form.is_valid() else None
    if annotator is not None:
        annotator.project = project
    return Asked(form, annotator, annotators, families, read_stances(project))


def compare(
    viewer: Viewer,
    annotator: Annotator,
    *,
    with_critic: bool = False,
    only_withheld: bool = False,
    readings: BlindReadings | None = None,
    with_alternatives: bool = False,
) -> Compared:
    """The annotator beside people, as far as the viewer may see them now."""
    from auditapp.evaluation.queries.calibration import read_compared

    compared = read_compared(
        annotator,
        with_critic=with_critic,
        only_withheld=only_withheld,
        seen=viewer.visible_interviews,
        readings=readings,
        with_alternatives=with_alternatives,
    )
    compared.blinded = viewer.blinded(compared.interviews)
    return compared


def offer_compared(
    request: ProjectRequest, asked: Asked, interviews: Iterable[int], page: str, *, query: str = ""
) -> UnblindingForm | None:
    """The notice of a page of calibration; it leads back to that page, whichever address is asked now."""
    address = reverse(f"evaluation:{page}", args=[request.project.slug])
    query = query or asked.query
    return offer_unblinding(request, interviews, where=page, back=f"{address}?{query}" if query else address)
