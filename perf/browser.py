"""Opening the desk in a browser with an empty cache, until a key would put a code."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any, NamedTuple

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from perf.study import Person

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# No sandbox: containers have none. Nothing but this machine is spoken to.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]
# A module script has run when the document's content counts as loaded; then keys put codes.
READY = """(last) => document.getElementById(last) !== null
    && performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd > 0"""
PATIENCE_MS = 30_000
LATE_REQUESTS_MS = 500


class Opened(NamedTuple):
    """One cold open: seconds until text can be coded, kilobytes over the wire, requests."""

    seconds: float
    kilobytes: float
    requests: int


def find_chromium() -> str | None:
    """The browser named by CHROMIUM, or the first found on PATH."""
    return os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)


def open_cold(chromium: str, person: Person, interviews: list[int]) -> list[Opened]:
    """Open each interview in a profile of its own, and put a code by a key to prove that it can be done."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        opened = [_open(browser, person, interview) for interview in interviews]
        browser.close()
    return opened


def _open(browser: Browser, person: Person, interview: int) -> Opened:
    address = f"http://127.0.0.1:{person.port}"
    context = browser.new_context()
    context.add_cookies([{"name": name, "value": value, "url": address} for name, value in person.cookies.items()])
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    traffic = Traffic(context.new_cdp_session(page))
    last = f"s{person.study.answers[interview][-1]}"
    start = time.perf_counter()
    page.goto(f"{address}{person.desk_path(interview)}", wait_until="commit")
    page.wait_for_function(READY, arg=last)
    seconds = time.perf_counter() - start
    page.wait_for_timeout(LATE_REQUESTS_MS)
    opened = Opened(seconds, traffic.size / 1000, traffic.requests)
    _put_code(page)
    context.close()
    return opened


def _put_code(page: Page) -> None:
    current = page.locator(".sentence[aria-current]")
    before = current.locator(".chip").count()
    page.keyboard.press("a")
    page.wait_for_function(
        "(before) => document.querySelectorAll('.sentence[aria-current] .chip').length > before", arg=before
    )


class Traffic:
    """What went over the wire: bytes of answers with their headers, and how many requests."""

    def __init__(self, session: CDPSession) -> None:
        self.size, self.requests = 0.0, 0
        session.on("Network.requestWillBeSent", self._count)
        session.on("Network.loadingFinished", self._add)
        session.send("Network.enable")

    def _count(self, event: dict[str, Any]) -> None:
        self.requests += event["request"]["url"].startswith("http")

    def _add(self, event: dict[str, Any]) -> None:
        self.size += event["encodedDataLength"]
