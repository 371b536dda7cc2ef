"""Files of interviews, brought in by a program."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.inputs import MAX_FILE_NAME, Choice, FileBody, FileParser, TrueOrFalse, Words
from auditapp.api.interviews import ListInterviews
from auditapp.api.outputs import RecordOutput
from auditapp.api.views import ProjectView, at_one_address
from transcripts.accounts.models import Scope
from transcripts.corpus.actions import import_files, plan_imports
from transcripts.corpus.planning import ImportReport
from transcripts.corpus.pure.choices import read_choices
from transcripts.corpus.pure.readers import FORMATS
from transcripts.corpus.pure.readers.base import CONSENT_SCOPES
from transcripts.projects.roles import Permission
from transcripts.refusals import Refused


class ImportInterviews(ProjectView):
    """Bring in one file, or an archive of several: whole, or nothing of it. What the study has already is skipped."""

    class Input(FileBody):
        """A file, and what you decide about it. Larger files come in by page or command."""

        format = Choice(
            ["auto", *FORMATS], default="auto", help_text="auto recognises the format by what is in the file."
        )
        dry_run = TrueOrFalse(default=False, help_text="true: only say what would come in; store nothing.")
        leave_out = serializers.ListField(child=Words(), default=list, help_text="Ids of conversations to leave out.")
        speakers = serializers.ListField(
            child=Words(),
            default=list,
            help_text="Names that were read as text, although somebody is called so; see read_as_text in the preview.",
        )
        roles = serializers.DictField(
            child=Words(),
            default=dict,
            help_text="The role of each speaker, by name; text for a name that does not speak.",
        )
        titles = serializers.DictField(child=Words(), default=dict, help_text="Other titles of conversations, by id.")
        model = Words(
            default="", allow_blank=True, max_length=MAX_FILE_NAME, help_text="The model, where the file names none."
        )
        consent = serializers.ListField(
            child=Choice(CONSENT_SCOPES),
            default=list,
            help_text="What there is consent for, where the file says nothing.",
        )
        basis = Words(default="", allow_blank=True, help_text="What that consent rests on; required with it.")

        mask = TrueOrFalse(
            default=False,
            help_text="true: each new interview comes in masked, under a random label; what tells its condition is sealed.",
        )

        class Meta:
            ref_name = "NewFile"

    class Output(serializers.Serializer[Any]):
        """What came in, or would."""

        class File(RecordOutput):
            """What was found in one file."""

            preview = serializers.JSONField(help_text="Why it was read so, and its conversations: an object.")

            class Meta:
                ref_name = "ReadFile"
                record = ImportReport
                fields = (
                    "name format sha256 interviews turns sentences already_there grown grown_turns skipped warnings "
                    "interview_ids preview"
                )

        dry_run = serializers.BooleanField(help_text="Whether nothing was stored.")
        files = File(many=True, help_text="One for each file.")

        class Meta:
            ref_name = "Import"

    scope = Scope.MANAGE
    permission = Permission.IMPORT
    parser_classes = (FileParser,)
    success = {200: "What came in, or would."}

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        files = [(given["name"], given["data"])]
        try:
            choices = read_choices({**given, "consent": dict.fromkeys(given["consent"], True)})
            if given["dry_run"]:
                reports = plan_imports(project=self.project, files=files, choices=choices)
            else:
                reports = import_files(project=self.project, files=files, by=self.person, choices=choices)
        except (Refused, ValueError) as error:
            raise serializers.ValidationError({"content": [" ".join(str(error).split())]}) from error
        return self.answer({"dry_run": given["dry_run"], "files": reports})


Interviews = at_one_address(get=ListInterviews, post=ImportInterviews)
