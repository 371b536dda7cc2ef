"""What a page was asked for, and which readings of it somebody may see: if she codes, those she has unblinded."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlencode

from django.http import QueryDict

from transcripts.agreement.forms import SelectionForm
from transcripts.agreement.queries import Selection, find_interviews, list_families
from transcripts.blinding.viewers import Viewer
from transcripts.projects.models import MethodStance, Project
from transcripts.projects.queries import read_stances
from transcripts.rounds.queries import find_locked_interviews

Stance = MethodStance.Stance


class PageRequest:
    """What a page was asked for. ``selection`` is ``None`` where the form is wrong, or no codebook is published.

    Without a family named it is the first one with a stance of ``prefer``, or the first of all.
    """

    def __init__(self, project: Project, data: QueryDict, *, prefer: tuple[str, ...] = ()) -> None:
        self.families, self.stances = list_families(project), read_stances(project)
        self.form = SelectionForm(data, project=project, families=self.families)
        preferred = [each for each in self.families if self.stances.find(each.identifier) in prefer]
        usual = next(iter([*preferred, *self.families]), None)
        self.selection = self.form.read(usual=usual) if usual and self.form.is_valid() else None

    @property
    def stance(self) -> str:
        """The family’s method."""
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


class VisibleReadings:
    """The readings of what is selected, or of its interviews ``within``, as far as this person may see them now.

    ``shared``: the number of interviews in which two or more decided; ``blinded``: those of them that she would have to
    unblind to see more. Who does not see every coding sees, of families whose method allows it, interviews whose rounds
    are locked.
    """

    def __init__(self, viewer: Viewer, selection: Selection, *, within: Collection[int] | None = None) -> None:
        from transcripts.agreement.reading import find_shared_interviews, keep_interviews, read_table

        interviews = find_interviews(viewer.project, selection)
        if not viewer.sees_all:
            locked = find_locked_interviews(viewer.project)
            interviews = sorted(locked if interviews is None else locked & set(interviews))
        if within is not None:
            interviews = sorted(set(within) if interviews is None else set(within) & set(interviews))
        table = read_table(viewer.project, selection, interviews=interviews)
        shared = find_shared_interviews(table)
        self.blinded = viewer.blinded(shared)
        self.shared = len(shared)
        self.table = keep_interviews(table, shared - self.blinded)

    @property
    def seen(self) -> int:
        """How many of the shared interviews she sees."""
        return self.shared - len(self.blinded)

    @property
    def is_hidden(self) -> bool:
        """Whether there is something to see and she sees nothing of it."""
        return bool(self.blinded) and not self.seen


def is_for_coders(stance: str) -> bool:
    """Whether coders may see, once a round is locked, what colleagues read: not where reliability is claimed."""
    return stance != Stance.RELIABILITY
