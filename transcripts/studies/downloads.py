"""Downloads of data as files. Each is recorded with a description and, if the file is complete, its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db import models, transaction
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.http import content_disposition_header

from transcripts.audit_trail import trail
from transcripts.formats.report_tables import ReportTable, Source, write_report_table
from transcripts.studies.models import Study

View = TypeVar("View", bound=Callable[..., Any])
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "md": "text/markdown; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "qdc": "application/xml",
    "qdpx": "application/zip",
    "svg": "image/svg+xml; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "zip": "application/zip",
}
"""The content type of each kind of file, by the ending of its name."""
FORMAT_NAMES = {"csv": "CSV", "json": "JSON", "parquet": "Parquet", "tex": "LaTeX"}


def sends_files(view: View) -> View:
    """Decorate a view that may send a large file, so that few of them are sent at once."""
    view.sends_files = True  # type: ignore[attr-defined]
    return view


def sends_large_files(view: Callable[..., Any]) -> bool:
    """Whether a view, or the class that it was made of, is decorated so."""
    return bool(getattr(getattr(view, "cls", view), "sends_files", False))


def name_narrowed(stem: str, basis: Mapping[str, object], *, is_narrowed: bool) -> str:
    """The name of a file of figures, without its ending: two files with the same name have the same basis, unless they cover
    everything."""
    digest = hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest()[:8]
    return f"{stem}-narrowed-{digest}" if is_narrowed else stem


@transaction.atomic
def record_download(
    action: str, *, study: Study, target: models.Model | str, by: trail.Actor, details: dict[str, object]
) -> None:
    """Record with ``action`` that data of a study were downloaded. ``details`` describe them."""
    trail.record(action, target=target, by=by, stream=trail.study_stream(study.pk), details=details)


def send_download(
    data: bytes,
    action: str,
    *,
    name: str,
    content_type: str,
    study: Study,
    target: models.Model | str,
    by: trail.Actor,
    details: dict[str, object],
) -> HttpResponse:
    """The answer that is this file, after it was recorded. Its SHA-256 is in the record and in the header X-Content-SHA256."""
    sha256 = hashlib.sha256(data).hexdigest()
    record_download(action, study=study, target=target, by=by, details={**details, "sha256": sha256})
    headers = {"Content-Disposition": content_disposition_header(True, name) or "", "X-Content-SHA256": sha256}
    return HttpResponse(data, content_type=content_type, headers=headers)


def offer_table(
    table: ReportTable[Any], words: str, address: Callable[[str], str] = lambda _format: ""
) -> dict[str, object]:
    """A table for ``ui/_table_files.html``: its name, and its formats. Each is sent as ``format``, to a separate ``address`` or to
    that of the form."""
    return {"words": words, "formats": [(FORMAT_NAMES[format], format, address(format)) for format in table.formats]}


def address_files(route: str, *arguments: object) -> Callable[[str], str]:
    """The addresses of a table in each format: ``route`` with its arguments, of which the format is the last."""
    return lambda format: reverse(route, args=[*arguments, format])


def send_report_table(
    table: ReportTable[Source],
    source: Source,
    format: str,
    action: str,
    *,
    stem: str,
    study: Study,
    target: models.Model | str,
    by: trail.Actor,
    details: dict[str, object],
    caption: str = "",
    label: str = "",
) -> HttpResponse:
    """A table of a report as the file ``stem`` in one format, recorded as ``send_download`` does. Raises ``Http404`` where there is
    no such format."""
    if format not in table.formats:
        raise Http404("No such file.")
    return send_download(
        write_report_table(table, source, format, caption=caption, label=label),
        action,
        name=f"{stem}.{format}",
        content_type=CONTENT_TYPES[format],
        study=study,
        target=target,
        by=by,
        details={**details, "format": format},
    )
