"""What was said in sessions: questions with their answers, in one session and in a batch; and which codes a question would raise
before the model has raised them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from auditapp.batches.kinds import EVERYTHING, Visibility
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Attempt, Batch, Cell, Result
from auditapp.batches.pure.conversations import read_words
from auditapp.benchmarks.scenarios.models import Question, Script, Session
from auditapp.benchmarks.scenarios.pure.outcomes import ANSWERED, FAILED, HAVE_ANSWER, LABELS, WAITING, name_answer
from transcripts.analysis.search.queries import read_study_signs
from transcripts.blinding.viewers import Viewer
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.pure import Prompts, Signs, quote_mention
from transcripts.corpus.models import Turn
from transcripts.formats.thinking import split_thinking
from transcripts.studies.models import Study
from transcripts.ui.typed_text import find_numbers

UNDER_WAY = (Cell.State.BLOCKED, Cell.State.PLANNED, Cell.State.LEASED, Cell.State.HELD)
# Ends of attempts that may have cost money although their answer was not used.
POSSIBLY_PAID_TWICE = (Attempt.End.UNKNOWN, Attempt.End.SURPLUS)


@dataclass
class Try:
    """One occasion on which a question was asked, with its cell, its attempts in order, and its answer, if any."""

    cell: Cell
    attempts: list[Attempt] = field(default_factory=list)
    result: Result | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether an answer may still come."""
        return self.cell.state in UNDER_WAY

    @property
    def state(self) -> str:
        """Its state, in the terms of ``pure.outcomes``."""
        if self.result is None:
            return WAITING if self.is_under_way else FAILED
        return name_answer(read_words(self.result.answer), self.finish_reason)

    @property
    def label(self) -> str:
        """The same in words."""
        return LABELS[self.state]

    @property
    def answer(self) -> str:
        """The model's words as stored, with reasoning that the server left in them."""
        return self.result.answer if self.result else ""

    @property
    def pieces(self) -> Sequence[tuple[bool, str]]:
        """The answer in parts, each with whether it is reasoning."""
        apart = [(True, self.result.reasoning)] if self.result and self.result.reasoning else []
        return [*apart, *((is_thought, text) for is_thought, text in split_thinking(self.answer) if text)]

    @property
    def finish_reason(self) -> str:
        """Why the model stopped, in the provider's words."""
        return self.result.attempt.finish_reason if self.result else ""

    @property
    def served_model(self) -> str:
        """The model that answered, as the provider names it."""
        return self.result.attempt.served_model if self.result else ""

    @property
    def error(self) -> str:
        """Why no answer came, in the provider's words."""
        return next((each.error for each in reversed(self.attempts) if each.error), "")

    @property
    def failure(self) -> str:
        """The same in a few words of our own, which quote nothing that was said; empty unless it failed."""
        if self.state != FAILED:
            return ""
        ended = "" if self.cell.outcome == PROVIDER_ERROR else self.cell.outcome or self.cell.state
        failed = next((each for each in reversed(self.attempts) if each.error_class), None)
        problem = failed.error_class if failed else ""
        status = f"HTTP {failed.http_status}" if failed and failed.http_status else ""
        words = [part.replace("_", " ") for part in (ended, problem, status) if part]
        return ", ".join(words) or "no usable answer"

    @property
    def is_in_flight(self) -> bool:
        """Whether a call for it is in progress, or the end of a call is not known yet."""
        return self.cell.state in {Cell.State.LEASED, Cell.State.HELD}


@dataclass
class Exchange:
    """A question of a session with its answer. ``is_shared``: it was asked in the session from which this one branches off.

    ``tries`` are the occasions on which it was asked; it is empty in a recorded session.
    """

    question: Question
    is_shared: bool
    tries: list[Try] = field(default_factory=list)
    recorded_answer: str | None = None

    @property
    def number(self) -> int:
        """Its number in the session, from 1."""
        return self.question.position

    @property
    def counting(self) -> Try | None:
        """The occasion that counts: the last one with an answer, or else the last one."""
        answered = [each for each in self.tries if each.result is not None]
        return next(reversed(answered or self.tries), None)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer may still come."""
        return any(each.is_under_way for each in self.tries)

    @property
    def can_be_given_up(self) -> bool:
        """Whether its answer is still expected although no call for it is in progress: it is tried again later, or its batch
        has stopped."""
        return self.is_waiting and not any(each.is_in_flight for each in self.tries)

    @property
    def state(self) -> str:
        """The state of the question, in the terms of ``pure.outcomes``."""
        if self.recorded_answer is not None:
            return ANSWERED
        if self.is_waiting or self.counting is None:
            return WAITING
        return self.counting.state

    @property
    def label(self) -> str:
        """The same in words."""
        return LABELS[self.state]

    @property
    def is_answered(self) -> bool:
        """Whether the model has said something, so that the conversation can continue."""
        return self.state in HAVE_ANSWER

    @property
    def has_result(self) -> bool:
        """Whether an answer arrived, even an empty one."""
        return self.recorded_answer is not None or bool(self.counting and self.counting.result)

    @property
    def answer(self) -> str:
        """What the model answered, as stored."""
        return (
            self.recorded_answer if self.recorded_answer is not None else self.counting.answer if self.counting else ""
        )

    @property
    def reasoning(self) -> str:
        """What the model wrote before its answer, if that was received separately."""
        if self.recorded_answer is not None:
            return self.question.answer_reasoning
        return self.counting.result.reasoning if self.counting and self.counting.result else ""

    @property
    def pieces(self) -> Sequence[tuple[bool, str]]:
        """The answer in parts, each with whether it is reasoning."""
        if self.recorded_answer is None:
            return self.counting.pieces if self.counting else []
        apart = [(True, self.reasoning)] if self.reasoning else []
        return [*apart, (False, self.recorded_answer)]

    @property
    def earlier(self) -> list[Try]:
        """The occasions before the one that counts."""
        return [each for each in self.tries if each is not self.counting and not each.is_under_way]

    @property
    def possibly_paid_twice(self) -> int:
        """The number of its calls that may have been paid for although their answer was not used."""
        return sum(attempt.end in POSSIBLY_PAID_TWICE for each in self.tries for attempt in each.attempts)

    @property
    def calls(self) -> int:
        """How many times it was sent, or may have been."""
        return sum(attempt.end != Attempt.End.UNSENT for each in self.tries for attempt in each.attempts)

    def list_details(self) -> dict[str, Any]:
        """``describe_result`` of the answer that counts; empty for a recorded one."""
        is_recorded = self.recorded_answer is not None
        return {} if is_recorded or self.counting is None else describe_result(self.counting.result)


def describe_result(result: Result | None) -> dict[str, Any]:
    """What a file of threads says about a model's turn: when, which model, why it stopped, tokens. Empty if no answer arrived."""
    if result is None:
        return {}
    attempt = result.attempt
    tokens = {"input": attempt.tokens_in, "output": attempt.tokens_out}
    told = {
        "at": attempt.done_at.isoformat() if attempt.done_at else None,
        "model": attempt.served_model,
        "finish_reason": attempt.finish_reason,
        "tokens": {name: count for name, count in tokens.items() if count is not None},
    }
    return {name: value for name, value in told.items() if value}


def read_talk(session: Session) -> list[Exchange]:
    """Everything that was said in a session, in order; a branch begins with what it shares with the sessions that it comes from.
    Five queries, and one for each of those sessions."""
    questions: list[tuple[Question, bool]] = []
    part, last, is_shared = session, None, False
    while True:
        own = part.questions.all() if last is None else part.questions.filter(position__lte=last)
        questions = [(question, is_shared) for question in own.order_by("position")] + questions
        if part.branch_of is None:
            break
        last, part, is_shared = part.after_position, part.branch_of, True
    return _attach_answers(session, questions)


def _attach_answers(session: Session, questions: Sequence[tuple[Question, bool]]) -> list[Exchange]:
    if session.mode == Session.Mode.RECORDED:
        return [Exchange(question, shared, recorded_answer=question.answer) for question, shared in questions]
    tries = read_tries(session.arm_id, [question.pk for question, _ in questions])
    return [Exchange(question, shared, list(tries.get(question.pk, ()))) for question, shared in questions]


def read_tries(arm_id: int | None, question_ids: Sequence[int]) -> Mapping[int, list[Try]]:
    """The occasions on which these questions were asked under an arm, in order, by question."""
    cells = list(Cell.objects.filter(arm=arm_id, input_id__in=question_ids).order_by("pk"))
    results = {
        result.cell_id: result
        for result in Result.objects.filter(cell__in=cells).select_related("attempt").defer("attempt__raw")
    }
    attempts: dict[int, list[Attempt]] = defaultdict(list)
    for attempt in Attempt.objects.filter(cell__in=cells).defer("raw", "prompt", "history").order_by("pk"):
        attempts[attempt.cell_id].append(attempt)
    found: dict[int, list[Try]] = defaultdict(list)
    for cell in cells:
        found[cell.input_id].append(Try(cell, attempts[cell.pk], results.get(cell.pk)))
    return found


class AskedTurn(NamedTuple):
    """A turn of a script as it was said in a session: its cell, and the result if an answer arrived."""

    question: Question
    cell: Cell
    result: Result | None

    @property
    def said(self) -> str:
        """The text exactly as sent."""
        return self.result.attempt.prompt if self.result else self.question.text


def read_turns(sessions: Iterable[Session]) -> dict[int, list[AskedTurn]]:
    """The turns of sessions of one batch, in the order of their scripts, by the session's key. Three queries."""
    wanted = {(session.arm_id, session.script_id, session.repeat): session.pk for session in sessions}
    questions = Question.objects.filter(script__in={script for _, script, _ in wanted}).in_bulk()
    found: dict[int, list[AskedTurn]] = {pk: [] for pk in wanted.values()}
    cells = Cell.objects.filter(arm__in={arm for arm, _, _ in wanted}, input_id__in=questions)
    by_key = {cell.pk: cell for cell in cells.filter(repeat__in={repeat for _, _, repeat in wanted})}
    results = _read_results(by_key)
    for cell in by_key.values():
        question = questions[cell.input_id]
        session = wanted.get((cell.arm_id, question.script_id or 0, cell.repeat))
        if session is not None:
            found[session].append(AskedTurn(question, cell, results.get(cell.pk)))
    for turns in found.values():
        turns.sort(key=lambda turn: turn.question.position)
    return found


def _read_results(cells: Iterable[int]) -> dict[int, Result]:
    keys = list(cells)
    found: dict[int, Result] = {}
    for first in range(0, len(keys), 500):
        rows = Result.objects.filter(cell__in=keys[first : first + 500]).select_related("attempt")
        found |= {row.cell_id: row for row in rows.defer("attempt__raw", "attempt__history")}
    return found


def group_ended(batch_id: int, sessions: QuerySet[Session]) -> tuple[list[list[int]], list[int]]:
    """The open sessions of a batch that can be stored, grouped by case and repeat, and those that failed.

    A session can be stored when each of its turns has an answer. A group is returned once none of its sessions is in progress, so
    that the order in which threads are stored reveals nothing about the condition. Two queries, which read no cell.
    """
    cells = Cell.objects.filter(
        batch=batch_id,
        arm=OuterRef("arm"),
        repeat=OuterRef("repeat"),
        input_id__in=Question.objects.filter(script=OuterRef(OuterRef("script"))).values("pk"),
    )
    still_open = sessions.filter(state=Session.State.OPEN)
    ended = still_open.exclude(Exists(cells.filter(state__in=UNDER_WAY))).annotate(
        is_answered=Exists(cells) & ~Exists(cells.exclude(state=Cell.State.DONE))
    )
    ready: dict[tuple[int, int], list[int]] = defaultdict(list)
    failed = []
    for pk, script, repeat, is_answered in ended.order_by("pk").values_list("pk", "script", "repeat", "is_answered"):
        if is_answered:
            ready[script, repeat].append(pk)
        else:
            failed.append(pk)
    if not ready:
        return [], failed
    known = {*failed, *(pk for group in ready.values() for pk in group)}
    # A session that has ended since the first query counts as in progress, and the next sweep takes its whole group.
    others = still_open.order_by().values_list("pk", "script", "repeat")
    running = {(script, repeat) for pk, script, repeat in others if pk not in known}
    return [group for case, group in ready.items() if case not in running], failed


class Raised(NamedTuple):
    """A code that a question raises."""

    name: Annotated[str, "Name of the code."]
    words: Annotated[str, "The words of the question that name it; empty if the kind of the question raises it."]


def find_opening(session: Session) -> str:
    """The opening text of the session, from its script."""
    return next((each["text"] for each in session.script.openings if each["id"] == session.opening), "")


def find_raised(session: Session, before: Sequence[Exchange], text: str, kind: str) -> dict[str, Raised]:
    """The codes that this question would raise before the model or the interviewer has raised them, by identifier, in the order of
    the codebook. Empty for the script's opening, which is not the interviewer's own question.

    Uses the same function that finds whether codings are prompted: a code is raised by a text that contains its name, another name
    or one of its terms, or by a question of a kind that the code names. Codes that are only for interviewers' turns are left out.
    """
    study = session.study
    version = current_version(study)
    is_opening = not before and text.replace("\r\n", "\n") == find_opening(session)
    if version is None or is_opening or not (text.strip() or kind):
        return {}
    codes = version.codes.filter(is_category=False).exclude(family__applies_to=CodeFamily.AppliesTo.INTERVIEWER)
    names = dict(codes.order_by("family__position", "position").values_list("identifier", "name"))
    signs = read_study_signs(study)
    asked = [(each.number, each.question.text, each.question.kind) for each in before]
    answered = [(each.number, each.answer, "") for each in before if each.has_result]
    own, earlier, model = Prompts([(1, text, kind)], signs), Prompts(asked, signs), Prompts(answered, signs)
    return {
        code: Raised(name, quote_mention(text, signs.get(code, Signs())))
        for code, name in names.items()
        if own.find_mention(code) is not None
        and earlier.find_mention(code) is None
        and model.find_mention(code) is None
    }


HELD_MODES = (Session.Mode.ASKED, Session.Mode.RECORDED)
FOR_CODERS = (
    "These calls were made in sessions whose threads this study codes. Coders see only the state of the batch and the share "
    "of calls that have ended."
)
NOT_HELD = (
    "These calls were made in sessions that you did not hold, and your role includes coding their threads. Once a session is "
    "stored, unblind its thread to see its calls. What you code there afterwards, if anything, counts as assisted."
)


def held_sessions(study: Study) -> QuerySet[Session]:
    """The interviews of a study that people hold, latest first, with the number of their questions (``asked``)."""
    sessions = Session.objects.filter(study=study, mode__in=HELD_MODES)
    sessions = sessions.annotate(asked=Count("questions")).select_related(
        "script", "opened_by", "interview", "branch_of"
    )
    return sessions.order_by("-pk")


def visible_sessions(viewer: Viewer) -> QuerySet[Session]:
    """The interviews of a study whose content the viewer may see.

    A person who may code the threads sees only those that she held or has unblinded, because the intents of an interview's
    questions would tell a coder what to find in its thread.
    """
    sessions = held_sessions(viewer.study)
    if not viewer.codes:
        return sessions
    asked = Question.objects.filter(session=OuterRef("pk"), asked_by=viewer.user_id)
    held = Q(opened_by=viewer.user_id) | Exists(asked)
    return sessions.filter(held | Q(interview__in=viewer.unblinded))


def count_openings(study: Study, name: str) -> Counter[tuple[str, str]]:
    """How many interviews with the scripts of this name began with each opening, by model (as sessions name it) and opening.
    Branches and discarded interviews do not count."""
    sessions = Session.objects.filter(
        study=study, script__name=name, script__use=Script.Use.INTERVIEW, branch_of__isnull=True
    ).exclude(state=Session.State.DISCARDED)
    counts: Counter[tuple[str, str]] = Counter()
    for shown, variant, opening in sessions.values_list("model_as_shown", "arm__variant__label", "opening"):
        counts[shown or variant or "", opening] += 1
    return counts


class KindCounts(NamedTuple):
    """The number of interviews with one model, and of their questions of each kind."""

    model: str
    interviews: int
    by_kind: Counter[str]

    @property
    def questions(self) -> int:
        """The number of questions of any kind, including the opening."""
        return self.by_kind.total()

    @property
    def counts(self) -> list[int]:
        """The number of questions by kind, in the order of ``Question.Kind``."""
        return [self.by_kind[kind] for kind in Question.Kind.values]

    @property
    def leading_percent(self) -> int:
        """The share of leading questions among all questions, in percent."""
        return round(100 * self.by_kind[Question.Kind.LEADING] / self.questions)


def count_kinds(study: Study) -> list[KindCounts]:
    """How strongly questions directed each model, in the stored interviews held here that count. Kinds are those of the threads'
    turns, which may have been corrected since. One query."""
    held = Turn.objects.filter(interview__study=study, interview__session__mode__in=HELD_MODES)
    asked = held.filter(role=Turn.Role.INTERVIEWER).order_by()
    rows = asked.values_list("interview__model_label", "prompt_kind", "interview").annotate(count=Count("pk"))
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    interviews: defaultdict[str, set[int]] = defaultdict(set)
    for model, kind, interview, count in rows:
        kinds[model][kind] += count
        interviews[model].add(interview)
    return [KindCounts(model, len(interviews[model]), kinds[model]) for model in sorted(kinds)]


def list_scripts(study: Study, use: str) -> QuerySet[Script]:
    """Every number of every script of a use, by name, latest number first."""
    scripts = Script.objects.filter(study=study, use=use).select_related("written_by")
    return scripts.prefetch_related("questions").order_by("name", "-number")


def latest_scripts(study: Study, use: str) -> QuerySet[Script]:
    """The latest number of each script of a use, by name."""
    later = Script.objects.filter(study=study, name=OuterRef("name"), number__gt=OuterRef("number"))
    return Script.objects.filter(~Exists(later), study=study, use=use).order_by("name")


def find_script(study: Study, label: str) -> Script | None:
    """The script of interviews that ``label`` names: the latest number of a name, or a given number as in gender/2."""
    name, _, number = label.partition("/")
    scripts = Script.objects.filter(study=study, use=Script.Use.INTERVIEW, name__iexact=name)
    if number:
        scripts = scripts.filter(number__in=find_numbers([number]))
    return scripts.order_by("-number").first()


def list_bank(script: Script) -> QuerySet[Question]:
    """The follow-up questions that a script offers, in the script's order."""
    return script.questions.order_by("position")


def list_session_interviews(batch: Batch, *, input_id: int | None = None) -> set[int]:
    """The threads that the sessions of a batch became, or only those in which the input ``input_id`` was asked."""
    sessions = Session.objects.filter(arm__batch=batch, interview__study=batch.study_id)
    if input_id is not None:
        sessions = sessions.filter(Q(questions=input_id) | Q(script__questions=input_id))
    return set(sessions.values_list("interview", flat=True))


def find_session_visibility(batch: Batch, viewer: Viewer) -> Visibility:
    """What a person may see of a batch whose calls are questions of sessions.

    The cost and duration of an answer reveal no labels, but a question shows its intent. So a person who may code the thread of a
    session sees its calls only if she held the session or has unblinded the thread.
    """
    if not viewer.codes:
        return EVERYTHING
    sessions = Session.objects.filter(arm__batch=batch)
    closed = sessions.exclude(Q(opened_by=viewer.user_id) | Q(interview__in=viewer.unblinded))
    asked = Question.objects.filter(session=OuterRef("pk"), asked_by=viewer.user_id)
    closed = closed.exclude(Exists(asked))
    if not closed.exists():
        return EVERYTHING
    interviews = viewer.blinded(list_session_interviews(batch))
    return Visibility(
        is_whole=False,
        sentence=NOT_HELD if viewer.sees_all else FOR_CODERS,
        interviews=frozenset(interviews) if viewer.sees_all else frozenset(),
    )
