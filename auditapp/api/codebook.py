"""The codebook people code with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import Q
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.fields import Choice, FileBody, FileParser, RowOutput, TrueOrFalse
from auditapp.api.views import PageParameters, Pages, StudyView, at_one_address
from transcripts.accounts.models import Scope
from transcripts.codebook.actions import import_codebook, plan_import, publish_version
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeExample, CodeFamily
from transcripts.codebook.queries import current_version, list_versions, read_examples, read_families
from transcripts.studies.roles import Permission


class QuestionOutput(serializers.Serializer[Any]):
    """A question that a coding with a code answers beside the code itself."""

    key = serializers.CharField(help_text="Its key in the answers of a coding.")
    label = serializers.CharField(help_text="The question as people read it.")  # type: ignore[assignment]
    kind = serializers.ChoiceField(["text", "choice"], help_text="Whether it is answered by text or by a choice.")
    choices = serializers.ListField(child=serializers.CharField(), help_text="The choices.")
    required = serializers.BooleanField(  # type: ignore[assignment]
        default=False, help_text="Whether a coding with the code must answer it."
    )

    class Meta:
        ref_name = "CodeQuestion"


class CodeOutput(RowOutput):
    """A code with its definitions."""

    attributes = serializers.ListField(child=QuestionOutput(), help_text="The questions that a coding with it answers.")

    class Meta:
        ref_name = "Code"
        model = Code
        fields = (
            "identifier name group aliases definition machine_definition include exclude key source parent color "
            "terms attributes keyword_rules is_category meaning_version"
        )
        paths: ClassVar = {"parent": "parent.identifier"}
        lists = "aliases terms keyword_rules"


class ExampleOutput(RowOutput):
    """A sentence pinned to a code, or an invented example."""

    text = serializers.CharField(help_text="Its text.")

    class Meta:
        ref_name = "CodeExample"
        model = CodeExample
        fields = "code kind sentence text note"
        paths: ClassVar = {
            "code": "code.identifier",
            "sentence": ("sentence", "Number of the sentence; null for an invented example."),
        }


class FamilyOutput(RowOutput):
    """Codes that answer one question."""

    codes = serializers.ListField(child=CodeOutput(), source="codes.all", help_text="Its codes, in order.")

    class Meta:
        ref_name = "CodeFamily"
        model = CodeFamily
        fields = (
            "identifier name description unit carries_level carries_enactment once_per_answer applies_to rules color "
            "codes"
        )


class ReadCodebook(StudyView):
    """The version of the codebook that people code with now, which is the latest published one."""

    class Output(RowOutput):
        """A published version of the codebook."""

        published_at = serializers.DateTimeField(help_text="When it was published.")
        families = serializers.ListField(child=FamilyOutput(), help_text="Its families, in order.")
        examples = serializers.ListField(child=ExampleOutput(), help_text="The examples of its codes.")

        class Meta:
            ref_name = "Codebook"
            model = CodebookVersion
            fields = "number title origin"

    def get(self, request: Request, slug: str) -> Response:
        version = current_version(self.study)
        if version is None:
            raise Http404("This study has no published codebook yet. Publish one on its codebook page.")
        families = read_families(version)
        codes = {code.pk: code for family in families for code in family.codes.all()}
        coder = self.person if Permission.CODE in self.role.permissions else None
        pinned = read_examples(Q(code__version=version), coder=coder)
        examples = [row for code_id in codes for row in pinned.get(code_id, [])]
        for row in examples:
            row.code = codes[row.code_id]
        return self.answer({**vars(version), "families": families, "examples": examples})


class VersionOutput(RowOutput):
    """A short description of a version of the codebook."""

    class Meta:
        ref_name = "CodebookVersion"
        model = CodebookVersion
        fields = "number title status origin created_at published_at"


class ListVersions(StudyView):
    """The versions of the codebook, newest first."""

    Output = VersionOutput
    Query = PageParameters
    pagination_class = Pages

    def get(self, request: Request, slug: str) -> Response:
        return self.answer_page(list_versions(self.study))


class ImportCodebook(StudyView):
    """Make a draft of the codebook from a file: CSV, JSON or a REFI-QDA codebook. People can code with it once you publish it.

    Properties of a family or code that the file does not mention stay as they are in the latest version.
    """

    class Input(FileBody):
        """A codebook as a file, and how its new wordings change the meaning of codes."""

        dry_run = TrueOrFalse(default=False, help_text="true: only report what would change; store nothing.")
        keep_missing = TrueOrFalse(
            default=False, help_text="true: codes that are not in the file are kept; false: they are retired."
        )
        effects = serializers.DictField(
            child=Choice(CodeChange.Effect.values),
            default=dict,
            help_text="How a new wording changes the meaning, by the id of the code: wording (not at all), narrowing or "
            "widening. Codings of reworded codes that are not listed here need re-review.",
        )

        class Meta:
            ref_name = "NewCodebook"

    class Output(serializers.Serializer[Any]):
        """What the file changes, compared with the latest version."""

        dry_run = serializers.BooleanField(help_text="Whether nothing was stored.")
        format = serializers.CharField(help_text="The format as which it was read: csv, json or qdc.")
        version = VersionOutput(
            allow_null=True, help_text="The draft, or the latest version if nothing differs; null for a dry run."
        )
        is_new = serializers.BooleanField(help_text="Whether a draft was made.")
        added = serializers.ListField(child=serializers.CharField(), help_text="Ids of codes that are new.")
        retired = serializers.ListField(child=serializers.CharField(), help_text="Ids of codes that are removed.")
        changed = serializers.ListField(child=serializers.CharField(), help_text="Ids of codes that differ.")
        reworded = serializers.ListField(
            child=serializers.CharField(),
            help_text="Ids of codes whose wording for people differs; give the effect of each.",
        )
        unchanged = serializers.IntegerField(help_text="Number of codes that stay as they are.")
        warnings = serializers.ListField(child=serializers.CharField(), help_text="What was ignored in the file.")

        class Meta:
            ref_name = "CodebookImport"

    scope = Scope.MANAGE
    permission = Permission.EDIT_CODEBOOK
    parser_classes = (FileParser,)
    success: ClassVar[Mapping[int, str]] = {200: "What changed, or would change."}

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        file = {"study": self.study, "data": given["data"], "name": given["name"]}
        # Both look at the same latest version.
        with transaction.atomic():
            plan = plan_import(**file, keep_missing=given["keep_missing"])
            reworded = [code.identifier for code in plan.changes_meaning]
            if unknown := sorted(given["effects"].keys() - reworded):
                sentence = (
                    f"The file does not change the wording for people of {unknown[0]}. Reworded: "
                    f"{', '.join(reworded) or 'none'}."
                )
                raise serializers.ValidationError({"effects": [sentence]})
            version, is_new, warnings = None, False, plan.warnings
            if not given["dry_run"]:
                version, is_new, warnings = import_codebook(
                    **file, by=self.person, effects=given["effects"], keep_missing=given["keep_missing"]
                )
        codes = plan.comparison.codes
        return self.answer(
            {
                "dry_run": given["dry_run"],
                "format": plan.form,
                "version": version,
                "is_new": is_new,
                "added": [code.identifier for code in codes if code.is_added],
                "retired": [code.identifier for code in codes if code.is_removed],
                "changed": [code.identifier for code in codes if not (code.is_added or code.is_removed)],
                "reworded": reworded,
                "unchanged": plan.comparison.unchanged,
                "warnings": warnings,
            }
        )


class PublishCodebook(StudyView):
    """Publish a draft. People code with it from now on, and it never changes again."""

    Output = VersionOutput
    scope = Scope.MANAGE
    permission = Permission.EDIT_CODEBOOK
    success: ClassVar[Mapping[int, str]] = {200: "The version, whether it was published now or before."}
    refusals = (409,)

    def post(self, request: Request, slug: str, number: int) -> Response:
        self.read_body()
        version = self.study.codebook_versions.filter(number=number).first()
        if version is None:
            raise Http404(f"This study has no version {number} of the codebook.")
        publish_version(version=version, by=self.person)
        return self.answer(version)


Codebook = at_one_address(get=ReadCodebook, post=ImportCodebook)
