"""What all operations have in common: who may call them, what they take and return, and how lists are divided into pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from http import HTTPMethod
from typing import Any, ClassVar, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import BasePagination
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from auditapp.api.errors import InvalidParameters, PlainHttp, ScopeMissing
from auditapp.api.fields import Body, Numeral, Parameters, StrictJsonParser
from transcripts.accounts.models import ApiToken, Scope, User
from transcripts.blinding.viewers import Viewer
from transcripts.studies.access import open_study
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission, Role
from transcripts.ui.typed_text import MAX_ID

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
WITH_A_SCOPE = {"GET", "HEAD", "POST"}


class PageParameters(Parameters):
    """Which part of a list to return."""

    limit = Numeral(
        min_value=1,
        max_value=MAX_LIMIT,
        default=DEFAULT_LIMIT,
        help_text="How many rows to return at most.",
    )
    offset = Numeral(min_value=0, max_value=MAX_ID, default=0, help_text="How many rows to skip.")


class Pages(BasePagination):
    """Counts a list and returns one page of it in two queries, whatever its length. The list must have a fixed order."""

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: Any = None
    ) -> list[Any]:
        self.request = request
        self.limit, self.offset = view.query["limit"], view.query["offset"]
        self.count = queryset.count() if isinstance(queryset, QuerySet) else len(queryset)
        if self.offset >= self.count:
            return []
        return list(queryset[self.offset : self.offset + self.limit])

    def get_paginated_response(self, data: Any) -> Response:
        after, before = self.offset + self.limit, max(self.offset - self.limit, 0)
        return Response(
            {
                "count": self.count,
                "next": self._write_link(after) if after < self.count else None,
                "previous": self._write_link(before) if self.offset else None,
                "results": data,
            }
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["count", "next", "previous", "results"],
            "properties": {
                "count": {"type": "integer", "description": "How many rows the whole list has."},
                "next": {**link, "description": "Address of the next page; null on the last."},
                "previous": {**link, "description": "Address of the previous page; null on the first."},
                "results": {**schema, "description": "The rows of this page."},
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """There are none here: an operation's ``Query`` declares them with its other parameters."""
        return []

    def _write_link(self, offset: int) -> str:
        """The address, built from BASE_URL and never from the host in the request."""
        query = self.request.query_params.copy()
        query["limit"], query["offset"] = str(self.limit), str(offset)
        return f"{settings.BASE_URL}{self.request.path}?{query.urlencode()}"


class CursorParameters(Parameters):
    """Which part of a long list to return: the rows after a given row. Rows that are added in the meantime do not shift the
    pages."""

    limit = Numeral(
        min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="How many rows to return at most."
    )
    after = Numeral(
        min_value=0,
        max_value=MAX_ID,
        default=0,
        help_text="Return rows with an id above this; 0 starts at the beginning.",
    )


class Cursor(Pages):
    """Returns the rows after an id in one query, without counting, for very long lists. Rows have an ``id``."""

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: Any = None
    ) -> list[Any]:
        self.request = request
        self.limit = view.query["limit"]
        found = list(
            cast("QuerySet[Any]", queryset).filter(pk__gt=view.query["after"]).order_by("pk")[: self.limit + 1]
        )
        self.last = found[self.limit - 1]["id"] if len(found) > self.limit else None
        return found[: self.limit]

    def get_paginated_response(self, data: Any) -> Response:
        following = None
        if self.last is not None:
            query = self.request.query_params.copy()
            query["limit"], query["after"] = str(self.limit), str(self.last)
            following = f"{settings.BASE_URL}{self.request.path}?{query.urlencode()}"
        return Response({"next": following, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        whole = super().get_paginated_response_schema(schema)
        properties = {name: whole["properties"][name] for name in ("next", "results")}
        return {**whole, "required": ["next", "results"], "properties": properties}


class FirstRenderer(DefaultContentNegotiation):
    """Responses always have the same format, whatever the header Accept says."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, str(first.media_type)


class ApiView(APIView):
    """One operation at one address.

    A subclass declares its input (``Query`` for parameters, ``Input`` for the body) and its ``Output``, divided into
    pages if ``pagination_class`` is set. Its behaviour and the published schema both follow from these.

    ``scope`` is the scope that a token needs for it. An operation that writes must declare it; one that reads needs
    ``Scope.READ``.
    """

    scope: ClassVar[Scope | None] = None
    # The resource that the schema names it under, where its module is called otherwise.
    tag: ClassVar[str] = ""

    Query: ClassVar[type[Parameters]] = Parameters
    Input: ClassVar[type[Body]] = Body
    Output: ClassVar[type[Serializer[Any]]]
    success: ClassVar[Mapping[int, str]] = {200: "The requested data."}
    refusals: ClassVar[tuple[int, ...]] = ()
    # What a file that it answers with may be.
    file_types: ClassVar[Sequence[str]] = ()
    pagination_class: ClassVar[type[Pages] | None] = None
    # Filled by `at_one_address` where several operations share one.
    operations: ClassVar[Mapping[str, type[ApiView]]] = {}

    http_method_names: Sequence[str] = ("get", "head", "post")
    parser_classes: Sequence[type[BaseParser]] = (StrictJsonParser,)
    content_negotiation_class = FirstRenderer

    query: dict[str, Any]

    @property
    def person(self) -> User:
        """The person whose token was sent; ``initial`` refuses requests without a token."""
        return cast("User", self.request.user)

    def find_operation(self, method: str | None) -> type[ApiView]:
        """The class that declares the operation of ``method`` at this address."""
        return self.operations.get("GET" if method == HTTPMethod.HEAD else str(method), type(self))

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # The charset in the header Content-Type applies to the body, not to the address.
        request._request.encoding = "utf-8"  # noqa: SLF001
        # Pages redirect to https. A program that is redirected would go on sending its token in the clear.
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            raise PlainHttp
        super().initial(request, *args, **kwargs)
        operation = self.find_operation(request.method)
        # Before anything is looked up: a token without the scope learns nothing.
        if request.method in WITH_A_SCOPE and hasattr(self, str(request.method).lower()):
            scope = find_scope(operation, request.method)
            if scope not in cast("ApiToken", request.auth).scopes:
                raise ScopeMissing(scope)
        self.open(operation)
        # Before its parameters are looked at.
        if not hasattr(self, str(request.method).lower()):
            self.http_method_not_allowed(request, *args, **kwargs)
        self.query = self._read_query(request)

    def open(self, operation: type[ApiView]) -> None:
        """Load the object that the address names, if the person may see it. Raises ``Http404`` or ``PermissionDenied``."""

    def finalize_response(  # type: ignore[override]
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        super().finalize_response(request, cast("Response", response), *args, **kwargs)
        response.headers["Cache-Control"] = "no-store"
        if isinstance(response, Response) and response.exception:
            response.accepted_renderer, response.accepted_media_type = JSONRenderer(), str(JSONRenderer.media_type)
        return response

    def read_body(self) -> dict[str, Any]:
        """The fields of the body, validated by ``Input``. Raises ``ValidationError``, or what the parser raises."""
        self.refuse_chunks()
        body = self.find_operation(self.request.method).Input(data=self.request.data)
        body.is_valid(raise_exception=True)
        return cast("dict[str, Any]", body.validated_data)

    def refuse_chunks(self) -> None:
        """Raises ``ParseError`` for a body without a length, which the server cannot bound."""
        if "Transfer-Encoding" in self.request.headers and not self.request.headers.get("Content-Length"):
            raise ParseError("The body was sent in chunks. Send it in one piece, with the header Content-Length.")

    def answer(self, found: object, *, status: int = 200) -> Response:
        """One object, serialized by ``Output``."""
        output = self.find_operation(self.request.method).Output
        return Response(output(found).data, status=status)

    def answer_page(self, rows: QuerySet[Any, Any] | Sequence[Any]) -> Response:
        """The requested page of ``rows``."""
        pages = (self.find_operation(self.request.method).pagination_class or Pages)()
        return self.answer_rows(pages, pages.paginate_queryset(rows, self.request, view=self))

    def answer_rows(self, pages: Pages, rows: Sequence[Any]) -> Response:
        """The response for rows that are already one page."""
        output = self.find_operation(self.request.method).Output
        return pages.get_paginated_response(output(rows, many=True).data)

    def _read_query(self, request: Request) -> dict[str, Any]:
        kind = self.find_operation(request.method).Query if request.method in {"GET", "HEAD"} else Parameters
        given = kind(data=request.query_params.dict())
        try:
            twice = [name for name, values in request.query_params.lists() if len(values) > 1]
            if twice:
                raise ValidationError({name: ["Send this only once."] for name in twice})
            given.is_valid(raise_exception=True)
        except ValidationError as error:
            raise InvalidParameters(error.detail) from error
        return cast("dict[str, Any]", given.validated_data)


def find_scope(operation: type[ApiView], method: str) -> Scope:
    """The scope that a token needs for an operation. Raises ``ImproperlyConfigured`` for an operation that writes and declares
    none."""
    if operation.scope is not None:
        return operation.scope
    if method not in {"GET", "HEAD"}:
        raise ImproperlyConfigured(f"{operation.__name__} writes: declare the scope that a token needs for it.")
    return Scope.READ


class StudyView(ApiView):
    """One operation in a study. Outsiders get 404; members need ``permission``."""

    permission: ClassVar[Permission] = Permission.VIEW
    study: Study
    role: Role

    def open(self, operation: type[ApiView]) -> None:
        permission = cast("type[StudyView]", operation).permission
        self.study, self.role = open_study(self.person, self.kwargs["slug"], permission)

    @cached_property
    def viewer(self) -> Viewer:
        """The person, and what she may see."""
        return Viewer(self.study, self.person, self.role)


class UnknownAddress(ApiView):
    """Every other address below the API, with the same form of error."""

    schema = None

    def open(self, operation: type[ApiView]) -> None:
        raise Http404(
            "The API has no operation at this address. Its addresses end with a slash; /api/v1/schema/ lists them."
        )


def at_one_address(**operations: type[ApiView]) -> type[ApiView]:
    """A view that chooses one of several operations, each a class, by the method of the request."""
    by_method = {method.upper(): operation for method, operation in operations.items()}
    name = "Or".join(operation.__name__ for operation in operations.values())
    return type(name, tuple(operations.values()), {"operations": by_method})


def list_columns(output: type[Serializer[Any]]) -> list[str]:
    """The columns that an output needs, for ``QuerySet.values``."""
    return [str(field.source) for field in output().fields.values()]


def find_row(rows: QuerySet[Any, Any], pk: int, what: str) -> Any:
    """The row with this number among those the person may see. Raises ``Http404`` with a message."""
    row = rows.filter(pk=pk).first()
    if row is None:
        raise Http404(f"There is no {what} {pk} in this study.")
    return row
