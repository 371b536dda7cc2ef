import pytest
from django.db import OperationalError, ProgrammingError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client, RequestFactory

from auditapp.batches.ledger import leases
from auditapp.batches.pure import spool
from auditapp.outbound.clock import read_now
from auditapp.site.log_lines import is_outage
from auditapp.wsgi import application


def test_the_process_says_that_it_is_alive_without_a_database(client):
    assert client.get("/livez").content == b"alive\n"


@pytest.mark.django_db
def test_readiness_names_a_silent_worker_and_stays_ready(client):
    answer = client.get("/readyz").json()
    assert answer["ready"] is True
    assert answer["checks"]["worker"] == "silent"
    leases.write_sign(started_at=read_now(), queues=1, problem="")
    assert client.get("/readyz").json()["checks"]["worker"] == "ok"


@pytest.mark.django_db
def test_readiness_tells_a_worker_that_something_hinders_and_a_full_disk(client, monkeypatch):
    monkeypatch.setattr(spool, "MIN_FREE_BYTES", 2**80)
    monkeypatch.setattr(spool, "MIN_FREE_SHARE", 2.0)
    leases.write_sign(started_at=read_now(), queues=1, problem=leases.find_problem())
    answer = client.get("/readyz")
    assert answer.status_code == 503
    checks = answer.json()["checks"]
    assert (checks["database"], checks["disk"], checks["worker"]) == ("ok", "nearly full", "hindered")


@pytest.fixture
def no_database(db):
    """A database that refuses every question from now on."""

    def refuse(self):
        raise OperationalError("connection refused, with words that are no reader's business")

    # Undone before the database's own fixture ends the test's transaction.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseWrapper, "cursor", refuse)
        yield


@pytest.fixture
def patient_client():
    """A browser that shows what a person would see of a failure, where the test client would raise it."""
    return Client(raise_request_exception=False)


@pytest.mark.usefixtures("no_database")
class TestOutage:
    def test_a_page_says_so_and_when_to_try_again(self, patient_client, caplog):
        patient_client.cookies["sessionid"] = "a" * 32
        answer = patient_client.get("/account/")
        assert answer.status_code == 503
        assert answer["Retry-After"] == "5"
        assert "The database is not answering" in answer.content.decode()
        assert "reader's business" not in answer.content.decode()
        [record] = [record for record in caplog.records if record.name == "django.request"]
        assert record.exc_info is None
        assert record.getMessage().startswith("The database does not answer (OperationalError)")

    def test_a_part_of_a_page_gets_a_few_words_and_the_desk_too(self, patient_client):
        patient_client.cookies["sessionid"] = "a" * 32
        for header in ({"HX-Request": "true"}, {"X-Desk": "coder"}):
            answer = patient_client.get("/account/", headers=header)
            assert answer.status_code == 503
            assert answer.content.decode().startswith('<p class="message error"')

    def test_the_api_answers_in_its_own_shape(self, patient_client):
        answer = patient_client.get("/api/v1/studies/", headers={"Authorization": "Bearer x"})
        assert answer.status_code == 503
        assert answer["Retry-After"] == "5"
        assert answer.json()["error"]["code"] == "database_unavailable"

    def test_the_process_is_alive_and_not_ready(self, patient_client):
        assert patient_client.get("/livez").status_code == 200
        answer = patient_client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["checks"]["database"] == "unreachable"


@pytest.mark.django_db
def test_a_wrong_statement_is_a_failure_of_the_program_and_no_outage():
    with pytest.raises((OperationalError, ProgrammingError)) as raised, connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")
    assert not is_outage(raised.value)


@pytest.mark.django_db
def test_other_failures_are_still_told_as_such(patient_client, owner):
    def fail(self):
        raise RuntimeError("a bug")

    patient_client.force_login(owner)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseWrapper, "cursor", fail)
        assert patient_client.get("/account/").status_code == 500


@pytest.mark.django_db
def test_an_address_without_anything_is_answered_by_our_own_page(client):
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()


@pytest.mark.django_db
def test_help_is_open_to_everybody(client):
    answer = client.get("/help/")
    assert answer.status_code == 200
    assert 'href="/help/guide/second-order-bias/"' in answer.content.decode()


@pytest.mark.django_db
def test_pages_carry_a_strict_content_security_policy(client):
    policy = client.get("/help/")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.django_db
@pytest.mark.parametrize("charset", ["zlib", "rot13", "idna", "utf-8", "nonsense"])
def test_no_charset_that_a_request_claims_makes_the_site_fail(charset):
    environ = RequestFactory().get("/livez?a=1").environ | {"CONTENT_TYPE": f"text/plain; charset={charset}"}
    # The client's own handler takes a made request; the server's begins where this must not fail.
    assert application.get_response(application.request_class(environ)).status_code == 200
