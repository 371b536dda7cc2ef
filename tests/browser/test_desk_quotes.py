"""Words marked inside a sentence, in any script, and what a coding says of them."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, open_desk, press, read_codes, read_quotes
from tests.browser.stage import SCRIPTS

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def read_marked(page):
    return page.locator(".sentence mark.quoted").inner_text()


def test_the_next_code_carries_what_is_marked(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "x")
    assert read_marked(page) == "I"
    press(page, "ArrowRight", "ArrowRight", "Shift+ArrowRight")
    assert read_marked(page) == "begin with"
    expect(page.locator("#announcer")).to_have_text("begin with")
    assert find_violations(page) == []
    press(page, "d")
    expect(page.locator("mark.quoted")).to_have_count(0)
    expect(page.locator(CURRENT)).to_be_focused()
    await_saved(page)
    [(_, place, words)] = read_quotes(page)
    assert (place, words) == (8, "begin with")
    page.reload()
    assert read_quotes(page)[0][1:] == (8, "begin with")


@pytest.mark.full
def test_kept_words_wait_for_their_code(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "x", "End", "Enter")
    press(page, "/")
    page.keyboard.type("balance")
    press(page, "Enter")
    await_saved(page)
    assert [words for *_, words in read_quotes(page)] == ["question"]


@pytest.mark.full
def test_characters_and_edges(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "x", "ArrowRight", "Control+Shift+ArrowLeft", "Control+Shift+ArrowLeft")
    assert read_marked(page) == "wou"
    press(page, "Shift+ArrowRight", "Shift+End")
    assert read_marked(page) == "would begin with a question"
    press(page, "Home", "Alt+ArrowRight")
    assert read_marked(page) == " "
    press(page, "Escape")
    expect(page.locator("mark.quoted")).to_have_count(0)
    press(page, "d")
    assert read_quotes(page) == []


@pytest.mark.full
def test_another_quote_replaces_the_first_and_the_key_takes_it_off(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "x", "d", "x", "ArrowRight", "d")
    await_saved(page)
    assert [words for *_, words in read_quotes(page)] == ["would"]
    press(page, "Control+z")
    await_saved(page)
    assert [words for *_, words in read_quotes(page)] == ["I"]
    press(page, "d")
    assert read_codes(page) == []


@pytest.mark.full
def test_the_pointer_marks_words_too(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    page.locator(CURRENT).locator(".text").dblclick(position={"x": 40, "y": 10})
    expect(page.locator(".quoted-words")).to_have_text("would")
    page.get_by_role("button", name="longer").click()
    expect(page.locator(".quoted-words")).to_have_text("would begin")
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Balance used").click()
    await_saved(page)
    assert [words for *_, words in read_quotes(page)] == ["would begin"]


@pytest.mark.full
def test_a_quote_shows_in_its_sentence_under_its_chip(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "x", "ArrowRight", "d")
    await_saved(page)
    page.locator(".chip .open-details").first.hover()
    expect(page.locator("mark.quoted")).to_have_text("would")
    expect(page.locator("mark.quoted")).to_have_attribute("data-sign", "d")
    page.mouse.move(5, 400)
    expect(page.locator("mark.quoted")).to_have_count(0)
    expect(page.locator(CURRENT).locator(".text")).to_have_text("I would begin with a question.")
    press(page, "v")
    expect(page.locator("mark.quoted")).to_have_text("would")
    page.get_by_label("remove it").check()
    press(page, "Enter")
    await_saved(page)
    assert len(read_codes(page)) == 1
    assert read_quotes(page) == []


def test_every_script_is_shown_and_cut_exactly(site, sign_in):
    page = sign_in()
    open_desk(page, site, "scripts")
    shown = page.locator("[data-answer] .sentence .text").all_text_contents()
    assert shown == [text for text, _ in SCRIPTS]
    for _ in SCRIPTS:
        press(page, "x", "d", "ArrowDown")
    await_saved(page)
    page.reload()
    quotes = [(place, words) for _, place, words in read_quotes(page)]
    assert quotes == [(text.index(words), words) for text, words in SCRIPTS]


@pytest.mark.full
def test_arrows_follow_the_direction_of_the_script(site, sign_in):
    page = sign_in()
    open_desk(page, site, "scripts")
    press(page, "x", "ArrowLeft")
    assert read_marked(page) == "עולם"
    press(page, "ArrowRight")
    assert read_marked(page) == "שלום"


@pytest.mark.full
def test_stacked_marks_stay_inside_their_sentence(site, sign_in):
    page = sign_in()
    open_desk(page, site, "scripts")
    heights = page.evaluate(
        "() => [...document.querySelectorAll('[data-answer] .sentence .text')].map((text) => text.offsetHeight)"
    )
    assert heights[-1] <= 2 * heights[0]
