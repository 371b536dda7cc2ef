"""Django's reports of failed requests, without the keys of providers. Imported while logging is set up, before there are models."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from auditapp.llm.pure.key_removal import remove_keys


class KeylessFilter(SafeExceptionReporterFilter):
    """Hides sensitive values also in development, where Django would show them."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True


class KeylessReporter(ExceptionReporter):
    """Django's report of a failure, with everything removed that is or looks like a key."""

    # Django has escaped the text, and removing a key adds nothing that needs escaping.
    def get_traceback_html(self) -> SafeString:
        return SafeString(remove_keys(super().get_traceback_html()))

    def get_traceback_text(self) -> SafeString:
        return SafeString(remove_keys(super().get_traceback_text()))

    def get_traceback_data(self) -> dict[str, Any]:
        data = super().get_traceback_data()
        if "exception_value" in data:
            data["exception_value"] = remove_keys(str(data["exception_value"]))
        return data
