"""A WSGI application whose pages never come: what a server does when every thread is at work can be watched with it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from django.conf import settings

from auditapp.site.clients import CLIENT, Claim
from auditapp.site.environment import env_networks

if not settings.configured:
    settings.configure(
        ROOT_URLCONF=__name__,
        SESSION_COOKIE_NAME="session",
        STATIC_URL="/static/",
        TRUSTED_PROXIES=env_networks("TRUSTED_PROXIES", default="127.0.0.1"),
    )

urlpatterns: list[Any] = []
PEOPLE = {"of-ann": 1, "of-ann-too": 1, "of-ben": 2}
LARGE = 40_000_000


def find_person(claim: Claim) -> int | None:
    """The sessions and tokens that exist."""
    return PEOPLE.get(claim.secret)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a health check at once, /echo with its body's length, /who with who asks, /large with a file of 40 MB, some pages
    with 404, /brief after a second; any other page takes a minute."""
    said = b"alive"
    client = environ[CLIENT]
    if client.claim is not None and client.claim.secret in PEOPLE:
        client.set_person(PEOPLE[client.claim.secret])
    if environ["PATH_INFO"] == "/echo":
        said = str(len(environ["wsgi.input"].read())).encode()
    elif environ["PATH_INFO"] == "/who":
        forwarded = sorted(name for name in environ if "FORWARDED" in name)
        said = f"{environ['REMOTE_ADDR']} {environ['wsgi.url_scheme']} {environ['HTTP_HOST']} {forwarded}".encode()
    elif environ["PATH_INFO"] == "/large":
        if problem := client.begin_file():
            start_response("429 Too Many Requests", [("Content-Type", "text/plain")])
            return [problem.encode()]
        start_response("200 OK", [("Content-Length", str(LARGE))])
        return (bytes(1_000_000) for _ in range(LARGE // 1_000_000))
    elif environ["PATH_INFO"].startswith(("/static", "/auditapp", "/sign-in")):
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"none"]
    elif environ["PATH_INFO"] == "/brief":
        time.sleep(1)
    elif environ["PATH_INFO"] != "/livez":
        time.sleep(60)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [said]
