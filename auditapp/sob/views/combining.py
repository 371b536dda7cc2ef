"""Put several sets of texts together, looked at before it is done."""

from __future__ import annotations

from collections import Counter

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from auditapp.sob import actions
from auditapp.sob.dataset_queries import tabulate_texts
from auditapp.sob.forms.datasets import CombineForm
from auditapp.sob.models import Dataset
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.IMPORT)
def combine_datasets(request: ProjectRequest) -> HttpResponse:
    """One set of several; ``?sets=`` ticks some of them, and the page says what would be kept and left out."""
    if request.method != "POST":
        ticked = _find_ticked(request)
        return _show(request, CombineForm(initial={"sets": ticked}, project=request.project), ticked)
    form = CombineForm(request.POST, project=request.project)
    is_look = request.POST.get("step") == "check"
    form.fields["name"].required = not is_look
    if not form.is_valid():
        return _show(request, form, list(form.cleaned_data.get("sets", ())), status=422)
    chosen = list(form.cleaned_data["sets"])
    if is_look:
        return _show(request, form, chosen)
    try:
        made = actions.combine_datasets(datasets=chosen, name=form.cleaned_data["name"], by=request.user)
    except actions.SobError as error:
        form.add_error(None, ValidationError(str(error)))
        return _show(request, form, chosen, status=422)
    messages.success(
        request,
        f"{made.name} holds {made.sampling['kept']:,} texts of {made.sampling['read']:,} in {len(chosen)} sets.",
    )
    return redirect("sob:dataset", request.project.slug, made.pk)


def _find_ticked(request: ProjectRequest) -> list[Dataset]:
    keys = [int(key) for key in request.GET.getlist("sets") if key.isdecimal() and len(key) < 19]
    return list(Dataset.objects.filter(project=request.project, pk__in=keys))


def _show(request: ProjectRequest, form: CombineForm, chosen: list[Dataset], status: int = 200) -> HttpResponse:
    planned, refusal = None, ""
    if chosen:
        try:
            planned = actions.plan_combination(chosen)
        except actions.SobError as error:
            refusal = str(error)
    context: dict[str, object] = {"form": form, "planned": planned, "refusal": "" if form.errors else refusal}
    if planned is not None:
        context["sampling"] = planned.statement.write()
        context["counts"] = tabulate_texts(Counter((row.target, row.source) for row in planned.rows))
    return render(request, "sob/combine.html", context, status=status)
