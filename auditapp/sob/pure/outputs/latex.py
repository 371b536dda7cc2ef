"""The report as LaTeX tables in the paper's layout (Tables 4, 5 and 10 to 13 of arXiv 2606.17506).

Pure: the report comes as the JSON that every page and file reads. Words of the captions are ours; each says what its
numbers are shares of, how attributes were counted, and with which versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auditapp.sob.pure.limits import READING
from auditapp.sob.pure.measures.mapping import PUBLISHED, published_rows
from auditapp.sob.pure.outputs import latex_tables, latex_values
from auditapp.sob.pure.outputs.latex_text import PREAMBLE, escape_latex
from auditapp.sob.pure.outputs.reading import ReportView

TABLES = ("4", "5", "10", "11", "12", "13")
"""The tables there are, by their numbers in the paper."""

_BEGIN = "\n".join(
    [
        r"\documentclass[10pt]{article}",
        r"\usepackage[a4paper,landscape,margin=15mm]{geometry}",
        PREAMBLE,
        r"\setlength{\tabcolsep}{3pt}",
        r"\begin{document}",
    ]
)


class UnknownTable(LookupError):
    """There is no such table."""


def write_latex(
    report: Mapping[str, Any],
    tables: Sequence[str] | None = None,
    *,
    mapping: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    models: Sequence[str] | None = None,
    standalone: bool = True,
) -> str:
    """The tables numbered as in the paper, all of them when ``tables`` is left out. Raises ``UnknownTable``.

    ``mapping`` holds the lists behind Table 12, {target: {"self": [...], "dominant": [...]}}; without it they are the
    published ones where the report was made with those, else the table says that the report does not carry them.
    ``models`` are those of Table 5, two as a rule; without it the model with the most and the one with the least
    attribution. ``standalone`` writes a whole document, else tables for a document whose preamble holds
    ``latex_text.PREAMBLE``.
    """
    chosen = list(TABLES if tables is None else tables)
    unknown = [number for number in chosen if number not in TABLES]
    if unknown:
        raise UnknownTable(f"There is no table {unknown[0]}; there are {', '.join(TABLES)}.")
    view = ReportView(report)
    if mapping is None and (report.get("versions") or {}).get("mapping") == PUBLISHED:
        mapping = published_rows()
    written = [_write_table(number, view, mapping, models) for number in chosen]
    if not standalone:
        return "\n".join([_write_head(), *written])
    reading = rf"\section*{{Reading these tables}}{escape_latex(' '.join(READING))} {_list_warnings(view)}"
    return "\n".join([_write_head(), _BEGIN, reading, *written, r"\end{document}", ""])


def _write_table(
    number: str,
    view: ReportView,
    mapping: Mapping[str, Mapping[str, Sequence[str]]] | None,
    models: Sequence[str] | None,
) -> str:
    if number == "4":
        return latex_tables.write_scores(view)
    if number == "5":
        return latex_values.write_contrast(view, models)
    if number == "10":
        return latex_values.write_pooled(view)
    if number == "11":
        return latex_values.write_each_model(view)
    if number == "12":
        return latex_tables.write_mapping_lists(view, mapping)
    return latex_tables.write_mapped(view)


def _write_head() -> str:
    return "% Tables of a second-order-bias report. Needs booktabs, graphicx, iftex and xcolor with the option table."


def _list_warnings(view: ReportView) -> str:
    sentences = [escape_latex(str(sentence)) for sentence in view.report.get("warnings") or []]
    return " ".join(sentences)
