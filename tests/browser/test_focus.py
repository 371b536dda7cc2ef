"""Where the keyboard stands after a form was sent."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def test_what_is_wrong_with_a_form_has_the_focus_and_other_pages_keep_theirs(visit):
    page = visit.open("/studies/demo/rounds/new/")
    assert page.evaluate("document.activeElement === document.body")
    page.evaluate("document.querySelector('main form').noValidate = true")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.locator("main .form-errors")).to_be_focused()
    # The browser itself notes that the form was answered with 422.
    assert [each for each in visit.complaints if "422" not in each] == []
