"""Many codings in one request, and files of interviews."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from django.db import transaction
from rest_framework import serializers
from rest_framework.exceptions import APIException, ParseError
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.codings import (
    AddCoding,
    DecideSentence,
    find_codes,
    find_sentences,
    read_values,
    take_code,
    take_sentence,
)
from auditapp.api.errors import ErrorOutput, explain, write_error
from auditapp.api.fields import (
    MAX_FILE_NAME,
    Body,
    Choice,
    FileBody,
    FileParser,
    LinesParser,
    RecordOutput,
    TrueOrFalse,
    Words,
    read_json,
)
from auditapp.api.interviews import ListInterviews
from auditapp.api.views import StudyView, at_one_address
from transcripts.accounts.models import Scope
from transcripts.audit_trail import trail
from transcripts.coding.actions import add_coding, decide_sentence
from transcripts.coding.models import Coding, Decision
from transcripts.coding.queries import hold_these_turns
from transcripts.corpus.actions import import_files, plan_imports
from transcripts.corpus.models import Sentence
from transcripts.corpus.planning import ImportReport
from transcripts.corpus.pure.previews import read_choices
from transcripts.corpus.storing import rest
from transcripts.formats.interviews import FORMATS
from transcripts.formats.interviews.base import CONSENT_SCOPES
from transcripts.refusals import Refused
from transcripts.studies.roles import Permission

LINES_AT_A_TIME = 100
# SQLite lets one writer in at a time: between two transactions, others get this share of the time that one took.
SHARE_OF_OTHERS = 0.1


class LinesRenderer(BaseRenderer):
    """A line of JSON for each row."""

    media_type = "application/x-ndjson"
    format = "ndjson"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n" for row in data)


class LineOutput(serializers.Serializer[Any]):
    """The result of one line."""

    line = serializers.IntegerField(help_text="Number of the line, from 1; empty lines count, and have no result.")
    status = serializers.IntegerField(
        help_text="The status that the line would have got in a request of its own: 201, 200, 409, 422 ..."
    )
    id = serializers.IntegerField(
        allow_null=True, help_text="Number of the row that was stored or already existed; null: an error."
    )
    error = ErrorOutput.Body(allow_null=True, help_text="What was wrong with the line, or null.")

    class Meta:
        ref_name = "LineResult"


class BulkView(StudyView):
    """What the operations that take lines share."""

    Output = LineOutput
    scope = Scope.CODE
    permission = Permission.CODE
    parser_classes = (LinesParser,)
    renderer_classes = (LinesRenderer,)
    success: ClassVar[Mapping[int, str]] = {200: "The result of each line, as one line of JSON each."}
    model: ClassVar[type[Coding | Decision]]

    def post(self, request: Request, slug: str) -> Response:
        self.refuse_chunks()
        lines = [(number, line) for number, line in enumerate(request.data, 1) if line.strip()]
        if not lines:
            raise ParseError("The body has no lines. Send at least one, with the fields as JSON.")
        # Made once: that takes longer than to read a line.
        reader = self.find_operation(request.method).Input()
        self.prepare()
        results: list[dict[str, object]] = []
        for first in range(0, len(lines), LINES_AT_A_TIME):
            results += self._store_lines(lines[first : first + LINES_AT_A_TIME], reader)
        return Response(results)

    def prepare(self) -> None:
        """Load what every line needs."""

    def store(self, given: dict[str, Any], sentence: Sentence) -> Coding | Decision:
        """Store what a line asks for. Raises ``Refused`` or ``ValidationError``."""
        raise NotImplementedError

    def _store_lines(self, lines: Sequence[tuple[int, bytes]], reader: Body) -> list[dict[str, object]]:
        """Store some lines in one transaction, each in its own savepoint. Returns the result of each."""
        results: dict[int, dict[str, object]] = {}
        given: dict[int, dict[str, Any]] = {}
        for number, line in lines:
            try:
                given[number] = _read_line(number, line, reader)
            except APIException as error:
                results[number] = _describe_refusal(number, error)
        began = time.perf_counter()
        with transaction.atomic(), trail.gather(trail.study_stream(self.study.pk)) as events:
            sentences = find_sentences(self.study, (values["sentence"] for values in given.values()))
            keys = [values["idempotency_key"] for values in given.values()]
            stored = self.model.objects.filter(coder=self.person, idempotency_key__in=keys)
            known = set(stored.values_list("idempotency_key", flat=True))
            # Before any sentence is locked, and in one order: boundary edits and other requests lock turns first, too.
            hold_these_turns({sentence.turn_id for sentence in sentences.values()})
            for number, values in given.items():
                key, recorded = values["idempotency_key"], len(events)
                try:
                    row = self.store(values, take_sentence(sentences, values["sentence"]))
                except (APIException, Refused) as error:
                    del events[recorded:]
                    results[number] = _describe_refusal(number, error)
                    continue
                is_new = row.idempotency_key == key and key not in known
                known.add(key)
                results[number] = {"line": number, "status": 201 if is_new else 200, "id": row.pk, "error": None}
        rest((time.perf_counter() - began) * SHARE_OF_OTHERS)
        return [results[number] for number, _ in lines]


class AddCodings(BulkView):
    """Apply many codes: one line for each, with the fields of a coding.

    Each line is a separate act with its own event in the audit trail. A refused line does not stop the others. If the connection
    breaks, send all of them again with the same idempotency keys: nothing is stored twice.
    """

    Input = AddCoding.Input
    model = Coding

    def prepare(self) -> None:
        self.codes = {code.identifier: code for code in find_codes(self.study)}

    def store(self, given: dict[str, Any], sentence: Sentence) -> Coding:
        return add_coding(
            study=self.study,
            sentence=sentence,
            code=take_code(self.codes, given["code"]),
            by=self.person,
            idempotency_key=given["idempotency_key"],
            values=read_values(given),
            range_id=given["range"],
            reason=given["reason"],
        )


class DecideSentences(BulkView):
    """Decide on many sentences: one line for each, with the fields of a decision. It works like codings in bulk."""

    Input = DecideSentence.Input
    model = Decision

    def store(self, given: dict[str, Any], sentence: Sentence) -> Decision:
        key = given["idempotency_key"]
        return decide_sentence(study=self.study, sentence=sentence, by=self.person, idempotency_key=key)


def _read_line(number: int, line: bytes, reader: Body) -> dict[str, Any]:
    """The fields of a line. Raises ``ParseError`` or ``ValidationError``."""
    return cast("dict[str, Any]", reader.run_validation(read_json(line, f"Line {number}")))


def _describe_refusal(number: int, error: Exception) -> dict[str, object]:
    refusal = explain(error)
    assert refusal is not None  # noqa: S101 - only errors that have an explanation are caught
    return {"line": number, "status": refusal.status, "id": None, **write_error(refusal)}


class ImportInterviews(StudyView):
    """Import one file, or an archive of several: all of it, or nothing. What the study already has is skipped."""

    tag = "imports"

    class Input(FileBody):
        """A file, and your decisions about it. Larger files are imported on a page or by a command."""

        format = Choice(
            ["auto", *FORMATS], default="auto", help_text="auto recognises the format from the content of the file."
        )
        dry_run = TrueOrFalse(default=False, help_text="true: only report what would be imported; store nothing.")
        leave_out = serializers.ListField(child=Words(), default=list, help_text="Ids of conversations to leave out.")
        speakers = serializers.ListField(
            child=Words(),
            default=list,
            help_text="Names that were read as text although they are speakers; see read_as_text in the preview.",
        )
        roles = serializers.DictField(
            child=Words(),
            default=dict,
            help_text="The role of each speaker, by name; text for a name that is not a speaker.",
        )
        titles = serializers.DictField(child=Words(), default=dict, help_text="New titles of conversations, by id.")
        model = Words(
            default="", allow_blank=True, max_length=MAX_FILE_NAME, help_text="The model, if the file names none."
        )
        consent = serializers.ListField(
            child=Choice(CONSENT_SCOPES),
            default=list,
            help_text="Consents to record if the file does not mention consent.",
        )
        basis = Words(default="", allow_blank=True, help_text="The basis of that consent; required with it.")

        mask = TrueOrFalse(
            default=False,
            help_text="true: each new interview is imported masked, under a random label; everything that reveals its condition "
            "is sealed.",
        )

        class Meta:
            ref_name = "NewFile"

    class Output(serializers.Serializer[Any]):
        """What was imported, or would be."""

        class File(RecordOutput):
            """The content of one file."""

            preview = serializers.JSONField(help_text="Why the format was chosen, and the conversations: an object.")

            class Meta:
                ref_name = "ReadFile"
                record = ImportReport
                fields = (
                    "name format sha256 interviews turns sentences already_there grown grown_turns skipped warnings "
                    "interview_ids preview"
                )

        dry_run = serializers.BooleanField(help_text="Whether nothing was stored.")
        files = File(many=True, help_text="One entry for each file.")

        class Meta:
            ref_name = "Import"

    scope = Scope.MANAGE
    permission = Permission.IMPORT
    parser_classes = (FileParser,)
    success = {200: "What was imported, or would be."}

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        files = [(given["name"], given["data"])]
        try:
            choices = read_choices({**given, "consent": dict.fromkeys(given["consent"], True)})
            if given["dry_run"]:
                reports = plan_imports(study=self.study, files=files, choices=choices)
            else:
                reports = import_files(study=self.study, files=files, by=self.person, choices=choices)
        except (Refused, ValueError) as error:
            raise serializers.ValidationError({"content": [" ".join(str(error).split())]}) from error
        return self.answer({"dry_run": given["dry_run"], "files": reports})


Interviews = at_one_address(get=ListInterviews, post=ImportInterviews)
