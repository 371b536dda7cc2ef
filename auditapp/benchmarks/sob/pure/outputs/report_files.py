"""Every file that a report can be downloaded as: its name, what it is, and how it is written. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from auditapp.benchmarks.sob.pure.measures.mapping import PUBLISHED, Rows, read_mapping
from auditapp.benchmarks.sob.pure.outputs.csv_tables import TABLES
from auditapp.benchmarks.sob.pure.outputs.latex_tables import write_latex
from auditapp.benchmarks.sob.pure.showing.figures import Figures
from auditapp.benchmarks.sob.pure.showing.heat_map import draw_heat_map, draw_rank_plot
from auditapp.benchmarks.sob.pure.showing.social_map import draw_social_map
from transcripts.charts.layout import ChartFile
from transcripts.charts.png import write_png
from transcripts.formats.report_tables import write_report_table

Report = Mapping[str, Any]

FIGURES = [
    {"key": key, "name": name, "sentence": sentence, "formats": ("svg", "png")}
    for key, name, sentence in (
        ("heat", "Heat map", "Both tasks below each other on one scale (Table 4)."),
        ("ranks", "Rank plot", "Mean rank of each target under both tasks (Figure 2)."),
        ("map", "Social map", "Targets by the values attributed most often."),
    )
]
DOCUMENTS = [
    {
        "key": "report",
        "name": "The whole report",
        "sentence": "Every figure, unrounded, as one object.",
        "formats": ("json",),
    },
    {
        "key": "tables",
        "name": "Tables 4, 5 and 10 to 13",
        "sentence": "A LaTeX document in the paper’s layout.",
        "formats": ("tex",),
    },
]
TABLE_FILES = [
    {"key": table.name, "name": table.name, "sentence": table.caption, "formats": table.formats}
    for table in TABLES.values()
]
FORMATS = {str(file["key"]): file["formats"] for file in (*DOCUMENTS, *FIGURES, *TABLE_FILES)}
"""The formats of each file by its key."""


def write_file(
    report: Report,
    key: str,
    format: str,
    *,
    mapping: Rows,
    model: str | None = None,
    exact: bool = False,
    with_published: bool = False,
) -> bytes:
    """One file. Raises ``KeyError`` for an unknown one, and ``NoRenderer`` if PNG cannot be drawn here.

    ``model`` is the one of the social map (``None``: all together); ``exact`` leaves formulas in CSV as they are;
    ``with_published`` adds the published rows to the heat map.
    """
    if format not in FORMATS[key]:
        raise KeyError(format)
    if key == "report":
        return json.dumps(report, ensure_ascii=False, indent=1).encode() + b"\n"
    if key == "tables":
        return write_latex(report, mapping=mapping).encode()
    if key in TABLES:
        return write_report_table(TABLES[key], report, format, exact=exact)
    if key == "map":
        name = str((report.get("versions") or {}).get("mapping") or PUBLISHED)
        svg = draw_social_map(report, model=model, mapping=read_mapping(mapping, name)).write()
    elif key == "heat":
        svg = draw_heat_map(report, with_published=with_published).write()
    else:
        ranks = draw_rank_plot(Figures(report))
        svg = ChartFile(ranks.key, ranks.title, [("", ranks)], ranks.summary, [ranks.note]).write()
    return write_png(svg) if format == "png" else svg.encode()


def name_file(batch: int, report: Report, key: str, format: str) -> str:
    """A name that says which batch and which report a file comes from."""
    version = str((report.get("versions") or {}).get("report") or "0")
    return f"sob-batch-{batch}-report-{version}-{key}.{format}"
