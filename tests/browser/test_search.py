"""Search by keyboard, from the box to the desk and back."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.stage import STUDY

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def search(site, page, words):
    page.goto(f"{site.base_url}/studies/{STUDY}/search/")
    page.get_by_label("Words", exact=True).fill(words)
    page.keyboard.press("Enter")
    page.wait_for_url("**words=**")


def test_from_a_word_to_the_sentence_at_the_desk_without_the_mouse(site, sign_in):
    page = sign_in()
    search(site, page, "would rather")
    expect(page.locator("mark")).to_have_text(["would", "rather"])
    page.keyboard.press("j")
    expect(page.locator(".result").first).to_be_focused()
    page.keyboard.press("o")
    expect(page.get_by_text("How would you teach a class")).to_be_visible()
    assert find_violations(page) == []
    page.keyboard.press("o")
    expect(page.get_by_text("How would you teach a class")).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url("**/interviews/*/?at=*")
    expect(page.locator(".sentence[aria-current] .text")).to_have_text("I would rather ask than guess.")


@pytest.mark.full
def test_results_are_moved_over_by_arrows_and_letters_and_typing_is_left_alone(site, sign_in):
    page = sign_in()
    search(site, page, "would")
    rows = page.locator(".result")
    assert rows.count() > 2
    for key, place in (("ArrowDown", 0), ("j", 1), ("j", 2), ("k", 1), ("ArrowUp", 0), ("ArrowUp", 0)):
        page.keyboard.press(key)
        expect(rows.nth(place)).to_be_focused()
    page.keyboard.press("/")
    box = page.get_by_label("Words", exact=True)
    expect(box).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" jk")
    expect(box).to_have_value("would jk")


@pytest.mark.full
def test_words_in_every_script_are_marked_whole(site, sign_in):
    page = sign_in()
    for words in ("שלום", "我们", "👩‍👩‍👧", "𝒜stral"):
        search(site, page, words)
        expect(page.locator("mark").first).to_have_text(words)


@pytest.mark.full
def test_a_search_is_narrowed_by_a_code_and_widened_again(site, sign_in):
    page = sign_in()
    search(site, page, "would")
    every = page.locator(".result").count()
    page.get_by_text("Narrow the search").click()
    page.get_by_label("Balance", exact=True).check()
    page.get_by_role("button", name="Search").last.click()
    expect(page.locator("#findings .empty")).to_be_visible()
    page.get_by_role("link", name="Code: Balance").click()
    expect(page.locator(".result")).to_have_count(every)


@pytest.mark.full
def test_a_long_list_of_codes_is_narrowed_by_words_and_keeps_what_is_ticked(site, sign_in):
    page = sign_in()
    page.goto(f"{site.base_url}/studies/{STUDY}/search/")
    page.get_by_text("Narrow the search").click()
    codes = page.locator(".codes input[type='checkbox']")
    total = codes.count()
    codes.first.check()
    box = page.get_by_label("Find in this list")
    box.fill("no code is called this")
    expect(page.locator(".codes input[type='checkbox']:visible")).to_have_count(1)
    expect(page.get_by_text(f"1 of {total} shown")).to_be_visible()
    box.press("Enter")
    assert "code=" not in page.url, "Enter in the box sent the form"
    assert find_violations(page) == []
    box.fill("")
    expect(page.locator(".codes input[type='checkbox']:visible")).to_have_count(total)
