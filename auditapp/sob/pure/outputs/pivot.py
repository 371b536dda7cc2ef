"""The scores of a report as a table for a terminal. pandas is loaded here only, so that a web process stays small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def write_pivot(report: Mapping[str, Any]) -> str:
    """Scores for reading: a row per task and model, a column per target, two decimals, a dash where undefined."""
    if not report["cells"]:
        return "No answers yet.\n"
    import pandas

    frame = pandas.DataFrame(report["cells"], columns=["model", "task", "target", "sob"])
    frame["sob"] = frame["sob"].astype(float)
    order = list(dict.fromkeys(frame["target"]))
    table = frame.pivot_table(index=["task", "model"], columns="target", values="sob", sort=False, dropna=False)
    written = table.reindex(columns=order).to_string(float_format=lambda score: f"{score:.2f}", na_rep="–")
    notes = [f"Note: {sentence}" for sentence in report.get("warnings") or []]
    return "\n".join([str(written), *notes, *(f"Read with it: {each}" for each in report.get("reading") or []), ""])
