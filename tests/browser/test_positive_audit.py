"""An audit of positives by keyboard, from the draw to its results; every page on the way is accessible."""

import pytest

from tests.browser.conftest import check_looks
from tests.browser.test_themes import press, send

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@pytest.mark.full
def test_a_sample_is_drawn_opened_marked_and_read_with_the_keyboard(lead_visit):
    page = lead_visit.open("/studies/demo/evaluation/audits/draw/")
    page.locator("#id_per_code").fill("2")
    send(page, "Draw")
    assert "hidden from you" in page.locator("main").inner_text()
    check_looks(page)
    press(page.locator("#unblinding_confirmed"), "Space")
    page.get_by_role("button", name="Unblind ").first.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.get_by_role("link", name="Start marking").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    check_looks(page)
    press(page.locator("#id_verdict_1"), "Space")
    send(page, "Save and compare")
    assert "the machines’ reasons" in page.locator("main").inner_text()
    check_looks(page)
    page.locator("header .crumbs a").last.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "False positives" not in page.locator("main").inner_text()
    press(page.locator("#opening_confirmed"), "Space")
    send(page, "Open the results")
    assert "100.0 %" in page.locator("#results").inner_text()
    page.locator("#results td a").first.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.locator("main .words").first.is_visible()
    check_looks(page)
    page.go_back()
    # Going to the same address with a fragment would load nothing.
    page = lead_visit.open(page.url.removeprefix(lead_visit.base_url).partition("#")[0])
    check_looks(page)
    page = lead_visit.open("/studies/demo/evaluation/audits/")
    check_looks(page)
    assert lead_visit.complaints == []
