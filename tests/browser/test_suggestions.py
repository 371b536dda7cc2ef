"""The machine panel of the desk in a browser: decide, reveal, keep, leave, edit, take back; withheld turns; drafts."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, press, read_codes

pytestmark = [pytest.mark.browser, pytest.mark.processes]

PANEL = "#suggestions"
SUGGESTIONS = f"{PANEL} .suggestion"
ANSWERED = f"{PANEL} .answered"
IS_UNCOVERED = """(row) => {
  const { left, top, bottom, width } = row.getBoundingClientRect();
  return [top + 3, bottom - 3].every((y) => row.contains(document.elementFromPoint(left + width / 2, y)));
}"""


@pytest.fixture(autouse=True)
def console():
    """What pages wrote on their console, which has to be nothing; a form that comes back with 422 is told by Chromium."""
    words = list[str]()
    yield words
    assert [each for each in words if "status of 422" not in each] == []


@pytest.fixture
def sign_in(sign_in, console):
    def enter(**options):
        page = sign_in(**options)
        page.on("console", lambda message: console.append(message.text))
        return page

    return enter


def open_suggested(site, sign_in, interview, **options):
    """The desk of a new coder at the first sentence the model says."""
    page = sign_in(session=next(site.suggested_sessions), **options)
    page.goto(site.suggested_url(interview))
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    return page


def test_decide_reveal_keep_one_leave_one_edit_one_and_undo(site, sign_in):
    page = open_suggested(site, sign_in, "open")
    row = page.locator(CURRENT)
    press(page, "o")
    expect(page.locator("#announcer")).to_have_text("Decide on this sentence first: press Enter.")
    assert "Because of" not in page.content()
    press(page, "Shift+Enter")
    expect(page.locator(SUGGESTIONS)).to_have_count(3)
    expect(page.locator(f"{SUGGESTIONS} mark").first).to_have_text("ask what she has tried before.")
    expect(page.get_by_text("Because of").first).to_be_hidden()
    expect(row).to_be_focused()
    assert find_violations(page) == []
    expect(page.locator(SUGGESTIONS).nth(0)).to_have_attribute("aria-current", "true")
    press(page, "k")
    expect(page.locator(ANSWERED)).to_have_count(1)
    expect(row.locator(".chip[data-coding]")).to_have_count(1)
    # Keys answer the next one, which is marked and wholly in sight, and so is Enter.
    expect(page.locator(f"{PANEL} [aria-current]")).to_have_count(1)
    expect(page.locator(SUGGESTIONS).nth(1)).to_have_attribute("aria-current", "true")
    for place in (page.locator(SUGGESTIONS).nth(1), page.locator(".decide button")):
        assert place.evaluate(IS_UNCOVERED)
    press(page, "l")
    expect(page.locator(ANSWERED)).to_have_count(2)
    expect(row.locator(".chip[data-coding]")).to_have_count(1)
    edit_open_one(page)
    expect(page.locator(ANSWERED)).to_have_count(3)
    expect(row.locator(".chip.latent[data-coding]")).to_have_count(1)
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    take_all_back(page)


def edit_open_one(page):
    """Keep the one that is left, read as latent; without a reason it is not taken."""
    page.locator(f"{PANEL} summary", has_text="Accept with changes").click()
    form = page.locator(f"{PANEL} form.stack")
    form.get_by_label("Level").select_option("latent")
    form.get_by_label("Reason for the change").fill("It is not said outright.")
    form.get_by_role("button", name="Accept this version").click()
    expect(page.locator(f"{PANEL} .error")).to_contain_text("your interpretation of the sentence in one line")
    expect(page.locator(f"{PANEL} .error")).to_be_in_viewport()
    note = page.locator(f"{PANEL} form.stack").get_by_label("Interpretation in one line")
    expect(note).to_be_focused()
    expect(note).to_have_accessible_description(
        "A latent coding needs your interpretation of the sentence in one line."
    )
    assert find_violations(page) == []
    form = page.locator(f"{PANEL} form.stack")
    expect(form.get_by_label("Reason for the change")).to_have_value("It is not said outright.")
    form.get_by_label("Interpretation in one line").fill("She asks before she answers.")
    form.get_by_role("button", name="Accept this version").click()


def take_all_back(page):
    """The last three acts are the answers, undone by key one by one; then the decision."""
    row = page.locator(CURRENT)
    row.focus()
    for left, codes in ((2, 1), (1, 1), (0, 0)):
        press(page, "Control+z")
        expect(page.locator(ANSWERED)).to_have_count(left)
        expect(row.locator(".chip[data-coding]")).to_have_count(codes)
    expect(row.locator(".chip.none")).to_have_count(1)
    for given, codes in ((1, 1), (2, 1), (3, 2)):
        press(page, "Control+Shift+z")
        expect(page.locator(ANSWERED)).to_have_count(given)
        expect(row.locator(".chip[data-coding]")).to_have_count(codes)
    expect(row.locator(".chip.latent[data-coding]")).to_have_count(1)
    for left in (2, 1, 0):
        press(page, "Control+z")
        expect(page.locator(ANSWERED)).to_have_count(left)
    page.reload()
    assert read_codes(page) == []
    expect(page.locator(".sentence .open-suggestions")).to_have_count(1)


@pytest.mark.full
def test_on_a_coded_sentence_suggestions_open_after_it_is_stored_as_decided(site, sign_in):
    page = open_suggested(site, sign_in, "open")
    press(page, "d")
    row = page.locator(CURRENT)
    expect(row).to_have_class(re.compile(r"\bdecided\b"))
    assert row.locator(".marks").get_attribute("data-decision") is None
    press(page, "o")
    expect(page.locator(SUGGESTIONS).first).to_be_visible()
    assert row.locator(".marks").get_attribute("data-decision")
    expect(page.locator("#decided-count")).to_have_text("1")


def test_an_answer_is_taken_back_by_its_button_and_leaves_the_list_of_what_was_done(site, sign_in):
    page = open_suggested(site, sign_in, "open")
    press(page, "Shift+Enter")
    expect(page.locator(SUGGESTIONS)).to_have_count(3)
    press(page, "l")
    expect(page.locator(ANSWERED)).to_have_count(1)
    expect(page.locator("#history li")).to_have_count(2)
    page.get_by_role("button", name="Take back", exact=True).click()
    expect(page.locator(ANSWERED)).to_have_count(0)
    expect(page.locator("#history li")).to_have_count(1)
    expect(page.locator(f"{PANEL} .suggestion-list")).to_be_focused()


@pytest.mark.full
def test_a_sentence_without_a_suggestion_says_so_as_plainly(site, sign_in):
    page = open_suggested(site, sign_in, "open")
    press(page, "ArrowDown", "Shift+Enter")
    expect(page.locator(PANEL)).to_contain_text("No code suggested.")
    expect(page.locator(SUGGESTIONS)).to_have_count(0)
    press(page, "ArrowUp")
    expect(page.locator(PANEL)).to_contain_text("once you have decided")


@pytest.mark.full
def test_a_turn_of_the_interviewer_that_no_machine_was_asked_about_says_so(site, sign_in):
    page = open_suggested(site, sign_in, "open")
    press(page, "ArrowUp", "Shift+Enter")
    expect(page.locator(PANEL)).to_contain_text("No machine has annotated this turn")
    expect(page.locator(f"{CURRENT} .open-suggestions")).to_have_count(0)
    press(page, "ArrowDown")
    expect(page.get_by_role("button", name="Open suggestions for the interviewer’s turn")).to_be_hidden()


def test_a_challenge_is_taken_over_by_keyboard_after_ones_own(site, sign_in):
    page = open_suggested(site, sign_in, "questions")
    press(page, "ArrowUp", "o")
    expect(page.locator("#announcer")).to_contain_text("Decide on this turn first")
    expect(page.locator(SUGGESTIONS)).to_have_count(0)
    assert "Because of" not in page.content()
    press(page, "=", "1")
    await_saved(page)
    chips = page.locator(".question .chip[data-coding]")
    expect(chips).to_have_count(1)
    press(page, "o")
    expect(page.locator(SUGGESTIONS)).to_have_count(1)
    expect(page.locator(SUGGESTIONS)).to_contain_text("Probe")
    expect(page.locator(f"{SUGGESTIONS} mark")).to_have_text("you ask first?")
    expect(page.locator(CURRENT)).to_be_focused()
    assert find_violations(page) == []
    press(page, "k")
    expect(page.locator(ANSWERED)).to_have_count(1)
    expect(chips).to_have_count(2)
    expect(chips.filter(has_text="Probe")).to_contain_text("after suggestions")
    expect(chips.filter(has_text="Warranted")).not_to_contain_text("after suggestions")
    press(page, "Control+z")
    expect(chips).to_have_count(1)
    press(page, "Control+Shift+z")
    expect(chips).to_have_count(2)
    page.reload()
    expect(chips).to_have_count(2)


def test_a_withheld_turn_shows_none_and_leaves_its_coder_blind(site, sign_in):
    page = open_suggested(site, sign_in, "withheld")
    press(page, "Shift+Enter")
    expect(page.locator(PANEL)).to_contain_text("Nothing is shown on this turn")
    assert "Because of" not in page.content()
    assert find_violations(page) == []
    press(page, "d")
    await_saved(page)
    expect(page.locator(f"{CURRENT} .chip[data-coding]")).to_have_count(1)
    expect(page.locator(f"{CURRENT} .chip[data-coding]")).not_to_contain_text("after suggestions")


@pytest.mark.full
def test_in_a_draft_suggestions_open_before_a_decision_and_what_follows_is_assisted(site, sign_in):
    page = open_suggested(site, sign_in, "draft")
    expect(page.locator("#draft")).to_contain_text("Draft")
    press(page, "o")
    expect(page.locator(SUGGESTIONS)).to_have_count(3)
    assert find_violations(page) == []
    press(page, "k")
    expect(page.locator(f"{CURRENT} .chip[data-coding]")).to_contain_text("after others’ labels")
    press(page, "ArrowDown", "d", "Enter")
    expect(page.get_by_label("Reason, in one line")).to_be_focused()


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"color_scheme": "dark", "viewport": {"width": 320, "height": 640}}, marks=pytest.mark.full),
        {"java_script_enabled": False},
    ],
)
def test_the_panel_can_be_used_in_the_dark_in_a_narrow_window_and_without_a_script(site, sign_in, options):
    if not options.get("java_script_enabled", True):
        use_without_script(site, sign_in)
        return
    page = open_suggested(site, sign_in, "open", **options)
    press(page, "Shift+Enter")
    expect(page.locator(SUGGESTIONS)).to_have_count(3)
    # The sentence in question stays above the panel.
    expect(page.locator(CURRENT)).to_be_in_viewport(ratio=1)
    assert page.locator(CURRENT).evaluate(IS_UNCOVERED)
    page.locator(f"{PANEL} summary", has_text="Accept with changes").last.click()
    form = page.locator(f"{PANEL} details[open] form")
    form.get_by_label("Level").select_option("latent")
    form.get_by_label("Reason for the change").fill("It is not said outright.")
    form.get_by_role("button", name="Accept this version").click()
    expect(page.locator(f"{PANEL} .error")).to_be_in_viewport()
    assert page.locator(CURRENT).evaluate(IS_UNCOVERED)
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def use_without_script(site, sign_in):
    page = sign_in(session=next(site.suggested_sessions), java_script_enabled=False)
    page.goto(site.suggested_url("open"))
    page.get_by_role("button", name="Nothing more here").click()
    page.locator(".open-suggestions").first.click()
    expect(page.locator(".suggestion")).to_have_count(3)
    page.get_by_role("button", name="Accept", exact=True).first.or_(
        page.get_by_role("button", name="k Accept").first
    ).click()
    expect(page.locator(".sentence .chip.own")).to_have_count(1)
    page.locator(".open-suggestions").first.click()
    expect(page.get_by_role("button", name="Take back", exact=True)).to_have_count(1)


@pytest.mark.full
def test_a_move_without_enactment_is_kept_once_a_digit_chooses_it(site, sign_in):
    page = open_suggested(site, sign_in, "moves")
    row = page.locator(CURRENT)
    press(page, "Shift+Enter")
    expect(page.locator(SUGGESTIONS)).to_have_count(1)
    press(page, "k")
    expect(page.locator(f"{SUGGESTIONS} [data-digit='1']")).to_be_focused()
    expect(page.locator(ANSWERED)).to_have_count(0)
    assert find_violations(page) == []
    press(page, "3")
    expect(page.locator(ANSWERED)).to_have_count(1)
    expect(row.locator(".chip[data-coding]")).to_have_attribute("data-enactment", "described")
