"""Agreement of many coders on many sentences: every coefficient for every code, and intervals over turns."""

from __future__ import annotations

from typing import Any

from perf.results import Measured, Row, find_median
from perf.setup import Setup
from perf.study import run_inside
from tests.support.instance import Instance

MOST_SECONDS = 3.0
CODERS = 10
SENTENCES = 50_000
CODES = 25
RESAMPLES = 1_000
ROUNDS = 3


def measure(setup: Setup) -> Measured:
    """Seconds for all coefficients, and for all with their bootstrap intervals; whoever decided everything, and half."""
    setup.tell(f"agreement: {CODERS} coders, {SENTENCES:,} sentences")
    environment = Instance(setup.folder / "agree").environment
    found = {share: _measure(share, environment) for share in (1.0, 0.5)}
    plain, drawn = (_find_slowest(found, name) for name in ("coefficients", "with_intervals"))
    rows = [
        Row(
            "agreement",
            f"{plain:.2f} s: {CODERS} coders, {SENTENCES:,} sentences, {CODES} codes",
            f"<= {MOST_SECONDS:.0f} s",
            plain <= MOST_SECONDS,
        ),
        Row(
            "agreement, intervals",
            f"{drawn:.2f} s with {RESAMPLES:,} draws of turns, +{found[1.0]['rise_mb']:.0f} MB",
            f"<= {MOST_SECONDS:.0f} s",
            drawn <= MOST_SECONDS,
        ),
    ]
    return Measured(rows, {"by_share_decided": {str(share): each for share, each in found.items()}})


def _measure(share: float, environment: dict[str, str]) -> dict[str, Any]:
    given = {"coders": CODERS, "sentences": SENTENCES, "codes": CODES, "decided": share}
    given |= {"resamples": RESAMPLES, "rounds": ROUNDS}
    arguments = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    found: dict[str, Any] = run_inside("agreement", *arguments, environment=environment)
    return found


def _find_slowest(found: dict[float, dict[str, Any]], name: str) -> float:
    return max(find_median(each[name]["seconds"]) for each in found.values())
