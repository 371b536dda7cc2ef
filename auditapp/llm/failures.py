"""What Django writes down when a request fails: values and tracebacks, without the keys of providers."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from auditapp.llm.pure.key_removal import remove_keys


class KeylessFilter(SafeExceptionReporterFilter):
    """Hides what a view marks as sensitive in development too, where Django would show it."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True


class KeylessReporter(ExceptionReporter):
    """Django's report of a failure; whatever in it is a key, or looks like one, is taken out."""

    # Taking a key out of text that Django escaped adds nothing that would have to be escaped.
    def get_traceback_html(self) -> SafeString:
        return SafeString(remove_keys(super().get_traceback_html()))

    def get_traceback_text(self) -> SafeString:
        return SafeString(remove_keys(super().get_traceback_text()))

    def get_traceback_data(self) -> dict[str, Any]:
        data = super().get_traceback_data()
        if "exception_value" in data:
            data["exception_value"] = remove_keys(str(data["exception_value"]))
        return data
