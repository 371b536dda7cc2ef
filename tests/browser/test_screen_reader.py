"""The desk as Orca reads it: which keys arrive, what Enter decides, and what is heard."""

import pytest

from tests.browser.conftest import carry_session
from tests.browser.desk import await_saved, open_desk, read_codes
from tests.browser.screen_reader import BROWSER_ARGUMENTS, list_missing, run_screen_reader
from tests.support.services import chromium_path

MISSING = list_missing()
pytestmark = [
    pytest.mark.browser,
    pytest.mark.full,
    pytest.mark.skipif(bool(MISSING), reason=f"Orca cannot be run here: {', '.join(MISSING)} is missing"),
]


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    with run_screen_reader(tmp_path_factory.mktemp("orca")) as reader:
        yield reader


@pytest.fixture
def page(browser, site, reader):
    """A window that Orca reads, with the desk open to somebody who is new here."""
    seen = browser.browser_type.launch(
        executable_path=chromium_path(), headless=False, args=list(BROWSER_ARGUMENTS), env={**reader.environment}
    )
    context = seen.new_context(no_viewport=True)
    carry_session(context, site, next(site.sessions))
    page = context.new_page()
    page.goto(site.base_url)
    reader.click(640, 880)
    open_desk(page, site)
    yield page
    seen.close()


def read_decided(page):
    await_saved(page)
    return page.evaluate(
        "() => [...document.querySelectorAll('.marks[data-decision]')]"
        ".map((marks) => marks.closest('.sentence').querySelector('.n').textContent)"
    )


def test_the_desk_says_how_its_keys_are_let_through(page, reader):
    reader.hear("Orca: Insert+A twice. NVDA: Insert+Space. JAWS: Insert+Z.")


def test_the_palette_is_a_way_out_of_browse_mode(page, reader):
    reader.press("ctrl+k", until="Find a code for sentence 2 by name or definition")
    for key in "bal":
        reader.press(key)
    reader.press("Return", until="Model, 2 of 17. I would begin with a question. Codes: Balance.")
    await_saved(page)
    assert len(read_codes(page)) == 1


def test_in_focus_mode_codes_decisions_and_undo_are_heard(page, reader):
    reader.press_twice_with_insert("a", until="Focus mode is sticky.")
    reader.press("d", until="Balance applied to 2")
    heard = reader.press("Return", until="Sentence 2 decided.")
    assert "Model, 3 of 17. What have you tried?" in heard
    reader.press("ctrl+z", until="Undone: nothing more, sentence 2")
    assert read_decided(page) == []
