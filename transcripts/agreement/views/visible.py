"""What a page was asked for, and which readings of it somebody may see: if she codes, those she has unblinded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from urllib.parse import urlencode

from django.http import QueryDict

from transcripts.agreement.forms import NOT_KNOWN, SelectionForm
from transcripts.agreement.queries import Selection, find_interviews, list_families
from transcripts.blinding.viewers import Viewer
from transcripts.rounds.queries import find_locked_interviews
from transcripts.studies.models import MethodChoice, Study
from transcripts.studies.queries import read_methods

Method = MethodChoice.Method


class PageRequest:
    """What a page was asked for. ``selection`` is ``None`` where the form is wrong, or no codebook is published.

    Without a family named it is the first one with a method of ``prefer``, or the first of all. ``is_of_figures``: see the form.
    """

    def __init__(
        self, study: Study, data: QueryDict, *, prefer: tuple[str, ...] = (), is_of_figures: bool = False
    ) -> None:
        self.families, self.methods = list_families(study), read_methods(study)
        self._data = data.copy()
        self.form = SelectionForm(self._data, study=study, families=self.families, is_of_figures=is_of_figures)
        preferred = [each for each in self.families if self.methods.find(each.identifier) in prefer]
        usual = next(iter([*preferred, *self.families]), None)
        self.selection = self.form.read(usual=usual) if usual and self.form.is_valid() else None

    @property
    def is_model_asked(self) -> bool:
        """Whether a model was named, or all of them together."""
        return bool(self.form.cleaned_data.get("model"))

    def choose_model(self, label: str) -> None:
        """Go on as if this model had been named."""
        if self.selection is not None:
            self._data["model"] = label or NOT_KNOWN
            self.selection = self.selection._replace(model=label)

    @property
    def method(self) -> str:
        """The family’s method."""
        return self.methods.find(self.selection.family.identifier) if self.selection else self.methods.find()

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

        interviews = find_interviews(viewer.study, selection)
        if not viewer.sees_all:
            locked = find_locked_interviews(viewer.study)
            interviews = sorted(locked if interviews is None else locked & set(interviews))
        if within is not None:
            interviews = sorted(set(within) if interviews is None else set(within) & set(interviews))
        table = read_table(viewer.study, selection, interviews=interviews)
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


class MeasuredReadings(VisibleReadings):
    """The visible readings that figures are of. Where no model was asked for and there are several, they are those of the one with
    most units that two or more decided, which the request then names.

    ``models``: how many such units each has. ``every``: the readings of every model, of which ``offered`` are the interviews that
    she may unblind.
    """

    def __init__(self, viewer: Viewer, page_request: PageRequest) -> None:
        from transcripts.agreement.reading import count_shared, keep_interviews

        assert page_request.selection is not None  # noqa: S101 - figures are of a family
        self.every = VisibleReadings(viewer, page_request.selection)
        self.table, self.shared = self.every.table, self.every.shared
        self.offered = self.blinded = self.every.blinded
        units = count_shared(self.table)
        rows = viewer.study.interviews.filter(pk__in=[*units, *self.blinded]).values_list("pk", "model_label")
        labels = dict(rows)
        counts = Counter[str]()
        for interview, number in units.items():
            counts[labels[interview]] += number
        self.models = dict(counts.most_common())
        if len(set(labels.values())) > 1 and self.models and not page_request.is_model_asked:
            label = next(iter(self.models))
            page_request.choose_model(label)
            of_model = {interview for interview, each in labels.items() if each == label}
            self.models = {label: self.models[label]}
            self.blinded = self.blinded & of_model
            self.shared = len(of_model)
            self.table = keep_interviews(self.table, of_model)

    def name_models(self) -> str:
        """Of which models the figures are, in words."""
        names = [label or "a model that is not known" for label in self.models]
        return names[0] if len(names) == 1 else f"{len(names)} models together" if names else ""


def is_for_coders(method: str) -> bool:
    """Whether coders may see, once a round is locked, what colleagues read: not where reliability is claimed."""
    return method != Method.RELIABILITY
