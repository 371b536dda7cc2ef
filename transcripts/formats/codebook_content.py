"""Everything a version of a codebook holds, as plain values that files are written from and read into."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CodeAttribute:
    """A question that a coding with the code answers; ``choices`` are the answers of one whose kind is "choice".

    A coding without an answer to a ``required`` one is refused.
    """

    key: str
    label: str
    kind: str = "text"
    choices: tuple[str, ...] = ()
    required: bool = False

    def as_json(self) -> dict[str, object]:
        """As files and the database hold it."""
        written: dict[str, object] = {"key": self.key, "label": self.label, "kind": self.kind}
        written["choices"] = list(self.choices)
        return {**written, "required": True} if self.required else written


@dataclass(frozen=True, kw_only=True)
class CodeContent:
    """One code. ``family`` and ``parent`` are identifiers; ``color`` is "#rrggbb"; a text that is "" is not given.

    ``terms`` are words whose mention by the interviewer counts as prompting the code; ``keyword_rules`` are lines, any of
    which makes the annotator of rules propose it. One that ``is_category`` groups the codes under it and is not applied.
    """

    identifier: str
    name: str
    family: str
    parent: str = ""
    group: str = ""
    aliases: tuple[str, ...] = ()
    definition: str = ""
    machine_definition: str = ""
    include: str = ""
    exclude: str = ""
    key: str = ""
    source: str = ""
    color: str = ""
    terms: tuple[str, ...] = ()
    attributes: tuple[CodeAttribute, ...] = ()
    keyword_rules: tuple[str, ...] = ()
    is_category: bool = False


@dataclass(frozen=True, kw_only=True)
class FamilyContent:
    """Codes with the same rules. ``unit`` is what is coded: a sentence, a turn or an interview.

    ``once_per_answer``: each code is applied to at most one sentence of an answer. ``applies_to`` says whose turns the codes
    are about: anybody's ("any"), the "model"'s or the "interviewer"'s.
    """

    identifier: str
    name: str
    description: str = ""
    unit: str = "sentence"
    carries_level: bool = True
    carries_enactment: bool = False
    once_per_answer: bool = False
    applies_to: str = "any"
    rules: str = ""
    color: str = ""


@dataclass(frozen=True, kw_only=True)
class CodeExample:
    """A passage that belongs to a code (include), does not (exclude) or fixes its meaning (anchor).

    ``code`` is the code's identifier, ``interview`` the interview's; ``sentence`` counts within it from 1. An example
    that names neither was invented for the codebook.
    """

    code: str
    kind: str
    quote: str
    note: str = ""
    interview: str = ""
    sentence: int | None = None


@dataclass(frozen=True, kw_only=True)
class CodebookContent:
    """Families, codes and examples in order. ``number`` is that of the version they were taken from."""

    title: str = ""
    origin: str = ""
    number: int | None = None
    families: tuple[FamilyContent, ...] = ()
    codes: tuple[CodeContent, ...] = ()
    examples: tuple[CodeExample, ...] = ()
