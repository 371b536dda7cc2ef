"""An interview held in a browser by keyboard alone, with a real worker and a paid API: branched, closed, and coded."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.desk import CURRENT, await_saved, press
from tests.browser.test_batches import listen, look
from tests.browser.test_batches import place as place  # noqa: PLC0414 - a fixture
from tests.support.instance import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.processes]

STUDY = "held"
BANK = '{"turns": [{"kind": "expand", "text": "Could you say more about that?"}], "max_questions": 6}'
ANSWER = "I would ask first. It is a tendency, not a rule."


def focus_and_press(page, name, key="Enter"):
    page.get_by_role("button", name=name).first.focus()
    page.keyboard.press(key)


def await_answer(page, number):
    expect(page.locator(f"#turn-{number} .answer-state.answered")).to_be_visible()
    expect(page.locator("#talk[data-waiting]")).to_have_count(0)


@pytest.mark.full
def test_an_interview_is_held_branched_closed_and_coded_by_keyboard(place, paid_api, open_context):
    instance = place.instance
    paid_api.order(answer=ANSWER)
    instance.manage("study", "create", STUDY, "--name", "Held here", "--method", "codebook")
    script = instance.folder / "script.json"
    script.write_text(BANK, encoding="utf-8")
    instance.manage("session", "script", "--study", STUDY, "--name", "gender", "--file", str(script))
    instance.start_worker()
    page = place.enter(open_context())
    said = listen(page)

    page.goto(f"{place.base_url}/studies/{STUDY}/live-interviews/open/")
    look(page)
    page.get_by_label("Opening", exact=True).focus()
    page.keyboard.type("paper")
    page.get_by_label("Model", exact=False).and_(page.locator("select#id_variant")).focus()
    page.keyboard.type("m")
    focus_and_press(page, "Open the interview")
    page.wait_for_url(re.compile(r"/live-interviews/\d+/$"))
    await_answer(page, 1)

    # A kind, the text, and the warning before it is sent.
    page.keyboard.press("2")
    expect(page.locator("#id_text")).to_be_focused()
    page.keyboard.type("And what of intersectionality?")
    expect(page.locator("#warning")).to_contain_text("“intersectionality” raises Intersectionality")
    expect(page.locator("#length")).to_have_text("30 characters.")
    look(page)
    press(page, "Control+Enter")
    await_answer(page, 2)
    expect(page.locator("#turn-2 .said").first).to_have_text("And what of intersectionality?")

    # A challenge says what it is meant to be; what is typed outlives a reload.
    press(page, "4", "2")
    page.keyboard.type("That is wrong.")
    expect(page.locator("#warning")).to_contain_text("Revise")
    page.reload()
    expect(page.locator("#id_text")).to_have_value("That is wrong.")
    expect(page.locator("#warning")).to_contain_text("Revise")
    page.locator("#id_text").focus()
    press(page, "Control+Enter")
    await_answer(page, 3)
    expect(page.locator("#turn-3 .kind-label")).to_have_text("Challenge: unwarranted")
    # Sent, and the page was left before it could hear so: no draft any more.
    page.evaluate(
        """() => {
          const { session, user } = document.getElementById("console").dataset;
          const sent = { text: "That is wrong.", idempotency_key: document.getElementById("turn-3").dataset.asked };
          localStorage.setItem(`console:draft:${user}:${session}`, JSON.stringify(sent));
        }"""
    )
    page.reload()
    expect(page.locator("#id_text")).to_have_value("")

    # From the bank.
    press(page, "/")
    page.keyboard.press("Enter")
    expect(page.locator("#id_text")).to_have_value("Could you say more about that?")
    press(page, "Escape", "ArrowUp", "ArrowUp", "b")
    page.wait_for_url(re.compile(r"/live-interviews/\d+/$"))
    expect(page.get_by_text("after answer 1")).to_have_count(3)
    page.keyboard.press("3")
    page.keyboard.type("Otherwise?")
    press(page, "Control+Enter")
    await_answer(page, 2)

    # The session that it leaves is closed first.
    parent = page.get_by_role("link", name="gender with m", exact=True)
    for is_parent in (True, False):
        if is_parent:
            parent.focus()
            page.keyboard.press("Enter")
            expect(page.locator("#turn-3")).to_be_visible()
        else:
            page.go_back()
            page.go_back()
            page.reload()
        page.locator("#close > summary").focus()
        page.keyboard.press("Enter")
        page.locator("#id_reason").focus()
        page.keyboard.type("Complete.")
        focus_and_press(page, "Close the interview")
        expect(page.get_by_role("link", name="Open the interview at the desk")).to_be_visible()
    look(page)
    page.get_by_role("link", name="Open the interview at the desk").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    expect(page.locator(CURRENT)).to_be_visible()
    press(page, "1")
    await_saved(page)
    codings = "SELECT count(*) FROM coding_coding WHERE withdrawn_at IS NULL"
    wait_until(lambda: instance.query(codings) == [(1,)], what="a sentence is coded")
    of_study = "owning_study_id = (SELECT id FROM studies_study WHERE slug = 'held')"
    threads = instance.query(f"SELECT relation, turn_count FROM corpus_interview WHERE {of_study} ORDER BY id")
    assert threads == [("", 6), ("branch", 2)]
    assert [words for words in said if "favicon" not in words] == []


@pytest.mark.full
def test_a_long_paste_is_counted_and_refused_where_it_is_too_long_and_keys_are_ones_own(place, paid_api, open_context):
    instance = place.instance
    paid_api.order(answer=ANSWER)
    instance.manage("study", "create", "pasted", "--name", "Pasted", "--method", "codebook")
    instance.manage("session", "script", "--study", "pasted", "--name", "gender")
    page = place.enter(open_context())
    said = listen(page)

    page.goto(f"{place.base_url}/studies/pasted/shortcuts/")
    page.get_by_label("it asks to reflect").focus()
    page.keyboard.press("w")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your shortcuts are saved")).to_be_visible()

    page.goto(f"{place.base_url}/studies/pasted/live-interviews/open/")
    page.get_by_label("On a public chat page").check()
    page.get_by_label("Model shown by the chat page").fill("Chat 4")
    page.get_by_label("Chat page", exact=False).and_(page.locator("#id_surface")).fill("chat.example")
    page.get_by_role("button", name="Open the interview").click()
    page.wait_for_url(re.compile(r"/live-interviews/\d+/$"))
    press(page, "Escape", "3")
    expect(page.locator("input[name='kind'][value='reflect']")).not_to_be_checked()
    page.locator("h1").focus()
    press(page, "w")
    expect(page.locator("input[name='kind'][value='reflect']")).to_be_checked()
    page.locator("#id_text").fill("ä" * 500_001)
    expect(page.locator("#length")).to_contain_text("It is too long to be sent: 1,000,002 bytes of at most 1,000,000.")
    expect(page.locator("#send")).to_be_disabled()
    page.locator("#id_text").fill("short")
    expect(page.locator("#length")).to_have_text("5 characters.")
    expect(page.locator("#send")).to_be_enabled()
    assert [words for words in said if "favicon" not in words] == []


@pytest.mark.full
def test_another_kind_chosen_by_mouse_clears_the_choice_that_it_hides(place, paid_api, open_context):
    instance = place.instance
    paid_api.order(answer=ANSWER)
    instance.manage("study", "create", "moused", "--name", "Moused", "--method", "codebook")
    instance.manage("session", "script", "--study", "moused", "--name", "gender")
    page = place.enter(open_context())
    page.goto(f"{place.base_url}/studies/moused/live-interviews/open/")
    page.get_by_label("On a public chat page").check()
    page.get_by_label("Model shown by the chat page").fill("Chat 4")
    page.locator("#id_surface").fill("chat.example")
    page.get_by_role("button", name="Open the interview").click()
    page.wait_for_url(re.compile(r"/live-interviews/\d+/$"))
    kind, intent = "input[name='kind'][value='{}']", "input[name='intent'][value='{}']"
    meant = page.locator("input[name='intent']:checked")

    page.locator(kind.format("challenge")).click()
    page.locator(intent.format("probe")).click()
    page.locator(kind.format("reflect")).click()
    expect(page.locator(intent.format("probe"))).to_be_hidden()
    expect(meant).to_have_count(0)
    # A key that would say what a challenge is meant to be chooses a kind again, after another kind was chosen by mouse.
    page.locator("h1").click()
    press(page, "4")
    page.locator(kind.format("open")).click()
    page.locator("h1").click()
    press(page, "2")
    expect(meant).to_have_count(0)
    expect(page.locator(kind.format("expand"))).to_be_checked()
    page.locator(kind.format("challenge")).click()
    page.locator(intent.format("unwarranted")).click()
    page.locator(kind.format("open")).click()
    page.locator("#id_answer").fill(ANSWER)
    page.locator("#send").click()
    expect(page.locator("#turn-1 .kind-label")).to_have_text("Open")
