"""Pages of pairs: the list with its form, and the two threads of one side by side."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Max
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.blinding.viewers import get_viewer
from transcripts.desk.rendering import render_beside
from transcripts.history.models import WrittenMeanwhile
from transcripts.negotiation.actions import pairs as actions
from transcripts.negotiation.forms.cases import PairForm
from transcripts.negotiation.models import Pair
from transcripts.negotiation.pure.ordering import natural_key
from transcripts.negotiation.queries.cases import PairView, find_pair, list_pairs
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.roles import Permission
from transcripts.ui.acts import at_form, at_top
from transcripts.ui.forms import post_again


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.VIEW)
def show_pairs(request: ProjectRequest) -> HttpResponse:
    """Every pair with how far one is in its threads, and for leads the form of another."""
    may_write = Permission.SET_METHOD in request.role.permissions
    threads = request.project.interviews.all()
    posted = request.POST if request.method == "POST" else None
    if posted is not None and not may_write:
        raise PermissionDenied(f"Your role in this study is {request.role.name}. {request.role.sentence}")
    form = PairForm(posted, threads=threads, initial={"seen": _find_newest(request)}) if may_write else None
    if form is not None and form.is_valid():
        given = dict(form.cleaned_data)
        known = Pair.objects.filter(project=request.project, name=given["name"], pk__lte=given.pop("seen"))
        based_on = known.aggregate(last=Max("number"))["last"] or 0
        with at_form(form):
            try:
                pair = actions.pair_threads(project=request.project, by=request.user, based_on=based_on, **given)
            except WrittenMeanwhile as error:
                form.data = post_again(request.POST, seen=_find_newest(request))
                form.add_error(None, str(error))
                return _render_list(request, form, status=409)
            messages.success(request, f"The pair “{pair.name}” is saved.")
            return redirect("negotiation:pairs", request.project.slug)
    return _render_list(request, form, status=422 if form and form.errors else 200)


@require_safe
@project_view(Permission.VIEW)
def show_pair(request: ProjectRequest, pair_name: str) -> HttpResponse:
    """The two threads side by side, once one has decided both; before that, what is left to decide."""
    view = _find(request, pair_name)
    if not view.is_open:
        return render(request, "negotiation/pair_shut.html", {"view": view, "pair": view.pair})
    pair = view.pair
    return render_beside(request, pair.a_id, pair.b_id, template="negotiation/pair.html", pair=pair, view=view)


@require_POST
@project_view(Permission.SET_METHOD)
def withdraw_pair(request: ProjectRequest, pair_name: str) -> HttpResponse:
    """Withdraw a pair."""
    view = _find(request, pair_name)
    with at_top(request):
        actions.withdraw_pair(pair=view.pair, by=request.user)
        messages.success(request, f"The pair “{pair_name}” is withdrawn. Its rows are kept.")
    return redirect("negotiation:pairs", request.project.slug)


def _find_newest(request: ProjectRequest) -> int:
    return Pair.objects.filter(project=request.project).aggregate(last=Max("pk"))["last"] or 0


def _find(request: ProjectRequest, name: str) -> PairView:
    view = find_pair(get_viewer(request), name) if "\x00" not in name else None
    if view is None:
        raise Http404("There is no pair of this name in this study.")
    return view


def _render_list(request: ProjectRequest, form: PairForm | None, *, status: int = 200) -> HttpResponse:
    viewer = get_viewer(request)
    pairs = sorted(list_pairs(viewer), key=lambda view: natural_key(view.pair.name))
    context = {"pairs": pairs, "form": form, "may_code": viewer.codes}
    return render(request, "negotiation/pairs.html", context, status=status)
