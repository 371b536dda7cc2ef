"""A coder's own figures with the interviews she has finished: opened by a word of hers, which settles her labels there."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from auditapp.preannotation.evaluation.forms.finished import FinishedForm
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission
from transcripts.rounds.finishing import show_finished


@require_POST
@project_view(Permission.CODE)
def open_finished(request: ProjectRequest) -> HttpResponse:
    """Count what she has finished in her own figures; after that she cannot take it back."""
    form = FinishedForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
    elif number := show_finished(project=request.project, by=request.user):
        messages.success(request, f"Your figures count {number} more interview{'' if number == 1 else 's'} now.")
    query = f"?annotator={form.cleaned_data['annotator']}" if form.cleaned_data.get("annotator") else ""
    return redirect(reverse("preannotation:influence", args=[request.project.slug]) + query)
