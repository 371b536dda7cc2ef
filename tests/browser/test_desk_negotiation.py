"""A trajectory is coded by keyboard alone: features with status and warrant, links of moves, challenges and responses."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, press
from tests.support.shared import shared

pytestmark = [pytest.mark.browser, pytest.mark.processes]

FIRST_ANSWER, CHALLENGE, SECOND_ANSWER = "#turn-5", "#turn-6", "#turn-7"


@pytest.fixture
def page(site, sign_in):
    opened = sign_in(session=next(site.trajectory_sessions))
    open_run(opened, site)
    return opened


def open_run(page, site, url=""):
    page.goto(url or site.trajectory_url)
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")


def go_to(page, turn, sentence=0):
    """With the arrows, as a person would."""
    press(page, "Home")
    target = page.locator(f"{turn} .sentence").nth(sentence)
    for _ in range(30):
        if target.get_attribute("aria-current"):
            return
        press(page, "ArrowDown")
    raise AssertionError(f"{turn} was not reached")


def press_printing(page, sign, *, at):
    """A key of another layout: where it lies, and what is printed on it."""
    page.evaluate(
        "key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {...key, bubbles: true, cancelable: true}))",
        {"code": at, "key": sign},
    )


def chip(page, turn, name):
    """What the chip says, without its first sign."""
    found = page.locator(f"{turn} .chip.own", has_text=name)
    return " ".join(found.inner_text().replace("×", "").split()) if found.count() else ""


def test_feature_gets_status_and_warrant_and_undo_takes_each_back(page, site):
    picker = page.locator("#picker")
    go_to(page, SECOND_ANSWER)
    press(page, "6")
    expect(picker).to_be_visible()
    expect(page.get_by_role("listbox", name="Power")).to_be_focused()
    assert find_violations(page) == []
    press(page, "a")
    expect(page.locator("#picker-hint")).to_contain_text("a does nothing here")
    press(page, "5")
    expect(picker).to_be_hidden()
    expect(page.locator(CURRENT)).to_be_focused()
    assert "revised" in chip(page, SECOND_ANSWER, "Power")
    go_to(page, "#turn-1")
    press(page, "'")
    assert "rests on 1" in chip(page, SECOND_ANSWER, "Power")
    await_saved(page)
    page.reload()
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    assert "rests on 1" in chip(page, SECOND_ANSWER, "Power")
    expect(page.locator("#ledger li")).to_have_text(["Turn #7 Power / asymmetry revised"])
    press(page, "Control+z")
    assert "rests on" not in chip(page, SECOND_ANSWER, "Power")
    press(page, "Control+z")
    assert "revised" not in chip(page, SECOND_ANSWER, "Power")
    press(page, "Control+z")
    assert chip(page, SECOND_ANSWER, "Power") == ""
    press(page, "Control+y", "Control+y", "Control+y")
    await_saved(page)
    page.reload()
    assert "revised" in chip(page, SECOND_ANSWER, "Power")
    assert "rests on 1" in chip(page, SECOND_ANSWER, "Power")


@pytest.mark.full
def test_undo_of_other_words_leaves_the_warrant_with_its_first_words(page):
    go_to(page, SECOND_ANSWER)
    press(page, "6", "5")
    go_to(page, "#turn-1")
    press(page, "'")
    end = page.locator(f"{SECOND_ANSWER} .links [data-kind='warrant']")
    expect(end).to_have_count(1)
    press(page, "x", "'")
    expect(end).to_have_attribute("title", re.compile(r"\S"))
    first = end.get_attribute("title") or ""
    press(page, "x", "Shift+ArrowRight", "'")
    expect(end).not_to_have_attribute("title", first)
    press(page, "Control+z")
    expect(end).to_have_attribute("title", first)
    press(page, "Control+z")
    expect(end).to_have_count(1)
    expect(end).not_to_have_attribute("title", re.compile(r"\S"))
    await_saved(page)
    press(page, "Control+z")
    expect(end).to_have_count(0)


@pytest.mark.full
def test_status_may_be_left_unsaid_or_chosen_with_arrows_or_the_mouse(page):
    go_to(page, FIRST_ANSWER)
    press(page, "6", "Escape")
    expect(page.locator("#picker")).to_be_hidden()
    press(page, "1", "ArrowDown", "ArrowDown", "Enter")
    assert "hypothesised" in chip(page, FIRST_ANSWER, "Task")
    press(page, "5")
    page.get_by_role("option", name="elicited").click()
    assert "elicited" in chip(page, FIRST_ANSWER, "Uncertainty")
    press(page, "u")
    expect(page.locator(CURRENT)).to_be_visible()
    await_saved(page)
    expect(page.locator("#ledger li")).to_have_count(3)
    expect(page.locator("#ledger")).to_contain_text("no status")


def test_move_acts_on_features_and_a_revise_on_what_it_revises(page, site):
    go_to(page, SECOND_ANSWER)
    press(page, ";")
    expect(page.locator("#notice")).to_contain_text("No move is coded")
    press(page, "u", "1", ";")
    expect(page.get_by_role("listbox", name="Revise acts on")).to_be_focused()
    press(page, "2", "6")
    expect(page.locator("#picker [aria-selected='true']")).to_have_count(2)
    assert find_violations(page) == []
    press(page, "2", ";")
    expect(page.locator("#picker")).to_be_hidden()
    go_to(page, FIRST_ANSWER, 1)
    press(page, "x", "Enter", "'")
    expect(page.locator("#notice")).to_contain_text("Revise at")
    told = chip(page, SECOND_ANSWER, "Revise")
    assert "acts on Power" in told
    assert "Stakeholders" not in told
    assert "revises" in told
    await_saved(page)
    page.reload()
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    assert chip(page, SECOND_ANSWER, "Revise") == told
    # Its number leads to the sentence.
    page.locator(f"{SECOND_ANSWER} .links a").click()
    expect(page.locator(f"{FIRST_ANSWER} .sentence").nth(1)).to_be_focused()
    press(page, "Control+z")
    assert "revises" not in chip(page, SECOND_ANSWER, "Revise")
    go_to(page, SECOND_ANSWER)
    press(page, "u")
    assert chip(page, SECOND_ANSWER, "Revise") == ""
    press(page, "Control+z")
    await_saved(page)
    assert "acts on Power" in chip(page, SECOND_ANSWER, "Revise")


@pytest.mark.full
def test_strip_that_hides_the_sentence_moves_it_up_no_further_than_it_must(page):
    go_to(page, SECOND_ANSWER)
    # As an arrow leaves it: at the lower edge, where the picker will be.
    at_edge = """([row, sheet]) => {
      sheet.scrollTop += row.getBoundingClientRect().bottom - sheet.getBoundingClientRect().bottom + 4;
      return row.getBoundingClientRect().bottom;
    }"""
    row, sheet = page.locator(CURRENT).element_handle(), page.locator("#transcript").element_handle()
    before = page.evaluate(at_edge, [row, sheet])
    press(page, "6")
    expect(page.locator("#picker")).to_be_visible()
    below, picker = page.locator(CURRENT).bounding_box(), page.locator("#picker").bounding_box()
    assert below is not None
    assert picker is not None
    assert before > picker["y"]
    # The code stands under the sentence now and the picker has room for what it offers.
    assert picker["y"] - 20 < below["y"] + below["height"] <= picker["y"]


def test_what_is_said_later_is_no_evidence_and_what_a_tool_gave_back_is(page):
    go_to(page, FIRST_ANSWER)
    press(page, "6", "4")
    go_to(page, CHALLENGE)
    press(page, "'")
    expect(page.locator("#problem")).to_contain_text("comes after Power")
    expect(page.locator(f"{FIRST_ANSWER} .links")).to_have_count(0)
    go_to(page, "#turn-3")
    press(page, "'")
    expect(page.get_by_role("listbox", name="Evidence is")).to_be_focused()
    press(page, "2")
    await_saved(page)
    page.reload()
    assert "rests on" in chip(page, FIRST_ANSWER, "Power")


def test_challenge_and_response_are_coded_by_one_key(page):
    go_to(page, CHALLENGE)
    press(page, "=", "1")
    assert "Warranted" in chip(page, CHALLENGE, "Warranted")
    go_to(page, SECOND_ANSWER)
    press(page, "=", "1")
    assert "Revised" in chip(page, SECOND_ANSWER, "Revised")
    await_saved(page)
    press(page, "Control+z", "Control+z")
    assert (chip(page, CHALLENGE, "Warranted"), chip(page, SECOND_ANSWER, "Revised")) == ("", "")
    press(page, "\\")
    expect(page.locator("#notice")).to_contain_text("Scores need a normative stance")


@pytest.mark.full
def test_codes_after_opened_reasoning_are_marked_and_reasoning_is_read_to_its_end(page, site):
    go_to(page, FIRST_ANSWER)
    with page.expect_event("load"):
        press(page, "-")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    rows = page.locator("#turn-2 .sentence")
    expect(rows.nth(0)).to_be_focused()
    press(page, "Enter")
    expect(rows.nth(1)).to_be_focused()
    press(page, "6", "2")
    await_saved(page)
    expect(page.locator("#turn-2 .chip[data-saw]")).to_have_count(1)
    expect(page.locator("#ledger li")).to_contain_text("in reasoning only")
    open_run(page, site)
    expect(page.locator("#turn-2 summary")).to_contain_text("1 code of yours")


@pytest.mark.full
def test_keys_lie_where_a_german_keyboard_has_other_signs(page):
    go_to(page, SECOND_ANSWER)
    press(page, "u", "1")
    # The key that a German keyboard prints "ö" lies where a QWERTY keyboard has ";".
    page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {code: 'Semicolon', key: 'ö', bubbles: true}))"
    )
    expect(page.get_by_role("listbox", name="Revise acts on")).to_be_focused()
    # And a French one needs Shift for digits.
    page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {code: 'Digit6', key: '-', bubbles: true}))"
    )
    assert "acts on Power" in chip(page, SECOND_ANSWER, "Revise")
    page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {code: 'Semicolon', key: 'ö', bubbles: true}))"
    )
    expect(page.locator("#picker")).to_be_hidden()
    await_saved(page)


@pytest.mark.full
def test_links_that_could_not_be_sent_are_kept_and_stored_once(page, site):
    go_to(page, SECOND_ANSWER)
    press(page, "6", "3")
    await_saved(page)
    page.context.set_offline(True)
    go_to(page, "#turn-1")
    press(page, "'")
    expect(page.locator("#savestate")).to_have_attribute("data-state", "unsaved")
    page.context.set_offline(False)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    await_saved(page)
    page.reload()
    expect(page.locator(f"{SECOND_ANSWER} .links a")).to_have_count(1)


@pytest.mark.full
def test_run_that_really_took_place_is_coded_by_keyboard_alone(site, sign_in):
    shared("data/trajectories/typed_messages/reason_tool_use_50.jsonl")
    page = sign_in(session=next(site.real_sessions))
    open_run(page, site, site.real_url)
    call, back, answer, challenge, last = (f"#turn-{position}" for position in (4, 6, 7, 8, 13))
    # Entries of features, each with a status, and what one rests on: what the tool gave back, which stands with its call.
    go_to(page, answer)
    press(page, "5", "2", "1", "4")
    go_to(page, call)
    press(page, "'", "2")
    told = chip(page, answer, "Task")
    assert "supported" in told
    assert "rests on" in told
    assert "hypothesised" in chip(page, answer, "Epistemic uncertainty")
    # A move and what it acts on.
    go_to(page, answer)
    press(page, "t", "1", ";", "5", ";")
    assert "acts on Epistemic" in chip(page, answer, "Balance")
    go_to(page, challenge)
    press(page, "=", "3")
    go_to(page, last)
    press(page, "=", "1")
    assert "New fact" in chip(page, challenge, "New fact")
    assert "Revised" in chip(page, last, "Revised")
    # The reasoning behind the answer.
    await_saved(page)
    go_to(page, answer)
    with page.expect_event("load"):
        press(page, "-")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    expect(page.locator(f"{back} .sentence").first).to_be_focused()
    press(page, "9", "1")
    assert "silently assumed" in chip(page, back, "User intent")
    # A score under the stance, with a sentence that it rests on.
    press(page, "\\")
    expect(page.locator("#picker")).to_contain_text("care/1")
    press(page, "2", "3")
    expect(page.locator("#notice")).to_contain_text("Now go to a sentence it rests on")
    go_to(page, answer)
    press(page, "'")
    score = page.locator("#own-scores li").filter(has_text="Its moves serve them")
    expect(score).to_contain_text("care/1")
    press(page, "\\", "Escape")
    await_saved(page)
    open_run(page, site, site.real_url)
    assert chip(page, answer, "Task") == told
    assert "acts on Epistemic" in chip(page, answer, "Balance")
    assert "Revised" in chip(page, last, "Revised")
    expect(page.locator(f"{back} summary")).to_contain_text("1 code of yours")
    expect(score).to_contain_text("care/1")
    expect(page.locator("#ledger li")).to_have_count(3)


def listen(page):
    """Keep what is said to screen readers from now on."""
    page.evaluate(
        "() => { window.said = []; for (const id of ['announcer', 'problem']) { const part = document.getElementById(id); "
        "new MutationObserver(() => part.textContent && window.said.push(part.textContent))"
        ".observe(part, {childList: true, characterData: true, subtree: true}); } }"
    )


def told(page):
    return page.evaluate("() => window.said.splice(0)")


def test_only_what_is_stored_is_said_to_be_and_what_was_not_goes_with_the_next_that_is(page):
    refused = page.get_by_role("region", name="Not stored")
    go_to(page, FIRST_ANSWER)
    press(page, "6", "4")
    await_saved(page)
    go_to(page, CHALLENGE)
    listen(page)
    press(page, "'")
    expect(refused).to_contain_text("a link of Power")
    assert len(words := told(page)) == 1
    assert "comes after Power" in words[0]
    # Undo takes back what was done before it, not the link that never was.
    press(page, "Control+z")
    expect(refused).to_be_hidden()
    await_saved(page)
    assert told(page) == ["Undone: status “supported” of Power / asymmetry at 8"]
    go_to(page, CHALLENGE)
    press(page, "'")
    expect(refused).to_be_visible()
    refused.get_by_role("button", name="Dismiss").click()
    expect(refused).to_be_hidden()
    page.reload()
    expect(refused).to_be_hidden()


def test_refused_link_of_a_strip_is_shown_as_off_again(page):
    go_to(page, SECOND_ANSWER)
    press(page, "u", "1")
    await_saved(page)
    listen(page)
    page.route("**/link/", lambda route: route.fulfill(status=422, content_type="text/plain", body="Not here."))
    press(page, ";", "6")
    expect(page.locator("#problem")).to_contain_text("Not here.")
    option = page.locator("#picker").get_by_role("option", name="Power")
    expect(option).to_have_attribute("aria-selected", "false")
    page.unroute("**/link/")
    press(page, "6")
    expect(option).to_have_attribute("aria-selected", "true")
    expect(page.locator("#announcer")).to_have_text("Power / asymmetry on")
    assert told(page)[-1] == "Power / asymmetry on"
    assert "acts on Power" in chip(page, SECOND_ANSWER, "Revise")


def test_what_belongs_to_something_refused_is_told_with_it(page):
    go_to(page, SECOND_ANSWER)
    page.route("**/add/", lambda route: route.abort())
    press(page, "6", "Escape")
    go_to(page, "#turn-1")
    press(page, "'")
    page.route("**/add/", lambda route: route.fulfill(status=422, content_type="text/plain", body="Not now."))
    page.evaluate("window.dispatchEvent(new Event('online'))")
    refused = page.locator("#refused li")
    expect(refused).to_have_count(2)
    expect(refused.nth(1)).to_contain_text("It belongs to what was not stored.")
    expect(page.locator("#problem")).to_contain_text("Not now.")
    page.unroute("**/add/")
    press(page, "Control+z")
    expect(page.locator("#notice")).to_have_text("Nothing to undo.")


def test_status_is_asked_before_the_questions_of_a_feature_and_taken_back_under_its_name(page):
    go_to(page, FIRST_ANSWER)
    listen(page)
    press(page, "2")
    expect(page.get_by_role("listbox", name="Stakeholders: How does the turn leave it?")).to_be_focused()
    press(page, "3")
    expect(page.get_by_role("radio", name="the person in the conversation")).to_be_focused()
    assert chip(page, FIRST_ANSWER, "Stakeholders") == ""
    press(page, "2", "Enter")
    await_saved(page)
    entered = chip(page, FIRST_ANSWER, "Stakeholders")
    assert "elicited" in entered
    assert "an absent third party" in entered
    assert told(page) == ["Stakeholders applied to 8", "status “elicited” of Stakeholders at 8"]
    press(page, "Control+z")
    await_saved(page)
    assert told(page) == ["Undone: status “elicited” of Stakeholders at 8"]
    assert "elicited" not in chip(page, FIRST_ANSWER, "Stakeholders")
    press(page, "Control+z")
    await_saved(page)
    assert told(page) == ["Undone: Stakeholders applied to 8"]
    assert chip(page, FIRST_ANSWER, "Stakeholders") == ""
    press(page, "Control+y", "Control+y")
    await_saved(page)
    assert chip(page, FIRST_ANSWER, "Stakeholders") == entered


def test_status_left_unsaid_goes_on_to_the_questions_and_another_key_leaves_both(page):
    go_to(page, FIRST_ANSWER)
    press(page, "2", "Escape", "1", "Enter")
    await_saved(page)
    assert "the person in the conversation" in chip(page, FIRST_ANSWER, "Stakeholders")
    press(page, "3", "Control+z")
    expect(page.locator("#picker")).to_be_hidden()
    expect(page.locator("form.inline-form")).to_have_count(0)
    await_saved(page)
    assert chip(page, FIRST_ANSWER, "Identity cues") == ""
    assert chip(page, FIRST_ANSWER, "Stakeholders") == ""


def test_turns_have_one_numbering(page, site):
    listed = page.locator("#turns a")
    expect(listed).to_have_text(["Turn 1", "turn 2 reasoning", "turn 3 search", "Turn 6"])
    addresses = [link.get_attribute("href") or "" for link in listed.all()]
    assert addresses == ["#t1", "#turn-2", "#turn-3", "#t6"]
    expect(page.get_by_role("region", name="Turns 1 to 5")).to_have_count(1)
    expect(page.locator("#t6 .place").first).to_have_text("#6")
    listed.nth(3).click()
    expect(page.locator("#t6 [aria-current='true']")).to_have_count(1)
