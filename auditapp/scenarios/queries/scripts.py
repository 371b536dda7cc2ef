"""The scripts of a study."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from auditapp.scenarios.models import Question, Script
from transcripts.projects.models import Project
from transcripts.ui.typed_text import find_numbers


def list_scripts(project: Project, use: str) -> QuerySet[Script]:
    """Every number of every script of a use, by name, the latest number first."""
    scripts = Script.objects.filter(project=project, use=use).select_related("written_by")
    return scripts.prefetch_related("questions").order_by("name", "-number")


def latest_scripts(project: Project, use: str) -> QuerySet[Script]:
    """The latest number of each script of a use, by name."""
    later = Script.objects.filter(project=project, name=OuterRef("name"), number__gt=OuterRef("number"))
    return Script.objects.filter(~Exists(later), project=project, use=use).order_by("name")


def find_script(project: Project, label: str) -> Script | None:
    """The script of interviews that is named so: the latest number of a name, or the one that the label says, as gender/2."""
    name, _, number = label.partition("/")
    scripts = Script.objects.filter(project=project, use=Script.Use.INTERVIEW, name__iexact=name)
    if number:
        scripts = scripts.filter(number__in=find_numbers([number]))
    return scripts.order_by("-number").first()


def list_bank(script: Script) -> QuerySet[Question]:
    """The follow-up questions that a script offers, in its order."""
    return script.questions.order_by("position")
