"""Exports of scripts, of what was said in the interviews held with them, and of the outcomes of sessions of suites."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from django.db.models import Q, QuerySet

from auditapp.batches.models import Attempt
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.queries.runs import KIND, read_outcomes
from auditapp.benchmarks.scenarios.queries.sessions import HELD_MODES, Exchange, read_talk
from transcripts.exchange.rows import Export, Scope, column, columns
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission

SCRIPT_COLUMNS = columns(
    Script,
    "script use suite system openings max_questions questions case consents consent_basis language sha256 reason written "
    "written_by",
    script="label",
    questions=("questions", "The bank of an interview, the turns of a scenario: kind, intent, text."),
)
SESSION_COLUMNS = [
    *columns(
        Session,
        "session label script opening mode state surface model vendor tier branch_of after interview",
        session="pk",
        script="script__label",
        model=("model_as_shown", "The model that was asked, or the name that the chat page shows."),
        after="after_position",
    ),
    *columns(Question, "question kind intent text asked asked_by", question="position"),
    column("answer_state", "", "answered, truncated, empty, refused or failed."),
    *columns(Attempt, "finish_reason served_model"),
    column("calls", "", "How often the question was sent.", int),
    column("possibly_paid_twice", "", "Calls that may have been paid for without being used.", int),
]
COLUMNS = [
    *columns(
        Session,
        "study batch case model condition repeat",
        batch="arm__batch_id",
        case=("script__name", "Name of the case."),
        model="arm__variant__label",
        condition=("", "Name of the condition; unprompted has no system text."),
    ),
    column("outcome", "", "Whether the last answer is the expected one; empty if it cannot be read.", bool),
    column("group", "", "The group that the case is about."),
    column("probability", "", "The probability that the answer states, from 0 to 1.", float),
    column("reasoning", "", "Whether the model was set to reason; empty if nothing was set.", bool),
    column(
        "pair",
        "",
        "Name of the pair if its two sides present the same case for two groups and expect the same answer; empty otherwise.",
    ),
    column("base", "", "The model with its account and sampling, the same for variants that differ only in reasoning."),
]


def read_scripts(scope: Scope) -> Iterator[Sequence[object]]:
    """Every script with all its numbers."""
    scripts = Script.objects.filter(study=scope.study).prefetch_related("questions").order_by("name", "number")
    for script in scripts.iterator(chunk_size=200):
        questions = [
            {name: value for name in ("kind", "intent", "text", "text_if_asked") if (value := getattr(each, name))}
            for each in script.questions.all()
        ]
        yield [questions if each.name == "questions" else getattr(script, each.source) for each in SCRIPT_COLUMNS]


def list_ended(scope: Scope) -> QuerySet[Session]:
    """The ended interviews that were held here; in an export for one person, only those that she opened."""
    ended = (Q(state=Session.State.STORED) & scope.within("interview")) | Q(state=Session.State.DISCARDED)
    sessions = Session.objects.filter(ended, study=scope.study, mode__in=HELD_MODES)
    return scope.keep(sessions, "opened_by").select_related("script", "interview", "branch_of", "arm__variant")


def read_sessions(scope: Scope) -> Iterator[Sequence[object]]:
    """Every question of the interviews held here that have ended."""
    for session in list_ended(scope).order_by("pk"):
        for each in read_talk(session):
            if not each.is_shared:
                yield _describe(session, each)


def _describe(session: Session, each: Exchange) -> Sequence[object]:
    counting = each.counting
    return (
        session.pk,
        session.label,
        session.script.label,
        session.opening,
        session.mode,
        session.state,
        session.surface,
        session.arm.variant.label if session.arm else session.model_as_shown,
        session.vendor,
        session.tier,
        session.branch_of_id,
        session.after_position,
        session.interview.external_id if session.interview else "",
        each.number,
        each.question.kind,
        each.question.intent,
        each.question.text,
        each.question.asked_at,
        each.question.asked_by.username if each.question.asked_by else "",
        each.state,
        counting.finish_reason if counting else "",
        counting.served_model if counting else "",
        each.calls,
        each.possibly_paid_twice,
    )


def find_held(study: Study) -> Collection[int]:
    """The interviews that were held here. To see all of them, a person must unblind them, because their questions have intents."""
    sessions = Session.objects.filter(mode__in=HELD_MODES, interview__study=study)
    return set(sessions.values_list("interview", flat=True))


EXPORTS = (
    Export(
        key="scripts",
        name="Scripts",
        sentence="Every number of every interview and scenario script, with its questions.",
        row="a number of a script",
        columns=SCRIPT_COLUMNS,
        permission=Permission.SEE_ALL_CODINGS,
        is_narrowed=False,
        read_rows=read_scripts,
    ),
    Export(
        key="sessions",
        name="Live interviews",
        sentence="Every question of the interviews held here that have ended: its kind, its intent and how it was answered.",
        row="a question",
        columns=SESSION_COLUMNS,
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=read_sessions,
        unblinds=True,
        find_unblinded=find_held,
        also_reveals="what questions were meant to be",
    ),
)


def read_rows(scope: Scope) -> Iterator[Sequence[object]]:
    """A row for each ended session whose thread is not masked. Empty for a person who sees only her own work.

    If the export is limited to some threads, sessions without a thread are left out.
    """
    if scope.only is not None:
        return
    among = scope.within("interview") if scope.is_narrowed else scope.within("interview") | Q(interview__isnull=True)
    for batch in scope.study.batches.filter(kind=KIND).order_by("pk"):
        for session in read_outcomes(batch, among=among):
            yield (
                *(scope.study.slug, batch.pk, session.case, session.model, session.condition, session.repeat),
                *(session.outcome, session.group, session.probability, session.reasoning, session.pair, session.base),
            )


SCENARIO_OUTCOMES = Export(
    key="scenario_outcomes",
    name="Scenarios, outcomes",
    sentence="Outcomes of the sessions of suites whose threads are unmasked. `scenario report --sessions` reads its JSON lines.",
    row="a session of a script that has ended",
    columns=COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    read_rows=read_rows,
)
