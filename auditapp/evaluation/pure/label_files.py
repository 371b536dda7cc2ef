"""Labels of people and a machine in a CSV file, one unit and code per row, and how accurate the machine is.

Columns: unit, code, human, machine, blind, sampled, and optionally turn. ``human`` is 1, 0 or empty, which means not labelled.
``blind`` says that the person had not seen the machine's label, ``sampled`` that the unit was drawn at random to be labelled;
both may be empty if there is no label. Other columns are ignored. A file is accepted completely or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from auditapp.evaluation.pure.calibration import CodeLabels, calibrate
from auditapp.evaluation.pure.corrected_rates import (
    MIN_LABELLED,
    MIN_POSITIVES,
    CorrectedRate,
    correct_prevalence,
    correct_rate,
    is_outside,
)
from transcripts.formats.json_lines import list_choices, read_each, refuse_field, take_text
from transcripts.formats.problems import quote
from transcripts.formats.tabular import StrictTable
from transcripts.statistics.figures import Interval, write_estimate

COLUMNS = ("unit", "code", "human", "machine", "blind", "sampled")
TURN = "turn"
CI = "_ci"
IN_FILE = ("precision", "recall", "specificity", "f1", "kappa", "prevalence", "machine_share", "false_failure_rate")


class Row(NamedTuple):
    """One line. ``human`` is None where nobody labelled the unit."""

    unit: str
    human: bool | None
    machine: bool
    is_blind: bool
    is_sampled: bool
    turn: str


def list_figures(report: Mapping[str, Any]) -> dict[str, object]:
    """The report of a code in the form used for JSON: None if a figure is not defined, never NaN."""
    found: dict[str, object] = {**report["calibration"]["table"]._asdict(), "n": report["calibration"]["table"].n}
    for name in IN_FILE:
        estimate = report["calibration"]["figures"][name]
        found |= {name: estimate.value, f"{name}{CI}": _list(estimate.interval), f"{name}_n": estimate.n}
        if report["has_turns"]:
            found[f"{name}_turns{CI}"] = _list(estimate.figure.interval)
    for name in ("raw", "pabak", "ac1"):
        found[name] = report["calibration"]["figures"][name].value
    return found | {
        "positive_agreement": report["calibration"]["figures"]["f1"].value,
        "coverage": report["calibration"]["figures"]["recall"].value,
        "naive": report["corrected_rate"].naive,
        "ppi": report["corrected_rate"].rate,
        f"ppi{CI}": _list(report["corrected_rate"].interval),
        "ppi_reason": report["refusal"] or None,
        "ppi_se": report["corrected_rate"].error,
        "rectifier": report["corrected_rate"].rectifier,
        "ppi_labelled": report["corrected_rate"].n_labelled,
        "ppi_unlabelled": report["corrected_rate"].n_unlabelled,
        "rogan_gladen": report["rogan_gladen"],
        "not_blind": report["not_blind"],
        "turns": report["calibration"]["n_turns"] if report["has_turns"] else None,
        "warnings": list(report["warnings"]),
    }


def read_file(lines: Iterable[bytes], *, name: str) -> tuple[dict[str, list[Row]], bool]:
    """The rows of a file by code, and whether it names turns; given line by line in bytes. Raises ``ReadError``."""
    table = StrictTable(lines, name=name, needed=COLUMNS)
    codes: dict[str, list[Row]] = {}
    seen: dict[tuple[str, str], int] = {}
    turn_of: dict[str, str] = {}
    for line, (code, row) in read_each(table.read_objects(), name, _read_row):
        first = seen.setdefault((row.unit, code), line)
        if first != line:
            raise table.refuse(line, f"the unit {quote(row.unit)} and its code twice (line {first})", "once")
        if turn_of.setdefault(row.unit, row.turn) != row.turn:
            raise table.refuse(line, f"another turn for the unit {quote(row.unit)}", "one turn for each")
        codes.setdefault(code, []).append(row)
    if not codes:
        raise table.refuse(None, "headings and no row", "at least one row below the headings")
    return dict(sorted(codes.items())), TURN in table.headings


def report_file(
    codes: Mapping[str, list[Row]], *, has_turns: bool, seed: int, resamples: int
) -> dict[str, dict[str, Any]]:
    """Every figure of every code. The table is made from blind rows with a person's label; the intervals resample turns if
    these are known."""
    return {
        code: _report_code(code, rows, has_turns=has_turns, seed=seed, resamples=resamples)
        for code, rows in codes.items()
    }


def list_report(reports: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The report in lines for people."""
    for code, report in reports.items():
        table, figures = report["calibration"]["table"], report["calibration"]["figures"]
        yield f"{code}: {table.n} blind labels, {table.tp} TP, {table.fp} FP, {table.fn} FN, {table.tn} TN"
        for name in IN_FILE:
            yield f"  {name} {_format(figures[name].value, figures[name].interval)} (n {figures[name].n})"
        rate = report["corrected_rate"]
        yield (
            f"  rate in the corpus, corrected {_format(rate.rate, rate.interval)} "
            f"(labelled {rate.n_labelled}, unlabelled {rate.n_unlabelled})"
        )
        yield (
            f"  not corrected, not to be reported as a rate: {_format(rate.naive)}; Rogan-Gladen {_format(report['rogan_gladen'])}"
        )
        for warning in report["warnings"]:
            yield f"  note: {warning}"


def _read_row(cells: Mapping[str, str]) -> tuple[str, Row]:
    """The code of a line, and what it says."""
    values = {column: cell.strip() for column, cell in cells.items()}
    unit, code = take_text(values, "unit"), take_text(values, "code")
    turn = take_text(values, TURN) if TURN in values else unit

    def read(column: str, *, may_be_empty: bool) -> bool | None:
        if may_be_empty and not values[column]:
            return None
        known = ["1", "0", *(["nothing"] if may_be_empty else [])]
        if values[column] not in {"0", "1"}:
            raise refuse_field(values, [column], list_choices(known))
        return values[column] == "1"

    human, machine = read("human", may_be_empty=True), bool(read("machine", may_be_empty=False))
    is_blind, is_sampled = (bool(read(column, may_be_empty=human is None)) for column in ("blind", "sampled"))
    return code, Row(unit, human, machine, is_blind, is_sampled, turn)


def _report_code(code: str, rows: list[Row], *, has_turns: bool, seed: int, resamples: int) -> dict[str, Any]:
    """How far the machine agrees with blind labels, the corrected rate or the ``refusal`` that says why there is none, and
    what was left out."""
    blind = [row for row in rows if row.human is not None and row.is_blind]
    labels = CodeLabels(
        code,
        np.array([row.machine for row in blind], dtype=bool),
        np.array([[bool(row.human) for row in blind]], dtype=bool),
        np.ones((1, len(blind)), dtype=bool),
    )
    _, turns = np.unique(np.array([row.turn for row in blind], dtype=object), return_inverse=True)
    [measured], _ = calibrate([labels], turns.reshape(-1), seed=seed, resamples=resamples if has_turns else 0)
    drawn = [row for row in blind if row.is_sampled]
    unlabelled = [row for row in rows if row.human is None]
    rate = correct_rate(
        [bool(row.human) for row in drawn], [row.machine for row in drawn], [row.machine for row in unlabelled]
    )
    corrected = correct_prevalence(rate.naive, *_find_accuracy(drawn))
    refusal = _refuse_rate(rows, rate)
    if refusal:
        rate = rate._replace(rate=None, rectifier=None, error=None, interval=None)
        corrected = None
    not_blind = sum(row.human is not None and not row.is_blind for row in rows)
    refused = (f"no corrected rate: {refusal}",) if refusal else ()
    warnings = (*measured["warnings"], *refused, *_warn_of_rate(rate, drawn, corrected))
    return {
        "calibration": measured,
        "corrected_rate": rate,
        "rogan_gladen": corrected,
        "not_blind": not_blind,
        "warnings": warnings,
        "has_turns": has_turns,
        "refusal": refusal,
    }


def _refuse_rate(rows: list[Row], rate: CorrectedRate) -> str:
    """Why there is no corrected rate. If some rows of a sample have no blind label, it is no longer random."""
    sampled = [row for row in rows if row.is_sampled]
    unlabelled = sum(row.human is None for row in sampled)
    seen = sum(row.human is not None and not row.is_blind for row in sampled)
    if unlabelled or seen:
        without = f"{unlabelled} are not labelled and {seen} are labelled, but not blind"
        return f"of {len(sampled)} sampled rows, {without}; a rate needs a blind label for each of them"
    if not rate.n_labelled:
        return "no row is blind, sampled and labelled"
    return "" if rate.n_unlabelled else "every row has a person's label"


def _find_accuracy(rows: list[Row]) -> tuple[float | None, float | None]:
    """Sensitivity and specificity among the rows that were drawn."""
    by_people = {put: [row.machine for row in rows if row.human is put] for put in (True, False)}
    sensitivity = sum(by_people[True]) / len(by_people[True]) if by_people[True] else None
    specificity = 1 - sum(by_people[False]) / len(by_people[False]) if by_people[False] else None
    return sensitivity, specificity


def _warn_of_rate(rate: CorrectedRate, drawn: list[Row], corrected: float | None) -> Iterator[str]:
    if rate.rate is not None:
        if rate.n_labelled < MIN_LABELLED:
            yield f"corrected rate: fewer than {MIN_LABELLED} sampled labels ({rate.n_labelled})"
        positives = sum(bool(row.human) or row.machine for row in drawn)
        if positives < MIN_POSITIVES:
            yield f"corrected rate: fewer than {MIN_POSITIVES} sampled labels with the code ({positives})"
    if rate.is_outside:
        yield "the corrected rate is outside 0 to 1; it is shown as it is"
    if is_outside(corrected):
        yield "the Rogan-Gladen rate is outside 0 to 1; it is shown as it is"


def _list(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _format(value: float | None, interval: Interval | None = None) -> str:
    return "not defined" if value is None else write_estimate(value, interval)
