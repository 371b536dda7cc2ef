"""Help: a page for each task, reached from the pages that it explains."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests.support.instance import ROOT
from tests.support.whole_study import ADDRESSES
from transcripts.ui.navigation import TASKS, find_help


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_a_page_that_all_help_leads_to(client: Client, db: None, task: str) -> None:
    address = reverse("help_task", args=[task])
    assert f'href="{address}"' in client.get(reverse("help")).content.decode()
    assert "<ol>" in client.get(address).content.decode()


PICTURES = ROOT / "static" / "img" / "help"


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_a_picture_with_words_for_it_as_large_as_the_file_is(client: Client, db: None, task: str) -> None:
    page = client.get(reverse("help_task", args=[task])).content.decode()
    found = re.findall(
        r'<img class="screenshot" src="/static/img/help/([\w-]+\.webp)" alt="([^"]+)" width="(\d+)" height="(\d+)"',
        page,
    )
    assert found
    for name, words, width, height in found:
        assert len(words) > 30
        assert read_size((PICTURES / name).read_bytes()) == (int(width), int(height)), name


def test_every_picture_is_shown_somewhere_and_small() -> None:
    pages = [ROOT / "README.md", *(ROOT / "templates" / "help").iterdir()]
    words = "".join(page.read_text(encoding="utf-8") for page in pages)
    for file in PICTURES.iterdir():
        assert f"'{file.stem}'" in words or f"img/help/{file.name}" in words, file.name
        assert file.stat().st_size < 110_000, file.name


def read_size(webp: bytes) -> tuple[int, int]:
    """Width and height by the extended header of a WebP file."""
    assert webp[8:16] == b"WEBPVP8X"
    return int.from_bytes(webp[24:27], "little") + 1, int.from_bytes(webp[27:30], "little") + 1


def test_help_above_a_page_leads_to_its_task() -> None:
    assert find_help("desk:desk") == reverse("help_task", args=["code-an-interview"])
    assert find_help("studies:home") == reverse("help")


def test_the_pages_of_the_tasks_exist() -> None:
    assert {route for routes in TASKS.values() for route in routes} <= set(ADDRESSES)


def test_a_task_that_is_not_there_is_not_found(client: Client, db: None) -> None:
    assert client.get("/help/make-coffee/").status_code == 404
