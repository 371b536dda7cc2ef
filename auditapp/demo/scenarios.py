"""Scripts in the demo: scenarios in a study of their own, and an interview in the demo study that is recorded from a chat page.

The scenarios are half of the suite that comes with the program, played by an invented model. Their threads are unmasked, and
the owner has unblinded them, so that every page of the run shows. Nobody has coded them. The interview has a branch; both go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import transaction

from auditapp.batches.models import Batch
from auditapp.llm.models import ModelVariant
from auditapp.scenarios.actions.asking import record_answer
from auditapp.scenarios.actions.plays import branch_play, open_play
from auditapp.scenarios.actions.runs import launch_scenarios
from auditapp.scenarios.actions.scripts import load_scripts, write_script
from auditapp.scenarios.actions.storing import store_plays
from auditapp.scenarios.models import Play
from auditapp.scenarios.pure.scripts import SHIPPED, read_guide, read_published_openings, read_shipped
from transcripts.accounts.models import User
from transcripts.blinding.actions import unblind_interview
from transcripts.blinding.conditions import unmask_interviews
from transcripts.codebook.actions import start_study
from transcripts.projects.models import Project

SCENARIOS = "demo-scenarios"
HELD_INTERVIEW = Path(__file__).parent / "data" / "held_interview.json"
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


def hold_interview(project: Project, owner: User) -> None:
    """Write the script, with the published opening beside its own, and record the interview and its branch."""
    content = json.loads(HELD_INTERVIEW.read_text(encoding="utf-8"))
    guide = content["script"]
    published = {each.id: each.text for each in read_published_openings()}
    text = read_guide({**guide, "openings": {**guide["openings"], **published}})
    script = write_script(project=project, script=text, by=owner)
    play = open_play(project=project, script=script, opening="short", by=owner, **content["play"])
    _record(play, content["questions"], owner)
    branch = branch_play(play=play, after=content["branch"]["after"], by=owner)
    _record(branch, content["branch"]["questions"], owner)


def _record(play: Play, questions: Sequence[Mapping[str, Any]], owner: User) -> None:
    for question in questions:
        record_answer(play=play, by=owner, **question)
