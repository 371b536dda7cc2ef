"""What is shown, and logged, when a request cannot be answered."""

import logging
import re

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.site.clients import CLIENT
from tests.support.instance import ROOT
from transcripts.accounts.actions import create_token
from transcripts.audit_trail.models import AuditEvent


class TestWrongMethod:
    @pytest.fixture
    def address(self, study):
        return reverse("studies:set_method", args=[study.slug])

    def test_the_address_of_a_button_has_a_page_with_the_way_back(self, study, address, lead, client_of):
        answer = client_of(lead).get(address)
        assert (answer.status_code, answer["Allow"]) == (405, "POST")
        page = answer.content.decode()
        assert "This is the address of a button, not of a page" in page
        assert f'href="{reverse("studies:home", args=[study.slug])}">Go to the study</a>' in page
        assert answer["Content-Security-Policy"]

    def test_an_outsider_is_shown_no_way_into_the_study(self, study, address, outsider, client_of):
        page = client_of(outsider).get(address).content.decode()
        assert "To your studies" in page
        assert "Go to the study" not in page

    @pytest.mark.parametrize("header", ["HX-Request", "X-Desk"])
    def test_scripts_get_no_page(self, address, lead, client_of, header):
        answer = client_of(lead).get(address, headers={header: "true"})
        assert (answer.status_code, answer.content) == (405, b"")

    def test_the_api_answers_in_json(self, client):
        answer = client.delete("/api/v1/studies/")
        assert answer["Content-Type"] == "application/json"


class TestLog:
    @pytest.mark.parametrize(
        ("path", "status"), [("/nowhere/", 404), ("/studies/{slug}/", 404), ("/studies/{slug}/members/add/", 403)]
    )
    def test_a_refusal_is_one_line(self, study, client_of, outsider, coder, path, status, caplog):
        client = client_of(coder if status == 403 else outsider)
        address = path.format(slug=study.slug)
        answer = client.post(address) if status == 403 else client.get(address)
        assert answer.status_code == status
        [record] = [each for each in caplog.records if each.name == "django.request"]
        assert "\n" not in logging.Formatter("%(message)s").format(record)
        assert address in record.getMessage()

    def test_a_failure_keeps_its_traceback(self, client_of, lead, monkeypatch, caplog):
        def fail(*args):
            raise RuntimeError("broken")

        monkeypatch.setattr("transcripts.studies.queries.studies_of", fail)
        client = client_of(lead)
        client.raise_request_exception = False
        assert client.get(reverse("studies:list")).status_code == 500
        [record] = [each for each in caplog.records if each.name == "django.request"]
        assert "Traceback" in logging.Formatter("%(message)s").format(record)


class FakeClient:
    """What the web server tells of a connection, without one."""

    def __init__(self, problem=""):
        self.problem, self.people, self.files = problem, list[int](), 0

    def set_person(self, person):
        self.people.append(person)

    def begin_file(self):
        self.files += 1
        return self.problem


def at(server):
    """A request that this server received."""
    return {CLIENT: server}


class TestKnownToServer:
    def test_the_server_learns_whose_request_it_is(self, client_of, coder, client, study):
        server = FakeClient()
        client_of(coder).get("/", **at(server))
        client.get("/sign-in/", **at(server))
        assert server.people == [coder.pk]
        _, secret = create_token(user=coder, name="script", by=coder)
        client.get("/api/v1/studies/", headers={"Authorization": f"Bearer {secret}"}, **at(server))
        assert (server.people, server.files) == ([coder.pk] * 2, 0)

    @pytest.mark.parametrize("by_api", [False, True])
    def test_a_file_that_is_one_too_many_is_refused_before_anything_is_recorded(self, study, lead, client_of, by_api):
        server, events = FakeClient("Three files are on their way."), AuditEvent.objects.count()
        if by_api:
            address = f"/api/v1/studies/{study.slug}/exports/codebook/"
            answer = Client().post(address, {"format": "csv"}, **at(server))
            assert answer.json()["error"]["message"] == server.problem
        else:
            address = reverse("exchange:download", args=[study.slug, "codebook", "csv"])
            answer = client_of(lead).post(address, **at(server))
            assert server.problem in answer.content.decode()
        assert (answer.status_code, answer["Retry-After"]) == (429, "60")
        assert "no-store" in answer["Cache-Control"]
        assert AuditEvent.objects.count() == events

    def test_every_view_that_answers_in_pieces_asks_for_a_place(self):
        """Whoever adds one decorates it with ``sends_files``."""
        modules = dict[str, set[str]]()
        for room in (ROOT / "transcripts", ROOT / "auditapp"):
            for path in room.rglob("*.py"):
                text = path.read_text(encoding="utf-8")
                if re.search(r"\b(StreamingHttpResponse|FileResponse)\(|\bsend_export\(|\b_send_bundle\(", text):
                    modules[str(path.relative_to(ROOT))] = set(re.findall(r"^@sends_files$", text, re.MULTILINE))
        assert {path for path, marked in modules.items() if not marked} == {"transcripts/exchange/actions/exporting.py"}
