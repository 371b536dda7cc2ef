"""What interviews begin with: the published opening prompt, and which of a script's openings comes next."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).parent.parent / "data" / "openings.json"


class PublishedOpening(NamedTuple):
    """An opening prompt from the literature, word for word, with where it was published."""

    id: str
    text: str
    source: str


def read_published_openings() -> list[PublishedOpening]:
    """The published opening prompts that a script can begin with."""
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    return [PublishedOpening(each["id"], each["text"], content["source"]) for each in content["openings"]]


def choose_opening(openings: Sequence[str], *, used: Mapping[tuple[str, str], int], model: str, seed: int) -> str:
    """Which of ``openings`` (their ids) the next interview with ``model`` begins with, so that every model hears each of them
    about equally often, and each is heard equally often over all models.

    ``used`` counts the interviews so far by model and opening. Equals are drawn by ``seed``: the same seed and the same
    interviews before give the same opening. Raises ``ValueError`` where there is none to choose.
    """
    if not openings:
        raise ValueError("There is no opening to choose.")
    overall = {each: sum(count for (_, opening), count in used.items() if opening == each) for each in openings}
    draw = random.Random(f"{seed}/{model}/{sum(overall.values())}")  # noqa: S311 - a balanced order, not a secret
    order = draw.sample(sorted(openings), len(openings))
    return min(order, key=lambda each: (used.get((model, each), 0), overall[each]))
