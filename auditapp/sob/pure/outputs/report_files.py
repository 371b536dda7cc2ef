"""Every file that a report can be had as: its name, what it is, and how it is written. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from auditapp.sob.pure.measures.mapping import PUBLISHED, read_mapping
from auditapp.sob.pure.outputs.csv_tables import TABLES, print_table
from auditapp.sob.pure.outputs.figures import draw_heat_map, draw_rank_plot, draw_social_map
from auditapp.sob.pure.outputs.latex import write_latex
from auditapp.sob.pure.outputs.raster import write_png

Report = Mapping[str, Any]
MappingRows = Mapping[str, Mapping[str, Sequence[str]]]

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "zip": "application/zip",
}


class Wish(NamedTuple):
    """What may be chosen of a file: whose values the social map shows (``None``: all models), and csv as it is.

    ``notice`` stands in every file: that answers are invented, or compare with nothing. ``with_published`` puts the
    published rows into the heat map.
    """

    model: str | None = None
    exact: bool = False
    notice: str = ""
    with_published: bool = False


class ReportFile(NamedTuple):
    """A file with the sentence that stands beside it, in one or several formats."""

    key: str
    name: str
    sentence: str
    formats: Sequence[str]


FIGURES = (
    ReportFile("heat", "Heat map", "Both tasks side by side on one scale (Table 4).", ("svg", "png")),
    ReportFile("ranks", "Rank plot", "Mean rank of each target under both tasks (Figure 2).", ("svg", "png")),
    ReportFile("map", "Social map", "Targets by the values attributed most often.", ("svg", "png")),
)
DOCUMENTS = (
    ReportFile("report", "The whole report", "Every figure, unrounded, as one object.", ("json",)),
    ReportFile("tables", "Tables 4, 5 and 10 to 13", "A LaTeX document in the paper's layout.", ("tex",)),
)
CSV_FILES = tuple(ReportFile(table.name, table.name, table.sentence, ("csv",)) for table in TABLES.values())
FILES = {file.key: file for file in (*DOCUMENTS, *FIGURES, *CSV_FILES)}


def write_file(report: Report, key: str, format: str, *, mapping: MappingRows, wish: Wish | None = None) -> bytes:
    """One file. Raises ``KeyError`` for one there is not, and ``NoRenderer`` where PNG cannot be drawn here."""
    wish = wish or Wish()
    if format not in FILES[key].formats:
        raise KeyError(format)
    if wish.notice:
        report = {**report, "notice": wish.notice}
    if key == "report":
        return json.dumps(report, ensure_ascii=False, indent=1).encode() + b"\n"
    if key == "tables":
        return write_latex(report, mapping=mapping).encode()
    if format == "csv":
        return print_table(report, key, exact=wish.exact).encode()
    svg = _draw(report, key, wish, mapping)
    return write_png(svg) if format == "png" else svg.encode()


def _draw(report: Report, key: str, wish: Wish, mapping: MappingRows) -> str:
    if key == "map":
        name = str((report.get("versions") or {}).get("mapping") or PUBLISHED)
        return draw_social_map(report, model=wish.model, mapping=read_mapping(mapping, name))
    if key == "heat":
        return draw_heat_map(report, with_published=wish.with_published)
    return draw_rank_plot(report)


def name_file(batch: int, report: Report, key: str, format: str) -> str:
    """A name that says which batch and which report a file comes from."""
    version = str((report.get("versions") or {}).get("report") or "0")
    return f"sob-batch-{batch}-report-{version}-{key}.{format}"
