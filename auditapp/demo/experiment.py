"""An experiment in the demo study: an invented assistant that asks before it advises, beside one that answers at once."""

from __future__ import annotations

from pathlib import Path

from auditapp.experiments.actions import draw_audit, load_enrolments, lock_plan
from auditapp.experiments.pure.plans import Plan
from transcripts.accounts.models import User
from transcripts.projects.models import Project

FILE = Path(__file__).parent / "data" / "experiment.csv"
PLAN = Plan(
    name="asking first (invented)",
    outcome="said the advice fitted",
    others=("sent on to a person",),
    baseline="answers at once",
    variant="asks first",
    allocation={"answers at once": 1, "asks first": 1},
    notes="Invented: no person and no system stands behind these units.",
)
THREADS_OF_EACH_ARM = 5
SEED = 24


def bring_in_experiment(project: Project, owner: User) -> None:
    """Lock the plan, load the units, and draw the sample that would be read."""
    experiment = lock_plan(project=project, plan=PLAN, by=owner)
    load_enrolments(experiment=experiment, data=FILE.read_bytes(), by=owner)
    draw_audit(experiment=experiment, per_arm=THREADS_OF_EACH_ARM, seed=SEED, by=owner)
