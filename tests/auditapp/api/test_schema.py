import json
import re
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from drf_spectacular.management.commands.spectacular import Command as SpectacularCommand

from auditapp.api.schema import build_schema
from tests.auditapp.api.conftest import Program

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference" / "api.md"


@cache
def read_docs():
    return DOCS.read_text(encoding="utf-8")


def list_operations():
    for path, operations in build_schema()["paths"].items():
        for method, operation in operations.items():
            yield path, method.upper(), operation


def test_the_schema_is_valid_and_made_without_a_warning(tmp_path):
    call_command(SpectacularCommand(), "--fail-on-warn", "--validate", "--file", str(tmp_path / "schema.yaml"))


def test_every_field_of_the_schema_is_described():
    for name, component in build_schema()["components"]["schemas"].items():
        for field, schema in component.get("properties", {}).items():
            assert schema.get("description"), f"{name}.{field}"


def test_every_operation_and_parameter_is_described():
    for path, method, operation in list_operations():
        assert operation["description"], path
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), f"{method} {path} {parameter['name']}"


def test_every_refusal_has_the_one_error_shape():
    for path, method, operation in list_operations():
        refusals = {status: answer for status, answer in operation["responses"].items() if int(status) >= 400}
        assert {"400", "401"} <= set(refusals), path
        for status, answer in refusals.items():
            schema = answer["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/Error"}, f"{method} {path} {status}"


def test_every_operation_asks_for_a_token():
    for path, _, operation in list_operations():
        assert [list(each) for each in operation["security"]] == [["token"]], path


def test_the_schema_says_where_it_is_served_and_is_openapi_3_1():
    assert build_schema()["servers"] == [{"url": settings.BASE_URL}]
    assert build_schema()["openapi"].startswith("3.1.")
    # A word of OpenAPI 3.0 that means nothing in 3.1: a null would break what is promised.
    assert "nullable" not in json.dumps(build_schema(), default=str)


def test_every_object_names_all_its_fields():
    objects = [each for each in build_schema()["components"]["schemas"].values() if "properties" in each]
    assert objects
    assert all(each["additionalProperties"] is False for each in objects)


@pytest.mark.django_db
def test_the_schema_is_read_with_a_token_as_json_or_yaml(coder, program_of):
    assert Program().get("schema/").status == 401
    program = program_of(coder)
    assert program.get("schema/").body["info"]["title"] == "auditapp API"
    yaml = program.client.get("/api/v1/schema/", {"format": "yaml"})
    assert yaml.headers["Content-Type"].startswith("application/vnd.oai.openapi")
    assert yaml.content.startswith(b"openapi: 3")
    assert program.get("schema/", format="html").status == 400


@pytest.mark.django_db
def test_a_refused_reader_of_the_schema_gets_json(client):
    response = client.get("/api/v1/schema/?format=yaml")
    assert response.headers["Content-Type"] == "application/json"
    assert response.json()["error"]["code"] == "not_authenticated"


def test_every_operation_is_in_the_docs_with_an_example():
    headings = set(re.findall(r"^### (\w+) (\S+)$", read_docs(), flags=re.MULTILINE))
    assert headings == {(method, path) for path, method, _ in list_operations()}
    sections = re.split(r"^### ", read_docs(), flags=re.MULTILINE)[1:]
    for section in sections:
        assert "curl " in section, section.splitlines()[0]


def test_every_field_and_parameter_is_in_the_docs():
    words = set(re.findall(r"`([^`\n]+)`", read_docs()))
    for name, component in build_schema()["components"]["schemas"].items():
        for field in component.get("properties", {}):
            assert field in words, f"{name}.{field}"
    for path, method, operation in list_operations():
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "query":
                assert parameter["name"] in words, f"{method} {path} {parameter['name']}"


def test_every_code_of_an_error_is_in_the_docs():
    source = Path(__file__).resolve().parents[3] / "auditapp" / "api" / "errors.py"
    codes = set(re.findall(r'(?:Refusal|_explain_fields)\(\d+, "(\w+)"', source.read_text(encoding="utf-8")))
    assert len(codes) > 8
    for code in codes:
        assert f"`{code}`" in read_docs()
