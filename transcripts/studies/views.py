"""Pages for the list of studies, the overview, members and methods."""

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
from transcripts.studies.access import StudyRequest, study_view
from transcripts.studies.actions import list_leaving
from transcripts.studies.models import MethodChoice
from transcripts.studies.queries import list_waiting, read_cards, read_first_steps, read_notes
from transcripts.studies.roles import ROLE_CHOICES, ROLES, Permission
from transcripts.ui.forms import RowForm, at_form, at_top

EVENTS_PER_PAGE = 100


class MemberForm(forms.Form):
    """A person to invite; with ``is_new`` an account is created for her."""

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


class MethodForm(RowForm):
    """Another method for the study or for one family of codes; the families come from its codebook."""

    family = forms.ChoiceField(label="For", required=False)
    method = forms.ChoiceField(label="Method", choices=MethodChoice.Method.choices, widget=forms.RadioSelect)
    field_order = ("family", "method")

    class Meta(RowForm.Meta):
        model = MethodChoice
        fields = ("reason",)

    def __init__(self, *args: Any, families: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", "The study as a whole"), *((identifier, name) for identifier, name in families)]
        cast("forms.ChoiceField", self.fields["family"]).choices = choices


@require_safe
def list_studies(request: HttpRequest) -> HttpResponse:
    """The studies that the person may see, each with a line about what is left or running."""
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
    """The first page after sign-in: the overview of the person's only study, or the list of studies."""
    person = person_of(request)
    studies = queries.studies_of(person)
    if len(studies) == 1 and not person.is_superuser and not queries.invitations_for(person):
        return redirect(studies[0][0])
    return redirect("studies:list")


@require_safe
@study_view(Permission.VIEW)
def home(request: StudyRequest) -> HttpResponse:
    """The overview of a study: what is left, everybody's progress, what is running, and the newest figures."""
    members = queries.members_of(request.study)
    runs_it = Permission.SET_METHOD in request.role.permissions
    page = {
        "members": members,
        "first_steps": read_first_steps(request.study, members) if runs_it else None,
        "waiting": list_waiting(request),
        "cards": read_cards(request),
        "has_to_wait": not runs_it and not request.study.interviews.exists(),
    }
    return render(request, "studies/home.html", page)


@require_POST
@study_view(Permission.SET_METHOD)
def skip_step(request: StudyRequest) -> HttpResponse:
    """Skip one of the first steps of the study, or bring it back."""
    step, restores = request.POST.get("step", ""), "restore" in request.POST
    with at_top(request):
        actions.skip_step(study=request.study, step=step, by=request.user, restores=restores)
    return redirect(request.study)


@require_safe
@study_view(Permission.VIEW)
def list_members(request: StudyRequest) -> HttpResponse:
    """Who belongs to the study; owners change it here."""
    return _render_members(request, MemberForm())


@require_POST
@study_view(Permission.MANAGE_MEMBERS)
def add_member(request: StudyRequest) -> HttpResponse:
    """Invite a user, or create an account for a new person and show her sign-in link once."""
    check_may_invite(request.user)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _render_members(request, form)
    typed = form.cleaned_data
    asked = {"study": request.study, "username": typed["username"], "role": typed["role"], "by": request.user}
    with at_form(form, "username"):
        if typed["is_new"]:
            return _render_members(request, MemberForm(), actions.invite_person(**asked))
        invitation = actions.invite_user(**asked)
        messages.success(
            request,
            f"If there is an account named {invitation.username}, the invitation is now in its list of studies. Accepting it makes "
            "that person a member.",
        )
        return redirect("studies:members", request.study.slug)
    return _render_members(request, form)


@require_POST
@study_view(Permission.MANAGE_MEMBERS)
def withdraw_invitation(request: StudyRequest, invitation_id: int) -> HttpResponse:
    """Withdraw an unanswered invitation."""
    invitation = get_object_or_404(request.study.invitations.select_related("study"), pk=invitation_id)
    actions.withdraw_invitation(invitation=invitation, by=request.user)
    messages.success(request, f"The invitation of {invitation.username} was withdrawn.")
    return redirect("studies:members", request.study.slug)


@require_POST
def answer_invitation(request: HttpRequest, invitation_id: int) -> HttpResponse:
    """Accept or decline one's own invitation; other people's are not found."""
    person = person_of(request)
    mine = person.invitations.select_related("study").filter(pk=invitation_id)
    invitation = get_object_or_404(mine)
    accepts = request.POST.get("answer") == "accept"
    with at_top(request):
        actions.answer_invitation(invitation=invitation, accepts=accepts, by=person)
        if accepts:
            messages.success(request, f"You are a member of {invitation.study.name} now.")
            return redirect(invitation.study)
        messages.success(request, f"You declined the invitation to {invitation.study.name}.")
        return redirect("studies:list")
    return redirect("studies:list")


@require_POST
@study_view(Permission.MANAGE_MEMBERS)
def change_role(request: StudyRequest, user_id: int) -> HttpResponse:
    """Give a member another role."""
    member = _find_member(request, user_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"The role of {member.username} was not changed. Choose a role from the list.")
        return _render_members(request, MemberForm(), status=422)
    with at_top(request):
        actions.set_member_role(study=request.study, user=member, **form.cleaned_data, by=request.user)
        messages.success(request, f"{member.username} is {ROLES[form.cleaned_data['role']].name.lower()} now.")
        return redirect("studies:members", request.study.slug)
    return _render_members(request, MemberForm(), status=422)


@require_http_methods(["GET", "HEAD", "POST"])
@study_view(Permission.MANAGE_MEMBERS)
def remove_member(request: StudyRequest, user_id: int) -> HttpResponse:
    """Remove a member from the study after a confirmation."""
    member = _find_member(request, user_id)
    if request.method != "POST":
        notes = list_leaving(request.study, member)
        return render(request, "studies/remove_member.html", {"member": member, "notes": notes})
    with at_top(request):
        actions.remove_member(study=request.study, user=member, by=request.user)
        messages.success(request, f"{member.username} is no longer a member of {request.study.name}. All work is kept.")
        if member == request.user and not member.is_superuser:
            return redirect("studies:list")
        return redirect("studies:members", request.study.slug)
    return _render_members(request, MemberForm(), status=422)


@require_POST
@study_view(Permission.MANAGE_MEMBERS)
def renew_link(request: StudyRequest, user_id: int) -> HttpResponse:
    """Make a new sign-in link for an invited person who has not signed in yet, and show it once."""
    member = _find_member(request, user_id)
    with at_top(request):
        secret = actions.renew_invitation(study=request.study, user=member, by=request.user)
        return _render_members(request, MemberForm(), (member, secret))
    return _render_members(request, MemberForm(), status=422)


@require_POST
@study_view(Permission.MANAGE_MEMBERS)
def revoke_link(request: StudyRequest, user_id: int) -> HttpResponse:
    """End the unused sign-in link of an invited person."""
    member = _find_member(request, user_id)
    with at_top(request):
        was_open = actions.revoke_invitation(study=request.study, user=member, by=request.user)
        ended = f"The link of {member.username} no longer works."
        messages.success(request, ended if was_open else f"{member.username} had no link that still worked.")
        return redirect("studies:members", request.study.slug)
    return _render_members(request, MemberForm(), status=422)


@require_safe
@study_view(Permission.SEE_ALL_CODINGS)
def history(request: StudyRequest) -> HttpResponse:
    """Everything that was done in the study, newest first. Not for coders: it shows who coded what."""
    events = Paginator(queries.events_of(request.study), EVENTS_PER_PAGE).get_page(request.GET.get("page"))
    rows = [(event, queries.list_details(event)) for event in events]
    return render(request, "studies/history.html", {"page": events, "rows": rows})


@require_safe
@study_view(Permission.VIEW)
def show_method(request: StudyRequest) -> HttpResponse:
    """The methods of the study and of each code family; who set them, when and why."""
    families = queries.list_families(request.study)
    return _render_method(request, MethodForm(families=families), families)


@require_POST
@study_view(Permission.SET_METHOD)
def set_method(request: StudyRequest) -> HttpResponse:
    """Set the method of the study or of one family."""
    families = queries.list_families(request.study)
    form = MethodForm(request.POST, families=families)
    if form.is_valid():
        with at_form(form):
            row = actions.set_method(study=request.study, **form.cleaned_data, by=request.user)
            messages.success(request, f"From now on: {row.get_method_display().lower()}.")
            return redirect("studies:method", request.study.slug)
    return _render_method(request, form, families)


def _render_method(request: StudyRequest, form: MethodForm, families: list[tuple[str, str]]) -> HttpResponse:
    methods, names = queries.read_methods(request.study), dict(families)
    page = {
        "form": form,
        "methods": methods,
        "rows": [
            (family, name, MethodChoice.Method(methods.find(family)).label, methods.find_own(family))
            for family, name in [("", "The study as a whole"), *families]
        ],
        "switches": [(row, names.get(row.family, row.family)) for row in queries.list_method_choices(request.study)],
    }
    return render(request, "studies/method.html", page, status=422 if form.errors else 200)


def _find_member(request: StudyRequest, user_id: int) -> User:
    return get_object_or_404(request.study.members, pk=user_id)


def _render_members(
    request: StudyRequest, form: MemberForm, invited: tuple[User, str] | None = None, *, status: int = 200
) -> HttpResponse:
    may_manage = Permission.MANAGE_MEMBERS in request.role.permissions
    members = queries.members_of(request.study)
    awaited = [member.user for member in members if member.is_awaited] if may_manage else []
    page = {
        "form": form,
        "members": members,
        "links": find_link_origins(awaited) if awaited else {},
        "invitations": queries.open_invitations(request.study) if may_manage else [],
        "roles": ROLES.values(),
        "invited": invited[0] if invited else None,
        "sign_in_url": sign_in_address(invited[1]) if invited else "",
    }
    return render(request, "studies/members.html", page, status=422 if form.errors else status)
