"""What the page of the API is drawn from; tests/browser/test_reference.py looks at the page itself."""

import pytest
from django.urls import reverse

from auditapp.api.schema import build_schema

pytestmark = pytest.mark.django_db


def test_the_page_gets_the_schema_without_a_token_and_sends_nowhere_else(coder, client_of):
    client = client_of(coder)
    schema = client.get(reverse("api_schema")).json()
    assert schema["paths"] == build_schema()["paths"]
    assert "servers" not in schema
    assert f'data-schema="{reverse("api_schema")}"' in client.get(reverse("api_reference")).content.decode()


def test_an_operation_says_which_scope_its_token_needs():
    add = build_schema()["paths"]["/api/v1/studies/{slug}/codings/"]["post"]
    assert add["description"].endswith("The token needs the scope `code`.")
