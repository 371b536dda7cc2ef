"""An audit of positives by keyboard, from the draw to its results; every page on the way is accessible."""

from __future__ import annotations

import pytest

from tests.browser.test_pages import Visit, visit
from tests.browser.test_themes import check, press, send

__all__ = ["visit"]
pytestmark = [pytest.mark.browser, pytest.mark.processes]


def test_a_sample_is_drawn_opened_marked_and_read_with_the_keyboard(visit: Visit) -> None:
    visit.complaints.clear()
    page = visit.open("/p/demo/preannotation/audits/draw/", "light", 1280)
    page.locator("#id_per_code").fill("2")
    send(page, "Draw")
    assert "closed to you" in page.locator("main").inner_text()
    check(visit, page)
    press(page.locator("#opening_confirmed"), "Space")
    page.get_by_role("button", name="Open ").first.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.get_by_role("link", name="Begin marking").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    check(visit, page)
    press(page.locator("#id_verdict_1"), "Space")
    send(page, "Save")
    assert "what machines said" in page.locator("main").inner_text()
    check(visit, page)
    page.locator("header .crumbs a").last.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "False positives" not in page.locator("main").inner_text()
    press(page.locator("#looking_confirmed"), "Space")
    send(page, "Show results now")
    assert "100.0 %" in page.locator("#results").inner_text()
    page.locator("#results td a").first.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "masked" in page.locator("main").inner_text()
    check(visit, page)
    page.go_back()
    # Going to the same address with a fragment would load nothing.
    page = visit.open(page.url.removeprefix(visit.base_url).partition("#")[0], "light", 1280)
    check(visit, page)
    page = visit.open("/p/demo/preannotation/audits/", "light", 1280)
    check(visit, page)
    assert visit.complaints == []
