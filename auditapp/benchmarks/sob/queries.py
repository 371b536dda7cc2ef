"""What a batch asked: its arms under the names that its figures use, with their families and pairs. Who read its answers: rules,
formatters (including those that invent interpretations) and people. What is missing, and what cannot be compared. What a dataset
contains, and which batches asked about it. Which group each text of a batch targets, as loaded or by a table of targets, and the
mapping by which a study counts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Max, QuerySet

from auditapp.batches.models import Arm, Batch, Cell
from auditapp.benchmarks.sob.models import Dataset, Interpretation, Judgment, MappingTable, TargetTable, Text
from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES
from auditapp.benchmarks.sob.pure.attributions import (
    PUBLISHED,
    Rows,
    TargetMapping,
    order_rows,
    published_mapping,
    published_mapping_rows,
    read_mapping,
)
from auditapp.benchmarks.sob.pure.dataset_texts import TargetLabels, load_published_targets, make_labels, rank_strata
from auditapp.benchmarks.sob.pure.instruments import BASE_TASK, load_instruments, published_rows
from auditapp.benchmarks.sob.pure.report import PUBLISHED_FAMILIES, PUBLISHED_PAIRS
from auditapp.llm.models import ModelVariant
from auditapp.llm.queries import list_noted
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import find_number, find_numbers

KIND = "sob"
WITHOUT_REASONING = frozenset({"off", "none", "0"})
# What an import adds to a label that another account already uses.
IMPORTED_MARK = " (imported)"
NOT_COMPARABLE = "Not comparable with the published figures, because the wording is not a published one."


class AskedArm(NamedTuple):
    """One arm. ``model`` is the variant's label. If a variant was asked a task in several wordings, the name of the wording
    follows, and its hash if several wordings have that name. No two arms have the same model and task. ``family`` is what the
    launch declared for the variant, "" if nothing. ``sha256`` is the hash of the wording; ``settings`` are the arm's."""

    arm_id: int
    model: str
    task: str
    instrument: str
    variant: ModelVariant
    family: str
    sha256: str
    settings: Mapping[str, Any]


def read_arms(batch: Batch) -> list[AskedArm]:
    """The arms in the order of the launch. One query."""
    arms = list(Arm.objects.filter(batch=batch).select_related("variant__account").order_by("pk"))
    # The name of the wording, or else the beginning of its hash.
    wordings = {arm.pk: str(arm.settings.get("instrument") or arm.prompt_hash[:8]) for arm in arms}
    asked = Counter((arm.variant_id, arm.task) for arm in arms)
    several = {variant for (variant, _), count in asked.items() if count > 1}
    names = {
        arm.pk: f"{arm.variant.label} ({wordings[arm.pk]})" if arm.variant_id in several else arm.variant.label
        for arm in arms
    }
    shared = Counter((names[arm.pk], arm.task) for arm in arms)
    for arm in arms:
        if shared[names[arm.pk], arm.task] > 1:
            names[arm.pk] = f"{arm.variant.label} ({wordings[arm.pk]} {arm.prompt_hash[:8]})"
    return [
        AskedArm(
            arm.pk,
            names[arm.pk],
            arm.task,
            wordings[arm.pk],
            arm.variant,
            str(arm.settings.get("family") or ""),
            str(arm.settings.get("sha256") or arm.prompt_hash),
            arm.settings,
        )
        for arm in arms
    ]


def find_families(arms: Sequence[AskedArm]) -> dict[str, str]:
    """The family of each model: the one that the launch declared; or the published one, if every label is published; or its id.

    An id that several accounts have is one family, because figures of the same weights are not independent.
    """
    published = _are_published(arms)
    return {arm.model: arm.family or (_name_published_family(arm) if published else arm.variant.model) for arm in arms}


def _are_published(arms: Sequence[AskedArm]) -> bool:
    """Whether every label is one of the published variants, so that the families and pairs of the paper hold."""
    known = {row.model for row in published_rows()}
    return bool(arms) and all(_find_label(arm) in known for arm in arms)


def _find_label(arm: AskedArm) -> str:
    return arm.variant.label.removesuffix(IMPORTED_MARK)


def _name_published_family(arm: AskedArm) -> str:
    label = _find_label(arm)
    return PUBLISHED_FAMILIES.get(label, label)


def find_pairs(arms: Sequence[AskedArm]) -> tuple[tuple[str, str], ...]:
    """The pairs of one model without and with reasoning, in that order, by label: the published pairs if every label is published,
    otherwise by the setting of the variant.

    Both have the same sampling, because another temperature would be another difference between them.

    Without a declared family, both belong to the same account. A variant that leaves reasoning to the provider is in no pair,
    because it is not known which of the two it is.
    """
    if _are_published(arms):
        by_label = {(_find_label(arm), arm.instrument): arm.model for arm in arms}
        wordings = dict.fromkeys(arm.instrument for arm in arms)
        found = [[by_label.get((label, each)) for label in pair] for pair in PUBLISHED_PAIRS for each in wordings]
        return tuple((first, second) for first, second in found if first and second)
    without: dict[tuple[str, ...], str] = {}
    reasoning: list[tuple[tuple[str, ...], str]] = []
    for arm in arms:
        setting = arm.variant.reasoning.strip().lower()
        model = (arm.family,) if arm.family else (str(arm.variant.account_id), arm.variant.model)
        key = (*model, arm.instrument, arm.variant.sampling)
        if setting in WITHOUT_REASONING:
            without.setdefault(key, arm.model)
        elif setting:
            reasoning.append((key, arm.model))
    return tuple(dict.fromkeys((without[key], model) for key, model in reasoning if key in without))


def find_schema(arm: Arm | AskedArm) -> Sequence[str]:
    """The characteristics that an arm's instrument asks for, in lower case: none for the base task, and the ten of the paper if
    they were not recorded."""
    schema: Sequence[str] | None = arm.settings.get("schema")
    return ATTRIBUTES if schema is None else schema


def list_notices(arms: Sequence[AskedArm]) -> list[str]:
    """The caveats that the answers of a batch do not show: a wording that is not comparable, and the notes on its models."""
    notes = [f"{variant.label}: {variant.note}" for variant in list_noted(arm.variant for arm in arms)]
    return [*([] if is_comparable(arms) else [NOT_COMPARABLE]), *notes]


def count_cells(batch: Batch) -> dict[str, int]:
    """The number of cells of a batch: all, answered or failed, and cancelled. Needs only an index."""
    states = dict(Cell.objects.filter(batch=batch).order_by().values_list("state").annotate(n=Count("pk")))
    return {
        "cells": sum(states.values()),
        "ended": states.get(Cell.State.DONE, 0) + states.get(Cell.State.FAILED, 0),
        "cancelled": states.get(Cell.State.CANCELLED, 0),
    }


def describe_unfinished(batch: Batch) -> str:
    """A sentence that says how much of the batch is missing; "" if every cell has ended."""
    cells, ended, cancelled = count_cells(batch).values()
    if ended == cells:
        return ""
    waiting = cells - ended - cancelled
    parts = [f"{waiting:,} {'is' if waiting == 1 else 'are'} not answered yet"] if waiting else []
    if cancelled:
        parts.append(f"{cancelled:,} {'was' if cancelled == 1 else 'were'} cancelled")
    return (
        f"The batch is not complete (state: {batch.get_state_display().lower()}): {ended:,} of {cells:,} cells "
        f"have ended, {' and '.join(parts)}. The figures cover the answers so far."
    )


def is_comparable(arms: Sequence[AskedArm]) -> bool:
    """Whether every scored task was asked in a published wording."""
    return all(arm.sha256 in list_published_hashes() for arm in arms if arm.task != BASE_TASK)


def list_wordings(arms: Sequence[AskedArm]) -> list[dict[str, Any]]:
    """The wordings of a batch, each once; ``comparable`` says whether it is a published one."""
    found = {
        (arm.task, arm.sha256): {
            "task": arm.task,
            "name": str(arm.settings.get("instrument") or "of its own"),
            "sha256": arm.sha256,
            "comparable": arm.sha256 in list_published_hashes(),
        }
        for arm in arms
    }
    return [wording for _, wording in sorted(found.items())]


@cache
def list_published_hashes() -> frozenset[str]:
    """The hashes of the published wordings of the scored tasks."""
    return frozenset(instrument.sha256 for instrument in load_instruments() if instrument.task != BASE_TASK)


class Readers(NamedTuple):
    """How many answers of a batch have a current interpretation by a formatter or a person. ``invented`` counts those by a fake
    formatter; ``answers`` counts all answers, but only if ``invented`` is not 0."""

    answers: int = 0
    formatter: int = 0
    person: int = 0
    invented: int = 0

    @property
    def later(self) -> int:
        """The answers whose current interpretation was not made by the rules."""
        return self.formatter + self.person


def count_readers(arm_ids: Sequence[int], cells: tuple[int, int]) -> Readers:
    """Count the current interpretations by reader; ``cells`` is the range of the batch's cells."""
    first, last = cells
    current = Interpretation.objects.filter(judgment__gte=first, judgment__lte=last, superseded_by=None)
    rows = current.filter(judgment__arm__in=arm_ids).order_by()
    counts = rows.values_list("reader", "formatter_cell__arm__variant__account__provider").annotate(n=Count("pk"))
    formatter = person = invented = 0
    for reader, provider, count in counts:
        if reader == Interpretation.Reader.PERSON:
            person += count
        else:
            formatter += count
            invented += count if provider == "fake" else 0
    answers = Judgment.objects.filter(arm__in=arm_ids).count() if invented else 0
    return Readers(answers, formatter, person, invented)


def find_parsers(batch: Batch, arms: Sequence[AskedArm]) -> list[str]:
    """The versions of the rules that read the answers when they arrived."""
    first, last = find_cell_range(batch)
    asked = {arm.arm_id for arm in arms}
    # One scan by key: with an index by arm, the database would look up every row separately.
    rows = Judgment.objects.filter(cell__gte=first, cell__lte=last).order_by()
    return sorted({parser for arm, parser in rows.values_list("arm_id", "parser").distinct() if arm in asked})


def find_cell_range(batch: Batch) -> tuple[int, int]:
    """The first and the last key of a batch's cells; (0, 0) if it has none.

    Each state is queried separately, as the index is ordered; otherwise PostgreSQL would go through the cells of other batches.
    """
    with connection.cursor() as cursor:
        cursor.execute(_EDGES, {"batch": batch.pk})
        found = [key for key in cursor.fetchone() or () if key is not None]
    return min(found, default=0), max(found, default=0)


# Written as SQL, because a report needs it five times, and Django takes ten times as long to build it as the database to run it.
_EDGE = "(SELECT id FROM batches_cell WHERE batch_id = %(batch)s AND state = '{}' ORDER BY id {} LIMIT 1)"
_EDGES = "SELECT " + ", ".join(_EDGE.format(state, order) for state in Cell.State.values for order in ("ASC", "DESC"))


MAX_COLUMNS = 8
OTHERS = "other sources"
_NOTED_ROWS = re.compile(r"rows? (?P<rows>\d+(?:, \d+)*)(?P<rest>(?: and \d+ more)?: .*)", re.DOTALL)
_GONE = "; dropped"


def list_datasets(study: Study) -> list[dict[str, Any]]:
    """Every dataset with its counts, in the order in which they were loaded. Two queries."""
    batches = Counter(study.batches.filter(kind=KIND).values_list("parameters__dataset", flat=True))
    found = Dataset.objects.filter(study=study).with_counts()
    return [{"dataset": each, "batches": batches[each.pk]} for each in found]


def list_batches(dataset: Dataset) -> QuerySet[Batch]:
    """The batches that asked about the texts of a dataset, newest first. Reads dataset.study."""
    found: QuerySet[Batch] = dataset.study.batches.filter(kind=KIND, parameters__dataset=dataset.pk)
    return found


def count_texts(dataset: Dataset) -> dict[str, Any]:
    """The cross table of a dataset, in one query."""
    cells: Counter[tuple[str, str]] = Counter()
    for target, source, texts in (
        Text.objects.filter(dataset=dataset).order_by().values_list("target", "source").annotate(n=Count("pk"))
    ):
        cells[target, source] = texts
    return tabulate_texts(cells)


def tabulate_texts(cells: Counter[tuple[str, str]]) -> dict[str, Any]:
    """The counts of texts as a table by target and source, the most frequent first; rare sources share the last column."""
    by_source, by_target = Counter[str](), Counter[str]()
    for (target, source), texts in cells.items():
        by_source[source] += texts
        by_target[target] += texts
    sources = rank_strata(by_source)
    shown, rare = (
        (sources, []) if len(sources) <= MAX_COLUMNS else (sources[: MAX_COLUMNS - 1], sources[MAX_COLUMNS - 1 :])
    )
    lines = [
        {
            "target": target,
            "by_source": [cells[target, source] for source in shown]
            + ([sum(cells[target, source] for source in rare)] if rare else []),
            "texts": by_target[target],
        }
        for target in rank_strata(by_target)
    ]
    return {"sources": [*shown, *([OTHERS] if rare else [])], "lines": lines, "texts": by_source.total()}


def find_texts(dataset: Dataset, *, target: str | None, source: str | None) -> QuerySet[Text]:
    """The texts in the order of the file; ``None`` does not narrow the choice, "" selects those without a target."""
    found = Text.objects.filter(dataset=dataset)
    if target is not None:
        found = found.filter(target=target)
    if source is not None:
        found = found.filter(source=source)
    return found.order_by("position")


def find_dataset(batch: Batch) -> Dataset | None:
    """The dataset a sob batch was launched on."""
    return Dataset.objects.filter(pk=batch.parameters.get("dataset")).first()


def name_targets(dataset: Dataset | None) -> str:
    """Where the targets of the texts come from; "" without a dataset."""
    if dataset is None:
        return ""
    name = dataset.get_targets_from_display()
    if dataset.target_table_id is None:
        return name
    # Only its number is read, because a table has thousands of rows.
    number = TargetTable.objects.values_list("number", flat=True).get(pk=dataset.target_table_id)
    return f"{name}, table {number}"


def count_targets(dataset: Dataset) -> dict[str, int]:
    """Texts per target, most frequent first."""
    rows = Text.objects.filter(dataset=dataset).values("target").annotate(n=Count("pk")).order_by("-n", "target")
    return {row["target"]: row["n"] for row in rows}


def read_notes(dataset: Dataset) -> list[dict[str, Any]]:
    """The notes on the file of a dataset. ``rows`` are the positions of the texts that a note names and that can be opened.

    They can be opened only if row numbers are positions in the dataset (``rows_are_places``).
    """
    leads = rows_are_places(dataset)
    notes = []
    for warning in map(str, dataset.warnings):
        found = _NOTED_ROWS.fullmatch(warning) if leads and not warning.endswith(_GONE) else None
        rows = [int(number) for number in found["rows"].split(", ")] if found else []
        notes.append({"rows": rows, "text": found["rest"] if found else warning})
    return notes


def rows_are_places(dataset: Dataset) -> bool:
    """Whether row numbers in the notes are positions in the dataset: it was made here, or all rows of its file were taken."""
    return dataset.drawn_from_id is not None or dataset.sampling.get("method") == "combined" or not dataset.sampling


AT_A_TIME = 5_000


def find_asked_texts(arm_ids: Sequence[int]) -> QuerySet[Text]:
    """The texts that these arms ask about, without cancelled cells."""
    cells = Cell.objects.filter(arm__in=arm_ids).exclude(state=Cell.State.CANCELLED)
    return Text.objects.filter(pk__in=cells.order_by().values("input_id"))


def read_asked_texts(arm_ids: Sequence[int]) -> list[tuple[int, str, str]]:
    """The texts that these arms ask about, each with its key, its words and its first target."""
    rows = find_asked_texts(arm_ids).order_by("pk").values_list("pk", "text", "target")
    return list(rows.iterator(chunk_size=AT_A_TIME))


def hash_asked_texts(arm_ids: Sequence[int]) -> tuple[int, str, str]:
    """How many texts these arms ask about, and two hashes: of the texts, and of the texts with their targets.

    Neither hash depends on the dataset of the texts or on their order, so two batches can be compared.
    """
    words, targets = [], []
    rows = find_asked_texts(arm_ids).order_by().values_list("text", "target", "target_secondary", "target_tertiary")
    for text, *targeted in rows.iterator(chunk_size=AT_A_TIME):
        words.append(_hash([text]))
        targets.append(_hash([text, *targeted]))
    return len(words), _hash(sorted(words)), _hash(sorted(targets))


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def count_repeats(batch: Batch) -> int:
    """How often a batch asks about each text; counted from its cells if the batch did not record it."""
    known = batch.parameters.get("repeats")
    if isinstance(known, int):
        return known
    arm_ids = list(batch.arms.values_list("pk", flat=True))
    return Cell.objects.filter(arm__in=arm_ids).aggregate(most=Max("repeat"))["most"] or 1


LOADED, IN_FORCE, TABLE = "loaded", "", "table:"


class UnknownTargets(Refused):
    """No table of targets has the requested name; the message lists the valid names."""


class TextTargets(NamedTuple):
    """The texts in the order of their datasets, with their targets; ``name`` says where the targets come from."""

    ids: list[int]
    targets: list[str]
    secondaries: list[tuple[str, ...]]
    name: str
    warnings: tuple[str, ...] = ()


def read_targets(batch: Batch, choice: str = LOADED) -> TextTargets:
    """The texts that a batch may have asked about. ``choice`` is "loaded", "published" or "table:N" of the study.

    A text whose label is not in the table keeps the target with which it was loaded. Raises ``UnknownTargets``.
    """
    labels = find_labels(batch, choice)
    fields = ("pk", "target", "target_secondary", "target_tertiary")
    rows = find_batch_texts(batch).order_by("dataset_id", "position")
    ids, targets, secondaries = [], [], []
    kept = 0
    for pk, raw, *loaded in rows.values_list("pk", "target_raw", *fields[1:]):
        found = labels.normalise(raw) if labels else None
        kept += labels is not None and found is None
        target, *further = loaded if found is None else found
        ids.append(pk)
        targets.append(target)
        secondaries.append(tuple(filter(None, further)))
    return TextTargets(ids, targets, secondaries, name_target_choice(choice), _warn(kept))


def find_batch_texts(batch: Batch) -> QuerySet[Text]:
    """The texts of the dataset that a batch was launched on; if the batch names none, the texts for which it has answers."""
    dataset = batch.parameters.get("dataset")
    if dataset is not None:
        return Text.objects.filter(dataset=dataset)
    return Text.objects.filter(judgments__cell__batch=batch).distinct()


def find_labels(batch: Batch, choice: str) -> TargetLabels | None:
    """The table that ``choice`` names; ``None`` for the targets as loaded. Raises ``UnknownTargets``."""
    if choice == LOADED:
        return None
    if choice == PUBLISHED:
        return load_published_targets()
    table = find_chosen_targets(batch, choice)
    if table is None:
        raise UnknownTargets(f"There are no targets {choice!r} in this study. Write loaded, published or table:N.")
    return make_labels(table.rows)


def find_chosen_targets(batch: Batch, choice: str) -> TargetTable | None:
    """The study's table that "table:N" names."""
    if not choice.startswith(TABLE):
        return None
    number = find_number(choice.removeprefix(TABLE))
    return None if number is None else TargetTable.objects.filter(study=batch.study_id, number=number).first()


def name_target_choice(choice: str) -> str:
    """The name of a choice of targets in a report."""
    return "as loaded" if choice == LOADED else choice.replace(TABLE, "table ")


def _warn(kept: int) -> tuple[str, ...]:
    if not kept:
        return ()
    texts = "1 text has" if kept == 1 else f"{kept:,} texts have"
    return (f"{texts} a source label that is not in the target table. Each keeps the target it was loaded with.",)


def find_target_table(study: Study, number: int | None = None) -> TargetTable | None:
    """The study's table of that number, or its newest one; ``None`` if it has none. Raises ``Refused`` for a wrong number."""
    tables = TargetTable.objects.filter(study=study).order_by("-number")
    if number is None:
        return tables.first()
    table = tables.filter(number=number).first()
    if table is None:
        there_are = ", ".join(str(known) for known in tables.values_list("number", flat=True)) or "none"
        raise Refused(f"There is no target table {number} in {study.slug}; there are: {there_are}.")
    return table


def find_missing_labels(dataset: Dataset, labels: TargetLabels | None) -> list[tuple[str, int]]:
    """The labels in a dataset that are missing from the table, with the number of their texts, most frequent first. One query."""
    rows: Iterable[tuple[str, int]] = (
        Text.objects.filter(dataset=dataset)
        .exclude(target_raw="")
        .order_by()
        .values_list("target_raw")
        .annotate(n=Count("pk"))
    )
    missing = [(raw, texts) for raw, texts in rows if labels is None or labels.normalise(raw) is None]
    return sorted(missing, key=lambda line: (-line[1], line[0]))


class UnknownMapping(Refused):
    """No mapping has the requested name; the message says what to write."""


def find_mapping(study: Study, choice: str = IN_FORCE) -> TargetMapping:
    """The mapping in force, or the one that "published" or "table:N" names. Raises ``UnknownMapping``.

    Its ``name`` is "published" or "table N", and is recorded in the versions of a report.
    """
    table = find_table(study, choice)
    return published_mapping() if table is None else read_mapping(table.rows, name_table(table.number))


def find_table(study: Study, choice: str = IN_FORCE) -> MappingTable | None:
    """The table that ``choice`` names, by default the study's newest, which is in force. ``None`` for the published mapping, and if
    the study has no table. Raises ``UnknownMapping``."""
    if choice == PUBLISHED:
        return None
    tables = MappingTable.objects.filter(study=study).order_by("-number")
    if choice == IN_FORCE:
        return tables.first()
    numbers = find_numbers([choice.removeprefix(TABLE)] if choice.startswith(TABLE) else [])
    table = tables.filter(number__in=numbers).first()
    if table is None:
        raise UnknownMapping(f"There is no mapping {choice!r} in this study. Write published or table:N.")
    return table


def name_choice(name: str) -> str:
    """How the mapping of that name is written in an address or a command."""
    return name.replace("table ", TABLE, 1)


def find_rows(study: Study, name: str = IN_FORCE) -> Rows:
    """The rows of the mapping in force, or of the mapping of that name, as they were written. Raises ``UnknownMapping``."""
    table = find_table(study, name_choice(name))
    return published_mapping_rows() if table is None else order_rows(table.rows)


def name_table(number: int) -> str:
    """The name of a study's table in versions and on pages."""
    return f"table {number}"


def name_in_force(study: Study) -> str:
    """The name of the mapping in force."""
    newest = find_table(study)
    return name_table(newest.number) if newest else PUBLISHED
