"""What is shown, and logged, when a request cannot be answered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory
from django.urls import reverse

from auditapp.pages import FewSlowPages
from transcripts.accounts.models import User
from transcripts.projects.models import Project

ClientOf = Callable[[User], Client]


class TestWrongMethod:
    @pytest.fixture
    def address(self, project: Project) -> str:
        return reverse("projects:set_stance", args=[project.slug])

    def test_the_address_of_a_button_has_a_page_with_the_way_back(
        self, project: Project, address: str, lead: User, client_of: ClientOf
    ) -> None:
        answer = client_of(lead).get(address)
        assert (answer.status_code, answer["Allow"]) == (405, "POST")
        page = answer.content.decode()
        assert "This is the address of a button, not of a page" in page
        assert f'href="{reverse("projects:home", args=[project.slug])}">Go to the study</a>' in page
        assert answer["Content-Security-Policy"]

    def test_an_outsider_is_shown_no_way_into_the_study(
        self, project: Project, address: str, outsider: User, client_of: ClientOf
    ) -> None:
        page = client_of(outsider).get(address).content.decode()
        assert "To your studies" in page
        assert "Go to the study" not in page

    @pytest.mark.parametrize("header", ["HX-Request", "X-Desk"])
    def test_scripts_get_no_page(self, address: str, lead: User, client_of: ClientOf, header: str) -> None:
        answer = client_of(lead).get(address, headers={header: "true"})
        assert (answer.status_code, answer.content) == (405, b"")

    def test_the_api_answers_in_json(self, client: Client) -> None:
        answer = client.delete("/api/v1/projects/")
        assert answer["Content-Type"] == "application/json"


class TestLog:
    @pytest.mark.parametrize(
        ("path", "status"), [("/nowhere/", 404), ("/p/{slug}/", 404), ("/p/{slug}/members/add/", 403)]
    )
    def test_a_refusal_is_one_line(
        self,
        project: Project,
        client_of: ClientOf,
        outsider: User,
        coder: User,
        path: str,
        status: int,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        client = client_of(coder if status == 403 else outsider)
        address = path.format(slug=project.slug)
        answer = client.post(address) if status == 403 else client.get(address)
        assert answer.status_code == status
        [record] = [each for each in caplog.records if each.name == "django.request"]
        assert "\n" not in logging.Formatter("%(message)s").format(record)
        assert address in record.getMessage()

    def test_a_failure_keeps_its_traceback(
        self, client_of: ClientOf, lead: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(*args: object) -> None:
            raise RuntimeError("broken")

        monkeypatch.setattr("transcripts.projects.queries.studies_of", fail)
        client = client_of(lead)
        client.raise_request_exception = False
        assert client.get(reverse("projects:list")).status_code == 500
        [record] = [each for each in caplog.records if each.name == "django.request"]
        assert "Traceback" in logging.Formatter("%(message)s").format(record)


class TestFewSlowPages:
    """An attack by reading: twelve slow pages of one person kept everybody else from saving."""

    @pytest.fixture
    def done(self) -> threading.Event:
        """Set when the slow pages may end."""
        return threading.Event()

    @pytest.fixture
    def waiting(self) -> list[Future[HttpResponseBase]]:
        """What was asked for, in its order."""
        return []

    @pytest.fixture
    def ask(
        self, monkeypatch: pytest.MonkeyPatch, done: threading.Event, waiting: list[Future[HttpResponseBase]]
    ) -> Iterator[Callable[..., int]]:
        """Ask for a page as somebody: the status, or 0 for one that is still being made."""
        monkeypatch.setattr(FewSlowPages, "SLOW_SECONDS", -1.0)
        monkeypatch.setattr(FewSlowPages, "WAIT_SECONDS", 30.0)

        def make_slowly(request: HttpRequest) -> HttpResponse:
            assert done.wait(30)
            return HttpResponse()

        server = FewSlowPages(make_slowly)

        def ask(person: User, method: str = "GET") -> int:
            request = RequestFactory().generic(method, "/")
            request.user = person
            request.session = SessionBase()
            answer = pool.submit(server, request)
            waiting.append(answer)
            try:
                return answer.result(timeout=0.3).status_code
            except TimeoutError:
                return 0

        with ThreadPoolExecutor(20) as pool:
            yield ask
            done.set()
            assert {each.result(timeout=30).status_code for each in waiting} <= {200, 429}
        assert server._begun == server._waiting == {}

    def test_of_many_slow_pages_of_one_person_two_are_made_and_the_last_one_waits(
        self, ask: Callable[..., int], coder: User, waiting: list[Future[HttpResponseBase]], done: threading.Event
    ) -> None:
        assert [ask(coder) for _ in range(5)] == [0] * 5
        assert [each.done() for each in waiting] == [False, False, True, True, False]
        assert [each.result().status_code for each in waiting[2:4]] == [429, 429], "she went on to another page"
        done.set()
        assert waiting[4].result(timeout=30).status_code == 200, "made when one of the others was done"

    def test_a_page_that_has_waited_long_is_refused(
        self, ask: Callable[..., int], coder: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FewSlowPages, "WAIT_SECONDS", 0.01)
        assert [ask(coder) for _ in range(4)] == [0, 0, 429, 429]

    def test_pages_of_others_and_what_changes_something_are_not(
        self, ask: Callable[..., int], coder: User, lead: User
    ) -> None:
        assert [ask(coder) for _ in range(2)] == [0, 0]
        assert (ask(lead), ask(coder, "POST")) == (0, 0)

    def test_fast_pages_are_not_counted(
        self, ask: Callable[..., int], coder: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FewSlowPages, "SLOW_SECONDS", 60.0)
        assert [ask(coder) for _ in range(8)] == [0] * 8

    def test_the_page_says_what_to_do(self, client_of: ClientOf, coder: User, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(FewSlowPages, "MAX_MADE", 0)
        monkeypatch.setattr(FewSlowPages, "WAIT_SECONDS", 0.01)
        answer = client_of(coder).get("/")
        assert (answer.status_code, answer["Retry-After"]) == (429, "10")
        assert "Wait for them" in answer.content.decode()
        assert "no-store" in answer["Cache-Control"]
