"""The OpenAPI 3 schema of the API, generated from the operations."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.api.errors import ErrorOutput
from auditapp.api.fields import Choice, Parameters
from auditapp.api.views import ApiView, StudyView, find_scope
from transcripts.ui.typed_text import MAX_ID

REFUSALS = {
    400: "The request cannot be read, or has an unknown or invalid parameter.",
    401: "The token is missing, unknown, revoked or expired, or its account is closed.",
    403: "The token lacks the required scope, or your role in this study does not allow this.",
    404: "The object does not exist, or you are not a member of its study.",
    409: "A rule about coding, batches or money forbids this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A field is missing or unknown, or has an invalid value.",
    429: "Too many requests. Wait for the seconds given in the header Retry-After.",
}
SLUG = {"type": "string", "minLength": 1, "maxLength": 60, "pattern": "^[-a-zA-Z0-9_]+$"}
NUMBER = {"type": "integer", "minimum": 1, "maximum": MAX_ID}
IN_ADDRESS: dict[str, tuple[dict[str, Any] | OpenApiTypes, str]] = {
    "slug": (SLUG, "The short name of a study."),
    "other_id": (NUMBER, "Number of another batch of the study."),
    "interview_id": (NUMBER, "Number of an interview."),
    "session_id": (NUMBER, "Number of an interview that is or was held here."),
    "coding_id": (NUMBER, "Number of a coding."),
    "decision_id": (NUMBER, "Number of a decision."),
    "memo_id": (NUMBER, "Number of a memo."),
    "link_id": (NUMBER, "Number of a link."),
    "score_id": (NUMBER, "Number of a score."),
    "pair_name": (OpenApiTypes.STR, "Name of a pair."),
    "number": (NUMBER, "Number of a version of the codebook."),
    "experiment_id": (NUMBER, "Number of an experiment."),
    "export_id": (NUMBER, "Number of a file that is written by a worker."),
    "what": (OpenApiTypes.STR, "Key of an export."),
    "batch_id": (NUMBER, "Number of a batch."),
    "job_id": (NUMBER, "Number of a job at a provider's batch service."),
    "annotator_id": (NUMBER, "Number of an annotator."),
}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema describes tokens."""

    target_class = "auditapp.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API token of yours. An operation names the scope that the token needs.",
        }

    def get_security_requirement(self, auto_schema: AutoSchema) -> dict[str, list[str]]:
        """In OpenAPI 3.1 every scheme can name the scopes that it needs, not only OAuth."""
        operation = cast("DeclaredSchema", auto_schema).operation
        return {self.name: [find_scope(operation, auto_schema.method).value]}


class DeclaredSchema(AutoSchema):
    """Describes an operation from its class."""

    @property
    def operation(self) -> type[ApiView]:
        return cast("ApiView", self.view).find_operation(self.method)

    def get_operation_id(self) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.operation.__name__).lower()

    def get_tags(self) -> list[str]:
        return [self.operation.tag or self.operation.__module__.rpartition(".")[2]]

    def get_summary(self) -> str:
        return self.get_operation_id().replace("_", " ").capitalize()

    def get_description(self) -> str:  # type: ignore[override]
        said = re.sub(r"[ \n]+", " ", self.operation.__doc__ or "").strip()
        return f"{said} The token needs the scope `{find_scope(self.operation, self.method).value}`."

    def get_request_serializer(self) -> Any:
        takes = self.operation.Input
        return takes if takes().fields else None

    def get_response_serializers(self) -> Any:
        operation = self.operation
        output: Any = getattr(operation, "Output", OpenApiTypes.OBJECT)
        answer = output(many=True) if operation.pagination_class else output
        found: dict[object, object] = {
            status: OpenApiResponse(answer, description=sentence) for status, sentence in operation.success.items()
        }
        for kind in operation.file_types:
            # A file of JSON is read as JSON: it is no string of bytes.
            content = OpenApiTypes.ANY if kind == "application/json" else OpenApiTypes.BINARY
            found[200, kind] = OpenApiResponse(content, description="The file.")
        for status in sorted({400, 401, 403, 429, *operation.refusals, *self._list_further_refusals()}):
            found[status, "application/json"] = OpenApiResponse(ErrorOutput, description=REFUSALS[status])
        return found

    def get_override_parameters(self) -> list[Any]:
        in_address = [
            OpenApiParameter(name, kind, OpenApiParameter.PATH, description=sentence)
            for name, (kind, sentence) in IN_ADDRESS.items()
            if f"{{{name}}}" in self.path
        ]
        query = self.operation.Query
        return [*in_address, query] if self.method == "GET" and query().fields else in_address

    def _list_further_refusals(self) -> set[int]:
        inside = {404} if issubclass(self.operation, StudyView) else set()
        return inside | ({413, 415, 422} if self.method == "POST" else set())


class ReadSchema(ApiView):
    """The schema of the API."""

    class Query(Parameters):
        format = Choice(["json", "yaml"], default="json", help_text="The format.")

    renderer_classes = (OpenApiJsonRenderer, OpenApiYamlRenderer)

    def get(self, request: Request) -> Response:
        if self.query["format"] == "yaml":
            request.accepted_renderer = OpenApiYamlRenderer()
            request.accepted_media_type = OpenApiYamlRenderer.media_type
        return Response(build_schema())


@cache
def build_schema() -> dict[str, Any]:
    """The whole schema. It is the same for everybody and does not change while the program runs."""
    return cast("dict[str, Any]", SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def refuse_unknown_fields(result: dict[str, Any], **kwargs: object) -> dict[str, Any]:
    """Declare that every object with named fields, in bodies and in answers, has no other fields. A hook of drf-spectacular."""
    for component in result["components"]["schemas"].values():
        if "properties" in component:
            component["additionalProperties"] = False
    return result
