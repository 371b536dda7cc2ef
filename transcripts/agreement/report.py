"""The figures of agreement for its page and its file, computed in one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from transcripts.accounts.models import User
from transcripts.agreement.pure.figures import CELLS, Agreement, CodeAgreement, PairAgreement
from transcripts.agreement.queries import Selection
from transcripts.charts.figures import (
    RELIABILITY_RULE,
    RELIABLE,
    TENTATIVE,
    Dot,
    Reference,
    Row,
    RowChart,
    judge_reliability,
    summarise,
)
from transcripts.codebook.models import Code
from transcripts.coding.models import Blinding
from transcripts.formats.report_tables import Printed, ReportTable, TableRow, declare, name_ends, print_estimate
from transcripts.statistics.figures import Figure, Mark, explain_mark, explain_marks, mark_clusters, write_figure

if TYPE_CHECKING:
    from transcripts.coding.blind import BlindTable

NEARLY_ALWAYS = 0.9
FIGURES = ("prevalence", "raw", "positive_agreement", "kappa", "mean_kappa", "pabak", "ac1", "fleiss", "alpha")
OF_PAIRS = ("prevalence", "raw", "positive_agreement", "kappa", "pabak", "ac1")
SETS = {
    "mean_jaccard": "Mean Jaccard of the sets of codes",
    "mean_jaccard_excluding_empty": "The same without units to which neither applied a code",
    "exact_match": "Share of units with exactly the same codes",
}
# The basis of a file, repeated in each of its rows.
BASIS = (
    *(
        *declare(str, "family blinding"),
        *declare(int, "codebook_version first_version last_version round"),
        *declare(str, "model coders"),
    ),
    *declare(int, "seed resamples turns interviews hidden_interviews"),
)


def measure(selection: Selection, table: BlindTable, *, seed: int) -> dict[str, Any]:
    """Agreement on the readings of a table: the figures that page, file and API show."""
    from transcripts.agreement.label_tables import count_turns, count_uses, make_label_table
    from transcripts.agreement.pure.measuring import measure_agreement

    names = {user.pk: user.username for user in User.objects.filter(pk__in=table.coders)}
    agreement = measure_agreement(make_label_table(table, names), seed=seed)
    codes = list(selection.family.codes.order_by("position"))
    coders = {name: pk for pk, name in names.items()}
    rows = list_rows(agreement, codes, uses=count_uses(table), turns=count_turns(table), coders=coders)
    first, second = (*(coders[name] for name in agreement.coders[:2]), None, None)[:2]
    return {
        "agreement": agreement,
        "rows": rows,
        "is_of_two": len(agreement.coders) == 2,
        "first": first,
        "second": second,
        "mark": mark_clusters(agreement.n_clusters),
        "sets": [(words, getattr(agreement, name)) for name, words in SETS.items()],
    }


def list_rows(
    agreement: Agreement,
    codes: Sequence[Code],
    *,
    uses: Mapping[str, int],
    turns: Mapping[str, int],
    coders: Mapping[str, int],
) -> list[dict[str, Any]]:
    """The rows of the table: the codes in the order of the codebook, with their figures and those of each pair.

    ``uses`` counts how often each was applied to units that several decided, and ``turns`` in how many turns; ``coders`` has
    people's numbers by name.
    """
    figures = {each.code: each for each in agreement.codes}
    return [
        {
            "code": code,
            "figures": found,
            "cells": found.counts,
            "uses": uses.get(code.identifier, 0),
            "turns": turns.get(code.identifier, 0),
            "mark": mark_clusters(turns.get(code.identifier, 0)) if found.n_units else None,
            "is_nearly_always": (found.prevalence.value or 0) > NEARLY_ALWAYS,
            "pairs": [
                {"figures": pair, "a": coders[pair.a], "b": coders[pair.b], "cells": pair.counts}
                for pair in found.pairs
            ],
            "notes": explain_marks((pair.raw.mark for pair in found.pairs), "turns in which both decided"),
        }
        for code in codes
        if (found := figures.get(code.identifier))
    ]


def draw_rows(rows: Sequence[Mapping[str, Any]], *, family: str, units: str, coders: int) -> RowChart:
    """The rows as a chart: alpha of each code with interval and verdict. ``units`` is the address of the units of a code."""
    drawn = []
    for row in rows:
        alpha: Figure = row["figures"].alpha
        drawn.append(
            Row(
                row["code"].name,
                [Dot(alpha.value, alpha.interval, text=write_figure(alpha._replace(clusters=row["turns"])))],
                verdict=judge_reliability(alpha.value, alpha.interval and alpha.interval.low, row["turns"]),
                href=f"{units}&code={row['code'].identifier}",
            )
        )
    return RowChart(
        key="agreement",
        title=f"Krippendorff’s alpha by code: {family}",
        rows=drawn,
        series=(f"{coders} coders, with the 95 % interval",),
        references=(
            Reference(TENTATIVE, f"tentative from {TENTATIVE}"),
            Reference(RELIABLE, f"usable from {RELIABLE}"),
        ),
        summary=summarise((row.verdict for row in drawn), "codes"),
        note=" ".join(
            [
                RELIABILITY_RULE,
                *explain_marks((row["mark"] for row in rows), "turns in which a coder applied the code"),
                "Select a code to see the labels behind it.",
            ]
        ),
    )


def describe_basis(selection: Selection, table: BlindTable, agreement: Agreement, *, hidden: int) -> dict[str, object]:
    """The basis of the figures in a table, by the names of ``BASIS``. ``hidden``: the number of interviews that are left out
    because the person has not unblinded them."""
    shared = table.decided.sum(axis=0) > 1
    return {
        "family": selection.family.identifier,
        "blinding": Blinding.BLIND.value,
        "codebook_version": selection.family.version.number,
        "first_version": selection.first_version,
        "last_version": selection.last_version,
        "round": selection.round.number if selection.round else None,
        "model": selection.model,
        "coders": list(agreement.coders),
        "seed": agreement.seed,
        "resamples": agreement.resamples,
        "turns": len(set(table.turn_ids[shared].tolist())),
        "interviews": len(set(table.interview_ids[shared].tolist())),
        "hidden_interviews": hidden,
    }


def caption_basis(basis: Mapping[str, object]) -> str:
    """The basis of the figures and the meaning of the marks, as the end of a caption."""
    told = (
        f"{name.replace('_', ' ')} {write_basis(value)}" for name, value in basis.items() if value not in ("", None)
    )
    return f"{'; '.join(told).capitalize()}. {' '.join(explain_mark(mark, 'turns') for mark in Mark)}"


def write_basis(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


class Measured(NamedTuple):
    """The data of the file of agreement: the rows of the page, and their basis by the names of ``BASIS``."""

    rows: Sequence[Mapping[str, Any]]
    basis: Mapping[str, object]


def _read_rows(measured: Measured) -> Iterator[TableRow]:
    """For each code a row for all coders, and one for each pair of coders, each with the basis."""
    for row in measured.rows:
        figures: CodeAgreement = row["figures"]
        name = {"code_id": row["code"].identifier, "code": row["code"].name}
        yield {**measured.basis, **name, "scope": "all", **_name_figures(figures, FIGURES)}
        for pair in figures.pairs:
            of_pair = {"coder_a": pair.a, "coder_b": pair.b, **_name_figures(pair, OF_PAIRS)}
            yield {**measured.basis, **name, "scope": "pair", **of_pair}


def _name_figures(source: CodeAgreement | PairAgreement, names: Sequence[str]) -> TableRow:
    mark = source.raw.mark
    named: dict[str, object] = {"units": source.n_units, "mark": str(mark) if mark else None, **(source.counts or {})}
    for name in FIGURES:
        figure: Figure = getattr(source, name) if name in names else Figure()
        of_pair = isinstance(source, PairAgreement) and name == "kappa"
        interval = source.kappa_error.interval if of_pair else figure.interval
        named |= {name: figure.value, **name_ends(interval, f"{name}_"), f"{name}_reason": str(figure.reason)}
    return named


TABLE = ReportTable(
    "agreement",
    "Agreement by code on the blind labels, and by pair of coders, with 95 % intervals over resamples of whole turns; that of "
    "kappa of a pair is by its standard error.",
    (
        *(
            *declare(str, "scope code_id code coder_a coder_b"),
            *declare(int, "units"),
            *declare(str, "mark"),
            *declare(int, *CELLS),
        ),
        *(
            column
            for name in FIGURES
            for column in (*declare(float, f"{name} {name}_low {name}_high"), *declare(str, f"{name}_reason"))
        ),
        *BASIS,
    ),
    _read_rows,
    printed=[
        Printed("Code", lambda row: str(row["code"])),
        Printed("Coders", lambda row: f"{row['coder_a']}, {row['coder_b']}" if row["scope"] == "pair" else "all"),
        Printed("Units", lambda row: f"{row['units']:,}"),
        print_estimate("Raw", "raw"),
        print_estimate("Positive", "positive_agreement"),
        print_estimate("Kappa", "kappa"),
        print_estimate("AC1", "ac1"),
        print_estimate("Alpha", "alpha"),
        Printed("", lambda row: row["mark"] or ""),
    ],
    alignment="llrrrrrrl",
)
