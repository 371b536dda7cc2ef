"""Settings of sampling: how a server draws the words of an answer. Stored among a variant's parameters, under the names of
the chat completions API. A setting that is not there is the provider's default: nothing is sent for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from transcripts.ui.typed_text import MAX_SEED

SAMPLING = ("temperature", "top_p", "seed", "stop")
MAX_TEMPERATURE = 2
MAX_STOPS = 4
MAX_STOP_LENGTH = 100


class SamplingError(ValueError):
    """A setting that no server could take; the sentence says which and what is possible."""


def check_sampling(
    *, temperature: float | None = None, top_p: float | None = None, seed: int | None = None, stop: Sequence[str] = ()
) -> dict[str, object]:
    """Those of the settings that are given, as they are stored. Raises ``SamplingError``."""
    if temperature is not None and not (math.isfinite(temperature) and 0 <= temperature <= MAX_TEMPERATURE):
        raise SamplingError(f"The temperature must be a number from 0 to {MAX_TEMPERATURE}, not {temperature:g}.")
    if top_p is not None and not (math.isfinite(top_p) and 0 < top_p <= 1):
        raise SamplingError(f"Top p must be a number above 0 and at most 1, not {top_p:g}.")
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise SamplingError(f"The seed must be a whole number from 0 to {MAX_SEED:,}, not {seed}.")
    if len(stop) > MAX_STOPS:
        raise SamplingError(f"There can be at most {MAX_STOPS} stop texts, not {len(stop)}.")
    if any(not each or len(each) > MAX_STOP_LENGTH for each in stop):
        raise SamplingError(f"A stop text has 1 to {MAX_STOP_LENGTH} characters. Leave stop out to set none.")
    if len(set(stop)) < len(stop):
        raise SamplingError("Name each stop text once.")
    given: dict[str, object] = {"temperature": temperature, "top_p": top_p, "seed": seed, "stop": list(stop) or None}
    return {name: value for name, value in given.items() if value is not None}


def read_stop(typed: str) -> str:
    r"""A stop text as typed on a page or a command line, where ``\n`` stands for a line break and ``\t`` for a tab."""
    return typed.replace("\\n", "\n").replace("\\t", "\t")


def write_stop(stop: str) -> str:
    """A stop text in the form of ``read_stop``."""
    return stop.replace("\n", "\\n").replace("\t", "\\t")


def describe_sampling(parameters: Mapping[str, object]) -> str:
    """The settings of sampling among a variant's parameters, in words; empty where all are the provider's defaults."""
    parts = []
    for name in SAMPLING:
        value = parameters.get(name)
        if isinstance(value, list):
            parts.append(f"{name} {', '.join(f'“{write_stop(str(each))}”' for each in value)}")
        elif isinstance(value, (int, float)):
            parts.append(f"{name} {value:.10g}")
    return ", ".join(parts)
