"""Long lists are divided into pages of at most a thousand rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django.conf import settings
from django.db.models import QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.inputs import Numeral, Parameters
from transcripts.ui.typed_text import MAX_ID

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000


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
    """Counts a list and returns one page of it in two queries, whatever its length. The list needs a fixed order."""

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
        """None: an operation's ``Query`` declares them with its other parameters."""
        return []

    def _write_link(self, offset: int) -> str:
        """Built from BASE_URL, never from the host in the request."""
        query = self.request.query_params.copy()
        query["limit"], query["offset"] = str(self.limit), str(offset)
        return f"{settings.BASE_URL}{self.request.path}?{query.urlencode()}"


class CursorParameters(Parameters):
    """Which part of a long list to return: what comes after a row. What is added meanwhile moves nothing."""

    limit = Numeral(
        min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT, help_text="How many rows to return at most."
    )
    after = Numeral(
        min_value=0, max_value=MAX_ID, default=0, help_text="Return rows with a larger id than this; 0 starts."
    )


class Cursor(Pages):
    """Returns the rows after an id in one query, without counting: for lists as long as a study. Rows bear their ``id``."""

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
