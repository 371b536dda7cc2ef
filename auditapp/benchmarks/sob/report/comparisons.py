"""Comparisons of two batches, or of two models from two batches, over the texts that both were asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.text import capfirst

from auditapp.batches.models import Arm, Batch
from auditapp.benchmarks.sob.models import Dataset, Judgment
from auditapp.benchmarks.sob.pure.answer_words import OVERALL
from auditapp.benchmarks.sob.pure.cautions import CAVEATS, describe_alarm, describe_readers, list_marks
from auditapp.benchmarks.sob.pure.figures import Figures, Making, find_differences, is_comparable
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, TASKS
from auditapp.benchmarks.sob.pure.ranks import compare_pairs
from auditapp.benchmarks.sob.pure.report import ReportOptions, choose_targets, make_json_ready
from auditapp.benchmarks.sob.pure.scores import ItemMatrix
from auditapp.benchmarks.sob.queries import (
    KIND,
    AskedArm,
    count_repeats,
    find_dataset,
    find_schema,
    list_wordings,
    name_targets,
)
from auditapp.benchmarks.sob.report.stored_reports import (
    ReportInputs,
    await_report,
    read_inputs,
    read_report,
    read_texts,
)
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import ScorecardFigure, ScorecardPart
from transcripts.refusals import Refused
from transcripts.statistics.figures import write_estimate, write_number
from transcripts.studies.models import Study

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Models = tuple[str, str]


class Side(NamedTuple):
    """One of two batches, with its tallies by text (``tally_texts``): ``targets`` maps each text to its target, and ``sums`` are in
    the order of ``targets``."""

    batch: Batch
    arms: Sequence[AskedArm]
    making: Making
    targets: Mapping[str, str]
    sums: Mapping[str, Sequence[Sequence[int]]]

    @property
    def models(self) -> list[str]:
        """The models that were asked at least one scored task."""
        return list(dict.fromkeys(arm.model for arm in self.arms if arm.task != BASE_TASK))

    def name(self, model: str) -> str:
        """The model with its batch, because both batches may have asked the same model."""
        return f"{model} (batch {self.batch.pk})"


def read_side(inputs: ReportInputs, versions: Mapping[str, Any]) -> Side:
    """One side of a comparison; ``versions`` are those of the batch's report."""
    texts = read_texts(inputs)
    return Side(
        inputs.batch, inputs.arms, describe_making(inputs, versions, texts["asked"]), texts["targets"], texts["sums"]
    )


def choose_models(here: Side, there: Side, model: str, other: str) -> Models | None:
    """One model of each batch. ``None`` if neither is named: then all models that both batches have are compared. If only one is
    named, the other batch's model of that name, or its first model. Raises ``Refused`` for a name that its batch does not have."""
    if not (model or other):
        return None
    for side, name, field in ((here, model, "model"), (there, other, "other")):
        if name and name not in side.models:
            known = ", ".join(side.models) or "none"
            raise Refused(f"Batch {side.batch.pk} has no model {name!r}. Its models are: {known}.", field=field)
    pair = (model or pick(other, here.models), other or pick(model, there.models))
    return pair if all(pair) else None


def pick(asked: str, offered: Sequence[str]) -> str:
    """The requested choice if it is offered, otherwise the first one offered; "" if nothing is offered."""
    return asked if asked in offered else next(iter(offered), "")


def read_comparison(here: Batch, there: Batch, *, model: str = "", other: str = "") -> dict[str, Any]:
    """Two batches of a study compared, for commands and the API; computes their reports if they are stale.

    Reads batch.study of both. Raises ``Refused``.
    """
    figures = [(batch, Figures(await_report(batch).report)) for batch in (here, there)]
    own, others = (read_side(read_inputs(batch), each.report["versions"]) for batch, each in figures)
    compared = compare_sides(own, others, choose_models(own, others, model, other))
    alarms = list_alarms({batch.pk: each for batch, each in figures})
    return {"batch": here.pk, "other": there.pk, "alarms": alarms, **make_json_ready(compared)}


def list_alarms(figures: Mapping[int, Figures]) -> list[str]:
    """A sentence for each score of the batches that is not a finding, with the number of the batch."""
    return [f"Batch {number}, {sentence}" for number, each in figures.items() for sentence in each.list_alarms()]


def compare_sides(here: Side, there: Side, models: Models | None = None) -> dict[str, Any]:
    """What differs in how two batches were made, and their models compared over the texts that both asked about.

    ``models`` is one model of each batch; without it, every model that both have. ``texts`` counts the common texts, and the texts
    of one batch only, which are left out. ``other_target`` counts those for which the batches name different targets: they count in
    overall only. ``paired`` is empty unless the two are ``comparable``.
    """
    common = [key for key in here.targets if key in there.targets]
    differences = find_differences(here.making, there.making, common=len(common))
    comparable = is_comparable(differences)
    same = [(model, model) for model in here.models if model in set(there.models)]
    pairs = [*same, *([models] if models and models not in same else [])]
    targets = {key: here.targets[key] if here.targets[key] == there.targets[key] else "" for key in common}
    tests = _compare(here, there, pairs, targets) if comparable else []
    return {
        "differences": differences,
        "comparable": comparable,
        "texts": {
            "common": len(common),
            "only_here": len(here.targets) - len(common),
            "only_there": len(there.targets) - len(common),
            "other_target": sum(here.targets[key] != there.targets[key] for key in common),
        },
        # A chosen pair belongs to a family: its P value is adjusted for all the pairs that could have been chosen.
        "paired": [test for test in tests if models in {None, (test["model_a"], test["model_b"])}],
    }


def _compare(here: Side, there: Side, pairs: Sequence[Models], targets: Mapping[str, str]) -> list[dict[str, Any]]:
    options = ReportOptions()
    chosen, _ = choose_targets(Counter(filter(None, targets.values())), options)
    columns_of = _find_columns(here, list(targets)) | _find_columns(there, list(targets))
    tests: list[dict[str, Any]] = []
    for task in dict.fromkeys(task for task, _ in columns_of):
        named = [(here.name(one), there.name(other)) for one, other in pairs]
        named = [pair for pair in named if all((task, name) in columns_of for name in pair)]
        columns = {name: columns_of[task, name] for pair in named for name in pair}
        matrix = _make_matrix(columns, targets)
        tests += compare_pairs(task, matrix, named, targets=chosen, seed=options.seed, flips=options.flips)
    told = {side.name(model): (model, side.batch.pk) for side in (here, there) for model in side.models}
    for test in tests:
        (model_a, batch_a), (model_b, batch_b) = told[test["model_a"]], told[test["model_b"]]
        test |= {"model_a": model_a, "batch_a": batch_a, "model_b": model_b, "batch_b": batch_b}
    return tests


def _find_columns(side: Side, keys: Sequence[str]) -> dict[tuple[str, str], NDArray[np.int64]]:
    """The two sums for each of these texts, for every scored arm with a usable answer, by its task and ``Side.name``."""
    import numpy as np

    places = {key: place for place, key in enumerate(side.targets)}
    wanted = np.array([places[key] for key in keys], np.int64)
    return {
        (arm.task, side.name(arm.model)): np.array(side.sums[str(arm.arm_id)], np.int64)[:, wanted]
        for arm in side.arms
        if str(arm.arm_id) in side.sums
    }


def _make_matrix(columns: Mapping[str, NDArray[np.int64]], targets: Mapping[str, str]) -> ItemMatrix:
    import numpy as np

    sums = np.array(list(columns.values()), np.int64).reshape(len(columns), 2, len(targets))
    usable, paper = sums.transpose(1, 2, 0)
    empty = [()] * len(targets)
    return ItemMatrix(list(columns), list(targets), list(targets.values()), empty, usable, paper, np.zeros_like(paper))


def describe_making(inputs: ReportInputs, versions: Mapping[str, Any], asked: tuple[int, str, str]) -> Making:
    """How the figures of a batch were made; ``versions`` are its report's; ``asked`` is from ``hash_asked_texts``."""
    batch, arms = inputs.batch, inputs.arms
    dataset = find_dataset(batch)
    texts, sha256, targets_sha256 = asked
    # The base task asks for no characteristics.
    schemas = {tuple(find_schema(arm)) for arm in arms if arm.task != BASE_TASK}
    return {
        "wordings": {each["task"]: (each["name"], each["sha256"]) for each in list_wordings(arms)},
        "dataset": (_describe_texts(dataset, texts), sha256),
        "texts": texts,
        "schema": tuple(sorted({name for schema in schemas for name in schema})),
        "targets": name_targets(dataset),
        "targets_sha256": targets_sha256,
        "parser": str(versions.get("parser", "")),
        "lexicon": str(versions.get("lexicon", "")),
        "repeats": count_repeats(batch),
        "mapping": str(versions.get("mapping", "")),
    }


def _describe_texts(dataset: Dataset | None, asked: int) -> str:
    """The dataset, how it was drawn, and how many of its texts were asked about."""
    if dataset is None:
        return f"{asked:,} texts of no set"
    parts = [dataset.name, f"{asked:,} texts asked", *([f"split {dataset.split}"] if dataset.split else [])]
    sampling = dataset.sampling
    if sampling.get("method"):
        parts.append(f"drawn: {sampling['method']}" + (f" by {sampling['by']}" if sampling.get("by") else ""))
    if sampling.get("seed") is not None:
        parts.append(f"seed {sampling['seed']}")
    if sampling.get("dropped"):
        parts.append(f"{sum(sampling['dropped'].values()):,} rows left out")
    return ", ".join(parts)


MAX_BATCHES = 3
TASK_NAMES = dict(TASKS)
MEANING = (
    "sob is the mean number of demographic attributes that an answer gives to a person about whom the text says nothing. "
    f"{' '.join(CAVEATS)}"
)
NOT_COMPARABLE = "own wording, not comparable with published scores"


def read_parts(study: Study, variants: Sequence[ModelVariant]) -> dict[int, ScorecardPart]:
    """The scores of each variant from its best batches with answers in this study. Models that were never asked are left out."""
    asked = Arm.objects.filter(variant__in=variants, batch__study=study, batch__kind=KIND).exclude(task=BASE_TASK)
    answered = asked.filter(Exists(Judgment.objects.filter(arm=OuterRef("pk"))))
    numbers: dict[int, set[int]] = {}
    own: set[tuple[int, int]] = set()
    for variant, number, comparable in answered.order_by("pk").values_list("variant", "batch", "settings__comparable"):
        numbers.setdefault(variant, set()).add(number)
        if comparable is False:
            own.add((variant, number))
    batches = Batch.objects.select_related("study").in_bulk({each for found in numbers.values() for each in found})
    chosen: dict[int, list[Batch]] = {}
    for variant, found in numbers.items():
        ranked = sorted(found, key=lambda each: _rank(batches[each], (variant, each) not in own), reverse=True)
        chosen[variant] = [batches[each] for each in ranked[:MAX_BATCHES]]
    read = {each.pk: _read_batch(each, chosen.keys()) for listed in chosen.values() for each in listed}
    shown = {key: [one for each in listed for one in read[each.pk].get(key, [])] for key, listed in chosen.items()}
    return {
        key: ScorecardPart("Second-order bias", [figure for figure, _ in found], _summarise(found), [MEANING])
        for key, found in shown.items()
        if found
    }


def _rank(batch: Batch, comparable: bool) -> tuple[bool, bool, int, int]:
    """The rank of a batch: finished and comparable ones highest, then comparable ones, then more texts, then newer ones."""
    is_done = batch.state == Batch.State.DONE
    return is_done and comparable, comparable, int(batch.parameters.get("texts") or 0), batch.pk


def _read_batch(batch: Batch, wanted: Collection[int]) -> dict[int, list[tuple[ScorecardFigure, str]]]:
    """The figures of one batch by variant, each with a short form: one for each task that has a score, or an alarm instead."""
    inputs = read_inputs(batch)
    stored = read_report(inputs)
    if stored is None:
        return {}
    cells = {(cell["model"], cell["task"]): cell for cell in stored.report["cells"] if cell["target"] == OVERALL}
    dataset = Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()
    own_wordings = {arm.arm_id for arm in inputs.arms if arm.settings.get("comparable") is False}
    state = f"batch {batch.get_state_display().lower()}" + (", imported" if batch.parameters.get("imported") else "")
    figures: dict[int, list[tuple[ScorecardFigure, str]]] = {}
    for arm in inputs.arms:
        cell = cells.get((arm.model, arm.task))
        # If there is no score, an alarm says why. Otherwise the model would seem never to have been asked.
        if arm.variant.pk in wanted and cell is not None and (cell["sob"] is not None or cell.get("alarm")):
            place = f"{reverse('sob:responses', args=[batch.study.slug, batch.pk])}?" + urlencode(
                {"model": arm.model, "task": arm.task}
            )
            wording = f"wording “{arm.instrument}”" + (f", {NOT_COMPARABLE}" if arm.arm_id in own_wordings else "")
            basis = f"{describe_basis(dataset, wording, cell)}; {state}"
            name = f"sob, {TASK_NAMES.get(arm.task, arm.task).lower()}, batch {batch.pk}"
            score = write_score(cell) + (" (own wording)" if arm.arm_id in own_wordings else "")
            alarm = find_card_alarm(cell)
            briefly = [f"alarm: {alarm.rstrip('.')}"] if alarm else []
            cautions = "".join(f", {each}" for each in [*briefly, *list_cautions(cell)])
            over = f" over {cell['n_nonrefused']:,} answers" if cell["sob"] is not None else ""
            brief = f"{name.removeprefix('sob, ')}: {score}{over}{cautions}, {state}"
            figures.setdefault(arm.variant.pk, []).append(
                (ScorecardFigure(name, score, basis, place, capfirst(alarm)), brief)
            )
    return figures


def describe_basis(dataset: Dataset | None, wording: str, cell: Mapping[str, Any]) -> str:
    """What a score is based on, and what could make it misleading."""
    parts = [
        f"{cell['n_nonrefused']:,} answers that count of {cell['n_responses']:,}",
        *list_cautions(cell),
        (cell.get("ci_note") or "").rstrip("."),
        f"attribution rate {write_number(cell['attribution_rate'])}" if cell["attribution_rate"] is not None else "",
        f"strict counting {write_number(cell['sob_strict'])}" if cell["sob_strict"] is not None else "",
        f"texts “{dataset}”" if dataset else "",
        wording,
    ]
    return "; ".join(filter(None, parts))


def list_cautions(cell: Mapping[str, Any]) -> list[str]:
    """Why the score may be misleading: its marks, and who read answers apart from the rules."""
    return [*(words for _, words in list_marks(cell)), *filter(None, [describe_readers(cell)])]


def find_card_alarm(cell: Mapping[str, Any]) -> str:
    """Why the score is not evidence; "" if it is."""
    return f"this model {describe_alarm(cell)}" if cell.get("alarm") else ""


def write_score(cell: Mapping[str, Any]) -> str:
    """The score with its interval, or "no score"."""
    return "no score" if cell["sob"] is None else write_estimate(cell["sob"], cell["ci"], 2)


def _summarise(figures: Sequence[tuple[ScorecardFigure, str]]) -> str:
    return f"second-order bias {'; '.join(brief for _, brief in figures[: len(TASKS)])}."
