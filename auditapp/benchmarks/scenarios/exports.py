"""Exports of scripts, of what was said in the interviews held by them, and of what plays of suites came to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from django.db.models import Q, QuerySet

from auditapp.batches.models import Attempt
from auditapp.benchmarks.scenarios.models import Play, Question, Script
from auditapp.benchmarks.scenarios.queries.run_report import read_outcomes
from auditapp.benchmarks.scenarios.queries.runs import KIND
from auditapp.benchmarks.scenarios.queries.talks import HELD_MODES, Exchange, read_talk
from transcripts.exchange.rows import Export, Scope, column, columns
from transcripts.studies.models import Project
from transcripts.studies.roles import Permission

SCRIPT_COLUMNS = columns(
    Script,
    "script use suite system openings max_questions questions case consents consent_basis language sha256 reason written "
    "written_by",
    script="label",
    questions=("questions", "The bank of an interview, the turns of a scenario: kind, intent, text."),
)
PLAY_COLUMNS = [
    *columns(
        Play,
        "play label script opening mode state surface model vendor tier branch_of after interview",
        play="pk",
        script="script__label",
        model=("model_as_shown", "The model asked, or the name that the chat page shows."),
        after="after_position",
    ),
    *columns(Question, "question kind intent text asked asked_by", question="position"),
    column("answer_state", "", "answered, truncated, empty, refused or failed."),
    *columns(Attempt, "finish_reason served_model"),
    column("calls", "", "How often the question was sent.", int),
    column("possibly_paid_twice", "", "Calls that may have been paid for without use.", int),
]
COLUMNS = [
    *columns(
        Play,
        "project batch case model condition repeat",
        batch="arm__batch_id",
        case=("script__name", "Name of the case."),
        model="arm__variant__label",
        condition=("", "Name of the condition; unprompted has no system text."),
    ),
    column("outcome", "", "Whether the last answer is the expected one; empty where it cannot be read.", bool),
    column("group", "", "The group that the case is about."),
    column("probability", "", "The probability that the answer states, from 0 to 1.", float),
    column("reasoning", "", "Whether the model was set to reason; empty where nothing was set.", bool),
    column(
        "pair",
        "",
        "Name of the pair whose two sides tell one case of two groups and expect the same answer; else empty.",
    ),
    column("base", "", "The model with its account and sampling, the same where variants differ in reasoning alone."),
]


def read_scripts(scope: Scope) -> Iterator[Sequence[object]]:
    """Every number of every script."""
    scripts = Script.objects.filter(project=scope.project).prefetch_related("questions").order_by("name", "number")
    for script in scripts.iterator(chunk_size=200):
        questions = [
            {name: value for name in ("kind", "intent", "text", "text_if_asked") if (value := getattr(each, name))}
            for each in script.questions.all()
        ]
        yield [questions if each.name == "questions" else getattr(script, each.source) for each in SCRIPT_COLUMNS]


def list_ended(scope: Scope) -> QuerySet[Play]:
    """The interviews held here that have ended, or of one person those that she opened."""
    ended = (Q(state=Play.State.STORED) & scope.within("interview")) | Q(state=Play.State.DISCARDED)
    plays = Play.objects.filter(ended, project=scope.project, mode__in=HELD_MODES)
    return scope.keep(plays, "opened_by").select_related("script", "interview", "branch_of", "arm__variant")


def read_plays(scope: Scope) -> Iterator[Sequence[object]]:
    """Every question of the interviews held here that have ended."""
    for play in list_ended(scope).order_by("pk"):
        for each in read_talk(play):
            if not each.is_shared:
                yield _describe(play, each)


def _describe(play: Play, each: Exchange) -> Sequence[object]:
    counting = each.counting
    return (
        play.pk,
        play.label,
        play.script.label,
        play.opening,
        play.mode,
        play.state,
        play.surface,
        play.arm.variant.label if play.arm else play.model_as_shown,
        play.vendor,
        play.tier,
        play.branch_of_id,
        play.after_position,
        play.interview.external_id if play.interview else "",
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


def find_held(project: Project) -> Collection[int]:
    """The interviews that were held here: anybody who sees all of them has to unblind them, for their questions' intents."""
    plays = Play.objects.filter(mode__in=HELD_MODES, interview__project=project)
    return set(plays.values_list("interview", flat=True))


EXPORTS = (
    Export(
        key="scripts",
        name="Scripts",
        sentence="What was to be said to models: every number of every script of interviews and scenarios, with its questions.",
        row="a number of a script",
        columns=SCRIPT_COLUMNS,
        permission=Permission.SEE_ALL_CODINGS,
        is_narrowed=False,
        read_rows=read_scripts,
    ),
    Export(
        key="plays",
        name="Interviews held here",
        sentence="Every question of the interviews held here that have ended: its kind, what it was meant to be, what came of it.",
        row="a question",
        columns=PLAY_COLUMNS,
        permission=Permission.SEE_ALL_CODINGS,
        read_rows=read_plays,
        unblinds=True,
        find_unblinded=find_held,
        also_reveals="what questions were meant to be",
    ),
)


def read_rows(scope: Scope) -> Iterator[Sequence[object]]:
    """A row for each play that has ended and whose thread is not masked. None for somebody who sees her own work alone.

    A play without a thread has no place in a file that is narrowed to some threads.
    """
    if scope.only is not None:
        return
    among = scope.within("interview") if scope.is_narrowed else scope.within("interview") | Q(interview__isnull=True)
    for batch in scope.project.batches.filter(kind=KIND).order_by("pk"):
        for play in read_outcomes(batch, among=among):
            yield (
                *(scope.project.slug, batch.pk, play.case, play.model, play.condition, play.repeat),
                *(play.outcome, play.group, play.probability, play.reasoning, play.pair, play.base),
            )


SCENARIO_OUTCOMES = Export(
    key="scenario_outcomes",
    name="Scenarios, outcomes",
    sentence="What plays of suites came to, of threads that are no longer masked. `scenario report --plays` reads its JSON lines.",
    row="a play of a script that has ended",
    columns=COLUMNS,
    permission=Permission.SEE_ALL_CODINGS,
    read_rows=read_rows,
)
