"""What a program may do with a token: never more than the scopes of the token, nor than its person."""

from uuid import uuid4

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern

from auditapp.api import urls
from auditapp.api.schema import build_schema
from auditapp.api.views import ApiView, UnknownAddress, find_scope
from transcripts.accounts.models import Scope
from transcripts.coding.models import Coding
from transcripts.corpus.models import Interview


def list_operations():
    """The name of each address, a method, and the class of what it does there."""
    for pattern in urls.urlpatterns:
        assert isinstance(pattern, URLPattern)
        view = pattern.callback.cls
        if issubclass(view, UnknownAddress):
            continue
        for method in view.http_method_names:
            if method != "head" and hasattr(view, method):
                yield str(pattern.name), method.upper(), view().find_operation(method.upper())


def test_every_operation_that_writes_declares_its_scope():
    writing = [(name, operation) for name, method, operation in list_operations() if method != "GET"]
    assert writing
    for name, operation in writing:
        assert operation.scope is not None, f"{name}: {operation.__name__} has no line `scope = Scope.…`"


def test_an_operation_that_writes_without_a_scope_is_refused_to_everybody():
    class Undeclared(ApiView):
        """Writes."""

    with pytest.raises(ImproperlyConfigured, match="Undeclared"):
        find_scope(Undeclared, "POST")
    assert find_scope(Undeclared, "GET") == Scope.READ


def test_the_schema_names_the_scope_of_each_operation():
    operations = build_schema()["paths"].values()
    named = {each["operationId"]: each["security"] for path in operations for each in path.values()}
    for _, method, operation in list_operations():
        found = [needs for name, needs in named.items() if name.replace("_", "") == operation.__name__.lower()]
        assert found == [[{"token": [find_scope(operation, method)]}]], operation.__name__


@pytest.mark.django_db
def test_a_token_without_a_scope_is_told_which_is_missing(study, lead, sentence, code, program_of):
    coding = {"sentence": sentence.pk, "code": code.identifier, "idempotency_key": str(uuid4())}
    new_file = {"name": "f.jsonl", "content": '{"id": "new", "text": "It depends."}'}
    tries = [
        (Scope.CODE, "codings", coding),
        (Scope.CODE, "codings/1/withdraw", {}),
        (Scope.MANAGE, "interviews", new_file),
    ]
    for scope, path, body in tries:
        others = [each for each in Scope.values if each != scope]
        answer = program_of(lead, scopes=others).post(f"studies/{study.slug}/{path}/", body)
        assert (answer.status, answer.error["code"]) == (403, "scope_missing"), path
        assert f"the scope {scope}." in answer.error["message"]
    assert not Coding.objects.exists()
    assert Interview.objects.filter(external_id="new").count() == 0
    answer = program_of(lead, scopes=[Scope.CODE, Scope.MANAGE]).get("studies/")
    assert (answer.status, answer.error["code"]) == (403, "scope_missing")
    assert "the scope read." in answer.error["message"]


@pytest.mark.django_db
def test_a_token_with_the_one_scope_that_is_needed_suffices(study, lead, sentence, code, program_of):
    coding = {"sentence": sentence.pk, "code": code.identifier, "idempotency_key": str(uuid4())}
    path = f"studies/{study.slug}/codings/"
    assert program_of(lead, scopes=[Scope.CODE]).post(path, coding).status in {201, 422}
    assert program_of(lead, scopes=[Scope.READ]).get(path).status == 200
    assert program_of(lead, scopes=[Scope.READ]).client.head(f"/api/v1/{path}").status_code == 200
    assert program_of(lead, scopes=[Scope.CODE]).client.head(f"/api/v1/{path}").status_code == 403


@pytest.mark.django_db
def test_a_scope_gives_nothing_that_the_person_may_not_do(study, reader, outsider, program_of):
    path = f"studies/{study.slug}/interviews/"
    answer = program_of(reader, scopes=Scope.values).post(path, {})
    assert (answer.status, answer.error["code"]) == (403, "permission_denied")
    assert program_of(outsider, scopes=Scope.values).post(path, {}).status == 404


@pytest.mark.django_db
def test_a_missing_scope_tells_nothing_of_which_studies_exist(study, outsider, program_of):
    program = program_of(outsider, scopes=[Scope.CODE])
    assert program.get(f"studies/{study.slug}/").body == program.get("studies/no-such-study/").body
