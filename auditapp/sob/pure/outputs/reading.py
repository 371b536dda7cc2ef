"""Find things in a report that was written as JSON: the one structure that every file is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.published import TARGETS

TASKS = ("acceptability", "non_acceptability")
TASK_NAMES = {"acceptability": "Acceptability", "non_acceptability": "Non-acceptability"}

Row = Mapping[str, Any]


class ReportView:
    """A report with its models, tasks and targets in order, and its cells by (model, task, target)."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self.report = report

    def rows(self, name: str) -> Sequence[Row]:
        """The rows of one part; none where the report lacks it."""
        found: Sequence[Row] = self.report.get(name) or []
        return found

    @cached_property
    def cells(self) -> dict[tuple[str, str, str], Row]:
        """Every cell by model, task and target."""
        return {(row["model"], row["task"], row["target"]): row for row in self.rows("cells")}

    @cached_property
    def models(self) -> list[str]:
        """The models in the order of the report."""
        return list(dict.fromkeys(str(row["model"]) for row in self.rows("cells")))

    @cached_property
    def tasks(self) -> list[str]:
        """The scored tasks there are answers to."""
        found = {row["task"] for row in self.rows("cells")}
        return [task for task in TASKS if task in found]

    @cached_property
    def targets(self) -> list[str]:
        """The ten targets of the paper in its order where all of them occur, else those there are."""
        found = dict.fromkeys(str(row["target"]) for row in self.rows("cells") if row["target"] != OVERALL)
        return list(TARGETS) if found.keys() >= set(TARGETS) else list(found)

    @cached_property
    def highest(self) -> float:
        """The highest score shown: the upper end of the one scale."""
        columns = {OVERALL, *self.targets}
        scores = [row["sob"] for row in self.rows("cells") if row["target"] in columns and row.get("sob") is not None]
        return float(max(scores, default=0.0))

    def score(self, model: str, task: str, target: str) -> float | None:
        """A cell's score in paper counting; None where it is undefined or missing."""
        return _number(self.cells.get((model, task, target), {}).get("sob"))

    def rate(self, model: str, task: str) -> float | None:
        """The attribution rate over all texts."""
        return _number(self.cells.get((model, task, OVERALL), {}).get("attribution_rate"))

    def denominators(self, task: str) -> tuple[int, int] | None:
        """The least and the greatest number of answers that count over all texts, among the models."""
        found = [
            int(row["n_nonrefused"])
            for row in self.rows("cells")
            if row["task"] == task and row["target"] == OVERALL and row.get("n_nonrefused") is not None
        ]
        return (min(found), max(found)) if found else None

    def describe_versions(self) -> str:
        """The versions behind every number, in one sentence; before it what a reader must know of the answers."""
        notice = f"{self.report['notice']} " if self.report.get("notice") else ""
        versions = self.report.get("versions") or {}
        named = [
            f"{name} {_join(versions[name])}"
            for name in ("report", "parser", "lexicon", "instrument", "targets", "mapping", "seed", "resamples")
            if versions.get(name) not in (None, "", [])
        ]
        return f"{notice}Versions: {', '.join(named)}." if named else f"{notice}Versions are not stated."


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _join(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
