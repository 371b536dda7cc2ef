"""What a batch spent, as charts: by arm, and by day where there are several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from auditapp.batches.models import Batch
from auditapp.batches.pure.money import to_dollars
from auditapp.batches.templatetags.batch_figures import nano_usd
from transcripts.charts.figures import Missing, Panel, PanelChart, Part, Point, Reference, Row, RowChart
from transcripts.charts.verdicts import CAP_RULE, judge_cap
from transcripts.formats.numbers import round_percent

CAP_IN_SIGHT = 5
"""The cap is drawn unless it is more than so many times what was spent: the bars would be too short to see."""


def draw_spend(batch: Batch, rows: Sequence[dict[str, Any]], *, is_priced: bool, models_url: str) -> RowChart:
    """The money of each arm and of all: what is known to be spent, and what lost calls may have cost besides."""
    drawn = []
    sums: dict[str, tuple[int, int]] = {}
    for row in rows:
        name = f"{row['model']}, {row['task'].replace('_', '-')}" if row["task"] else row["model"]
        spent, lost = sums.get(name, (0, 0))
        sums[name] = (spent + (row["nano"] or 0), lost + (row["unknown_nano"] or 0))
    for name, (spent, lost) in sums.items():
        drawn.append(_draw_sum(name, spent, lost))
    spent, lost = (sum(each) for each in zip(*sums.values(), strict=True)) if sums else (0, 0)
    references = []
    if sums and (batch.cap_nano is not None or len(sums) > 1):
        total = _draw_sum("all arms", spent, lost)
        verdict = None
        if batch.cap_nano is not None:
            percent = round_percent(spent + lost, batch.cap_nano)
            verdict = judge_cap(spent + lost, batch.cap_nano, percent=percent)
        drawn.append(Row(total.name, parts=total.parts, text=total.text, verdict=verdict))
        if batch.cap_nano is not None and batch.cap_nano <= CAP_IN_SIGHT * (spent + lost):
            references.append(Reference(_read_dollars(batch.cap_nano), f"the cap, {nano_usd(batch.cap_nano)}"))
    if not is_priced:
        missing = Missing(
            "A model has no price, so the cost is not known.", models_url, "Record prices with the models."
        )
    elif rows:
        missing = Missing("Nothing was spent: the calls so far were free, or reused from earlier ones.")
    else:
        missing = Missing("No call has been sent yet. Money appears here with the first answers.")
    return RowChart(
        key="spend",
        title=f"Spent by batch {batch.pk}, by arm",
        rows=drawn if is_priced and spent + lost else [],
        series=("spent", "may have been spent by calls whose end was lost"),
        high=None,
        unit="$",
        references=references,
        note=CAP_RULE if batch.cap_nano is not None else "",
        missing=missing,
    )


def draw_days(batch: Batch, rows: Sequence[dict[str, Any]]) -> PanelChart | None:
    """What the arms of each model spent by day; None for a batch of one day, or without any cost."""
    days = sorted({row["day"] for row in rows})
    if len(days) < 2 or not any(row["nano"] for row in rows):
        return None
    panels: dict[str, dict[Any, int]] = {}
    for row in rows:
        found = panels.setdefault(row["model"], dict.fromkeys(days, 0))
        found[row["day"]] += row["nano"] or 0
    return PanelChart(
        key="spend-days",
        title=f"Spent by batch {batch.pk}, by model and day (UTC)",
        panels=[
            Panel(model, [Point(f"{day:%-d %b}", _read_dollars(nano), nano_usd(nano)) for day, nano in found.items()])
            for model, found in panels.items()
        ],
        high=None,
        unit="$",
        has_columns=True,
    )


def _draw_sum(name: str, spent: int, lost: int) -> Row:
    text = nano_usd(spent) + (f", and at most {nano_usd(lost)} lost" if lost else "")
    return Row(name, parts=[Part(_read_dollars(spent)), Part(_read_dollars(lost), 1)], text=text)


def _read_dollars(nano: int) -> float:
    return float(to_dollars(nano) or 0)
