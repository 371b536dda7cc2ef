"""The page of the API, which Swagger UI draws: readable, and an operation can be tried on it."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_looks, find_violations, show_as

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def open_operation(page, name):
    page.locator(f"[id$='-{name}'] .opblock-summary-control").click()
    page.locator(f"[id$='-{name}'] .responses-table").first.wait_for()


@pytest.mark.full
def test_an_operation_is_tried_with_a_token(visit):
    page = visit.open("/account/")
    page.get_by_label("Name").fill("tried")
    page.get_by_role("button", name="Make a token").click()
    token = page.locator("code.secret").inner_text()
    page = visit.open("/help/api/")
    page.get_by_role("button", name="Authorize").click()
    page.get_by_label("Value").fill(token)
    assert find_violations(page) == []
    page.get_by_role("button", name="Apply credentials").click()
    page.locator(".auth-container").get_by_role("button", name="Close").click()
    open_operation(page, "list_studies")
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.locator(".live-responses-table tbody .response-col_status").first).to_have_text("200")
    expect(page.locator(".live-responses-table")).to_contain_text('"slug": "demo"')
    check_looks(page)
    assert visit.complaints == []


@pytest.mark.full
def test_an_operation_is_readable_in_the_dark_and_in_a_narrow_window(visit):
    page = visit.open("/help/api/", "dark", 320)
    open_operation(page, "add_coding")
    page.get_by_role("tab", name="Schema").first.click()
    page.get_by_role("button", name="Expand all").first.click()
    assert find_violations(page, everywhere=True) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    show_as(page, "light", 320)
    expect(page.locator("html")).not_to_have_class("dark-mode")
    assert visit.complaints == []
