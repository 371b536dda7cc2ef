"""Suites of scenarios, and the batches that ran one: their sessions as a table of cases, the outcomes of the sessions, the facts
for a methods paragraph, and who may see their calls. The outcome of a case that names a code comes from people's codings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import Q, QuerySet

from auditapp.batches.kinds import EVERYTHING, Visibility
from auditapp.batches.models import Arm, Batch
from auditapp.batches.pure.conversations import read_words
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.measures import TESTS, SessionOutcome, report_sessions
from auditapp.benchmarks.scenarios.pure.outcomes import (
    BASES,
    UNREAD,
    Expected,
    ThreadReading,
    UnitReading,
    read_expected,
    read_outcome,
    read_thread,
)
from auditapp.benchmarks.scenarios.queries.sessions import latest_scripts, read_turns
from auditapp.llm.models import ModelVariant
from auditapp.llm.pure.json_answers import explain_end
from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.agreement.queries import Selection, find_active, list_families
from transcripts.blinding.actions import will_not_code
from transcripts.blinding.viewers import Viewer, find_unopened
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.refusals import Refused
from transcripts.studies.models import Study

if TYPE_CHECKING:
    from transcripts.coding.blind import BlindTable


KIND = "scenario"
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


def list_suite(study: Study, suite: str) -> QuerySet[Script]:
    """The latest number of each script of a suite, by name. A script whose latest number belongs to another suite is not
    included."""
    return latest_scripts(study, Script.Use.SCENARIO).filter(suite=suite)


def list_suites(study: Study) -> list[Suite]:
    """The suites of a study, by name. One query."""
    cases: Counter[str] = Counter()
    paired: Counter[str] = Counter()
    for suite, case in latest_scripts(study, Script.Use.SCENARIO).values_list("suite", "case"):
        cases[suite] += 1
        paired[suite] += "pair" in case
    return [Suite(name, count, paired[name]) for name, count in sorted(cases.items())]


def run_sessions(batch: Batch) -> QuerySet[Session]:
    """The sessions of a batch."""
    return Session.objects.filter(arm__batch=batch, mode=Session.Mode.RUN)


def count_states(batch: Batch) -> dict[str, int]:
    """The number of sessions of a batch in each state, including states that no session has. One query."""
    counts = Counter(run_sessions(batch).order_by().values_list("state", flat=True))
    return {str(state): counts[state] for state in (Session.State.OPEN, Session.State.STORED, Session.State.FAILED)}


class Case(NamedTuple):
    """A case of a suite: its script, or the two scripts of a pair in the order of their sides; and the turns side by side."""

    scripts: list[Script]
    turns: list[list[Question | None]]

    @property
    def pair(self) -> Mapping[str, str]:
        """The pair that its scripts belong to; empty for a script without a twin."""
        pair: Mapping[str, str] = self.scripts[0].case.get("pair", {})
        return pair


def list_cases(study: Study, suite: str) -> list[Case]:
    """The cases of a suite by name, with both sides of a pair as one case. Two queries."""
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
    """A case in one arm: how many of its sessions gave the expected answer, another answer, or no readable answer; and its
    sessions, each with its outcome in a word, "" if it has not ended or expects no answer."""

    counts: Mapping[str, int]
    sessions: list[tuple[Session, str]]


def read_matrix(
    batch: Batch, outcomes: Mapping[int, SessionOutcome], *, only_unexpected: bool = False
) -> tuple[list[Arm], dict[str, list[MatrixCell]]]:
    """The arms of a batch; and its cases by name, with twins next to each other, each with a cell for each arm. Two queries.

    ``outcomes`` are the outcomes of the sessions from ``read_run``. With ``only_unexpected``, only cases with an unexpected
    answer are included, with only those sessions that gave one; the counts still cover all sessions.
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
    """The threads of a batch in the order of the labels under which they were masked. Titles are not read, because those of
    unmasked threads name case and condition. One query."""
    sessions = run_sessions(batch).filter(interview__study=batch.study_id)
    threads = Interview.objects.filter(pk__in=sessions.values("interview"))
    return list(threads.only("pk", "mask_label", "unmasked_at").order_by("mask_label"))


def list_run_interviews(batch: Batch, *, input_id: int | None = None) -> set[int]:
    """The threads that the sessions of a batch became, or only those in which the turn ``input_id`` was said."""
    sessions = run_sessions(batch).filter(interview__study=batch.study_id)
    if input_id is not None:
        sessions = sessions.filter(script__questions=input_id)
    return set(sessions.values_list("interview", flat=True))


def find_run_threads(study: Study) -> set[int]:
    """The threads of all runs. People who only read the study see the model and condition of each."""
    sessions = Session.objects.filter(mode=Session.Mode.RUN, interview__study=study)
    return set(sessions.values_list("interview", flat=True))


def find_run_visibility(batch: Batch, viewer: Viewer) -> Visibility:
    """What a person may see of a batch of scenarios.

    A call names the condition, the model and the script of the thread that it became part of, and what its turns are meant to be.
    So people who may code see no calls as long as a thread of the batch is or may be still to come, is masked to them, or is not
    unblinded. A person who will not code the threads unblinds them all in one action, which includes those that are stored later.
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
    # Unless the batch was cancelled, failed turns can be asked again, which opens their sessions again.
    can_grow = Session.State.FAILED in states and batch.state != Batch.State.CANCELLED
    if can_grow and not will_not_code(viewer.user_id, interviews):
        return Visibility(is_whole=False, sentence=CAN_BE_ASKED_AGAIN)
    return EVERYTHING


THREADS_AT_A_TIME = 500
SETTLING = (Adjudication.Outcome.ONE, Adjudication.Outcome.NEITHER)


class CodeReadings(NamedTuple):
    """``outcomes``: by thread, whether its code applies; threads without an outcome are missing. ``counts``: how many threads have
    an outcome, or none, on which basis (``pure.outcomes.BASES``). ``coders``: who has made blind codings there, and in how many
    threads. ``unknown``: codes that the codebook of the study does not have."""

    outcomes: dict[int, bool]
    counts: dict[str, int]
    coders: dict[str, int]
    unknown: list[str]


def read_codes(study: Study, wanted: Mapping[int, str], *, coder: str = "") -> CodeReadings:
    """The outcomes of threads; ``wanted`` has the code to look for in each thread.

    People's blind readings count, and adjudications in favour of one reading or another; with ``coder``, only her readings count.
    Raises ``Refused`` for a coder who has decided nothing there.
    """
    families = _find_families(study, set(wanted.values()))
    of: dict[str, list[int]] = defaultdict(list)
    for thread, code in wanted.items():
        of[code].append(thread)
    found: dict[int, ThreadReading] = dict.fromkeys(wanted, ThreadReading(None, UNREAD))
    readers: Counter[int] = Counter()
    names = dict(User.objects.filter(username=coder).values_list("pk", "username")) if coder else {}
    for code, threads in of.items():
        if code in families:
            for first in range(0, len(threads), THREADS_AT_A_TIME):
                some = threads[first : first + THREADS_AT_A_TIME]
                found |= _read_code(study, families[code], code, some, coders=names if coder else None, seen=readers)
    coders = dict(User.objects.filter(pk__in=readers).values_list("pk", "username"))
    by_name = {coders[pk]: count for pk, count in readers.items()}
    if coder and coder not in by_name:
        raise Refused(
            f"{coder} has coded no thread of a case that names a code. Coders who have: {', '.join(sorted(by_name)) or 'nobody'}.",
            field="coder",
        )
    counts = Counter(each.basis for each in found.values())
    return CodeReadings(
        {thread: each.holds for thread, each in found.items() if each.holds is not None},
        {basis: counts[basis] for basis in BASES},
        dict(sorted(by_name.items(), key=lambda each: (-each[1], each[0]))),
        sorted(set(of) - set(families)),
    )


def find_unknown_codes(study: Study, scripts: Iterable[Script]) -> list[str]:
    """The codes that cases name as their expected answer and that the current codebook does not have."""
    named = {read_expected(script.case["answer"]).code for script in scripts if "answer" in script.case} - {""}
    return sorted(named - set(_find_families(study, named))) if named else []


def _find_families(study: Study, codes: Collection[str]) -> dict[str, CodeFamily]:
    """The families of those codes that the current codebook has. Two queries."""
    families = {family.pk: family for family in list_families(study)}
    rows = Code.objects.filter(family__in=families, identifier__in=codes)
    return {code: families[family] for code, family in rows.values_list("identifier", "family")}


def _read_code(
    study: Study,
    family: CodeFamily,
    code: str,
    threads: Sequence[int],
    *,
    coders: Collection[int] | None,
    seen: Counter[int],
) -> dict[int, ThreadReading]:
    """Whether a code applies in these threads, according to all coders or only to ``coders``. Adds to ``seen``, by coder, the
    number of threads in which she has decided something."""
    from transcripts.agreement.label_tables import read_table

    table = read_table(study, Selection(family), interviews=threads)
    for row, coder in enumerate(table.coders):
        seen[coder] += len(set(table.interview_ids[table.decided[row]].tolist()))
    decisions = {} if coders is not None else find_active(study, family.identifier)
    needed = _find_needed(family, threads)
    units: dict[int, list[UnitReading]] = {thread: [] for thread in threads}
    for thread, unit in _list_units(table, code, decisions, coders, needed):
        units[thread].append(unit)
    return {thread: read_thread(own) for thread, own in units.items()}


def _list_units(
    table: BlindTable,
    code: str,
    decisions: Mapping[int, Adjudication],
    coders: Collection[int] | None,
    needed: Collection[int],
) -> Iterator[tuple[int, UnitReading]]:
    """The units of a table, each with its thread and with what is known about the code there."""
    rows = [row for row, coder in enumerate(table.coders) if coders is None or coder in coders]
    labels, decided = table.labels[table.codes.index(code)][rows], table.decided[rows]
    for place, (sentence, thread) in enumerate(
        zip(table.sentence_ids.tolist(), table.interview_ids.tolist(), strict=True)
    ):
        decision = decisions.get(sentence)
        holds = code in decision.codes if decision is not None and decision.outcome in SETTLING else None
        readings = labels[:, place][decided[:, place]].tolist()
        yield thread, UnitReading(readings, holds, sentence in needed)


def _find_needed(family: CodeFamily, threads: Sequence[int]) -> set[int]:
    """The sentences whose units have to be decided before a thread counts as read: those to which the family applies, in the turns
    that coders are asked to decide."""
    sentences = Sentence.objects.current().filter(turn__interview__in=threads)
    if family.unit == CodeFamily.Unit.INTERVIEW:
        return set(sentences.values_list("pk", flat=True))
    if family.applies_to == CodeFamily.AppliesTo.INTERVIEWER:
        return set(sentences.filter(turn__role=Turn.Role.INTERVIEWER).values_list("pk", flat=True))
    return set(sentences.filter(turn__is_answer=True).values_list("pk", flat=True))


SESSIONS_AT_A_TIME = 200


def read_run_report(batch: Batch, *, coder: str = "") -> dict[str, Any]:
    """The report from ``read_run``, without the outcomes of sessions."""
    return read_run(batch, coder=coder)[0]


def read_run(batch: Batch, *, coder: str = "") -> tuple[dict[str, Any], dict[int, SessionOutcome]]:
    """The report on a batch, and the outcome of each session that expects an answer, by the session's key.

    The report is that of ``measures.report_sessions``, with ``batch``; ``states``, how many sessions are open, stored and failed;
    ``failed``, which sessions failed; ``without_answer``, how many stored sessions belong to cases that expect no answer, so that
    they have no outcome here.

    For cases that name a code: ``readings``, how many of their threads have an outcome on which basis (``pure.outcomes.BASES``),
    None if no case names a code; ``coder``, the only coder whose readings count, or "" for all coders and adjudications;
    ``coders``, how many threads each coder has read; ``unknown_codes``, the codes that the codebook does not have.

    A session that failed counts as one without an outcome. Raises ``Refused`` for a coder who has read none of them.
    """
    sessions = _list_ended(batch)
    wanted = {
        session.interview_id: own.code
        for session in sessions
        if (own := _read_expected(session)) and own.code and session.interview_id is not None
    }
    found = read_codes(batch.study, wanted, coder=coder)
    outcomes = _read_outcomes(sessions, found.outcomes)
    report = {
        **report_sessions(list(outcomes.values())),
        "batch": batch.pk,
        "states": count_states(batch),
        "failed": [_name_session(session) for session in sessions if session.state == Session.State.FAILED],
        "without_answer": sum(
            session.state == Session.State.STORED and "answer" not in session.script.case for session in sessions
        ),
        "coder": coder,
        "coders": found.coders,
        "readings": found.counts if wanted else None,
        "unknown_codes": found.unknown,
    }
    return report, outcomes


def read_outcomes(batch: Batch, *, among: Q | None = None) -> list[SessionOutcome]:
    """The outcomes of sessions of a batch (only of those that match ``among``) that have ended and are not masked any more, as in a
    file of sessions. Nobody's codings are read, so the outcome is None for cases that name a code."""
    sessions = [
        session for session in _list_ended(batch, among) if session.interview is None or not session.interview.is_masked
    ]
    return list(_read_outcomes(sessions, {}).values())


def _list_ended(batch: Batch, among: Q | None = None) -> list[Session]:
    ended = run_sessions(batch).filter(among or Q(), state__in=(Session.State.STORED, Session.State.FAILED))
    return list(ended.select_related("script", "arm__variant", "interview").order_by("pk"))


def _read_outcomes(sessions: Sequence[Session], readings: Mapping[int, bool]) -> dict[int, SessionOutcome]:
    measured = [session for session in sessions if "answer" in session.script.case]
    answers = _read_answers([session for session in measured if session.state == Session.State.STORED])
    outcomes = {}
    for session in measured:
        own = read_expected(session.script.case["answer"])
        assert session.arm is not None  # noqa: S101  (said by a constraint)
        read = read_outcome(answers[session.pk], own) if session.pk in answers else None
        outcomes[session.pk] = SessionOutcome(
            case=session.script.name,
            model=session.arm.variant.label,
            condition=session.arm.task,
            repeat=session.repeat,
            outcome=readings.get(session.interview_id or 0) if own.code else read.is_right if read else None,
            group=session.script.case.get("group", ""),
            probability=read.probability if read else None,
            reasoning=find_reasoning(session.arm.variant.reasoning),
            pair=_name_shared_case(session.script),
            base=_name_base(session.arm.variant),
        )
    return outcomes


def _name_shared_case(script: Script) -> str:
    """The name of a pair whose sides present one case for two groups; "" for any other pair. If the sides expect the same answer,
    they differ only in the group."""
    pair = script.case.get("pair") or {}
    return str(pair.get("id", "")) if pair.get("expect") == "no_change" else ""


def _name_base(variant: ModelVariant) -> str:
    """A name for all variants that differ only in reasoning; another temperature would be another difference."""
    return f"{variant.account_id} {variant.model} {variant.sampling}"


def find_reasoning(setting: str) -> bool | None:
    """Whether a model was set to reason; None if nothing was set."""
    word = setting.strip().casefold()
    return None if not word else word not in {"off", "none", "0", "disabled"}


def _read_expected(session: Session) -> Expected | None:
    return read_expected(session.script.case["answer"]) if "answer" in session.script.case else None


def _name_session(session: Session) -> dict[str, object]:
    assert session.arm is not None  # noqa: S101  (said by a constraint)
    return {
        "case": session.script.name,
        "model": session.arm.variant.label,
        "condition": session.arm.task,
        "repeat": session.repeat,
    }


def _read_answers(sessions: Sequence[Session]) -> dict[int, str]:
    """The words of the last answer of each session, except for answers that were cut off or withheld, which have no outcome."""
    found = {}
    for first in range(0, len(sessions), SESSIONS_AT_A_TIME):
        for pk, turns in read_turns(sessions[first : first + SESSIONS_AT_A_TIME]).items():
            last = turns[-1].result if turns else None
            if last is not None and not explain_end(last.attempt.finish_reason):
                found[pk] = read_words(last.answer)
    return found


def describe_run(batch: Batch) -> dict[str, Any]:
    """The facts of one run for its sentences in a paper, including conditions: only for people who may see the whole batch."""
    arms = list(batch.arms.select_related("variant__account").order_by("pk"))
    sessions = run_sessions(batch)
    return {
        "batch": batch,
        "suite": batch.parameters.get("suite", ""),
        "cases": len(batch.parameters.get("scripts", [])),
        "conditions": batch.parameters.get("conditions", []),
        "models": sorted({arm.variant.label for arm in arms}),
        "fake": sorted({arm.variant.label for arm in arms if arm.variant.is_fake}),
        "repeats": sessions.order_by("-repeat").values_list("repeat", flat=True).first() or 0,
        "sessions": sessions.count(),
        "stored": count_states(batch)[Session.State.STORED],
        "tests": TESTS,
    }


def read_notes(study: Study) -> dict[str, Any]:
    """The runs of a study for its methods paragraph: how many there are, and what is no longer masked in each. Empty if none."""
    batches = list(study.batches.filter(kind=KIND).order_by("pk"))
    if not batches:
        return {}
    return {"runs": [describe_run(batch) for batch in batches if not _is_masked(batch)], "number": len(batches)}


def _is_masked(batch: Batch) -> bool:
    """Whether anything in the run must still be hidden from people who code, because a session is open or a thread is masked."""
    sessions = run_sessions(batch)
    if sessions.filter(state=Session.State.OPEN).exists():
        return True
    return (
        sessions.exclude(interview__mask_label="")
        .filter(interview__unmasked_at__isnull=True)
        .exclude(interview__isnull=True)
        .exists()
    )
