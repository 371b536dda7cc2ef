"""The desk's script as it is served, in one file; and how many requests and how many presses a coder's work takes."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.desk import await_here, await_saved, expect_load, open_desk, press, read_codes, read_quotes

pytestmark = [pytest.mark.browser, pytest.mark.processes]

SOURCE = Path(__file__).resolve().parents[2] / "static/js/desk.js"
MOST_REQUESTS = 15
MOST_PRESSES = 98
# The demo's interview whose model says 54 sentences, in five answers.
FIXED_INTERVIEW, SENTENCES = 2, 54


def test_an_open_takes_few_requests(site, sign_in):
    page = sign_in()
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    open_desk(page, site)
    page.wait_for_load_state("networkidle")
    assert len(requests) <= MOST_REQUESTS, requests
    assert not [url for url in requests if "/js/desk/" in url]


@pytest.mark.full
def test_near_the_end_the_next_interview_is_fetched_and_nothing_recorded(site, sign_in):
    """What is fetched is a page like any other, and looking at a page changes nothing (tests/test_access_matrix.py)."""
    page = sign_in()
    open_desk(page, site)
    fetched = watch_fetched(page)
    press(page, "d", "ArrowDown")
    await_saved(page)
    assert fetched == []
    press(page, "End")
    await_here(page, lambda: bool(fetched), what="the next interview is fetched")
    with expect_load(page):
        press(page, "]")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    assert page.evaluate("performance.getEntriesByType('navigation')[0].deliveryType") == "navigational-prefetch"
    press(page, "d")
    await_saved(page)
    page.reload()
    assert len(read_codes(page)) == 1


def test_what_was_fetched_is_not_shown_after_signing_out(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    fetched = watch_fetched(page)
    press(page, "End")
    await_here(page, lambda: bool(fetched), what="the next interview is fetched")
    other = page.context.new_page()
    other.goto(f"{site.base_url}/")
    other.locator(".person summary").click()
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/accounts/login/**")
    with expect_load(page):
        press(page, "]")
    assert "/accounts/login/" in page.url
    expect(page.locator(".sentence")).to_have_count(0)


def watch_fetched(page):
    """The addresses that the browser has fetched ahead, as they come in."""
    fetched = list[str]()
    session = page.context.new_cdp_session(page)

    def note(event):
        if event["status"] in {"Ready", "Success"}:
            fetched.append(event["prefetchUrl"])

    session.on("Preload.prefetchStatusUpdated", note)
    session.send("Preload.enable")
    return fetched


@pytest.mark.full
def test_modules_as_they_lie_do_the_same(site, sign_in):
    """A checkout whose files were not collected serves them to whoever works on the script."""
    served, requests = sign_in(), list[str]()
    open_desk(served, site)
    lying = sign_in()
    lying.on("request", lambda request: requests.append(request.url))

    def give_source(route):
        route.fulfill(body=SOURCE.read_text(encoding="utf-8"), content_type="text/javascript")

    lying.route(re.compile(r"/static/js/desk\.[0-9a-f]+\.js$"), give_source)
    open_desk(lying, site)
    assert len([url for url in requests if "/static/js/desk/" in url]) == len(
        list((SOURCE.parent / "desk").glob("*.js"))
    )
    done = [work(page) for page in (served, lying)]
    assert done[0] == done[1]
    assert len(done[0][0]) == 10


def work(page):
    """Some of each kind of work; what is to be seen of it afterwards."""
    press(page, "Shift+ArrowDown", "Shift+ArrowDown", "s", "d", "Enter")
    press(page, "x", "ArrowRight", "f", "Enter", "r", "2", "g")
    await_saved(page)
    press(page, "Control+z")
    await_saved(page)
    press(page, "Enter")
    press(page, "Shift+A")
    page.keyboard.type("Reads whose picture is meant")
    press(page, "Enter", "/")
    page.keyboard.type("compassion")
    press(page, "Enter", "m")
    page.keyboard.type("Look again")
    press(page, "Control+Enter", "ArrowDown", "Enter")
    await_saved(page)
    page.locator(".sentence .memo .words").first.wait_for()
    memos = page.locator(".sentence .memo .words").all_text_contents()
    return read_codes(page), read_quotes(page), memos, page.locator(".sidebar").inner_text()


@pytest.mark.full
def test_an_interview_of_54_sentences_takes_at_most_98_presses(site, sign_in):
    """Every press counts, moving on and deciding too; only the words that are typed do not. No pointer is used."""
    page = sign_in(session=next(site.demo_leads))
    page.add_init_script(
        "window.pointed = 0; for (const name of ['pointerdown', 'mousedown', 'pointermove', 'wheel'])"
        " window.addEventListener(name, () => { window.pointed += 1; }, true);"
    )
    page.goto(f"{site.base_url}/studies/demo/interviews/{FIXED_INTERVIEW}/")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    own = page.locator(".sentence .chip.own[data-coding]")
    expect(own).to_have_count(0)
    presses = 0

    def code(*keys, words=""):
        nonlocal presses
        presses += len(keys)
        press(page, *keys[: 1 if words else None])
        if words:
            page.keyboard.type(words)
            press(page, *keys[1:])

    code("Shift+ArrowDown", "Shift+ArrowDown", "s", "d", "Enter")
    code("x", "ArrowRight", "f", "Enter")
    code("m", "Control+Enter", words="Says it of itself")
    code("a", "Enter")
    for _ in range(2):
        code("Shift+A", "Enter", "Enter", words="Reads whose picture is meant")
    for _ in range(4):
        code("r", "2", "Enter")
    for _ in range(4):
        code("s", "g", "Enter")
    for key in "sdfgjasdfgjasdfg":
        code(key, "Enter")
    for _ in range(23):
        code("Enter")
    await_saved(page)
    assert presses <= MOST_PRESSES
    expect(page.locator("#decided-count")).to_have_text(str(SENTENCES))
    expect(own).to_have_count(38)
    expect(page.locator(".sentence .chip.own .quote")).to_have_count(1)
    assert page.evaluate("window.pointed") == 0
