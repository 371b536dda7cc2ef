"""A chart of a page as a file: the page carries it signed, so that the file shows what the page showed and nothing else."""

from __future__ import annotations

from dataclasses import astuple

from django.core import signing

from transcripts.charts.svg import PageSvg, write_file_svg

# Without a time, so that a page is the same byte for byte while what it shows is.
SIGNER = signing.Signer(salt="transcripts.charts")


def sign_chart(svg: PageSvg, *, summary: str, note: str, study: str, user_id: int) -> str:
    """What the form of a chart sends: it serves this person in this study."""
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
