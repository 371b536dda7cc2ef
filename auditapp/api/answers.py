"""The answers of a batch as lines of JSON, with a place to go on from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import ClassVar

from django.core.exceptions import PermissionDenied
from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from auditapp.api.batches import CONDITION
from auditapp.api.bulk import LinesRenderer
from auditapp.api.inputs import Numeral, Parameters
from auditapp.api.outputs import RowOutput
from auditapp.api.views import StudyView, find_row
from auditapp.batches.kinds import find_visibility
from auditapp.batches.models import Cell
from auditapp.batches.pages.attempts import COLUMNS, read_answers
from transcripts.blinding.viewers import Viewer
from transcripts.studies.downloads import sends_files
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_ID

LINES_AT_A_TIME = 200
HIDDEN = "X-Answers-Hidden"
# ASCII only: some readers of lines end one at U+0085 or U+2028 too.
write_line = json.JSONEncoder(separators=(",", ":")).encode


@sends_files
class ReadAnswers(StudyView):
    """The answers of a batch that count, in the order in which they were stored: a line of JSON for each, to the latest.

    To go on after a broken connection, or while the batch runs, send the `id` of the last whole line as `after`. Ids have no
    gap and are given when an answer is stored, so none is missed and none comes twice. Cells without an answer have no
    line. If you may code what the batch annotates, the answers about interviews that you have not unblinded are hidden:
    403 if that is all of them, otherwise the header X-Answers-Hidden is sent; start again once you have unblinded them.
    """

    class Query(Parameters):
        after = Numeral(
            min_value=0, max_value=MAX_ID, default=0, help_text="Return answers with a larger id than this; 0 starts."
        )
        limit = Numeral(
            min_value=1,
            max_value=MAX_ID,
            required=False,
            help_text="How many lines to return at most; all, unless sent.",
        )

    class Output(RowOutput):
        """An answer. What is not known is null."""

        id = serializers.IntegerField(
            help_text="Its place among the answers of the batch, from 1, by when it was stored."
        )
        history = serializers.ListField(
            child=serializers.DictField(child=serializers.CharField()),
            allow_null=True,
            help_text="The messages before the question, each with role and content, exactly as sent; null: only the "
            "instructions of the arm.",
        )
        condition = serializers.CharField(help_text=CONDITION)

        class Meta:
            ref_name = "BatchAnswer"
            model = Cell
            fields = f"{' '.join(COLUMNS)} model task condition"
            paths: ClassVar = {
                **COLUMNS,
                "cell": ("pk", "Number of the unit of work."),
                "arm": ("arm", "Number of the model with its task in this batch."),
                "model": "arm__variant__label",
                "task": "arm__task",
            }

    # As the page of a single call.
    permission = Permission.SEE_ALL_CODINGS
    renderer_classes = (LinesRenderer,)
    success = {200: "A line of JSON for each answer."}

    def get(self, request: Request, slug: str, batch_id: int) -> StreamingHttpResponse:
        batch = find_row(self.study.batches.all(), batch_id, "batch")
        batch.study = self.study
        visibility = find_visibility(batch, Viewer(self.study, self.person, self.role))
        if visibility.is_closed:
            raise PermissionDenied(visibility.sentence)
        answers = read_answers(batch, after=self.query["after"], limit=self.query.get("limit"), visibility=visibility)
        headers = {} if visibility.is_whole else {HIDDEN: "true"}
        body = () if request.method == "HEAD" else write_lines(answers)
        return StreamingHttpResponse(body, content_type=LinesRenderer.media_type, headers=headers)


def write_lines(rows: Iterable[dict[str, object]]) -> Iterator[bytes]:
    """Lines of JSON, many at a time: each piece costs the server more than a line."""
    left = iter(rows)
    while group := list(islice(left, LINES_AT_A_TIME)):
        yield b"".join(write_line(row).encode() + b"\n" for row in group)
