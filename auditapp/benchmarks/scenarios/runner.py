"""Interviews and scenarios in the batch engine: a cell is one question, or one turn of a script, and its call continues the
conversation before it.

Tools that a model asks for are never run: a turn is text, and so is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auditapp.batches.kinds import Answered, BatchKind, Said, Visibility
from auditapp.batches.ledger.endings import PROVIDER_ERROR
from auditapp.batches.models import Arm, Batch, Cell
from auditapp.batches.pure.conversations import Conversation, Exchange, read_words
from auditapp.benchmarks.scenarios.models import Question, Session
from auditapp.benchmarks.scenarios.pure.outcomes import asks_back, name_answer
from auditapp.benchmarks.scenarios.queries.runs import KIND, find_run_visibility, list_run_interviews
from auditapp.benchmarks.scenarios.queries.sessions import find_session_visibility, list_session_interviews
from transcripts.blinding.viewers import Viewer

SESSION_KIND = "session"


class SessionKind(BatchKind):
    """Inputs are keys of ``Question``. Only the result of its cell is stored for an answer; pages and threads read it."""

    name = SESSION_KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, Said]:
        """The questions as they were typed; the engine adds what was said before them."""
        return dict(Question.objects.filter(pk__in=input_ids).values_list("pk", "text"))

    def store_answers(self, batch: Batch, answers: Sequence[Answered]) -> Mapping[int, str]:
        """The state of each answer: answered, truncated, empty or refused; or a provider error if no answer arrived."""
        return {
            each.cell_id: PROVIDER_ERROR
            if each.answer is None
            else name_answer(read_words(each.answer), each.finish_reason)
            for each in answers
        }

    def find_visibility(self, batch: Batch, viewer: Viewer) -> Visibility:
        return find_session_visibility(batch, viewer)

    def list_interviews(self, batch: Batch, *, input_id: int | None = None) -> set[int]:
        return list_session_interviews(batch, input_id=input_id)


class ScenarioKind(SessionKind):
    """Inputs are keys of ``Question``. Only the result of its cell is stored for an answer; threads are made from it."""

    name = KIND

    def write_prompts(self, arm: Arm, input_ids: Sequence[int]) -> Mapping[int, Said]:
        """The turns, for the review of a launch; if a turn has two wordings, the longer one."""
        return {
            question.pk: Conversation(
                join_system(arm, question), (), max(question.text, question.text_if_asked, key=len)
            )
            for question in _read_questions(input_ids)
        }

    def write_conversations(
        self, arm: Arm, cells: Sequence[Cell], exchanges: Mapping[int, Sequence[Exchange]]
    ) -> Mapping[int, Said]:
        """The turns in the wording that is sent: ``text_if_asked`` if there is one and the last paragraph of the previous answer
        asks a question."""
        questions = {question.pk: question for question in _read_questions({cell.input_id for cell in cells})}
        said: dict[int, Said] = {}
        for cell in cells:
            if (question := questions.get(cell.input_id)) is not None:
                before = exchanges.get(cell.pk, ())
                is_asked = bool(question.text_if_asked and before and asks_back(before[-1][1]))
                text = question.text_if_asked if is_asked else question.text
                said[cell.pk] = Conversation(join_system(arm, question), (), text)
        return said

    def reopen(self, cell_ids: Sequence[int]) -> None:
        """Reopen sessions whose turns are asked again."""
        rows = Cell.objects.filter(pk__in=cell_ids).values_list("arm", "input_id", "repeat")
        asked = {(arm, question, repeat) for arm, question, repeat in rows}
        scripts = dict(
            Question.objects.filter(pk__in={question for _, question, _ in asked}).values_list("pk", "script")
        )
        wanted = {(arm, scripts.get(question), repeat) for arm, question, repeat in asked}
        failed = Session.objects.filter(arm__in={arm for arm, _, _ in wanted}, state=Session.State.FAILED)
        again = [pk for pk, *key in failed.values_list("pk", "arm", "script", "repeat") if tuple(key) in wanted]
        Session.objects.filter(pk__in=again).update(state=Session.State.OPEN, ended_at=None)

    def find_visibility(self, batch: Batch, viewer: Viewer) -> Visibility:
        return find_run_visibility(batch, viewer)

    def list_interviews(self, batch: Batch, *, input_id: int | None = None) -> set[int]:
        return list_run_interviews(batch, input_id=input_id)


def join_system(arm: Arm, question: Question) -> str:
    """The system text of a turn: first that of the condition, then that of the script. Reads question.script."""
    own = question.script.system if question.script else ""
    return "\n\n".join(text for text in (arm.system_prompt, own) if text)


def _read_questions(keys: Sequence[int] | set[int]) -> list[Question]:
    return list(Question.objects.filter(pk__in=keys, script__isnull=False).select_related("script"))
