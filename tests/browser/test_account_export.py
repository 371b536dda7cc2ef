"""The export of a chatbot account, from the file to the first coding, by page."""

from __future__ import annotations

import json
import uuid

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn, Site, check_looks
from tests.browser.desk import CURRENT, press
from tests.transcripts.corpus.test_account_exports import TREE, make_tree, pack

DROP = """([name, bytes]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
  document.querySelector("h1").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
}"""

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def drop(page: Page, name: str, content: bytes) -> None:
    """Drop a file somewhere on the page, as from the desktop."""
    # A file that is dropped before the page's script runs is the browser's.
    page.wait_for_load_state("load")
    page.evaluate(DROP, [name, list(content)])


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
    # First a file that cannot be read: what is wrong is said, and goes with the next file.
    drop(page, "notes.txt", b"Nobody speaks here.")
    expect(page.locator("#problems")).to_contain_text("text that is none of the formats tried")
    drop(page, "export.zip", data)
    report = page.locator("#report")
    expect(report).to_contain_text("Export of a ChatGPT account, because its first object has mapping")
    expect(report).to_contain_text("1 · 1 branch")
    expect(report).to_contain_text("I would ask first.")
    expect(page.locator("#problems")).to_be_empty()
    check_looks(page)

    page.get_by_label("Import Talk (branch-2)").uncheck()
    report.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#messages")).to_contain_text("1 interview with 2 sentences came in")
    page.get_by_role("link", name="Talk", exact=True).first.click()
    page.wait_for_url(f"**/p/{slug}/interviews/*/")
    expect(page.locator(".sentence .text").last).to_have_text("I would ask first.")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")
    expect(page.locator(f"{CURRENT} .text")).to_have_text("I would ask first.")
    press(page, page.locator("button.code[data-code='theme.balance'] kbd").inner_text())
    expect(page.locator(".chip[data-code='theme.balance']")).to_have_count(1)
