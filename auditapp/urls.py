"""The site map: each room brings its own paths, all written from the root."""

from __future__ import annotations

from importlib import import_module

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, URLResolver, include, path
from django.urls.resolvers import RoutePattern
from django.views.decorators.http import require_safe

from auditapp.operations import health
from auditapp.site import pages


@require_safe
def send_api_schema(request: HttpRequest) -> HttpResponse:
    """The schema of the API for its page, which has no token. The API's libraries are loaded when somebody opens that page."""
    schema = import_module("auditapp.api.schema").build_schema()
    # Without its servers: a page may send only to the address at which it was opened.
    return JsonResponse({name: part for name, part in schema.items() if name != "servers"})


class LazyResolver(URLResolver):
    """Loads its URLs at the first request to one of them, or the first link.

    The API's libraries take a sixth of a web server's memory and of its start, and many sites never use the API.
    """

    def _populate(self) -> None:
        """Django collects the names of all URLs at the first link; names in a namespace are found without this."""


human_half = [
    # First, because every key at the desk is a request there (python -m perf save).
    path("", include("transcripts.desk.urls")),
    path("", include("transcripts.accounts.urls")),
    path("", include("transcripts.studies.urls")),
    path("", include("transcripts.codebook.urls")),
    path("", include("transcripts.jobs.urls")),
    path("", include("transcripts.corpus.urls")),
    path("", include("transcripts.rounds.urls")),
    path("", include("transcripts.blinding.urls")),
    path("", include("transcripts.agreement.urls")),
    path("", include("transcripts.revision.urls")),
    path("", include("transcripts.analysis.urls")),
    path("", include("transcripts.negotiation.urls")),
    path("", include("transcripts.exchange.urls")),
]

machine_half = [
    path("", include("auditapp.llm.urls")),
    path("", include("auditapp.batches.urls")),
    path("", include("auditapp.annotators.urls")),
    path("", include("auditapp.suggestions.urls")),
    path("", include("auditapp.evaluation.urls")),
    path("", include("auditapp.benchmarks.scenarios.urls")),
    path("", include("auditapp.benchmarks.sob.urls")),
    path("", include("auditapp.benchmarks.experiments.urls")),
    path("", include("auditapp.benchmarks.gender_cues.urls")),
    path("", include("auditapp.webhooks.urls")),
    LazyResolver(RoutePattern("api/v1/"), "auditapp.api.urls", app_name="api", namespace="api"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("help/", pages.show_guide, name="help"),
    path("help/api/", pages.show_api, name="api_reference"),
    path("help/api/schema/", send_api_schema, name="api_schema"),
    path("help/<path:place>/", pages.show_guide, name="help_page"),
    *human_half,
    *machine_half,
    path("p/<path:rest>", pages.redirect_to_study, name="old_address"),
]

handler400 = pages.show_bad_request
handler403 = pages.show_forbidden
handler404 = pages.show_not_found
handler500 = pages.show_failure
