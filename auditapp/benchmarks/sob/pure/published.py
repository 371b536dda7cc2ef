"""The published scores of twelve model variants, for showing beside our own (Table 4, arXiv 2606.17506)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parents[1] / "data" / "published_table4.json"

TARGETS = (
    "muslim",
    "lgbtq",
    "women",
    "jew",
    "immigrant",
    "black",
    "disabled",
    "asian",
    "mexican",
    "arab",
)
"""The ten targets of the paper, in its order: by number of texts."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One model variant in one task, with two decimals as printed.

    ``overall`` is the score over all 2,457 texts, those of other targets included; ``by_target`` holds the score
    of each of ``TARGETS``; ``attribution_rate`` is a share from 0 to 1.
    """

    model: str
    task: str
    attribution_rate: float
    overall: float
    by_target: Mapping[str, float]


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    """The 24 rows in the order of the table, acceptability before non-acceptability in each model."""
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    return tuple(PublishedRow(**row) for row in content["rows"])


@cache
def published_source() -> str:
    """Where the figures are published, to be printed beside them."""
    return str(json.loads(_FILE.read_text(encoding="utf-8"))["source"])
