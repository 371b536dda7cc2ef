"""The export of a chatbot account, from the file to the first coding, by page."""

from __future__ import annotations

import json
import uuid

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn, Site, check_looks
from tests.browser.desk import CURRENT, press
from tests.transcripts.corpus.test_account_exports import TREE, make_tree, pack

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def test_the_export_of_an_account_is_looked_at_imported_and_coded(site: Site, sign_in: SignIn) -> None:
    slug = f"talks-{uuid.uuid4().hex[:8]}"
    page = sign_in(session=site.owner)
    page.goto(f"{site.base_url}/")
    page.get_by_role("link", name="New study").click()
    page.get_by_label("Name", exact=True).fill("An account's talks")
    page.get_by_label("Address").fill(slug)
    page.get_by_role("button", name="Start the study").click()
    page.locator(".first-steps").get_by_role("link", name="import interviews").click()
    data = pack({"conversations.json": json.dumps([make_tree(*TREE)])})
    file = {"name": "export.zip", "mimeType": "application/zip", "buffer": data}
    page.locator("main input[type=file]").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Check the files").click()
    report = page.locator("#report")
    expect(report).to_contain_text("Export of a ChatGPT account")
    expect(report).to_contain_text("only the last version of it was read")
    check_looks(page)

    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("link", name="Talk", exact=True).first.click()
    page.wait_for_url(f"**/p/{slug}/interviews/*/")
    expect(page.locator(".sentence .text").last).to_have_text("I would ask first.")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    expect(page.locator(f"{CURRENT} .text")).to_have_text("I would ask first.")
    press(page, page.locator("button.code[data-code='theme.balance'] kbd").inner_text())
    expect(page.locator(".chip[data-code='theme.balance']")).to_have_count(1)
