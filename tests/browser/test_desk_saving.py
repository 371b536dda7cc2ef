"""The page tells the truth about saving, and nothing is lost or stored twice."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import await_here, await_saved, open_desk, press, read_codes, read_export

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def lose_requests(route):
    route.abort() if route.request.method == "POST" else route.continue_()


def lose_answers(route):
    """The server gets the act; its answer is lost on the way back."""
    if route.request.method == "POST":
        route.fetch()
        route.abort()
    else:
        route.continue_()


@pytest.mark.parametrize("lose", [pytest.param(lose_requests, marks=pytest.mark.full), lose_answers])
def test_codes_made_without_network_survive_a_reload_and_are_stored_once(site, sign_in, lose):
    page = sign_in()
    warnings = []

    def answer(dialog):
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


@pytest.mark.full
def test_a_minute_without_network_a_reload_and_two_bad_gateways_lose_nothing(site, sign_in):
    page = sign_in()
    page.on("dialog", lambda dialog: dialog.accept())
    page.clock.install()
    open_desk(page, site, "long")
    page.route("**/*", lose_requests)
    for _ in range(20):
        press(page, "d", "ArrowDown")
    page.clock.fast_forward(60_000)
    expect(page.locator("#savestate")).to_have_text("not saved (20)")
    codes = read_codes(page)
    page.reload()
    expect(page.locator("#savestate")).to_have_text("not saved (20)")
    assert read_codes(page) == codes
    bad = ["first", "second"]

    def answer_badly_at_first(route):
        if route.request.method == "POST" and bad:
            bad.pop()
            route.fulfill(status=502, body="Bad gateway")
        else:
            route.continue_()

    # The later handler is asked first: no act gets through between the two.
    page.route("**/add/", answer_badly_at_first)
    page.unroute("**/*", lose_requests)
    page.clock.fast_forward(30_000)
    await_here(page, lambda: len(bad) < 2, what="the act was tried again")
    page.clock.fast_forward(30_000)
    await_here(page, lambda: not bad, what="the act was tried once more")
    page.clock.fast_forward(30_000)
    await_saved(page)
    page.reload()
    assert read_codes(page) == codes
    rows = read_export(page, site)
    assert len(rows) == len({row["sentence_id"] for row in rows}) == 20


def test_what_the_server_refuses_is_rolled_back_and_said(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    words = "This code is not part of this study's codebook."
    page.route("**/add/", lambda route: route.fulfill(status=409, content_type="text/plain", body=words))
    press(page, "d")
    expect(page.locator("#problem")).to_contain_text(words)
    expect(page.locator(".sentence .chip[data-coding]")).to_have_count(0)
    expect(page.locator("#savestate")).to_have_text("last change not saved")
    page.unroute("**/add/")
    press(page, "d")
    await_saved(page)
    expect(page.locator("#savestate")).to_contain_text("saved ")


@pytest.mark.full
def test_a_second_repertoire_in_one_answer_is_refused_with_words_for_the_keyboard(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    for moves in (0, 1):
        press(page, *["ArrowDown"] * moves, "/")
        page.keyboard.type("invitation to user correction")
        press(page, "Enter")
        page.wait_for_function("() => document.getElementById('savestate').textContent !== 'saving…'")
    words = "first remove it from sentence 2, then apply it here"
    problem = page.get_by_role("alert").filter(has_text=words)
    expect(problem).to_be_visible()
    expect(page.locator("#savestate")).to_have_text("last change not saved")
    await_here(page, lambda: len(read_codes(page)) == 1, what="the refused code is gone")
    # What was refused stays, and the keyboard reaches it.
    refused = page.get_by_role("region", name="Not stored")
    expect(refused).to_contain_text(words)
    refused.get_by_role("button", name="Dismiss").focus()
    press(page, "Enter")
    expect(refused).to_be_hidden()
    assert find_violations(page) == []
    assert len(read_export(page, site)) == 1


@pytest.mark.full
def test_refused_memo_stays_as_a_draft(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "m")
    page.locator("#memo-text").fill("x" * 20_001)
    press(page, "Control+Enter")
    expect(page.locator("#problem")).to_contain_text("the limit is 20,000")
    expect(page.locator("#memo-text")).to_be_visible()
    assert len(page.input_value("#memo-text")) == 20_001
    expect(page.locator(".memo")).to_have_count(0)
    page.on("dialog", lambda dialog: dialog.accept())


def test_it_never_says_saved_before_the_server_did(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    held = []

    def hold(route):
        held.append(route)

    page.route("**/add/", hold)
    press(page, "d")
    expect(page.locator("#savestate")).to_have_text("saving…")
    page.wait_for_function("() => document.querySelectorAll('.chip[data-coding]').length === 1")
    await_here(page, lambda: bool(held), what="the act left")
    assert page.locator("#savestate").inner_text() == "saving…"
    held[0].continue_()
    await_saved(page)


@pytest.mark.full
def test_signing_out_elsewhere_keeps_the_codes_in_the_page(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    page.context.clear_cookies(name="sessionid")
    press(page, "d")
    expect(page.locator("#problem")).to_contain_text("Sign in again in another tab")
    expect(page.locator("#savestate")).to_have_text("not saved (1)")
    assert len(read_codes(page)) == 1
