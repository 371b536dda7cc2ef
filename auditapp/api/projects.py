"""Studies that the person may see, with her role."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.outputs import RowOutput
from auditapp.api.pagination import PageParameters, Pages
from auditapp.api.views import ApiView, ProjectView
from transcripts.projects.models import Membership
from transcripts.projects.queries import studies_of
from transcripts.projects.roles import ROLE_CHOICES, Permission


class StudyOutput(RowOutput):
    """A study, with what the person may do in it."""

    role = serializers.ChoiceField(ROLE_CHOICES, source="role.key", help_text="Your role in it.")
    permissions = serializers.SerializerMethodField(help_text="What that role lets you do.")

    class Meta:
        ref_name = "Project"
        model = Membership
        fields = "slug name description created_at"
        paths: ClassVar = {
            "slug": "project.slug",
            "name": "project.name",
            "description": "project.description",
            "created_at": ("project.created_at", "When it was created."),
        }

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
