"""The desk in a real browser: coding by keyboard alone, saving that tells the truth, and access for everybody."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from tests.browser.conftest import SignIn, Site, find_violations
from tests.browser.stage import STUDY

pytestmark = pytest.mark.browser

CURRENT = ".sentence[aria-current='true']"
SAVED = "#savestate[data-state='saved']"


def open_desk(page: Page, site: Site, interview: str = "own") -> None:
    page.goto(site.desk_url(interview))
    expect(page.locator("#decided-count")).to_be_visible()
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def await_saved(page: Page) -> None:
    """Until every act so far is with the server."""
    page.wait_for_selector(SAVED)


def read_codes(page: Page) -> list[str]:
    """Every chip of the page, as "sentence key level enactment", in the order of the page."""
    # In one go, for the server's answer replaces the chips at any moment.
    told: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('.sentence .chip[data-coding]')].map((chip) => [chip.closest('.sentence').id, "
        "chip.dataset.code, chip.dataset.level, chip.dataset.enactment].join(' ').trim())"
    )
    return told


def read_export(page: Page, site: Site) -> list[dict[str, str]]:
    """This person's own codings as the exports page gives them, fetched by keyboard in a tab of its own."""
    tab = page.context.new_page()
    tab.goto(f"{site.base_url}/p/{STUDY}/exports/")
    tab.get_by_role("button", name="Codings as CSV").focus()
    with tab.expect_download() as download:
        tab.keyboard.press("Enter")
    text = download.value.path().read_text(encoding="utf-8-sig")
    tab.close()
    return list(csv.DictReader(io.StringIO(text)))


def test_ten_sentences_of_a_real_excerpt_by_keyboard_alone(site: Site, sign_in: SignIn) -> None:
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


def test_same_key_takes_the_code_off_and_undo_brings_it_back(site: Site, sign_in: SignIn) -> None:
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


def test_undo_of_a_latent_coding_that_was_taken_off_keeps_its_line(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "Shift+S")
    page.keyboard.type("Takes the group as a clue")
    press(page, "Enter", "Shift+S")
    assert read_codes(page) == []
    press(page, "Control+z")
    expect(page.locator(".reading")).to_have_text("Takes the group as a clue")


def test_escape_puts_nothing(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "ArrowDown", "r", "Escape")
    assert read_codes(page) == []
    expect(page.locator(CURRENT)).to_be_focused()


def test_enter_says_none_applies_and_goes_on(site: Site, sign_in: SignIn) -> None:
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


def test_focus_stays_on_the_sentence_when_the_server_answers(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "ArrowDown")
    for _ in range(5):
        for key in ["a", "s", "d", "f", "g"]:
            press(page, key)
        await_saved(page)
        expect(page.locator(CURRENT)).to_be_focused()


def test_codes_are_read_out_with_their_sentence(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "r", "2", "Shift+Enter")
    await_saved(page)
    expect(page.locator(CURRENT)).to_have_accessible_name(
        "Model, 2 of 17. I would begin with a question. Codes: Balance, Contextualize demonstrated. Decided."
    )


def test_shortcuts_are_silent_in_a_memo_and_the_memo_is_kept(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "m")
    page.keyboard.type("sad / hedges? d")
    assert read_codes(page) == []
    press(page, "Control+Enter")
    await_saved(page)
    page.reload()
    expect(page.locator(".memo .words")).to_have_text("sad / hedges? d")


def test_draft_of_a_memo_survives_escape(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "m")
    page.keyboard.type("Unfinished")
    press(page, "Escape", "ArrowDown", "ArrowUp", "m")
    assert page.input_value("#memo-text") == "Unfinished"


def test_refused_memo_stays_as_a_draft(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "m")
    page.locator("#memo-text").fill("x" * 20_001)
    press(page, "Control+Enter")
    expect(page.locator("#problem")).to_contain_text("at most 20,000 fit")
    expect(page.locator("#memo-text")).to_be_visible()
    assert len(page.input_value("#memo-text")) == 20_001
    expect(page.locator(".memo")).to_have_count(0)
    page.on("dialog", lambda dialog: dialog.accept())


def test_palette_finds_a_code_by_its_definition(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "/")
    page.keyboard.type("generic fair")
    press(page, "Enter")
    await_saved(page)
    assert read_codes(page)[0].split()[1] == "failure.generic_fairness_talk"
    press(page, "ArrowDown", ".")
    await_saved(page)
    assert len(read_codes(page)) == 2


def test_single_keys_can_be_switched_off(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "?")
    page.get_by_label("Single keys act").uncheck()
    page.get_by_role("button", name="Close").click()
    press(page, "d")
    assert read_codes(page) == []
    page.reload()
    press(page, "d", "Control+k")
    page.keyboard.type("balance")
    press(page, "Enter")
    await_saved(page)
    assert len(read_codes(page)) == 1


def test_codes_lie_where_their_keys_lie_on_another_layout(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    # The key that a French keyboard prints "q" lies where a QWERTY keyboard has "a".
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', {code: 'KeyA', key: 'q', bubbles: true}))")
    await_saved(page)
    assert read_codes(page)[0].split()[1] == "theme.models_metamodels"


def test_suggestions_open_after_the_own_decision_and_are_kept_or_left_by_key(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "o")
    expect(page.locator("#announcer")).to_have_text("Decide about this sentence first: Enter.")
    assert "Because of" not in page.content()
    row = page.locator(CURRENT)
    press(page, "Shift+Enter")
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


def lose_requests(route: Route) -> None:
    route.abort() if route.request.method == "POST" else route.continue_()


def lose_answers(route: Route) -> None:
    """The server gets the act; its answer is lost on the way back."""
    if route.request.method == "POST":
        route.fetch()
        route.abort()
    else:
        route.continue_()


@pytest.mark.parametrize("lose", [lose_requests, lose_answers])
def test_codes_made_without_network_survive_a_reload_and_are_stored_once(
    site: Site, sign_in: SignIn, lose: Callable[[Route], None]
) -> None:
    page = sign_in()
    warnings: list[str] = []

    def answer(dialog: Dialog) -> None:
        warnings.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    open_desk(page, site)
    page.route("**/*", lose)
    for key in ["d", "s", "f", "g", "h"]:
        press(page, key, "ArrowDown")
    expect(page.locator("#savestate")).to_have_text("not saved (5)")
    codes = read_codes(page)
    assert len(codes) == 5
    page.reload()
    assert warnings == ["beforeunload"]
    expect(page.locator("#savestate")).to_have_text("not saved (5)")
    assert read_codes(page) == codes
    page.unroute("**/*", lose)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    await_saved(page)
    page.reload()
    assert read_codes(page) == codes
    rows = read_export(page, site)
    assert len(rows) == 5


def test_what_the_server_refuses_is_rolled_back_and_said(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    words = "This code is not part of this study's codebook."
    page.route("**/add/", lambda route: route.fulfill(status=409, content_type="text/plain", body=words))
    press(page, "d")
    expect(page.locator("#problem")).to_contain_text(words)
    expect(page.locator(".sentence .chip[data-coding]")).to_have_count(0)
    await_saved(page)


def test_it_never_says_saved_before_the_server_did(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/add/", hold)
    press(page, "d")
    expect(page.locator("#savestate")).to_have_text("saving…")
    page.wait_for_function("() => document.querySelectorAll('.chip[data-coding]').length === 1")
    assert page.locator("#savestate").inner_text() == "saving…"
    held[0].continue_()
    await_saved(page)


def test_signing_out_elsewhere_keeps_the_codes_in_the_page(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    page.context.clear_cookies(name="sessionid")
    press(page, "d")
    expect(page.locator("#problem")).to_contain_text("Sign in again in another tab")
    expect(page.locator("#savestate")).to_have_text("not saved (1)")
    assert len(read_codes(page)) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_barrier_in_any_state(site: Site, sign_in: SignIn, scheme: str) -> None:
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


@pytest.mark.parametrize("options", [{"viewport": {"width": 320, "height": 640}}, {"forced_colors": "active"}])
def test_no_barrier_when_narrow_or_in_forced_colours(site: Site, sign_in: SignIn, options: dict[str, object]) -> None:
    page = sign_in(**options)
    open_desk(page, site)
    press(page, "d", "Enter", "Shift+A")
    assert find_violations(page) == []


def test_nothing_scrolls_sideways_at_320_pixels(site: Site, sign_in: SignIn) -> None:
    page = sign_in(viewport={"width": 320, "height": 640})
    open_desk(page, site)
    press(page, "Shift+A")
    assert page.evaluate("document.documentElement.scrollWidth") == 320


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, {"width": 320, "height": 640}])
def test_current_sentence_is_never_covered(site: Site, sign_in: SignIn, viewport: dict[str, int]) -> None:
    page = sign_in(viewport=viewport)
    open_desk(page, site)
    for _ in range(12):
        press(page, "ArrowDown")
        covered = page.evaluate(
            """() => {
                const box = document.querySelector(".sentence[aria-current='true'] .text").getBoundingClientRect();
                const row = document.elementFromPoint(box.left + 4, box.top + 4)?.closest(".sentence");
                return !row?.hasAttribute("aria-current");
            }"""
        )
        assert not covered


def test_targets_are_at_least_24_pixels(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "Enter")
    small: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("main :is(button, a, summary, input:not([type=hidden]))")]
            .filter((element) => element.checkVisibility())
            .map((element) => [element.getBoundingClientRect(), element])
            .filter(([box]) => box.width && (box.width < 24 || box.height < 24))
            .map(([box, element]) => `${element.outerHTML.slice(0, 60)} ${box.width} x ${box.height}`)"""
    )
    assert small == []


def test_two_thousand_sentences_are_usable(site: Site, sign_in: SignIn) -> None:
    page = sign_in()
    open_desk(page, site, "long")
    press(page, "End", "d", "PageUp", "s", "Home")
    await_saved(page)
    assert len(read_codes(page)) == 2


def test_everything_can_be_done_without_script(site: Site, sign_in: SignIn) -> None:
    page = sign_in(java_script_enabled=False)
    page.goto(site.desk_url("own"))
    page.get_by_role("button", name="Balance used 0").click()
    chip = page.locator(".sentence .chip", has_text="Balance")
    expect(chip).to_be_visible()
    page.get_by_role("button", name="Take off Balance").click()
    expect(chip).to_have_count(0)
    page.get_by_role("button", name="Nothing more here").click()
    expect(page.locator(".chip.none")).to_have_count(1)
    page.locator(".sentence .n").last.click()
    page.get_by_text("Memo m", exact=True).click()
    page.get_by_label("Memo on sentence").fill("Written without script")
    page.get_by_role("button", name="Save memo").first.click()
    expect(page.locator(".sentence .memo")).to_contain_text("Written without script")
