"""Scores given at the desk by keyboard alone, with their evidence, undone and done again."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import await_here, await_saved, open_desk, press, read_codes

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def expect_score(page, criterion, words):
    expect(page.locator("#own-scores li").filter(has_text=criterion)).to_have_text(re.compile(words))


def test_a_thread_is_scored_by_keys_alone(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    expect(page.locator("#own-scores")).to_be_visible()
    press(page, "\\")
    picker = page.locator("#picker")
    expect(picker).to_contain_text("autonomy/1")
    expect(picker).to_contain_text("Those who ask decide for themselves.")
    press(page, "9")
    expect(picker).to_contain_text("Score under which stance?")
    press(page, "2")
    expect(picker).to_contain_text("care/1")
    expect(picker).to_contain_text("Nobody is worse off for having asked.")
    assert find_violations(page) == []
    press(page, "2", "3")
    expect(page.locator("#notice")).to_contain_text("Now go to a sentence it rests on")
    expect(page.locator("#own-scores li")).to_have_count(0)
    press(page, "ArrowDown", "'")
    expect_score(page, "Its moves serve them", "care/1.*: 3")
    # Another sentence, with words of its own, joins the evidence.
    press(page, "ArrowDown", "x", "Shift+ArrowRight", "'")
    expect(page.locator("#notice")).to_contain_text("rests on 3, 4")
    # The same key and Escape end the open score; the stance is remembered.
    press(page, "\\")
    expect(picker).to_contain_text("care/1")
    expect(picker).to_contain_text("3, rests on 3, 4")
    press(page, "2", "1")
    expect_score(page, "Its moves serve them", ": 1")
    press(page, "\\", "Escape", "Control+z")
    expect_score(page, "Its moves serve them", ": 3")
    press(page, "Control+Shift+z")
    expect_score(page, "Its moves serve them", ": 1")
    page.reload()
    expect_score(page, "Its moves serve them", ": 1")


@pytest.mark.full
def test_what_does_not_apply_is_said_why(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    expect(page.locator("#own-scores")).to_be_visible()
    press(page, "\\", "4", "9")
    expect(page.locator("#score-note")).to_be_focused()
    assert find_violations(page) == []
    page.keyboard.type("It was never asked to justify itself.")
    press(page, "Control+Enter")
    expect_score(page, "Its justification is answerable", "n/a")
    press(page, "Control+z")
    expect(page.locator("#own-scores li")).to_have_count(0)


def hold_score(page):
    """The next score that is sent waits in this list until it is let go on."""
    held = []

    def hold(route):
        held.append(route)

    page.route("**/put/", hold, times=1)
    return held


def give(page, value):
    """Score the moves, with the current sentence as evidence if there is none yet."""
    press(page, "\\", "2", value)


@pytest.mark.full
def test_undo_takes_back_only_the_score_that_it_made(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    expect(page.locator("#own-scores")).to_be_visible()
    give(page, "2")
    press(page, "ArrowDown", "'")
    expect_score(page, "Its moves serve them", ": 2")
    other = page.context.new_page()
    open_desk(other, site)
    expect_score(other, "Its moves serve them", "2")
    give(other, "3")
    expect_score(other, "Its moves serve them", "3")
    # What the other window did is undone first: their list is one.
    other.evaluate(
        "() => { for (const key of Object.keys(localStorage)) if (key.startsWith('desk:history')) "
        "{ const kept = JSON.parse(localStorage[key]); kept.done.pop(); localStorage[key] = JSON.stringify(kept); } }"
    )
    press(page, "Escape", "Control+z")
    expect(page.locator("body")).to_contain_text("the score was changed elsewhere since")
    expect_score(page, "Its moves serve them", ": 3")


@pytest.mark.full
def test_an_undo_that_could_not_be_sent_can_be_tried_again(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    expect(page.locator("#own-scores")).to_be_visible()
    give(page, "2")
    press(page, "ArrowDown", "'")
    expect_score(page, "Its moves serve them", ": 2")
    page.context.set_offline(True)
    press(page, "Escape", "Control+z")
    expect(page.locator("body")).to_contain_text("the server could not be reached")
    page.context.set_offline(False)
    press(page, "Control+z")
    expect(page.locator("#own-scores li")).to_have_count(0)
    press(page, "Control+Shift+z")
    expect_score(page, "Its moves serve them", ": 2")
    press(page, "Control+z")
    expect(page.locator("#own-scores li")).to_have_count(0)


@pytest.mark.full
def test_an_undo_waits_for_the_score_that_is_being_saved(site, sign_in):
    """Pressed at once, it takes back what was done last and not what was stored last."""
    page = sign_in()
    open_desk(page, site)
    expect(page.locator("#own-scores")).to_be_visible()
    give(page, "3")
    press(page, "ArrowDown", "'")
    expect_score(page, "Its moves serve them", ": 3")
    held = hold_score(page)
    give(page, "1")
    press(page, "Escape", "Control+z")
    await_here(page, lambda: bool(held), what="the score is on its way")
    held[0].continue_()
    expect(page.locator("#notice")).to_contain_text("Undone: score 1 for")
    expect_score(page, "Its moves serve them", ": 3")


@pytest.mark.full
def test_evidence_that_was_refused_is_not_sent_again_with_the_next(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    expect(page.locator("#own-scores")).to_be_visible()
    give(page, "2")
    press(page, "ArrowDown", "'")
    expect_score(page, "Its moves serve them", ": 2")
    page.route("**/put/", lambda route: route.fulfill(status=422, content_type="text/plain", body="Not here."), times=1)
    press(page, "ArrowDown", "'")
    expect(page.locator("body")).to_contain_text("The score is not saved. Not here.")
    press(page, "ArrowDown", "'")
    expect(page.locator("#notice")).to_contain_text("rests on 3, 5.")


@pytest.mark.full
def test_a_code_put_after_a_score_that_is_being_saved_is_undone_first(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    expect(page.locator("#own-scores")).to_be_visible()
    give(page, "3")
    press(page, "ArrowDown", "'")
    expect_score(page, "Its moves serve them", ": 3")
    held = hold_score(page)
    give(page, "1")
    press(page, "Escape", "d")
    await_saved(page)
    assert len(read_codes(page)) == 1
    press(page, "Control+z")
    await_here(page, lambda: not read_codes(page), what="the code is off")
    await_here(page, lambda: bool(held), what="the score is on its way")
    held[0].continue_()
    expect_score(page, "Its moves serve them", ": 1")
    press(page, "Control+z")
    expect_score(page, "Its moves serve them", ": 3")
