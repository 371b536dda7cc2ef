"""A chart of a page as a file: the page carries it signed, so that the file shows what the page showed and nothing else."""

from __future__ import annotations

from typing import NamedTuple

from django.core import signing

SALT = "transcripts.charts"
MAX_AGE_SECONDS = 24 * 60 * 60


class ChartFile(NamedTuple):
    """The drawing of a chart, under the name it has in files."""

    name: str
    svg: str


def sign_chart(file: ChartFile, *, study: str, user_id: int) -> str:
    """What the form of a chart sends: it serves this person in this study for a day."""
    return signing.dumps([study, user_id, *file], salt=SALT, compress=True)


def read_chart(token: str, *, study: str, user_id: int) -> ChartFile | None:
    """The chart that was signed; None if it was not, is too old, or was made for somebody else or another study."""
    try:
        for_study, for_user, name, svg = signing.loads(token, salt=SALT, max_age=MAX_AGE_SECONDS)
    except (signing.BadSignature, ValueError):
        return None
    return ChartFile(name, svg) if (for_study, for_user) == (study, user_id) else None
