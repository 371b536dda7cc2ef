from __future__ import annotations

import pytest
from django.test import Client, RequestFactory

from auditapp.batches.models import WorkerSign
from auditapp.batches.tasks import sweep
from auditapp.wsgi import application


def test_the_process_says_that_it_is_alive_without_a_database(client: Client) -> None:
    assert client.get("/livez").content == b"alive\n"


@pytest.mark.django_db
def test_readiness_names_a_silent_worker_and_stays_ready(client: Client) -> None:
    answer = client.get("/readyz").json()
    assert answer["ready"] is True
    assert answer["checks"]["worker"] == "silent"
    sweep()
    assert WorkerSign.objects.count() == 1
    assert client.get("/readyz").json()["checks"]["worker"] == "ok"


@pytest.mark.django_db
def test_an_address_without_anything_is_answered_by_our_own_page(client: Client) -> None:
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert "Nothing here" in answer.content.decode()


@pytest.mark.django_db
def test_help_is_open_to_everybody(client: Client) -> None:
    assert client.get("/help/").status_code == 200


@pytest.mark.django_db
def test_pages_carry_a_strict_content_security_policy(client: Client) -> None:
    policy = client.get("/help/")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.django_db
@pytest.mark.parametrize("charset", ["zlib", "rot13", "idna", "utf-8", "nonsense"])
def test_no_charset_that_a_request_claims_makes_the_site_fail(charset: str) -> None:
    environ = RequestFactory().get("/livez?a=1").environ | {"CONTENT_TYPE": f"text/plain; charset={charset}"}
    # The client's own handler takes a made request; the server's begins where this must not fail.
    assert application.get_response(application.request_class(environ)).status_code == 200
