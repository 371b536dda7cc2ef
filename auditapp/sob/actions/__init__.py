"""The actions of the benchmark: every write goes through this package."""

from __future__ import annotations

from auditapp.sob.actions.datasets import LoadedDataset, describe_dataset, load_dataset
from auditapp.sob.actions.drawing import combine_datasets, plan_combination, retarget_dataset, sample_dataset
from auditapp.sob.actions.errors import SobError
from auditapp.sob.actions.launching import PlannedSob, launch_sob, plan_sob
from auditapp.sob.actions.mappings import save_mapping
from auditapp.sob.actions.notices import NOTICE, confirm_notice, find_notice
from auditapp.sob.actions.targets import find_target_table, save_targets
from auditapp.sob.actions.wordings import NOT_COMPARABLE, add_wording, find_instrument, plan_texts

__all__ = [
    "NOTICE",
    "NOT_COMPARABLE",
    "LoadedDataset",
    "PlannedSob",
    "SobError",
    "add_wording",
    "combine_datasets",
    "confirm_notice",
    "describe_dataset",
    "find_instrument",
    "find_notice",
    "find_target_table",
    "launch_sob",
    "load_dataset",
    "plan_combination",
    "plan_sob",
    "plan_texts",
    "retarget_dataset",
    "sample_dataset",
    "save_mapping",
    "save_targets",
]
