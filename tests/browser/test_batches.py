"""A batch watched in a browser, with a real worker and a paid API that counts: from launch to end through one kill."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.auditapp.batches.cast import TEXTS
from tests.browser.conftest import find_violations, is_answering
from tests.conftest import refilled
from tests.support.instance import kill_group, wait_until
from tools.start import HOST

pytestmark = [pytest.mark.browser, pytest.mark.processes]

PILOT = 10
LATENCY = 1.0
PATIENCE_MS = 60_000
# Aged beyond twenty seconds at once, so that nobody has to wait for it.
AGE_SIGNS = """
from datetime import timedelta
from django.db.models import F
from auditapp.batches.models import WorkerSign
WorkerSign.objects.update(seen_at=F("seen_at") - timedelta(seconds=30))
"""


class Place:
    """A running site with a study of texts, a priced model at the paid API, and its owner's sign-in link."""

    def __init__(self, instance, base_url):
        self.instance, self.base_url = instance, base_url
        self.slug = str(instance.query("SELECT slug FROM studies_study")[0][0])

    def path(self, *parts):
        return "/".join([f"{self.base_url}/studies/{self.slug}", *(str(part) for part in parts), ""])

    def enter(self, context):
        """A page on which the owner has signed in."""
        page = context.new_page()
        page.goto(self.instance.ask("prepare", "--no-demo")["sign_in_url"])
        page.locator("main form button").click()
        page.wait_for_url(f"{self.base_url}/")
        return page

    def age_signs(self):
        """Make the last signs of all workers half a minute older."""
        self.instance.run_code(AGE_SIGNS)

    def launch(self, page, *, pilot):
        """Through the form and its review."""
        page.goto(self.path("sob", "launch"))
        page.get_by_role("checkbox", name=re.compile(r"^m\b")).check()
        page.get_by_label("Non-acceptability").uncheck()
        page.get_by_label("I know that").check()
        page.get_by_label("Pilot, calls per arm").fill(str(pilot))
        page.get_by_label("Cap in US dollars").fill("2")
        page.get_by_label("Maximum calls in flight").fill("20")
        page.get_by_role("button", name="Review").click()
        expect(page.get_by_role("heading", name="Review the launch")).to_be_visible()
        look(page)
        page.get_by_role("button", name="Start pilot" if pilot else "Launch", exact=True).click()
        page.wait_for_url(re.compile(r"/batches/\d+/$"))


@pytest.fixture
def place(own_instance, prepared, paid_api):
    paid_api.order(reset=True)
    base_url = own_instance.environment["BASE_URL"]
    port = str(urlsplit(base_url).port)
    with refilled(own_instance, prepared) as instance:
        instance.start("-m", "auditapp.site.serving", "--host", HOST, "--port", port)
        wait_until(lambda: is_answering(base_url), what="the server answers")
        yield Place(instance, base_url)


def look(page):
    """Accessible in light and dark, and no wider than a narrow window."""
    for scheme, width in (("light", 1280), ("dark", 320)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert find_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})


def read_finished(page):
    return int(page.locator("#live-progress progress").get_attribute("value") or 0)


def listen(page):
    """What the page says on its console, from now on."""
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


@pytest.mark.full
def test_the_live_page_tells_the_truth_from_launch_to_end_through_a_killed_worker(place, paid_api, open_context):
    page = place.enter(open_context())
    said = listen(page)
    paid_api.order(latency=LATENCY)
    worker = place.instance.start_worker()
    place.launch(page, pilot=PILOT)
    state = page.locator("#live-state")

    # The pilot ends, and without a reload the page shows an estimate and asks for a yes.
    expect(state).to_contain_text("Waiting for approval", timeout=PATIENCE_MS)
    expect(page.get_by_text("Estimate after the pilot")).to_be_visible()
    assert read_finished(page) == PILOT
    look(page)
    # Slow enough for the batch to be under way still when its worker is killed.
    paid_api.order(latency=3 * LATENCY)
    page.get_by_role("button", name="Confirm and send the rest").click()
    expect(state).to_contain_text("Running")

    # Progress moves while focus, typing and an open fold stay where they are.
    page.locator("#limit-table summary").click()
    page.get_by_label("Maximum calls in flight").fill("19")
    page.locator("#act-pause").focus()
    wait_until(lambda: read_finished(page) > PILOT + TEXTS // 5, what="the page showed more answers")
    assert page.evaluate("document.activeElement.id") == "act-pause"
    assert page.get_by_label("Maximum calls in flight").input_value() == "19"
    assert page.locator("#limit-table").get_attribute("open") is not None
    # Calls that are answered by nobody before their worker is gone.
    sent = paid_api.stats()["received"]
    paid_api.order(latency=600)
    wait_until(lambda: paid_api.stats()["received"] > sent, what="another call left")
    kill_group(worker)
    paid_api.order(latency=LATENCY)
    place.age_signs()
    expect(page.locator("#live-no_worker")).to_contain_text(
        re.compile(r"No worker has reported since (\d+ \w+ \d+, )?\d\d:\d\d"), timeout=PATIENCE_MS
    )
    look(page)
    place.instance.start_worker()
    expect(page.locator("#live-no_worker")).to_be_empty(timeout=PATIENCE_MS)
    expect(state).to_contain_text("Done", timeout=PATIENCE_MS)

    assert read_finished(page) == TEXTS
    lost = place.instance.query("SELECT count(*) FROM batches_attempt WHERE \"end\" = 'unknown'")[0][0]
    assert lost >= paid_api.stats()["paid_twice"]
    assert lost > 0
    expect(page.locator("#live-money")).to_contain_text(f"May have been paid twice: {lost} call")
    look(page)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3_000)
    assert asked == []
    key = place.instance.query("SELECT min(id) FROM batches_attempt WHERE \"end\" = 'unknown'")[0][0]
    page.goto(f"{page.url}attempts/{key}/")
    look(page)
    assert said == []


@pytest.mark.full
def test_a_page_that_cannot_ask_says_so_and_goes_on(place, open_context):
    context = open_context()
    page = place.enter(context)
    place.launch(page, pilot=0)
    answers = []
    page.on("response", lambda response: answers.append(response.status))
    with page.expect_event("response", lambda response: response.status == 304):
        pass
    assert set(answers) <= {200, 304}
    stale = page.get_by_text("Not up to date since")
    expect(stale).to_be_hidden()
    context.set_offline(True)
    expect(stale).to_be_visible()
    look(page)
    context.set_offline(False)
    expect(stale).to_be_hidden()
    expect(page.locator("#live-no_worker")).to_contain_text("No worker is running.")


@pytest.mark.full
def test_everything_works_without_javascript(place, open_context):
    page = open_context(java_script_enabled=False).new_page()
    page.goto(place.instance.ask("prepare", "--no-demo")["sign_in_url"])
    page.locator("main form button").click()
    page.goto(place.path("sob", "launch"))
    page.get_by_role("checkbox", name=re.compile(r"^m\b")).check()
    page.get_by_label("I know that").check()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Change the settings").click()
    assert page.get_by_role("checkbox", name=re.compile(r"^m\b")).is_checked()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Start pilot").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    assert "Paused" in page.locator("#live-state").inner_text()
    page.get_by_role("button", name="Cancel…").click()
    assert page.locator("h1").inner_text().startswith("Cancel batch")
    page.get_by_role("button", name="Cancel the batch").click()
    assert "Cancelled" in page.locator("#live-state").inner_text()
