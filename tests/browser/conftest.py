"""A real server on a data folder of its own, a real browser, and people who sign in to it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from playwright.sync_api import expect, sync_playwright

from tests.browser.stage import CUT_STUDY, NEGOTIATION_STUDY, REAL_STUDY, SHUT_STUDY, STUDY, SUGGEST_STUDY
from tests.conftest import copy_instance
from tests.support.instance import ROOT, Instance, find_free_port, wait_until
from tests.support.services import chromium_path
from tools.start import HOST

PATIENCE_SECONDS = 60.0
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What colours and widths decide. They take axe-core nine tenths of its time, so `make test` asks them of each kind of place
# once: a thousand cells that look alike are one, and so is the same header on every page. `make test-ci` asks everything
# of everything.
LOOK_RULES = ["color-contrast", "link-in-text-block", "target-size"]
FIND_PLACES = """(examined) => {
  const seen = new Set(examined);
  const describe = (element) => {
    const look = getComputedStyle(element);
    return [element.localName, element.getAttribute("class"), look.color, look.backgroundColor, look.backgroundImage,
      look.fontSize, look.fontWeight].join(" ");
  };
  const kinds = new Map([[null, 0]]);
  const hash = (words) => {
    let sum = 0;
    for (let place = 0; place < words.length; place += 1) sum = (Math.imul(sum, 31) + words.charCodeAt(place)) | 0;
    return sum;
  };
  const places = [];
  for (const element of document.querySelectorAll("body, body *")) {
    const kind = hash(`${kinds.get(element.parentElement) ?? 0}>${describe(element)}`);
    kinds.set(element, kind);
    const speaks = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!(speaks || element.matches("a, button, input, select, summary, textarea"))) continue;
    if (seen.has(kind) || !element.checkVisibility()) continue;
    seen.add(kind);
    places.push(element);
  }
  return { places, kinds: [...seen].slice(examined.length) };
}"""
RUN_AXE = """async ([rules, places]) => {
  const found = await axe.run(places ?? document, { ...rules, resultTypes: ["violations"], preload: false });
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target }) => target)}`);
}"""
FIND_WIDE_TABLES = """() => {
  const folds = [...document.querySelectorAll("main details:not([open], .masked)")];
  for (const fold of folds) fold.open = true;
  const frame = (table) => table.closest(".table-scroll") ?? table.parentElement;
  const wide = [...document.querySelectorAll("main table")].filter((table) => {
    const { scrollWidth, clientWidth } = frame(table);
    return table.checkVisibility() && scrollWidth > clientWidth + 1;
  });
  const found = wide.map((table) => {
    const { scrollWidth, clientWidth } = frame(table);
    return `${scrollWidth} of ${clientWidth}: ${table.textContent.trim().slice(0, 60)}`;
  });
  for (const fold of folds) fold.open = false;
  return found;
}"""
# What is expected comes at once or, while workers and browsers share the processor, much later: five seconds tell nothing.
expect.set_options(timeout=PATIENCE_SECONDS * 1000)


@dataclass
class Site:
    """The running instance of this session: the demo study with its owner's session, and studies to code in, with interview
    numbers by their ids and a session for each new person."""

    base_url: str
    owner: str
    demo_leads: Iterator[str]
    interviews: dict[str, int]
    sessions: Iterator[str]
    cuts: Iterator[CutPlace]
    shut_desk_url: str
    shut_sessions: Iterator[str]
    suggested: dict[str, int]
    suggested_sessions: Iterator[str]
    trajectory_url: str
    trajectory_sessions: Iterator[str]
    threads: dict[str, int]
    real_url: str
    real_sessions: Iterator[str]

    def desk_url(self, interview):
        return f"{self.base_url}/studies/{STUDY}/interviews/{self.interviews[interview]}/"

    def suggested_url(self, interview):
        """The desk of an interview that a machine has read: open, withheld or a draft."""
        return f"{self.base_url}/studies/{SUGGEST_STUDY}/interviews/{self.suggested[interview]}/"


class CutPlace(NamedTuple):
    """An interview whose breaks a test may change, with sessions of a lead and a coder of its study."""

    desk_url: str
    lead: str
    coder: str


def pytest_collection_modifyitems(items):
    """Try what a browser shows a second time before it counts as failed; the summary names what was tried again."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def site(migrated, tmp_path_factory):
    """The product as ``make run`` serves it."""
    port = find_free_port()
    base_url = f"http://{HOST}:{port}"
    with copy_filled(migrated, tmp_path_factory) as (instance, filled):
        instance.environment["BASE_URL"] = base_url
        instance.start("-m", "auditapp.site.serving", "--host", HOST, "--port", str(port))
        wait_until(lambda: is_answering(base_url), what="the server answers")
        cuts = (
            CutPlace(f"{base_url}/studies/{CUT_STUDY}/interviews/{cut['interview']}/", cut["lead"], cut["coder"])
            for cut in filled["cuts"]
        )
        shut, suggested = filled["shut"], filled["suggested"]
        yield Site(
            base_url=base_url,
            owner=filled["owner"],
            demo_leads=iter(filled["demo_leads"]),
            interviews=filled["interviews"],
            sessions=iter(filled["sessions"]),
            cuts=cuts,
            shut_desk_url=f"{base_url}/studies/{SHUT_STUDY}/interviews/{shut['interview']}/",
            shut_sessions=iter(shut["sessions"]),
            suggested=suggested["interviews"],
            suggested_sessions=iter(suggested["sessions"]),
            trajectory_url=f"{base_url}/studies/{NEGOTIATION_STUDY}/interviews/{filled['negotiation']['interview']}/",
            trajectory_sessions=iter(filled["negotiation"]["sessions"]),
            threads=filled["threads"],
            real_url=f"{base_url}/studies/{REAL_STUDY}/interviews/{filled['real']['interview']}/"
            if filled["real"]
            else "",
            real_sessions=iter(filled["real"]["sessions"] if filled["real"] else []),
        )


@contextmanager
def copy_filled(migrated, tmp_path_factory):
    """An instance with everything that ``stage`` makes, and what it told. On SQLite it is made once, by the first of xdist's
    processes that asks, and copied."""
    folder = tmp_path_factory.mktemp("site") / "data"
    if migrated.environment.get("DATABASE_URL"):
        with copy_instance(migrated, folder) as instance:
            yield instance, fill(instance)
        return
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    told = shared / "filled.json"
    with (shared / "filled.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            # A try before this one may have failed half way.
            shutil.rmtree(shared / "filled", ignore_errors=True)
            shutil.copytree(migrated.folder, shared / "filled")
            told.write_text(json.dumps(fill(Instance(shared / "filled"))), encoding="utf-8")
    with copy_instance(Instance(shared / "filled"), folder) as instance:
        yield instance, json.loads(told.read_text(encoding="utf-8"))


def fill(instance):
    """Run the stage in a process of its own, for its database is not that of the tests."""
    command = [sys.executable, "-m", "tests.browser.stage"]
    done = subprocess.run(command, cwd=ROOT, env=instance.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_answering(base_url):
    try:
        with urllib.request.urlopen(f"{base_url}/livez", timeout=5):
            return True
    except OSError:
        return False


@pytest.fixture(scope="session")
def chromium():
    """The one Chromium of this session. Outside the tests that use it no loop turns, as far as anybody can tell: Django
    refuses its database to whoever comes from a running loop, and asyncio starts no second one."""
    playwright = sync_playwright().start()
    loop = asyncio.get_running_loop()
    browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
    asyncio._set_running_loop(None)
    yield browser
    asyncio._set_running_loop(loop)
    browser.close()
    playwright.stop()


@pytest.fixture
def browser(chromium):
    """The session's Chromium, with Playwright's loop turning until the test is over."""
    asyncio._set_running_loop(chromium._loop)
    yield chromium
    asyncio._set_running_loop(None)


@pytest.fixture
def open_context(browser):
    """A browser window of one's own. What a page complains of on its console fails the test."""
    contexts = []
    complaints = []

    def watch(page):
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if is_complaint(message.text) else None)

    def open_one(**options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        context.on("page", watch)
        contexts.append(context)
        return context

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


def is_complaint(text):
    """Whether a console message tells of a fault of the page; a request that a test broke off is none."""
    return "Content Security Policy" in text or "Refused to" in text


@pytest.fixture
def sign_in(site, open_context):
    """An empty page of a coder who is new here and signed in: ``sign_in(color_scheme="dark")``.

    ``session`` is that of somebody else.
    """

    def enter(*, session="", **options):
        context = open_context(**options)
        carry_session(context, site, session or next(site.sessions))
        return context.new_page()

    return enter


def carry_session(context, site, session):
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": site.base_url}])


class Visit:
    """A signed-in person's window on the running demo, in which one page is open after the other."""

    def __init__(self, site, browser, session):
        self.base_url, self.complaints = site.base_url, list[str]()
        self.context = browser.new_context()
        self.context.set_default_timeout(PATIENCE_SECONDS * 1000)
        # Sent to the browser once, where load_axe sends it to each page.
        self.context.add_init_script(Axe().axe_script)
        carry_session(self.context, site, session)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))

    def open(self, path, scheme="light", width=1280):
        show_as(self.page, scheme, width)
        answer = self.page.goto(f"{self.base_url}{path}")
        assert answer is not None
        assert answer.status == 200
        return self.page


@pytest.fixture(scope="session")
def visits():
    """The window of this session, once it is open."""
    return []


@pytest.fixture
def visit(visits, site, browser):
    """The owner's window, of which no page has complained yet."""
    if not visits:
        visits.append(Visit(site, browser, site.owner))
    visits[0].complaints.clear()
    return visits[0]


@pytest.fixture
def visit_as_new_lead(site, browser):
    """The window of a lead who is new to the demo: no other test has unblinded anything for her."""
    visits = []

    def enter():
        visits.append(Visit(site, browser, next(site.demo_leads)))
        return visits[-1]

    yield enter
    for visit in visits:
        visit.context.close()


@pytest.fixture
def lead_visit(visit_as_new_lead):
    return visit_as_new_lead()


def show_as(page, scheme, width):
    """The page as it stands, in another colour scheme and a window of another width."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})


def check_looks(page):
    """No barrier in the page as it stands; in the dark and in a narrow window none that colours or widths make, and nothing
    to scroll sideways for. It ends as it began, light and wide."""
    show_as(page, "light", 1280)
    assert find_violations(page) == []
    show_as(page, "dark", 320)
    assert run_axe(page, ["scrollable-region-focusable"]) == []
    assert find_bad_looks(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    show_as(page, "light", 1280)


def find_violations(page, *, everywhere=False):
    """What axe-core finds against WCAG 2.2 AA on the page as it stands; colours and widths ``everywhere``, or at one place
    of each kind."""
    if everywhere:
        return run_axe(page, AXE_TAGS)
    return [*run_axe(page, AXE_TAGS, without=LOOK_RULES), *find_bad_looks(page)]


# The kinds of place that were examined in this process, where nothing was found.
_examined = []


def find_bad_looks(page):
    """What it finds against the rules of colours and widths, at one place of each kind that no page showed before."""
    load_axe(page)
    found = page.evaluate_handle(FIND_PLACES, _examined)
    kinds = found.get_property("kinds").json_value()
    violations = run_axe(page, LOOK_RULES, places=found.get_property("places")) if kinds else []
    if not violations:
        _examined.extend(kinds)
    return violations


def run_axe(page, rules, *, without=(), places=None):
    load_axe(page)
    options = {"runOnly": rules, "rules": {rule: {"enabled": False} for rule in without}}
    return list(page.evaluate(RUN_AXE, [options, places]))


def load_axe(page):
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)


def find_wide_tables(page):
    """The tables that have to be scrolled sideways in the window as it is, folded ones among them."""
    return list(page.evaluate(FIND_WIDE_TABLES))
