"""The experiment that a command names."""

from __future__ import annotations

from auditapp.benchmarks.experiments.models import Experiment
from transcripts.studies.management import find_study
from transcripts.ui.commands import find_row


def find_experiment(slug: str, name: str) -> Experiment:
    """The experiment of that name in a study. Raises ``CommandError``."""
    return find_row(find_study(slug).experiments.order_by("name"), f"experiment in {slug} named", name__iexact=name)
