"""The description of a code in a REFI-QDA file: readable as text, and parsed again without loss.

The definition comes first; every further part has a heading line of its own, such as ``== Include ==``, with an empty
line before it. A line of the text that looks like a heading gets a backslash before it. A description that is not
exactly what we would have written is a definition as a whole, so that none of another program is taken apart.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

from transcripts.formats.codebook_content import CodeExample

PARTS = {"include": "Include", "exclude": "Exclude", "rules": "Rules"}
EXAMPLES = {"include": "Example", "exclude": "Counterexample", "anchor": "Anchor example"}
EXAMPLE_PARTS = {"note": "Note", "interview": "Interview", "sentence": "Sentence"}

_LABELS = "|".join([*PARTS.values(), *EXAMPLES.values(), *EXAMPLE_PARTS.values()])
_HEADING = re.compile(rf"(?:\A|\n\n)== ({_LABELS}) ==\n")
_TO_ESCAPE = re.compile(rf"^(?=\\*== (?:{_LABELS}) ==$)", re.MULTILINE)
_ESCAPED = re.compile(rf"^\\(?=\\*== (?:{_LABELS}) ==$)", re.MULTILINE)


class CodeDescription(NamedTuple):
    """The parts of a description. Of its ``examples`` ``code`` is not said; ``rules`` are those of a family."""

    definition: str = ""
    include: str = ""
    exclude: str = ""
    rules: str = ""
    examples: tuple[CodeExample, ...] = ()


def compose_description(parts: CodeDescription) -> str:
    """The parts as one text; ``read_description`` gives them back."""
    sections = [(label, getattr(parts, name)) for name, label in PARTS.items() if getattr(parts, name)]
    for example in parts.examples:
        sections.append((EXAMPLES[example.kind], example.quote))
        sections += [
            (label, str(getattr(example, name)))
            for name, label in EXAMPLE_PARTS.items()
            if getattr(example, name) not in {"", None}
        ]
    texts = [f"== {label} ==\n{_escape(text)}" for label, text in sections]
    return "\n\n".join([_escape(parts.definition), *texts] if parts.definition else texts)


def read_description(description: str) -> CodeDescription:
    """The parts of a text that ``compose_description`` wrote; any other text is the definition."""
    definition, *rest = _HEADING.split(description)
    found: dict[str, str] = {}
    examples: list[CodeExample] = []
    part_of = {label: name for name, label in PARTS.items()}
    kind_of = {label: kind for kind, label in EXAMPLES.items()}
    example_part_of = {label: name for name, label in EXAMPLE_PARTS.items()}
    for label, escaped in zip(rest[::2], rest[1::2], strict=True):
        text = _ESCAPED.sub("", escaped)
        if label in part_of:
            found[part_of[label]] = text
        elif label in kind_of:
            examples.append(CodeExample(code="", kind=kind_of[label], quote=text))
        elif examples:
            value: Any = int(text) if label == "Sentence" and re.fullmatch("[0-9]{1,9}", text) else text
            examples[-1] = replace(examples[-1], **{example_part_of[label]: value})
    parts = CodeDescription(_ESCAPED.sub("", definition), **found, examples=tuple(examples))
    return parts if compose_description(parts) == description else CodeDescription(description)


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(r"\\", text)
