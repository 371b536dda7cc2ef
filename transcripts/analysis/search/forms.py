"""The search form, whose values are also the address of its results, and the forms of the counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django import forms
from django.core.exceptions import ValidationError

from transcripts.analysis.search.pure.words import (
    EVERYBODY,
    MAX_LENGTH,
    MAX_TERMS,
    NOT_STATED,
    OWN,
    UNNAMED,
    Search,
    Speaker,
    State,
    Together,
    read_terms,
    split_answer,
    write_answer,
)
from transcripts.analysis.search.queries import Catalog
from transcripts.coding.models import Enactment, Grounding, Level, Prompting

ANY = ("", "Any")
TOGETHER = [
    ("", "Any of the codes"),
    (Together.SENTENCE, "All of them, on the same sentence"),
    (Together.TURN, "All of them, in the same turn"),
]
SPEAKERS = [
    (Speaker.MODEL, "Model"),
    (Speaker.INTERVIEWER, "Interviewer"),
    (Speaker.REASONING, "Model, reasoning"),
    (Speaker.SYSTEM, "System"),
    (Speaker.TOOLS, "Tool calls and results"),
]
STATES = [
    (State.UNCODED, "Not coded or decided yet"),
    (State.DECIDED, "Coded or decided"),
    (State.STALE, "Code changed since"),
    (State.MEMO, "With a memo"),
]
DISAGREED = (State.DISAGREED, "Coders disagree")
ENACTMENTS = [*Enactment.choices, (NOT_STATED, "Not stated")]


class Choices(NamedTuple):
    """The choices of one person in one study."""

    catalog: Catalog
    models: list[str]
    interviews: list[tuple[int, str]]
    coders: list[str]
    sees_all: bool
    codes_herself: bool


def check_words(words: str) -> None:
    """Raises ``ValidationError`` for more words and phrases than a search can have."""
    if len(read_terms(words)) > MAX_TERMS:
        raise ValidationError(f"The search has more than {MAX_TERMS} words or phrases. Leave out the most common ones.")


class SearchForm(forms.Form):
    """A search. Every field is optional; empty fields do not filter."""

    words = forms.CharField(
        required=False,
        max_length=MAX_LENGTH,
        validators=[check_words],
        label="Words",
        help_text="Finds sentences with all the words, also inside longer words. Put a phrase in “quotation marks”.",
        widget=forms.TextInput({"type": "search", "autocomplete": "off", "spellcheck": "false"}),
    )
    code = forms.MultipleChoiceField(required=False, label="Codes", widget=forms.CheckboxSelectMultiple)
    together = forms.ChoiceField(required=False, label="With several codes", choices=TOGETHER)
    family = forms.ChoiceField(required=False, label="Family")
    level = forms.ChoiceField(required=False, label="Level", choices=[ANY, *Level.choices])
    enactment = forms.ChoiceField(required=False, label="Enactment", choices=[ANY, *ENACTMENTS])
    grounding = forms.ChoiceField(required=False, label="Grounding", choices=[ANY, *Grounding.choices])
    prompted = forms.ChoiceField(required=False, label="Prompted", choices=[ANY, *Prompting.choices])
    answer = forms.ChoiceField(required=False, label="Answer to a code’s question")
    coder = forms.ChoiceField(required=False, label="Codings of")
    role = forms.ChoiceField(required=False, label="Said by", choices=[("", "Anybody"), *SPEAKERS])
    model = forms.ChoiceField(required=False, label="Model")
    interview = forms.TypedChoiceField(required=False, label="Interview", coerce=int, empty_value=None)
    turn = forms.IntegerField(
        required=False, label="Turn", min_value=1, max_value=2**31 - 1, help_text="Its number in the interview."
    )
    state = forms.ChoiceField(required=False, label="State")

    def __init__(self, data: object, choices: Choices) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.default_coder = find_default_coder(choices)
        self._offer("code", _group_codes(choices.catalog))
        self._offer("family", [ANY, *((each.identifier, each.name) for each in choices.catalog.families.values())])
        self._catalog = choices.catalog
        self._offer("answer", [ANY, *_group_answers(choices.catalog)])
        self._offer("coder", _list_coders(choices))
        self._offer("model", _list_models(choices))
        self._offer("interview", [ANY, *choices.interviews])
        self._offer("state", [ANY, *STATES, *([DISAGREED] if choices.sees_all else [])])

    def _offer(self, name: str, choices: Iterable[object]) -> None:
        self.fields[name].choices = list(choices)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or {}
        if cleaned.get("turn") and not cleaned.get("interview") and "interview" not in self.errors:
            self.add_error("interview", "Turns are numbered within an interview. Choose the interview too.")
        code = split_answer(str(cleaned.get("answer", "")))[0]
        if code and cleaned.get("code") and code not in cleaned["code"]:  # type: ignore[operator]
            name = self._catalog.codes[code].name
            self.add_error("answer", f"This is an answer to a question of {name}. Tick that code too, or no code.")
        return cleaned

    def get_search(self) -> Search:
        """The requested search; the form must be valid."""
        given = {**self.cleaned_data}
        model = given.pop("model")
        return Search(
            codes=tuple(given.pop("code")),
            coder=given.pop("coder") or self.default_coder,
            model=read_model(model),
            **given,
        )


def read_model(chosen: str) -> str | None:
    """The chosen model: "" for an unknown model, ``None`` for any."""
    return None if not chosen else "" if chosen == UNNAMED else chosen


def _list_models(choices: Choices) -> list[tuple[str, str]]:
    return [ANY, *((name or UNNAMED, name or "Not known") for name in choices.models)]


def find_default_coder(choices: Choices) -> str:
    """Whose codings are shown by default: one's own, or everybody's for people without codings."""
    return OWN if choices.codes_herself or not choices.sees_all else EVERYBODY


def _group_codes(catalog: Catalog) -> list[object]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for code in catalog.codes.values():
        name = code.name if code.identifier in catalog.current else f"{code.name} (no longer in the codebook)"
        groups.setdefault(catalog.families[code.family].name, []).append((code.identifier, name))
    return list(groups.items())


def _group_answers(catalog: Catalog) -> list[object]:
    """The answers that can be searched for, grouped by the code that asks the question."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for question in catalog.questions.values():
        answers = [(choice, choice) for choice in question.choices]
        groups.setdefault(question.code.name, []).extend(
            (write_answer(question.code.identifier, question.key, answer), f"{question.label} {words}")
            for answer, words in [*answers, (None, "(answered)"), ("", "(not answered)")]
        )
    return list(groups.items())


def _list_coders(choices: Choices) -> list[tuple[str, str]]:
    own = [(OWN, "Yourself")] if choices.codes_herself or not choices.sees_all else []
    others = [(EVERYBODY, "Everybody"), *((name, name) for name in choices.coders)] if choices.sees_all else []
    return [*own, *others]


class CountForm(forms.Form):
    """The selection of a table of counts."""

    family = forms.ChoiceField(required=False, label="Codes")
    coder = forms.ChoiceField(required=False, label="Codings of")

    def __init__(self, data: object, choices: Choices) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.default_coder = find_default_coder(choices)
        families = [(each.identifier, each.name) for each in choices.catalog.families.values()] + [("", "All codes")]
        self.fields["family"].choices = families  # type: ignore[attr-defined]
        self.fields["coder"].choices = _list_coders(choices)  # type: ignore[attr-defined]

    def get_coder(self) -> str:
        """Whose codings; the form must be valid."""
        return self.cleaned_data["coder"] or self.default_coder


class AnswerForm(CountForm):
    """The selection of a table of answers."""

    model = forms.ChoiceField(required=False, label="Model")

    def __init__(self, data: object, choices: Choices) -> None:
        super().__init__(data, choices)
        asking = {question.code.family for question in choices.catalog.questions.values()}
        families = [(each.identifier, each.name) for each in choices.catalog.families.values()]
        self.fields["family"].choices = [("", "All codes"), *(each for each in families if each[0] in asking)]  # type: ignore[attr-defined]
        self.fields["model"].choices = _list_models(choices)  # type: ignore[attr-defined]


class PairForm(CountForm):
    """The selection of a table of pairs of codes."""

    together = forms.ChoiceField(
        required=False,
        label="Together",
        choices=[(Together.SENTENCE, "On the same sentence"), (Together.TURN, "In the same turn")],
    )
    enactment = forms.ChoiceField(required=False, label="Moves", choices=ENACTMENTS)

    def __init__(self, data: object, choices: Choices) -> None:
        super().__init__(data, choices)
        if not choices.catalog.ids_with_enactment:
            del self.fields["enactment"]

    def get_enactment(self) -> str:
        """Which codings of moves count; the form must be valid."""
        return self.cleaned_data.get("enactment") or Enactment.ENACTED


class SheetForm(CountForm):
    """The selection of a score sheet; a second coder's is shown below the first."""

    beside = forms.ChoiceField(required=False, label="Compare with those of")

    def __init__(self, data: object, choices: Choices) -> None:
        super().__init__(data, choices)
        if choices.sees_all:
            self.fields["beside"].choices = [("", "Nobody"), *_list_coders(choices)]  # type: ignore[attr-defined]
        else:
            del self.fields["beside"]
