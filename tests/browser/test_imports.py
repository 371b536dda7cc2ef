"""What is brought in by page, from the file to the first coding: the export of an account, and the run of an agent."""

import json
import uuid

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_looks
from tests.browser.desk import CURRENT, await_saved, expect_load, press
from tests.transcripts.corpus.test_account_exports import TREE, make_tree, pack

DROP = """([name, bytes]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([new Uint8Array(bytes)], name));
  document.querySelector("h1").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
}"""
# What a page must never do with a text that comes from elsewhere, in every place that a file can put it.
ACTS = (
    "![a](http://tracker.example/a.png) [b](javascript:alert(1)) <img src=x onerror=alert(2)> <script>alert(3)</script> "
    "\x1b]8;;http://tracker.example\x07c\x1b]8;;\x07 \u202edlrow"
)
RUN = {
    "id": "run",
    "title": f"Run {ACTS}",
    "messages": [
        {"role": "system", "content": f"Be careful. {ACTS}"},
        {"role": "user", "name": f"Eve {ACTS}"[:200], "content": "Find the file."},
        {
            "role": "assistant",
            "reasoning_content": f"A walrus hides it. {ACTS}",
            "content": f"I look. {ACTS}",
            "tool_calls": [
                {
                    "id": "c",
                    "type": "function",
                    "function": {"name": f"find{ACTS}"[:200], "arguments": json.dumps({"name": ACTS})},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": f"seal.txt {ACTS}"},
        {"role": "assistant", "content": "Here it is."},
    ],
}

pytestmark = [pytest.mark.browser, pytest.mark.processes]


def start_study(page, site, name):
    """A new study of its owner's, with the page of imports open; gives its address."""
    slug = f"talks-{uuid.uuid4().hex[:8]}"
    page.goto(f"{site.base_url}/")
    page.get_by_role("link", name="New study").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Address").fill(slug)
    page.get_by_role("button", name="Start the study").click()
    page.locator(".first-steps").get_by_role("link", name="import interviews").click()
    return slug


def drop(page, name, content):
    """Drop a file somewhere on the page, as from the desktop."""
    # A file that is dropped before the page's script runs is the browser's.
    page.wait_for_load_state("load")
    page.evaluate(DROP, [name, list(content)])


def await_desk(page):
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")


@pytest.mark.full
def test_the_export_of_an_account_is_looked_at_imported_and_coded(site, sign_in):
    page = sign_in(session=site.owner)
    slug = start_study(page, site, "An account's talks")
    data = pack({"conversations.json": json.dumps([make_tree(*TREE)])})
    # First a file that cannot be read: what is wrong is said, and goes with the next file.
    drop(page, "notes.txt", b"Nobody speaks here.")
    expect(page.locator("#problems")).to_contain_text("a text in no format that is known here")
    drop(page, "export.zip", data)
    report = page.locator("#report")
    expect(report).to_contain_text("Export of a ChatGPT account, because its first object has mapping")
    expect(report).to_contain_text("1 branch")
    expect(report).to_contain_text("I would ask first.")
    expect(page.locator("#problems")).to_be_empty()
    assert page.evaluate("document.getElementById('id_uploads').files[0].name") == "export.zip"
    check_looks(page)
    # Another file: what was shown of the one before goes.
    drop(page, "notes.txt", b"Nobody speaks here.")
    expect(page.locator("#problems")).to_contain_text("a text in no format that is known here")
    expect(report).to_be_empty()
    drop(page, "export.zip", data)

    report.get_by_label("Import all conversations of export.zip that are listed").uncheck()
    expect(report.locator("[name=take]:checked")).to_have_count(0)
    report.get_by_label("Import Talk", exact=True).check()
    report.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#messages")).to_contain_text("Imported: 1 interview with 2 sentences")
    page.get_by_role("link", name="Talk", exact=True).first.click()
    page.wait_for_url(f"**/studies/{slug}/interviews/*/")
    expect(page.locator(".sentence .text").last).to_have_text("I would ask first.")
    await_desk(page)
    expect(page.locator(f"{CURRENT} .text")).to_have_text("I would ask first.")
    press(page, page.locator("button.code[data-code='theme.balance'] kbd").inner_text())
    expect(page.locator(".chip[data-code='theme.balance']")).to_have_count(1)


@pytest.mark.full
def test_the_run_of_an_agent_is_opened_coded_and_searched_and_nothing_in_it_acts(site, sign_in):
    page = sign_in(session=site.owner)
    acted = []
    page.on("dialog", lambda dialog: acted.append(dialog.message))
    page.on("request", lambda request: acted.append(request.url) if not request.url.startswith(site.base_url) else None)
    start_study(page, site, "Runs")
    drop(page, "run.json", json.dumps(RUN).encode())
    report = page.locator("#report")
    expect(report).to_contain_text("1 tool call, 1 result")
    expect(report).to_contain_text("A name or title had hidden characters, which were left out.")
    report.get_by_label("Title").fill("A run")
    report.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("link", name="A run", exact=True).first.click()
    await_desk(page)

    # Its reasoning is closed, and its key opens it.
    reasoning = page.locator("#turn-3")
    expect(reasoning).to_contain_text("closed")
    expect(page.locator("#transcript")).not_to_contain_text("walrus")
    with expect_load(page):
        press(page, "-")
    await_desk(page)
    expect(reasoning).to_contain_text("A walrus hides it.")
    expect(page.locator(f"{CURRENT} .text")).to_have_text("A walrus hides it.")
    press(page, "-")
    expect(reasoning).not_to_have_attribute("open", "")

    # A call is reached and coded by key; a key that does not answer is not lost without a word.
    call = page.locator("#turn-5")
    while not call.locator(CURRENT).count():
        press(page, "ArrowDown")
    press(page, "q", "d", "ArrowDown")
    expect(call.locator(".inline-form-hint")).to_contain_text("↓ does nothing here yet")
    expect(call.locator("[name=enactment]:checked")).to_have_count(0)
    press(page, "2")
    expect(call.locator(".chip[data-code='move.elicit'][data-enactment='demonstrated']")).to_have_count(1)
    await_saved(page)
    expect(page.locator(".chip")).to_have_count(1)

    check_looks(page)
    # Words of what the tool gave back are found from the desk, and lead to it.
    press(page, "/")
    page.keyboard.type("seal.txt")
    with expect_load(page):
        press(page, "Enter")
    expect(page.locator("#found")).to_contain_text("1 of ")
    with expect_load(page):
        page.locator("a.to-desk").click()
    await_desk(page)
    expect(page.locator("#turn-6")).to_have_attribute("open", "")
    expect(page.locator("#turn-6 pre")).to_contain_text("seal.txt")
    # Keys code the call that it came of, also after the fold was pressed.
    expect(page.locator("#turn-5").locator(CURRENT)).to_have_count(1)
    page.locator("#turn-6 > summary").click()
    page.locator("#turn-6 > summary").click()
    expect(page.locator("#turn-6")).to_have_attribute("open", "")
    assert page.evaluate("document.activeElement.tagName") != "SUMMARY"
    assert page.locator("#turn-6 .unseen").count() == 5
    assert page.evaluate("document.querySelectorAll('main :is(img, iframe, script:not([type]))').length") == 0
    addresses = page.evaluate("[...document.querySelectorAll('main a[href]')].map((link) => link.protocol + link.host)")
    assert set(addresses) == {site.base_url.replace("//", "")}
    assert acted == []
