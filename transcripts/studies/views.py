"""The studies one may see, and who belongs to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.accounts.actions import check_may_invite
from transcripts.accounts.models import User
from transcripts.accounts.queries import find_link_origins, list_site_owners, person_of, sign_in_address
from transcripts.studies import actions, queries
from transcripts.studies.access import ProjectRequest, project_view
from transcripts.studies.actions import list_leaving
from transcripts.studies.models import MethodStance
from transcripts.studies.overview import list_waiting, read_cards, read_first_steps, read_notes
from transcripts.studies.roles import ROLE_CHOICES, ROLES, Permission
from transcripts.ui.acts import at_form, at_top
from transcripts.ui.forms import RowForm

EVENTS_PER_PAGE = 100


class MemberForm(forms.Form):
    """Somebody to invite: with ``is_new`` an account is made for her."""

    username = forms.CharField(label="User name", max_length=150, widget=forms.TextInput({"autocomplete": "off"}))
    is_new = forms.BooleanField(
        label="This person has no account here yet: create one",
        help_text="You will get a link to give to this person. It works once, within seven days.",
        required=False,
    )
    role = forms.ChoiceField(
        label="Role",
        choices=[(role.key, f"{role.name}. {role.sentence}") for role in ROLES.values()],
        initial="coder",
        widget=forms.RadioSelect,
    )


class RoleForm(forms.Form):
    """Another role for a member."""

    role = forms.ChoiceField(label="Role", choices=ROLE_CHOICES)


class StanceForm(RowForm):
    """Another stance for the study or for one family of codes; the families come from its codebook."""

    family = forms.ChoiceField(label="For", required=False)
    stance = forms.ChoiceField(label="Method", choices=MethodStance.Stance.choices, widget=forms.RadioSelect)
    field_order = ("family", "stance")

    class Meta(RowForm.Meta):
        model = MethodStance
        fields = ("reason",)

    def __init__(self, *args: Any, families: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", "The study as a whole"), *((identifier, name) for identifier, name in families)]
        cast("forms.ChoiceField", self.fields["family"]).choices = choices


@require_safe
def list_studies(request: HttpRequest) -> HttpResponse:
    """The studies one may see, a line each with what is left or running."""
    person = person_of(request)
    studies = queries.studies_of(person)
    notes = read_notes([study for study, _ in studies], person)
    lines = [(study, role, notes[study.pk]) for study, role in studies]
    may_start = person.is_superuser or person.may_start_studies
    page = {
        "lines": lines,
        "invitations": queries.invitations_for(person),
        "may_start": may_start,
        "site_owners": [] if may_start else list_site_owners(),
    }
    return render(request, "studies/list.html", page)


@require_safe
def land(request: HttpRequest) -> HttpResponse:
    """Where one comes after signing in: to the overview of one's only study, or to the list of studies."""
    person = person_of(request)
    studies = queries.studies_of(person)
    if len(studies) == 1 and not person.is_superuser and not queries.invitations_for(person):
        return redirect(studies[0][0])
    return redirect("studies:list")


@require_safe
@project_view(Permission.VIEW)
def home(request: ProjectRequest) -> HttpResponse:
    """The overview of a study: what is left, how far everybody is, what runs, and what the newest figures are."""
    members = queries.members_of(request.project)
    runs_it = Permission.SET_METHOD in request.role.permissions
    page = {
        "members": members,
        "first_steps": read_first_steps(request.project, members) if runs_it else None,
        "waiting": list_waiting(request),
        "cards": read_cards(request),
        "has_to_wait": not runs_it and not request.project.interviews.exists(),
    }
    return render(request, "studies/home.html", page)


@require_POST
@project_view(Permission.SET_METHOD)
def skip_step(request: ProjectRequest) -> HttpResponse:
    """Leave out a step of beginning the study, or bring it back."""
    step, restores = request.POST.get("step", ""), "restore" in request.POST
    with at_top(request):
        actions.skip_step(project=request.project, step=step, by=request.user, restores=restores)
    return redirect(request.project)


@require_safe
@project_view(Permission.VIEW)
def list_members(request: ProjectRequest) -> HttpResponse:
    """Who belongs to the study; owners change it here."""
    return _render_members(request, MemberForm())


@require_POST
@project_view(Permission.MANAGE_MEMBERS)
def add_member(request: ProjectRequest) -> HttpResponse:
    """Invite a user, or make an account for somebody new and show her sign-in link, this once."""
    check_may_invite(request.user)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _render_members(request, form)
    typed = form.cleaned_data
    asked = {"project": request.project, "username": typed["username"], "role": typed["role"], "by": request.user}
    with at_form(form, "username"):
        if typed["is_new"]:
            return _render_members(request, MemberForm(), actions.invite_person(**asked))
        invitation = actions.invite_user(**asked)
        messages.success(
            request,
            f"If there is an account named {invitation.username}, the invitation is now in its list of studies. Accepting it makes "
            "that person a member.",
        )
        return redirect("studies:members", request.project.slug)
    return _render_members(request, form)


@require_POST
@project_view(Permission.MANAGE_MEMBERS)
def withdraw_invitation(request: ProjectRequest, invitation_id: int) -> HttpResponse:
    """Take back an invitation that was not answered yet."""
    invitation = get_object_or_404(request.project.invitations.select_related("project"), pk=invitation_id)
    actions.withdraw_invitation(invitation=invitation, by=request.user)
    messages.success(request, f"The invitation of {invitation.username} was withdrawn.")
    return redirect("studies:members", request.project.slug)


@require_POST
def answer_invitation(request: HttpRequest, invitation_id: int) -> HttpResponse:
    """Accept or decline an invitation of one's own; anybody else's is not there."""
    person = person_of(request)
    mine = person.invitations.select_related("project").filter(pk=invitation_id)
    invitation = get_object_or_404(mine)
    accepts = request.POST.get("answer") == "accept"
    with at_top(request):
        actions.answer_invitation(invitation=invitation, accepts=accepts, by=person)
        if accepts:
            messages.success(request, f"You are a member of {invitation.project.name} now.")
            return redirect(invitation.project)
        messages.success(request, f"You declined the invitation to {invitation.project.name}.")
        return redirect("studies:list")
    return redirect("studies:list")


@require_POST
@project_view(Permission.MANAGE_MEMBERS)
def change_role(request: ProjectRequest, user_id: int) -> HttpResponse:
    """Give a member another role."""
    member = _find_member(request, user_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"The role of {member.username} was not changed. Choose a role from the list.")
        return _render_members(request, MemberForm(), status=422)
    with at_top(request):
        actions.set_member_role(project=request.project, user=member, **form.cleaned_data, by=request.user)
        messages.success(request, f"{member.username} is {ROLES[form.cleaned_data['role']].name.lower()} now.")
        return redirect("studies:members", request.project.slug)
    return _render_members(request, MemberForm(), status=422)


@require_http_methods(["GET", "HEAD", "POST"])
@project_view(Permission.MANAGE_MEMBERS)
def remove_member(request: ProjectRequest, user_id: int) -> HttpResponse:
    """Take a member out of the study, after asking once."""
    member = _find_member(request, user_id)
    if request.method != "POST":
        notes = list_leaving(request.project, member)
        return render(request, "studies/remove_member.html", {"member": member, "notes": notes})
    with at_top(request):
        actions.remove_member(project=request.project, user=member, by=request.user)
        messages.success(
            request, f"{member.username} is no longer a member of {request.project.name}. All work is kept."
        )
        if member == request.user and not member.is_superuser:
            return redirect("studies:list")
        return redirect("studies:members", request.project.slug)
    return _render_members(request, MemberForm(), status=422)


@require_POST
@project_view(Permission.MANAGE_MEMBERS)
def renew_link(request: ProjectRequest, user_id: int) -> HttpResponse:
    """Make a new sign-in link for an invited person who has not come in yet, and show it, this once."""
    member = _find_member(request, user_id)
    with at_top(request):
        secret = actions.renew_invitation(project=request.project, user=member, by=request.user)
        return _render_members(request, MemberForm(), (member, secret))
    return _render_members(request, MemberForm(), status=422)


@require_POST
@project_view(Permission.MANAGE_MEMBERS)
def revoke_link(request: ProjectRequest, user_id: int) -> HttpResponse:
    """End the unused sign-in link of an invited person."""
    member = _find_member(request, user_id)
    with at_top(request):
        was_open = actions.revoke_invitation(project=request.project, user=member, by=request.user)
        ended = f"The link of {member.username} does not work any more."
        messages.success(request, ended if was_open else f"{member.username} had no link that still worked.")
        return redirect("studies:members", request.project.slug)
    return _render_members(request, MemberForm(), status=422)


@require_safe
@project_view(Permission.SEE_ALL_CODINGS)
def history(request: ProjectRequest) -> HttpResponse:
    """Everything that was done in the study, newest first. Not for coders: it shows who coded what."""
    events = Paginator(queries.events_of(request.project), EVENTS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [(event, queries.list_details(event)) for event in events]
    return render(request, "studies/history.html", {"page": events, "rows": rows})


@require_safe
@project_view(Permission.VIEW)
def show_method(request: ProjectRequest) -> HttpResponse:
    """By which method the study and each family of codes is read; who said so, when and why."""
    families = queries.list_families(request.project)
    return _render_method(request, StanceForm(families=families), families)


@require_POST
@project_view(Permission.SET_METHOD)
def set_stance(request: ProjectRequest) -> HttpResponse:
    """Switch the method of the study or of one family."""
    families = queries.list_families(request.project)
    form = StanceForm(request.POST, families=families)
    if form.is_valid():
        with at_form(form):
            row = actions.set_stance(project=request.project, **form.cleaned_data, by=request.user)
            messages.success(request, f"From now on: {row.get_stance_display().lower()}.")
            return redirect("studies:method", request.project.slug)
    return _render_method(request, form, families)


def _render_method(request: ProjectRequest, form: StanceForm, families: list[tuple[str, str]]) -> HttpResponse:
    stances, names = queries.read_stances(request.project), dict(families)
    page = {
        "form": form,
        "stances": stances,
        "rows": [
            (family, name, MethodStance.Stance(stances.find(family)).label, stances.find_own(family))
            for family, name in [("", "The study as a whole"), *families]
        ],
        "switches": [(row, names.get(row.family, row.family)) for row in queries.list_stances(request.project)],
    }
    return render(request, "studies/method.html", page, status=422 if form.errors else 200)


def _find_member(request: ProjectRequest, user_id: int) -> User:
    return get_object_or_404(request.project.members, pk=user_id)


def _render_members(
    request: ProjectRequest, form: MemberForm, invited: tuple[User, str] | None = None, *, status: int = 200
) -> HttpResponse:
    may_manage = Permission.MANAGE_MEMBERS in request.role.permissions
    members = queries.members_of(request.project)
    awaited = [member.user for member in members if member.is_awaited] if may_manage else []
    page = {
        "form": form,
        "members": members,
        "links": find_link_origins(awaited) if awaited else {},
        "invitations": queries.open_invitations(request.project) if may_manage else [],
        "roles": ROLES.values(),
        "invited": invited[0] if invited else None,
        "sign_in_url": sign_in_address(invited[1]) if invited else "",
    }
    return render(request, "studies/members.html", page, status=422 if form.errors else status)
