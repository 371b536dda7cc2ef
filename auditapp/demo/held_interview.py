"""An interview in the demo study that is recorded from a chat page, with a branch; both go on. Everything is invented."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from auditapp.scenarios.actions.asking import record_answer
from auditapp.scenarios.actions.plays import branch_play, open_play
from auditapp.scenarios.actions.scripts import write_script
from auditapp.scenarios.models import Play
from auditapp.scenarios.pure.openings import read_published_openings
from auditapp.scenarios.pure.scripts import read_guide
from transcripts.accounts.models import User
from transcripts.projects.models import Project

FILE = Path(__file__).parent / "data" / "held_interview.json"


def hold_interview(project: Project, owner: User) -> None:
    """Write the script, with the published opening beside its own, and record the interview and its branch."""
    content = json.loads(FILE.read_text(encoding="utf-8"))
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
