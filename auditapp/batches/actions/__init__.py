"""What people do with batches: launch and control them, decide about money and about cells without an answer."""

from __future__ import annotations

from auditapp.batches.actions.changes import BatchError
from auditapp.batches.actions.control import (
    cancel_batch,
    change_concurrency,
    drain_batch,
    pause_batch,
    resume_batch,
)
from auditapp.batches.actions.launched import digest_asked, find_launched
from auditapp.batches.actions.launching import LaunchPlan, PlannedArm, check_launch, launch_batch, launch_once
from auditapp.batches.actions.money import UNCHANGED, change_cap, confirm_batch
from auditapp.batches.actions.reopening import release_held, retry_failed
from auditapp.batches.pure.launch_options import LaunchOptions

__all__ = [
    "UNCHANGED",
    "BatchError",
    "LaunchOptions",
    "LaunchPlan",
    "PlannedArm",
    "cancel_batch",
    "change_cap",
    "change_concurrency",
    "check_launch",
    "confirm_batch",
    "digest_asked",
    "drain_batch",
    "find_launched",
    "launch_batch",
    "launch_once",
    "pause_batch",
    "release_held",
    "resume_batch",
    "retry_failed",
]
