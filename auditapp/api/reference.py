"""Pages on the API for people, made from its schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from auditapp.api.schema import build_schema
from transcripts.accounts.models import Scope

Schema = Mapping[str, Any]
WORDS = {
    "uuid": "UUID",
    "date-time": "time (ISO 8601)",
    "date": "date",
    "uri": "address",
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}
EXAMPLES = {"integer": 1, "number": 1.0, "boolean": False, "object": {}}


@require_safe
def show_reference(request: HttpRequest) -> HttpResponse:
    """What the API offers: every operation, by resource."""
    resources = read_resources()
    schema = build_schema()
    page = {
        "resources": resources,
        "scopes": Scope.choices,
        "server": schema["servers"][0]["url"],
        "about": schema["info"]["description"],
    }
    return render(request, "api/reference.html", page)


@require_safe
def show_resource(request: HttpRequest, resource: str) -> HttpResponse:
    """The operations of one resource, with their parameters, bodies and answers."""
    resources = read_resources()
    if resource not in resources:
        raise Http404
    operations = resources[resource]
    names = [name for each in operations for name in (each["takes"], each["gives"]) if name]
    page = {
        "resource": resource,
        "resources": resources,
        "operations": operations,
        "objects": describe_objects(names),
    }
    return render(request, "api/resource.html", page)


@cache
def read_resources() -> dict[str, list[dict[str, Any]]]:
    """The operations of the schema as the pages show them, by resource."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, operations in build_schema()["paths"].items():
        for method, operation in operations.items():
            found.setdefault(operation["tags"][0], []).append(_describe_operation(path, method.upper(), operation))
    return found


def _describe_operation(path: str, method: str, operation: Schema) -> dict[str, Any]:
    bodies = operation.get("requestBody", {}).get("content", {})
    kind = next(iter(bodies), "application/json")
    body = bodies.get(kind, {}).get("schema", {})
    answers = [(status, answer["description"]) for status, answer in sorted(operation["responses"].items())]
    success: Schema = next((operation["responses"][status] for status, _ in answers if status.startswith("2")), {})
    content = next(iter(success.get("content", {}).values()), dict[str, Any]()).get("schema", {})
    return {
        "id": operation["operationId"],
        "name": operation["summary"],
        "method": method,
        "path": path,
        "description": operation["description"],
        "scope": ", ".join(name for each in operation["security"] for name in each.get("token", ())),
        "parameters": [
            {
                "name": each["name"],
                "type": describe_type(each["schema"]),
                "place": {"path": "in the address", "query": "parameter"}[each["in"]],
                "required": each.get("required", False),
                "meaning": describe(each),
            }
            for each in operation.get("parameters", ())
        ],
        "takes": _name_component(body),
        "gives": _name_component(content),
        "answers": answers,
        "curl": _write_curl(path, method, body, kind),
    }


def describe_objects(names: Iterable[str]) -> list[dict[str, Any]]:
    """The objects of these names, and those inside them, each with its fields."""
    components = build_schema()["components"]["schemas"]
    left, found = list(names), dict[str, dict[str, Any]]()
    while left:
        name = left.pop(0)
        if name in found:
            continue
        component = components[name]
        fields = component.get("properties", {})
        found[name] = {
            "name": name,
            "meaning": describe(component),
            "fields": [
                {
                    "name": field,
                    "type": describe_type(schema),
                    "object": _find_object(schema),
                    "required": field in component.get("required", ()),
                    "meaning": describe(schema),
                }
                for field, schema in fields.items()
            ],
        }
        left += [inner for schema in fields.values() if (inner := _find_object(schema))]
    return list(found.values())


def describe_type(schema: Schema) -> str:
    """What values a schema allows, in a few words."""
    if name := _name_component(schema):
        component = build_schema()["components"]["schemas"][name]
        return name if "properties" in component else describe_type(component)
    for several in ("allOf", "oneOf", "anyOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(describe_type(each) for each in schema[several]))
    if "enum" in schema:
        return f"one of: {', '.join('(empty)' if each == '' else str(each) for each in schema['enum'])}"
    kinds = schema.get("type", "any value")
    return " or ".join(_describe_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _describe_kind(kind: str, schema: Schema) -> str:
    if kind == "array":
        return f"list of {describe_type(schema.get('items', {}))}"
    words = WORDS.get(str(schema.get("format")), WORDS.get(kind, kind)) if kind == "string" else WORDS.get(kind, kind)
    low, high = schema.get("minimum"), schema.get("maximum")
    if kind in {"integer", "number"} and low is not None and high is not None and high < 2**31 - 1:
        return f"{words}, {low} to {high}"
    if kind == "string" and "maxLength" in schema:
        return f"{words}, at most {schema['maxLength']:,} characters"
    return words


def _find_object(schema: Schema) -> str:
    """The name of the object that a field holds, alone, as a choice or in a list; "" for none."""
    for inner in (schema, schema.get("items", {}), *schema.get("allOf", ()), *schema.get("oneOf", ())):
        name = _name_component(inner)
        if name and "properties" in build_schema()["components"]["schemas"][name]:
            return name
    return ""


def _name_component(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _write_curl(path: str, method: str, body: Schema, kind: str) -> str:
    """A request as one types it, with an example of what is required in the body."""
    whole = build_schema()["servers"][0]["url"] + path
    head = 'curl -H "Authorization: Bearer $TOKEN"'
    if method == "GET":
        return f"{head} {whole}"
    if not body:
        return f"{head} -X {method} {whole}"
    component = build_schema()["components"]["schemas"].get(_name_component(body), {})
    fields = component.get("properties", {})
    required = component.get("required", ())
    example = {name: _give_example(schema) for name, schema in fields.items() if name in required}
    return f"{head} -H \"Content-Type: {kind}\" \\\n  -d '{json.dumps(example)}' {whole}"


def _give_example(schema: Schema) -> object:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_give_example(schema["items"])]
    if name := _name_component(schema):
        return _give_example(build_schema()["components"]["schemas"][name])
    return EXAMPLES.get(str(schema.get("type")), "…")


def describe(part: dict[str, Any]) -> str:
    """What the schema says of a part, without the list of its choices, which stand beside it."""
    return str(part.get("description", "")).split("\n\n* `")[0].split("\n* `")[0]
