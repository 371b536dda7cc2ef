"""A batch's answers as tallies: one stream of rows, then arrays."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, islice
from typing import TYPE_CHECKING, Any

from django.db.models import Count, F, TextField, Value
from django.db.models.functions import Cast

from auditapp.batches.models import Batch
from auditapp.sob.models import Judgment, Reading
from auditapp.sob.pure.counting import NO_ATTRIBUTES, OVERALL, Counts
from auditapp.sob.pure.instruments import BASE_TASK
from auditapp.sob.pure.measures.attributions import AttributionTally
from auditapp.sob.pure.measures.mapping import TargetMapping
from auditapp.sob.pure.measures.tallies import USABLE, Group, ItemMatrix, RepeatKey, RepeatSum, Tallies
from auditapp.sob.pure.parsing import Outcome
from auditapp.sob.queries.arms import AskedArm, read_arms
from auditapp.sob.queries.readers import find_cell_range
from auditapp.sob.queries.targets import TextTargets, read_targets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROWS_AT_A_TIME = 20_000
COUNTS = ("n_attributes", "n_named", "n_on_schema", "n_strict", "n_items")
"""The stored counts in the order of ``Counts``."""
# As SQLite and PostgreSQL write it.
TRUE = ("1", "true")
FLAGS = ("is_object", "repaired")


def tally_batch(
    batch: Batch,
    *,
    arms: Sequence[AskedArm] | None = None,
    texts: TextTargets | None = None,
    mapping: TargetMapping | None = None,
) -> Tallies:
    """The standing readings of a batch; ``arms`` and ``texts`` are read unless they are given.

    Raises ``LookupError`` for an answer on a text that is not among ``texts``.
    """
    arms = read_arms(batch) if arms is None else arms
    texts = read_targets(batch) if texts is None else texts
    scored = [arm for arm in arms if arm.task != BASE_TASK]
    answers = _Answers(scored, texts, AttributionTally(mapping))
    if scored:
        rows = _stream_readings(batch)
        while part := list(islice(rows, ROWS_AT_A_TIME)):
            answers.add(part)
    columns = answers.join()
    return Tallies(
        groups=answers.count_groups(),
        matrices=_fill_matrices(scored, texts, columns),
        repeats=_sum_repeats(scored, texts, columns),
        attributions=answers.attributions,
        verdicts=count_verdicts([arm for arm in arms if arm.task == BASE_TASK], texts),
    )


def count_verdicts(arms: Sequence[AskedArm], texts: TextTargets) -> Counter[tuple[str, str, str]]:
    """The answers to the base task by model, target, and verdict, or outcome where there is none."""
    counts: Counter[tuple[str, str, str]] = Counter()
    if not arms:
        return counts
    models = {arm.arm_id: arm.model for arm in arms}
    targets = dict(zip(texts.ids, texts.targets, strict=True))
    judgments = Judgment.objects.filter(arm__in=models, superseded_by=None)
    readings = Reading.objects.filter(judgment__arm__in=models, superseded_by=None)
    for rows in (
        judgments.values_list("arm_id", "text_id", "outcome", "verdict"),
        readings.values_list("judgment__arm_id", "judgment__text_id", "outcome", "verdict"),
    ):
        for arm_id, text_id, outcome, verdict, n in rows.order_by().annotate(n=Count("pk")):
            counts[models[arm_id], targets[text_id], verdict or outcome] += n
    # Rows come in any order; a report has its models in that of the launch.
    order = list(models.values())
    return Counter(dict(sorted(counts.items(), key=lambda counted: order.index(counted[0][0]))))


def _stream_readings(batch: Batch) -> Iterator[tuple[Any, ...]]:
    """Every standing reading, the rules' first: arm, text, repeat, layer, outcome, attributes as text, counts, flags.

    Found by the range of the batch's cells, which lie together. Attributes and flags are read as text, because Django's conversions
    would take longer than the query (`python -m benchmarks sob`).
    """
    first, last = find_cell_range(batch)
    written = {"written": Cast("attributes", TextField())}
    flags = {f"{flag}_text": Cast(flag, TextField()) for flag in FLAGS}
    columns = ("outcome", "written", *COUNTS, *flags)
    judgments = Judgment.objects.filter(cell__gte=first, cell__lte=last, superseded_by=None)
    readings = Reading.objects.filter(judgment__gte=first, judgment__lte=last, superseded_by=None).order_by()
    for rows in (
        judgments.annotate(by=Value("rules"), **written, **flags).values_list(
            "arm_id", "text_id", "repeat", "by", *columns
        ),
        readings.annotate(by=F("layer"), **written, **flags).values_list(
            "judgment__arm_id", "judgment__text_id", "judgment__repeat", "by", *columns
        ),
    ):
        yield from rows.iterator(chunk_size=ROWS_AT_A_TIME)


class _Answers:
    """The answers read so far: an array for the matrices, counts for everything else."""

    def __init__(self, arms: Sequence[AskedArm], texts: TextTargets, attributions: AttributionTally) -> None:
        self.arms, self.texts, self.attributions = arms, texts, attributions
        self.arm_numbers = {arm.arm_id: number for number, arm in enumerate(arms)}
        self.text_numbers = {text_id: number for number, text_id in enumerate(texts.ids)}
        self.groups: Counter[tuple[Any, ...]] = Counter()
        self.parts: list[NDArray[np.int64]] = []

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Count rows of ``_stream_readings``; those of other arms are left out. Raises ``LookupError``."""
        import numpy as np

        rows = [row for row in rows if row[0] in self.arm_numbers]
        if not rows:
            return
        arm_ids, text_ids, repeats, layers, outcomes, written, *counted = zip(*rows, strict=True)
        arms = [self.arm_numbers[arm_id] for arm_id in arm_ids]
        try:
            texts = [self.text_numbers[text_id] for text_id in text_ids]
        except KeyError:
            raise LookupError("This batch has answers on texts of another set than it names.") from None
        targets = [self.texts.targets[text] for text in texts]
        self.groups.update(zip(arms, targets, outcomes, layers, *counted, strict=True))
        is_attributed = [outcome == "attributed" for outcome in outcomes]
        usable = [outcome in USABLE for outcome in outcomes]
        paper, strict = np.array([counted[0], counted[3]], np.int64) * np.array(is_attributed)
        self.parts.append(np.stack([*np.array([arms, texts, repeats, usable], np.int64), paper, strict]))
        # Parsed as one list, which takes half as long as one by one.
        attributes = json.loads(f"[{','.join(compress(written, is_attributed))}]")
        by_place: dict[tuple[int, str], list[dict[str, object]]] = defaultdict(list)
        for place, values in zip(compress(zip(arms, targets, strict=True), is_attributed), attributes, strict=True):
            by_place[place].append(values)
        for (arm, target), answers in by_place.items():
            self.attributions.add_answers(self.arms[arm].model, self.arms[arm].task, target, answers)

    def join(self) -> NDArray[np.int64]:
        """Every answer as a column of six numbers: arm, text, repeat, usable or not, attributes, strict attributes."""
        import numpy as np

        return np.concatenate([np.empty((6, 0), np.int64), *self.parts], axis=1)

    def count_groups(self) -> Counter[Group]:
        """The answers by what they have in common, in the order of the arms."""
        found: Counter[Group] = Counter()
        for (arm, target, name, layer, *counted), n in sorted(self.groups.items()):
            outcome, counts = Outcome(name), Counts(*counted[:5])
            is_attributed = outcome is Outcome.ATTRIBUTED
            is_object, repaired = (flag in TRUE for flag in counted[5:])
            group = Group(
                model=self.arms[arm].model,
                task=self.arms[arm].task,
                target=target,
                # One that gives nothing known is Unknown, whoever read it otherwise.
                outcome=Outcome.UNKNOWN if is_attributed and not counts.paper else outcome,
                counts=counts if is_attributed else NO_ATTRIBUTES,
                is_object=is_attributed or is_object,
                layer=layer,
                repaired=repaired,
            )
            found[group] += n
        return found


def _fill_matrices(
    arms: Sequence[AskedArm], texts: TextTargets, columns: NDArray[np.int64]
) -> Mapping[str, ItemMatrix]:
    """One matrix per task, of the models and texts that have answers."""
    import numpy as np

    tasks = np.array([arm.task for arm in arms], object)
    matrices: dict[str, ItemMatrix] = {}
    for task in dict.fromkeys(arm.task for arm in arms):
        of_task = columns[:, tasks[columns[0]] == task]
        if not of_task.size:
            continue
        asked, column = np.unique(of_task[0], return_inverse=True)
        items, row = np.unique(of_task[1], return_inverse=True)
        shape = (len(items), len(asked))
        usable, paper, strict = (
            np.bincount(row * shape[1] + column, weights, shape[0] * shape[1]).astype(np.int64).reshape(shape)
            for weights in of_task[3:]
        )
        matrices[task] = ItemMatrix(
            models=[arms[arm].model for arm in asked.tolist()],
            items=[texts.ids[item] for item in items.tolist()],
            targets=[texts.targets[item] for item in items.tolist()],
            secondaries=[texts.secondaries[item] for item in items.tolist()],
            usable=usable,
            paper=paper,
            strict=strict,
        )
    return matrices


def _sum_repeats(
    arms: Sequence[AskedArm], texts: TextTargets, columns: NDArray[np.int64]
) -> Mapping[RepeatKey, RepeatSum]:
    """Usable answers and their attributes by arm, target and repeat."""
    import numpy as np

    targets = list(dict.fromkeys(texts.targets))
    numbers = {target: number for number, target in enumerate(targets)}
    target_of_text = np.array([numbers[target] for target in texts.targets], np.int64)
    arm, text, repeat, usable, paper, _ = columns
    size = int(repeat.max(initial=0)) + 1
    keys, row = np.unique((arm * len(targets) + target_of_text[text]) * size + repeat, return_inverse=True)
    sums = [np.bincount(row, each, len(keys)).astype(np.int64).tolist() for each in (usable, paper)]
    found: dict[RepeatKey, RepeatSum] = {}
    for key, answered, given in zip(keys.tolist(), *sums, strict=True):
        place, number = divmod(key, size)
        asked, own = arms[place // len(targets)], targets[place % len(targets)]
        for target in {own, OVERALL} - {""}:
            name = RepeatKey(asked.model, asked.task, target, number)
            before = found.get(name, RepeatSum(0, 0))
            found[name] = RepeatSum(before.usable + answered, before.attributes + given)
    return found
