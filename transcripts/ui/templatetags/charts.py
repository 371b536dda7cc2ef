"""Charts on pages: ``{% load charts %}{% chart figure %}``.

A page carries each chart signed, so that the file of the chart shows what the page showed and nothing else.
"""

from __future__ import annotations

from dataclasses import astuple

from django import template
from django.core import signing
from django.template.context import RequestContext
from django.utils.safestring import mark_safe

from transcripts.charts.figures import Chart, GridChart, Missing, tabulate
from transcripts.charts.layout import lay_out, lay_out_narrow
from transcripts.charts.svg import PageSvg, embed, write_file_svg, write_page_svg

NOTHING = Missing("There is nothing to draw yet.")

register = template.Library()


@register.inclusion_tag("charts/figure.html", takes_context=True)
def chart(context: RequestContext, figure: Chart, table: str = "") -> dict[str, object]:
    """A chart with its downloads and its table, or a note of what is missing where there is nothing to draw.

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


# Without a time, so that a page stays the same byte for byte as long as its figures do.
SIGNER = signing.Signer(salt="transcripts.charts")


def sign_chart(svg: PageSvg, *, summary: str, note: str, study: str, user_id: int) -> str:
    """The signed chart that its form sends; it works only for this person in this study."""
    return SIGNER.sign_object([study, user_id, summary, note, *astuple(svg)], compress=True)


def read_chart(token: str, *, study: str, user_id: int) -> tuple[str, str] | None:
    """The name and the SVG of a signed chart; None if it was not signed, or for somebody else or another study."""
    try:
        for_study, for_user, summary, note, *drawn = SIGNER.unsign_object(token)
    except (signing.BadSignature, ValueError):
        return None
    if (for_study, for_user) != (study, user_id):
        return None
    svg = PageSvg(*drawn)
    return svg.key, write_file_svg(svg, summary=summary, notes=[note])
