"""A chart of a page as a file: the page carries it signed, so that the file shows what the page showed and nothing else."""

from __future__ import annotations

from typing import NamedTuple

from django.core import signing

# Without a time, so that a page is the same byte for byte while what it shows is.
SIGNER = signing.Signer(salt="transcripts.charts")


class ChartFile(NamedTuple):
    """The drawing of a chart, under the name it has in files."""

    name: str
    svg: str


def sign_chart(file: ChartFile, *, study: str, user_id: int) -> str:
    """What the form of a chart sends: it serves this person in this study."""
    return SIGNER.sign_object([study, user_id, *file], compress=True)


def read_chart(token: str, *, study: str, user_id: int) -> ChartFile | None:
    """The chart that was signed; None if it was not, or was made for somebody else or another study."""
    try:
        for_study, for_user, name, svg = SIGNER.unsign_object(token)
    except (signing.BadSignature, ValueError):
        return None
    return ChartFile(name, svg) if (for_study, for_user) == (study, user_id) else None
