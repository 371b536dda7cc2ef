"""The edge of the desk: what is shown, and the list of turns."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, open_desk, press, read_codes

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def read_shown(page):
    """The numbers of the rows in sight, but for questions that are there for context."""
    return page.evaluate(
        "() => [...document.querySelectorAll('.sentence:not([data-context])')].filter((row) => row.checkVisibility())"
        ".map((row) => row.querySelector('.n').textContent)"
    )


def test_uncoded_by_key_and_moving_keeps_to_it(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "ArrowDown", "ArrowDown", "s")
    await_saved(page)
    press(page, "z")
    expect(page.locator("#filters a", has_text="All")).to_be_focused()
    press(page, "ArrowDown", "Enter")
    expect(page.locator("#shown")).to_have_text("Uncoded: 13 of 15 sentences")
    expect(page.locator("#announcer")).to_have_text("Uncoded: 13 of 15 sentences")
    expect(page.locator(CURRENT)).to_be_focused()
    assert read_shown(page)[:3] == ["3", "5", "6"]
    expect(page.get_by_text("How would you teach a class")).to_be_visible()
    press(page, "Home")
    expect(page.locator(f"{CURRENT} .n")).to_have_text("3")
    press(page, "Enter")
    expect(page.locator(f"{CURRENT} .n")).to_have_text("5")
    press(page, "ArrowUp", "ArrowUp")
    expect(page.locator(f"{CURRENT} .n")).to_have_text("3")
    assert find_violations(page) == []
    await_saved(page)
    page.reload()
    assert "show=uncoded" in page.url
    expect(page.locator("#shown")).to_have_text("Uncoded: 12 of 15 sentences")
    press(page, "z", "Home", "Enter")
    assert len(read_shown(page)) == 17
    assert "show=" not in page.url


@pytest.mark.full
def test_by_code_and_by_memo(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "ArrowDown", "d", "ArrowDown", "m")
    page.keyboard.type("Look again")
    press(page, "Control+Enter")
    await_saved(page)
    page.get_by_label("By code").select_option("code:theme.balance")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#shown")).to_have_text("Balance: 1 of 17 sentences")
    assert read_shown(page) == ["3"]
    page.locator("#filters a", has_text="With memo").click()
    assert read_shown(page) == ["4"]
    page.locator("#filters a", has_text="Changed code").click()
    expect(page.locator("#shown")).to_have_text("Changed code: none of 17 sentences, so all are shown")
    assert len(read_shown(page)) == 17
    press(page, "d")
    assert len(read_codes(page)) == 2


@pytest.mark.full
def test_filter_without_script(site, sign_in):
    page = sign_in(java_script_enabled=False)
    page.goto(site.desk_url("own"))
    page.get_by_role("button", name="Balance used 0").click()
    page.get_by_role("link", name="Uncoded").click()
    expect(page.locator("#shown")).to_have_text("Uncoded: 14 of 15 sentences")
    expect(page.locator(".sentence .n", has_text="2").first).to_be_hidden()


@pytest.mark.full
def test_list_of_turns_is_one_stop_and_reaches_challenges(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    expect(page.locator("#turns li")).to_have_text(["Turn 1 open 0", "Turn 3 challenge 0"])
    press(page, ",")
    expect(page.locator("#turns a").first).to_be_focused()
    press(page, "ArrowDown")
    expect(page.locator("#turns a").nth(1)).to_be_focused()
    press(page, "Tab")
    expect(page.locator("#own-scores a")).to_be_focused()
    press(page, "Tab")
    expect(page.locator("#filters a").first).to_be_focused()
    press(page, "Shift+Tab", "Shift+Tab", "End", "Enter")
    expect(page.locator(f"{CURRENT} .n")).to_have_text("13")
    press(page, ",", "Escape")
    expect(page.locator(CURRENT)).to_be_focused()


@pytest.mark.full
def test_two_thousand_sentences_are_filtered_at_once(site, sign_in):
    page = sign_in()
    open_desk(page, site, "long")
    press(page, "d")
    await_saved(page)
    press(page, "z", "ArrowDown", "Enter")
    expect(page.locator("#shown")).to_have_text("Uncoded: 1999 of 2000 sentences")
    press(page, "End")
    assert page.locator(CURRENT).count() == 1


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.full), "dark"])
@pytest.mark.full
def test_no_barrier_with_a_filter_in_a_narrow_window(site, sign_in, scheme):
    page = sign_in(color_scheme=scheme, viewport={"width": 320, "height": 640})
    open_desk(page, site)
    press(page, "d", "z", "ArrowDown", "Enter")
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 320


@pytest.mark.full
def test_list_of_turns_reaches_the_models_reasoning(site, sign_in):
    place = next(site.cuts)
    page = sign_in(session=place.coder)
    page.goto(place.desk_url)
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    press(page, ",", "ArrowRight", "Enter")
    expect(page.get_by_role("button", name="Open the reasoning")).to_be_focused()
    assert "First I weigh." not in page.content()
    press(page, "Enter")
    page.wait_for_url("**at=*")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    expect(page.locator(f"{CURRENT} .text")).to_have_text("First I weigh.")
    expect(page.locator(CURRENT)).to_be_focused()
    press(page, "d")
    await_saved(page)
    assert len(read_codes(page)) == 1
