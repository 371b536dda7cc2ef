"""Suites of scenarios, the sessions of a batch that ran one, these as a table of cases, and who may see their calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from auditapp.batches.kinds import EVERYTHING, Visibility
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.measures import SessionOutcome
from transcripts.blinding.actions import will_not_code
from transcripts.blinding.viewers import Viewer, find_unopened
from transcripts.corpus.models import Interview
from transcripts.studies.models import Study

KIND = "scenario"
NOT_ENDED = (Cell.State.WAITS, Cell.State.PLANNED, Cell.State.LEASED, Cell.State.HELD)
EXPECTED, UNEXPECTED, UNREADABLE = "expected", "unexpected", "unreadable"
FOR_CODERS = (
    "These calls belong to scenarios whose threads this study codes. Coders see only the state of the batch and the share of "
    "calls that have ended."
)
NOT_STORED = (
    "These calls become part of threads that your role includes coding, and not all of the threads are stored yet. Their "
    "calls would show you the model and the condition of each. Once all are stored, and you have coded them or will not code "
    "them, you can open the calls on the page of the batch or of its report."
)
CAN_BE_ASKED_AGAIN = (
    "These calls become part of threads that your role includes coding. Some sessions have a call without an answer. Once it is "
    "asked again, they become threads too, and their calls would show you the model and the condition of each. Ask the failed "
    "calls again on the page of the batch."
)
TO_OPEN = (
    "Your role includes coding the threads of this batch, and its calls and its report would show you the model, the "
    "condition and the result of each. If you have coded them, or will not code them, open them on the page of the batch or "
    "of its report. What you code there afterwards counts as assisted."
)


class Suite(NamedTuple):
    """A suite of a study: how many cases it has, and how many of them are sides of pairs."""

    name: str
    cases: int
    paired: int


def list_scenarios(study: Study) -> QuerySet[Script]:
    """The latest number of each scenario of a study, by name."""
    later = Script.objects.filter(study=study, name=OuterRef("name"), number__gt=OuterRef("number"))
    return Script.objects.filter(~Exists(later), study=study, use=Script.Use.SCENARIO).order_by("name")


def list_suite(study: Study, suite: str) -> QuerySet[Script]:
    """The latest number of each script of a suite, by name. A script whose latest number is of another suite is not among
    them."""
    return list_scenarios(study).filter(suite=suite)


def list_suites(study: Study) -> list[Suite]:
    """The suites of a study, by name. One query."""
    cases: Counter[str] = Counter()
    paired: Counter[str] = Counter()
    for suite, case in list_scenarios(study).values_list("suite", "case"):
        cases[suite] += 1
        paired[suite] += "pair" in case
    return [Suite(name, count, paired[name]) for name, count in sorted(cases.items())]


def run_sessions(batch: Batch) -> QuerySet[Session]:
    """The sessions that a batch runs."""
    return Session.objects.filter(arm__batch=batch, mode=Session.Mode.RUN)


def count_states(batch: Batch) -> dict[str, int]:
    """How many sessions of a batch are in which state; every state is named. One query."""
    counts = Counter(run_sessions(batch).order_by().values_list("state", flat=True))
    return {str(state): counts[state] for state in (Session.State.OPEN, Session.State.STORED, Session.State.FAILED)}


class Case(NamedTuple):
    """A case of a suite: its scripts, two where it has a twin, in the order of their sides; and their turns side by side."""

    scripts: list[Script]
    turns: list[list[Question | None]]

    @property
    def pair(self) -> Mapping[str, str]:
        """What its sides differ in; empty for a script without a twin."""
        pair: Mapping[str, str] = self.scripts[0].case.get("pair", {})
        return pair


def list_cases(study: Study, suite: str) -> list[Case]:
    """The cases of a suite by name, both sides of a pair as one. Two queries."""
    together: dict[str, list[Script]] = {}
    for script in list_suite(study, suite).prefetch_related("questions"):
        pair = script.case.get("pair")
        together.setdefault(f"pair {pair['id']}" if pair else f"script {script.name}", []).append(script)
    cases = []
    for scripts in together.values():
        scripts.sort(key=lambda script: script.case.get("pair", {}).get("side", ""))
        cases.append(Case(scripts, [list(turns) for turns in zip_longest(*(each.questions.all() for each in scripts))]))
    return cases


class MatrixCell(NamedTuple):
    """A case in one arm: how many of its sessions gave the expected answer, another one, or none that could be read; and its
    sessions, each with what it came to in a word, "" where it has not ended or expects no answer."""

    counts: Mapping[str, int]
    sessions: list[tuple[Session, str]]


def read_matrix(
    batch: Batch, outcomes: Mapping[int, SessionOutcome], *, only_unexpected: bool = False
) -> tuple[list[Arm], dict[str, list[MatrixCell]]]:
    """The arms of a batch; and its cases by name with twins in a row, each with a cell for each arm. Two queries.

    ``outcomes`` are what ``run_report.read_run`` says of the sessions. With ``only_unexpected`` there are the cases with an
    unexpected answer, and of their sessions those that gave one; the counts are of all.
    """
    arms = list(batch.arms.select_related("variant__account").order_by("pk"))
    places = {arm.pk: place for place, arm in enumerate(arms)}
    cases: dict[str, list[list[tuple[Session, str]]]] = {}
    sessions = run_sessions(batch).select_related("script", "interview").order_by("script__name", "repeat", "pk")
    for session in sessions:
        own = cases.setdefault(session.script.label, [[] for _ in arms])
        own[places[session.arm_id or 0]].append((session, _name_outcome(session, outcomes.get(session.pk))))
    rows = {case: [_make_cell(each, only_unexpected) for each in own] for case, own in cases.items()}
    return arms, {case: own for case, own in rows.items() if not only_unexpected or any(cell.sessions for cell in own)}


def _name_outcome(session: Session, found: SessionOutcome | None) -> str:
    if found is None or session.state != Session.State.STORED:
        return ""
    return {True: EXPECTED, False: UNEXPECTED, None: UNREADABLE}[found.outcome]


def _make_cell(sessions: list[tuple[Session, str]], only_unexpected: bool) -> MatrixCell:
    counted = Counter(name for _, name in sessions if name)
    counts = {name: counted[name] for name in (EXPECTED, UNEXPECTED, UNREADABLE)} if counted else {}
    return MatrixCell(counts, [each for each in sessions if not only_unexpected or each[1] == UNEXPECTED])


def list_labels(batch: Batch) -> list[Interview]:
    """The threads that came of a batch, by the labels under which they were masked: nothing of which case or condition each is, for
    the titles of those that are unmasked name both. One query."""
    sessions = run_sessions(batch).filter(interview__study=batch.study_id)
    threads = Interview.objects.filter(pk__in=sessions.values("interview"))
    return list(threads.only("pk", "mask_label", "unmasked_at").order_by("mask_label"))


def list_run_interviews(batch: Batch, *, input_id: int | None = None) -> set[int]:
    """The threads that the sessions of a batch became, or those in which one of its turns was said."""
    sessions = run_sessions(batch).filter(interview__study=batch.study_id)
    if input_id is not None:
        sessions = sessions.filter(script__questions=input_id)
    return set(sessions.values_list("interview", flat=True))


def find_run_threads(study: Study) -> set[int]:
    """The threads of all runs: somebody who only reads the study sees the model and condition of each."""
    sessions = Session.objects.filter(mode=Session.Mode.RUN, interview__study=study)
    return set(sessions.values_list("interview", flat=True))


def find_run_visibility(batch: Batch, viewer: Viewer) -> Visibility:
    """What somebody may see of a batch of scenarios.

    A call names the condition, the model and the script of the thread that it became part of, and what its turns are meant to
    be. So those who may code see none of it while a thread of the batch is still to come or may come, is masked to them, or is
    not unblinded. Somebody who will not code the threads opens them in one act, and with them those that are stored later.
    """
    if not viewer.codes:
        return EVERYTHING
    if not viewer.sees_all:
        return Visibility(is_whole=False, sentence=FOR_CODERS)
    states = set(run_sessions(batch).order_by().values_list("state", flat=True).distinct())
    if Session.State.OPEN in states:
        return Visibility(is_whole=False, sentence=NOT_STORED)
    interviews = list_run_interviews(batch)
    if closed := viewer.blinded(interviews) | find_unopened(viewer.user_id, interviews):
        return Visibility(is_whole=False, sentence=TO_OPEN, interviews=frozenset(closed), names_conditions=True)
    # What failed is asked again in any batch but a cancelled one, and opens its session.
    can_grow = Session.State.FAILED in states and batch.state != Batch.State.CANCELLED
    if can_grow and not will_not_code(viewer.user_id, interviews):
        return Visibility(is_whole=False, sentence=CAN_BE_ASKED_AGAIN)
    return EVERYTHING
