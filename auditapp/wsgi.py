"""The WSGI application a web server loads."""

from __future__ import annotations

import os
from typing import Any

import django
from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

from auditapp.site.clients import find_person
from auditapp.site.environment import make_site_files

__all__ = ["application", "find_person"]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")


class Utf8Request(WSGIRequest):
    """A request read as UTF-8, whatever charset it claims.

    Django takes any codec that Python knows, also such as zlib, which fail before the first middleware and end in a bare
    500.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))


# Before the files: whether the database is still there can only be asked once the apps are loaded.
django.setup()
make_site_files()
application = get_wsgi_application()
application.request_class = Utf8Request
