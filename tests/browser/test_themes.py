"""From codes to a theme with a quote and a memo, without one mouse event; every page on the way is accessible."""

import pytest

from tests.browser.conftest import check_looks

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def press(place, key="Enter"):
    place.focus()
    place.page.keyboard.press(key)


def send(page, name):
    """Press a form's button and wait for the page that comes."""
    with page.expect_navigation():
        press(page.get_by_role("button", name=name))


def follow(link):
    with link.page.expect_navigation():
        press(link)


@pytest.mark.full
def test_a_theme_is_made_quoted_and_noted_with_the_keyboard(lead_visit):
    page = lead_visit.open("/studies/demo/themes/group/")
    for code in ("theme.balance", "theme.compassion"):
        press(page.locator(f"input[value='{code}']"), "Space")
    for field, words in (("new_name", "Weighing"), ("reason", "One idea.")):
        page.locator(f"#id_{field}").focus()
        page.keyboard.type(words)
    send(page, "Group them")
    page = lead_visit.open("/studies/demo/themes/presence/?coder=all")
    check_looks(page)
    press(page.locator("#unblinding_confirmed"), "Space")
    send(page, "Unblind")
    check_looks(page)
    press(page.locator("details.chart-table > summary").first, "Enter")
    follow(page.locator("table.presence tbody td a").first)
    check_looks(page)
    follow(page.get_by_role("link", name="Quote for").first)
    check_looks(page)
    page.locator("#id_edited_text").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("[So it says:] ")
    send(page, "Save the quote")
    assert page.locator(".quotes blockquote").first.inner_text().startswith("[So it says:]")
    check_looks(page)
    for name in ("History", "Change", "Split"):
        page = lead_visit.open("/studies/demo/themes/1/")
        follow(page.locator("main").get_by_role("link", name=name, exact=True).first)
        check_looks(page)
    page = lead_visit.open("/studies/demo/memos/new/?theme=1")
    page.locator("#id_text").focus()
    page.keyboard.type("Not quite one idea yet.")
    send(page, "Save the memo")
    check_looks(page)
    for path in ("/studies/demo/phases/", "/studies/demo/memos/?words=idea", "/studies/demo/themes/"):
        check_looks(lead_visit.open(path))
    assert lead_visit.complaints == []


@pytest.mark.full
def test_codes_are_dragged_onto_a_theme_and_from_one_to_another(lead_visit):
    page = lead_visit.open("/studies/demo/themes/group/")
    page.locator("input[value='theme.intersectionality']").check()
    page.locator("#id_new_name").fill("Positions that cross")
    page.locator("#id_reason").fill("A theme to move to.")
    send(page, "Group them")
    lives = page.locator(".target", has_text="Positions that cross")
    new = page.locator(".target", has_text="A new theme")
    # A ticked code takes the other ticked ones with it.
    page.locator("input[value='theme.compassion']").check()
    page.locator("input[value='theme.remediating_harm']").check()
    page.locator("label", has=page.locator("input[value='theme.compassion']")).drag_to(new)
    assert page.evaluate("document.activeElement.id") == "id_new_name"
    page.keyboard.type("Care")
    page.locator("#id_reason").fill("They attend to people.")
    send(page, "Group them")
    care = page.locator(".target", has_text="Care")
    assert sorted(care.locator(".chip").all_inner_texts()) == ["Compassion", "Remediating Harm"]
    # One that is dragged out of a theme moves, and nothing else goes with it.
    page.locator("input[value='theme.balance']").check()
    care.locator(".chip", has_text="Compassion").drag_to(lives.locator("strong"))
    assert page.evaluate("document.activeElement.id") == "id_reason"
    assert page.locator("#dragged").inner_text().startswith("Compassion:")
    page.keyboard.type("Nearer to this one.")
    send(page, "Group them")
    assert page.locator(".target", has_text="Care").locator(".chip").all_inner_texts() == ["Remediating Harm"]
    assert "Compassion" in lives.locator(".chip").all_inner_texts()
    check_looks(page)
    assert lead_visit.complaints == []
