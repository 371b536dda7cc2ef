"""The floor under saving a code: the least a Django view can do, one row inserted and committed.

Served by the same program on a database of the same settings as the product. ``python -m perf.floor`` makes the
table; no middleware, no session, no rights, no audit event.
"""

from __future__ import annotations

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection, models
from django.http import HttpRequest, HttpResponse
from django.urls import path

from auditapp import settings as site
from auditapp.site.clients import Claim

if not settings.configured:
    settings.configure(
        SECRET_KEY="nothing here is secret",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        USE_TZ=True,
        DEFAULT_AUTO_FIELD=site.DEFAULT_AUTO_FIELD,
        DATABASES=site.DATABASES,
        TRUSTED_PROXIES=site.TRUSTED_PROXIES,
    )
    django.setup()


class FloorCode(models.Model):
    """What a code on a sentence is at the very least."""

    sentence = models.IntegerField(db_index=True)
    code = models.IntegerField(db_index=True)
    person = models.IntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "floor"

    def __str__(self) -> str:
        return f"code {self.pk}"


def find_person(claim: Claim) -> None:
    """Nobody has signed in here: the web server asks each application that it serves."""


def save(request: HttpRequest) -> HttpResponse:
    """Store one code."""
    given = {name: int(request.POST[name]) for name in ("sentence", "code", "person")}
    stored = FloorCode(**given)
    stored.save(force_insert=True)
    answer = str(stored.pk)
    return HttpResponse(answer, status=201, headers={"Content-Length": len(answer)})


urlpatterns = [path("save", save), path("livez", lambda request: HttpResponse("alive"))]
application = get_wsgi_application()

if __name__ == "__main__":
    with connection.schema_editor() as editor:
        editor.create_model(FloorCode)
