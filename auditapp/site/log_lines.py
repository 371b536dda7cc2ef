"""The format of log lines, and how much is logged about a failed request."""

from __future__ import annotations

import logging
import re
import time

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

FAILURE = 500
# Characters that would begin a new line, or control the terminal of anybody who reads the log.
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {0x2028: "\\u2028", 0x2029: "\\u2029"}

# The secret after this part of an address signs somebody in.
LINK = re.compile(r"(/sign-in/)[^/\s\"'<>?]+")


class Line(logging.Formatter):
    """Writes a message on one line, whatever somebody typed or a server said, with its time in UTC. A traceback follows unchanged.
    Secrets of sign-in links are removed from both."""

    converter = time.gmtime  # type: ignore[assignment]  # as the standard library documents it
    default_msec_format = "%s.%03dZ"
    default_time_format = "%Y-%m-%dT%H:%M:%S"

    def format(self, record: logging.LogRecord) -> str:
        return LINK.sub(r"\1...", super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        return super().formatMessage(record).translate(CONTROLS)


class BriefRefusals(logging.Filter):
    """Logs one line for a request that was refused or not found, because the program worked as it should. A failure keeps its
    traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", FAILURE) < FAILURE:
            record.exc_info = record.exc_text = None
        return True


RETRY_AFTER_SECONDS = 5
TITLE = "Temporarily unavailable"
MESSAGE = "The database is not answering at the moment, so nothing was changed. Try again in a few seconds."
# SQLite's code for an error in a statement, which waiting does not fix.
WRONG_STATEMENT = "SQLITE_ERROR"


def is_outage(error: object) -> bool:
    """Whether an exception means that the database is unavailable, full or busy, and not that a statement is wrong."""
    if not isinstance(error, (OperationalError, InterfaceError)):
        return False
    return getattr(error.__cause__, "sqlite_errorname", "") != WRONG_STATEMENT


def show_outage(request: HttpRequest) -> HttpResponse:
    """A response 503 with the time to wait: a page, a message for part of a page, or JSON for the API."""
    response: HttpResponse
    if request.path.startswith("/api/"):
        error = {"code": "database_unavailable", "message": MESSAGE, "fields": None}
        response = JsonResponse({"error": error}, status=503)
    elif request.headers.get("HX-Request") or request.headers.get("X-Desk"):
        response = HttpResponse(f'<p class="message error" role="alert">{MESSAGE}</p>', status=503)
    else:
        # Rendered without the request, because finding out who is signed in would query the database.
        context = {"status": 503, "title": TITLE, "message": MESSAGE}
        response = render(None, "error.html", context, status=503)
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    response["Cache-Control"] = "no-store"
    return response


class BriefOutages(logging.Filter):
    """Logs one line for each request that fails in an outage, instead of a traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if is_outage(error):
            record.msg = "The database does not answer (%s), so a request was answered with 503: %s"
            record.args = (type(error).__name__, getattr(getattr(record, "request", None), "path", ""))
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True
