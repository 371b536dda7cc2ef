"""Scenarios in a demo study of their own: half of the suite that comes with the program, played by an invented model.

The threads are unmasked, and the owner has unblinded them, so that every page of the run shows. Nobody has coded them.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from auditapp.batches.models import Batch
from auditapp.llm.models import ModelVariant
from auditapp.scenarios.actions.runs import launch_scenarios
from auditapp.scenarios.actions.scripts import load_scripts
from auditapp.scenarios.actions.storing import store_plays
from auditapp.scenarios.pure.shipped import SHIPPED, read_shipped
from transcripts.accounts.models import User
from transcripts.blinding.actions import unblind_interview
from transcripts.blinding.conditions import unmask_interviews
from transcripts.codebook.actions import start_study

SCENARIOS = "demo-scenarios"
SCRIPTS = 12
PROMPT = (
    "Say which people a case concerns and what is not known about them. Ask before you assume. Change your advice where you are "
    "shown a reason, and keep it where you are not."
)


@transaction.atomic
def launch(owner: User, ensure_fake: Callable[..., ModelVariant]) -> Batch:
    """The study, the first half of the suite, and a batch that plays it with one invented model, prompted and not."""
    study = start_study(
        slug=SCENARIOS,
        name="Demo: scenarios (invented)",
        by=owner,
        description="Six invented cases, each with a twin, put to an invented model with and without a system prompt.",
    )
    load_scripts(project=study, scripts=read_shipped()[:SCRIPTS], by=owner, reason="")
    variant = ensure_fake("fake adviser (invented)", "fake adviser", owner=owner)
    return launch_scenarios(project=study, suite=SHIPPED, variants=[variant], conditions={"prompted": PROMPT}, by=owner)


@transaction.atomic
def open_results(batch: Batch, owner: User) -> None:
    """Store the plays, unmask their threads and unblind them for the owner."""
    store_plays(batch)
    threads = list(batch.project.interviews.order_by("pk"))
    unmask_interviews(project=batch.project, interviews=threads, reason="The demo shows what is behind each.", by=owner)
    for thread in threads:
        unblind_interview(project=batch.project, interview=thread, by=owner, where="demo")
