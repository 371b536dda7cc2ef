"""Studies that the person may see, with her role."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.pagination import PageParameters, Pages
from auditapp.api.views import ApiView, ProjectView
from transcripts.projects.queries import studies_of
from transcripts.projects.roles import ROLE_CHOICES, Permission


class StudyOutput(serializers.Serializer[Any]):
    """A study, with what the person may do in it."""

    slug = serializers.SlugField(source="project.slug", help_text="Its short name in addresses.")
    name = serializers.CharField(source="project.name", help_text="Its name.")
    description = serializers.CharField(source="project.description", help_text="What it is about; may be empty.")
    created_at = serializers.DateTimeField(source="project.created_at", help_text="When it was created.")
    role = serializers.ChoiceField(ROLE_CHOICES, source="role.key", help_text="Your role in it.")
    permissions = serializers.SerializerMethodField(help_text="What that role lets you do.")

    class Meta:
        ref_name = "Project"

    def get_permissions(self, study: dict[str, Any]) -> list[Permission]:
        return sorted(study["role"].permissions)


class ListProjects(ApiView):
    """The studies you may see, with your role in each, by name."""

    Query = PageParameters
    Output = StudyOutput
    pagination_class = Pages

    def get(self, request: Request) -> Response:
        return self.answer_page([{"project": project, "role": role} for project, role in studies_of(self.person)])


class ReadProject(ProjectView):
    """One study, with your role in it."""

    Output = StudyOutput

    def get(self, request: Request, slug: str) -> Response:
        return self.answer({"project": self.project, "role": self.role})
