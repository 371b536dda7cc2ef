"""The list of models that batches can use. Only the owner of the site changes it."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from auditapp.llm import actions
from auditapp.llm.forms import ModelForm
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import User


@require_http_methods(["GET", "HEAD", "POST"])
def list_models(request: HttpRequest) -> HttpResponse:
    """The models, and a form to add one."""
    if not isinstance(request.user, User) or not request.user.is_superuser:
        raise PermissionDenied("Models are added by the owner of the site, because calls to them may cost money.")
    form = ModelForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            variant = actions.add_model(by=request.user, **form.cleaned_data)
        except actions.ModelError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{variant.label} can be used in batches now.")
            return redirect("llm:models")
    status = 422 if request.method == "POST" else 200
    context = {"form": form, "models": ModelVariant.objects.all()}
    return render(request, "llm/models.html", context, status=status)
