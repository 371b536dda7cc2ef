"""Help: a page for each task, reached from the pages that it explains."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.stage import ADDRESSES
from transcripts.ui.navigation import TASKS, find_help


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_a_page_that_all_help_leads_to(client: Client, db: None, task: str) -> None:
    address = reverse("help_task", args=[task])
    assert f'href="{address}"' in client.get(reverse("help")).content.decode()
    assert "<ol>" in client.get(address).content.decode()


def test_help_above_a_page_leads_to_its_task() -> None:
    assert find_help("coding:desk") == reverse("help_task", args=["code-an-interview"])
    assert find_help("projects:home") == reverse("help")


def test_the_pages_of_the_tasks_exist() -> None:
    assert {route for routes in TASKS.values() for route in routes} <= set(ADDRESSES)


def test_a_task_that_is_not_there_is_not_found(client: Client, db: None) -> None:
    assert client.get("/help/make-coffee/").status_code == 404
