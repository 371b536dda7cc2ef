"""Pictures of the program for the README: ``python -m tools.screenshots SIGN_IN_URL`` while `make run` runs.

SIGN_IN_URL is the link that `make run` prints; the demo study is what is shown. Needs the development requirements and
Chromium (CHROMIUM, or the first of chromium and chromium-browser on PATH).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
SIZE = {"width": 1280, "height": 860}
PAGES = {
    "sob": "/p/demo/sob/",
    "codebook": "/p/demo/codebook/",
    "interviews": "/p/demo/interviews/",
    "batches": "/p/demo/batches/",
}


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
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.goto(link)
        page.locator("main form button").click()
        page.wait_for_url(f"{origin.scheme}://{origin.netloc}/**")
        show_desk(page, folder)
        for name, path in PAGES.items():
            page.goto(f"{origin.scheme}://{origin.netloc}{path}")
            page.screenshot(path=folder / f"{name}.png")
        browser.close()


def show_desk(page: Page, folder: Path) -> None:
    """The desk of the first demo interview, with a few codes put by keyboard."""
    page.goto(f"{urlsplit(page.url).scheme}://{urlsplit(page.url).netloc}/p/demo/interviews/")
    page.locator("table a[href*='/interviews/']").first.click()
    page.locator("ol.sentences li").nth(3).wait_for()
    for key in ("ArrowDown", "ArrowDown", "d", "Enter", "s", "Enter", "a"):
        page.keyboard.press(key)
        page.wait_for_timeout(250)
    page.wait_for_timeout(800)
    page.screenshot(path=folder / "desk.png")


if __name__ == "__main__":
    main()
