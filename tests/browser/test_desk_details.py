"""What a coding says beside its code, said by keyboard; and the reasons asked for after others' labels were seen."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import find_violations
from tests.browser.desk import CURRENT, await_saved, open_desk, press, read_codes

pytestmark = [pytest.mark.browser, pytest.mark.processes]

LINE = ".details-line"


def choose(page, name, value):
    """Check a choice of the open line by keyboard."""
    page.locator(f"{LINE} [name='{name}']:checked, {LINE} [name='{name}']").first.focus()
    for _ in range(6):
        if page.locator(f"{LINE} [name='{name}'][value='{value}']").is_checked():
            return
        press(page, "ArrowRight")
    raise AssertionError(value)


def test_details_are_said_by_keyboard_and_kept(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "r", "1", "v")
    expect(page.locator(f"{LINE} [name='enactment'][value='enacted']")).to_be_focused()
    press(page, "3")
    choose(page, "grounding", "grounded")
    choose(page, "prompting", "unclear")
    page.locator(f"{LINE} [name='note']").focus()
    page.keyboard.type("Names the school")
    assert find_violations(page) == []
    press(page, "Enter")
    expect(page.locator(CURRENT)).to_be_focused()
    await_saved(page)
    page.reload()
    chip = page.locator(".chip[data-coding]")
    expect(chip).to_have_attribute("data-enactment", "described")
    expect(chip).to_contain_text("grounded")
    expect(chip).to_contain_text("prompting unclear")
    expect(chip.locator(".reading")).to_have_text("Names the school")


@pytest.mark.full
def test_the_codes_own_questions_are_asked_and_answered(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "r", "1", "v")
    questions = page.evaluate(
        "JSON.parse(document.getElementById('codes').textContent).find((code) => code.key === 'r').questions"
    )
    text = next(question for question in questions if question["kind"] == "text")
    choice = next(question for question in questions if question["kind"] == "choice")
    choose(page, f"attribute:{choice['key']}", choice["choices"][0])
    page.get_by_label(text["label"]).focus()
    page.keyboard.type("A law of 1964")
    press(page, "Enter")
    await_saved(page)
    page.reload()
    expect(page.locator(".answers")).to_contain_text("A law of 1964")
    expect(page.locator(".answers")).to_contain_text(choice["choices"][0])
    press(page, "ArrowUp", "v")
    expect(page.get_by_label(text["label"])).to_have_value("A law of 1964")


@pytest.mark.full
def test_v_goes_from_coding_to_coding_and_escape_leaves_things_as_they_were(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "s")
    await_saved(page)
    codes = read_codes(page)
    press(page, "v")
    expect(page.locator(f"{LINE} .inline-form-title")).to_have_text("Identity as Context")
    press(page, "v")
    expect(page.locator(f"{LINE} .inline-form-title")).to_have_text("Balance")
    press(page, "ArrowRight", "Escape")
    expect(page.locator(LINE)).to_have_count(0)
    assert read_codes(page) == codes
    expect(page.locator("#savestate")).to_have_attribute("data-state", "saved")


@pytest.mark.full
def test_a_latent_code_asks_for_its_line_in_the_details_too(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "v", "ArrowRight", "Enter")
    expect(page.locator(f"{LINE} [name='note']")).to_be_focused()
    page.keyboard.type("Weighs without saying so")
    press(page, "Enter")
    await_saved(page)
    assert read_codes(page)[0].endswith("latent")


@pytest.mark.full
def test_chip_opens_its_details_under_the_pointer(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "s")
    await_saved(page)
    page.locator(".chip[data-code='theme.balance'] .open-details").click()
    expect(page.locator(f"{LINE} .inline-form-title")).to_have_text("Balance")


@pytest.mark.full
def test_what_the_interviewer_named_is_prompted_until_somebody_says_otherwise(site, sign_in):
    page = sign_in()
    open_desk(page, site, "scripts")
    press(page, "d", "s", "v")
    expect(page.locator(".derived")).to_have_text("unprompted")
    press(page, "Escape")
    expect(page.locator(".chip[data-code='theme.balance'] .raised")).to_have_text("prompted")
    expect(page.locator(".chip[data-code='theme.identity_as_context'] .raised")).to_have_count(0)
    await_saved(page)
    expect(page.locator(".chip[data-code='theme.balance'] .raised")).to_have_text("prompted")
    page.reload()
    expect(page.locator(".chip[data-code='theme.balance'] .raised")).to_have_text("prompted")
    press(page, "Home", "s")
    expect(page.locator(".chip[data-code='theme.identity_as_context'] .raised")).to_have_count(1)
    press(page, "s")
    expect(page.locator(".raised")).to_have_count(1)


@pytest.mark.full
def test_after_suggestions_every_change_asks_why(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "d", "Shift+Enter")
    expect(page.locator("#suggestions .suggestion")).to_have_count(2)
    expect(page.locator(f"{CURRENT} .marks[data-seen]")).to_have_count(1)
    press(page, "s", "d")
    reason = page.get_by_label("Reason, in one line: you have seen a machine’s suggestions here")
    expect(page.get_by_text("d does nothing here yet. Press Enter to write the reason first")).to_be_visible()
    expect(reason).to_have_value("")
    apply = page.locator("form.inline-form button.primary")
    expect(apply).to_have_text("Enter Give the reason")
    assert find_violations(page) == []
    press(page, "Enter")
    expect(reason).to_be_focused()
    press(page, "d", "Enter")
    expect(reason).to_be_focused()
    assert len(read_codes(page)) == 1, "one letter is no reason"
    for said, is_reason in (("𝒜", False), ("理", True)):
        reason.fill(said)
        assert reason.evaluate("field => field.checkValidity()") == is_reason
    reason.fill("Both hold")
    expect(apply).to_have_text("Enter Apply")
    press(page, "Enter")
    await_saved(page)
    expect(page.locator(f"{CURRENT} .why")).to_contain_text("Both hold")
    press(page, "d", "Enter")
    page.keyboard.type("Read too much into it")
    press(page, "Enter")
    await_saved(page)
    assert [code.split()[1] for code in read_codes(page)] == ["theme.identity_as_context"]
    press(page, "Control+z")
    await_saved(page)
    expect(reason).to_have_count(0)
    assert len(read_codes(page)) == 2, "undo asks for no reason"
    press(page, "Control+Shift+z")
    await_saved(page)
    assert len(read_codes(page)) == 1
    press(page, "ArrowDown", "s")
    await_saved(page)
    assert len(read_codes(page)) == 2


@pytest.mark.full
def test_details_can_be_said_without_script(site, sign_in):
    page = sign_in(java_script_enabled=False)
    page.goto(site.desk_url("own"))
    page.get_by_role("button", name="Balance used 0").click()
    page.get_by_role("link", name="Balance details").click()
    page.get_by_label("Quoted words").fill("begin with")
    page.get_by_label("Principle or guidance").select_option("grounded")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".sentence .chip")).to_contain_text("grounded")
    expect(page.locator(".sentence .chip .quote")).to_have_text("begin with")
    page.get_by_role("link", name="Balance details").click()
    page.get_by_label("Quoted words").fill("never said")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("These words are not in the sentence")
    assert page.get_by_label("Quoted words").input_value() == "never said"


def test_a_move_is_stored_only_once_its_enactment_is_chosen(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "r", "Enter")
    asked = page.locator(".inline-form [name='enactment'][value='enacted']")
    expect(asked).to_be_focused()
    expect(page.locator(".inline-form [name='enactment']:checked")).to_have_count(0)
    expect(page.locator(".chip[data-coding]")).to_have_count(0)
    assert find_violations(page) == []
    press(page, "2")
    await_saved(page)
    expect(page.locator(".chip[data-coding]")).to_have_attribute("data-enactment", "demonstrated")
    expect(page.locator(CURRENT)).to_be_focused()


@pytest.mark.full
def test_a_question_that_needs_an_answer_is_asked_as_the_code_is_applied(site, sign_in):
    page = sign_in()
    # As a codebook says it that requires the answer.
    page.route(
        "**/interviews/*/", lambda route: route.fulfill(response=(got := route.fetch()), body=require(got.text()))
    )
    open_desk(page, site)
    press(page, "h", "Enter")
    expect(page.locator(".inline-form [name='attribute:direction']").first).to_be_focused()
    expect(page.locator(".chip[data-coding]")).to_have_count(0)
    assert find_violations(page) == []
    press(page, "2", "Enter")
    await_saved(page)
    expect(page.locator(".chip[data-coding] .answers")).to_have_text("about self")


def require(html):
    return html.replace('"key": "direction",', '"key": "direction", "required": true,')


@pytest.mark.full
def test_a_code_found_by_name_asks_what_it_requires_and_digits_answer_it(site, sign_in):
    page = sign_in()
    open_desk(page, site)
    press(page, "/")
    page.keyboard.type("stakeholders")
    # The status comes first, then what the code requires.
    press(page, "Enter", "2")
    expect(page.get_by_text("Whose identities or interests?")).to_be_visible()
    expect(page.locator(".inline-form input").first).to_be_focused()
    press(page, "5", "Enter")
    expect(page.locator(".chip[data-code='feature.stakeholders']")).to_be_visible()
    expect(page.locator(".chip[data-code='feature.task']")).to_have_count(0)
