"""Challenges and what answers them as charts with their tables: revisions, pressure, what was meant, and pairs of threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transcripts.charts.figures import Cell, GridChart, GridRow, Missing, Part, Row, RowChart
from transcripts.charts.verdicts import judge_cases, judge_difference
from transcripts.formats.numbers import write_number, write_p
from transcripts.negotiation.pure.episodes import KINDS
from transcripts.negotiation.queries.codes import CodeBook
from transcripts.negotiation.views.sections import (
    Behind,
    Figure,
    Section,
    add_mark,
    explain_marks,
    make_dot,
    name_share,
    write_estimate,
    write_interval,
)

OUTCOMES = {
    "revised": "Revised",
    "held": "Held",
    "conceded": "Conceded in words only",
    "sidestepped": "Sidestepped",
    "none": "No response applies",
    "undecided": "Not decided",
}
SIDES = {"both": "Both", "a_only": "First only", "b_only": "Second only", "neither": "Neither"}
EXPECTATIONS = {"change": "Should change", "no_change": "Should not change"}


def draw_episodes(episodes: Mapping[str, Any], book: CodeBook, behind: Behind) -> Section:
    """What follows each kind of challenge, how often the model revises, and whether it tells warranted challenges from others."""
    rows, table = [], []
    for kind in KINDS:
        found, name = episodes[kind], book.name(f"challenge.{kind}")
        href = behind.find("episodes", kind) if found["episodes"] else ""
        row = name_share(name, found["revised"], found["decided"])
        rows.append(Row(row, [make_dot(found["revised"], found["decided"], found["ci"], found["mark"])], href=href))
        table.append(
            [
                Figure(name),
                Figure(str(found["episodes"]), href),
                *(Figure(str(found[each]), behind.find("episodes", kind, each)) for each in OUTCOMES),
                Figure(add_mark(write_number(found["rate"]), found["mark"])),
                Figure(write_interval(found["ci"])),
                Figure(str(found["threads"])),
                Figure(
                    f"{found['explained']} of {found['revised']}",
                    behind.find("episodes", kind, "explained") if found["explained"] else "",
                ),
            ]
        )
    apart = episodes["discrimination"]
    verdict = judge_cases(apart["threads"], things="threads") or judge_difference(
        apart["ci"], more="revises more when it should", less="revises more when it should not"
    )
    text = write_estimate(apart["difference"], apart["ci"], apart["mark"])
    p = f", P {write_p(apart['p_fisher'])} (Fisher)" if apart["p_fisher"] is not None else ""
    notes = [
        f"Warranted minus unwarranted: {text}{p}: {verdict.words}. It is 0 for a model that revises whenever it is challenged.",
        "Intervals are over threads, for episodes of one thread depend on one another. Where a thread has several there is no P.",
    ]
    chart = RowChart(
        "revision",
        "Revised after a challenge, with 95 % intervals",
        rows,
        summary=f"Warranted minus unwarranted: {text}." if apart["difference"] is not None else "",
        note=explain_marks(episodes[kind]["mark"] for kind in KINDS),
        missing=Missing("No challenge is coded on a turn of the interviewer, or no answer to one is decided."),
    )
    heads = ["Challenge", "Episodes", *OUTCOMES.values(), "Rate", "95 % interval", "Threads", "Explained"]
    words = "An episode is a challenged turn and what answers it until the interviewer speaks again. Rate: revised of decided."
    return Section("revision", "Challenges and revisions", words, chart, heads, table, notes)


def draw_pressure(pressure: Mapping[str, Any], titles: Mapping[str, str], behind: Behind) -> Section:
    """Of threads with several unwarranted challenges, how many the model gave in to, and at which first."""
    rows, table = [], []
    for thread, found in sorted(pressure.items(), key=lambda each: -each[1]["challenges"]):
        name, href = titles.get(thread, thread), behind.find("pressure", thread)
        first = found["turn_of_flip"]
        when = f"first at challenge {first}" if first else "never"
        text = f"{found['flips']} of {found['challenges']}" + (f", first at {first}" if first else "")
        rows.append(
            Row(
                name,
                parts=[Part(found["flips"], 0), Part(found["challenges"] - found["flips"], 1)],
                text=text,
                href=href,
            )
        )
        table.append([Figure(name), Figure(str(found["challenges"]), href), Figure(str(found["flips"])), Figure(when)])
    chart = RowChart(
        "pressure",
        "Threads with several unwarranted challenges",
        rows,
        series=("revised", "not revised"),
        high=None,
        missing=Missing("No thread has several unwarranted challenges."),
    )
    return Section(
        "pressure",
        "Sustained pressure",
        "Whether the model gives in when it is challenged again without a warrant.",
        chart,
        ["Thread", "Unwarranted challenges", "Revised", "When"],
        table,
    )


def draw_intents(intents: Mapping[str, Any], book: CodeBook, behind: Behind) -> Section:
    """Challenges as case sheets mean them (rows), beside what the coder took them for (columns)."""
    counts = intents["counts"]
    names = {kind: book.name(f"challenge.{kind}") for kind in KINDS}
    rows, table = [], []
    for intended in [kind for kind in KINDS if kind in counts]:
        cells = []
        for coded, name in names.items():
            number = counts[intended].get(coded, 0)
            href = behind.find("intents", intended, coded) if number else ""
            label = f"{names[intended]}, coded as {name}: {number}"
            cells.append(Cell(number, str(number) if number else "", label, href))
        rows.append(GridRow(names[intended], cells))
        total = Figure(str(sum(counts[intended].values())))
        table.append([Figure(names[intended]), *(Figure(cell.text or "0", cell.href) for cell in cells), total])
    chart = GridChart(
        "intents",
        "Challenges as they were meant and as they were read",
        list(names.values()),
        rows,
        rows_are="Meant as",
        missing=Missing(
            "No turn has both: a kind of challenge by the case sheet of its thread, and one by this coder. Case sheets that are "
            "closed to you are left out."
        ),
    )
    notes = [
        f"Turns of which both name a kind: {intents['units']}.",
        f"Equal: {write_number(intents['raw'])}; Cohen’s kappa: {write_number(intents['kappa'])}.",
        f"Challenges by the case sheet alone: {intents['only_sheet']}; by the coder alone: {intents['only_reader']}.",
        f"Turns with several kinds by the coder, which are left out: {intents['several']}.",
    ]
    words = "What case sheets say that the interviewer meant her turns to be, beside what the coder took them for."
    return Section("intents", "Challenges as meant", words, chart, ["Meant as", *names.values(), "Turns"], table, notes)


def draw_pairs(pairs: Mapping[str, Any] | None, book: CodeBook, behind: Behind, *, known: int) -> Section:
    """Pairs of threads whose outcome went against what is expected.

    ``pairs`` is None where no outcome was chosen. ``known``: how many pairs are open to the reader.
    """
    heads = ["Pairs that", "Pairs", *SIDES.values(), "Flips", "95 % interval", "P (McNemar, exact)"]
    rows, table = [], []
    words = "The outcome flips if it occurs in only one of the two threads of a pair. The two expectations are never pooled."
    missing = Missing("Choose an outcome above to compare pairs." if known else "No pair of threads is open to you.")
    if pairs:
        missing = Missing("You have read both threads of no pair yet.")
        named = ", ".join(book.name(each) for each in pairs["outcomes"])
        words = f"Outcome: {named}, enacted in what the model says. {words}"
        for expect, name in EXPECTATIONS.items():
            found = pairs[expect]
            flips = found["a_only"] + found["b_only"]
            wrong = found["pairs"] - flips if expect == "change" else flips
            # What is missed is the rest of what flips.
            interval = [1 - end for end in reversed(found["ci"])] if found["ci"] and expect == "change" else found["ci"]
            title = name_share("Missed changes" if expect == "change" else "Unwanted changes", wrong, found["pairs"])
            leads = behind.find("pairs", expect) if found["pairs"] else ""
            rows.append(Row(title, [make_dot(wrong, found["pairs"], interval, found["mark"])], href=leads))
            table.append(
                [
                    Figure(name.lower()),
                    Figure(str(found["pairs"]), behind.find("pairs", expect)),
                    *(Figure(str(found[side]), behind.find("pairs", expect, side)) for side in SIDES),
                    Figure(add_mark(f"{flips} ({write_number(found['flip_rate'])})", found["mark"])),
                    Figure(write_interval(found["ci"])),
                    Figure(write_p(found["p_mcnemar"])),
                ]
            )
    notes = (
        [f"{pairs['not_read']} pairs are left out: the coder has not decided every answer of both threads."]
        if pairs and pairs["not_read"]
        else []
    )
    marks = [pairs[expect]["mark"] for expect in EXPECTATIONS] if pairs else []
    chart = RowChart(
        "pairs", "Pairs that went against what is expected", rows, note=explain_marks(marks), missing=missing
    )
    return Section("pairs", "Counterfactual pairs", words, chart, heads, table, notes)
