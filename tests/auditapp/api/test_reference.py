"""The pages on the API, which are made from its schema."""

from __future__ import annotations

from collections.abc import Callable

import lxml.html
import pytest
from django.test import Client
from django.urls import reverse

from auditapp.api.reference import describe_type, read_resources
from auditapp.api.schema import build_schema
from transcripts.accounts.models import User

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]


def test_every_operation_is_listed_and_leads_to_its_description(coder: User, client_of: SignIn) -> None:
    client = client_of(coder)
    index = lxml.html.fromstring(client.get(reverse("api_reference")).content.decode())
    links = {str(link.get("href")) for link in index.iterfind(".//main//a")}
    listed = 0
    for resource, operations in read_resources().items():
        address = reverse("api_resource", args=[resource])
        page = lxml.html.fromstring(client.get(address).content.decode())
        for operation in operations:
            assert f"{address}#{operation['id']}" in links
            assert page.findtext(f".//*[@id='{operation['id']}']") == operation["name"]
            listed += 1
    assert listed == sum(len(path) for path in build_schema()["paths"].values())


def test_every_link_on_a_page_leads_somewhere(coder: User, client_of: SignIn) -> None:
    client = client_of(coder)
    for resource in read_resources():
        page = lxml.html.fromstring(client.get(reverse("api_resource", args=[resource])).content.decode())
        ids = [str(each.get("id")) for each in page.iterfind(".//*[@id]")]
        assert len(ids) == len(set(ids)), "an id twice"
        for link in page.iterfind(".//main//a"):
            if (target := str(link.get("href"))).startswith("#"):
                assert target[1:] in ids, f"{resource}: {target}"


def test_an_operation_shows_its_parameters_bodies_answers_and_scope(coder: User, client_of: SignIn) -> None:
    page = client_of(coder).get(reverse("api_resource", args=["codings"])).content.decode()
    for words in (
        "hidden_interviews",
        "NewCodingRequest",
        "one of: semantic, latent",
        "needs the scope <code>code</code>",
    ):
        assert words in page
    assert "-d &#x27;{&quot;sentence&quot;: 1, &quot;code&quot;:" in page


def test_a_resource_that_is_not_there_is_not_found(coder: User, client_of: SignIn) -> None:
    assert client_of(coder).get(reverse("api_resource", args=["nothing"])).status_code == 404


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 1000}, "whole number, 1 to 1000"),
        ({"type": ["string", "null"], "format": "date-time"}, "time (ISO 8601) or null"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"enum": ["a", ""]}, "one of: a, (empty)"),
        ({"type": "string", "maxLength": 1000}, "text, at most 1,000 characters"),
        ({"allOf": [{"$ref": "#/components/schemas/Error"}]}, "Error"),
        ({}, "any value"),
    ],
)
def test_types_are_described_in_words(schema: dict[str, object], words: str) -> None:
    assert describe_type(schema) == words


def test_the_choices_of_a_value_stand_once(coder: User, client_of: SignIn) -> None:
    page = client_of(coder).get(reverse("api_resource", args=["codings"])).content.decode()
    assert "one of: semantic, latent" in page
    assert "* `" not in page
