"""Boundary edits by key."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, expect_load, press, read_codes

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def open_place(page, place):
    page.goto(place.desk_url)
    await_ready(page)


def await_ready(page):
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")


def cut_here(page):
    """Press Enter on the chosen place, and wait for the page that comes back."""
    with page.expect_event("load"):
        press(page, "Enter")
    await_ready(page)


def press_and_reload(page, key):
    with page.expect_event("load"):
        press(page, key)
    await_ready(page)


def read_rows(page):
    return page.evaluate(
        "() => [...document.querySelectorAll('[data-answer] .sentence')].map("
        "(row) => `${row.querySelector('.n').textContent} ${row.querySelector('.text').textContent}`)"
    )


WHOLE = ["3 One and two and three.", "4 Second thing.", "5 Third 👋🏽 thing.", "6 Another turn."]


def test_split_and_merge_by_key_and_back_with_the_codes(site, sign_in):
    place = next(site.cuts)
    page = sign_in(session=place.lead)
    open_place(page, place)
    press(page, "d")
    await_saved(page)
    press(page, "c")
    expect(page.locator(".split-line .quoted-words")).to_have_text("two and three.")
    assert find_violations(page) == []
    press(page, "ArrowRight")
    expect(page.locator(".split-line .quoted-words")).to_have_text("and three.")
    cut_here(page)
    assert read_rows(page)[:2] == ["3a One and two", "3b and three."]
    expect(page.locator(CURRENT)).to_be_focused()
    expect(page.locator(f"{CURRENT} .n")).to_have_text("3a")
    assert [code.split()[1] for code in read_codes(page)] == ["theme.balance", "theme.balance"]
    press_and_reload(page, "Control+z")
    assert read_rows(page) == WHOLE
    assert len(read_codes(page)) == 1
    press(page, "Control+z")
    assert read_codes(page) == []
    press(page, "Control+Shift+z")
    assert len(read_codes(page)) == 1
    await_saved(page)
    press_and_reload(page, "Control+Shift+z")
    assert len(read_codes(page)) == 2
    press(page, "ArrowDown")
    press_and_reload(page, "b")
    assert read_rows(page)[:2] == ["3a One and two", "3b and three. Second thing."]
    press_and_reload(page, "Control+z")
    assert read_rows(page)[:3] == ["3a One and two", "3b and three.", "4 Second thing."]


@pytest.mark.full
def test_place_by_character_never_falls_inside_an_emoji(site, sign_in):
    place = next(site.cuts)
    page = sign_in(session=place.lead)
    open_place(page, place)
    press(page, "ArrowDown", "ArrowDown", "c", "Home")
    expect(page.locator(".split-line .quoted-words")).to_have_text("👋🏽 thing.")
    press(page, "Control+ArrowRight")
    expect(page.locator(".split-line .quoted-words")).to_have_text("thing.")
    cut_here(page)
    assert read_rows(page)[2:4] == ["5a Third 👋🏽", "5b thing."]


@pytest.mark.full
def test_escape_leaves_the_text_as_it_was(site, sign_in):
    place = next(site.cuts)
    page = sign_in(session=place.lead)
    open_place(page, place)
    press(page, "c", "Escape")
    expect(page.locator(".split-line")).to_have_count(0)
    assert read_rows(page) == WHOLE
    press(page, "c", "c")
    assert read_rows(page) == WHOLE
    press(page, "c", "ArrowDown")
    expect(page.locator(".split-line")).to_have_count(0)
    expect(page.locator(CURRENT)).to_be_focused()
    press(page, "d")
    assert len(read_codes(page)) == 1


@pytest.mark.full
def test_what_is_refused_is_said(site, sign_in):
    place = next(site.cuts)
    page = sign_in(session=place.lead)
    open_place(page, place)
    press(page, "ArrowDown", "ArrowDown", "b")
    expect(page.locator("#problem")).to_contain_text("Sentence 5 is the last of its turn")
    page.route("**/split/", lambda route: route.abort())
    press(page, "c", "Enter")
    expect(page.locator("#problem")).to_contain_text("could not be reached")
    press(page, "d")
    assert len(read_codes(page)) == 1
    page.route("**/add/", lambda route: route.abort())
    press(page, "s", "c")
    expect(page.locator("#problem")).to_contain_text("Wait until everything is saved")
    page.on("dialog", lambda dialog: dialog.accept())


@pytest.mark.full
def test_coders_are_told_who_edits_boundaries(site, sign_in):
    place = next(site.cuts)
    page = sign_in(session=place.coder)
    open_place(page, place)
    press(page, "c")
    expect(page.locator("#problem")).to_contain_text("only a lead or an owner of the study can split and merge them")
    page.locator("#more-acts > summary").click()
    expect(page.get_by_role("button", name="quote")).to_be_visible()
    expect(page.get_by_role("button", name="split")).to_have_count(0)


def test_act_of_another_tab_is_refused_and_stays_in_sight(site, sign_in):
    place = next(site.cuts)
    lead, coder = sign_in(session=place.lead), sign_in(session=place.coder)
    open_place(coder, place)
    open_place(lead, place)
    press(lead, "c")
    cut_here(lead)
    press(coder, "Shift+D")
    coder.keyboard.type("Weighs one against the other")
    press(coder, "Enter")
    refused = coder.locator("#refused")
    expect(refused).to_contain_text("Balance (latent, Weighs one against the other)")
    expect(refused).to_contain_text("Sentence 3 has since been split. Reload the page.")
    assert find_violations(coder) == []
    with expect_load(coder):
        refused.get_by_role("button", name="Reload the page").click()
    await_ready(coder)
    assert read_rows(coder)[0].startswith("3a ")
    expect(refused).to_contain_text("Weighs one against the other")
    refused.get_by_role("button", name="Dismiss").click()
    expect(refused).to_be_hidden()
    coder.reload()
    expect(refused).to_be_hidden()


@pytest.mark.full
def test_cut_without_script(site, sign_in):
    place = next(site.cuts)
    page = sign_in(session=place.lead, java_script_enabled=False)
    page.goto(place.desk_url)
    page.get_by_text("Split or merge", exact=True).click()
    page.get_by_label("First words of the second sentence").fill("and three")
    page.get_by_role("button", name="Split sentence 3").click()
    expect(page.locator(f"{CURRENT} .n")).to_have_text("3a")
    page.get_by_role("link", name="Boundary edits").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("Split")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.full), "dark"])
@pytest.mark.full
def test_no_barrier_while_cutting_in_a_narrow_window(site, sign_in, scheme):
    place = next(site.cuts)
    page = sign_in(session=place.lead, color_scheme=scheme, viewport={"width": 320, "height": 640})
    open_place(page, place)
    press(page, "c")
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 320
