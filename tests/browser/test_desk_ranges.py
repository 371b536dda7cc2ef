"""Several sentences at once, by keyboard and by single presses of a pointer."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, open_desk, press, read_codes

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def count_ranges(page):
    return page.evaluate(
        "() => new Set([...document.querySelectorAll('.chip[data-range]')].map((chip) => chip.dataset.range)).size"
    )


def test_one_key_codes_them_all_and_undo_takes_all_back(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "Shift+ArrowDown", "Shift+ArrowDown")
    expect(page.locator(".sentence.in-range")).to_have_count(3)
    expect(page.locator("#announcer")).to_have_text("3 sentences, 2 to 4.")
    expect(page.locator("#panel h2")).to_have_text("Sentences 2 to 4")
    expect(page.locator(CURRENT)).to_have_accessible_name("Selected. Model, 4 of 17. Three things help.")
    assert find_violations(page) == []
    press(page, "s")
    await_saved(page)
    codes = read_codes(page)
    assert len(codes) == 3
    assert count_ranges(page) == 1
    page.reload()
    assert read_codes(page) == codes
    assert count_ranges(page) == 1
    press(page, "Control+z")
    assert read_codes(page) == []
    press(page, "Control+Shift+z")
    await_saved(page)
    assert read_codes(page) == codes


@pytest.mark.full
def test_the_key_again_takes_the_code_off_everywhere(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "s", "Shift+ArrowDown", "s")
    assert len(read_codes(page)) == 2
    press(page, "s")
    assert read_codes(page) == []
    await_saved(page)


@pytest.mark.full
def test_a_latent_code_is_asked_for_once(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "Shift+ArrowDown", "Shift+A")
    page.keyboard.type("Reads the class as a whole")
    press(page, "Enter")
    await_saved(page)
    expect(page.locator(".reading")).to_have_count(2)


@pytest.mark.full
def test_enter_decides_each_and_goes_on(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "Shift+ArrowDown", "Shift+ArrowDown", "Enter")
    await_saved(page)
    expect(page.locator(".sentence.decided")).to_have_count(3)
    expect(page.locator(f"{CURRENT} .n")).to_have_text("5")
    expect(page.locator(".in-range")).to_have_count(0)
    press(page, "Control+z")
    expect(page.locator(".sentence.decided")).to_have_count(0)


@pytest.mark.full
def test_escape_and_a_move_end_it(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    for ending in ("Escape", "ArrowDown"):
        press(page, "Shift+ArrowDown")
        expect(page.locator(".in-range")).to_have_count(2)
        press(page, ending)
        expect(page.locator(".in-range")).to_have_count(0)
        expect(page.locator("[aria-label^='Selected.']")).to_have_count(0)


@pytest.mark.full
def test_what_is_given_back_is_not_coded(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowUp", "d")
    assert len(read_codes(page)) == 2


@pytest.mark.full
def test_single_presses_of_a_pointer_do_the_same(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    page.locator(".sentence .text").nth(4).click(modifiers=["Shift"])
    expect(page.locator(".in-range")).to_have_count(4)
    page.locator("#more-acts > summary").click()
    page.get_by_role("button", name="fewer sentences").click()
    expect(page.locator(".in-range")).to_have_count(3)
    page.get_by_role("button", name="more sentences").click()
    page.get_by_role("button", name="Balance used").click()
    await_saved(page)
    assert len(read_codes(page)) == 4


@pytest.mark.full
def test_a_code_of_the_turn_is_put_once(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "Shift+ArrowDown", "Shift+ArrowDown", "1")
    await_saved(page)
    expect(page.locator(".chip[data-code='feature.task']")).to_have_count(1)
