"""The desk is there for everybody: axe-core, narrow windows, targets, focus, names, and no script at all."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, open_desk, press, read_codes

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_no_barrier_in_any_state(site, sign_in, scheme):
    page = sign_in(color_scheme=scheme)
    open_desk(page, site)
    assert find_violations(page) == []
    press(page, "d", "r", "1", "Shift+A")
    assert find_violations(page) == []
    page.keyboard.type("Reads it")
    press(page, "Enter", "1", "Enter", "Enter", "m")
    assert find_violations(page) == []
    press(page, "Escape", "/")
    assert find_violations(page) == []
    press(page, "Escape", "?")
    assert find_violations(page) == []


NARROW = {"viewport": {"width": 320, "height": 640}}
LIGHT = {"color_scheme": "light"}
DARK = {"color_scheme": "dark"}
FORCED = {"forced_colors": "active"}
# The first in make test, where a state is looked at once; the others in make test-ci.
WAYS_TO_SEE = [LIGHT | NARROW, LIGHT, DARK, FORCED]


@pytest.mark.full
@pytest.mark.parametrize("options", WAYS_TO_SEE, ids=str)
def test_no_barrier_while_marking_taking_in_and_saying_more(site, sign_in, options):
    page = sign_in(**options)
    open_desk(page, site)
    press(page, "Shift+ArrowDown", "d")
    assert find_violations(page) == []
    press(page, "Escape", "ArrowDown", "x", "ArrowRight", "Shift+ArrowRight")
    assert find_violations(page) == []
    press(page, "Enter")
    assert find_violations(page) == []
    press(page, "r", "1", "v")
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    press(page, "Escape", "Shift+Enter")
    expect(page.locator("#suggestions-body .suggestion-list")).to_be_visible()
    press(page, "s", "Enter")
    expect(page.get_by_label("Reason, in one line")).to_be_focused()
    assert find_violations(page) == []


@pytest.mark.parametrize("options", [NARROW, FORCED])
@pytest.mark.full
def test_no_barrier_when_narrow_or_in_forced_colours(site, sign_in, options):
    page = sign_in(**options)
    open_desk(page, site)
    press(page, "d", "Enter", "Shift+A")
    assert find_violations(page) == []


@pytest.mark.full
def test_on_a_phone_nothing_scrolls_sideways_and_what_ends_a_sentence_is_in_sight(site, sign_in):
    page = sign_in(viewport={"width": 320, "height": 640})
    open_desk(page, site)
    expect(page.get_by_role("button", name="Nothing more here")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.querySelector('.site-nav').scrollLeft") > 0, "the row begins where the open page is"
    press(page, "Shift+A")
    assert page.evaluate("document.documentElement.scrollWidth") == 320


@pytest.mark.full
def test_the_end_of_an_interview_is_told_with_what_is_left_and_where_to_go(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "End", "Enter")
    told = page.locator("#notice")
    expect(told).to_contain_text("This was the last sentence.")
    expect(told).to_contain_text("before it are not decided. Press p to go to the first of them")
    expect(page.get_by_role("link", name="complete this interview")).to_be_in_viewport()
    expect(page.locator(".column > .end")).to_be_in_viewport()


@pytest.mark.full
def test_a_question_that_does_not_fit_can_be_unfolded(site, sign_in):
    page = sign_in(viewport={"width": 320, "height": 640})
    open_desk(page, site)
    button = page.locator(".question").first.locator(".unfold")
    expect(button).to_be_hidden()
    page.locator(".question .text").first.evaluate("(text) => { text.textContent = 'A long question. '.repeat(20); }")
    expect(button).to_be_visible()
    height = "() => document.querySelector('.question .words').offsetHeight"
    folded = page.evaluate(height)
    button.click()
    expect(button).to_have_text("less of the question of turn 1")
    assert page.evaluate(height) > folded
    button.click()
    expect(button).to_have_text("more of the question of turn 1")
    assert page.evaluate(height) == folded


# Windows, among them those of 1280 by 800 at a zoom of 200 % and 400 %.
WINDOWS = [(320, 640), (1280, 800), (640, 400), (320, 200), (900, 700), (1100, 540), (960, 500), (320, 256), (960, 440)]
LENGTHEN = """() => document.querySelectorAll(".question .text").forEach((text, at) => {
  text.textContent = ["A long question, which asks this and that. ".repeat(6), "On and on it goes. ".repeat(60)][at % 2];
})"""
# The lines of the current sentence that something else covers or the window leaves out; of a sentence that is taller than half the
# window, its first.
FIND_HIDDEN = """async () => {
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const row = document.querySelector(".sentence[aria-current='true']");
  const range = document.createRange();
  range.selectNodeContents(row.querySelector(".text"));
  const lines = [...range.getClientRects()].filter(({ width }) => width > 2);
  const isSeen = ({ left, top, bottom, width }) =>
    [top + 2, bottom - 2].every((y) => document.elementFromPoint(left + Math.min(width, 6) / 2, y)?.closest(".sentence") === row);
  const isTall = lines.at(-1).bottom - lines[0].top > window.innerHeight / 2;
  const hidden = (isTall ? lines.slice(0, 1) : lines).filter((line) => !isSeen(line));
  return hidden.length ? `${hidden.length} of ${lines.length} lines of ${row.querySelector(".n").textContent}` : "";
}"""


def walk(page, keys):
    """Press keys; after which of them the current sentence was not seen whole."""
    hidden = []
    for place, key in enumerate(keys):
        press(page, key)
        if told := page.evaluate(FIND_HIDDEN):
            hidden.append(f"{place} {key}: {told}")
    return hidden


@pytest.mark.parametrize("window", [WINDOWS[0], *(pytest.param(each, marks=pytest.mark.full) for each in WINDOWS[1:])])
def test_the_current_sentence_is_never_under_its_question(site, sign_in, window):
    page = sign_in(viewport={"width": window[0], "height": window[1]})
    open_desk(page, site)
    page.evaluate(LENGTHEN)
    codes = ["d", "r", "1", "s", "Enter", "ArrowUp", "Control+z"]
    assert walk(page, ["End", *["ArrowUp"] * 16, *codes, "PageDown", "PageUp"]) == []


@pytest.mark.parametrize("window", WINDOWS[:4])
@pytest.mark.full
def test_whole_interviews_are_walked_with_each_sentence_in_sight(site, sign_in, window):
    page = sign_in(session=site.owner, viewport={"width": window[0], "height": window[1]})
    for interview in ("1", "3"):
        page.goto(f"{site.base_url}/studies/demo/interviews/{interview}/")
        page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
        steps = page.locator("#transcript .sentence").count() - 1
        assert walk(page, ["Home", *["ArrowDown"] * steps, *["ArrowUp"] * steps]) == []


@pytest.mark.parametrize(
    "window", [(640, 400), *(pytest.param(each, marks=pytest.mark.full) for each in [(320, 300), (1280, 800)])]
)
def test_codes_are_clicked_where_the_sentence_is_in_a_low_window_too(site, sign_in, window):
    page = sign_in(viewport={"width": window[0], "height": window[1]})
    open_desk(page, site)
    press(page, *["ArrowDown"] * 6)
    for button in (page.locator("button[data-code='theme.balance']"), page.locator("form.decide button")):
        place = page.evaluate("window.scrollY")
        button.click()
        assert abs(page.evaluate("window.scrollY") - place) < window[1]
    await_saved(page)
    expect(page.locator("#savestate")).to_have_text(re.compile("^saved "))
    heights = page.evaluate("['.panel-head', '#savestate'].map((part) => document.querySelector(part).offsetHeight)")
    assert heights[1] < heights[0] <= 40, "one line, below which the codes begin"
    assert page.locator(".sentence.decided .n").all_text_contents() == ["8"]
    assert [each.split()[1] for each in read_codes(page)] == ["theme.balance"]


def test_targets_are_at_least_24_pixels(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "Enter", "x", "ArrowRight", "r", "1", "v")
    small = page.evaluate(
        """() => [...document.querySelectorAll("main :is(button, a, summary, input:not([type=hidden]))")]
            .filter((element) => element.checkVisibility())
            .map((element) => [element.getBoundingClientRect(), element])
            .filter(([box]) => box.width && (box.width < 24 || box.height < 24))
            .map(([box, element]) => `${element.outerHTML.slice(0, 60)} ${box.width} x ${box.height}`)"""
    )
    assert small == []


@pytest.mark.parametrize(("window", "least"), [((1280, 800), 25), ((1920, 1080), 38)])
def test_the_codes_are_in_sight_at_once(site, sign_in, window, least):
    page = sign_in(viewport=dict(zip(("width", "height"), window, strict=True)))
    open_desk(page, site)
    got_it = page.get_by_role("button", name="Got it")
    if got_it.is_visible():
        got_it.click()
        open_desk(page, site)
    in_sight = page.evaluate(
        """() => {
            const frame = document.querySelector(".panel > .codes").getBoundingClientRect();
            return [...document.querySelectorAll(".panel button.code")].filter((button) => {
                const box = button.getBoundingClientRect();
                return button.checkVisibility() && box.top >= frame.top && box.bottom <= frame.bottom;
            }).length;
        }"""
    )
    assert in_sight >= least


@pytest.mark.full
def test_codes_are_read_out_with_their_sentence(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "r", "2", "Shift+Enter")
    await_saved(page)
    expect(page.locator(CURRENT)).to_have_accessible_name(
        "Model, 2 of 17. I would begin with a question. Codes: Balance, Contextualize demonstrated. Decided."
    )


def test_enter_decides_only_the_sentence_that_has_the_focus(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    expect(page.locator(CURRENT)).to_be_focused()
    expect(page.locator(CURRENT)).to_have_accessible_description(re.compile("Orca: Insert.A twice"))
    page.evaluate("document.activeElement.blur()")
    press(page, "Enter")
    expect(page.locator("#notice")).to_contain_text("nothing was decided. It is on sentence 2 now")
    # As a screen reader goes to the number of a sentence.
    page.locator(".sentence .n").nth(5).focus()
    expect(page.locator(f"{CURRENT} .n")).to_have_text("6")
    press(page, "Enter")
    expect(page.locator(CURRENT)).to_be_focused()
    expect(page.locator(".sentence.decided")).to_have_count(0)
    press(page, "Enter")
    expect(page.locator(".sentence.decided .n")).to_have_text("6")
    expect(page.locator("#announcer")).to_have_text("None applies to sentence 6.")


@pytest.mark.full
def test_focus_stays_on_the_sentence_through_a_hundred_answers(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "ArrowDown")
    for _ in range(20):
        for key in ["a", "s", "d", "f", "g"]:
            press(page, key)
        await_saved(page)
        expect(page.locator(CURRENT)).to_be_focused()


def test_everything_can_be_done_without_script(site, sign_in):
    page = sign_in(java_script_enabled=False)
    page.goto(site.desk_url("own"))
    page.get_by_role("button", name="Balance used 0").click()
    chip = page.locator(".sentence .chip", has_text="Balance")
    expect(chip).to_be_visible()
    page.get_by_role("button", name="Remove Balance").click()
    expect(chip).to_have_count(0)
    page.get_by_role("button", name="Nothing more here").click()
    expect(page.locator(".chip.none")).to_have_count(1)
    page.locator(".sentence .n").last.click()
    page.get_by_text("Memo m", exact=True).click()
    page.get_by_label("Memo on sentence").fill("Written without script")
    page.get_by_role("button", name="Save memo").first.click()
    expect(page.locator(".sentence .memo")).to_contain_text("Written without script")
