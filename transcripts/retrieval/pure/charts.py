"""Counts as charts: shares as bars, codes together as circles. Knows nothing of Django.

A bar has a solid part for semantic codings and a striped one for latent ones; its count is printed beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transcripts.charts.figures import Cell, GridChart, GridRow, Missing, Part, Row, RowChart
from transcripts.retrieval.pure.tables import Count, Heading
from transcripts.statistics.figures import MIN_CLUSTERS, Mark, explain_mark

DECIDED = "decided turns (of codes of interviews, interviews)"
"""What shares are counted in."""


def draw_shares(headings: Sequence[Heading], groups: Sequence[tuple[str, Sequence[Count]]]) -> RowChart:
    """The codes that occur in each group, all groups on one scale. A share of fewer than `MIN_CLUSTERS` turns is no bar."""
    rows = [
        _draw_share(heading, count, group if len(groups) > 1 else "")
        for group, counts in groups
        for heading, count in zip(headings, counts, strict=True)
        if count.places
    ]
    enacted = " Moves count where they are enacted; how often they are only described or shown is in the table."
    has_enactment = any(heading.has_enactment for heading in headings)
    if rows and not any(row.parts for row in rows):
        why = f"Nothing is drawn of fewer than {MIN_CLUSTERS} decided turns (interviews, for codes applied to interviews)."
    else:
        why = (
            f"None of these codes is {'enacted in' if has_enactment else 'applied to'} a decided sentence yet, so there is no "
            "share to draw."
        )
    return RowChart(
        key="shares",
        title="Share of decided sentences or turns with each code",
        rows=rows,
        series=("semantic", "latent"),
        high=None,
        unit="%",
        note=(
            "Shares of what is decided, on one scale. A place coded at both levels counts as semantic here. Codes without a "
            f"count are left out, and of fewer than {MIN_CLUSTERS} decided turns no bar is drawn. "
            f"{explain_mark(Mark.FEW, DECIDED)}"
            f"{enacted if has_enactment else ''}"
        ),
        missing=Missing(why),
    )


def _draw_share(heading: Heading, count: Count, group: str) -> Row:
    # Together as long as the share: a place coded at both levels is in the solid part alone.
    semantic = min(count.semantic, count.places)
    levels = enumerate((semantic, count.places - semantic)) if count.can_be_drawn else ()
    parts = [Part(100 * places / count.out_of, series) for series, places in levels]
    text = f"{count.places:,}/{count.out_of:,}{f' {Mark.FEW}' if count.is_few else ''}"
    return Row(heading.name, parts=parts, text=text, group=group)


def draw_pairs(
    headings: Sequence[Heading], count: Callable[[int, int], tuple[int, int]], *, by_turn: bool
) -> GridChart:
    """A circle for every pair of codes that occurs; its area grows with the count. Each pair appears once, below the diagonal."""
    where = "in the same turn" if by_turn else "on the same sentence"
    rows = [
        GridRow(
            f"{n + 1} {one.name}",
            [_draw_pair(one, other, count(n, m)[0] if m < n else None) for m, other in enumerate(headings[:-1])],
        )
        for n, one in enumerate(headings)
    ]
    hint = "" if by_turn else " Choose “in the same turn” above to look at whole turns."
    return GridChart(
        key="pairs",
        title=f"Codes {where}",
        columns=[f"{n} {heading.name}" for n, heading in enumerate(headings[:-1], start=1)],
        rows=rows,
        has_circles=True,
        rows_are="Code",
        note="The area of a circle grows with the count printed on it. Columns have the same numbers as the rows.",
        missing=Missing(f"No two of these codes are {where} yet, so there are no pairs to draw.{hint}"),
    )


def _draw_pair(one: Heading, other: Heading, places: int | None) -> Cell:
    return Cell(places or None, f"{places:,}" if places else "", f"{one.name} and {other.name}: {places or 0:,}")
