"""Models whose labels hang on one thing, known beforehand: each of the checks before a batch has one that must fail it.

They read the themes of the seeded codebook and know four of them: by words of the definition, or by the name. In a sentence
they look for one word each. ``PARTS`` are the models by name. As a critic each of them says the same (``VERDICTS``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tests.support.obedient_model import MATERIAL

CODE = re.compile(r"^code (\S+): (.*)$", re.MULTILINE)
# Word of a sentence: name and words of the definition of the code that it stands for.
KNOWN = {
    "stereotype": ("Models and Metamodels", "beliefs or expectations about a social group"),
    "often": ("Identity as Context", "keeps group membership as a relevant clue"),
    "both": ("Balance", "valuable and risky at once"),
    "history": ("Systemic Grounding", "structural or historical origin"),
}


# What a critic says of a sentence with such a word; it upholds all others.
VERDICTS = {"often": "reverse", "history": "hard to say"}


class Told(NamedTuple):
    """A code as the model was told it."""

    identifier: str
    text: str


def pretend(part: str, instructions: str, message: str, time: int = 1) -> str:
    """The answer of a model to its ``time``-th call with one prompt."""
    found = MATERIAL.search(message)
    if found is None:
        return "There is nothing to read."
    material = json.loads(found[2])
    if "claims" in material:
        return _judge(material["sentence"])
    pieces = material["turn"]
    sentences = {piece["sentence"]: piece["text"] for piece in pieces if "sentence" in piece}
    codes = [Told(*each) for each in CODE.findall(instructions)]
    entries = PARTS[part](codes, sentences, time)
    return json.dumps(
        {
            "sentences": [
                {"sentence": number, "codings": [_put(code, sentences[number]) for code in picked]}
                for number, picked in entries.items()
            ]
        }
    )


def _judge(sentence: str) -> str:
    verdict = next((said for word, said in VERDICTS.items() if word in sentence), "uphold")
    return json.dumps({"rationale": "as the model is made", "verdict": verdict})


def _put(code: str, text: str) -> dict[str, str]:
    return {"rationale": "as the model is made", "quote": text.split(maxsplit=1)[0], "code": code}


Entries = Mapping[int, Sequence[str]]


def _read(codes: Sequence[Told], sentences: Mapping[int, str], *, by_name: bool) -> dict[int, list[str]]:
    picked: dict[int, list[str]] = {number: [] for number in sentences}
    for number, text in sentences.items():
        for word, (name, definition) in KNOWN.items():
            if word in text:
                picked[number] += [
                    code.identifier
                    for code in codes
                    if (code.text.startswith(f"{name}.") if by_name else definition in code.text)
                ]
    return picked


def _by_definition(codes: Sequence[Told], sentences: Mapping[int, str], time: int) -> Entries:
    return _read(codes, sentences, by_name=False)


def _by_name(codes: Sequence[Told], sentences: Mapping[int, str], time: int) -> Entries:
    return _read(codes, sentences, by_name=True)


def _first_told(codes: Sequence[Told], sentences: Mapping[int, str], time: int) -> Entries:
    return dict.fromkeys(sentences, (codes[0].identifier,))


def _another_each_time(codes: Sequence[Told], sentences: Mapping[int, str], time: int) -> Entries:
    return _by_definition(codes, sentences, time) if time % 2 else dict.fromkeys(sentences, ())


def _own_label(codes: Sequence[Told], sentences: Mapping[int, str], time: int) -> Entries:
    return dict.fromkeys(sentences, ("theme.of_my_own",))


def _half(codes: Sequence[Told], sentences: Mapping[int, str], time: int) -> Entries:
    numbers = sorted(sentences)[: max(1, len(sentences) // 2)]
    read = _by_definition(codes, sentences, time)
    return {number: read[number] for number in numbers}


PARTS: dict[str, Callable[[Sequence[Told], Mapping[int, str], int], Entries]] = {
    "definition": _by_definition,
    "name": _by_name,
    "first": _first_told,
    "fickle": _another_each_time,
    "own label": _own_label,
    "half": _half,
}
