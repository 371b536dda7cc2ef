"""Forms for scripts and interviews. A script of interviews is written as text: its openings, and a bank of questions by kind."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from auditapp.batches.forms import LaunchOptionsForm, cap_field, list_variants
from auditapp.benchmarks.scenarios.actions.asking import WITH_INTENT
from auditapp.benchmarks.scenarios.actions.scripts import MAX_CONDITION_NAME
from auditapp.benchmarks.scenarios.actions.storing import MAX_INCLUSION
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.measures import PROMPTED
from auditapp.benchmarks.scenarios.pure.scripts import (
    MAX_QUESTIONS,
    NAME,
    QuestionText,
    ScriptText,
    read_published_openings,
)
from auditapp.benchmarks.scenarios.queries.runs import list_suites
from auditapp.llm.models import ModelVariant
from transcripts.corpus.models import Consent
from transcripts.history.views import NextForm
from transcripts.studies.models import Study
from transcripts.ui.forms import NumberField, OnceForm, RowForm, RowsField, limit_size
from transcripts.ui.typed_text import MAX_REASON

KNOWN = {"": "Not said", "yes": "Given", "no": "Not given"}
HEADING = re.compile(r"\[([^\[\]\n]+)\][ \t]*(.*)", re.DOTALL)
MAX_OPENING_ID = 60
MAX_FOUND = 60
_KINDS = {label.casefold(): kind for kind, label in Question.Kind.choices} | {
    kind: kind for kind, _ in Question.Kind.choices
}
_INTENTS = {label.casefold(): intent for intent, label in Question.Intent.choices} | {
    intent: intent for intent, _ in Question.Intent.choices
}


@dataclass(frozen=True)
class Block:
    """A text with its heading, which is in square brackets in line ``line``, counted from 1."""

    line: int
    heading: str
    text: str

    @property
    def place(self) -> str:
        """The beginning of an error message about the block."""
        return f"Line {self.line}: "

    @property
    def shown(self) -> str:
        """The heading as it was written, shortened if it is long."""
        return f"[{self.heading if len(self.heading) <= MAX_FOUND else self.heading[:MAX_FOUND] + '…'}]"


class ScriptForm(NextForm, RowForm):
    """The first number of a script."""

    openings = forms.CharField(
        widget=forms.Textarea({"rows": 8}),
        # White space is not stripped, so that line numbers match what was typed.
        strip=False,
        help_text="The openings to choose from. Write each after its id in square brackets, such as [paper].",
    )
    bank = forms.CharField(
        label="Bank of questions",
        widget=forms.Textarea({"rows": 10}),
        required=False,
        strip=False,
        help_text="Write each question after its kind in square brackets: open, expand, reflect, challenge, new information or "
        "leading. A challenge also gives its intent: [challenge: warranted], unwarranted, new fact or probe.",
    )

    class Meta(RowForm.Meta):
        model = Script
        fields = ("name", "max_questions", "system", "language", "consent_basis")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for scope, label in Consent.Scope.choices:
            field = forms.ChoiceField(choices=list(KNOWN.items()), required=False, label=f"Consent: {label}")
            self.fields[f"consent_{scope}"] = field
        self.fields["consent_basis"].needed_when = "where a consent is given"  # type: ignore[attr-defined]
        consents = [name for name in self.fields if name.startswith("consent_") and name != "consent_basis"]
        self.order_fields(["name", "openings", "bank", "max_questions", "system", "language", *consents])
        if not self.is_bound:
            published = {each.id: each.text for each in read_published_openings()}
            self.initial.setdefault("openings", write_blocks(published.items()))

    def clean_openings(self) -> dict[str, str]:
        """The texts of the openings by their ids."""
        blocks, faults = read_blocks(
            self.cleaned_data["openings"], what="opening", heading="its id in square brackets, such as [paper]"
        )
        openings: dict[str, str] = {}
        for block in blocks:
            if block.heading in openings:
                faults.append(f"{block.place}the opening {block.shown} occurs twice. Give each its own id.")
            elif not NAME.fullmatch(block.heading) or len(block.heading) > MAX_OPENING_ID:
                faults.append(
                    f"{block.place}{block.shown} is not an id. Write up to {MAX_OPENING_ID} letters, digits and - _ . in brackets."
                )
            openings[block.heading] = block.text
        _refuse(faults)
        return openings

    def clean_bank(self) -> tuple[QuestionText, ...]:
        """The questions of the bank."""
        blocks, faults = read_blocks(
            self.cleaned_data["bank"], what="question", heading="its kind in square brackets, such as [open]"
        )
        questions = []
        for number, block in enumerate(blocks, 1):
            question = _read_question(block)
            if fault := _find_fault(question, block):
                faults.append(f"Question {number}, {block.place[0].lower()}{block.place[1:]}{fault}")
            questions.append(question)
        if len(questions) > MAX_QUESTIONS:
            faults.append(f"A bank can have at most {MAX_QUESTIONS} questions; this one has {len(questions)}.")
        _refuse(faults)
        return tuple(questions)

    def read(self, name: str = "") -> ScriptText:
        """The script in a valid form."""
        told = self.cleaned_data
        consents = {
            scope: told[f"consent_{scope}"] == "yes" for scope in Consent.Scope.values if told[f"consent_{scope}"]
        }
        return ScriptText(
            name=name or " ".join(told["name"].split()),
            use=Script.Use.INTERVIEW.value,
            questions=told["bank"],
            system=told["system"].replace("\r\n", "\n"),
            openings=told["openings"],
            max_questions=told["max_questions"],
            consents=consents,
            consent_basis=told["consent_basis"].replace("\r\n", "\n").strip(),
            language=told["language"].strip(),
        )


class NextScriptForm(ScriptForm):
    """The next number of a script, with the reason for the change."""

    needed = ("reason",)

    class Meta(ScriptForm.Meta):
        fields = (*ScriptForm.Meta.fields[1:], "reason")


def describe_script(script: Script) -> dict[str, Any]:
    """The initial values of the form for the next number."""
    consents = {f"consent_{scope}": "yes" if given else "no" for scope, given in script.consents.items()}
    questions = script.questions.order_by("position")
    return {
        "openings": write_blocks((each["id"], each["text"]) for each in script.openings),
        "bank": write_blocks((_name_kind(each), each.text) for each in questions),
        "max_questions": script.max_questions,
        "system": script.system,
        "language": script.language,
        "consent_basis": script.consent_basis,
        "based_on": script.number,
        **consents,
    }


def read_blocks(text: str, *, what: str, heading: str) -> tuple[list[Block], list[str]]:
    """The text after each heading in square brackets at the beginning of a line; and the errors, as sentences: text before the
    first heading, and headings without text. ``what`` is the name of a block ("question"); ``heading`` describes a heading."""
    parts = re.split(r"(?m)^(?=\[[^\[\]\n]+\])", text.replace("\r\n", "\n"))
    blocks: list[Block] = []
    faults: list[str] = []
    if parts[0].strip():
        line = 1 + parts[0][: len(parts[0]) - len(parts[0].lstrip())].count("\n")
        begun = parts[0].split()
        faults.append(f"Line {line}: “{' '.join(begun)[:MAX_FOUND]}” has no heading. Begin each {what} with {heading}.")
    line = 1 + parts[0].count("\n")
    for part in parts[1:]:
        found = HEADING.fullmatch(part)
        assert found is not None  # noqa: S101  (the text was split there)
        block = Block(line, " ".join(found[1].split()), found[2].strip())
        if not block.text:
            faults.append(
                f"{block.place}there is no text after {block.shown}. Write the {what}, or remove the heading."
            )
        blocks.append(block)
        line += part.count("\n")
    return blocks, faults


def _refuse(faults: list[str]) -> None:
    if faults:
        raise forms.ValidationError(faults)


def write_blocks(blocks: Iterable[tuple[str, str]]) -> str:
    """The opposite of ``read_blocks``."""
    return "\n\n".join(f"[{heading}] {text}" for heading, text in blocks)


def _read_question(block: Block) -> QuestionText:
    kind, _, intent = (part.strip() for part in block.heading.partition(":"))
    return QuestionText(kind=_find(kind, _KINDS), text=block.text, intent=_find(intent, _INTENTS) if intent else "")


def _find_fault(question: QuestionText, block: Block) -> str:
    """What is wrong with the heading of a question, in the words of the form; empty if it is valid."""
    kinds, intents = (_list(map(str, each.labels)) for each in (Question.Kind, Question.Intent))
    if question.kind not in Question.Kind.values:
        return f"{block.shown} is not a kind of question. Write one of these in the brackets: {kinds}."
    if question.intent and question.intent not in Question.Intent.values:
        return f"{block.shown} is not a known intent. Write one of these after the colon: {intents}."
    if question.kind == Question.Kind.CHALLENGE and not question.intent:
        return f"a challenge also gives its intent, as in [challenge: warranted]. Choose one of: {intents}."
    if question.intent and question.kind not in WITH_INTENT:
        kind = Question.Kind(question.kind).label.lower()
        return f"only challenges and new information have an intent. Write [{kind}] alone."
    return ""


def _list(labels: Iterable[str]) -> str:
    return ", ".join(label.lower().removesuffix(" challenge") for label in labels)


def _find(word: str, known: Mapping[str, str]) -> str:
    """The key of a word of the form; the word itself if it has no key."""
    folded = word.casefold()
    return known.get(folded, known.get(folded.replace(" ", "_"), word))


def _name_kind(question: Question) -> str:
    intent = f": {question.intent.replace('_', ' ')}" if question.intent else ""
    return f"{question.kind.replace('_', ' ')}{intent}"


MAX_SEED = 999_999
# No opening has this name: see scripts.NAME.
BALANCED = "*"
HERE, RECORDED = "here", "recorded"

# For fields that are required only sometimes: what the label adds, and the error message if the field is empty.
NEEDED_WHEN = {
    "variant": "for an interview held here",
    "cap": "for models that cost money",
    "model_as_shown": "for a recorded interview",
    "surface": "for a recorded interview",
    "seed": "for a balanced opening",
}
NEEDED = {
    "variant": "Choose the model to ask.",
    "model_as_shown": "Give the model's name as the chat page shows it.",
    "surface": "Say where the interview is held, such as chat.example.",
    "seed": "Give a seed, or choose an opening.",
}
MAX_UPLOAD_BYTES = 20_000_000
CONDITIONS = 3
"""How many conditions the launch page has room for; the command accepts more."""


class KeyedForm(OnceForm):
    """A form that acts once, and in which choices in some fields hide others."""

    def _forget(self, *names: str) -> None:
        """Ignore values and errors of these fields, because another choice hides them."""
        for name in names:
            self.errors.pop(name, None)
            self.cleaned_data[name] = self.fields[name].clean("")


class OpenSessionForm(KeyedForm, RowForm):
    """The model of an interview, and how an interview with one script begins."""

    script = forms.ModelChoiceField(queryset=Script.objects.none(), widget=forms.HiddenInput)
    opening = forms.ChoiceField(
        initial=BALANCED,
        help_text="The opening of the interview. Balanced: the opening with which this model has been asked least often.",
    )
    seed = forms.IntegerField(
        min_value=0, max_value=MAX_SEED, required=False, help_text="Chooses among equally frequent openings."
    )
    where = forms.ChoiceField(
        label="Where it is held",
        choices=[(HERE, "Here, with a model of an account"), (RECORDED, "On a public chat page, recorded here")],
        widget=forms.RadioSelect,
        initial=HERE,
    )
    variant = forms.ModelChoiceField(
        queryset=ModelVariant.objects.none(), required=False, label="Model", empty_label="Choose a model"
    )
    cap = cap_field()
    optional = ("label",)
    field_order = ("script", "opening", "seed", "where", "variant", "cap")

    class Meta(RowForm.Meta):
        model = Session
        fields = ("model_as_shown", "surface", "vendor", "tier", "label")

    def __init__(self, *args: Any, script: Script, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["script"].queryset = Script.objects.filter(pk=script.pk)  # type: ignore[attr-defined]
        self.fields["script"].initial = script.pk
        self.fields["variant"].queryset = list_variants()  # type: ignore[attr-defined]
        self.fields["seed"].initial = lambda: random.randint(0, MAX_SEED)  # noqa: S311 - a balanced order, not a secret
        names = [each["id"] for each in script.openings]
        choices = [(BALANCED, "Balanced by seed"), *((name, name) for name in names)]
        self.fields["opening"].choices = choices  # type: ignore[attr-defined]
        for name, needed_when in NEEDED_WHEN.items():
            self.fields[name].needed_when = needed_when  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Check the fields that are required for this kind of interview, and add a seed for a balanced opening."""
        told = super().clean() or self.cleaned_data
        is_recorded = told.get("where") == RECORDED
        self._forget(*(("variant", "cap") if is_recorded else ("model_as_shown", "surface")))
        if told.get("opening") != BALANCED:
            self._forget("seed")
        for name in ("model_as_shown", "surface") if is_recorded else ("variant",):
            if name not in self.errors and not told.get(name):
                self.add_error(name, NEEDED[name])
        if told.get("opening") == BALANCED and told.get("seed") is None and "seed" not in self.errors:
            self.add_error("seed", NEEDED["seed"])
        return told

    def read(self) -> dict[str, Any]:
        """The arguments of ``open_session``, from a valid form."""
        told = self.cleaned_data
        is_recorded = told["where"] == RECORDED
        return {
            "script": told["script"],
            "opening": "" if told["opening"] == BALANCED else told["opening"],
            "seed": told["seed"],
            "variant": None if is_recorded else told["variant"],
            "model_as_shown": told["model_as_shown"] if is_recorded else "",
            "surface": told["surface"] if is_recorded else "",
            "vendor": told["vendor"],
            "tier": told["tier"],
            "label": told["label"],
            "cap_usd": None if is_recorded else told["cap"],
            "idempotency_key": told["idempotency_key"],
        }


class AskForm(KeyedForm, RowForm):
    """The next question and, in a recorded interview, its answer.

    ``seen`` is the number of the last question on the page; ``warned`` has the codes about which the page warned that the question
    would raise them; ``confirmed`` is the length of a very long question that the page asked the person to confirm.
    """

    text = forms.CharField(
        label="Question",
        widget=forms.Textarea({"rows": 4}),
        strip=False,
        error_messages={"required": "The question is empty. Write it first."},
    )
    answer = forms.CharField(
        label="Answer, as the page shows it",
        widget=forms.Textarea({"rows": 8}),
        strip=False,
        error_messages={"required": "The answer is empty. Paste it first."},
    )
    reasoning = forms.CharField(
        label="Reasoning that the page shows", widget=forms.Textarea({"rows": 3}), strip=False, required=False
    )
    seen = NumberField(min_value=0, required=False)
    warned = forms.CharField(required=False, widget=forms.HiddenInput)
    confirmed = NumberField(min_value=0, required=False)
    radios = ("kind", "intent")
    field_order = ("kind", "intent")

    class Meta(RowForm.Meta):
        model = Question
        fields = ("kind", "intent")

    def __init__(self, *args: Any, is_recorded: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["intent"].needed_when = "for a challenge"  # type: ignore[attr-defined]
        if not is_recorded:
            del self.fields["answer"], self.fields["reasoning"]

    def read(self) -> dict[str, Any]:
        """The arguments of ``ask`` or ``record_answer``, from a valid form."""
        return {name: value for name, value in self.cleaned_data.items() if name not in {"warned", "confirmed"}}

    def clean(self) -> dict[str, Any]:
        """Ignore an intent that was chosen earlier if the kind of question hides the field."""
        told = super().clean() or self.cleaned_data
        if told.get("kind") not in WITH_INTENT:
            self._forget("intent")
        return told


class CloseForm(forms.Form):
    """Whether an interview is analysed, and why."""

    inclusion = forms.CharField(
        max_length=MAX_INCLUSION,
        initial="included",
        error_messages={
            "required": "Say whether the interview will be analysed: included, excluded, or a word of your own."
        },
        help_text="included, excluded, or a word of your own. An excluded interview is left out of every list and "
        "figure.",
    )
    reason = forms.CharField(max_length=MAX_REASON, error_messages={"required": "Give the reason in a few words."})


class DiscardForm(forms.Form):
    """Why a session is not stored."""

    prefix = "discard"
    reason = forms.CharField(max_length=MAX_REASON, error_messages={"required": "Say why it is discarded."})


class LoadForm(forms.Form):
    """A file of scripts of scenarios."""

    file = forms.FileField(
        label="File of scripts",
        help_text="JSON lines in UTF-8, one script on each line, as described in docs/reference/formats.md. The file is loaded "
        "completely or not at all.",
        validators=[limit_size(MAX_UPLOAD_BYTES, "Load a larger one with `manage.py scenario load`.")],
    )
    suite = forms.CharField(
        required=False,
        max_length=100,
        help_text="The suite for scripts that name none. If empty, the name of the file is used.",
    )
    reason = forms.CharField(
        required=False,
        max_length=MAX_REASON,
        help_text="Needed if the study already has a script of this name with another wording. The new wording becomes its next "
        "number.",
    )


class ReportForm(forms.Form):
    """Which cases are listed, and whose codings determine the outcomes of cases that name a code."""

    coder = forms.ChoiceField(label="Codings of", required=False)
    only = forms.BooleanField(
        label="Only unexpected",
        required=False,
        help_text="Cases with an unexpected answer, and the threads that have it.",
    )

    def __init__(self, data: object, counts: Mapping[str, int]) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        people = [(who, f"{who} alone ({count} threads)") for who, count in counts.items()]
        self.fields["coder"].choices = [("", "all coders, as adjudicated"), *people]  # type: ignore[attr-defined]
        if not people:
            del self.fields["coder"]


class LaunchForm(LaunchOptionsForm):
    """The suite, conditions, models and options of a launch."""

    what = (
        ("Suite", ("suite",)),
        (
            "Conditions",
            (
                "has_unprompted",
                *(f"{part}_{number}" for number in range(1, CONDITIONS + 1) for part in ("name", "text")),
            ),
        ),
        ("Models", ("models",)),
    )

    suite = forms.ChoiceField(help_text="The latest number of each of its scripts is run.")
    has_unprompted = forms.BooleanField(
        required=False,
        initial=True,
        label="Unprompted",
        help_text="Each case is also run without a system text written by the team, to measure how much remains without it.",
    )
    models = RowsField(
        queryset=ModelVariant.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one model."},
    )

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        suites = list_suites(study)
        self.fields["suite"].choices = [(each.name, f"{each.name}: {each.cases:,} scripts") for each in suites]  # type: ignore[attr-defined]
        for number in range(1, CONDITIONS + 1):
            self.fields[f"name_{number}"] = forms.CharField(
                required=False,
                max_length=MAX_CONDITION_NAME,
                label=f"Name of condition {number}",
                initial=PROMPTED if number == 1 else "",
                help_text=f"“{PROMPTED}” is the condition that unprompted sessions are compared with."
                if number == 1
                else "",
            )
            self.fields[f"text_{number}"] = forms.CharField(
                required=False,
                strip=False,
                label=f"System text of condition {number}",
                widget=forms.Textarea({"rows": 4}),
                help_text="It is placed before each script's own system text. For no further condition, leave name and text "
                "empty."
                if number == 1
                else "",
            )
        self.fields["models"].queryset = list_variants()  # type: ignore[attr-defined]
        self.fields["repeats"].help_text = "How often each case is run under each condition."
        self.fields["pilot"].label = "Pilot, calls of each arm"
        self.fields["pilot"].help_text = (
            "Whole sessions with about this number of calls are run first. Then the batch shows an estimate and waits for your "
            "approval. These sessions count. 0 for no pilot."
        )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        for number in range(1, CONDITIONS + 1):
            name, text = given.get(f"name_{number}", ""), given.get(f"text_{number}", "")
            if text.strip() and not name:
                self.add_error(f"name_{number}", "Name this condition.")
            if name and not text.strip() and f"name_{number}" in self.changed_data:
                self.add_error(f"text_{number}", f"Write the system text of {name}, or remove its name.")
        names = [name.casefold() for name in self._read_conditions(given)]
        named = [given.get(f"name_{number}", "") for number in range(1, CONDITIONS + 1) if given.get(f"text_{number}")]
        if len(names) < len([name for name in named if name]):
            self.add_error(None, "Give each condition its own name.")
        return given

    def read(self) -> dict[str, Any]:
        """The arguments of ``plan_scenarios`` and ``launch_scenarios``, from a valid form."""
        chosen = self.cleaned_data
        return {
            "suite": chosen["suite"],
            "variants": list(chosen["models"]),
            "conditions": self._read_conditions(chosen),
            "has_unprompted": chosen["has_unprompted"],
        }

    @staticmethod
    def _read_conditions(given: Mapping[str, Any]) -> dict[str, str]:
        pairs = (
            (given.get(f"name_{number}", ""), given.get(f"text_{number}", "")) for number in range(1, CONDITIONS + 1)
        )
        return {name: text.replace("\r\n", "\n") for name, text in pairs if name and text.strip()}
