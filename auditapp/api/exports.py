"""Exports: the files that people can take from a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.errors import Conflict
from auditapp.api.fields import Body, Choice, RecordOutput, RowOutput, TrueOrFalse, Words
from auditapp.api.views import PageParameters, Pages, StudyView
from transcripts.accounts.models import Scope as TokenScope
from transcripts.corpus.models import RUN_FACTS, Kind
from transcripts.corpus.queries import is_fact
from transcripts.exchange.actions.exporting import EXPORT, find_hidden, write_or_leave
from transcripts.exchange.rows import Column, Export, Scope, find_export, list_exports
from transcripts.jobs.actions import record_taking
from transcripts.jobs.models import ImportJob
from transcripts.jobs.runs import read_result
from transcripts.studies.downloads import CONTENT_TYPES, sends_files

OWN, ALL = "own", "all"
# Named for the schema, which tells fields that are named alike apart.
JOB_STATES = ImportJob.State.choices
SENT_AS = sorted({kind for format, kind in CONTENT_TYPES.items() if format != "tex"})


class ListExports(StudyView):
    """The exports that you may make from this study."""

    class Output(RecordOutput):
        """What can be exported."""

        class Column(RecordOutput):
            """A column of the export's table."""

            class Meta:
                ref_name = "ExportColumn"
                record = Column
                fields = "name meaning"

        formats = serializers.ListField(
            child=serializers.CharField(), help_text="The formats in which it is available."
        )
        columns = Column(many=True, help_text="The columns of the table, in order; none if the export has no table.")

        class Meta:
            ref_name = "Export"
            record = Export
            fields = "key name sentence row formats unblinds is_narrowed consent columns"

    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        return self.answer_page([export for export in list_exports() if export.permission in self.role.permissions])


class JobOutput(RowOutput):
    """A file that is written by a worker."""

    name = serializers.CharField(source="options.name", help_text="What is exported.")
    has_file = serializers.BooleanField(help_text="Whether the file can be downloaded now.")

    class Meta:
        ref_name = "ExportFile"
        model = ImportJob
        fields = "id name state rows total problem size has_file expires_at"
        paths: ClassVar = {"rows": "done", "size": "result_size"}


@sends_files
class WriteExport(StudyView):
    """Export something.

    The response is the file itself; if writing it takes long, it is 202 with a number under which a worker writes the file. Each
    export is recorded. The file's SHA-256 is in the header X-Content-SHA256.
    """

    class Input(Body):
        """What to export, and how."""

        format = Words(help_text="One of the formats of the export.")
        rows = Choice(
            [OWN, ALL],
            default=ALL,
            help_text="own: only your rows; all: all rows that you may see, which for coders are their own.",
        )
        with_left_out = TrueOrFalse(
            default=False, help_text="true: archived and excluded interviews are included, with their rows."
        )
        kind = Choice(["", *Kind.values], default="", help_text="Only interviews of this kind; empty: all kinds.")
        run = Words(
            default="", allow_blank=True, help_text="Only interviews from runs with this fact, such as task=files."
        )
        exact = TrueOrFalse(
            default=False,
            help_text="true: a CSV without the apostrophe before text that a spreadsheet would read as a formula.",
        )

        class Meta:
            ref_name = "NewExport"

    Output = JobOutput
    # Nothing is changed: a file hands out what the person may read.
    scope = TokenScope.READ
    success: ClassVar[Mapping[int, str]] = {202: "A worker writes the file."}
    file_types = SENT_AS
    refusals = (409,)

    def post(self, request: Request, slug: str, what: str) -> HttpResponseBase:
        export = self._find_export(what)
        given = self.read_body()
        if given["format"] not in export.formats:
            raise serializers.ValidationError({"format": [f"Choose one of: {', '.join(export.formats)}."]})
        only_own = not self.viewer.sees_all or given["rows"] == OWN
        if given["run"] and not is_fact(given["run"]):
            raise serializers.ValidationError({"run": [f"Write one of {', '.join(RUN_FACTS)}, as in task=files."]})
        scope = Scope(
            self.study,
            self.person if only_own else None,
            with_left_out=given["with_left_out"],
            kind=given["kind"],
            run=given["run"],
            coder=self.person if self.viewer.codes else None,
        )
        if export.unblinds and not only_own:
            _refuse_hidden(len(find_hidden(self.viewer, export, scope)))
        written = write_or_leave(
            export=export,
            scope=scope,
            format=given["format"],
            exact=given["exact"],
            by=self.person,
            role=self.role,
        )
        return self.answer(written, status=202) if isinstance(written, ImportJob) else written

    def _find_export(self, what: str) -> Export:
        export = find_export(what)
        if export is None:
            raise Http404(f"There is no export {what}. The list of exports names them.")
        if export.permission not in self.role.permissions:
            raise PermissionDenied(f"Your role in this study is {self.role.name}. {self.role.sentence}")
        return export


class ReadExportFile(StudyView):
    """How far the worker is with one of your files."""

    Output = JobOutput

    def get(self, request: Request, slug: str, export_id: int) -> Response:
        return self.answer(find_job(self, export_id))


@sends_files
class TakeExportFile(StudyView):
    """Download one of your files that a worker has written. This is recorded, like every export."""

    Output = JobOutput
    scope = TokenScope.READ
    success: ClassVar[Mapping[int, str]] = {}
    file_types = SENT_AS
    refusals = (409,)

    def post(self, request: Request, slug: str, export_id: int) -> HttpResponseBase:
        self.read_body()
        job = find_job(self, export_id)
        if not job.has_file:
            raise Conflict(job.problem or "There is no file: it has not been written yet, or is no longer kept.")
        EXPORT.check_taking(job, self.person, self.role)
        record_taking(job=job, by=self.person)
        file = job.outcome["file"]
        response = StreamingHttpResponse(read_result(job), content_type=file["content_type"])
        response["Content-Length"] = str(job.result_size)
        response["Content-Disposition"] = content_disposition_header(True, file["name"]) or ""
        response["X-Content-SHA256"] = file["sha256"]
        return response


def find_job(view: StudyView, export_id: int) -> ImportJob:
    """A file that the person asked for, if she is still allowed to have it. Raises ``Http404`` or ``PermissionDenied``."""
    jobs = ImportJob.objects.filter(study=view.study, kind=EXPORT.name, asked_by=view.person)
    job = jobs.select_related("study").filter(pk=export_id).first()
    if job is None:
        raise Http404(f"You have asked for no file {export_id} in this study.")
    if EXPORT.permission(job) not in view.role.permissions:
        raise PermissionDenied(f"Your role in this study is {view.role.name}. {view.role.sentence}")
    return job


def _refuse_hidden(hidden: int) -> None:
    """A person who codes unblinds herself only on a page, which explains it and asks for confirmation, and never through a
    program."""
    if hidden:
        raise Conflict(
            f"This file would show you others' labels in {hidden:,} interview{'' if hidden == 1 else 's'} that you have not "
            "unblinded. Send `rows` as `own`, or unblind them on the page of exports first."
        )
