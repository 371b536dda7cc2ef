"""The one form of every error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.signals import got_request_exception
from django.http import Http404, HttpRequest, UnreadablePostError
from django.utils.log import log_response
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from auditapp.site import log_lines
from transcripts.codebook.actions import CodebookRefused
from transcripts.refusals import Refused

MAX_ECHO = 100

HOW_TO_SIGN_IN = (
    "Send an API token in the header `Authorization: Bearer TOKEN`. Create a token on your account page, or with "
    "`manage.py user create-token NAME`."
)
UNEXPECTED = (
    "The server failed unexpectedly and logged the error. Try again. If it fails again, tell the owner of the site when "
    "it happened."
)


class InvalidParameters(exceptions.APIException):
    """The query parameters are invalid; ``detail`` is by parameter."""

    status_code = 400
    default_code = "invalid_parameters"


class PlainHttp(exceptions.APIException):
    """The request, and its token with it, came over http to a site with https."""

    status_code = 403
    default_code = "https_required"
    default_detail = (
        "This site is reached over https only. The token you sent was readable on its way: revoke it on your account "
        "page, create a new one, and use https."
    )


class Conflict(exceptions.APIException):
    """The request conflicts with what is stored."""

    status_code = 409
    default_code = "conflict"


class ScopeMissing(exceptions.APIException):
    """The token lacks the scope that the operation needs."""

    status_code = 403
    default_code = "scope_missing"

    def __init__(self, scope: str) -> None:
        super().__init__(
            f"This token lacks the scope {scope}. Create one that has it on your account page, or with "
            f"`manage.py user create-token NAME --scope {scope}`."
        )


class TooLarge(exceptions.APIException):
    """The body is too long."""

    status_code = 413
    default_code = "too_large"


class Refusal(NamedTuple):
    """An error as it is reported in the response; ``fields`` has messages for each invalid field or parameter."""

    status: int
    code: str
    message: str
    fields: dict[str, list[str]] | None = None


class ErrorOutput(serializers.Serializer[object]):
    """The form of every error."""

    class Body(serializers.Serializer[object]):
        """What went wrong."""

        code = serializers.CharField(help_text="The kind of error, for programs.")
        message = serializers.CharField(help_text="What went wrong and what to do, for people.")
        fields = serializers.DictField(  # type: ignore[assignment]
            child=serializers.ListField(child=serializers.CharField()),
            allow_null=True,
            help_text="Messages by the name of each invalid field or parameter, or null.",
        )

        class Meta:
            ref_name = "ErrorBody"

    error = Body(help_text="What went wrong.")

    class Meta:
        ref_name = "Error"


def answer_exception(exception: Exception, context: Mapping[str, object]) -> Response:
    """The response to an exception of a view. Unexpected exceptions are logged with their traceback and give 500."""
    refusal = explain(exception)
    if refusal is not None:
        if isinstance(exception, exceptions.UnsupportedMediaType):
            taken = cast("APIView", context["view"]).parser_classes[0].media_type
            refusal = refusal._replace(message=f"Send the body with the header `Content-Type: {taken}`.")
        return Response(write_error(refusal), status=refusal.status, headers=_find_headers(exception))
    request = cast("HttpRequest", context["request"])
    response = Response(write_error(Refusal(500, "server_error", UNEXPECTED)), status=500)
    got_request_exception.send(sender=answer_exception, request=request)
    log_response(
        "%s: %s",
        response.reason_phrase,
        request.path,
        response=response,
        request=request,
        exception=exception,
    )
    return response


def explain(exception: Exception) -> Refusal | None:
    """The error to report for an exception, or ``None`` for an unexpected one."""
    match exception:
        case CodebookRefused():
            return Refusal(422, "invalid_fields", str(exception), {"content": exception.problems or [str(exception)]})
        case Refused() if exception.field and exception.status == 422:
            return Refusal(422, "invalid_fields", str(exception), {exception.field: [str(exception)]})
        case Refused():
            return Refusal(exception.status, "conflict", str(exception))
        case Http404():
            return Refusal(404, "not_found", str(exception) or "Nothing was found at this address.")
        case PermissionDenied():
            return Refusal(403, "permission_denied", str(exception) or "You may not do this.")
        case RequestDataTooBig():
            return Refusal(413, "too_large", "The body is too large.")
        case SuspiciousOperation() | UnreadablePostError():
            return Refusal(400, "malformed_request", "The request was incomplete. Send it again.")
        case exceptions.APIException():
            return _explain_api_exception(exception)
    return Refusal(503, "database_unavailable", log_lines.MESSAGE) if log_lines.is_outage(exception) else None


def _explain_api_exception(exception: exceptions.APIException) -> Refusal:
    said = str(exception.detail) if isinstance(exception.detail, str) else ""
    match exception:
        case exceptions.ValidationError():
            return _explain_fields(422, "invalid_fields", "Nothing was stored. Check", exception.detail)
        case InvalidParameters():
            return _explain_fields(400, "invalid_parameters", "Nothing was read. Check", exception.detail)
        case exceptions.ParseError():
            return Refusal(400, "malformed_request", said)
        case ScopeMissing():
            return Refusal(403, "scope_missing", said)
        case exceptions.NotAuthenticated():
            return Refusal(401, "not_authenticated", HOW_TO_SIGN_IN)
        case exceptions.AuthenticationFailed():
            return Refusal(401, "authentication_failed", said)
        case exceptions.MethodNotAllowed():
            return Refusal(
                405, "method_not_allowed", "This address does not support this method; see the header Allow."
            )
        case exceptions.UnsupportedMediaType():
            return Refusal(415, "unsupported_media_type", said)
        case exceptions.Throttled():
            return Refusal(
                429, "too_many_requests", "Too many requests. Wait for the time given in the header Retry-After."
            )
    return Refusal(exception.status_code, exception.default_code, said)


def _explain_fields(status: int, code: str, start: str, detail: object) -> Refusal:
    """The messages of a serializer by field; messages that concern no single field come first."""
    if not isinstance(detail, Mapping):
        return Refusal(status, code, " ".join(_list_sentences(detail)))
    fields = {_cut(str(name)): _list_sentences(sentences) for name, sentences in detail.items()}
    whole = fields.pop(str(api_settings.NON_FIELD_ERRORS_KEY), [])
    if not fields:
        return Refusal(status, code, " ".join(whole))
    return Refusal(status, code, " ".join([*whole, f"{start} {', '.join(fields)}."]), fields)


def _list_sentences(detail: object) -> list[str]:
    if isinstance(detail, Mapping):
        detail = detail.values()
    if isinstance(detail, str) or not isinstance(detail, Iterable):
        return [str(detail)]
    return [sentence for each in detail for sentence in _list_sentences(each)]


def _find_headers(exception: Exception) -> dict[str, str]:
    headers = {}
    if header := getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = str(header)
    if log_lines.is_outage(exception):
        headers["Retry-After"] = str(log_lines.RETRY_AFTER_SECONDS)
    if (wait := getattr(exception, "wait", None)) is not None:
        headers["Retry-After"] = str(math.ceil(wait))
    return headers


def write_error(refusal: Refusal) -> dict[str, object]:
    """A refusal in the form of every error."""
    fields = refusal.fields and {
        _make_writable(name): [_make_writable(sentence) for sentence in sentences]
        for name, sentences in refusal.fields.items()
    }
    body = {"code": refusal.code, "message": _make_writable(refusal.message), "fields": fields}
    return {"error": body}


def _cut(name: str) -> str:
    """A name as it was sent, shortened if necessary."""
    return name if len(name) <= MAX_ECHO else f"{name[:MAX_ECHO]}…"


def _make_writable(text: str) -> str:
    """JSON input may contain half of a surrogate pair, which cannot be encoded in a response."""
    return text.encode("utf-8", "backslashreplace").decode()
