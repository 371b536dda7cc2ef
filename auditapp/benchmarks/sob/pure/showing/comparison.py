"""Two sets of figures side by side, and what differs in how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.benchmarks.sob.pure.metrics import OVERALL
from auditapp.benchmarks.sob.pure.published import PublishedRow
from auditapp.benchmarks.sob.pure.showing.figures import Figures, Score, in_words, read_score

Making = Mapping[str, Any]
"""How figures were made: the wording of each task by its hash, the texts by a name and a hash, the schema, the reading.

``texts`` is how many were asked about; ``targets`` names the table of targets, ``targets_sha256`` is that of the texts with
whom they target, absent where that is not known.
"""

ALSO_COMPARED = {
    "parser": "the parser",
    "lexicon": "the lexicon of strict counting",
    "repeats": "repeats per text",
    "mapping": "which group a value stands for (mapping)",
}
"""What may differ without breaking a comparison."""


def find_differences(here: Making, there: Making, *, common: int = 0) -> list[dict[str, Any]]:
    """What differs in the making; what ``breaks`` a comparison comes first. Other texts do so only where none is ``common``."""
    found = []
    for task in sorted(set(here["wordings"]) & set(there["wordings"])):
        (name, sha256), (other, other_sha256) = here["wordings"][task], there["wordings"][task]
        if sha256 != other_sha256:
            what = f"the wording, {in_words(task)}"
            found.append(_differ(what, f"{name} {sha256[:12]}", f"{other} {other_sha256[:12]}"))
    if here["dataset"][1] != there["dataset"][1]:
        found.append(_differ("the texts", here["dataset"][0], there["dataset"][0], breaks=not common))
    elif here["texts"] != there["texts"]:
        found.append(_differ("how many of the texts", f"{here['texts']:,}", f"{there['texts']:,}", breaks=not common))
    if here["schema"] != there["schema"]:
        found.append(_differ("the schema", ", ".join(here["schema"]), ", ".join(there["schema"])))
    found += _compare_targets(here, there)
    for key, what in ALSO_COMPARED.items():
        if here.get(key) != there.get(key):
            found.append(_differ(what, str(here.get(key, "")), str(there.get(key, "")), breaks=False))
    return sorted(found, key=lambda each: not each["breaks"])


def _differ(what: str, here: str, there: str, *, breaks: bool = True) -> dict[str, Any]:
    return {"breaks": breaks, "what": what, "here": here, "there": there}


def _compare_targets(here: Making, there: Making) -> list[dict[str, Any]]:
    """Another table breaks a comparison; so do other targets of the same texts under a table of the same name."""
    what = "who counts as which target"
    if here["targets"] != there["targets"]:
        return [_differ(what, here["targets"], there["targets"])]
    hashes = [each.get("targets_sha256") for each in (here, there)]
    if all(hashes) and here["dataset"][1] == there["dataset"][1] and hashes[0] != hashes[1]:
        shown = [f"{each['targets']} ({each['targets_sha256'][:8]})" for each in (here, there)]
        return [_differ(what, *shown)]
    return []


def is_comparable(differences: Sequence[Mapping[str, Any]]) -> bool:
    """Whether figures made so measure the same thing."""
    return not any(difference["breaks"] for difference in differences)


def compare_figures(here: Figures, there: Figures) -> list[dict[str, Any]]:
    """The cells of the models that both have, overall first, without differences: the two may be of other texts."""
    shared = [model for model in here.models if model in set(there.models)]
    return [
        cell
        for model in shared
        for task in here.tasks
        for target in [OVERALL, *here.targets]
        if (cell := _compare(here, there, (model, task, target))) is not None
    ]


def _compare(here: Figures, there: Figures, place: tuple[str, str, str]) -> dict[str, Any] | None:
    cells = here.find_cell(*place), there.find_cell(*place)
    if cells[0] is None and cells[1] is None:
        return None
    one, other = (read_score(cell) if cell else None for cell in cells)
    return _make_cell(place, one, other)


def _make_cell(place: tuple[str, str, str], here: Score | None, there: Score | None) -> dict[str, Any]:
    """One target of a model under a task on both sides."""
    model, task, target = place
    return {"model": model, "task": task, "target": target, "here": here, "there": there}


def compare_published(here: Figures, model: str, rows: Sequence[PublishedRow]) -> list[dict[str, Any]]:
    """One model's cells beside a published row of each task. No difference is drawn: the texts are not the same."""
    compared = []
    for row in rows:
        scores = {OVERALL: row.overall, **row.by_target}
        for target, score in scores.items():
            cell = here.find_cell(model, row.task, target)
            rate = row.attribution_rate if target == OVERALL else None
            there = Score(score, rate, None, 0)
            own = read_score(cell) if cell else None
            compared.append(_make_cell((model, row.task, target), own, there))
    return compared
