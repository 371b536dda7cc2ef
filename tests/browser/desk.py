"""Ways to work at the desk in a browser: keys, waiting for the server, and reading what stands."""

import csv
import io
import time

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_SECONDS
from tests.browser.stage import STUDY

CURRENT = ".sentence[aria-current='true']"
SAVED = "#savestate[data-state='saved']"


def open_desk(page, site, interview="own"):
    page.goto(site.desk_url(interview))
    expect(page.locator("#decided-count")).to_be_visible()
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def expect_load(page):
    """Around what loads another page. Playwright's own expect_navigation is content with a new "?at=" in the address, which
    the desk writes there a moment after each step.
    """
    return page.expect_event("load")


def await_saved(page):
    """Until every act so far is with the server."""
    page.wait_for_selector(SAVED)


def await_here(page, condition, *, what):
    """Until something holds on this side of the browser; the page and the handlers of its requests go on meanwhile."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        page.wait_for_timeout(20)


def read_codes(page):
    """Every chip of the page, as "sentence key level enactment", in the order of the page."""
    # In one go, for the server's answer replaces the chips at any moment.
    return page.evaluate(
        "() => [...document.querySelectorAll('.sentence .chip[data-coding]')].map((chip) => [chip.closest('.sentence').id, "
        "chip.dataset.code, chip.dataset.level, chip.dataset.enactment].join(' ').trim())"
    )


def read_quotes(page):
    """Every quote of the page as sentence, place in code points, words."""
    told = page.evaluate(
        "() => [...document.querySelectorAll('.sentence .chip:has(.quote)')].map((chip) => [chip.closest('.sentence').id, "
        "Number(chip.dataset.quoteAt), chip.querySelector('.quote').textContent])"
    )
    return [(sentence, place, words) for sentence, place, words in told]


def read_export(page, site):
    """This person's own codings as the exports page gives them, fetched by keyboard in a tab of its own."""
    tab = page.context.new_page()
    tab.goto(f"{site.base_url}/studies/{STUDY}/exports/")
    tab.get_by_role("button", name="Codings as CSV").focus()
    with tab.expect_download() as download:
        tab.keyboard.press("Enter")
    text = download.value.path().read_text(encoding="utf-8-sig")
    tab.close()
    return list(csv.DictReader(io.StringIO(text)))
