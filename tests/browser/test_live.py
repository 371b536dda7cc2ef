"""Parts of pages that renew themselves: what cannot be renewed stays, and the page says since when it is old."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.processes]

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
PART = (
    '<section id="part"><p hx-get="/help/?part" hx-trigger="every 200ms" hx-select="#part" hx-target="#part" '
    'hx-swap="outerHTML" data-live="part">{}</p></section>'
)
BEGIN = """async (part) => {
  await import("/static/js/live.js");
  const main = document.querySelector("main");
  main.insertAdjacentHTML("afterbegin", part);
  htmx.process(main);
}"""


def test_every_part_that_renews_itself_is_watched():
    found = [
        (path.name, tag)
        for path in TEMPLATES.rglob("*.html")
        for tag in re.findall(r'<\w+[^<]*hx-trigger="every[^<]*>', path.read_text("utf-8"))
    ]
    assert len(found) > 5
    # The page of a batch has a script of its own (static/js/batch.js).
    unwatched = [name for name, tag in found if "data-live=" not in tag and 'id="poll"' not in tag]
    assert unwatched == []


def test_a_part_that_cannot_be_renewed_stays_and_says_since_when_it_is_old(visit):
    page = visit.open("/help/")
    answers = ["renewed"]

    def answer(route):
        kind = answers[-1]
        if kind == "away":
            route.abort()
        elif kind == "bad gateway":
            route.fulfill(status=502, body="<h1>502</h1>", content_type="text/html")
        elif kind == "signed out":
            route.fulfill(status=302, headers={"Location": "/accounts/login/"})
        elif kind == "another page":
            route.fulfill(status=200, body="<main>Sign in</main>", content_type="text/html")
        else:
            route.fulfill(status=200, body=PART.format(kind), content_type="text/html")

    page.route("**/help/?part", answer)
    page.evaluate(BEGIN, PART.format("first"))
    part, stale = page.locator("#part"), page.get_by_text("Not up to date since")
    expect(part).to_have_text("renewed")
    for kind in ("away", "bad gateway", "signed out", "another page"):
        answers.append(kind)
        expect(stale).to_be_visible()
        expect(stale).to_contain_text(re.compile(r"since \d\d:\d\d\."))
        if kind == "signed out":
            expect(stale).to_contain_text("You are signed out.")
        expect(part).to_be_visible()
        assert (part.text_content() or "").startswith("renewed")
        answers.append(f"renewed after {kind}")
        expect(part).to_have_text(f"renewed after {kind}")
        expect(stale).to_have_count(0)
