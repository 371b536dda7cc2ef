"""What people type and choose about experiments."""

from __future__ import annotations

from django import forms

from auditapp.benchmarks.experiments.actions import MAX_SAMPLE
from auditapp.benchmarks.experiments.models import Experiment
from auditapp.benchmarks.experiments.pure.plans import Plan, PlanRefused, read_plan
from transcripts.formats.problems import ReadError
from transcripts.ui.forms import RowForm, limit_size
from transcripts.ui.typed_text import MAX_SEED

MAX_PLAN_BYTES = 1_000_000
MAX_UNITS_BYTES = 100_000_000


class PlanForm(RowForm):
    """A plan to be locked."""

    plan = forms.FileField(label="Plan", help_text="A JSON file; Help says what it contains.")

    class Meta(RowForm.Meta):
        model = Experiment
        fields = ("name",)

    def clean_plan(self) -> Plan:
        """The plan in the file."""
        file = self.cleaned_data["plan"]
        if file.size > MAX_PLAN_BYTES:
            raise forms.ValidationError(f"The file has {file.size:,} bytes; a plan has at most {MAX_PLAN_BYTES:,}.")
        try:
            return read_plan(file.read(), name="the plan")
        except (PlanRefused, ReadError) as error:
            raise forms.ValidationError(str(error)) from error


class UnitsForm(forms.Form):
    """Units to be loaded."""

    file = forms.FileField(
        label="Units",
        help_text="A CSV with unit, arm, and where known group and outcomes.",
        validators=[limit_size(MAX_UNITS_BYTES, "Divide it.")],
    )


class DrawForm(forms.Form):
    """A sample to be drawn."""

    per_arm = forms.IntegerField(label="Threads of each arm", min_value=1, max_value=MAX_SAMPLE, initial=30)
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=MAX_SEED,
        help_text="Any number; with it anybody can draw the same sample again.",
    )
