from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.auditapp.api.conftest import Program
from transcripts.accounts.actions import create_token, revoke_token
from transcripts.accounts.models import ApiToken, User

pytestmark = pytest.mark.django_db


def test_a_token_opens_the_studies_of_its_person(study, coder, program_of):
    answer = program_of(coder).get("studies/")
    assert answer.status == 200
    assert [row["slug"] for row in answer.body["results"]] == [study.slug]


def test_a_request_without_a_token_is_told_how_to_send_one():
    answer = Program().get("studies/")
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.error["code"] == "not_authenticated"
    assert "Authorization: Bearer" in answer.error["message"]


def test_a_request_without_a_token_is_not_sent_to_the_sign_in_page(study):
    for path in ("studies/", f"studies/{study.slug}/codings/", "schema/", "nothing/here/"):
        assert Program().get(path).status == 401


def test_a_revoked_token_is_refused(coder):
    token, secret = create_token(user=coder, name="old", by=coder)
    assert Program(secret).get("studies/").status == 200
    revoke_token(token=token, by=coder)
    answer = Program(secret).get("studies/")
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.error["code"] == "authentication_failed"


def test_use_of_a_token_is_noted_once_a_minute(coder):
    token, secret = create_token(user=coder, name="script", by=coder)
    program = Program(secret)
    with CaptureQueriesContext(connection) as first:
        program.get("studies/")
    with CaptureQueriesContext(connection) as second:
        program.get("studies/")
    assert len(first) == len(second) + 1
    token.refresh_from_db()
    assert token.last_used_at is not None
    ApiToken.objects.update(last_used_at=token.last_used_at - timedelta(seconds=61))
    program.get("studies/")
    noted = ApiToken.objects.get().last_used_at
    assert noted is not None
    assert noted > token.last_used_at - timedelta(seconds=1)


def test_an_expired_token_is_refused(coder):
    token, secret = create_token(user=coder, name="old", by=coder, days=1)
    ago = timedelta(days=2)
    ApiToken.objects.update(created_at=token.created_at - ago, expires_at=token.expires_at - ago)
    answer = Program(secret).get("studies/")
    assert answer.status == 401
    assert "expired" in answer.error["message"]


def test_a_token_of_a_closed_account_is_refused(coder, program_of):
    program = program_of(coder)
    User.objects.filter(pk=coder.pk).update(is_active=False)
    assert program.get("studies/").status == 401


def test_a_refused_token_is_not_told_why(coder, program_of):
    program = program_of(coder)
    User.objects.filter(pk=coder.pk).update(is_active=False)
    assert program.get("studies/").error == Program("never-made").get("studies/").error


def test_a_header_of_another_form_is_refused():
    for header in ("Bearer", "Bearer a b", "Basic YTpi", "Token x", "Bearer\xa0\xff", "x" * 10_000):
        response = Client(headers={"Authorization": header}).get("/api/v1/studies/")
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "authentication_failed"


def test_the_session_of_a_browser_opens_nothing(coder):
    client = Client()
    client.force_login(coder)
    assert client.get("/api/v1/studies/").status_code == 401


def test_a_session_beside_a_token_changes_nobody(study, coder, outsider):
    client = Client(headers={"Authorization": f"Bearer {create_token(user=outsider, name='', by=outsider)[1]}"})
    client.force_login(coder)
    assert client.get(f"/api/v1/studies/{study.slug}/").status_code == 404


def test_answers_are_kept_by_no_cache(coder, program_of):
    assert program_of(coder).get("studies/").headers["Cache-Control"] == "no-store"
    assert Program().get("studies/").headers["Cache-Control"] == "no-store"
