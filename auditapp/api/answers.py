"""The answers of a batch as lines of JSON, with a place to go on from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from auditapp.api.bulk import LinesRenderer
from auditapp.api.inputs import MAX_ID, Numeral, Parameters
from auditapp.api.views import ProjectView, find_row
from auditapp.batches.kinds import find_visibility
from auditapp.batches.models import Attempt
from auditapp.batches.pages.answers import read_answers
from transcripts.blinding.viewers import Viewer
from transcripts.projects.downloads import sends_files
from transcripts.projects.roles import Permission

LINES_AT_A_TIME = 200
HIDDEN = "X-Answers-Hidden"
# ASCII only: some readers of lines end one at U+0085 or U+2028 too.
write_line = json.JSONEncoder(separators=(",", ":")).encode


@sends_files
class ReadAnswers(ProjectView):
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

    class Output(serializers.Serializer[Any]):
        """An answer. What is not known is null."""

        id = serializers.IntegerField(
            help_text="Its place among the answers of the batch, from 1, by when it was stored."
        )
        cell = serializers.IntegerField(help_text="Number of the unit of work.")
        input = serializers.IntegerField(
            help_text="Number of what was asked about: a turn, a text, a suggestion, by the kind of the batch."
        )
        repeat = serializers.IntegerField(help_text="Which repeat of the question it answers, from 1.")
        outcome = serializers.CharField(help_text="How it was read, as it is now, in the terms of the batch's kind.")
        answer = serializers.CharField(help_text="What the model wrote, exactly. It may be offensive.")
        reasoning = serializers.CharField(
            help_text="What the model wrote before its answer, where its API gives that in a field of its own; may be empty."
        )
        history = serializers.ListField(
            child=serializers.DictField(child=serializers.CharField()),
            allow_null=True,
            help_text="The messages before the question, each with role and content, exactly as sent; null: the instructions "
            "of the arm alone.",
        )
        attempt = serializers.IntegerField(help_text="Number of the call that brought it.")
        end = serializers.ChoiceField(Attempt.End.choices, help_text="How that call ended: answered, or cached.")
        served_model = serializers.CharField(help_text="The model as the provider named it; may be empty.")
        finish_reason = serializers.CharField(help_text="Why the model stopped, in the provider's words; may be empty.")
        tokens_in = serializers.IntegerField(allow_null=True, help_text="Tokens sent.")
        tokens_out = serializers.IntegerField(allow_null=True, help_text="Tokens of the answer.")
        tokens_cached = serializers.IntegerField(allow_null=True, help_text="Of those sent, read from a cache.")
        tokens_reasoning = serializers.IntegerField(allow_null=True, help_text="Of the answer's, spent on reasoning.")
        cost = serializers.FloatField(allow_null=True, help_text="What the call cost, in US dollars.")
        sent_at = serializers.DateTimeField(allow_null=True, help_text="When the call was sent.")
        done_at = serializers.DateTimeField(allow_null=True, help_text="When it ended.")
        stored_at = serializers.DateTimeField(help_text="When the answer was stored.")
        arm = serializers.IntegerField(help_text="Number of the model with its task in this batch.")
        model = serializers.CharField(help_text="Label of the model.")
        task = serializers.CharField(help_text="What it was asked to do.")
        condition = serializers.CharField(help_text="How the question was changed, such as reask; may be empty.")

        class Meta:
            ref_name = "BatchAnswer"

    # As the page of a single call.
    permission = Permission.SEE_ALL_CODINGS
    renderer_classes = (LinesRenderer,)
    success = {200: "A line of JSON for each answer."}

    def get(self, request: Request, slug: str, batch_id: int) -> StreamingHttpResponse:
        batch = find_row(self.project.batches.all(), batch_id, "batch")
        batch.project = self.project
        visibility = find_visibility(batch, Viewer(self.project, self.person, self.role))
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
