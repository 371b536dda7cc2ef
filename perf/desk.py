"""An interview of 2,000 sentences at the desk, in Chromium: until it can be coded, from key to paint, to the next one; and a
trajectory of 500 turns and as many sentences, whose results are folded, with 200 entries in its ledger.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

from playwright.sync_api import Browser, Page, sync_playwright

from perf.browser import ARGUMENTS, PATIENCE_MS, READY, find_chromium
from perf.corpus import SENTENCES_AN_ANSWER, write_trajectories
from perf.results import Measured, Row, find_median, find_percentile
from perf.serving import PRODUCT, serve
from perf.setup import Setup
from perf.study import Person, Study, prepare_study

SENTENCES = 2_000
# Trajectories of 124 steps have 500 turns; with so many sentences in each reasoning and each answer, 2,000 sentences.
RUNS, STEPS, SENTENCES_A_PART = 3, 124, 7
CODED = 1_000
# Of a trajectory, so that the ledger stands filled beside the text; it is open unless a person closes it.
ENTRIES = 200
SLOWEST_OPEN = 1.0
SLOWEST_KEY_MS = 50.0
SLOWEST_NEXT = 0.3
# The browser tells of an event from 16 ms on and rounds to 8; what it does not tell of was quicker.
LEAST_TOLD_MS = 16
PRESSED = ("KeyA", "ArrowDown", "KeyS", "ArrowDown", "KeyD", "KeyD", "Enter")
# A case feature and its status, after which the ledger is drawn anew.
ENTERED = ("Digit1", "Digit3", "Escape")
# Some features ask a question of their own. Were it left open, the keys that follow would have nothing to paint, and the browser
# would tell how long it took until something else was painted.
QUESTION = "#transcript form.inline-form"
WATCH = f"""() => {{
  window.painted = [];
  new PerformanceObserver((list) => {{
    for (const entry of list.getEntries()) if (entry.name === "keydown") window.painted.push(entry.duration);
  }}).observe({{ type: "event", durationThreshold: {LEAST_TOLD_MS} }});
}}"""


def measure(setup: Setup) -> Measured:
    """Medians of several opens, the 95th percentile of a few hundred keys, and the way to the next interview."""
    name = "desk, 2,000 sentences"
    chromium = find_chromium()
    if not chromium:
        return Measured([Row(name, "not measured: there is no Chromium here")])
    setup.tell("desk: interviews of 2,000 sentences")
    questions = SENTENCES // SENTENCES_AN_ANSWER
    study = prepare_study(setup.folder / "long", interviews=4, coders=1, codings=4 * CODED, questions=questions)
    interviews = _measure_study(setup, study, chromium, name)
    setup.tell("desk: trajectories of 500 turns")
    study = prepare_study(
        setup.folder / "runs",
        interviews=RUNS,
        coders=1,
        codings=RUNS * CODED,
        entries=ENTRIES,
        write=lambda file: write_trajectories(file, RUNS, steps=STEPS, sentences=SENTENCES_A_PART),
    )
    plain = find_median(cast("list[float]", interviews.numbers["opened_seconds"]))
    key = find_percentile(cast("list[float]", interviews.numbers["key_to_paint_ms"]), 95)
    runs = _measure_study(setup, study, chromium, "desk, 500 turns, 2,000 sentences", beside=plain, key_beside=key)
    return Measured([*interviews.rows, *runs.rows], {**interviews.numbers, "trajectories": runs.numbers})


def _measure_study(
    setup: Setup, study: Study, chromium: str, name: str, *, beside: float = 0.0, key_beside: float = 0.0
) -> Measured:
    """The desk of a study; of trajectories ``beside`` the seconds until an interview of the same run could be coded, and
    ``key_beside`` the 95th percentile of its milliseconds from key to paint."""
    kind = "desk, trajectory" if beside else "desk"
    with (
        serve(PRODUCT, environment=study.instance.environment, log=setup.folder / "web.log") as server,
        sync_playwright() as playwright,
    ):
        person = Person(study, "annotator", server.port)
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        _measure_once(browser, person)
        found = [_measure_once(browser, person, has_ledger=bool(beside)) for _ in range(setup.sizes.browser_opens)]
        browser.close()
    opened = [each[0] for each in found]
    keys = [duration for each in found for duration in each[1]]
    following = [seconds for each in found for seconds in each[2]]
    key = find_percentile(keys, 95)
    rows = [
        Row(
            name,
            f"codable in {find_median(opened):.2f} s"
            + (f" = {find_median(opened) / beside:.2f} of an interview" if beside else ""),
            f"<= {SLOWEST_OPEN:.0f} s",
            find_median(opened) <= SLOWEST_OPEN,
            rounds=[each / beside for each in opened] if beside else (),
        ),
        Row(
            f"{kind}, key to paint",
            f"p95 {key:.0f} ms of {len(keys)} keys (16 is the least told)"
            + (f" = {key / key_beside:.2f} of an interview" if key_beside else ""),
            f"<= {SLOWEST_KEY_MS:.0f} ms",
            key <= SLOWEST_KEY_MS,
            rounds=[find_percentile(each[1], 95) / key_beside for each in found] if key_beside else (),
        ),
    ]
    if not beside:
        rows.append(_judge_next(following, opened))
    return Measured(
        rows,
        {
            "opened_seconds": opened,
            "key_to_paint_ms": keys,
            "next_seconds": following,
        },
    )


def _judge_next(seconds: list[float], opened: list[float]) -> Row:
    """With the ratio to a cold open of the same run, which carries over to other machines."""
    middle, cold = find_median(seconds), find_median(opened)
    return Row(
        "desk, next interview",
        f"{middle:.2f} s = {middle / cold:.2f} of a cold open",
        f"<= {SLOWEST_NEXT} s",
        middle <= SLOWEST_NEXT,
        rounds=[each / cold for each in seconds],
    )


def _measure_once(
    browser: Browser, person: Person, *, has_ledger: bool = False
) -> tuple[float, list[float], list[float]]:
    address = f"http://127.0.0.1:{person.port}"
    interviews = list(person.study.answers)
    context = browser.new_context()
    context.add_cookies([{"name": name, "value": value, "url": address} for name, value in person.cookies.items()])
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    start = time.perf_counter()
    page.goto(f"{address}{person.desk_path(interviews[0])}", wait_until="commit")
    _wait_until_codable(page, person, interviews[0])
    opened = time.perf_counter() - start
    if has_ledger:
        page.wait_for_selector("#ledger[open] li", state="attached")
        before = page.text_content("#ledger")
        keys = _press_keys(page, (*PRESSED, *ENTERED))
        assert page.text_content("#ledger") != before, "No entry came into the ledger."
    else:
        keys = _press_keys(page, PRESSED)
    page.wait_for_function("() => document.getElementById('savestate').dataset.state === 'saved'")
    following = []
    for interview in interviews[1:]:
        start = time.perf_counter()
        page.keyboard.press("]")
        page.wait_for_url(f"**/interviews/{interview}/**", wait_until="commit")
        _wait_until_codable(page, person, interview)
        following.append(time.perf_counter() - start)
    context.close()
    return opened, keys, following


def _wait_until_codable(page: Page, person: Person, interview: int) -> None:
    page.wait_for_function(READY, arg=f"s{person.study.answers[interview][-1]}")
    page.wait_for_function("() => document.documentElement.dataset.desk === 'ready'")


def _press_keys(page: Page, keys: Sequence[str]) -> list[float]:
    """Milliseconds from each key to the paint after it."""
    page.evaluate(WATCH)
    pressed = 0
    for _ in range(8):
        for key in keys:
            page.keyboard.press(key)
            page.wait_for_timeout(60)
            pressed += 1
        while page.locator(QUESTION).count():
            page.keyboard.press("Escape")
            page.wait_for_timeout(60)
            pressed += 1
    told: list[float] = page.evaluate("window.painted")
    return [*told, *[float(LEAST_TOLD_MS)] * (pressed - len(told))]
