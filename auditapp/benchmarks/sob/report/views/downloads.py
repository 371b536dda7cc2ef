"""Downloads of a batch: its report in several formats, and the bundle from which all of it can be derived."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.pure.outputs.csv_tables import (
    DOCUMENTS,
    FIGURES,
    FORMATS,
    TABLE_FILES,
    name_file,
    write_file,
)
from auditapp.benchmarks.sob.queries import is_comparable
from auditapp.benchmarks.sob.report.actions import (
    BUNDLE,
    TAKEN_OUT,
    name_bundle,
    record_bundle,
    start_bundle,
    write_bundle_file,
)
from auditapp.benchmarks.sob.report.computing import read_inputs
from auditapp.benchmarks.sob.report.store import find_failure, read_report
from auditapp.benchmarks.sob.report.views.reports import find_batch, open_batch
from auditapp.benchmarks.sob.tables.queries import find_rows
from transcripts.charts.svg import NoRenderer
from transcripts.exchange.actions.exporting import TooLong, watch_time
from transcripts.refusals import Refused
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.downloads import CONTENT_TYPES, send_download, sends_files
from transcripts.studies.roles import Permission


@require_safe
@study_view(Permission.EXPORT)
def show_files(request: StudyRequest, batch_id: int) -> HttpResponse:
    """The list of downloads."""
    opened = open_batch(find_batch(request, batch_id))
    context = opened.describe() | {
        "documents": DOCUMENTS,
        "drawings": FIGURES,
        "tables": TABLE_FILES,
    }
    return render(request, "sob/files.html", context)


@sends_files
@require_POST
@study_view(Permission.EXPORT)
def download(request: StudyRequest, batch_id: int, what: str, format: str) -> HttpResponseBase:
    """Write a file and send it. This is a POST because exports are recorded."""
    batch = find_batch(request, batch_id)
    if (what, format) == (BUNDLE, "zip"):
        return _send_bundle(request, batch)
    if format not in FORMATS.get(what, ()):
        raise Http404("No such file.")
    inputs = read_inputs(batch)
    stored = read_report(inputs)
    if stored is None:
        failure = find_failure(batch, inputs.choice)
        waiting = "The figures are still being computed. Try again in a few seconds."
        messages.error(request, f"The figures could not be computed. {failure.failure_reason}" if failure else waiting)
        return redirect("sob:files", request.study.slug, batch.pk)
    report = stored.report
    try:
        data = write_file(
            report,
            what,
            format,
            mapping=find_rows(request.study, str(report["versions"]["mapping"])),
            model=_choose_model(request, report),
            exact=request.POST.get("exact") == "on",
            with_published=is_comparable(inputs.arms),
        )
    except NoRenderer as error:
        messages.error(request, str(error))
        return redirect("sob:files", request.study.slug, batch.pk)
    return send_download(
        data,
        TAKEN_OUT,
        name=name_file(batch.pk, stored.report, what, format),
        content_type=CONTENT_TYPES[format],
        study=request.study,
        target=batch,
        by=request.user,
        details={"what": what, "format": format},
    )


def _choose_model(request: StudyRequest, report: dict[str, list[dict[str, object]]]) -> str | None:
    asked = request.POST.get("model", "")
    return asked if any(cell["model"] == asked for cell in report["cells"]) else None


def _send_bundle(request: StudyRequest, batch: Batch) -> HttpResponseBase:
    """Write the bundle and send it; where that takes long, leave it to a worker and show how far it is."""
    with_texts = request.POST.get("texts") == "on"
    # The file lives in a folder that goes when the response is closed.
    folder = tempfile.TemporaryDirectory(prefix="auditapp-bundle-")
    name = name_bundle(batch.pk)
    try:
        facts = write_bundle_file(
            batch=batch,
            path=Path(folder.name) / name,
            with_texts=with_texts,
            watch=watch_time(),
            record=lambda facts: record_bundle(batch=batch, by=request.user, facts=facts, with_texts=with_texts),
        )
    except TooLong:
        folder.cleanup()
        try:
            return redirect(start_bundle(batch=batch, with_texts=with_texts, by=request.user))
        except Refused as error:
            messages.error(request, str(error))
            return redirect("sob:files", request.study.slug, batch.pk)
    except Refused as error:
        folder.cleanup()
        messages.error(request, str(error))
        return redirect("sob:files", request.study.slug, batch.pk)
    response = FileResponse(
        facts["path"].open("rb"), as_attachment=True, filename=name, content_type=CONTENT_TYPES["zip"]
    )
    response["X-Content-SHA256"] = facts["sha256"]
    response._resource_closers.append(folder.cleanup)  # type: ignore[attr-defined]  # noqa: SLF001
    return response
