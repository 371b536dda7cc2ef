"""Moves as charts with their tables: how often, in which order, on which features, and how far threads are from each other."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from transcripts.charts.figures import Cell, Dot, GridChart, GridRow, Missing, Panel, PanelChart, Point, Row, RowChart
from transcripts.formats.numbers import write_number
from transcripts.negotiation.pure.sequences import LEVEL, MIN_EXPECTED, is_starred
from transcripts.negotiation.queries.codes import CodeBook
from transcripts.negotiation.views.sections import (
    ENACTMENTS,
    STAGES,
    Behind,
    Figure,
    Section,
    add_mark,
    explain_marks,
    put_in_order,
    write_count,
)
from transcripts.statistics.figures import FEW, mark_clusters

MIN_THREADS_FOR_DISTANCES = 30


def draw_presence(figures: Mapping[str, Any], book: CodeBook, behind: Behind) -> Section:
    """How often each move is coded, by enactment and stage, and per 100 of the decided sentences of a stage; and how varied
    threads are. ``figures``: those of a coder."""
    presence, decided, threads = figures["presence"], figures["decided"], figures["decided_threads"]
    variety = figures["variety"]
    rows, table = [], []
    marks = {stage: mark_clusters(threads[stage]) for stage in STAGES if decided[stage]}
    for move in put_in_order(presence, book):
        per = presence[move]["per_100"]
        dots = [
            Dot(per[stage], series=place, text=add_mark(f"{write_number(per[stage], 1)} per 100", marks[stage]))
            for place, stage in enumerate(STAGES)
            if per[stage] is not None
        ]
        rows.append(Row(book.name(move), dots, href=behind.find("presence", move)))
        for enactment, words in ENACTMENTS.items():
            counts = presence[move][enactment]
            if any(counts.values()):
                cells = [
                    Figure(str(counts[stage]), behind.find("presence", move, enactment, stage)) for stage in STAGES
                ]
                rates = [
                    Figure(add_mark(write_number(per[stage], 1), marks.get(stage)) if enactment == "enacted" else "")
                    for stage in STAGES
                ]
                table.append([Figure(book.name(move)), Figure(words), *cells, *rates])
    out_of = ", ".join(f"{decided[stage]} in {words} ({threads[stage]} threads)" for stage, words in STAGES.items())
    chart = RowChart(
        "presence",
        "Enacted moves per 100 decided sentences",
        rows,
        series=list(STAGES.values()),
        high=None,
        note=explain_marks(marks.values()) if rows else "",
        missing=Missing("No move is coded here yet."),
    )
    heads = [
        *("Move", "Enactment"),
        *(f"Codings: {words}" for words in STAGES.values()),
        *(f"Per 100: {words}" for words in STAGES.values()),
    ]
    notes = []
    if found := [each for each in variety["threads"].values() if each["moves"]]:
        kinds, entropy = (median(each[key] for each in found) for key in ("moves", "entropy"))
        notes = [
            f"Kinds of enacted moves in a thread that has any: median {kinds:g} of {variety['of']}.",
            f"Entropy of the moves of a thread: median {write_number(entropy)} bits (0: all of one kind).",
        ]
    return Section("presence", "Moves", f"Decided sentences: {out_of}.", chart, heads, table, notes)


def draw_transitions(transitions: Mapping[str, Any], book: CodeBook, behind: Behind) -> Section:
    """Which move follows which, as a grid of shares, with the adjusted residual of each step."""
    cells, columns = transitions["cells"], put_in_order(transitions["column"], book)
    rows, table = [], []
    for here in put_in_order(cells, book):
        drawn = []
        for there in columns:
            cell = cells[here][there]
            residual = write_residual(cell)
            href = behind.find("transitions", here, there) if cell["observed"] else ""
            words = (
                f"{book.name(here)}, then {book.name(there)}: {write_count(cell['observed'])} of "
                f"{write_count(transitions['row'][here])}, residual {residual}"
            )
            text = write_count(cell["observed"]) + ("*" if is_starred(cell) else "")
            drawn.append(Cell(cell["probability"], text, words, href))
            if cell["observed"]:
                table.append(
                    [
                        Figure(book.name(here)),
                        Figure(book.name(there)),
                        Figure(write_count(cell["observed"]), href),
                        Figure(write_count(transitions["row"][here])),
                        Figure(write_number(cell["expected"])),
                        Figure(write_number(cell["probability"])),
                        Figure(residual),
                    ]
                )
        rows.append(GridRow(book.name(here), drawn))
    chart = GridChart(
        "transitions",
        "Which move follows which",
        [book.name(each) for each in columns],
        rows,
        high=1.0,
        rows_are="From",
        note="Shade: the share of steps from a move. Starred: more or fewer steps than expected, by a test that compares threads, "
        f"not steps (Student’s t), with P below {LEVEL}, adjusted over all cells of the table in which at least {MIN_EXPECTED} "
        "steps are expected (Holm); the others are marked as small and are not tested. With steps in fewer than "
        f"{FEW} threads nothing is starred.",
        missing=Missing("No thread has two enacted moves after one another yet."),
    )
    heads = ["From", "To", "Steps", "Steps from there", "Expected", "Share", "Adjusted residual"]
    words = (
        f"{transitions['pairs']} steps in {transitions['threads']} threads. Moves that begin at one place are a set, and a step "
        "between two sets is shared out among their moves."
    )
    return Section("transitions", "Transitions", words, chart, heads, table)


def write_residual(cell: Mapping[str, Any]) -> str:
    """An adjusted residual as tables print it, starred where it is tested and not 0, marked where few are expected."""
    if cell["residual"] is None:
        return "–"
    return write_number(cell["residual"]) + ("*" if is_starred(cell) else " (small)" if cell["small"] else "")


def draw_links(
    links: Mapping[str, Any], book: CodeBook, *, key: str = "links", behind: Behind | None = None
) -> Section:
    """Which features moves act on, as a grid of links, with what is linked to nothing.

    ``key``: the name of the chart on its page. Without ``behind`` the numbers lead nowhere.
    """
    counts = links["counts"]
    features = put_in_order({each for row in counts.values() for each in row}, book)
    rows, table = [], []
    for move in put_in_order(counts, book):
        cells = []
        for feature in features:
            number = counts[move].get(feature, 0)
            href = behind.find("links", move, feature) if behind and number else ""
            label = f"{book.name(move)} on {book.name(feature)}: {number}"
            cells.append(Cell(number, str(number) if number else "", label, href))
        rows.append(GridRow(book.name(move), cells))
        table.append(
            [
                Figure(book.name(move)),
                *(Figure(cell.text or "0", cell.href) for cell in cells),
                Figure(str(sum(counts[move].values()))),
            ]
        )
    chart = GridChart(
        key,
        "Which features moves act on",
        [book.name(each) for each in features],
        rows,
        rows_are="Move",
        missing=Missing("No move is linked to a feature yet. At the desk, a link says what a move acts on."),
    )
    notes = [
        f"Enacted moves: {links['moves']}, of which {links['moves_without_link']} act on nothing.",
        f"Links: {links['links']}, of which {links['links_without_entry']} are to a feature that has no entry yet.",
    ]
    heads = ["Move", *(book.name(each) for each in features), "Links"]
    return Section(
        key, "Moves by features", "Links of enacted moves outside the reasoning.", chart, heads, table, notes
    )


def draw_distances(distances: Mapping[str, Any], titles: Mapping[str, str], threads: int) -> Section:
    """How far sequences of moves are from each other, and the nearest of each thread. ``threads``: how many have moves."""
    heads = ["Thread", "Nearest thread", "Distance", "Of the longer length"]
    words = (
        "How far sequences of moves are from each other: what has to be left out, put in or exchanged to turn one into the "
        "other."
    )
    if threads < MIN_THREADS_FOR_DISTANCES or not distances:
        why = f"Distances are shown from {MIN_THREADS_FOR_DISTANCES} threads with moves on; there are {threads}."
        if threads >= MIN_THREADS_FOR_DISTANCES:
            why = f"{threads} threads are too many to compare each with each. Narrow the selection above."
        return Section(
            "distances", "Distances", words, PanelChart("distances", "Distances", [], missing=Missing(why)), heads
        )
    nearest: dict[str, tuple[float, float, str]] = {}
    bins = [0] * 10
    for one, others in distances.items():
        for other, found in others.items():
            bins[min(9, int(found["normalised"] * 10))] += 1
            for here, there in ((one, other), (other, one)):
                near = (found["normalised"], found["distance"], there)
                nearest[here] = min(nearest.get(here, near), near)
    points = [Point(f"{n / 10:.1f}", number, str(number)) for n, number in enumerate(bins)]
    panel = Panel("Pairs of threads by distance, of the longer length", points)
    chart = PanelChart("distances", "Distances between threads", [panel], high=None, has_columns=True)
    table = [
        [
            Figure(titles.get(thread, thread)),
            Figure(titles.get(other, other)),
            Figure(write_count(distance)),
            Figure(write_number(normalised)),
        ]
        for thread, (normalised, distance, other) in sorted(nearest.items(), key=lambda each: each[1])
    ]
    return Section("distances", "Distances", words, chart, heads, table)
