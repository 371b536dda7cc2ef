"""What stands beside every figure of a batch, on pages and in files: what is invented, and what compares with nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from auditapp.batches.models import Batch
from auditapp.sob.instruments import BASE_TASK, load_instruments
from auditapp.sob.queries.arms import AskedArm
from auditapp.sob.queries.readers import Readers, count_readers


class Caveats(NamedTuple):
    """``invents``: a model of the batch makes its answers up. ``comparable``: every scored wording is a published one."""

    invents: bool
    readers: Readers
    comparable: bool

    @property
    def notice(self) -> str:
        """All of it in sentences, for a file; "" where there is nothing to say."""
        told = []
        if self.invents:
            told.append("Some or all answers are invented by this program's own fake provider.")
        if not self.comparable:
            told.append("Not comparable with the published figures: asked in a wording that is not a published one.")
        if self.readers.later:
            told.append(f"{self.readers.later:,} of {self.readers.answers:,} readings by a formatter or a person.")
        if self.readers.invented:
            told.append(f"Invented by a fake formatter: {self.readers.invented:,} of these.")
        return " ".join(told)


def read_caveats(batch: Batch, arms: Sequence[AskedArm]) -> Caveats:
    """What holds of a batch with these arms."""
    return Caveats(
        invents=any(arm.variant.is_fake for arm in arms),
        readers=count_readers(batch, [arm.arm_id for arm in arms]),
        comparable=is_comparable(batch),
    )


def is_comparable(batch: Batch) -> bool:
    """Whether every scored task was asked in a published wording."""
    asked = batch.arms.exclude(task=BASE_TASK).values_list("settings", "prompt_hash")
    return all(str(settings.get("sha256") or prompt_hash) in list_published_hashes() for settings, prompt_hash in asked)


@cache
def list_published_hashes() -> frozenset[str]:
    """The hashes of the published wordings of the scored tasks."""
    return frozenset(instrument.sha256 for instrument in load_instruments() if instrument.task != BASE_TASK)
