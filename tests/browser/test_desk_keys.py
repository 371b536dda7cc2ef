"""Keys that people give themselves, the card, undo across interviews, and going to what waits."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, expect_load, open_desk, press, read_codes
from tests.browser.stage import STUDY

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def await_ready(page):
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")


def give(page, field, key):
    page.get_by_label(field, exact=True).focus()
    press(page, key)


def save_keys(page):
    page.get_by_role("button", name="Save").focus()
    with expect_load(page):
        press(page, "Enter")


class TestRemapping:
    def test_keys_are_given_by_pressing_them_and_hold_at_the_desk(self, site, sign_in):
        page = sign_in()
        page.goto(f"{site.base_url}/studies/{STUDY}/shortcuts/")
        assert find_violations(page) == []
        give(page, "score this thread", "Backspace")
        give(page, "challenges on an interviewer’s turn, responses on a model’s", "Backspace")
        give(page, "memo on the sentence", "=")
        give(page, "Balance", "m")
        give(page, "Generic fairness talk", "d")
        give(page, "the next sentence", "\\")
        save_keys(page)
        expect(page.get_by_role("status").first).to_contain_text("Your shortcuts are saved")
        open_desk(page, site)
        press(page, "m")
        press(page, "\\", "d")
        await_saved(page)
        assert [code.split()[1] for code in read_codes(page)] == ["theme.balance", "failure.generic_fairness_talk"]
        expect(page.locator("button.code[data-code='theme.balance'] kbd")).to_have_text("m")
        expect(page.locator(".chip[data-code='theme.balance'] b").first).to_have_text("m")
        expect(page.locator("#memo-box summary kbd")).to_have_text("=")
        press(page, "=")
        expect(page.locator("#memo-text")).to_be_focused()
        page.reload()
        expect(page.locator(".chip[data-code='theme.balance'] b").first).to_have_text("m")

    @pytest.mark.full
    def test_keys_follow_the_person_to_another_browser(self, site, sign_in):
        session = next(site.sessions)
        page = sign_in(session=session)
        page.goto(f"{site.base_url}/studies/{STUDY}/shortcuts/")
        give(page, "Balance", "Backspace")
        save_keys(page)
        expect(page.get_by_role("status").first).to_contain_text("Your shortcuts are saved")
        browser = page.context.browser
        assert browser is not None
        # Only who is signed in goes along, nothing that this browser has stored.
        context = browser.new_context(storage_state={"cookies": page.context.storage_state()["cookies"], "origins": []})
        other = context.new_page()
        open_desk(other, site)
        press(other, "d")
        assert read_codes(other) == []
        context.close()

    @pytest.mark.full
    def test_switched_off_key_does_nothing_and_shows_no_cap(self, site, sign_in):
        page = sign_in()
        page.goto(f"{site.base_url}/studies/{STUDY}/shortcuts/")
        give(page, "nothing more here, next sentence", "Backspace")
        save_keys(page)
        open_desk(page, site)
        press(page, "Enter")
        expect(page.locator(".chip.none")).to_have_count(0)
        expect(page.locator("form.decide kbd")).to_be_hidden()
        page.get_by_role("button", name="Nothing more here").click()
        expect(page.locator(".chip.none")).to_have_count(1)

    @pytest.mark.full
    def test_one_key_for_two_acts_is_refused(self, site, sign_in):
        page = sign_in()
        page.goto(f"{site.base_url}/studies/{STUDY}/shortcuts/")
        give(page, "memo on the sentence", "x")
        save_keys(page)
        expect(page.get_by_role("alert")).to_contain_text("x is used twice")
        expect(page.get_by_label("memo on the sentence", exact=True)).to_have_value("x")
        assert find_violations(page) == []
        press(page, "Tab")
        page.get_by_role("button", name="Reset all keys").focus()
        press(page, "Enter")
        expect(page.get_by_label("memo on the sentence", exact=True)).to_have_value("m")

    @pytest.mark.full
    def test_keys_can_be_typed_without_script(self, site, sign_in):
        page = sign_in(java_script_enabled=False)
        page.goto(f"{site.base_url}/studies/{STUDY}/shortcuts/")
        page.get_by_label("memo on the sentence", exact=True).fill("=")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_label("memo on the sentence", exact=True)).to_have_value("=")


class TestCard:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.full
    def test_card_is_reached_from_the_desk_and_has_no_barrier(self, site, sign_in, scheme):
        page = sign_in(color_scheme=scheme)
        open_desk(page, site)
        press(page, "?")
        page.locator("#keycard").get_by_role("link", name="Print").focus()
        press(page, "Enter")
        expect(page.get_by_role("heading", name="Key card")).to_be_visible()
        assert find_violations(page) == []
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        assert find_violations(page) == []

    def test_open_card_holds_the_keys(self, site, sign_in):
        page = sign_in()
        open_desk(page, site)
        before = page.locator(".sentence .chip").count()
        number = page.locator(CURRENT).locator(".n").inner_text()
        press(page, "?", "ArrowDown", "PageDown", "a", "Enter")
        assert page.evaluate("document.activeElement.id") == "keycard"
        press(page, "End")
        page.wait_for_function("() => document.getElementById('keycard').scrollTop > 0")
        press(page, "?")
        expect(page.locator("#keycard")).to_be_hidden()
        press(page, "?")
        assert page.evaluate("document.getElementById('keycard').scrollTop") == 0
        press(page, "?")
        assert page.locator(".sentence .chip").count() == before
        assert page.locator(CURRENT).locator(".n").inner_text() == number
        page.wait_for_function("() => document.activeElement.matches('.sentence[aria-current]')")

    @pytest.mark.full
    def test_card_prints_on_one_sheet(self, site, sign_in):
        page = sign_in()
        page.goto(f"{site.base_url}/studies/{STUDY}/shortcuts/card/")
        printed = page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


class TestNewCode:
    def test_marked_words_name_a_new_code_that_is_proposed_by_keys_alone(self, site, sign_in):
        page = sign_in()
        open_desk(page, site, "own")
        words = page.locator(CURRENT).locator(".text").inner_text().split()[0]
        press(page, "x", "Enter", "n")
        name = page.get_by_label("Name", exact=True)
        expect(name).to_have_value(words)
        assert find_violations(page) == []
        name.fill("Asks for what was tried")
        press(page, "Enter")
        expect(page.locator(CURRENT)).to_be_visible()
        expect(page.locator(".message").first).to_contain_text("Asks for what was tried")


class TestUndoOfDecisions:
    @pytest.mark.full
    def test_undo_brings_none_applies_back_that_a_code_took_away(self, site, sign_in):
        page = sign_in()
        open_desk(page, site, "own")
        row = page.locator(f"#{page.locator(CURRENT).get_attribute('id')}")
        press(page, "Enter", "ArrowUp")
        expect(row.locator(".chip.none")).to_have_count(1)
        press(page, "s")
        expect(row.locator(".chip.none")).to_have_count(0)
        press(page, "Control+z")
        await_saved(page)
        page.reload()
        expect(row.locator(".chip.none")).to_have_count(1)
        expect(row.locator(".chip[data-coding]")).to_have_count(0)

    @pytest.mark.full
    def test_undo_brings_the_decision_back_that_went_with_the_last_code(self, site, sign_in):
        page = sign_in()
        open_desk(page, site, "own")
        row = page.locator(f"#{page.locator(CURRENT).get_attribute('id')}")
        press(page, "s", "Enter", "ArrowUp")
        expect(row).to_have_class(re.compile("decided"))
        press(page, "s")
        expect(row).not_to_have_class(re.compile("decided"))
        press(page, "Control+z")
        await_saved(page)
        page.reload()
        expect(row).to_have_class(re.compile("decided"))
        expect(row.locator(".chip[data-coding]")).to_have_count(1)


class TestUndoAcrossInterviews:
    def test_undo_goes_to_the_interview_and_redo_comes_back(self, site, sign_in):
        page = sign_in()
        open_desk(page, site, "own")
        press(page, "d")
        await_saved(page)
        open_desk(page, site, "long")
        press(page, "s")
        await_saved(page)
        press(page, "Control+z")
        assert read_codes(page) == []
        await_saved(page)
        with expect_load(page):
            press(page, "Control+z")
        await_ready(page)
        assert page.url.startswith(site.desk_url("own"))
        expect(page.locator(".chip[data-coding]")).to_have_count(0)
        await_saved(page)
        page.reload()
        await_ready(page)
        assert read_codes(page) == []
        press(page, "Control+Shift+z")
        expect(page.locator(".chip[data-coding]")).to_have_count(1)
        await_saved(page)
        with expect_load(page):
            press(page, "Control+Shift+z")
        await_ready(page)
        assert page.url.startswith(site.desk_url("long"))
        expect(page.locator(".chip[data-coding]")).to_have_count(1)

    @pytest.mark.full
    def test_second_tab_undoes_what_is_left_and_nothing_twice(self, site, sign_in):
        page = sign_in()
        open_desk(page, site)
        press(page, "d", "s")
        await_saved(page)
        tab = page.context.new_page()
        open_desk(tab, site)
        press(tab, "Control+z")
        await_saved(tab)
        assert [code.split()[1] for code in read_codes(tab)] == ["theme.balance"]
        press(page, "Control+z")
        await_saved(page)
        press(page, "Control+z")
        expect(page.locator("#announcer")).to_have_text("Nothing to undo.")
        tab.reload()
        assert read_codes(tab) == []

    @pytest.mark.full
    def test_what_one_did_is_listed_here_and_on_a_page(self, site, sign_in):
        page = sign_in()
        open_desk(page, site)
        press(page, "d", "Enter")
        await_saved(page)
        open_desk(page, site, "long")
        page.locator("summary", has_text="History").first.click()
        expect(page.locator("#history li")).to_have_text(
            ["nothing more, sentence 2, in another interview", "Balance applied to 2, in another interview"]
        )
        page.get_by_role("link", name="Full history of this study").click()
        expect(page.get_by_role("row")).to_have_count(3)
        assert find_violations(page) == []
        page.get_by_role("link", name="Sentence 2").first.click()
        await_ready(page)
        expect(page.locator(f"{CURRENT} .n")).to_have_text("2")


class TestWaiting:
    @pytest.mark.full
    def test_next_goes_on_across_interviews_and_says_why(self, site, sign_in):
        page = sign_in()
        open_desk(page, site)
        press(page, "p")
        expect(page.locator(f"{CURRENT} .n")).to_have_text("3")
        why = page.locator(f"{CURRENT} .why-here")
        expect(why).to_have_text("Next: not coded yet.")
        expect(why).to_be_in_viewport()
        press(page, "End", "d", "p")
        expect(page.locator(f"{CURRENT} .n")).to_have_text("2")
        expect(page.locator(".why-here")).to_have_count(1)
        for _ in range(15):
            press(page, "Enter")
        expect(page.locator("#notice")).to_contain_text("every sentence of this interview is decided")
        with expect_load(page):
            press(page, "p")
        await_ready(page)
        assert page.url.startswith(site.desk_url("long"))
        expect(why).to_have_text("Next: not coded yet.")
        expect(why).to_be_in_viewport()
        expect(page.locator(CURRENT)).to_be_focused()

    @pytest.mark.full
    def test_next_shows_what_the_filter_left_out(self, site, sign_in):
        page = sign_in()
        open_desk(page, site)
        press(page, "m")
        page.keyboard.type("Look again")
        press(page, "Control+Enter", "z", "End", "Enter")
        expect(page.locator("#shown")).to_have_text("With memo: 1 of 17 sentences")
        press(page, "p")
        expect(page.locator(f"{CURRENT} .n")).to_have_text("3")
        expect(page.locator("#shown")).to_have_text("")


class TestMeaning:
    @pytest.mark.full
    def test_what_a_code_means_stands_beside_the_text_and_all_of_it_opens_by_key(self, site, sign_in):
        page = sign_in()
        open_desk(page, site)
        place = page.locator("#meaning")
        height = page.evaluate("document.getElementById('meaning').offsetHeight")
        press(page, "d")
        expect(place).to_contain_text("Balance")
        expect(place).to_contain_text("Include:")
        page.get_by_role("button", name="Compassion").hover()
        expect(place).to_contain_text("Compassion")
        assert page.evaluate("document.getElementById('meaning').offsetHeight") == height
        press(page, "`")
        expect(page.get_by_role("dialog", name="Compassion")).to_contain_text("Exclude")
        press(page, "`")
        expect(page.get_by_role("dialog", name="Compassion")).to_be_hidden()
        assert find_violations(page) == []
        page.get_by_role("button", name="blind").click()
        expect(page.get_by_text("no label of a colleague or a machine is shown")).to_be_visible()
