"""The report and the funnel as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auditapp.benchmarks.gender_cues.pure.comparing import list_comparisons
from auditapp.benchmarks.gender_cues.pure.limits import CATEGORIES
from auditapp.benchmarks.gender_cues.pure.outputs import list_table1, write_ratio
from auditapp.benchmarks.gender_cues.pure.parsing import SUBSETS
from auditapp.benchmarks.gender_cues.pure.tables import DEGENERATE, INFINITIES, mark_theme
from transcripts.formats.numbers import write_estimate, write_number, write_p, write_percent
from transcripts.statistics.figures import explain_marks, explain_marks_in


def list_funnel(funnel: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each step: counts by category, and the share that is kept."""
    width = max((len(row["step"]) for row in funnel), default=0)
    yield f"{'':{width}}  " + "  ".join(f"{each:>11}" for each in (*CATEGORIES, "total")) + "  of before  of first"
    for row in funnel:
        counts = "  ".join(f"{row[each]:>11,}" for each in (*CATEGORIES, "total"))
        before, first = (write_percent(row[name], 2) for name in ("of_step_before", "of_first"))
        yield f"{row['step']:{width}}  {counts}  {before:>9}  {first:>8}"


def list_report(report: Mapping[str, Any]) -> Iterator[str]:
    """Both tables of each model, the comparisons, the warnings, what marks say, and what must be read with all of it."""
    lines = list(_list_lines(report))
    yield from lines
    yield from explain_marks_in(lines, "texts")


def _list_lines(report: Mapping[str, Any]) -> Iterator[str]:
    for model in report["models"]:
        tables = report["by_model"][model]
        yield f"Table 1{', ' + model if model else ''}"
        yield from _list_table1(tables["table1"])
        if tables["table2"] is not None:
            yield f"Table 2{', ' + model if model else ''}, by {tables['table2']['axis']}"
            yield from _list_table2(tables["table2"])
    yield from list_comparisons(report["comparisons"])
    yield report["tests"]
    yield from report["notes"]
    yield from (f"Note: {sentence}" for sentence in report["warnings"])
    yield from report["caveats"]


def _list_table1(table: Mapping[str, Any]) -> Iterator[str]:
    listed = list(list_table1("", table))
    for row in listed:
        condition = row["condition"]
        test = f", P {write_p(row['p'])} ({row['test']}; by Holm {write_p(row['p_holm'])})" if row["test"] else ""
        mark = f" ({row['mark']})" if row["mark"] else ""
        yield (
            f"  {condition}, {row['subset']}: N {row['n_woman']}/{row['n_man']}{mark}, said woman "
            f"{write_number(row['rate_woman'], 3)} of women's, {write_number(row['rate_man'], 3)} of men's, difference "
            f"{write_estimate(row['difference'], row['difference_ci'])}{test}, accuracy "
            f"{write_estimate(row['accuracy'], row['accuracy_ci'])}, balanced {write_number(row['balanced_accuracy'], 3)}: "
            f"{row['verdict']}"
        )
        if row["subset"] == SUBSETS[-1]:
            found = table[condition]
            apart = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in found["not_counted"].items())
            yield f"  {condition}, beside: {apart}, androgynous or unknown {found['not_scored']}"
    if any(row["degenerate"] for row in listed):
        yield f"  {DEGENERATE}"


def _list_table2(table: Mapping[str, Any]) -> Iterator[str]:
    yield f"  rationales: {table['n_woman']} women's, {table['n_man']} men's, offset {write_ratio(table['offset'])}"
    marks = {name: mark_theme(row) for name, row in table["themes"].items()}
    for name, row in table["themes"].items():
        yield (
            f"  {name}: W {row['w']}, M {row['m']}, ln(W/M) {write_ratio(row['bias'])}, of shares {write_ratio(row['bias_rate'])}, "
            f"with 0.5 added {write_ratio(row['bias_half'])}{f', {marks[name]}' if marks[name] else ''}"
        )
    yield from (f"  {words}" for words in explain_marks(marks.values(), "rationales"))
    if any(isinstance(row["bias"], str) for row in table["themes"].values()):
        yield f"  {INFINITIES}"
