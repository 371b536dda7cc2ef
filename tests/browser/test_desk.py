"""Coding by keyboard alone."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, open_desk, press, read_codes, read_export, read_quotes

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def test_ten_sentences_of_a_real_excerpt_by_keyboard_alone(site, sign_in):
    page = sign_in()
    open_desk(page, site, "ex29" if "ex29" in site.interviews else "own")
    for key in ["d", "s", "f", "g", "h", "d", "s", "d"]:
        press(page, key, "Enter")
    press(page, "r", "2", "Enter")
    press(page, "Shift+A")
    page.keyboard.type("Reads whose picture is meant")
    press(page, "Enter", "Enter")
    await_saved(page)
    codes = read_codes(page)
    assert len(codes) == 10
    assert codes[8].endswith("move.contextualize semantic demonstrated")
    assert codes[9].endswith("theme.models_metamodels latent")
    page.reload()
    assert read_codes(page) == codes
    rows = read_export(page, site)
    assert len(rows) == 10
    assert {"Reads whose picture is meant"} == {row["note"] for row in rows if row["note"]}


@pytest.mark.full
def test_twenty_sentences_without_a_mouse_at_few_presses_a_coding(site, sign_in):
    """Every press counts, moving on and deciding too; only the words that are typed do not."""
    page = sign_in()
    page.add_init_script(
        "window.pointed = 0; for (const name of ['pointerdown', 'mousedown', 'pointermove', 'wheel'])"
        " window.addEventListener(name, () => { window.pointed += 1; }, true);"
    )
    open_desk(page, site, "long")
    presses = 0

    def work(*keys):
        nonlocal presses
        presses += len(keys)
        press(page, *keys)

    work("Shift+ArrowDown", "Shift+ArrowDown", "s", "d", "g", "Enter")
    work("x", "ArrowRight", "f", "h", "d", "Enter")
    work("a", "s", "m")
    page.keyboard.type("Says it of itself")
    work("Control+Enter", "Enter")
    for _ in range(2):
        work("Shift+A")
        page.keyboard.type("Reads whose picture is meant")
        work("Enter", "d", "s", "Enter")
    for _ in range(13):
        work("f", "j", "Enter")
    await_saved(page)
    codes = read_codes(page)
    assert len({code.split()[0] for code in codes}) == 20
    assert sum(code.endswith("latent") for code in codes) == 2
    assert presses / len(codes) <= 1.5
    assert page.evaluate("window.pointed") == 0
    page.reload()
    assert read_codes(page) == codes
    assert [words for *_, words in read_quotes(page)] == ["is"]
    expect(page.locator(".chip[data-range]")).to_have_count(9)
    expect(page.locator(".sentence .memo .words")).to_have_text("Says it of itself")
    expect(page.locator(".sentence.decided")).to_have_count(20)


@pytest.mark.full
def test_an_interview_of_somebody_else_is_read_and_given_memos_but_not_coded(site, sign_in):
    page = sign_in(session=next(site.shut_sessions))
    page.goto(site.shut_desk_url)
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    expect(page.locator("#closed")).to_contain_text("not assigned to you")
    assert find_violations(page) == []
    press(page, "d")
    expect(page.locator("#problem")).to_contain_text("not assigned to you")
    assert read_codes(page) == []
    press(page, "Enter", "m")
    page.keyboard.type("Worth a look")
    press(page, "Control+Enter")
    await_saved(page)
    expect(page.locator(".memo .words")).to_have_text("Worth a look")
    expect(page.locator(".sentence.decided")).to_have_count(0)
    expect(page.locator("#problem")).to_be_hidden()


def test_same_key_takes_the_code_off_and_undo_brings_it_back(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "d")
    assert len(read_codes(page)) == 1
    press(page, "d")
    assert read_codes(page) == []
    press(page, "Control+z")
    assert len(read_codes(page)) == 1
    press(page, "Control+z")
    assert read_codes(page) == []
    press(page, "Control+Shift+z")
    assert len(read_codes(page)) == 1
    await_saved(page)
    page.reload()
    assert len(read_codes(page)) == 1
    rows = read_export(page, site)
    assert [bool(row["withdrawn"]) for row in rows] == [True, True, False]


@pytest.mark.full
def test_undo_of_a_latent_coding_that_was_taken_off_keeps_its_line(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "Shift+S")
    page.keyboard.type("Takes the group as a clue")
    press(page, "Enter", "Shift+S")
    assert read_codes(page) == []
    press(page, "Control+z")
    expect(page.locator(".reading")).to_have_text("Takes the group as a clue")


@pytest.mark.full
def test_what_the_desk_is_for_is_put_away_for_good_and_one_keeps_ones_place(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "ArrowDown", "ArrowDown")
    here = page.locator(CURRENT).get_attribute("id")
    page.get_by_role("button", name="Got it").focus()
    press(page, "Enter")
    expect(page.locator(".introduction")).to_have_count(0)
    expect(page.locator(f"#{here}")).to_be_focused()
    expect(page.locator(".sentence.decided")).to_have_count(0)
    page.reload()
    expect(page.locator(".introduction")).to_have_count(0)


@pytest.mark.full
def test_escape_puts_nothing(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "ArrowDown", "r", "Escape")
    assert read_codes(page) == []
    expect(page.locator(CURRENT)).to_be_focused()


def test_enter_says_none_applies_and_goes_on(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    first = page.locator(CURRENT).get_attribute("id")
    press(page, "Enter")
    expect(page.locator(f"#{first} .chip.none")).to_contain_text("none applies")
    assert page.locator(CURRENT).get_attribute("id") != first
    await_saved(page)
    expect(page.locator("#decided-count")).to_have_text("1")
    page.reload()
    expect(page.locator(f"#{first} .chip.none")).to_contain_text("none applies")
    expect(page.locator("#decided-count")).to_have_text("1")


def test_shortcuts_are_silent_in_a_memo_and_the_memo_is_kept(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "m")
    page.keyboard.type("sad / hedges? d")
    assert read_codes(page) == []
    press(page, "Control+Enter")
    await_saved(page)
    page.reload()
    expect(page.locator(".memo .words")).to_have_text("sad / hedges? d")


@pytest.mark.full
def test_draft_of_a_memo_survives_escape(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "m")
    page.keyboard.type("Unfinished")
    press(page, "Escape", "ArrowDown", "ArrowUp", "m")
    assert page.input_value("#memo-text") == "Unfinished"


@pytest.mark.full
def test_palette_finds_a_code_by_its_definition(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "/", "Enter", "Escape")
    assert read_codes(page) == [], "nothing was typed, so nothing is chosen"
    press(page, "/")
    page.keyboard.type("never a verdict on that")
    press(page, "Enter")
    await_saved(page)
    assert read_codes(page)[0].split()[1] == "theme.identity_as_context"
    press(page, "ArrowDown", ".")
    await_saved(page)
    assert len(read_codes(page)) == 2


@pytest.mark.full
def test_single_keys_can_be_switched_off(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "?")
    page.get_by_label("Single-key shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()
    press(page, "d")
    assert read_codes(page) == []
    page.reload()
    press(page, "d", "Control+k")
    page.keyboard.type("balance")
    press(page, "Enter")
    await_saved(page)
    assert len(read_codes(page)) == 1


@pytest.mark.full
def test_codes_lie_where_their_keys_lie_on_another_layout(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    # The key that a French keyboard prints "q" lies where a QWERTY keyboard has "a".
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', {code: 'KeyA', key: 'q', bubbles: true}))")
    await_saved(page)
    assert read_codes(page)[0].split()[1] == "theme.models_metamodels"


def test_suggestions_open_after_the_own_decision_and_are_kept_or_left_by_key(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "o")
    expect(page.locator("#announcer")).to_have_text("Decide on this sentence first: press Enter.")
    # Whoever sees is told as well, until the next key.
    expect(page.locator("#notice")).to_be_visible()
    expect(page.locator("#notice")).to_have_text("Decide on this sentence first: press Enter.")
    press(page, "Shift")
    expect(page.locator("#notice")).to_be_visible()
    assert "Because of" not in page.content()
    row = page.locator(CURRENT)
    press(page, "Shift+Enter")
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#suggestions .suggestion")).to_have_count(2)
    expect(row).to_be_focused()
    assert find_violations(page) == []
    press(page, "k")
    expect(row.locator(".chip[data-coding]")).to_have_count(1)
    expect(row.locator(".chip[data-coding]")).to_contain_text("after suggestions")
    press(page, "l")
    expect(page.locator("#suggestions .answered")).to_have_count(2)
    expect(row).to_be_focused()
    press(page, "ArrowDown")
    expect(page.locator("#suggestions .suggestion")).to_have_count(0)


@pytest.mark.full
def test_two_thousand_sentences_are_usable(site, sign_in):
    page = sign_in()
    open_desk(page, site, "long")
    press(page, "End", "d", "PageUp", "s", "Home")
    await_saved(page)
    assert len(read_codes(page)) == 2
