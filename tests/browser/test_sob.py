"""From a number of the heat map down to the answer and the text behind it, as somebody without a mouse goes."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.processes]

REPORT = "/studies/demo/sob/batches/2/"
CELL = "table.heat tbody:not(.published) td.overall a"


def press_until_focused(page, selector, *, most=80):
    """Press Tab until what the selector names has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached by {most} times Tab.")


def test_keys_lead_from_a_cell_to_its_answers_and_open_one_text(visit):
    page = visit.open(REPORT)
    press_until_focused(page, CELL)
    details = page.locator(f"{CELL}:focus .details")
    expect(details).to_be_in_viewport(ratio=0.9)
    assert "95 % interval" in details.inner_text()
    assert " refused, " in details.inner_text()
    expect(page.locator(".details-place")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Answers:")
    text = page.locator("details.masked p").first
    expect(text).to_be_hidden()
    press_until_focused(page, "details.masked > summary")
    page.keyboard.press("Enter")
    expect(text).to_be_visible()
    expect(page.locator("details.masked p").nth(1)).to_be_hidden()
    page.locator("summary", has_text="Original answer").first.click()
    expect(page.locator("pre.raw").first).to_be_visible()


@pytest.mark.full
def test_what_the_map_shows_stands_in_the_address(visit):
    page = visit.open(REPORT)
    page.get_by_role("link", name="strict counting", exact=True).click()
    page.wait_for_url("**counting=strict**")
    page.get_by_role("link", name="all targets of these texts").click()
    page.wait_for_url("**targets=all**")
    assert "counting=strict" in page.url
    page.reload()
    expect(page.get_by_role("link", name="strict counting", exact=True)).to_have_attribute("aria-current", "true")


def test_a_text_shows_both_tasks_of_every_model_and_is_masked_again_when_left(visit):
    page = visit.open(f"{REPORT}texts/")
    page.locator("tbody th a").first.click()
    masked = page.locator("details.masked p")
    expect(masked).to_be_hidden()
    page.locator("details.masked > summary").click()
    expect(masked).to_be_visible()
    expect(page.locator(".answers-table thead th")).to_have_text(["Model", "Acceptability", "Non-acceptability"])
    page.get_by_role("link", name="Show as a list").click()
    page.go_back()
    page.reload()
    expect(page.locator("details.masked p")).to_be_hidden()


@pytest.mark.parametrize(
    "path",
    [
        "",
        *(pytest.param(f"{part}/", marks=pytest.mark.full) for part in ("statistics", "model", "responses", "texts/1")),
    ],
)
def test_a_narrow_window_loses_nothing(visit, path):
    page = visit.open(f"{REPORT}{path}", width=320)
    assert page.locator("aside.caveat").first.is_visible()
    assert page.locator(".section-nav a[aria-current=page], .section-nav .group a[aria-current=true]").count() >= 1
    assert visit.complaints == []
