"""The codebook people code with."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.views import ProjectView
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version, read_families


class CodeOutput(serializers.Serializer[Any]):
    """A code with its definitions."""

    identifier = serializers.CharField(help_text="Its id, the same in every version.")
    name = serializers.CharField(help_text="Its name.")
    group = serializers.CharField(help_text="The part of its family it is listed under; may be empty.")
    aliases = serializers.ListField(child=serializers.CharField(), help_text="Other names it goes by.")
    definition = serializers.CharField(help_text="What it means, for people.")
    machine_definition = serializers.CharField(help_text="What it means, as machines are told.")
    include = serializers.CharField(help_text="What counts as it.")
    exclude = serializers.CharField(help_text="What does not.")
    key = serializers.CharField(help_text="The key that puts it at the desk; may be empty.")
    source = serializers.CharField(help_text="Where it comes from.")  # type: ignore[assignment]

    class Meta:
        ref_name = "Code"


class FamilyOutput(serializers.Serializer[Any]):
    """Codes that answer one question."""

    identifier = serializers.CharField(help_text="Its id, the same in every version.")
    name = serializers.CharField(help_text="Its name.")
    description = serializers.CharField(help_text="What its codes are for.")
    unit = serializers.ChoiceField(CodeFamily.Unit.choices, help_text="What its codes are put on.")
    carries_level = serializers.BooleanField(help_text="Whether its codes may be latent.")
    carries_enactment = serializers.BooleanField(help_text="Whether its codes may be enacted or described.")
    codes = serializers.ListField(child=CodeOutput(), source="codes.all", help_text="Its codes, in order.")

    class Meta:
        ref_name = "CodeFamily"


class ReadCodebook(ProjectView):
    """The version of the codebook that people code with now: the latest that was published."""

    class Output(serializers.Serializer[Any]):
        """A published version of the codebook."""

        number = serializers.IntegerField(source="version.number", help_text="Its number.")
        title = serializers.CharField(source="version.title", help_text="Its title.")
        origin = serializers.CharField(source="version.origin", help_text="Where it came from; may be empty.")
        published_at = serializers.DateTimeField(source="version.published_at", help_text="When it was published.")
        families = serializers.ListField(child=FamilyOutput(), help_text="Its families, in order.")

        class Meta:
            ref_name = "Codebook"

    def get(self, request: Request, slug: str) -> Response:
        version = current_version(self.project)
        if version is None:
            raise Http404("This study has no published codebook yet. Publish one on its codebook page.")
        return self.answer({"version": version, "families": read_families(version)})
