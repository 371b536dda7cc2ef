"""The plays of a batch as a table of cases by models and conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from auditapp.batches.models import Arm, Batch
from auditapp.scenarios.models import Play
from auditapp.scenarios.pure.measures import PlayOutcome
from auditapp.scenarios.queries.runs import run_plays
from transcripts.corpus.models import Interview

EXPECTED, UNEXPECTED, UNREADABLE = "expected", "unexpected", "unreadable"


class MatrixCell(NamedTuple):
    """A case in one arm: how many of its plays gave the expected answer, another one, or none that could be read; and its plays,
    each with what it came to in a word, "" where it has not ended or expects no answer."""

    counts: Mapping[str, int]
    plays: list[tuple[Play, str]]


def read_matrix(
    batch: Batch, outcomes: Mapping[int, PlayOutcome], *, only_unexpected: bool = False
) -> tuple[list[Arm], dict[str, list[MatrixCell]]]:
    """The arms of a batch; and its cases by name with twins in a row, each with a cell for each arm. Two queries.

    ``outcomes`` are what ``run_report.read_run`` says of the plays. With ``only_unexpected`` there are the cases with an unexpected
    answer, and of their plays those that gave one; the counts are of all.
    """
    arms = list(batch.arms.select_related("variant__account").order_by("pk"))
    places = {arm.pk: place for place, arm in enumerate(arms)}
    cases: dict[str, list[list[tuple[Play, str]]]] = {}
    plays = run_plays(batch).select_related("script", "interview").order_by("script__name", "repeat", "pk")
    for play in plays:
        own = cases.setdefault(play.script.label, [[] for _ in arms])
        own[places[play.arm_id or 0]].append((play, _name_outcome(play, outcomes.get(play.pk))))
    rows = {case: [_make_cell(each, only_unexpected) for each in own] for case, own in cases.items()}
    return arms, {case: own for case, own in rows.items() if not only_unexpected or any(cell.plays for cell in own)}


def _name_outcome(play: Play, found: PlayOutcome | None) -> str:
    if found is None or play.state != Play.State.STORED:
        return ""
    return {True: EXPECTED, False: UNEXPECTED, None: UNREADABLE}[found.outcome]


def _make_cell(plays: list[tuple[Play, str]], only_unexpected: bool) -> MatrixCell:
    counted = Counter(name for _, name in plays if name)
    counts = {name: counted[name] for name in (EXPECTED, UNEXPECTED, UNREADABLE)} if counted else {}
    return MatrixCell(counts, [each for each in plays if not only_unexpected or each[1] == UNEXPECTED])


def list_labels(batch: Batch) -> list[Interview]:
    """The threads that came of a batch, by the labels under which they were masked: nothing of which case or condition each is, for
    the titles of those that are unmasked name both. One query."""
    plays = run_plays(batch).filter(interview__project=batch.project_id)
    threads = Interview.objects.filter(pk__in=plays.values("interview"))
    return list(threads.only("pk", "mask_label", "unmasked_at").order_by("mask_label"))
