"""What a site with https sends: headers, cookies and refusals, from a process of its own with the settings of one."""

import json
import os
import subprocess
import sys

import pytest

from tools.environment import ROOT

REQUESTS = """
import json
import django
django.setup()
from django.conf import settings
from django.test import Client

def ask(method, path, secure=True):
    said = Client(SERVER_NAME="coding.example.org").generic(method, path, secure=secure)
    cookies = {name: dict(morsel) for name, morsel in said.cookies.items()}
    body = said.getvalue()[:3000].decode(errors="replace")
    return {"status": said.status_code, "headers": dict(said.headers), "cookies": cookies, "body": body}

print(json.dumps({
    "page": ask("GET", "/help/"),
    "sign-in": ask("GET", "/accounts/login/"),
    "nowhere": ask("GET", "/nowhere/"),
    "api": ask("GET", "/api/v1/studies/"),
    "api schema": ask("GET", "/api/v1/schema/"),
    "script": ask("GET", "/static/js/desk.js"),
    "alive": ask("GET", "/livez"),
    "folder": ask("GET", "/static/js/"),
    "source": ask("GET", "/static/../auditapp/settings.py"),
    "history": ask("GET", "/.git/config"),
    "trace": ask("TRACE", "/help/"),
    "page over http": ask("GET", "/help/", secure=False),
    "api over http": ask("GET", "/api/v1/studies/", secure=False),
    "session": {
        name: getattr(settings, f"SESSION_COOKIE_{name}")
        for name in ("NAME", "SECURE", "HTTPONLY", "SAMESITE", "PATH", "DOMAIN")
    },
    "debug": settings.DEBUG,
}))
"""
ANSWERS = ("page", "sign-in", "nowhere", "api", "script", "alive")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """The answers, by what was asked for."""
    environment = {
        **{name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}},
        "BASE_URL": "https://coding.example.org",
        "AUDITAPP_DATA": str(tmp_path_factory.mktemp("deployed")),
        "DJANGO_SETTINGS_MODULE": "auditapp.settings",
    }
    command = [sys.executable, "-c", REQUESTS]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_carries_the_headers_that_bind_a_browser(said, name):
    headers = said[name]["headers"]
    assert int(headers["Strict-Transport-Security"].removeprefix("max-age=")) >= 365 * 24 * 3600
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers or (
        # Scripts and styles are public and the same for everybody.
        name == "script" and headers["Access-Control-Allow-Origin"] == "*"
    )
    directives = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert directives["default-src"] == directives["object-src"] == directives["base-uri"] == "'none'"
    assert directives["frame-ancestors"] == "'none'"
    assert {directives[f"{kind}-src"] for kind in ("script", "style", "img", "font", "connect")} == {"'self'"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("page", "text/html; charset=utf-8"),
        ("nowhere", "text/html; charset=utf-8"),
        ("api", "application/json"),
        ("script", 'text/javascript; charset="utf-8"'),
        ("alive", "text/plain; charset=utf-8"),
    ],
)
def test_every_answer_says_what_it_is(said, name, kind):
    assert said[name]["headers"]["Content-Type"] == kind


def test_cookies_are_bound_to_this_host_and_to_https(said):
    session = said["session"]
    assert session["NAME"].startswith("__Host-")
    assert (session["SECURE"], session["HTTPONLY"], session["SAMESITE"]) == (True, True, "Lax")
    assert (session["PATH"], session["DOMAIN"]) == ("/", None)
    [(name, cookie)] = said["sign-in"]["cookies"].items()
    assert name == "__Host-csrf"
    assert (cookie["secure"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Lax", "/", "")


def test_pages_lead_to_https_and_the_api_refuses_http(said):
    page = said["page over http"]
    assert (page["status"], page["headers"]["Location"]) == (301, "https://coding.example.org/help/")
    api = said["api over http"]
    assert (api["status"], json.loads(api["body"])["error"]["code"]) == (403, "https_required")
    assert "revoke it" in api["body"]


def test_no_folder_no_source_and_no_history_is_served(said):
    for name in ("folder", "source", "history"):
        assert said[name]["status"] == 404, name
        assert "import" not in said[name]["body"], name


def test_trace_is_not_answered_with_the_request(said):
    assert said["trace"]["status"] == 405


def test_strangers_get_no_schema_and_no_inside_of_the_program(said):
    assert said["api schema"]["status"] == 401
    assert said["debug"] is False
    for name in ("nowhere", "api", "api schema"):
        assert "Traceback" not in said[name]["body"]
