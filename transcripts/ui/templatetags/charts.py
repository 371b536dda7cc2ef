"""Charts on pages: ``{% load charts %}{% chart figure %}``."""

from __future__ import annotations

from django import template
from django.template.context import RequestContext
from django.utils.safestring import mark_safe

from transcripts.charts.figures import Chart, GridChart, Missing, tabulate
from transcripts.charts.layout import lay_out, lay_out_narrow
from transcripts.charts.svg import embed, write_page_svg
from transcripts.ui.chart_files import sign_chart

NOTHING = Missing("There is nothing to draw yet.")

register = template.Library()


@register.inclusion_tag("charts/figure.html", takes_context=True)
def chart(context: RequestContext, figure: Chart, table: str = "") -> dict[str, object]:
    """A chart with its downloads and its table, or, where there is nothing to draw, what is missing.

    ``table`` is the id of the page's own table of these figures, folded below; without one the chart brings a table.
    """
    if figure.is_empty:
        return {"missing": figure.missing or NOTHING}
    named = {"title": figure.title, "description": figure.summary or figure.title}
    svg = write_page_svg(lay_out(figure), key=figure.key, **named)
    narrow = write_page_svg(lay_out_narrow(figure), key=f"{figure.key}-narrow", **named)
    shrinking = "" if isinstance(figure, GridChart) else " shrinking"
    request, study, token = context.get("request"), context.get("study"), ""
    user = getattr(request, "user", None)
    if study is not None and user is not None and user.is_authenticated:
        token = sign_chart(svg, summary=figure.summary, note=figure.note, study=study.slug, user_id=user.pk)
    heads, rows = tabulate(figure) if not table else ([], [])
    return {
        "chart": figure,
        "drawn": mark_safe(embed(svg, f"wide{shrinking}") + embed(narrow, f"narrow{shrinking}")),  # noqa: S308 - every word in it is escaped by transcripts.charts.svg
        "token": token,
        "study": study,
        "csrf_token": context.get("csrf_token"),
        "table": table,
        "heads": heads,
        "rows": rows,
    }
