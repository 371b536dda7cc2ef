"""The values of a coding besides its code: one declaration, which forms, actions, the API and exports use.

docs/adding.md lists the places to touch for a new value; here these are ``CHOICE_FIELDS`` and ``CodingValues``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db.models import TextChoices

from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.models import Coding, Enactment, Grounding, Level, Prompting
from transcripts.corpus.pure.boundaries import Extent


class ChoiceField(NamedTuple):
    """A value with fixed choices, and its presentation in forms and documents.

    ``family_flag`` names the attribute of a code's family that says whether its codes have this value at all. An empty
    ``empty_label`` means that the value is always given.
    """

    choices: type[TextChoices]
    label: str
    empty_label: str = ""
    family_flag: str = ""

    def applies_to(self, family: CodeFamily) -> bool:
        return not self.family_flag or bool(getattr(family, self.family_flag))


CHOICE_FIELDS = {
    "level": ChoiceField(Level, label="Level", family_flag="carries_level"),
    "enactment": ChoiceField(Enactment, label="Enactment", empty_label="not stated", family_flag="carries_enactment"),
    "grounding": ChoiceField(Grounding, label="Principle or guidance", empty_label="not said"),
    "prompting": ChoiceField(Prompting, label="Raised by the interviewer before", empty_label="from earlier turns"),
}
COLUMNS = (*CHOICE_FIELDS, "note", "quote_start", "quote_end", "attributes")


class CodingValues(NamedTuple):
    """The values of one coding. ``quote`` counts code points of the turn's text."""

    level: str = Level.SEMANTIC.value
    enactment: str = ""
    grounding: str = ""
    prompting: str = ""
    note: str = ""
    quote: Extent | None = None
    attributes: Mapping[str, str] = {}

    @classmethod
    def from_coding(cls, coding: Coding) -> CodingValues:
        return cls.from_columns({name: getattr(coding, name) for name in COLUMNS})

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> CodingValues:
        """Make the values from those of ``COLUMNS``."""
        values = {**columns}
        start, end = values.pop("quote_start"), values.pop("quote_end")
        return cls(**values, quote=None if start is None else Extent(start, end))

    def to_columns(self) -> dict[str, Any]:
        """The columns of a row with these values."""
        values = self._asdict()
        start, end = values.pop("quote") or (None, None)
        return {**values, "attributes": dict(self.attributes), "quote_start": start, "quote_end": end}

    def clean(self) -> CodingValues:
        """The values with each typed text on one line and without empty answers."""
        answers = {key: collapse_whitespace(answer) for key, answer in self.attributes.items() if answer.strip()}
        return self._replace(note=collapse_whitespace(self.note), attributes=answers)

    def list_states(self) -> dict[str, str]:
        """The chosen values, for audit events; level and enactment are always named."""
        return {
            name: value for name in CHOICE_FIELDS if (value := getattr(self, name)) or name in {"level", "enactment"}
        }

    def adapt_to(self, code: Code) -> CodingValues:
        """The values that a coding with ``code`` can also have."""
        return self._replace(
            enactment=self.enactment if code.family.carries_enactment else "",
            attributes=keep_answers(self.attributes, code),
        )


PLAIN = CodingValues()
"""The values of a coding for which nobody chose anything."""


def keep_answers(answers: Mapping[str, str], code: Code) -> dict[str, str]:
    """The answers that fit the questions of ``code``."""
    kept = {}
    for question in code.attributes:
        answer = answers.get(question["key"])
        if answer and (question["kind"] != "choice" or answer in question["choices"]):
            kept[question["key"]] = answer
    return kept


def collapse_whitespace(text: str) -> str:
    """A typed text on one line."""
    return " ".join(text.split())


def read_json(text: str | None) -> dict[str, Any]:
    """A JSON object that plain SQL returns as text; empty if there is none."""
    found: dict[str, Any] = json.loads(text) if text and text != "{}" else {}
    return found
