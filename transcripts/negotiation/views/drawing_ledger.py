"""The feature ledger as charts with their tables: its shares, and how far coders agree on the status of entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transcripts.charts.figures import Dot, Missing, Reference, Row, RowChart
from transcripts.charts.verdicts import RELIABILITY_RULE, RELIABLE, TENTATIVE, judge_reliability
from transcripts.formats.numbers import write_number
from transcripts.negotiation.views.sections import (
    Behind,
    Figure,
    Section,
    add_mark,
    explain_marks,
    make_dot,
    name_share,
    write_interval,
)
from transcripts.statistics.figures import mark_clusters

SHARES = {
    "coverage": ("Coverage", "raised", "relevant", "relevant features that it raises, of those that case sheets list"),
    "over_raising": (
        "Over-raising",
        "over_raised",
        "irrelevant",
        "irrelevant features that it raises, of those listed",
    ),
    "disclosure": ("Disclosure", "disclosed", "raised_back", "raised in reasoning, and then or later in its conduct"),
    "elicit_first": ("Asks first", "elicited_first", "committed", "threads that ask or hedge before they commit"),
}


def list_shares(total: Mapping[str, Any]) -> list[dict[str, str]]:
    """The shares of a ledger in words, for the page of a thread: of one thread there is no interval."""
    return [
        {
            "name": name,
            "words": f"{write_number(total[key]['share'])} ({total[part]} of {total[whole]})"
            if total[whole]
            else "nothing to take a share of",
            "means": means,
        }
        for key, (name, part, whole, means) in SHARES.items()
    ]


def draw_ledger(total: Mapping[str, Any], behind: Behind) -> Section:
    """The shares of the ledger over all threads of a coder, each with its interval; ``total``: as `measure_ledger` gives it."""
    rows, table = [], []
    for key, (name, part, whole, means) in SHARES.items():
        found, href = total[key], behind.find("ledger", key)
        row = name_share(name, total[part], total[whole])
        # A bar leads to what was counted, and where nothing was, to what could have been.
        leads = href if total[part] else behind.find("ledger", f"{key}_of") if total[whole] else ""
        rows.append(Row(row, [make_dot(total[part], total[whole], found["ci"], found["mark"])], href=leads))
        table.append(
            [
                Figure(name),
                Figure(str(total[part]), href),
                Figure(str(total[whole]), behind.find("ledger", f"{key}_of")),
                Figure(add_mark(write_number(found["share"]), found["mark"])),
                Figure(write_interval(found["ci"])),
                Figure(str(found["threads"])),
                Figure(means),
            ]
        )
    missing = Missing("No feature was coded with a status, or no case sheet is open to you.")
    chart = RowChart(
        "ledger",
        "The feature ledger: shares with 95 % intervals",
        rows,
        note=explain_marks(total[key]["mark"] for key in SHARES),
        missing=missing,
    )
    notes = [f"Relevant features that are silently assumed and never raised: {total['assumed']}."]
    if total["in_part"]:
        notes.append(f"Threads left out because answers in them are not decided yet: {total['in_part']}.")
    return Section(
        "ledger",
        "The ledger",
        "Raised: with any status except silently assumed, in what the model says or in its tools. Coverage and over-raising are "
        "never joined.",
        chart,
        ["Figure", "Part", "Out of", "Share", "95 % interval", "Threads", "What is counted"],
        table,
        notes,
    )


def draw_agreement(status: Mapping[str, Any], behind: Behind) -> Section:
    """How far each two coders agree on the status of entries, by nominal alpha, and on whether there is one."""
    rows, table = [], []
    for each in status.get("pairs") or [{"a": status["coders"][0], "b": status["coders"][1], **status}]:
        name, alpha = f"{each['a']} and {each['b']}", each["alpha"]
        presence = each.get("presence") or status["presence"]
        rows.append(
            Row(
                name,
                [Dot(alpha, text=write_number(alpha))],
                verdict=judge_reliability(alpha, None, each["threads"], things="threads"),
                href=behind.find("agreement", each["a"], each["b"]),
            )
        )
        table.append(
            [
                Figure(name),
                Figure(str(each["units"]), behind.find("agreement", each["a"], each["b"])),
                Figure(str(each["threads"])),
                Figure(write_number(each["raw"])),
                Figure(add_mark(write_number(alpha), mark_clusters(each["threads"]) if each["units"] else None)),
                Figure(str(each["only_first"])),
                Figure(str(each["only_second"])),
                Figure(write_number(presence["kappa"])),
            ]
        )
    chart = RowChart(
        "status-agreement",
        "Agreement on the status of entries: nominal alpha",
        rows,
        references=(
            Reference(TENTATIVE, f"tentative from {TENTATIVE}"),
            Reference(RELIABLE, f"usable from {RELIABLE}"),
        ),
        note=RELIABILITY_RULE,
        missing=Missing("No two coders made an entry of the same feature in the same turn."),
    )
    heads = [
        "Coders",
        "Entries both made",
        "Threads",
        "Raw",
        "Alpha",
        "Only the first",
        "Only the second",
        "Kappa of presence",
    ]
    words = (
        "Over entries that both coders made, never over what is carried on. Whether a feature has an entry at all has its own "
        "kappa."
    )
    return Section("agreement", "Agreement on status", words, chart, heads, table)
