"""What somebody may see of the readings of a family: those of interviews she has opened, if she may code."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from transcripts.agreement.forms import OpeningForm, SelectionForm
from transcripts.agreement.selection import Selection, find_interviews, list_families
from transcripts.blinding.actions import UnblindingRefused, unblind_interviews
from transcripts.blinding.viewers import get_viewer
from transcripts.codebook.models import CodeFamily
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.models import MethodStance
from transcripts.projects.queries import Stances, read_stances
from transcripts.projects.roles import Permission
from transcripts.rounds.queries import find_locked_interviews

if TYPE_CHECKING:
    from transcripts.coding.blind import BlindTable

Stance = MethodStance.Stance


class Asked(NamedTuple):
    """What a page was asked for. ``selection`` is ``None`` where the form is wrong, or no codebook is published."""

    form: SelectionForm
    selection: Selection | None
    families: list[CodeFamily]
    stances: Stances

    @property
    def stance(self) -> str:
        """The method by which the family is read."""
        return self.stances.find(self.selection.family.identifier) if self.selection else self.stances.find()

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The selection as names and values, to be sent again by another form."""
        data = self.form.data
        given = [
            (name, value)
            for name in self.form.fields
            if isinstance(data, QueryDict) and name != "family"
            for value in data.getlist(name)
            if value
        ]
        return [("family", self.selection.family.identifier), *given] if self.selection else given

    @property
    def query(self) -> str:
        """The same as the part of an address behind the question mark."""
        return urlencode(self.fields)


class Sight(NamedTuple):
    """The readings somebody may see now, and the interviews that she would have to open to see more."""

    table: BlindTable
    shared: int
    unopened: set[int]

    @property
    def opened(self) -> int:
        return self.shared - len(self.unopened)

    @property
    def is_closed(self) -> bool:
        """Whether there is something to see and nothing of it is opened."""
        return bool(self.unopened) and not self.opened


def read_asked(request: ProjectRequest, data: QueryDict, *, prefer: tuple[str, ...] = ()) -> Asked:
    """Read the form; without a family named, the first one with a stance of ``prefer``, or the first of all."""
    families, stances = list_families(request.project), read_stances(request.project)
    form = SelectionForm(data, project=request.project, families=families)
    usual = next((each for each in families if stances.find(each.identifier) in prefer), next(iter(families), None))
    if usual is None or not form.is_valid():
        return Asked(form, None, families, stances)
    return Asked(form, form.read(usual=usual), families, stances)


def look(request: ProjectRequest, selection: Selection, *, within: Collection[int] | None = None) -> Sight:
    """The readings of what is selected, or of its interviews ``within``, as far as this person may see them now.

    Who does not see every coding sees, of families whose method provides for it, interviews whose reading is over.
    """
    from transcripts.agreement.reading import find_shared_interviews, keep_interviews, read_table

    interviews = find_interviews(request.project, selection)
    if Permission.SEE_ALL_CODINGS not in request.role.permissions:
        locked = find_locked_interviews(request.project)
        interviews = sorted(locked if interviews is None else locked & set(interviews))
    if within is not None:
        interviews = sorted(set(within) if interviews is None else set(within) & set(interviews))
    table = read_table(request.project, selection, interviews=interviews)
    shared = find_shared_interviews(table)
    unopened = get_viewer(request).blinded(shared)
    return Sight(keep_interviews(table, shared - unopened), len(shared), unopened)


def is_for_coders(stance: str) -> bool:
    """Whether coders may see, once a round is locked, what colleagues read: not where reliability is claimed."""
    return stance != Stance.RELIABILITY


@require_POST
@project_view(Permission.CODE)
def open_colleagues(request: ProjectRequest) -> HttpResponse:
    """Open colleagues' readings of what is selected, after saying so: what one codes there later is assisted."""
    form = OpeningForm(request.POST)
    asked = read_asked(request, request.POST)
    if not form.is_valid() or asked.selection is None:
        page = {"opening": form, "asked": asked}
        return render(request, "agreement/not_opened.html", page, status=422)
    sees_all = Permission.SEE_ALL_CODINGS in request.role.permissions
    if sees_all or is_for_coders(asked.stance):
        unopened = look(request, asked.selection).unopened
        interviews = list(request.project.interviews.filter(pk__in=unopened).order_by("pk"))
        where = form.cleaned_data["where"]
        try:
            unblind_interviews(project=request.project, interviews=interviews, by=request.user, where=where)
        except UnblindingRefused as error:
            form.add_error(None, str(error))
            return render(request, "agreement/not_opened.html", {"opening": form, "asked": asked}, status=409)
    return redirect(f"{reverse(ADDRESSES[form.cleaned_data['where']], args=[request.project.slug])}?{asked.query}")


ADDRESSES = {
    "agreement": "agreement:table",
    "differences": "agreement:differences",
    "adjudication": "agreement:queue",
}
