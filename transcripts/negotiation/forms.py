"""Forms for case sheets, pairs, stances and scores. The actions check whether the fields fit together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any, ClassVar, cast

from django import forms

from transcripts.coding.models import MAX_NOTE_LENGTH
from transcripts.corpus.models import Interview, InterviewQuerySet, Kind, Turn
from transcripts.history.views import NextForm
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score
from transcripts.negotiation.pure.episodes import NAMES_OF_KINDS
from transcripts.negotiation.pure.report import NOT_KNOWN, TOGETHER
from transcripts.rounds.models import Assignment
from transcripts.studies.models import Study
from transcripts.ui.forms import NumberField, OnceForm, RowForm, make_text_field
from transcripts.ui.typed_text import MAX_REASON

MAX_TURNS = 300
"""The first turns of the interviewer, up to this number, have a field; the intents of later turns stay unchanged."""
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
            reason.needed_when = "needed if the feature is listed"  # type: ignore[attr-defined]
            self.fields[f"why_{number}"] = reason
        for turn in self._turns:
            said = self._intents.get(str(turn.position), "")
            # Scripts and the API may say anything.
            others = {said: said} if said and said not in NAMES_OF_KINDS else {}
            words = shorten(" ".join(turn.text.split()), MAX_SHOWN, placeholder=" …")
            self.fields[f"intent_{turn.position}"] = forms.ChoiceField(
                label=f"Turn {turn.position}: {words}",
                choices=[("", "Not said"), *(NAMES_OF_KINDS | others).items()],
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
        """The arguments for ``write_case_sheet``; the form must be valid."""
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
        self.fields["reason"].needed_when = "needed if it replaces an earlier pair with this name"  # type: ignore[attr-defined]


def _list_choices(threads: InterviewQuerySet, field: forms.ModelChoiceField) -> list[tuple[int, str]]:  # type: ignore[type-arg] # as above
    """The threads by name, in natural order: 2 before 10."""
    named = [(each.pk, field.label_from_instance(each)) for each in threads]
    return sorted(named, key=lambda choice: natural_key(choice[1]))


MAX_EVIDENCE_LENGTH = 500
MAX_RANGE = 50
WITHOUT = "none"
GRADES = [("0", "0 not at all"), ("1", "1 in part"), ("2", "2 mostly"), ("3", "3 fully"), (WITHOUT, "not applicable")]
ANSWERS = [("1", "yes"), ("0", "no"), (WITHOUT, "unclear")]
NUMBER = re.compile(r"(\d{1,9})([a-z]*)")
RANGE = re.compile(r"(\d{1,9})\s*[-–]\s*(\d{1,9})")


class WrongNumbers(ValueError):
    """The typed text does not name sentences; the message is for the person who typed it."""


def read_sentence_numbers(text: str) -> list[str]:
    """The labels of sentences in "14, 16-18 20a": numbers, ranges and pieces of a split. Raises ``WrongNumbers``."""
    labels: list[str] = []
    for part in re.split(r"[,;\s]+", re.sub(r"\s*[-–]\s*", "-", text.strip())):
        if not part:
            continue
        if found := RANGE.fullmatch(part):
            first, last = int(found[1]), int(found[2])
            if not first <= last < first + MAX_RANGE:
                raise WrongNumbers(
                    f"{part} is not a valid range of sentences. Write the smaller number first, and at most {MAX_RANGE} sentences."
                )
            labels += [str(number) for number in range(first, last + 1)]
        elif found := NUMBER.fullmatch(part):
            labels.append(f"{int(found[1])}{found[2]}")
        else:
            raise WrongNumbers(
                f"{part!r} is not the number of a sentence. Write numbers as the desk shows them: 14, 16-18."
            )
    return list(dict.fromkeys(labels))


class StanceForm(NextForm, RowForm):
    """A new normative stance."""

    class Meta(RowForm.Meta):
        model = NormativeStance
        fields = ("name", *NormativeStance.texts, "author")


class NextStanceForm(StanceForm):
    """The next number of an existing stance."""

    needed = ("reason",)

    class Meta(StanceForm.Meta):
        fields = (*NormativeStance.texts, "author", "reason")


class ScoreForm(OnceForm):
    """One score of a thread, or one determination in it. ``turn`` is the number of a row."""

    value = forms.ChoiceField(label="Score", widget=forms.RadioSelect, error_messages={"required": "Choose one."})
    evidence = forms.CharField(
        label="Evidence",
        required=False,
        max_length=MAX_EVIDENCE_LENGTH,
        help_text="Sentence numbers as the desk shows them: 14, 16-18.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    above = forms.CharField(
        label="Evidence before this thread",
        required=False,
        max_length=MAX_EVIDENCE_LENGTH,
        help_text="Sentence numbers in the thread that this one branches from.",
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    note = make_text_field("Note", rows=2, max_length=MAX_NOTE_LENGTH)
    stance = NumberField()
    criterion = forms.ChoiceField(choices=Score.Criterion.choices, widget=forms.HiddenInput)
    turn = NumberField(required=False)
    feature = forms.CharField(max_length=100, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, is_graded: bool, hangs: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["idempotency_key"].required = True
        value = cast("forms.ChoiceField", self.fields["value"])
        value.choices = GRADES if is_graded else ANSWERS
        if not is_graded:
            value.label = "Answer"
        given, other = ("with a score", "without a score") if is_graded else ("with yes or no", "with unclear")
        self.fields["evidence"].needed_when = f"needed {given}{', here or below' if hangs else ''}"  # type: ignore[attr-defined]
        self.fields["note"].needed_when = f"needed {other}"  # type: ignore[attr-defined]
        if not hangs:
            del self.fields["above"]

    def clean_evidence(self) -> list[str]:
        return self._read("evidence")

    def clean_above(self) -> list[str]:
        return self._read("above")

    @property
    def given_value(self) -> int | None:
        value = self.cleaned_data["value"]
        return None if value == WITHOUT else int(value)

    def _read(self, field: str) -> list[str]:
        try:
            return read_sentence_numbers(self.cleaned_data[field])
        except WrongNumbers as error:
            raise forms.ValidationError(str(error)) from error


class StudyForm(forms.Form):
    """Sent by GET; every field is optional.

    ``stage`` and ``reasoning`` say which parts of a thread count. Models and interviews with trajectories are pooled on
    request.
    """

    coder = forms.ChoiceField(label="Coder", required=False)
    round = forms.ChoiceField(label="Round", required=False)
    model = forms.ChoiceField(label="Model", required=False)
    condition = forms.ChoiceField(label="Condition", required=False)
    kind = forms.ChoiceField(label="Kind", required=False, choices=[*Kind.choices, (TOGETHER, "Every kind together")])
    outcome = forms.ChoiceField(label="Outcome of pairs", required=False)
    stage = forms.ChoiceField(
        label="Stages",
        required=False,
        choices=[("", "What the model says and its tools"), ("all", "Its reasoning too")],
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
        study: Study,
        coders: Sequence[str],
        codes: Sequence[tuple[str, str]],
        conditions: Sequence[str],
    ) -> None:
        super().__init__(data)
        self.rounds = {str(each.number): each for each in study.rounds.order_by("number")}
        labels = study.interviews.order_by("model_label").values_list("model_label", flat=True).distinct()
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

    def find_interviews(self, study: Study) -> list[int] | None:
        """The ids of the selected interviews; ``None`` for all. A masked interview has no condition."""
        data, interviews = self.chosen, study.interviews.order_by("pk")
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
        """The filters and how threads are counted, without those that pool everything."""
        return {name: value for name, value in self.cleaned_data.items() if value != TOGETHER}

    @property
    def query(self) -> list[tuple[str, str]]:
        """The selection as names and values."""
        return [(name, str(self.cleaned_data[name])) for name in self.fields if self.cleaned_data.get(name)]


DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """A sort key for names: numbers in them by value, the rest by letters, ignoring case.

    At the same position, a number comes before letters.
    """
    parts = [part for part in DIGITS.split(name.casefold()) if part]
    return [(0, int(part), part) if DIGITS.fullmatch(part) else (1, 0, part) for part in parts]
