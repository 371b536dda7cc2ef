"""A pilot that stays one, however many arms there are."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms

from auditapp.batches.actions import PlannedArm
from auditapp.batches.actions.launching import count_cells
from auditapp.batches.forms import DEFAULT_PILOT, LaunchOptionsForm

SHARE = 10


class SmallPilotOptions(LaunchOptionsForm):
    """How a batch with many small arms is sent: so many calls of each arm would be most of it, or all."""

    pilot = forms.IntegerField(
        min_value=0,
        max_value=10_000,
        required=False,
        label="Pilot, calls per arm",
        help_text=f"Sent first; then the batch shows an estimate and waits for approval. Their answers count. Empty for one call "
        f"in {SHARE} of all, at least one and at most {DEFAULT_PILOT} per arm; 0 for no pilot.",
    )

    def settle_pilot(self, arms: Sequence[PlannedArm], input_ids: Sequence[int]) -> None:
        """Say the number where none was typed, so that the review shows it and carries it to the launch."""
        if self.cleaned_data["pilot"] is not None:
            return
        calls = sum(count_cells(arms, input_ids, repeats=1))
        pilot = max(1, min(DEFAULT_PILOT, calls // SHARE // max(1, len(arms))))
        self.cleaned_data["pilot"] = pilot
        settled = self.data.copy()  # type: ignore[attr-defined]
        settled[self.add_prefix("pilot")] = str(pilot)
        self.data = settled
