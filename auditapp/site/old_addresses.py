"""Addresses that pages had before release 1.0.0, for bookmarks and links in documents."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.urls import path
from django.views.decorators.http import require_safe

# How a page's address began after that of its study, and how it begins now. The first that fits is taken.
RENAMED = (
    ("interviews-held/", "live-interviews/"),
    ("codings/together/", "codings/co-occurrence/"),
    ("work/", "my-work/"),
    ("keys/", "shortcuts/"),
    ("probe/", "gender-cues/"),
    ("preannotation/launch/", "annotators/launch/"),
    ("preannotation/offline/", "annotators/offline/"),
    ("preannotation/runs/", "annotators/runs/"),
    ("preannotation/annotators/", "annotators/"),
    ("preannotation/planted/", "annotators/control-sentences/"),
    ("preannotation/withholding/", "suggestions/withholding/"),
    ("preannotation/drafts/", "suggestions/drafts/"),
    ("preannotation/reversals/", "evaluation/rejections/"),
    ("preannotation/", "evaluation/"),
)


@require_safe
def redirect_to_study(request: HttpRequest, rest: str) -> HttpResponsePermanentRedirect:
    """Lead from an address under ``/p/`` to that of the same page under ``/studies/``, with its query."""
    slug, _, rest = rest.partition("/")
    for old, new in RENAMED:
        if rest.startswith(old):
            rest = new + rest.removeprefix(old)
            break
    query = request.META.get("QUERY_STRING", "")
    return HttpResponsePermanentRedirect(f"/studies/{slug}/{rest}{'?' if query else ''}{query}")


urlpatterns = [path("p/<path:rest>", redirect_to_study, name="old_address")]
