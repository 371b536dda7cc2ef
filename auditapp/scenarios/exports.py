"""Exports of scripts, and of what was said in the interviews held by them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from django.db.models import Q, QuerySet

from auditapp.scenarios.models import Play, Script
from auditapp.scenarios.queries.plays import HELD_MODES
from auditapp.scenarios.queries.talks import Exchange, read_talk
from transcripts.exchange.registry import Export, Scope
from transcripts.exchange.rows import Column
from transcripts.projects.models import Project
from transcripts.projects.roles import Permission

SCRIPT_COLUMNS = [
    Column("script", "label", "Name and number, such as gender/2.", str),
    Column("use", "use", "interview or scenario.", str),
    Column("suite", "suite", "The suite of a scenario.", str),
    Column("system", "system", "The system prompt.", str),
    Column("openings", "openings", "What an interview may begin with: a list of objects with id and text.", str),
    Column("max_questions", "max_questions", "The most questions of an interview, the opening counted.", int),
    Column("questions", "questions", "The bank of an interview, the turns of a scenario: kind, intent, text.", str),
    Column("case", "case", "What a scenario is about.", str),
    Column("consents", "consents", "What is recorded on each thread: whether each scope is given.", str),
    Column("consent_basis", "consent_basis", "What the consents rest on.", str),
    Column("language", "language", "Language of the talk.", str),
    Column("sha256", "sha256", "SHA-256 of all that is to be said.", str),
    Column("reason", "reason", "Why the wording changed; empty for the first number.", str),
    Column("written", "written_at", "When, in UTC.", str),
    Column("written_by", "written_by_name", "Who wrote it.", str),
]
PLAY_COLUMNS = [
    Column("play", "", "Number of the interview on this site.", int),
    Column("label", "", "What it is called.", str),
    Column("script", "", "The script it was held by, with its number.", str),
    Column("opening", "", "The opening it began with.", str),
    Column("mode", "", "asked (here, through an account) or recorded (from a chat page).", str),
    Column("state", "", "stored (as an interview) or discarded.", str),
    Column("surface", "", "API, or the chat page.", str),
    Column("model", "", "The model asked, or the name that the chat page shows.", str),
    Column("vendor", "", "Who runs the model, as it was typed.", str),
    Column("tier", "", "Such as brief or comprehensive.", str),
    Column("branch_of", "", "Number of the play that it branches off.", int),
    Column("after", "", "Behind which of its questions.", int),
    Column("interview", "", "Id of the interview that it became.", str),
    Column("question", "", "Number of the question in the talk, from 1.", int),
    Column("kind", "", "How much it directs the model.", str),
    Column("intent", "", "What a challenge was meant to be.", str),
    Column("text", "", "The question as it was sent.", str),
    Column("asked", "", "When, in UTC.", str),
    Column("asked_by", "", "Who asked it; empty for a command.", str),
    Column("answer_state", "", "answered, truncated, empty, refused or failed.", str),
    Column("finish_reason", "", "Why the model stopped, in the provider's word.", str),
    Column("served_model", "", "The model that answered, as the provider names it.", str),
    Column("calls", "", "How often the question was sent.", int),
    Column("possibly_paid_twice", "", "Calls that may have been paid for without use.", int),
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
