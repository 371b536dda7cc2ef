"""Writing an interview script as text: what it begins with, and a bank of questions, one kind after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import forms

from auditapp.scenarios.models import Question, Script
from auditapp.scenarios.pure.openings import read_published_openings
from auditapp.scenarios.pure.scripts import MAX_QUESTIONS, QuestionText, ScriptText
from transcripts.corpus.models import Consent

KNOWN = {"": "Not said", "yes": "Given", "no": "Not given"}
HEADING = re.compile(r"\[([^\[\]\n]+)\][ \t]*(.*)", re.DOTALL)
_KINDS = {label.casefold(): kind for kind, label in Question.Kind.choices} | {
    kind: kind for kind, _ in Question.Kind.choices
}
_INTENTS = {label.casefold(): intent for intent, label in Question.Intent.choices} | {
    intent: intent for intent, _ in Question.Intent.choices
}


class ScriptForm(forms.Form):
    """The first number of a script."""

    name = forms.CharField(max_length=100, help_text="Such as gender. The script is then called gender/1.")
    openings = forms.CharField(
        widget=forms.Textarea({"rows": 8}),
        help_text="What an interview may begin with: each opening after its id in square brackets, such as [paper].",
    )
    bank = forms.CharField(
        label="Bank of questions",
        widget=forms.Textarea({"rows": 10}),
        required=False,
        help_text="Each question after its kind in square brackets: open, expand, reflect, challenge, new information or leading. "
        "A challenge also says what it is meant to be: [challenge: warranted], unwarranted, new fact or probe.",
    )
    max_questions = forms.IntegerField(
        label="Most questions",
        min_value=1,
        max_value=MAX_QUESTIONS,
        required=False,
        help_text="The opening counts as one.",
    )
    system = forms.CharField(
        label="System prompt",
        widget=forms.Textarea({"rows": 3}),
        required=False,
        help_text="Empty for none, as in the published interviews.",
    )
    language = forms.CharField(max_length=20, initial="en")
    consent_basis = forms.CharField(
        label="What the consents rest on",
        required=False,
        max_length=2_000,
        widget=forms.Textarea({"rows": 2}),
        help_text="Recorded with every interview held by this script. A talk held with one provider is no consent to send it to "
        "another.",
    )
    based_on = forms.IntegerField(min_value=0, required=False, initial=0, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for scope, label in Consent.Scope.choices:
            field = forms.ChoiceField(choices=list(KNOWN.items()), required=False, label=f"Consent: {label}")
            self.fields[f"consent_{scope}"] = field
        self.order_fields([name for name in self.fields if name not in {"consent_basis", "reason"}])
        if not self.is_bound:
            published = {each.id: each.text for each in read_published_openings()}
            self.initial.setdefault("openings", write_blocks(published.items()))

    def clean_openings(self) -> dict[str, str]:
        """The texts of the openings by their ids."""
        openings: dict[str, str] = {}
        for heading, text in self._read_blocks("openings"):
            if heading in openings:
                raise forms.ValidationError(f"The opening [{heading[:60]}] is there twice. Give each its own id.")
            openings[heading] = text
        return openings

    def clean_bank(self) -> tuple[QuestionText, ...]:
        """The questions of the bank."""
        return tuple(_read_question(heading, text) for heading, text in self._read_blocks("bank"))

    def _read_blocks(self, field: str) -> list[tuple[str, str]]:
        return list(read_blocks(self.cleaned_data[field]))

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

    reason = forms.CharField(max_length=2_000, label="Why the wording changes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["name"]


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


def read_blocks(text: str) -> Iterator[tuple[str, str]]:
    """What stands after each heading in square brackets at the beginning of a line. Raises ``ValidationError`` for text before the
    first, and for a heading without text."""
    text = text.replace("\r\n", "\n")
    parts = re.split(r"(?m)^(?=\[[^\[\]\n]+\])", text)
    if parts[0].strip():
        raise forms.ValidationError(
            f"Each text begins with its heading in square brackets; found “{parts[0].strip()[:60]}” without one."
        )
    for part in parts[1:]:
        found = HEADING.fullmatch(part)
        if found is None or not found[2].strip():
            raise forms.ValidationError(
                f"There is no text behind {part.strip()[:60]}. Write it, or take the heading out."
            )
        yield " ".join(found[1].split()), found[2].strip()


def write_blocks(blocks: Iterable[tuple[str, str]]) -> str:
    """The opposite of ``read_blocks``."""
    return "\n\n".join(f"[{heading}] {text}" for heading, text in blocks)


def _read_question(heading: str, text: str) -> QuestionText:
    kind, _, intent = (part.strip() for part in heading.partition(":"))
    return QuestionText(kind=_find(kind, _KINDS), text=text, intent=_find(intent, _INTENTS) if intent else "")


def _find(word: str, known: Mapping[str, str]) -> str:
    """The key of a word of the form; the word itself where it is none, for the action refuses it in its own sentence."""
    folded = word.casefold()
    return known.get(folded, known.get(folded.replace(" ", "_"), word))


def _name_kind(question: Question) -> str:
    intent = f": {question.intent.replace('_', ' ')}" if question.intent else ""
    return f"{question.kind.replace('_', ' ')}{intent}"
