"""From two readings to a decision by keyboard alone; every page on the way is accessible."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_looks
from tests.browser.desk import await_saved
from tests.browser.test_themes import press, send

pytestmark = [pytest.mark.browser, pytest.mark.processes]

MOVES = "?family=moves"
CARD = "article[aria-current]"


@pytest.mark.full
def test_two_readings_are_opened_compared_and_decided_with_the_keyboard(visit_as_new_lead):
    page = visit_as_new_lead().open("/studies/demo/interviews/1/")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    # The demo's coder put moves on some of these; this lead reads them all and applies none.
    for number in range(1, 13):
        page.keyboard.press("Enter")
        page.locator(".transcript .chip.none").nth(number - 1).wait_for()
    await_saved(page)
    # Who did not read them decides.
    lead_visit = visit_as_new_lead()
    page = lead_visit.open(f"/studies/demo/disagreements/{MOVES}")
    check_looks(page)
    press(page.locator("#unblinding_confirmed"), "Space")
    send(page, "Unblind")
    assert page.locator("article").count() > 1
    expect(page.locator(CARD)).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(page.locator("article").nth(1)).to_be_focused()
    assert page.locator(CARD).locator(".words mark").is_visible()
    check_looks(page)
    with page.expect_navigation():
        page.keyboard.press("o")
    assert "/interviews/" in page.url
    page = lead_visit.open(f"/studies/demo/agreement/{MOVES}")
    assert page.locator("figure.chart svg.wide").is_visible()
    check_looks(page)
    page = lead_visit.open(f"/studies/demo/adjudication/{MOVES}")
    total = page.locator("#item-title").inner_text().rpartition(" ")[2]
    for key, reason in (("1", "The first."), ("b", "It bears both."), ("d", "Too wide.")):
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.keyboard.type(reason)
        with page.expect_navigation():
            page.keyboard.press("Control+Enter")
    assert page.locator("progress").first.get_attribute("value") == "3"
    assert f"3 of {total} disagreements decided" in page.locator("main").inner_text()
    page.keyboard.press("n")
    assert page.locator("#other-codes").get_attribute("open") is not None
    check_looks(page)
    assert lead_visit.complaints == []


@pytest.mark.full
def test_differences_with_a_machine_are_sorted_by_key_with_the_sentence_in_view(visit):
    page = visit.open("/studies/trust/evaluation/disagreements/?state=open")
    left = page.locator("article").first.get_attribute("id")
    first, card = page.locator("article").nth(1).get_attribute("id"), page.locator(CARD)
    page.keyboard.press("ArrowDown")
    expect(card).to_have_attribute("id", first)
    expect(card).to_be_focused()
    assert card.locator("mark").is_visible()
    assert card.locator("mark").inner_text() in card.locator(".words").inner_text()
    assert "masked" not in page.locator("main").inner_text()
    check_looks(page)
    page.keyboard.press("4")
    page.keyboard.press("n")
    page.keyboard.type("Which weighing counts?")
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")
    # The next unsorted one is where keys act; the one that was passed comes up again.
    expect(card).to_be_focused()
    assert card.get_attribute("id") not in (left, first)
    assert page.locator(f'[id="{first}"]').count() == 0
    page.keyboard.press("ArrowUp")
    expect(card).to_have_attribute("id", left)
    with page.expect_navigation():
        page.keyboard.press("o")
    assert "/interviews/" in page.url
    assert visit.complaints == []
