from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

from django import forms
from django.http import QueryDict

FIELDS = ("raw", "target", "secondary", "tertiary")


class TargetsForm(forms.Form):
    """A next table of targets: why, and its rows where they are pasted. Rows that are typed come beside it, field by field."""

    reason = forms.CharField(
        max_length=2000, widget=forms.Textarea({"rows": 2}), help_text="Why the table changes. It is kept with it."
    )
    pasted = forms.CharField(
        max_length=1_000_000,
        required=False,
        widget=forms.Textarea({"rows": 6, "spellcheck": "false"}),
        label="Rows as CSV",
        help_text="Takes the place of the rows below. Columns raw, target, secondary, tertiary; the last two may be left out.",
    )


def list_typed_rows(data: QueryDict) -> list[dict[str, str]]:
    """The rows as typed into the table; one without any target is left out."""
    columns = [data.getlist(field) for field in FIELDS]
    return drop_undecided(dict(zip(FIELDS, values, strict=True)) for values in zip(*columns, strict=False))


def read_pasted(text: str) -> list[dict[str, str]]:
    """The rows of pasted CSV, with or without a header. Separated by comma, tab or semicolon."""
    text = text.strip().replace("\r\n", "\n")
    first = text.partition("\n")[0]
    delimiter = max("\t;,", key=first.count)
    rows = [dict(zip(FIELDS, values, strict=False)) for values in csv.reader(io.StringIO(text), delimiter=delimiter)]
    if rows and [value.strip().lower() for value in rows[0].values()][:2] == ["raw", "target"]:
        del rows[0]
    return [row for row in rows if any(value.strip() for value in row.values())]


def write_rows(rows: Iterable[Mapping[str, str]]) -> str:
    """Rows as CSV that can be pasted again."""
    written = io.StringIO()
    writer = csv.DictWriter(written, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


def drop_undecided(rows: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """The rows that name a target: a label that is left open has none."""
    return [row for row in rows if any(row[field].strip() for field in FIELDS[1:])]
