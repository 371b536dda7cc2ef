"""Signing in, and the page of one's own account."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus

from allauth.account.decorators import reauthentication_required
from allauth.account.internal.flows.login import perform_login
from allauth.account.models import Login
from allauth.account.views import LoginView, LogoutView, ReauthenticateView
from allauth.decorators import rate_limit
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from transcripts.accounts import actions, queries
from transcripts.accounts.adapter import came_by_link, forget_link, is_required, note_link
from transcripts.accounts.forms import SignInForm, TokenForm
from transcripts.accounts.models import ApiToken, User
from transcripts.refusals import Refused
from transcripts.ui.forms import at_form, at_top

DAY = 24 * 3600


class SignIn(LoginView):  # type: ignore[misc]
    """Sign in with user name and password. A class, because allauth's view is one."""

    form_class = SignInForm

    def form_invalid(self, form: SignInForm) -> HttpResponse:
        """Show the form again: 422 for a wrong entry, 429 after too many."""
        page = self.get_context_data(form=form)
        if form.was_tried_too_often:
            headers = {"Retry-After": "300"}
            return self.render_to_response(page, status=HTTPStatus.TOO_MANY_REQUESTS, headers=headers)  # type: ignore[no-any-return]
        return self.render_to_response(page, status=HTTPStatus.UNPROCESSABLE_ENTITY)  # type: ignore[no-any-return]


class SignOut(LogoutView):  # type: ignore[misc]
    """Sign out. The browser also deletes what another tab has prefetched (static/js/desk.js)."""

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        response["Clear-Site-Data"] = '"prefetchCache"'
        return response


class Reauthenticate(ReauthenticateView):  # type: ignore[misc]
    """Ask for the password once more, before something that cannot be undone."""

    def get_form(self, form_class: type[Form] | None = None) -> Form:
        """allauth's form with a label instead of a placeholder."""
        form: Form = super().get_form(form_class)
        form.fields["password"].widget.attrs.pop("placeholder", None)
        form.fields["password"].widget.attrs["autofocus"] = True
        form.fields["password"].help_text = ""
        return form

    def form_invalid(self, form: Form) -> HttpResponse:
        """Show the form again."""
        page = self.get_context_data(form=form)
        return self.render_to_response(page, status=HTTPStatus.UNPROCESSABLE_ENTITY)  # type: ignore[no-any-return]


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def use_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Offer to sign in (GET, so that a preview of the address does not use up the link), or do it (POST)."""
    if request.method == "POST":
        try:
            user = actions.use_sign_in_link(secret=secret)
        except actions.LinkRefused as error:
            return _refuse_link(request, str(error))
        if request.user.is_authenticated:
            logout(request)
        note_link(request, user)
        # The same steps as after a password: a second factor is asked for, if there is one.
        answer: HttpResponse = perform_login(request, Login(user=user, redirect_url=reverse("studies:land")))
        if not user.has_usable_password():
            messages.info(
                request, "You have no password yet. To sign in without a link, choose your name above and set one."
            )
        return answer
    link = queries.find_open_link(secret)
    if link is None:
        return _refuse_link(request, queries.explain_link(queries.find_link(secret)))
    return render(request, "accounts/use_link.html", {"person": link.user})


def _refuse_link(request: HttpRequest, reason: str) -> HttpResponse:
    page = {
        "status": HTTPStatus.GONE.value,
        "title": "This sign-in link is no longer valid",
        "message": reason,
        "link_text": "Go to the sign-in page",
    }
    return render(request, "error.html", page, status=HTTPStatus.GONE)


@require_safe
def me(request: HttpRequest) -> HttpResponse:
    """One's own account: password and API tokens."""
    return _render_me(request, TokenForm())


@require_POST
def create_token(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, only this once."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _render_me(request, form)
    user = queries.person_of(request)
    with at_form(form):
        token, secret = actions.create_token(user=user, by=user, **form.cleaned_data)
        return _render_me(request, TokenForm(), token, secret)
    return _render_me(request, form)


@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    """End one of one's own tokens."""
    user = queries.person_of(request)
    token = get_object_or_404(user.api_tokens, pk=token_id)
    actions.revoke_token(token=token, by=user)
    messages.success(request, f"The token {token.name} is revoked. Requests that use it are now refused.")
    return redirect("accounts:me")


@require_safe
def show_second_factor(request: HttpRequest) -> HttpResponse:
    """Whether the person has a second factor, and how to set one up."""
    user = queries.person_of(request)
    page = {"has_second_factor": queries.has_second_factor(user), "is_required": is_required(user)}
    return render(request, "mfa/index.html", page)


@require_safe
def list_sessions(request: HttpRequest) -> HttpResponse:
    """The browsers in which the person is signed in."""
    sessions = queries.list_sessions(queries.person_of(request), this=request.session.session_key)
    page = {"sessions": sessions, "idle_hours": settings.SESSION_IDLE_HOURS, "days": settings.SESSION_COOKIE_AGE // DAY}
    return render(request, "accounts/sessions.html", page)


@require_POST
def end_session(request: HttpRequest, reference: str) -> HttpResponse:
    """Sign oneself out in one browser."""
    user = queries.person_of(request)
    if request.session.session_key and queries.refer_to_session(request.session.session_key) == reference:
        return redirect("account_logout")
    if actions.end_session(user=user, reference=reference, by=user):
        messages.success(request, "You are signed out there.")
    else:
        messages.info(request, "This session had already ended.")
    return redirect("accounts:sessions")


@require_POST
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    """Sign oneself out everywhere else."""
    user = queries.person_of(request)
    number = actions.end_sessions(user=user, by=user, keep=request.session.session_key)
    messages.success(request, _count_ended(number) if number else "You were signed in nowhere else.")
    return redirect("accounts:sessions")


def _count_ended(number: int) -> str:
    return "One other session ended." if number == 1 else f"{number} other sessions ended."


@reauthentication_required  # type: ignore[untyped-decorator]
@require_http_methods(["GET", "HEAD", "POST"])
def close_account(request: HttpRequest) -> HttpResponse:
    """Close one's own account, after a page that shows the effects."""
    user = queries.person_of(request)
    if request.method == "POST":
        try:
            actions.close_account(user=user, by=user)
        except Refused:
            pass  # the page that is shown next says why
        else:
            logout(request)
            messages.success(request, "Your account is closed, and you are signed out.")
            return redirect("account_login")
    told = _describe_closing(user)
    return render(request, "accounts/close.html", told, status=HTTPStatus.CONFLICT if request.method == "POST" else 200)


@sensitive_post_parameters()
@rate_limit(action="change_password")  # type: ignore[untyped-decorator]
@require_http_methods(["GET", "HEAD", "POST"])
def set_password(request: HttpRequest) -> HttpResponse:
    """Set a first or a new password. The old one is required, unless the person has just signed in by a link."""
    user = queries.person_of(request)
    asks_for_old = user.has_usable_password() and not came_by_link(request, user)
    form_class = PasswordChangeForm if asks_for_old else SetPasswordForm
    form = form_class(user, request.POST or None)
    tokens = queries.living_tokens().filter(user=user).count()
    if request.method == "POST" and form.is_valid():
        here = request.session.session_key
        actions.set_password(user=user, password=form.cleaned_data["new_password1"], by=user, keep_session=here)
        update_session_auth_hash(request, user)
        forget_link(request)
        messages.success(request, _describe_new_password(tokens))
        return redirect("accounts:me")
    page = {"form": form, "is_first": not user.has_usable_password(), "tokens": tokens}
    return render(request, "account/password_change.html", page, status=422 if form.errors else 200)


def _describe_new_password(tokens: int) -> str:
    said = "Your password is set. You have been signed out everywhere else."
    return f"{said} Your API tokens ended. Create new ones for the programs that need one." if tokens else said


def _render_me(request: HttpRequest, form: TokenForm, made: ApiToken | None = None, secret: str = "") -> HttpResponse:
    user = queries.person_of(request)
    page = {
        "form": form,
        "made": made,
        "secret": secret,
        "tokens": user.api_tokens.order_by("-created_at", "-pk"),
        "now": timezone.now(),
        "sessions": queries.open_sessions().filter(user=user).count(),
        "has_password": user.has_usable_password(),
        "has_second_factor": queries.has_second_factor(user),
    }
    return render(request, "accounts/me.html", page, status=422 if form.errors else 200)


def owner_view(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Restrict a view to the owners of the site."""

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: int) -> HttpResponse:
        if not queries.person_of(request).is_superuser:
            raise PermissionDenied("Only an owner of the site can see its people and change what they may do.")
        return view(request, **kwargs)

    return wrapped


@owner_view
@require_safe
def list_people(request: HttpRequest) -> HttpResponse:
    """Everybody with an account, and what each person may do on the site."""
    return render(request, "accounts/people.html", {"people": queries.list_people()})


@owner_view
@require_safe
def show_person(request: HttpRequest, user_id: int) -> HttpResponse:
    """An account: where it is signed in, and what closing it would mean."""
    person = find_person(user_id)
    page = {
        "person": person,
        "sessions": queries.open_sessions().filter(user=person).count(),
        "tokens": queries.living_tokens().filter(user=person).count(),
        **_describe_closing(person),
    }
    return render(request, "accounts/person.html", page)


@owner_view
@require_POST
def end_sessions_of(request: HttpRequest, user_id: int) -> HttpResponse:
    """Sign somebody out everywhere."""
    person, by = find_person(user_id), queries.person_of(request)
    keep = request.session.session_key if person == by else None
    actions.end_sessions(user=person, by=by, keep=keep)
    messages.success(request, f"{person.username} is signed out everywhere{' else' if keep else ''}.")
    return redirect("accounts:person", user_id=person.pk)


@owner_view
@require_POST
def revoke_tokens_of(request: HttpRequest, user_id: int) -> HttpResponse:
    """End the API tokens of somebody."""
    person = find_person(user_id)
    actions.revoke_tokens(user=person, by=queries.person_of(request))
    messages.success(request, f"The API tokens of {person.username} are revoked.")
    return redirect("accounts:person", user_id=person.pk)


@owner_view
@require_POST
def close_account_of(request: HttpRequest, user_id: int) -> HttpResponse:
    """Close the account of somebody else."""
    person, by = find_person(user_id), queries.person_of(request)
    if person == by:
        return redirect("accounts:close")
    with at_top(request):
        actions.close_account(user=person, by=by)
        messages.success(request, f"The account of {person.username} is closed. Its work stays, under the same name.")
    return redirect("accounts:person", user_id=person.pk)


@owner_view
@require_POST
def reopen_account(request: HttpRequest, user_id: int) -> HttpResponse:
    """Reopen a closed account."""
    person = find_person(user_id)
    with at_top(request):
        actions.reopen_account(user=person, by=queries.person_of(request))
        messages.success(request, f"The account of {person.username} is open again.")
    return redirect("accounts:person", user_id=person.pk)


def find_person(user_id: int) -> User:
    """The person with this id. Raises Http404."""
    return get_object_or_404(User, pk=user_id)


def _describe_closing(person: User) -> dict[str, object]:
    """The effects of closing an account, shown before it is closed."""
    return {"obstacles": queries.find_obstacles(person), "notes": queries.list_notes(person)}


@require_POST
def dismiss_introduction(request: HttpRequest) -> HttpResponse:
    """Stop showing the introduction of a page. Without JavaScript, the page is loaded again."""
    with at_top(request):
        actions.dismiss_introduction(page=request.POST.get("page", ""), by=queries.person_of(request))
    if request.headers.get("HX-Request"):
        return HttpResponse()
    back = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        back, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    # The address must begin with a slash, because Django could take any other for the name of a route.
    return redirect(back if is_ours and back.startswith("/") else "studies:list")


@owner_view
@require_POST
def set_rights(request: HttpRequest, user_id: int) -> HttpResponse:
    """Grant or revoke the rights to start studies and to invite people; only those that were changed on the page."""
    user = find_person(user_id)
    wanted = {name: bool(request.POST.get(name)) for name in ("start_studies", "invite")}
    seen = {name: bool(request.POST.get(f"had_{name}")) for name in wanted}
    changed = {name: value if value != seen[name] else None for name, value in wanted.items()}
    actions.set_rights(
        user=user,
        may_start_studies=changed["start_studies"],
        may_invite=changed["invite"],
        by=queries.person_of(request),
    )
    messages.success(request, f"The rights of {user.username} are set.")
    return redirect("accounts:people")
