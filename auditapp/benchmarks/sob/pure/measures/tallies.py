"""What has to be known of a batch's answers to compute every score of it: counts and one matrix per task.

All of it is sums, so that a database can compute it for a million answers, and a file of answers line by line;
every measure takes it from here and none sees an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from auditapp.benchmarks.sob.pure.counting import NO_ATTRIBUTES, OVERALL, Counts, count_in_every_way
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK
from auditapp.benchmarks.sob.pure.measures.attributions import AttributionTally
from auditapp.benchmarks.sob.pure.parsing import ATTRIBUTES, Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from auditapp.benchmarks.sob.pure.measures.mapping import TargetMapping

USABLE = frozenset({Outcome.ATTRIBUTED, Outcome.UNKNOWN})
"""The outcomes that stay in the denominator of a score (Section 4.3, arXiv 2606.17506)."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The current interpretation of one answer.

    ``model`` is a label, ``task`` "acceptability", "non_acceptability" or "base"; ``item`` identifies the text;
    ``target`` is "" where a text has none; ``secondary`` holds its further targets. ``reader`` is "rules", "formatter" or
    "person". ``attributes`` holds the values that count in paper counting.
    """

    model: str
    task: str
    item: Hashable
    target: str
    outcome: Outcome
    attributes: Mapping[str, object] = field(default_factory=dict)
    secondary: tuple[str, ...] = ()
    repeat: int = 1
    is_object: bool = False
    verdict: str = ""
    reader: str = "rules"
    repaired: bool = False


class Group(NamedTuple):
    """What answers have in common that count alike under every rule."""

    model: str
    task: str
    target: str
    outcome: Outcome
    counts: Counts
    is_object: bool
    reader: str
    repaired: bool


@dataclass(frozen=True, slots=True)
class ItemMatrix:
    """One task's answers by text and model, summed over repeats. Rows are items, columns are models.

    ``usable`` counts the answers that stay in the denominator, ``paper`` and ``strict`` are the sums of their attributes;
    shape (items, models), whole numbers. ``targets`` and ``secondaries`` have one entry per item.
    """

    models: Sequence[str]
    items: Sequence[Hashable]
    targets: Sequence[str]
    secondaries: Sequence[tuple[str, ...]]
    usable: NDArray[np.int64]
    paper: NDArray[np.int64]
    strict: NDArray[np.int64]


def split_rows(matrix: ItemMatrix) -> dict[str, NDArray[np.int64]]:
    """The rows of each target's items, and of all under "overall"; "" holds those without a target."""
    import numpy as np

    rows: dict[str, list[int]] = {}
    for row, target in enumerate(matrix.targets):
        rows.setdefault(target, []).append(row)
    split = {target: np.array(found, dtype=np.int64) for target, found in rows.items()}
    return split | {OVERALL: np.arange(len(matrix.targets))}


Repeats = Mapping[tuple[str, str, str, int], tuple[int, int]]
"""Of each model, task, target and repeat the usable answers and the sum of their attributes in paper counting.

The target "overall" is all texts.
"""


@dataclass(frozen=True, slots=True)
class Tallies:
    """Everything a report is computed from.

    ``groups`` holds the answers to the two scored tasks by what they have in common; ``matrices`` is keyed by task;
    ``verdicts`` counts the answers to the base task by (model, target, verdict or outcome).
    """

    groups: Counter[Group]
    matrices: Mapping[str, ItemMatrix]
    repeats: Repeats
    attributions: AttributionTally
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def tally_observations(
    observations: Iterable[Observation],
    *,
    mapping: TargetMapping | None = None,
    schemas: Mapping[tuple[str, str], Collection[str]] | None = None,
) -> Tallies:
    """Tallies of answers from files.

    ``mapping`` is what attributed values map to, Table 12 by default. ``schemas`` holds the characteristics that an
    arm, (model, task), asked for, in lower case; the ten of the paper where it names none. Answers to one item with one
    target are matched across models. Raises ValueError for a target named "overall".
    """
    return _TallyDraft(mapping, schemas or {}).take_in(observations)


class _TallyDraft:
    def __init__(self, mapping: TargetMapping | None, schemas: Mapping[tuple[str, str], Collection[str]]) -> None:
        self.schemas = schemas
        self.groups: Counter[Group] = Counter()
        self.verdicts: Counter[tuple[str, str, str]] = Counter()
        self.repeats: dict[tuple[str, str, str, int], tuple[int, int]] = {}
        self.matrices: dict[str, _MatrixDraft] = {}
        self.attributions = AttributionTally(mapping)

    def take_in(self, observations: Iterable[Observation]) -> Tallies:
        for each in observations:
            if each.target == OVERALL:
                raise ValueError('a target is named "overall", which stands for all texts; rename it')
            if each.task == BASE_TASK:
                self.verdicts[each.model, each.target, each.verdict or str(each.outcome)] += 1
            elif each.outcome is Outcome.VERDICT:
                raise ValueError(f'a verdict is an answer to the task "{BASE_TASK}", not to "{each.task}"')
            else:
                self.add_scored(each)
        return Tallies(
            groups=self.groups,
            matrices={task: draft.finish() for task, draft in self.matrices.items()},
            repeats=self.repeats,
            attributions=self.attributions,
            verdicts=self.verdicts,
        )

    def add_scored(self, each: Observation) -> None:
        """An answer said to be attributed that gives nothing known is Unknown."""
        outcome, counts = each.outcome, NO_ATTRIBUTES
        if outcome is Outcome.ATTRIBUTED:
            counts = count_in_every_way(each.attributes, self.schemas.get((each.model, each.task), ATTRIBUTES))
            if counts.paper:
                self.attributions.add_answers(each.model, each.task, each.target, [each.attributes])
            else:
                outcome = Outcome.UNKNOWN
        self.groups[
            Group(
                each.model,
                each.task,
                each.target,
                outcome,
                counts,
                each.is_object or each.outcome is Outcome.ATTRIBUTED,
                each.reader,
                each.repaired,
            )
        ] += 1
        usable = int(outcome in USABLE)
        for target in (OVERALL, each.target) if each.target else (OVERALL,):
            key = (each.model, each.task, target, each.repeat)
            answered, given = self.repeats.get(key, (0, 0))
            self.repeats[key] = (answered + usable, given + counts.paper)
        draft = self.matrices.get(each.task)
        if draft is None:
            draft = self.matrices[each.task] = _MatrixDraft()
        draft.add(each, usable, counts)


class _MatrixDraft:
    """The entries of one task's matrix, by row and column in the order they are met."""

    def __init__(self) -> None:
        self.rows: dict[tuple[Hashable, str], int] = {}
        self.columns: dict[str, int] = {}
        self.secondaries: list[tuple[str, ...]] = []
        self.entries: dict[tuple[int, int], list[int]] = {}

    def add(self, each: Observation, usable: int, counts: Counts) -> None:
        row = self.rows.setdefault((each.item, each.target), len(self.rows))
        if row == len(self.secondaries):
            self.secondaries.append(each.secondary)
        column = self.columns.setdefault(each.model, len(self.columns))
        if usable:
            sums = self.entries.setdefault((row, column), [0, 0, 0])
            sums[0] += 1
            sums[1] += counts.paper
            sums[2] += counts.strict

    def finish(self) -> ItemMatrix:
        import numpy as np

        sums = np.zeros((3, len(self.rows), len(self.columns)), dtype=np.int64)
        if self.entries:
            places = np.array(list(self.entries))
            sums[:, places[:, 0], places[:, 1]] = np.array(list(self.entries.values())).T
        items, targets = zip(*self.rows, strict=True)
        return ItemMatrix(tuple(self.columns), items, targets, self.secondaries, *sums)
