"""The settings of models: what their vendors document about them, and how a server samples the words of an answer.

The capabilities of model families come from their vendors' documents (prices never do); the names of models show which belong to
the same family. The first matching family in the file counts. A model that matches none gets its provider's defaults.

Sampling settings are stored among a variant's parameters, under the names of the chat completions API. For a setting that is
missing, nothing is sent, and the provider's default applies.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from transcripts.ui.typed_text import MAX_SEED

# Models that think before they answer, by how their vendors name them.
THINKS = re.compile(
    r"""(^|/)(o[1-9](-|$)|gpt-5|gpt-oss|deepseek-r|deepseek-v3\.[1-9]|qwq|qwen3|magistral|gemini-(2\.5|[3-9])|grok-(3-mini|4)
    |glm-4\.[5-9]|minimax-m|seed-oss|nemotron|exaone-deep|smollm3|hunyuan-a)|think|reason""",
    re.IGNORECASE | re.VERBOSE,
)
# Matches always: the empty text where a name begins with a digit.
LETTERS = re.compile(r"[^\W\d_]*")
_FILE = Path(__file__).parents[1] / "data" / "families.json"


@dataclass(frozen=True, slots=True)
class Family:
    """Models with the same capabilities. ``model`` matches the start of a name, ignoring case; an empty ``host`` matches any."""

    family: str
    provider: str
    host: str
    model: str
    capabilities: dict[str, str | bool | int]
    source: str


@lru_cache(maxsize=1)
def read_families() -> tuple[Family, ...]:
    """The families, in the order in which they are tried."""
    return tuple(Family(**entry) for entry in json.loads(_FILE.read_text(encoding="utf-8")))


def find_family(*, provider: str, base_url: str, model: str) -> Family | None:
    """The family of a model at an address, or ``None`` if unknown."""
    host = urlsplit(base_url).hostname or ""
    for family in read_families():
        if family.provider != provider or family.host not in {"", host}:
            continue
        if re.match(family.model, model, re.IGNORECASE):
            return family
    return None


def may_think(model: str) -> bool:
    """Whether a model of this name may think before it answers without being asked to."""
    return THINKS.search(model) is not None


def name_family(model: str) -> str:
    """The family of a model by its name: the letters after the vendor's part, up to the first other character.

    Empty if the name begins with a digit.
    """
    return LETTERS.match(model.rpartition("/")[2].lower())[0]  # type: ignore[index]


def group_by_family(models: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The families to which more than one of these models belong, with the labels of the models. ``models``: label and model
    name."""
    families: dict[str, list[str]] = {}
    for label, model in models:
        families.setdefault(name_family(model), []).append(label)
    return {family: labels for family, labels in families.items() if family and len(labels) > 1}


SAMPLING = ("temperature", "top_p", "seed", "stop")
MAX_TEMPERATURE = 2
MAX_STOPS = 4
MAX_STOP_LENGTH = 100


class SamplingError(ValueError):
    """A setting that no server could accept; the sentence names it and says what is possible."""


def check_sampling(
    *, temperature: float | None = None, top_p: float | None = None, seed: int | None = None, stop: Sequence[str] = ()
) -> dict[str, object]:
    """The settings that were given, in the form in which they are stored. Raises ``SamplingError``."""
    if temperature is not None and not (math.isfinite(temperature) and 0 <= temperature <= MAX_TEMPERATURE):
        raise SamplingError(f"The temperature must be a number from 0 to {MAX_TEMPERATURE}, not {temperature:g}.")
    if top_p is not None and not (math.isfinite(top_p) and 0 < top_p <= 1):
        raise SamplingError(f"Top p must be a number above 0 and at most 1, not {top_p:g}.")
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise SamplingError(f"The seed must be a whole number from 0 to {MAX_SEED:,}, not {seed}.")
    if len(stop) > MAX_STOPS:
        raise SamplingError(f"There can be at most {MAX_STOPS} stop texts, not {len(stop)}.")
    if any(not each or len(each) > MAX_STOP_LENGTH for each in stop):
        raise SamplingError(f"A stop text has 1 to {MAX_STOP_LENGTH} characters. To set none, leave stop out.")
    if len(set(stop)) < len(stop):
        raise SamplingError("Name each stop text once.")
    given: dict[str, object] = {"temperature": temperature, "top_p": top_p, "seed": seed, "stop": list(stop) or None}
    return {name: value for name, value in given.items() if value is not None}


def read_stop(typed: str) -> str:
    r"""A stop text as typed on a page or a command line, where ``\n`` means a line break and ``\t`` a tab."""
    return typed.replace("\\n", "\n").replace("\\t", "\t")


def write_stop(stop: str) -> str:
    """A stop text in the form of ``read_stop``."""
    return stop.replace("\n", "\\n").replace("\t", "\\t")


def describe_sampling(parameters: Mapping[str, object]) -> str:
    """The sampling settings among a variant's parameters, in words; empty if all are the provider's defaults."""
    parts = []
    for name in SAMPLING:
        value = parameters.get(name)
        if isinstance(value, list):
            parts.append(f"{name} {', '.join(f'“{write_stop(str(each))}”' for each in value)}")
        elif isinstance(value, (int, float)):
            parts.append(f"{name} {value:.10g}")
    return ", ".join(parts)
