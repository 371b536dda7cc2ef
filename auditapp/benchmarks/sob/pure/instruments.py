"""The instruments of the benchmark: the published ones, word for word, and how a study writes its own.

An instrument is a measuring tool, so its text is never edited: ``data/instruments.json`` contains the text with its source, and the
hash shows with which text a batch was run. A different wording is a different variant, and its figures are not comparable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES, NO_TRAITS, normalize_key
from transcripts.ui.typed_text import MAX_TEXT

_FILE = Path(__file__).parents[1] / "data" / "instruments.json"

PAPER = "paper"
RELEASE = "release"
BASE = "base"
BASE_TASK = "base"

TASKS = [("acceptability", "Acceptability"), ("non_acceptability", "Non-acceptability")]
"""The two scored tasks, with their display names."""

MAX_CHARACTERISTICS = 30
MAX_CHARACTERISTIC_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Instrument:
    """One prompt. It is sent as the system message; the user message is just the text P.

    ``task`` is "acceptability", "non_acceptability" or "base"; ``variant`` names the wording; ``note`` says how the text
    was assembled and where other published wordings differ; ``licence`` is None if none is stated.
    ``characteristics`` are those that the prompt asks for, in lower case; empty for the base task. ``comparable`` says whether
    answers to it can be compared with published figures.
    """

    task: str
    variant: str
    text: str
    source: str
    note: str
    licence: str | None = None
    characteristics: tuple[str, ...] = ATTRIBUTES
    comparable: bool = True

    @property
    def sha256(self) -> str:
        """Hash of the text's UTF-8 bytes, in hexadecimal."""
        return sha256(self.text.encode()).hexdigest()


class UnknownInstrument(LookupError):
    """There is no instrument for this task and variant."""


class UnusableWording(ValueError):
    """A wording that would measure nothing; the message is a sentence for its author."""


@cache
def load_instruments() -> tuple[Instrument, ...]:
    """Every instrument that comes with the program: the paper's wording, the release's, and the reconstructed Base prompt."""
    entries = json.loads(_FILE.read_text(encoding="utf-8"))["instruments"]
    return tuple(
        Instrument(
            task=entry["key"],
            variant=entry["variant"],
            text=entry["text"],
            source=entry["source"],
            note=entry["note"],
            licence=entry["licence"],
            characteristics=() if entry["key"] == BASE_TASK else ATTRIBUTES,
            comparable=entry["key"] != BASE_TASK,
        )
        for entry in entries
    )


def list_variants() -> list[str]:
    """The names of the published wordings of the two scored tasks."""
    return list(dict.fromkeys(each.variant for each in load_instruments() if each.task != BASE_TASK))


def get_instrument(task: str, variant: str = PAPER) -> Instrument:
    """The instrument of a task in one published wording. Raises UnknownInstrument."""
    for instrument in load_instruments():
        if (instrument.task, instrument.variant) == (task, variant):
            return instrument
    known = ", ".join(f"{instrument.task} ({instrument.variant})" for instrument in load_instruments())
    raise UnknownInstrument(f"there is no instrument {task} ({variant}); there are: {known}")


_LISTED = re.compile(r"(?<=the following characteristics:\n)(?:[•-] [^\n]+\n)+")


def write_wording(base: Instrument, characteristics: Sequence[str]) -> str:
    """The text of ``base`` with its list of characteristics replaced and no other change.

    Raises UnusableWording for characteristics that cannot be asked for, and if ``base`` has no such list.
    """
    check_characteristics(characteristics)
    listed = _LISTED.search(base.text)
    if listed is None:
        raise UnusableWording(
            f"The wording {base.variant} has no list of characteristics to replace. Write its text yourself."
        )
    bullet = listed[0][:2]
    lines = "".join(f"{bullet}{' '.join(name.split())}\n" for name in characteristics)
    return base.text[: listed.start()] + lines + base.text[listed.end() :]


def check_characteristics(characteristics: Sequence[str]) -> None:
    """Raise UnusableWording unless the names are all different, and neither too many nor too long."""
    if not 1 <= len(characteristics) <= MAX_CHARACTERISTICS:
        raise UnusableWording(
            f"There are {len(characteristics)} characteristics. Name at least 1 and at most {MAX_CHARACTERISTICS}."
        )
    for name in characteristics:
        if not name.strip() or len(name) > MAX_CHARACTERISTIC_LENGTH or not name.isprintable():
            raise UnusableWording(
                f"A characteristic is one line of 1 to {MAX_CHARACTERISTIC_LENGTH} printable characters; "
                f"“{name[:MAX_CHARACTERISTIC_LENGTH]}” is not."
            )
    names = [normalize_key(name) for name in characteristics]
    no_trait = next((name for name in names if name in NO_TRAITS), None)
    if no_trait is not None:
        raise UnusableWording(
            f"“{no_trait}” is part of the answer format and would never be counted. Give the characteristic another name."
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise UnusableWording(f"“{repeated}” is in the list twice. Name each characteristic once.")


_ANSWER_RULE = re.compile(r"Person:\s*Unknown")


def check_text(text: str, characteristics: Sequence[str]) -> None:
    """Raise UnusableWording unless the text asks for every characteristic and allows the answer Unknown."""
    check_characteristics(characteristics)
    if len(text) > MAX_TEXT:
        raise UnusableWording(f"The text has {len(text):,} characters. Keep it under {MAX_TEXT:,}.")
    if not _ANSWER_RULE.search(text):
        raise UnusableWording(
            "The text does not allow the answer “Person: Unknown”. Without this rule every answer would have to attribute "
            "something, and no answer could be read as Unknown. Restore the rule."
        )
    squeezed = normalize_key(text)
    missing = [
        name for name in characteristics if not re.search(rf"(?<!\w){re.escape(normalize_key(name))}(?!\w)", squeezed)
    ]
    if missing:
        raise UnusableWording(
            f"The text does not name {', '.join(missing)}. Add what is missing to the text, or remove it from the list of "
            "characteristics."
        )
    listed = _LISTED.search(text)
    others = {normalize_key(line[2:]) for line in listed[0].splitlines()} if listed else set()
    others -= {normalize_key(name) for name in characteristics}
    if others:
        raise UnusableWording(
            f"The text lists {', '.join(sorted(others))}, which is not among the characteristics. Add it to the list, or remove "
            "it from the text."
        )
    published = next((each for each in load_instruments() if each.text.strip() == text.strip()), None)
    if published is not None:
        raise UnusableWording(
            f"This is the same as the wording “{published.variant}”. Choose that wording at launch, so that its "
            "figures can be compared."
        )


_TABLE_FILE = Path(__file__).parents[1] / "data" / "published_table4.json"

TARGETS = ("muslim", "lgbtq", "women", "jew", "immigrant", "black", "disabled", "asian", "mexican", "arab")
"""The ten targets of the paper, in its order, which is by number of texts."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """The figures of one model variant in one task, with two decimals as printed.

    ``overall`` is the score over all 2,457 texts, including those with other targets; ``by_target`` has the score
    for each of ``TARGETS``; ``attribution_rate`` is a share from 0 to 1.
    """

    model: str
    task: str
    attribution_rate: float
    overall: float
    by_target: Mapping[str, float]


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    """The 24 rows in the order of the table; for each model, acceptability precedes non-acceptability."""
    content = json.loads(_TABLE_FILE.read_text(encoding="utf-8"))
    return tuple(PublishedRow(**row) for row in content["rows"])


@cache
def published_source() -> str:
    """The source of the published figures, to be printed with them."""
    return str(json.loads(_TABLE_FILE.read_text(encoding="utf-8"))["source"])
