"""Reads of the benchmark: who was asked about what, and the answers of a batch as tallies."""

from __future__ import annotations

from auditapp.sob.queries.arms import AskedArm, find_families, find_pairs, read_arms
from auditapp.sob.queries.datasets import count_targets, find_dataset
from auditapp.sob.queries.targets import TextTargets, UnknownTargets, read_targets

__all__ = [
    "AskedArm",
    "TextTargets",
    "UnknownTargets",
    "count_targets",
    "find_dataset",
    "find_families",
    "find_pairs",
    "read_arms",
    "read_targets",
]
