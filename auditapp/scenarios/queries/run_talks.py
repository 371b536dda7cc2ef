"""What was said in the plays that a batch ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from auditapp.batches.models import Cell, Result
from auditapp.scenarios.models import Play, Question
from auditapp.scenarios.queries.runs import NOT_ENDED


class AskedTurn(NamedTuple):
    """A turn of a script as it was said in a play: its cell, and the result where an answer came."""

    question: Question
    cell: Cell
    result: Result | None

    @property
    def said(self) -> str:
        """The text exactly as sent."""
        return self.result.attempt.prompt if self.result else self.question.text

    def list_details(self) -> dict[str, Any]:
        """What a file of trajectories tells of the model's turn: when, which model, why it stopped, tokens."""
        if self.result is None:
            return {}
        attempt = self.result.attempt
        tokens = {"input": attempt.tokens_in, "output": attempt.tokens_out}
        told = {
            "at": attempt.done_at.isoformat() if attempt.done_at else None,
            "model": attempt.served_model,
            "finish_reason": attempt.finish_reason,
            "tokens": {name: count for name, count in tokens.items() if count is not None},
        }
        return {name: value for name, value in told.items() if value}


def read_turns(plays: Iterable[Play]) -> dict[int, list[AskedTurn]]:
    """The turns of plays of one batch, in the order of their scripts, by the play's key. Three queries."""
    wanted = {(play.arm_id, play.script_id, play.repeat): play.pk for play in plays}
    questions = Question.objects.filter(script__in={script for _, script, _ in wanted}).in_bulk()
    found: dict[int, list[AskedTurn]] = {pk: [] for pk in wanted.values()}
    cells = Cell.objects.filter(arm__in={arm for arm, _, _ in wanted}, input_id__in=questions)
    by_key = {cell.pk: cell for cell in cells.filter(repeat__in={repeat for _, _, repeat in wanted})}
    results = _read_results(by_key)
    for cell in by_key.values():
        question = questions[cell.input_id]
        play = wanted.get((cell.arm_id, question.script_id or 0, cell.repeat))
        if play is not None:
            found[play].append(AskedTurn(question, cell, results.get(cell.pk)))
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


def group_ended(batch_id: int, plays: QuerySet[Play]) -> tuple[list[list[int]], list[int]]:
    """Of open plays of a batch: those that can be stored, the plays of one case and repeat together, and those that failed.

    A play can be stored when each of its turns has an answer. One case and repeat comes together once no play of it is under
    way, so that the order in which threads come in tells nothing of the condition. Two queries, which read no cell.
    """
    cells = Cell.objects.filter(
        batch=batch_id,
        arm=OuterRef("arm"),
        repeat=OuterRef("repeat"),
        input_id__in=Question.objects.filter(script=OuterRef(OuterRef("script"))).values("pk"),
    )
    still_open = plays.filter(state=Play.State.OPEN)
    ended = still_open.exclude(Exists(cells.filter(state__in=NOT_ENDED))).annotate(
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
    # One that has ended since the first query counts as under way, and the next sweep takes them together.
    others = still_open.order_by().values_list("pk", "script", "repeat")
    running = {(script, repeat) for pk, script, repeat in others if pk not in known}
    return [group for case, group in ready.items() if case not in running], failed
