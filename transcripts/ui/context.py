"""What every page knows."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from django.http import HttpRequest

try:
    VERSION = version("auditapp")
except PackageNotFoundError:
    VERSION = "0.1.0"


def site(request: HttpRequest) -> dict[str, object]:
    """The version, and the study a page belongs to."""
    return {
        "site_version": VERSION,
        "project": getattr(request, "project", None),
        "role": getattr(request, "role", None),
    }
