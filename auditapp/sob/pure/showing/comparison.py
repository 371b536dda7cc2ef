"""Two sets of figures side by side: first what differs in how they were made, then, if they measure the same, the differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.published import PublishedRow
from auditapp.sob.pure.showing.figures import Figures, Score, in_words, read_score


class Weight(StrEnum):
    """What a difference in the making does to a comparison."""

    BREAKS = "breaks"
    MIND = "mind"


class Making(NamedTuple):
    """How figures were made: the wording of each task by its hash, the texts by a name and a hash, the schema, the reading.

    ``texts`` is how many were asked about; ``targets`` names the table of targets, ``targets_sha256`` is that of the texts
    with whom they target, "" where that is not known.
    """

    wordings: Mapping[str, tuple[str, str]]
    dataset: tuple[str, str]
    texts: int
    schema: tuple[str, ...]
    targets: str
    parser: str
    lexicon: str
    repeats: int = 1
    mapping: str = ""
    targets_sha256: str = ""


class Difference(NamedTuple):
    """One thing that differs, in words, with what it does."""

    weight: Weight
    what: str
    here: str
    there: str


class ComparedCell(NamedTuple):
    """One target of a model under a task on both sides; ``difference`` is here minus there, ``None`` where not drawn."""

    model: str
    task: str
    target: str
    here: Score | None
    there: Score | None
    difference: float | None

    @property
    def is_apart(self) -> bool:
        """Whether the two intervals have nothing in common."""
        if self.here is None or self.there is None or self.here.interval is None or self.there.interval is None:
            return False
        return self.here.interval.low > self.there.interval.high or self.there.interval.low > self.here.interval.high


def find_differences(here: Making, there: Making) -> list[Difference]:
    """What differs in the making, what breaks a comparison first."""
    found = []
    for task in sorted(set(here.wordings) & set(there.wordings)):
        (name, sha256), (other, other_sha256) = here.wordings[task], there.wordings[task]
        if sha256 != other_sha256:
            shown = (f"{name} {sha256[:12]}", f"{other} {other_sha256[:12]}")
            found.append(Difference(Weight.BREAKS, f"the wording, {in_words(task)}", *shown))
    if here.dataset[1] != there.dataset[1]:
        found.append(Difference(Weight.BREAKS, "the texts", here.dataset[0], there.dataset[0]))
    elif here.texts != there.texts:
        found.append(Difference(Weight.BREAKS, "how many of the texts", f"{here.texts:,}", f"{there.texts:,}"))
    if here.schema != there.schema:
        found.append(Difference(Weight.BREAKS, "the schema", ", ".join(here.schema), ", ".join(there.schema)))
    found += _compare_targets(here, there)
    for what, one, other_one in (
        ("the parser", here.parser, there.parser),
        ("the lexicon of strict counting", here.lexicon, there.lexicon),
        ("repeats per text", str(here.repeats), str(there.repeats)),
        ("whom a value stands for (mapping)", here.mapping, there.mapping),
    ):
        if one != other_one:
            found.append(Difference(Weight.MIND, what, one, other_one))
    return found


def _compare_targets(here: Making, there: Making) -> list[Difference]:
    """Another table breaks a comparison; so do other targets of the same texts under a table of the same name."""
    what = "who counts as which target"
    if here.targets != there.targets:
        return [Difference(Weight.BREAKS, what, here.targets, there.targets)]
    known = here.targets_sha256 and there.targets_sha256
    if known and here.dataset[1] == there.dataset[1] and here.targets_sha256 != there.targets_sha256:
        shown = (f"{each.targets} ({each.targets_sha256[:8]})" for each in (here, there))
        return [Difference(Weight.BREAKS, what, *shown)]
    return []


def is_comparable(differences: Sequence[Difference]) -> bool:
    """Whether figures made so measure the same thing."""
    return all(difference.weight is not Weight.BREAKS for difference in differences)


def compare_figures(here: Figures, there: Figures, *, draws: bool) -> list[ComparedCell]:
    """The cells of the models that both have, overall first. Differences only where ``draws``."""
    shared = [model for model in here.models if model in set(there.models)]
    return [
        cell
        for model in shared
        for task in here.tasks
        for target in [OVERALL, *here.targets]
        if (cell := _compare(here, there, (model, task, target), draws=draws)) is not None
    ]


def _compare(here: Figures, there: Figures, place: tuple[str, str, str], *, draws: bool) -> ComparedCell | None:
    cells = here.find_cell(*place), there.find_cell(*place)
    if cells[0] is None and cells[1] is None:
        return None
    one, other = (read_score(cell) if cell else None for cell in cells)
    defined = draws and one and other and one.sob is not None and other.sob is not None
    return ComparedCell(*place, one, other, one.sob - other.sob if defined else None)  # type: ignore[union-attr, operator]


def compare_published(here: Figures, model: str, rows: Sequence[PublishedRow]) -> list[ComparedCell]:
    """One model's cells beside a published row of each task. No difference is drawn: the texts are not the same."""
    compared = []
    for row in rows:
        scores = {OVERALL: row.overall, **row.by_target}
        for target, score in scores.items():
            cell = here.find_cell(model, row.task, target)
            rate = row.attribution_rate if target == OVERALL else None
            there = Score(score, rate, None, 0)
            compared.append(ComparedCell(model, row.task, target, read_score(cell) if cell else None, there, None))
    return compared
