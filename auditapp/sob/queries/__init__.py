"""Reads of the benchmark: the answers of a batch as tallies, and the answers behind one figure."""

from __future__ import annotations

from auditapp.sob.queries.answers import count_targets, find_dataset, find_judgments
from auditapp.sob.queries.arms import AskedArm, find_families, find_pairs, read_arms
from auditapp.sob.queries.tallying import score_batch, tally_batch
from auditapp.sob.queries.targets import TextTargets, UnknownTargets, read_targets

__all__ = [
    "AskedArm",
    "TextTargets",
    "UnknownTargets",
    "count_targets",
    "find_dataset",
    "find_families",
    "find_judgments",
    "find_pairs",
    "read_arms",
    "read_targets",
    "score_batch",
    "tally_batch",
]
