"""The only access to a study: views load the study through it, so a view without the check has no study."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from transcripts.accounts.models import User
from transcripts.studies.models import Membership, Study, UploadDay
from transcripts.studies.roles import OWNER, ROLES, Permission, Role
from transcripts.ui.forms import at_form, at_top
from transcripts.ui.typed_text import MAX_ID

P = ParamSpec("P")
MEGABYTE = 1_000_000
# This runs in every request of a study, and building a query set takes five times as long as running it. The study's
# other columns, which are rarely read, are deferred.
STUDY_FIELDS = ("id", "slug", "name", "description")
OWN_STUDY = """
SELECT p.id, p.slug, p.name, p.description, m.role
FROM studies_study p JOIN studies_membership m ON m.study_id = p.id
WHERE p.slug = %s AND m.user_id = %s
"""


class StudyRequest(HttpRequest):
    """A request of a signed-in person in a study that she may see."""

    user: User
    study: Study
    role: Role


def visible_studies(user: User) -> QuerySet[Study]:
    """The studies that ``user`` may see: those of which she is a member, or all for the owner of the site."""
    if user.is_superuser:
        return Study.objects.all()
    return Study.objects.filter(memberships__user=user)


def find_role(user: User, study: Study) -> Role | None:
    """The role of ``user`` in ``study``, or ``None`` for an outsider. Costs one query."""
    if user.is_superuser:
        return OWNER
    membership = Membership.objects.filter(study=study, user=user).first()
    return membership.get_role() if membership else None


def open_study(user: User, slug: str, permission: Permission = Permission.VIEW) -> tuple[Study, Role]:
    """The study and the role of ``user`` in it, in one query for a member.

    Raises ``Http404`` for an outsider (as for a study that does not exist), ``PermissionDenied`` for a member whose role lacks
    ``permission``.
    """
    if user.is_superuser:
        study = Study.objects.filter(slug=slug).first()
        if study is None:
            raise Http404("No such study.")
        return study, OWNER
    with connection.cursor() as cursor:
        cursor.execute(OWN_STUDY, [slug, user.pk])
        row = cursor.fetchone()
    if row is None:
        raise Http404("No such study.")
    study, role = Study.from_db(connection.alias, STUDY_FIELDS, row[:-1]), ROLES[row[-1]]
    if permission not in role.permissions:
        raise PermissionDenied(f"Your role in this study is {role.name}. {role.sentence}")
    return study, role


def study_view(
    permission: Permission,
) -> Callable[
    [Callable[Concatenate[StudyRequest, P], HttpResponseBase]],
    Callable[..., HttpResponseBase],
]:
    """Load the study named by the URL (``slug``) for a member who holds ``permission``; others get 404 or 403."""

    def decorate(
        view: Callable[Concatenate[StudyRequest, P], HttpResponseBase],
    ) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def wrapped(request: HttpRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if any(isinstance(value, int) and value > MAX_ID for value in kwargs.values()):
                raise Http404("No such thing.")
            study, role = open_study(request.user, slug, permission)  # type: ignore[arg-type]
            request.study, request.role = study, role  # type: ignore[attr-defined]
            # The desk accepts no files, and every query counts there.
            if permission is not Permission.CODE:
                count_upload(request, study)
            return view(request, *args, **kwargs)  # type: ignore[arg-type]

        return wrapped

    return decorate


def count_upload(request: HttpRequest, study: Study) -> None:
    """Add the files of this request to the study's uploads of today. Raises ``PermissionDenied`` if that is too much.

    They are counted when they are announced, even if the view refuses them afterwards. The owner of the site may upload any
    amount.
    """
    if request.method != "POST" or request.content_type != "multipart/form-data" or request.user.is_superuser:
        return
    size = int(request.headers.get("Content-Length") or 0)
    limit = settings.MAX_UPLOAD_MB_PER_DAY * MEGABYTE
    with transaction.atomic():
        day, _ = UploadDay.objects.get_or_create(study=study, day=timezone.localdate())
        room = UploadDay.objects.filter(pk=day.pk, bytes__lte=limit - size)
        is_within = size <= limit and room.update(bytes=F("bytes") + size) == 1
    if not is_within:
        raise PermissionDenied(
            f"This study received {day.bytes / MEGABYTE:,.1f} MB of files today; with these {size / MEGABYTE:,.1f} MB it would be "
            f"more than the {settings.MAX_UPLOAD_MB_PER_DAY:,} MB of this site. Nothing was stored. Try again tomorrow, or ask "
            "the person who runs the server to raise MAX_UPLOAD_MB_PER_DAY."
        )


R = TypeVar("R")


def post(
    act: Callable[..., R],
    permission: Permission,
    *,
    form: type[BaseForm] | None = None,
    page: Callable[..., HttpResponse] | None = None,
    on: Callable[..., dict[str, Any]] = lambda request: {"study": request.study},
    done: str | Callable[[R], str] = "",
    to: tuple[str, ...] = (),
    then: Callable[[StudyRequest, R], HttpResponse] | None = None,
) -> Callable[..., HttpResponseBase]:
    """The view that carries out ``act`` for people who hold ``permission``.

    The act gets the result of ``on`` for the request and its address, the values of ``form``, and the person as ``by``. After
    it, ``then`` answers, or ``done`` is shown at the top of the page ``to``, which is given by its name and the arguments that
    it shares with this address. A refusal is shown in the form, which ``page`` shows again, or without a form at the top of the
    page ``to``. Raises ``ImproperlyConfigured`` if there is no page for one of these.
    """
    if (form is not None and page is None) or (page is None and not to) or (then is None and not to):
        raise ImproperlyConfigured("A form needs the page that shows it again, and an act a page that it leads to.")

    @require_POST
    @study_view(permission)
    def view(request: StudyRequest, /, **address: Any) -> HttpResponse:
        found = on(request, **address)
        typed = form(request.POST) if form else None
        if typed is None or typed.is_valid():
            with at_form(typed) if typed else at_top(request):
                result = act(**found, **(typed.cleaned_data if typed else {}), by=request.user)
                if then is not None:
                    return then(request, result)
                if done:
                    messages.success(request, done if isinstance(done, str) else done(result))
                return redirect(to[0], request.study.slug, *(address[name] for name in to[1:]))
        if page is not None:
            return page(request, typed, **address)
        return redirect(to[0], request.study.slug, *(address[name] for name in to[1:]))

    return view
