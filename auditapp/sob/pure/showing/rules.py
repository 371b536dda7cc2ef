"""What each rule of counting does to the cells of one model and task, as a table."""

from __future__ import annotations

from typing import NamedTuple

from auditapp.sob.pure.measures.sensitivity import RULES
from auditapp.sob.pure.metrics import OVERALL
from auditapp.sob.pure.showing.figures import Entry, Figures


class RuleRow(NamedTuple):
    """One rule over the columns of the table; ``None`` where the report has no figure."""

    rule: str
    told: str
    cells: list[Entry | None]


class RuleTable(NamedTuple):
    """Rules by targets; ``base`` are the cells in paper counting, which each change is measured from."""

    targets: list[str]
    base: list[Entry | None]
    rows: list[RuleRow]


def lay_out_rules(figures: Figures, model: str, task: str) -> RuleTable:
    """The sensitivity panel of one model and task: overall first, then the targets by number of answers."""
    entries = figures.find("sensitivity", model=model, task=task)
    found = {(entry["rule"], entry["target"]): entry for entry in entries}
    occurring = {entry["target"] for entry in entries}
    targets = [target for target in [OVERALL, *figures.targets] if target in occurring]
    rules = list(dict.fromkeys(str(entry["rule"]) for entry in entries))
    return RuleTable(
        targets=targets,
        base=[figures.find_cell(model, task, target) for target in targets],
        rows=[RuleRow(rule, RULES.get(rule, ""), [found.get((rule, target)) for target in targets]) for rule in rules],
    )
