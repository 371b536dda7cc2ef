"""A real server on a data folder of its own, a real browser, and people who sign in to it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.stage import CUT_STUDY, SHUT_STUDY, STUDY, SUGGEST_STUDY
from tests.conftest import copy_instance
from tests.instance import ROOT, Instance, find_free_port, wait_until
from tests.services import chromium_path
from tools.start import HOST, WEB_OPTIONS

PATIENCE_SECONDS = 60.0
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What is expected comes at once or, while workers and browsers share the processor, much later: five seconds tell nothing.
expect.set_options(timeout=PATIENCE_SECONDS * 1000)


@dataclass
class Site:
    """A running instance with one study: interview numbers by their ids, and a sign-in link for each new person."""

    base_url: str
    interviews: dict[str, int]
    links: Iterator[str]
    cuts: Iterator[CutPlace]
    shut_desk_url: str
    shut_links: Iterator[str]
    suggested: dict[str, int]
    suggested_links: Iterator[str]

    def desk_url(self, interview: str) -> str:
        return f"{self.base_url}/p/{STUDY}/interviews/{self.interviews[interview]}/"

    def suggested_url(self, interview: str) -> str:
        """The desk of an interview that a machine has read: open, withheld or a draft."""
        return f"{self.base_url}/p/{SUGGEST_STUDY}/interviews/{self.suggested[interview]}/"


class CutPlace(NamedTuple):
    """An interview whose breaks a test may change, with sign-in links of a lead and a coder of its study."""

    desk_url: str
    lead: str
    coder: str


@pytest.fixture(scope="session")
def site(migrated: Instance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The product as ``make run`` serves it, with a study to code in."""
    port = find_free_port()
    base_url = f"http://{HOST}:{port}"
    with copy_instance(migrated, tmp_path_factory.mktemp("site") / "data") as instance:
        instance.environment["BASE_URL"] = base_url
        filled = fill(instance)
        server = ("-m", "granian", "auditapp.wsgi:application", "--host", HOST, "--port", str(port))
        instance.start(*server, *WEB_OPTIONS)
        wait_until(lambda: is_answering(base_url), what="the server answers")
        cuts = (
            CutPlace(f"{base_url}/p/{CUT_STUDY}/interviews/{cut['interview']}/", cut["lead"], cut["coder"])
            for cut in filled["cuts"]
        )
        shut = filled["shut"]
        shut_desk_url = f"{base_url}/p/{SHUT_STUDY}/interviews/{shut['interview']}/"
        links, shut_links = iter(filled["links"]), iter(shut["links"])
        suggested = filled["suggested"]
        yield Site(
            base_url=base_url,
            interviews=filled["interviews"],
            links=links,
            cuts=cuts,
            shut_desk_url=shut_desk_url,
            shut_links=shut_links,
            suggested=suggested["interviews"],
            suggested_links=iter(suggested["links"]),
        )


def fill(instance: Instance) -> Any:
    """Run the stage in a process of its own, for its database is not that of the tests."""
    command = [sys.executable, "-m", "tests.browser.stage"]
    done = subprocess.run(command, cwd=ROOT, env=instance.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_answering(base_url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{base_url}/livez", timeout=5):
            return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for as long as a module's tests run: Django refuses its database while Playwright's loop turns."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        yield browser
        browser.close()


OpenContext = Callable[..., BrowserContext]


@pytest.fixture
def open_context(browser: Browser) -> Iterator[OpenContext]:
    """A browser window of one's own. What a page complains of on its console fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def watch(page: Page) -> None:
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if is_complaint(message.text) else None)

    def open_one(**options: Any) -> BrowserContext:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        context.on("page", watch)
        contexts.append(context)
        return context

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


def is_complaint(text: str) -> bool:
    """Whether a console message tells of a fault of the page; a request that a test broke off is none."""
    return "Content Security Policy" in text or "Refused to" in text


SignIn = Callable[..., Page]


@pytest.fixture
def sign_in(site: Site, open_context: OpenContext) -> SignIn:
    """A page on which a coder who is new here has signed in with her link: ``sign_in(color_scheme="dark")``.

    ``link`` is that of somebody else.
    """

    def enter(*, link: str = "", **options: Any) -> Page:
        page = open_context(**options).new_page()
        page.goto(link or next(site.links))
        page.get_by_role("button", name="Sign in as").click()
        page.wait_for_url(lambda url: urlsplit(url).path == "/")
        return page

    return enter


def find_violations(page: Page) -> list[str]:
    """What axe-core finds against WCAG 2.2 AA on the page as it stands."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
    found = page.evaluate("(rules) => axe.run(rules)", {"runOnly": AXE_RULES, "resultTypes": ["violations"]})
    return [f"{each['id']}: {[node['target'] for node in each['nodes'][:3]]}" for each in found["violations"]]
