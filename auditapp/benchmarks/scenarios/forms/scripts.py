"""Writing an interview script as text: what it begins with, and a bank of questions, one kind after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from auditapp.benchmarks.scenarios.actions.asking import WITH_INTENT
from auditapp.benchmarks.scenarios.models import Question, Script
from auditapp.benchmarks.scenarios.pure.scripts import (
    MAX_QUESTIONS,
    NAME,
    QuestionText,
    ScriptText,
    read_published_openings,
)
from transcripts.corpus.models import Consent
from transcripts.history.forms import NextForm
from transcripts.ui.forms import RowForm

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
    """A text with its heading, which stands in square brackets in ``line``, from 1."""

    line: int
    heading: str
    text: str

    @property
    def place(self) -> str:
        """What the sentence about a fault in it begins with."""
        return f"Line {self.line}: "

    @property
    def shown(self) -> str:
        """The heading as it was written, shortened where it is long."""
        return f"[{self.heading if len(self.heading) <= MAX_FOUND else self.heading[:MAX_FOUND] + '…'}]"


class ScriptForm(NextForm, RowForm):
    """The first number of a script."""

    openings = forms.CharField(
        widget=forms.Textarea({"rows": 8}),
        # Lines are counted as they are typed.
        strip=False,
        help_text="What an interview may begin with: each opening after its id in square brackets, such as [paper].",
    )
    bank = forms.CharField(
        label="Bank of questions",
        widget=forms.Textarea({"rows": 10}),
        required=False,
        strip=False,
        help_text="Each question after its kind in square brackets: open, expand, reflect, challenge, new information or leading. "
        "A challenge also says what it is meant to be: [challenge: warranted], unwarranted, new fact or probe.",
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
                faults.append(f"{block.place}the opening {block.shown} is there twice. Give each its own id.")
            elif not NAME.fullmatch(block.heading) or len(block.heading) > MAX_OPENING_ID:
                faults.append(
                    f"{block.place}{block.shown} is no id. Write up to {MAX_OPENING_ID} letters, digits and - _ . in brackets."
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
            faults.append(f"A bank has at most {MAX_QUESTIONS} questions; this one has {len(questions)}.")
        _refuse(faults)
        return tuple(questions)

    def read(self, name: str = "") -> ScriptText:
        """The script, of a valid form."""
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
    """The next number of a script, with the reason of the change."""

    needed = ("reason",)

    class Meta(ScriptForm.Meta):
        fields = (*ScriptForm.Meta.fields[1:], "reason")


def describe_script(script: Script) -> dict[str, Any]:
    """What the form of the next number begins with."""
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
    """What stands after each heading in square brackets at the beginning of a line, and what is wrong with it, in sentences: text
    before the first, and a heading without text. ``what`` stands there ("question"), and ``heading`` is what each begins with."""
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
                f"{block.place}there is no text behind {block.shown}. Write the {what}, or take the heading out."
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
    """What is wrong with the heading of a question, in the words of the form; empty for nothing."""
    kinds, intents = (_list(map(str, each.labels)) for each in (Question.Kind, Question.Intent))
    if question.kind not in Question.Kind.values:
        return f"{block.shown} names no kind of question. Write one of these in the brackets: {kinds}."
    if question.intent and question.intent not in Question.Intent.values:
        return f"{block.shown} does not say what it is meant to be. Write one of these after the colon: {intents}."
    if question.kind == Question.Kind.CHALLENGE and not question.intent:
        return f"a challenge also says what it is meant to be, as in [challenge: warranted]. Choose one of: {intents}."
    if question.intent and question.kind not in WITH_INTENT:
        kind = Question.Kind(question.kind).label.lower()
        return f"only challenges and new information say what they are meant to be. Write [{kind}] alone."
    return ""


def _list(labels: Iterable[str]) -> str:
    return ", ".join(label.lower().removesuffix(" challenge") for label in labels)


def _find(word: str, known: Mapping[str, str]) -> str:
    """The key of a word of the form; the word itself where it is none."""
    folded = word.casefold()
    return known.get(folded, known.get(folded.replace(" ", "_"), word))


def _name_kind(question: Question) -> str:
    intent = f": {question.intent.replace('_', ' ')}" if question.intent else ""
    return f"{question.kind.replace('_', ' ')}{intent}"
