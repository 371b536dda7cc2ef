"""From codes to a theme with a quote and a memo, without one mouse event; every page on the way is accessible."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page

from tests.browser.conftest import Visit, check_looks

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def press(place: Locator, key: str = "Enter") -> None:
    place.focus()
    place.page.keyboard.press(key)


def send(page: Page, name: str) -> None:
    """Press a form's button and wait for the page that comes."""
    with page.expect_navigation():
        press(page.get_by_role("button", name=name))


def follow(link: Locator) -> None:
    with link.page.expect_navigation():
        press(link)


def test_a_theme_is_made_quoted_and_noted_with_the_keyboard(lead_visit: Visit) -> None:
    page = lead_visit.open("/p/demo/themes/group/")
    for code in ("theme.balance", "theme.compassion"):
        press(page.locator(f"input[value='{code}']"), "Space")
    for field, words in (("new_name", "Weighing"), ("reason", "One idea.")):
        page.locator(f"#id_{field}").focus()
        page.keyboard.type(words)
    send(page, "Group them")
    page = lead_visit.open("/p/demo/themes/presence/?coder=all")
    check_looks(page)
    press(page.locator("#unblinding_confirmed"), "Space")
    send(page, "Unblind")
    check_looks(page)
    press(page.locator("details.chart-table > summary").first, "Enter")
    follow(page.locator("table.presence tbody td a").first)
    check_looks(page)
    follow(page.get_by_role("link", name="Quote for").first)
    check_looks(page)
    page.locator("#id_edited_text").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("[So it says:] ")
    send(page, "Save the quote")
    assert page.locator(".quotes blockquote").first.inner_text().startswith("[So it says:]")
    check_looks(page)
    for name in ("History", "Change", "Split"):
        page = lead_visit.open("/p/demo/themes/1/")
        follow(page.locator("main").get_by_role("link", name=name, exact=True).first)
        check_looks(page)
    page = lead_visit.open("/p/demo/memos/new/?theme=1")
    page.locator("#id_text").focus()
    page.keyboard.type("Not quite one idea yet.")
    send(page, "Save the memo")
    check_looks(page)
    for path in ("/p/demo/phases/", "/p/demo/memos/?words=idea", "/p/demo/themes/"):
        check_looks(lead_visit.open(path))
    assert lead_visit.complaints == []
