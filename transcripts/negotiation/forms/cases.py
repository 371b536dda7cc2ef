"""What people type about case sheets and pairs. What fits together is checked by the actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any, ClassVar

from django import forms

from transcripts.corpus.models import Interview, InterviewQuerySet, Turn
from transcripts.history.forms import NextForm
from transcripts.negotiation.models import CaseSheet, Pair
from transcripts.negotiation.pure.intents import NAMES
from transcripts.negotiation.pure.ordering import natural_key
from transcripts.ui.forms import NumberField, RowForm
from transcripts.ui.typed_text import MAX_REASON

MAX_TURNS = 300
"""So many turns of an interviewer have a field; intents of later ones are left as they are."""
MAX_SHOWN = 80
LISTED = [("", "Not listed"), ("relevant", "Relevant"), ("irrelevant", "Irrelevant")]


class CaseSheetForm(NextForm, RowForm):
    """For each feature whether it matters to the case, and why; for each turn of the interviewer what it was meant to be.

    ``features``: identifiers and names. ``turns``: those of the interviewer, in order.
    """

    needed = ("reason", "based_on")

    class Meta(RowForm.Meta):
        model = CaseSheet
        fields = ("reason",)

    def __init__(
        self,
        *args: Any,
        features: Mapping[str, str],
        latest: CaseSheet | None,
        turns: Sequence[Turn] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.features, self._turns = features, turns[:MAX_TURNS]
        self._intents: dict[str, str] = latest.intents if latest else {}
        listed = _read_listed(latest)
        for number, (feature, name) in enumerate(features.items(), 1):
            where, why = listed.get(feature, ("", ""))
            self.fields[f"listed_{number}"] = forms.ChoiceField(
                label=name, choices=LISTED, required=False, initial=where
            )
            reason = forms.CharField(
                label=f"Why, of {name}",
                max_length=MAX_REASON,
                required=False,
                initial=why,
                widget=forms.TextInput({"dir": "auto", "autocomplete": "off"}),
            )
            reason.needed_when = "needed where it is listed"  # type: ignore[attr-defined]
            self.fields[f"why_{number}"] = reason
        for turn in self._turns:
            said = self._intents.get(str(turn.position), "")
            # Scripts and the API may say anything.
            others = {said: said} if said and said not in NAMES else {}
            words = shorten(" ".join(turn.text.split()), MAX_SHOWN, placeholder=" …")
            self.fields[f"intent_{turn.position}"] = forms.ChoiceField(
                label=f"Turn {turn.position}: {words}",
                choices=[("", "Not said"), *(NAMES | others).items()],
                required=False,
                initial=said,
            )
        self.fields["based_on"].initial = latest.number if latest else 0
        if latest is None:
            del self.fields["reason"]

    @property
    def rows(self) -> Iterator[tuple[str, Any, Any]]:
        """Each feature's identifier with its two fields."""
        for number, feature in enumerate(self.features, 1):
            yield feature, self[f"listed_{number}"], self[f"why_{number}"]

    @property
    def intents(self) -> list[Any]:
        """The fields of the interviewer's turns."""
        return [self[f"intent_{turn.position}"] for turn in self._turns]

    def read(self) -> dict[str, Any]:
        """What ``write_case_sheet`` takes. Of a form that is valid."""
        data = self.cleaned_data
        lists: dict[str, list[dict[str, str]]] = {"relevant": [], "irrelevant": []}
        for number, feature in enumerate(self.features, 1):
            if where := data[f"listed_{number}"]:
                lists[where].append({"feature": feature, "reason": data[f"why_{number}"]})
        asked = {str(turn.position): data[f"intent_{turn.position}"] for turn in self._turns}
        intents = {position: kind for position, kind in (self._intents | asked).items() if kind}
        return {**lists, "intents": intents, "reason": data.get("reason", ""), "based_on": data["based_on"]}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for number, name in enumerate(self.features.values(), 1):
            where, why = cleaned.get(f"listed_{number}"), cleaned.get(f"why_{number}")
            if where and not why:
                self.add_error(f"why_{number}", f"Say why {name} is {where}.")
            if why and not where:
                self.add_error(
                    f"listed_{number}", f"Say whether {name} is relevant or irrelevant, or remove the reason."
                )
        return cleaned


def _read_listed(latest: CaseSheet | None) -> dict[str, tuple[str, str]]:
    if latest is None:
        return {}
    lists = (("relevant", latest.relevant), ("irrelevant", latest.irrelevant))
    return {row["feature"]: (where, row["reason"]) for where, rows in lists for row in rows}


class ThreadChoice(forms.ModelChoiceField):  # type: ignore[type-arg] # Django has no generic one at run time
    """A thread of the study."""

    def label_from_instance(self, obj: Interview) -> str:
        return f"{obj.title} ({obj.external_id})" if obj.external_id != obj.title else obj.title


class PairForm(RowForm):
    """Two threads that differ in one thing. ``threads`` are those of the study."""

    a = ThreadChoice(label="First thread", queryset=Interview.objects.none())
    b = ThreadChoice(label="Second thread", queryset=Interview.objects.none())
    # The newest pair of the study that the page knew.
    seen = NumberField(min_value=0)
    field_order = ("name", "a", "b")

    class Meta(RowForm.Meta):
        model = Pair
        fields = ("name", "differs", "expect", "reason")
        widgets: ClassVar = {"expect": forms.RadioSelect}

    def __init__(self, *args: Any, threads: InterviewQuerySet, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("a", "b"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 - for the type checker
            field.queryset = threads
            field.choices = [("", field.empty_label), *_list_choices(threads, field)]
        self.fields["reason"].needed_when = "needed if it replaces an earlier pair of this name"  # type: ignore[attr-defined]


def _list_choices(threads: InterviewQuerySet, field: forms.ModelChoiceField) -> list[tuple[int, str]]:  # type: ignore[type-arg] # as above
    """The threads by their names as people count: 2 before 10."""
    named = [(each.pk, field.label_from_instance(each)) for each in threads]
    return sorted(named, key=lambda choice: natural_key(choice[1]))
