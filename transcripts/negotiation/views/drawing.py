"""The figures of the report for the pages, each with its chart and its table, and how numbers are written.

Every number states its denominator and leads to the turns that it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlencode

from transcripts.charts.figures import (
    RELIABILITY_RULE,
    RELIABLE,
    TENTATIVE,
    Cell,
    Chart,
    Dot,
    GridChart,
    GridRow,
    Missing,
    Panel,
    PanelChart,
    Part,
    Point,
    Reference,
    Row,
    RowChart,
    judge_cases,
    judge_difference,
    judge_reliability,
)
from transcripts.negotiation.pure.episodes import KINDS
from transcripts.negotiation.pure.sequences import LEVEL, MIN_EXPECTED, is_starred
from transcripts.negotiation.queries.scores import CodeBook
from transcripts.statistics import figures
from transcripts.statistics.figures import FEW, mark_clusters, write_number, write_p

ENACTMENTS = {
    "enacted": "Enacted",
    "demonstrated": "Demonstrated",
    "described": "Described",
    "not_stated": "Enactment not stated",
}
STAGES = {"front": "what it says", "back": "private reasoning", "tool": "tools"}


class Figure(NamedTuple):
    """One cell of a table: its text, and the address of the page with the turns that it counts."""

    text: str
    href: str = ""


@dataclass
class Section:
    """One figure of the page: its chart and its table."""

    key: str
    title: str
    words: str
    chart: Chart
    heads: Sequence[str]
    rows: Sequence[Sequence[Figure]] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Addresses:
    """The addresses of the turns that numbers count: the page that lists them, with the selection of the figures."""

    address: str
    query: Sequence[tuple[str, str]] = ()

    def find(self, figure: str, *keys: str) -> str:
        """The address of the turns that a number of ``figure`` counts, narrowed by ``keys``."""
        named = [("figure", figure), *(("key", key) for key in keys)]
        return f"{self.address}?{urlencode([*self.query, *named])}"


def write_count(value: float) -> str:
    """A count that may be a fraction; whole numbers are written without decimals."""
    return str(int(value)) if value == int(value) else f"{value:.2f}"


def write_interval(interval: Sequence[float] | None) -> str:
    """An interval as tables print it; a dash where there is none."""
    return f"{write_number(interval[0])} to {write_number(interval[1])}" if interval else "–"


def write_estimate(value: float | None, interval: Sequence[float] | None, mark: str | None) -> str:
    """A figure with its interval, if it has one, and with its mark: "0.65, 0.45 to 0.81 (rough)"."""
    text = f"{write_number(value)}, {write_interval(interval)}" if interval else write_number(value)
    return add_mark(text, mark)


def add_mark(text: str, mark: str | None) -> str:
    """A number with the mark of few threads."""
    return f"{text} ({mark})" if mark else text


def explain_marks(marks: Iterable[str | None]) -> str:
    """Explanations of the marks that occur, for figures over threads."""
    return " ".join(figures.explain_marks(marks, "threads"))


def make_dot(part: int, n: int, interval: Sequence[float] | None, mark: str | None) -> Dot:
    """A share as a dot with its interval; empty if the denominator is 0."""
    value = part / n if n else None
    return Dot(value, interval, text=write_estimate(value, interval, mark) if n else "")


def name_share(name: str, part: int, n: int) -> str:
    """The name of a row with the denominator of its share."""
    return f"{name}: {part} of {n}"


def put_in_order(codes: Any, book: CodeBook) -> list[str]:
    """Codes in the order of the codebook, then codes that it does not have."""
    known = [each for each in book.names if each in codes]
    return [*known, *sorted(each for each in codes if each not in book.names)]


MIN_THREADS_FOR_DISTANCES = 30


def draw_presence(figures: Mapping[str, Any], book: CodeBook, addresses: Addresses) -> Section:
    """How often each move is coded, by enactment and stage, and per 100 decided sentences of a stage; and how varied threads are.
    ``figures``: those of one coder."""
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
        rows.append(Row(book.name(move), dots, href=addresses.find("presence", move)))
        for enactment, words in ENACTMENTS.items():
            counts = presence[move][enactment]
            if any(counts.values()):
                cells = [
                    Figure(str(counts[stage]), addresses.find("presence", move, enactment, stage)) for stage in STAGES
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
        missing=Missing("No moves are coded here yet."),
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
            f"Kinds of enacted moves per thread with any: median {kinds:g} of {variety['of']}.",
            f"Entropy of the moves of a thread: median {write_number(entropy)} bits (0: all of one kind).",
        ]
    return Section("presence", "Moves", f"Decided sentences: {out_of}.", chart, heads, table, notes)


def draw_transitions(transitions: Mapping[str, Any], book: CodeBook, addresses: Addresses) -> Section:
    """Which move follows which, as a grid of shares, with the adjusted residual of each step."""
    cells, columns = transitions["cells"], put_in_order(transitions["column"], book)
    rows, table = [], []
    for here in put_in_order(cells, book):
        drawn = []
        for there in columns:
            cell = cells[here][there]
            residual = write_residual(cell)
            href = addresses.find("transitions", here, there) if cell["observed"] else ""
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
        note="The shade is the share of steps from a move. A star marks more or fewer steps than expected, by a test that "
        f"compares threads, not steps (Student’s t), with P below {LEVEL}, adjusted over all cells of the table in which at least "
        f"{MIN_EXPECTED} steps are expected (Holm); the others are marked as small and are not tested. If fewer than {FEW} "
        "threads have steps, nothing is starred.",
        missing=Missing("No thread has two consecutive enacted moves yet."),
    )
    heads = ["From", "To", "Steps", "Steps from there", "Expected", "Share", "Adjusted residual"]
    words = (
        f"{transitions['pairs']} steps in {transitions['threads']} threads. Moves that begin at the same place form a set, and a "
        "step between two sets is divided among their moves."
    )
    return Section("transitions", "Transitions", words, chart, heads, table)


def write_residual(cell: Mapping[str, Any]) -> str:
    """An adjusted residual for tables, starred if it is significant, and marked if few steps are expected."""
    if cell["residual"] is None:
        return "–"
    return write_number(cell["residual"]) + ("*" if is_starred(cell) else " (small)" if cell["small"] else "")


def draw_links(
    links: Mapping[str, Any], book: CodeBook, *, key: str = "links", addresses: Addresses | None = None
) -> Section:
    """Which features moves act on, as a grid of links, with the moves that have no link.

    ``key``: the name of the chart on its page. Without ``addresses`` the numbers are not links.
    """
    counts = links["counts"]
    features = put_in_order({each for row in counts.values() for each in row}, book)
    rows, table = [], []
    for move in put_in_order(counts, book):
        cells = []
        for feature in features:
            number = counts[move].get(feature, 0)
            href = addresses.find("links", move, feature) if addresses and number else ""
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
        missing=Missing("No move is linked to a feature yet. At the desk, use a link to say what a move acts on."),
    )
    notes = [
        f"Enacted moves: {links['moves']}, of which {links['moves_without_link']} act on nothing.",
        f"Links: {links['links']}, of which {links['links_without_entry']} lead to a feature without an entry.",
    ]
    heads = ["Move", *(book.name(each) for each in features), "Links"]
    return Section(
        key, "Moves by features", "Links of enacted moves outside the reasoning.", chart, heads, table, notes
    )


def draw_distances(distances: Mapping[str, Any], titles: Mapping[str, str], threads: int) -> Section:
    """The distances between sequences of moves, and the nearest thread to each. ``threads``: the number with moves."""
    heads = ["Thread", "Nearest thread", "Distance", "Relative to the longer length"]
    words = (
        "The distance between sequences of moves: how many moves have to be removed, inserted or replaced to turn one into the "
        "other."
    )
    if threads < MIN_THREADS_FOR_DISTANCES or not distances:
        why = f"Distances need at least {MIN_THREADS_FOR_DISTANCES} threads with moves; there are {threads}."
        if threads >= MIN_THREADS_FOR_DISTANCES:
            why = f"{threads} threads are too many to compare all pairs. Narrow the selection above."
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
    panel = Panel("Pairs of threads by distance, relative to the longer length", points)
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


def draw_episodes(episodes: Mapping[str, Any], book: CodeBook, addresses: Addresses) -> Section:
    """What follows each kind of challenge, how often the model revises, and whether it revises more after warranted challenges."""
    rows, table = [], []
    for kind in KINDS:
        found, name = episodes[kind], book.name(f"challenge.{kind}")
        href = addresses.find("episodes", kind) if found["episodes"] else ""
        row = name_share(name, found["revised"], found["decided"])
        rows.append(Row(row, [make_dot(found["revised"], found["decided"], found["ci"], found["mark"])], href=href))
        table.append(
            [
                Figure(name),
                Figure(str(found["episodes"]), href),
                *(Figure(str(found[each]), addresses.find("episodes", kind, each)) for each in OUTCOMES),
                Figure(add_mark(write_number(found["rate"]), found["mark"])),
                Figure(write_interval(found["ci"])),
                Figure(str(found["threads"])),
                Figure(
                    f"{found['explained']} of {found['revised']}",
                    addresses.find("episodes", kind, "explained") if found["explained"] else "",
                ),
            ]
        )
    apart = episodes["warrant_sensitivity"]
    verdict = judge_cases(apart["threads"], things="threads") or judge_difference(
        apart["ci"], more="revises more when it should", less="revises more when it should not"
    )
    text = write_estimate(apart["difference"], apart["ci"], apart["mark"])
    p = f", P {write_p(apart['p_fisher'])} (Fisher)" if apart["p_fisher"] is not None else ""
    notes = [
        f"Warranted minus unwarranted: {text}{p}: {verdict.words}. It is 0 for a model that revises whenever it is challenged.",
        "Intervals are over threads, because episodes of one thread depend on each other. If a thread has several, there is no P.",
    ]
    chart = RowChart(
        "revision",
        "Revised after a challenge, with 95 % intervals",
        rows,
        summary=f"Warranted minus unwarranted: {text}." if apart["difference"] is not None else "",
        note=explain_marks(episodes[kind]["mark"] for kind in KINDS),
        missing=Missing("No turn of the interviewer is coded as a challenge, or no answer to a challenge is decided."),
    )
    heads = ["Challenge", "Episodes", *OUTCOMES.values(), "Rate", "95 % interval", "Threads", "Explained"]
    words = "An episode is a turn with a challenge and the answers until the interviewer speaks again. Rate: revised / decided."
    return Section("revision", "Challenges and revisions", words, chart, heads, table, notes)


def draw_pressure(pressure: Mapping[str, Any], titles: Mapping[str, str], addresses: Addresses) -> Section:
    """For each thread with several unwarranted challenges, how many the model gave in to, and at which it did so first."""
    rows, table = [], []
    for thread, found in sorted(pressure.items(), key=lambda each: -each[1]["challenges"]):
        name, href = titles.get(thread, thread), addresses.find("pressure", thread)
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
        "These threads show whether the model gives in to repeated challenges without a warrant.",
        chart,
        ["Thread", "Unwarranted challenges", "Revised", "When"],
        table,
    )


def draw_intents(intents: Mapping[str, Any], book: CodeBook, addresses: Addresses) -> Section:
    """The intents of challenges on the case sheets (rows) compared with the coder's codes (columns)."""
    counts = intents["counts"]
    names = {kind: book.name(f"challenge.{kind}") for kind in KINDS}
    rows, table = [], []
    for intended in [kind for kind in KINDS if kind in counts]:
        cells = []
        for coded, name in names.items():
            number = counts[intended].get(coded, 0)
            href = addresses.find("intents", intended, coded) if number else ""
            label = f"{names[intended]}, coded as {name}: {number}"
            cells.append(Cell(number, str(number) if number else "", label, href))
        rows.append(GridRow(names[intended], cells))
        total = Figure(str(sum(counts[intended].values())))
        table.append([Figure(names[intended]), *(Figure(cell.text or "0", cell.href) for cell in cells), total])
    chart = GridChart(
        "intents",
        "Challenges by intent and by coding",
        list(names.values()),
        rows,
        rows_are="Meant as",
        missing=Missing(
            "No turn has both a challenge with an intent on the case sheet and a challenge coded by this coder. Case sheets that "
            "you cannot open yet are left out."
        ),
    )
    notes = [
        f"Turns classified by both: {intents['units']}.",
        f"Equal: {write_number(intents['raw'])}; Cohen’s kappa: {write_number(intents['kappa'])}.",
        f"Challenges by the case sheet alone: {intents['only_sheet']}; by the coder alone: {intents['only_reader']}.",
        f"Turns left out because the coder gave several kinds: {intents['several']}.",
    ]
    words = "Compares the intents on the case sheets with the codings of the coder."
    return Section("intents", "Challenges as meant", words, chart, ["Meant as", *names.values(), "Turns"], table, notes)


def draw_pairs(pairs: Mapping[str, Any] | None, book: CodeBook, addresses: Addresses, *, known: int) -> Section:
    """Pairs of threads whose outcome went against the expectation.

    ``pairs`` is None if no outcome was chosen. ``known``: the number of pairs that are open to the reader.
    """
    heads = ["Pairs that", "Pairs", *SIDES.values(), "Flips", "95 % interval", "P (McNemar, exact)"]
    rows, table = [], []
    words = "The outcome flips if it occurs in only one of the two threads of a pair. The two expectations are never pooled."
    missing = Missing("Choose an outcome above to compare pairs." if known else "No pair of threads is open to you.")
    if pairs:
        missing = Missing("You have not read both threads of any pair yet.")
        named = ", ".join(book.name(each) for each in pairs["outcomes"])
        words = f"Outcome: {named}, enacted in what the model says. {words}"
        for expect, name in EXPECTATIONS.items():
            found = pairs[expect]
            flips = found["a_only"] + found["b_only"]
            wrong = found["pairs"] - flips if expect == "change" else flips
            # The missed changes are the pairs that do not flip.
            interval = [1 - end for end in reversed(found["ci"])] if found["ci"] and expect == "change" else found["ci"]
            title = name_share("Missed changes" if expect == "change" else "Unwanted changes", wrong, found["pairs"])
            leads = addresses.find("pairs", expect) if found["pairs"] else ""
            rows.append(Row(title, [make_dot(wrong, found["pairs"], interval, found["mark"])], href=leads))
            table.append(
                [
                    Figure(name.lower()),
                    Figure(str(found["pairs"]), addresses.find("pairs", expect)),
                    *(Figure(str(found[side]), addresses.find("pairs", expect, side)) for side in SIDES),
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
        "pairs", "Pairs that went against the expectation", rows, note=explain_marks(marks), missing=missing
    )
    return Section("pairs", "Counterfactual pairs", words, chart, heads, table, notes)


SHARES = {
    "coverage": ("Coverage", "raised", "relevant", "relevant features that it raises, out of those on case sheets"),
    "over_raising": (
        "Over-raising",
        "over_raised",
        "irrelevant",
        "irrelevant features that it raises, out of those on case sheets",
    ),
    "disclosure": (
        "Disclosure",
        "disclosed",
        "raised_back",
        "features raised in reasoning that its conduct raises then or later",
    ),
    "elicit_first": (
        "Asks first",
        "elicited_first",
        "committed",
        "threads with asking or hedging before a commitment",
    ),
}


def list_shares(total: Mapping[str, Any]) -> list[dict[str, str]]:
    """The shares of a ledger in words, for the page of a thread; one thread has no interval."""
    return [
        {
            "name": name,
            "words": f"{write_number(total[key]['share'])} ({total[part]} of {total[whole]})"
            if total[whole]
            else "nothing to count",
            "means": means,
        }
        for key, (name, part, whole, means) in SHARES.items()
    ]


def draw_ledger(total: Mapping[str, Any], addresses: Addresses) -> Section:
    """The shares of the ledger over all threads of a coder, each with its interval; ``total``: as `measure_ledger` gives it."""
    rows, table = [], []
    for key, (name, part, whole, means) in SHARES.items():
        found, href = total[key], addresses.find("ledger", key)
        row = name_share(name, total[part], total[whole])
        # A bar leads to what was counted or, if nothing was, to what could have been counted.
        leads = href if total[part] else addresses.find("ledger", f"{key}_of") if total[whole] else ""
        rows.append(Row(row, [make_dot(total[part], total[whole], found["ci"], found["mark"])], href=leads))
        table.append(
            [
                Figure(name),
                Figure(str(total[part]), href),
                Figure(str(total[whole]), addresses.find("ledger", f"{key}_of")),
                Figure(add_mark(write_number(found["share"]), found["mark"])),
                Figure(write_interval(found["ci"])),
                Figure(str(found["threads"])),
                Figure(means),
            ]
        )
    missing = Missing("No feature is coded with a status, or you cannot open any case sheet yet.")
    chart = RowChart(
        "ledger",
        "The feature ledger: shares with 95 % intervals",
        rows,
        note=explain_marks(total[key]["mark"] for key in SHARES),
        missing=missing,
    )
    notes = [f"Relevant features that are silently assumed and never raised: {total['assumed']}."]
    if total["in_part"]:
        notes.append(f"Threads left out because some of their answers are not decided yet: {total['in_part']}.")
    return Section(
        "ledger",
        "The ledger",
        "Raised: with any status except silently assumed, in what the model says or in its tools. Coverage and over-raising are "
        "never combined.",
        chart,
        ["Figure", "Part", "Out of", "Share", "95 % interval", "Threads", "What is counted"],
        table,
        notes,
    )


def draw_agreement(status: Mapping[str, Any], addresses: Addresses) -> Section:
    """How far each two coders agree on the status of entries, by nominal alpha, and on whether there is an entry."""
    rows, table = [], []
    for each in status.get("pairs") or [{"a": status["coders"][0], "b": status["coders"][1], **status}]:
        name, alpha = f"{each['a']} and {each['b']}", each["alpha"]
        presence = each.get("presence") or status["presence"]
        rows.append(
            Row(
                name,
                [Dot(alpha, text=write_number(alpha))],
                verdict=judge_reliability(alpha, None, each["threads"], things="threads"),
                href=addresses.find("agreement", each["a"], each["b"]),
            )
        )
        table.append(
            [
                Figure(name),
                Figure(str(each["units"]), addresses.find("agreement", each["a"], each["b"])),
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
        missing=Missing("No two coders made an entry for the same feature in the same turn."),
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
        "Computed over entries that both coders made, not over statuses carried forward. A separate kappa covers whether a "
        "feature has an entry at all."
    )
    return Section("agreement", "Agreement on status", words, chart, heads, table)
