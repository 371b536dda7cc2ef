"""Launch a batch, in two steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from auditapp.batches.launching import LaunchPlan
from auditapp.batches.views.wizard import run_wizard
from auditapp.sob.judging.actions.launching import launch_sob, plan_sob
from auditapp.sob.judging.forms.launching import LaunchForm
from auditapp.sob.pure.instruments import TASKS
from transcripts.projects.access import ProjectRequest, project_view
from transcripts.projects.roles import Permission


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.RUN_BATCHES)
def launch(request: ProjectRequest) -> HttpResponse:
    """Launch a batch, in two steps."""
    initial = {name: request.GET[name] for name in ("dataset", "instrument") if name in request.GET}
    form = LaunchForm(request.POST or None, project=request.project, initial=initial)

    def plan() -> LaunchPlan:
        planned = plan_sob(**_read_choice(form))
        return replace(planned, facts=_list_facts(form, len(planned.input_ids)))

    return run_wizard(
        request,
        form,
        template="sob/launch.html",
        plan=plan,
        launch=lambda: launch_sob(
            **_read_choice(form),
            options=form.options(),
            confirms_terms=form.cleaned_data.get("notice", False),
            by=request.user,
        ),
    )


def _read_choice(form: LaunchForm) -> dict[str, Any]:
    chosen = form.cleaned_data
    return {
        "dataset": chosen["dataset"],
        "variants": list(chosen["models"]),
        "tasks": chosen["tasks"],
        "instrument_variant": chosen["instrument"],
        "include_base": chosen["include_base"],
        "limit": chosen["limit"],
    }


def _list_facts(form: LaunchForm, texts: int) -> list[tuple[str, str]]:
    """What is asked about what, by name."""
    chosen = form.cleaned_data
    names = dict(TASKS)
    tasks = [names[task] for task in chosen["tasks"]] + (["the Base prompt"] if chosen["include_base"] else [])
    wordings = dict(form.fields["instrument"].choices)  # type: ignore[attr-defined]
    return [
        ("Dataset", chosen["dataset"].name),
        ("Texts", f"{texts:,} of {chosen['dataset'].n_texts:,}"),
        ("Tasks", ", ".join(tasks)),
        ("Wording", str(wordings[chosen["instrument"]])),
    ]
