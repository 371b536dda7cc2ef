"""A batch's answers as tallies: one stream of rows, then arrays. A million answers take a few seconds."""

from __future__ import annotations

import gc
import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from auditapp.batches.models import Batch
from auditapp.sob.counting import NO_ATTRIBUTES, OVERALL, Counts
from auditapp.sob.instruments import BASE_TASK
from auditapp.sob.measures.attribution_columns import ColumnTally
from auditapp.sob.measures.attributions import Place
from auditapp.sob.measures.mapping import TargetMapping
from auditapp.sob.measures.tallies import Group, ItemMatrix, RepeatKey, RepeatSum, Tallies
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.parsing import Outcome
from auditapp.sob.queries.arms import AskedArm, read_arms
from auditapp.sob.queries.standing import LAYERS, OUTCOMES, PART, Row, stream_standing, unpack_counts, unpack_rest
from auditapp.sob.queries.targets import TextTargets, read_targets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

USABLE = (Outcome.ATTRIBUTED, Outcome.UNKNOWN)

# Whether the collector was on, once for each report that is being read at the moment.
_pausing = threading.Lock()
_paused: list[bool] = []


def tally_batch(
    batch: Batch,
    *,
    arms: Sequence[AskedArm] | None = None,
    texts: TextTargets | None = None,
    mapping: TargetMapping | None = None,
) -> Tallies:
    """The standing readings of a batch; ``arms`` and ``texts`` are read unless they are given."""
    arms = read_arms(batch) if arms is None else arms
    texts = read_targets(batch) if texts is None else texts
    scored = [arm for arm in arms if arm.task != BASE_TASK]
    frame = _Frame(scored, texts)
    attributions = ColumnTally(frame.places, mapping)
    answers = _read_answers(batch, frame, attributions)
    return Tallies(
        groups=_count_groups(frame, answers),
        matrices=_fill_matrices(frame, answers),
        repeats=_sum_repeats(frame, answers),
        attributions=attributions,
        verdicts=count_verdicts([arm for arm in arms if arm.task == BASE_TASK], texts),
    )


def count_verdicts(arms: Sequence[AskedArm], texts: TextTargets) -> Counter[tuple[str, str, str]]:
    """The answers to the base task by model, target, and verdict, or outcome where there is none."""
    counts: Counter[tuple[str, str, str]] = Counter()
    if not arms:
        return counts
    models = {arm.arm_id: arm.model for arm in arms}
    targets = dict(zip(texts.ids, texts.targets, strict=True))
    judgments = Judgment.objects.filter(arm__in=models, superseded_by__isnull=True)
    readings = Reading.objects.filter(judgment__arm__in=models, superseded_by__isnull=True)
    for rows in (
        judgments.values_list("arm_id", "text_id", "outcome", "verdict"),
        readings.values_list("judgment__arm_id", "judgment__text_id", "outcome", "verdict"),
    ):
        for arm_id, text_id, outcome, verdict in rows.order_by().iterator(chunk_size=20_000):
            counts[models[arm_id], targets[text_id], verdict or outcome] += 1
    # Rows come in any order; a report has its models in that of the launch.
    order = list(models.values())
    return Counter(dict(sorted(counts.items(), key=lambda counted: order.index(counted[0][0]))))


class _Frame:
    """Numbers for arms, texts, and places (an arm and a target), in the order in which they were asked."""

    def __init__(self, arms: Sequence[AskedArm], texts: TextTargets) -> None:
        import numpy as np

        self.arms, self.texts = arms, texts
        self.arm_numbers = {arm.arm_id: number for number, arm in enumerate(arms)}
        self.targets = list(dict.fromkeys(texts.targets))
        self.places = [Place(arm.model, arm.task, target) for arm in arms for target in self.targets]
        numbers = {target: number for number, target in enumerate(self.targets)}
        self.target_of_text = np.array([numbers[target] for target in texts.targets], np.int64)
        ids = np.array(texts.ids, np.int64)
        self._order = ids.argsort()
        self._sorted_ids = ids[self._order]

    def number_texts(self, ids: Sequence[int]) -> NDArray[np.int64]:
        """The positions of texts. Raises ``LookupError`` for one of another set."""
        import numpy as np

        wanted = np.array(ids, np.int64)
        places = np.searchsorted(self._sorted_ids, wanted)
        if len(wanted) and (places.max() >= len(self._sorted_ids) or (self._sorted_ids[places] != wanted).any()):
            raise LookupError("This batch has answers on texts of another set than it names.")
        return self._order[places]

    def number_arms(self, ids: Sequence[int]) -> NDArray[np.int64]:
        """The positions of arms."""
        import numpy as np

        return np.fromiter(map(self.arm_numbers.__getitem__, ids), np.int64, len(ids))

    def find_places(self, arm: NDArray[np.int64], text: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each answer."""
        return arm * len(self.targets) + self.target_of_text[text]


class _Answers(NamedTuple):
    """Every answer of a batch, an array a column; ``counts`` and ``rest`` are packed as they were fetched."""

    arm: NDArray[np.int64]
    text: NDArray[np.int64]
    counts: NDArray[np.int64]
    rest: NDArray[np.int64]


def _read_answers(batch: Batch, frame: _Frame, attributions: ColumnTally) -> _Answers:
    import numpy as np

    none = _Answers(*(np.empty(0, np.int64) for _ in _Answers._fields))
    groups = stream_standing(batch, list(frame.arm_numbers))
    with _collector_paused():
        parts = [none, *(_read_rows(rows, frame, attributions) for rows in groups)]
    return _Answers(*map(np.concatenate, zip(*parts, strict=True)))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Rows refer to nothing that refers back; looking for such circles takes a third of the time of a million of them.

    The collector is the whole process's: it comes back with the last of the threads that paused it.
    """
    with _pausing:
        if not _paused:
            _paused.append(gc.isenabled())
            gc.disable()
        else:
            _paused.append(_paused[0])
    try:
        yield
    finally:
        with _pausing:
            was_on = _paused.pop()
            if was_on and not _paused:
                gc.enable()


def _read_rows(rows: Sequence[Row], frame: _Frame, attributions: ColumnTally) -> _Answers:
    import numpy as np

    arm_ids, text_ids, counts, rest, attributes = zip(*rows, strict=True)
    arm, text = frame.number_arms(arm_ids), frame.number_texts(text_ids)
    written = [each for each in attributes if each is not None]
    if written:
        attributed = np.fromiter((each is not None for each in attributes), bool, len(rows))
        # Read as one list, which takes half as long as one by one.
        answers = json.loads(f"[{','.join(written)}]")
        attributions.add_group(frame.find_places(arm[attributed], text[attributed]), answers)
    return _Answers(arm, text, np.array(counts, np.int64), np.array(rest, np.int64))


def _count_groups(frame: _Frame, answers: _Answers) -> Counter[Group]:
    import numpy as np

    # Repeats count alike.
    rest = answers.rest - unpack_rest(answers.rest).repeat * PART
    counts_kinds, counts = np.unique(answers.counts, return_inverse=True)
    rest_kinds, rest = np.unique(rest, return_inverse=True)
    places = frame.find_places(answers.arm, answers.text)
    keys, numbers = np.unique((places * len(counts_kinds) + counts) * len(rest_kinds) + rest, return_counts=True)
    columns = unpack_rest(rest_kinds)
    found: Counter[Group] = Counter()
    for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
        place, packed = divmod(key // len(rest_kinds), len(counts_kinds))
        kind = key % len(rest_kinds)
        model, task, target = frame.places[place]
        counted = Counts(*unpack_counts(int(counts_kinds[packed])), int(columns.items[kind]))
        outcome = OUTCOMES[columns.outcome[kind]]
        is_attributed = outcome is Outcome.ATTRIBUTED
        group = Group(
            model=model or "",
            task=task,
            target=target,
            # One that gives nothing known is Unknown, whoever read it otherwise.
            outcome=Outcome.UNKNOWN if is_attributed and not counted.paper else outcome,
            counts=counted if is_attributed else NO_ATTRIBUTES,
            is_object=is_attributed or bool(columns.is_object[kind]),
            has_list=bool(columns.has_list[kind]),
            layer=LAYERS[columns.layer[kind]],
            repaired=bool(columns.repaired[kind]),
        )
        found[group] += number
    return found


class _Scored(NamedTuple):
    """What of each answer enters a score: whether it stays in the denominator, and its attributes in two countings."""

    usable: NDArray[np.bool_]
    paper: NDArray[np.int64]
    strict: NDArray[np.int64]


def _score(answers: _Answers) -> _Scored:
    import numpy as np

    outcome = unpack_rest(answers.rest).outcome
    attributed = outcome == OUTCOMES.index(Outcome.ATTRIBUTED)
    usable = np.isin(outcome, [OUTCOMES.index(each) for each in USABLE])
    paper = answers.counts % PART
    return _Scored(usable, np.where(attributed, paper, 0), np.where(attributed, answers.counts // PART**3, 0))


def _fill_matrices(frame: _Frame, answers: _Answers) -> Mapping[str, ItemMatrix]:
    import numpy as np

    scored = _score(answers)
    tasks = np.array([arm.task for arm in frame.arms], object)
    matrices: dict[str, ItemMatrix] = {}
    for task in dict.fromkeys(arm.task for arm in frame.arms):
        of_task = (tasks == task)[answers.arm] if len(answers.arm) else np.empty(0, bool)
        if not of_task.any():
            continue
        arms, column = np.unique(answers.arm[of_task], return_inverse=True)
        items, row = np.unique(answers.text[of_task], return_inverse=True)
        sums = [
            np.bincount(row * len(arms) + column, weights=each[of_task], minlength=len(items) * len(arms))
            for each in scored
        ]
        usable, paper, strict = (each.astype(np.int64).reshape(len(items), len(arms)) for each in sums)
        matrices[task] = ItemMatrix(
            models=[frame.arms[arm].model for arm in arms.tolist()],
            items=[frame.texts.ids[item] for item in items.tolist()],
            targets=[frame.texts.targets[item] for item in items.tolist()],
            secondaries=[frame.texts.secondaries[item] for item in items.tolist()],
            usable=usable,
            paper=paper,
            strict=strict,
        )
    return matrices


def _sum_repeats(frame: _Frame, answers: _Answers) -> Mapping[RepeatKey, RepeatSum]:
    import numpy as np

    repeat = unpack_rest(answers.rest).repeat
    most = int(repeat.max(initial=0)) + 1
    keys, row = np.unique(frame.find_places(answers.arm, answers.text) * most + repeat, return_inverse=True)
    scored = _score(answers)
    usable, attributes = (
        np.bincount(row, weights=each, minlength=len(keys)).astype(np.int64).tolist()
        for each in (scored.usable, scored.paper)
    )
    found: dict[RepeatKey, RepeatSum] = {}
    for key, answered, given in zip(keys.tolist(), usable, attributes, strict=True):
        model, task, own = frame.places[key // most]
        for target in {own, OVERALL} - {""}:
            name = RepeatKey(model or "", task, target, key % most)
            before = found.get(name, RepeatSum(0, 0))
            found[name] = RepeatSum(before.usable + answered, before.attributes + given)
    return found
