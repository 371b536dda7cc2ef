"""The instruments of the benchmark, word for word as published.

An instrument is measured with, so its text is never edited: ``data/instruments.json`` holds it with its source, and
its hash says which text a batch was run with. Another wording is another variant and not comparable.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "instruments.json"

PAPER = "paper"
RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Instrument:
    """One prompt. It is sent as the system message; the text P alone is the user message.

    ``task`` is "acceptability" or "non_acceptability"; ``variant`` names the published wording; ``note`` says how
    the text was assembled and where other published wordings differ; ``licence`` is None where none is stated.
    """

    task: str
    variant: str
    text: str
    source: str
    note: str
    licence: str | None = None

    @property
    def sha256(self) -> str:
        """Hash of the text's UTF-8 bytes, in hexadecimal."""
        return sha256(self.text.encode()).hexdigest()


class UnknownInstrument(LookupError):
    """There is no instrument for this task and variant."""


@cache
def load_instruments() -> tuple[Instrument, ...]:
    """Every published instrument, the paper's wording before the release's."""
    entries = json.loads(_FILE.read_text(encoding="utf-8"))["instruments"]
    return tuple(
        Instrument(
            task=entry["key"],
            variant=entry["variant"],
            text=entry["text"],
            source=entry["source"],
            note=entry["note"],
            licence=entry["licence"],
        )
        for entry in entries
    )


def get_instrument(task: str, variant: str = PAPER) -> Instrument:
    """The instrument of a task in one published wording. Raises UnknownInstrument."""
    for instrument in load_instruments():
        if (instrument.task, instrument.variant) == (task, variant):
            return instrument
    known = ", ".join(f"{instrument.task} ({instrument.variant})" for instrument in load_instruments())
    raise UnknownInstrument(f"there is no instrument {task} ({variant}); there are: {known}")
