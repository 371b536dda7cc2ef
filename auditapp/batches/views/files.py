"""The route through files: download the requests of a batch, upload the answers."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect

from auditapp.batches.forms import MAX_ANSWER_FILE, AnswersForm
from auditapp.batches.routes import answer_files
from auditapp.batches.views.gate import BatchRequest, control_view
from auditapp.batches.views.pages import render_batch
from transcripts.projects.downloads import sends_files
from transcripts.ui.uploads import takes_uploads


@sends_files
@control_view
def download_requests(request: BatchRequest) -> HttpResponseBase:
    """The requests of the cells that wait for an answer, one line of JSON each. A POST, because the export is recorded."""
    batch = request.batch
    if not request.visibility.allows_requests:
        messages.error(request, f"The requests were not written. {request.visibility.sentence}")
        return redirect("batches:detail", request.project.slug, batch.pk)
    try:
        _, lines = answer_files.export_requests(batch=batch, by=request.user)
    except answer_files.AnswerFileError as error:
        messages.error(request, str(error))
        return redirect("batches:detail", request.project.slug, batch.pk)
    headers = {"Content-Disposition": f'attachment; filename="batch-{batch.pk}-requests.jsonl"'}
    return StreamingHttpResponse(lines, content_type="application/jsonl", headers=headers)


@takes_uploads(MAX_ANSWER_FILE)
@control_view
def import_answer_file(request: BatchRequest) -> HttpResponse:
    """Store the answers of a file, completely or not at all."""
    batch = request.batch
    form = AnswersForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            imported = answer_files.import_answer_file(batch=batch, file=form.cleaned_data["file"], by=request.user)
        except answer_files.AnswerFileError as error:
            form.add_error("file", [str(error), *error.problems])
        else:
            messages.success(
                request,
                f"{_count(imported.answered, 'answer')} imported, {_count(imported.failed, 'error')}, {imported.skipped:,} left "
                f"out as imported before; {_count(imported.waiting, 'cell')} still wait{'s' if imported.waiting == 1 else ''}.",
            )
            return redirect("batches:detail", request.project.slug, batch.pk)
    return render_batch(request, answers_form=form, status=422)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
