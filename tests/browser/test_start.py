"""The start of a study by page: a codebook of one's own, a coder, a first interview, and its desk."""

import json
import re
import uuid

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_looks

pytestmark = [pytest.mark.browser, pytest.mark.processes]

INTERVIEW = {
    "id": "first",
    "title": "The first one",
    "turns": [
        {"role": "interviewer", "text": "When is a gift too large?"},
        {"role": "model", "text": "When it cannot be declined."},
    ],
}


def test_a_study_is_started_by_page_up_to_its_desk(site, sign_in):
    slug = f"from-nothing-{uuid.uuid4().hex[:8]}"
    page = sign_in(session=site.owner)
    page.goto(f"{site.base_url}/")
    page.get_by_role("link", name="New study").click()
    page.get_by_label("Name", exact=True).fill("A study from nothing")
    page.get_by_label("Address").fill(slug)
    page.get_by_label(re.compile("empty", re.IGNORECASE)).check()
    page.get_by_role("button", name="Start the study").click()

    steps = page.locator(".first-steps li")
    expect(steps).to_have_count(4)
    expect(steps.nth(0)).to_have_attribute("aria-current", "step")
    check_looks(page)
    steps.nth(0).get_by_role("button", name="Skip").click()
    expect(steps.nth(1)).to_have_attribute("aria-current", "step")
    expect(steps.nth(0)).to_contain_text("skipped")

    steps.nth(1).get_by_role("link", name="invite coders").click()
    page.get_by_label("User name").fill(f"newcomer-{slug}")
    page.get_by_label("This person has no account here yet").check()
    page.get_by_role("button", name="Invite", exact=True).click()
    expect(page.get_by_role("button", name="Copy the link")).to_be_visible()
    expect(page.locator("main table").first).to_contain_text("link made by owner")
    check_looks(page)

    page.goto(f"{site.base_url}/studies/{slug}/")
    expect(steps.nth(1)).to_contain_text(f"newcomer-{slug}")
    steps.nth(2).get_by_role("link", name="import interviews").click()
    file = {"name": "first.jsonl", "mimeType": "application/jsonl", "buffer": json.dumps(INTERVIEW).encode()}
    page.locator("main input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Import without a preview").click()
    expect(page.get_by_text("The first one").first).to_be_visible()

    page.goto(f"{site.base_url}/studies/{slug}/")
    expect(steps.nth(2)).to_contain_text("1 interview")
    steps.nth(0).get_by_role("button", name="Bring back").click()
    expect(steps.nth(0)).to_have_attribute("aria-current", "step")
    steps.nth(3).get_by_role("link", name="open the first interview").click()
    page.wait_for_url(f"**/studies/{slug}/interviews/*/")
    expect(page.get_by_text("When it cannot be declined.").first).to_be_visible()
