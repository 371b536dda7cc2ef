"""Markdown shows on the desk, and what is coded, quoted and split there has the places it has in the text as it was imported."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import await_saved, open_desk, press, read_quotes

pytestmark = [pytest.mark.browser, pytest.mark.processes]

FIRST = "Often, **if I wait**, it is *respect*."


def read_text(page):
    return page.locator("[data-answer] .sentence .text").first.text_content()


def test_words_in_bold_are_quoted_at_their_places(site, sign_in):
    page = sign_in()
    open_desk(page, site, "markdown")
    text = page.locator("[data-answer] .sentence .text").first
    expect(text.locator("strong")).to_have_text("if I wait")
    assert (read_text(page), text.inner_text()) == (FIRST, "Often, if I wait, it is respect.")
    assert find_violations(page) == []
    press(page, "x", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight")
    assert page.locator("mark.quoted").all_text_contents() == ["I wait", "**", ", it"]
    press(page, "d")
    await_saved(page)
    assert [found[1:] for found in read_quotes(page)] == [(12, "I wait**, it")]
    expect(page.locator("mark.quoted")).to_have_count(0)
    assert text.evaluate("(place) => [...place.childNodes].map((node) => node.textContent)") == (
        ["Often, ", "**", "if I wait", "**", ", it is ", "*", "respect", "*", "."]
    )
    page.locator(".sentence .chip:has(.quote)").first.hover()
    expect(page.locator("mark.quoted[data-sign]")).to_have_text(", it")
    page.mouse.move(1, 1)
    text.locator("em").dblclick()
    expect(page.locator("#announcer")).to_contain_text("Marked")
    press(page, "f")
    await_saved(page)
    page.reload()
    assert sorted(found[1:] for found in read_quotes(page)) == [(12, "I wait**, it"), (29, "respect")]


@pytest.mark.full
def test_the_signs_can_be_shown_and_stay_shown(site, sign_in):
    page = sign_in()
    open_desk(page, site, "markdown")
    page.get_by_label("Markdown signs").check()
    page.reload()
    text = page.locator("[data-answer] .sentence .text").first
    expect(text).to_have_text(FIRST, use_inner_text=True)
    assert find_violations(page) == []


@pytest.mark.full
def test_lists_show_their_numbers(site, sign_in):
    page = sign_in()
    open_desk(page, site, "markdown")
    items = page.locator("[data-kind='list_item'] > .text")
    assert items.evaluate_all("(items) => items.map((item) => item.dataset.marker ?? '')") == ["1.", "2.", ""]


def test_nothing_in_a_text_can_be_pressed_or_fetched(site, sign_in):
    page = sign_in()
    open_desk(page, site, "markdown")
    expect(page.locator(".text :is(a, img)")).to_have_count(0)
    expect(page.locator(".folded pre")).to_have_text('{"answer": "**42**"}')


@pytest.mark.full
def test_a_split_is_chosen_in_the_text_as_it_was_written(site, sign_in):
    page = sign_in(session=site.owner)
    open_desk(page, site, "markdown")
    text = page.locator("[data-answer] .sentence .text").first
    press(page, "c", "ArrowLeft")
    expect(page.locator(".split-line .quoted-words")).to_have_text("I wait**, it is *respect*.")
    expect(text).to_have_text(FIRST, use_inner_text=True)
    press(page, "Escape")
    expect(text.locator("strong")).to_have_text("if I wait")
    assert read_text(page) == FIRST
