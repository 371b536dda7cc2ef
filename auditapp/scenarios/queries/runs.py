"""Suites of scenarios, and the plays of a batch that ran one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from auditapp.batches.models import Batch, Cell
from auditapp.scenarios.models import Play, Question, Script
from transcripts.projects.models import Project

KIND = "scenario"
NOT_ENDED = (Cell.State.WAITS, Cell.State.PLANNED, Cell.State.LEASED, Cell.State.HELD)


class Suite(NamedTuple):
    """A suite of a study: how many cases it has, and how many of them are sides of pairs."""

    name: str
    cases: int
    paired: int


def list_scenarios(project: Project) -> QuerySet[Script]:
    """The latest number of each scenario of a study, by name."""
    later = Script.objects.filter(project=project, name=OuterRef("name"), number__gt=OuterRef("number"))
    return Script.objects.filter(~Exists(later), project=project, use=Script.Use.SCENARIO).order_by("name")


def list_suite(project: Project, suite: str) -> QuerySet[Script]:
    """The latest number of each script of a suite, by name. A script whose latest number is of another suite is not among
    them."""
    return list_scenarios(project).filter(suite=suite)


def list_suites(project: Project) -> list[Suite]:
    """The suites of a study, by name. One query."""
    cases: Counter[str] = Counter()
    paired: Counter[str] = Counter()
    for suite, case in list_scenarios(project).values_list("suite", "case"):
        cases[suite] += 1
        paired[suite] += "pair" in case
    return [Suite(name, count, paired[name]) for name, count in sorted(cases.items())]


def run_plays(batch: Batch) -> QuerySet[Play]:
    """The plays that a batch runs."""
    return Play.objects.filter(arm__batch=batch, mode=Play.Mode.RUN)


def count_states(batch: Batch) -> dict[str, int]:
    """How many plays of a batch are in which state; every state is named. One query."""
    counts = Counter(run_plays(batch).order_by().values_list("state", flat=True))
    return {str(state): counts[state] for state in (Play.State.OPEN, Play.State.STORED, Play.State.FAILED)}


class Case(NamedTuple):
    """A case of a suite: its scripts, two where it has a twin, in the order of their sides; and their turns side by side."""

    scripts: list[Script]
    turns: list[list[Question | None]]

    @property
    def pair(self) -> Mapping[str, str]:
        """What its sides differ in; empty for a script without a twin."""
        pair: Mapping[str, str] = self.scripts[0].case.get("pair", {})
        return pair


def list_cases(project: Project, suite: str) -> list[Case]:
    """The cases of a suite by name, both sides of a pair as one. Two queries."""
    together: dict[str, list[Script]] = {}
    for script in list_suite(project, suite).prefetch_related("questions"):
        pair = script.case.get("pair")
        together.setdefault(f"pair {pair['id']}" if pair else f"script {script.name}", []).append(script)
    cases = []
    for scripts in together.values():
        scripts.sort(key=lambda script: script.case.get("pair", {}).get("side", ""))
        cases.append(Case(scripts, [list(turns) for turns in zip_longest(*(each.questions.all() for each in scripts))]))
    return cases
