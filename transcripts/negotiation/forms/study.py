"""What the page of a study is asked for: which threads, and whose work on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django import forms

from transcripts.corpus.models import Kind
from transcripts.negotiation.pure.choosing import NOT_KNOWN, TOGETHER
from transcripts.rounds.models import Assignment
from transcripts.studies.models import Project


class StudyForm(forms.Form):
    """Sent by GET; nothing in it is needed. ``stage`` and ``reasoning`` say what of a thread counts. Models, and interviews and
    trajectories, are together only where that is chosen.
    """

    coder = forms.ChoiceField(label="Coder", required=False)
    round = forms.ChoiceField(label="Round", required=False)
    model = forms.ChoiceField(label="Model", required=False)
    condition = forms.ChoiceField(label="Condition", required=False)
    kind = forms.ChoiceField(label="Kind", required=False, choices=[*Kind.choices, (TOGETHER, "Every kind together")])
    outcome = forms.ChoiceField(label="Outcome of pairs", required=False)
    stage = forms.ChoiceField(
        label="Stages", required=False, choices=[("", "What it says and its tools"), ("all", "Its reasoning too")]
    )
    openings = forms.ChoiceField(
        label="Codings",
        required=False,
        choices=[("", "All"), ("before", "Made before reasoning was opened")],
    )

    def __init__(
        self,
        data: Any,
        *,
        project: Project,
        coders: Sequence[str],
        codes: Sequence[tuple[str, str]],
        conditions: Sequence[str],
    ) -> None:
        super().__init__(data)
        self.rounds = {str(each.number): each for each in project.rounds.order_by("number")}
        labels = project.interviews.order_by("model_label").values_list("model_label", flat=True).distinct()
        self._choose("coder", [(each, each) for each in coders], empty="" if coders else "You")
        self._choose("round", [(number, each.name) for number, each in self.rounds.items()], empty="Every round")
        models = [(each or NOT_KNOWN, each or "not known") for each in labels]
        self._choose("model", [*models, (TOGETHER, "All models together")], empty="")
        self._choose("condition", [(each, each) for each in conditions], empty="Every condition")
        self._choose("outcome", codes, empty="None chosen")
        for name in ("round", "condition"):
            if len(cast("forms.ChoiceField", self.fields[name]).choices) == 1:  # type: ignore[arg-type]
                del self.fields[name]
        if not coders:
            del self.fields["coder"]

    def _choose(self, name: str, choices: Sequence[tuple[str, str]], *, empty: str) -> None:
        field = cast("forms.ChoiceField", self.fields[name])
        field.choices = [("", empty), *choices] if empty else list(choices)

    def find_interviews(self, project: Project) -> list[int] | None:
        """The numbers of the interviews that are looked at; ``None`` for all. A masked one has no condition."""
        data, interviews = self.chosen, project.interviews.order_by("pk")
        if not any(data.get(name) for name in ("round", "model", "condition", "kind")):
            return None
        if data.get("round"):
            dealt = Assignment.objects.filter(round=self.rounds[data["round"]], withdrawn_at__isnull=True)
            interviews = interviews.filter(pk__in=dealt.values("interview"))
        if model := data.get("model"):
            interviews = interviews.filter(model_label="" if model == NOT_KNOWN else model)
        if data.get("kind"):
            interviews = interviews.filter(kind=data["kind"])
        found = list(interviews)
        if condition := data.get("condition"):
            found = [each for each in found if not each.is_masked and each.metadata.get("condition") == condition]
        return [each.pk for each in found]

    @property
    def chosen(self) -> dict[str, Any]:
        """What narrows the threads, and how they are counted: without what is together."""
        return {name: value for name, value in self.cleaned_data.items() if value != TOGETHER}

    @property
    def query(self) -> list[tuple[str, str]]:
        """The selection as names and values."""
        return [(name, str(self.cleaned_data[name])) for name in self.fields if self.cleaned_data.get(name)]
