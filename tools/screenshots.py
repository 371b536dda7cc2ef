"""Pictures of the program for the README and the documents: ``python -m tools.screenshots SIGN_IN_URL`` while `make run` runs.

SIGN_IN_URL is the link that `make run` prints. Run it on a new data folder: the demo study is what is shown, and the first
interview of its owner is coded a little. Needs the development requirements and Chromium (CHROMIUM, or the first of chromium
and chromium-browser on PATH).
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import FilePayload, Locator, Page, sync_playwright

# The documents and the README show these files, and so does help, as static files.
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"
QUALITY = 82
# The width of a help page's text: what is taken at this width is shown there as large as it was.
NARROW = 690
QUESTION, ANSWER = (
    '{"role": "interviewer", "text": "What is a good neighbour?"}',
    '{"role": "model", "text": "It depends."}',
)
INTERVIEWS = "".join(
    f'{{"id": "m-{number}", "model": "Model M", "turns": [{QUESTION}, {ANSWER}]}}\n' for number in (1, 2)
).encode()


def main() -> None:
    """Sign in, open the pages, write the pictures."""
    if len(sys.argv) < 2:
        raise SystemExit("Name the sign-in link that `make run` printed.")
    link, folder = sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        raise SystemExit("No Chromium is on PATH. Install it, or name it with CHROMIUM=/path/to/it.")
    folder.mkdir(parents=True, exist_ok=True)
    origin = urlsplit(link)
    study = f"{origin.scheme}://{origin.netloc}/studies/demo"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(color_scheme="light", reduced_motion="reduce")
        page.goto(link)
        page.locator("main form button").click()
        page.wait_for_url(f"{origin.scheme}://{origin.netloc}/**")
        for name, take in PICTURES.items():
            take(page, study, folder / f"{name}.webp")
            print(f"{name}.webp {(folder / f'{name}.webp').stat().st_size / 1024:.0f} KB")
        browser.close()


def take_overview(page: Page, study: str, file: Path) -> None:
    """The overview of the study."""
    open_page(page, f"{study}/", width=1280, height=900)
    write(page, file, height=880)


def take_desk(page: Page, study: str, file: Path) -> None:
    """The desk of the first demo interview, with a few codes put by keyboard."""
    open_page(page, f"{study}/interviews/", width=1280, height=760)
    page.locator("table a[href*='/interviews/']").first.click()
    open_page(page, page.url, width=1280, height=760)
    page.locator("ol.sentences li").nth(3).wait_for()
    for key in ("ArrowDown", "ArrowDown", "d", "Enter", "s", "Enter", "a"):
        page.keyboard.press(key)
        page.wait_for_timeout(400)
    page.wait_for_timeout(1500)
    write(page, file, height=760)


def take_sentence(page: Page, study: str, file: Path) -> None:
    """The open sentence and its codes, on the desk that ``take_desk`` left open."""
    page.set_viewport_size({"width": 1000, "height": 660})
    page.keyboard.press("ArrowUp")
    page.wait_for_timeout(1000)
    text, codes = page.locator("ol.sentences").first.bounding_box(), page.locator("#panel").bounding_box()
    assert text is not None
    assert codes is not None
    write(page, file, left=text["x"] - 16, top=codes["y"], width=1000 - text["x"] + 16, height=480)


def take_agreement(page: Page, study: str, file: Path) -> None:
    """The picture of agreement by code."""
    open_page(page, f"{study}/agreement/", width=1000)
    write_part(page, page.locator("main figure").first, file, width=850, height=268)


def take_disagreement(page: Page, study: str, file: Path) -> None:
    """A disagreement to be decided."""
    open_page(page, f"{study}/adjudication/", width=NARROW)
    write_part(page, page.locator("main .card", has=page.get_by_text("Decision")).first, file, height=620)


def take_ledger(page: Page, study: str, file: Path) -> None:
    """The ledger of the thread that the demo follows over its turns."""
    open_page(page, f"{study}/negotiation/scores/", width=1000)
    desk = page.locator("table.scores a[href*='/interviews/'][href*='/scores/']").first.get_attribute("href")
    assert desk is not None
    open_page(page, study + desk.split("/demo")[1].replace("/scores/", "/negotiation/").split("?")[0], width=1000)
    write_part(page, page.locator("section[aria-labelledby=ledger-title]"), file, width=NARROW, height=232)


def take_scores(page: Page, study: str, file: Path) -> None:
    """A thread scored by two people under two stances."""
    open_page(page, f"{study}/negotiation/scores/", width=1000)
    write_part(page, page.locator("table.scores").first, file, width=860, height=222)


def take_probe(page: Page, study: str, file: Path) -> None:
    """Table 1 of the probe as a chart."""
    open_page(page, f"{study}/gender-cues/", width=1100)
    page.get_by_role("link", name="Tables 1 and 2").first.click()
    open_page(page, page.url, width=1100)
    write_part(page, page.locator("main figure").first, file, width=920, height=520)


def take_experiment(page: Page, study: str, file: Path) -> None:
    """The differences of the demo's experiment as a chart."""
    open_page(page, f"{study}/experiments/", width=NARROW)
    page.locator("main table a").first.click()
    open_page(page, page.url, width=NARROW)
    write_part(page, page.locator("main figure").first, file)


def take_launch(page: Page, study: str, file: Path) -> None:
    """The review before a launch, which says what will be sent and what it may cost."""
    open_page(page, f"{study}/sob/launch/", width=NARROW)
    for box in page.locator("main input[name=models], main input[name=variants]").all()[:2]:
        box.check()
    for box in page.locator("main input[type=checkbox][required]").all():
        box.check()
    page.locator("main form button.primary").last.click()
    page.wait_for_load_state("networkidle")
    write(page, file, height=620, below="main h1")


def take_import(page: Page, study: str, file: Path) -> None:
    """What a file holds, before anything is stored."""
    # So high that the buttons, which stay in sight, lie below what is shown.
    open_page(page, f"{study}/interviews/import/", width=NARROW, height=2400)
    chosen: FilePayload = {"name": "interviews.jsonl", "mimeType": "application/json", "buffer": INTERVIEWS}
    page.locator("input[type=file]").set_input_files(chosen)
    page.get_by_role("button", name="Show what is in the files").click()
    page.get_by_role("heading", name="What would be imported").wait_for()
    write(page, file, height=480, below="main h2:has-text('What would be imported')")


def take_invitation(page: Page, study: str, file: Path) -> None:
    """The form for a new coder, filled in and not sent."""
    open_page(page, f"{study}/members/", width=NARROW)
    form = page.locator("main form", has=page.get_by_label("User name"))
    form.get_by_label("User name").fill("mira")
    form.get_by_label("This person has no account here yet").check()
    form.get_by_label("Coder", exact=False).first.check()
    write_part(page, form.locator("xpath=.."), file)


def take_heat_map(page: Page, study: str, file: Path) -> None:
    """The whole heat map."""
    open_page(page, f"{study}/sob/", width=1280)
    write_part(page, page.locator("main .card", has=page.locator("table")).first, file, height=640)


def take_cells(page: Page, study: str, file: Path) -> None:
    """The first columns of the heat map, large enough to read in a help page."""
    open_page(page, f"{study}/sob/", width=1280)
    write_part(page, page.locator("main table").first, file, width=577, height=370)


PICTURES: dict[str, Callable[[Page, str, Path], None]] = {
    # Before anything is coded on the desk, which the figures of the study would count.
    "overview": take_overview,
    "agreement": take_agreement,
    "disagreement": take_disagreement,
    "ledger": take_ledger,
    "scores": take_scores,
    "probe": take_probe,
    "experiment": take_experiment,
    "desk": take_desk,
    "desk-sentence": take_sentence,
    "launch": take_launch,
    "import": take_import,
    "invitation": take_invitation,
    "heat-map": take_heat_map,
    "heat-map-cells": take_cells,
}


def open_page(page: Page, address: str, *, width: int, height: int = 900) -> None:
    """Go there in a window of that size, and put away what the page says only once."""
    page.set_viewport_size({"width": width, "height": height})
    page.goto(address)
    hints = page.get_by_role("button", name=re.compile("^(Got it|Not now)$"))
    while hints.count():
        hints.first.click()
        page.goto(address)
    page.wait_for_load_state("networkidle")


def write_part(page: Page, part: Locator, file: Path, *, width: float = 0, height: float = 0) -> None:
    """A picture of one element, cut off at ``width`` and ``height``."""
    box = part.bounding_box()
    assert box is not None, f"{file.name}: what it should show is out of sight"
    write(
        page,
        file,
        left=box["x"],
        top=box["y"],
        width=min(box["width"], width or box["width"]),
        height=min(box["height"], height or box["height"]),
    )


def write(
    page: Page,
    file: Path,
    *,
    height: float,
    left: float = 0,
    top: float = 0,
    width: float = 0,
    below: str = "",
) -> None:
    """A picture of a place of the page, from ``below`` an element on where one is named; a sixth of the size of a PNG."""
    if below:
        box = page.locator(below).bounding_box()
        top = box["y"] if box else top
    size = page.viewport_size
    assert size is not None
    place = {"x": left, "y": top, "width": width or size["width"], "height": height, "scale": 1}
    shot = page.context.new_cdp_session(page).send(
        "Page.captureScreenshot",
        {"format": "webp", "quality": QUALITY, "clip": place, "captureBeyondViewport": top + height > size["height"]},
    )
    file.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
