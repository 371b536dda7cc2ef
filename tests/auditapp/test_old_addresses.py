"""Bookmarks from before release 1.0.0."""

import pytest
from django.urls import resolve

from auditapp.site.pages import RENAMED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/p/culture/", "/studies/culture/"),
        ("/p/culture/interviews/?q=a%20b&page=2", "/studies/culture/interviews/?q=a%20b&page=2"),
        ("/p/culture/work/", "/studies/culture/my-work/"),
        ("/p/culture/preannotation/annotators/3/checks/", "/studies/culture/annotators/3/checks/"),
        ("/p/culture/preannotation/reversals/", "/studies/culture/evaluation/rejections/"),
        ("/p/culture/preannotation/calibration/", "/studies/culture/evaluation/calibration/"),
        ("/p/culture//evil.example/", "/studies/culture//evil.example/"),
    ],
)
def test_an_old_address_leads_to_the_page(client_of, owner, old, new):
    answer = client_of(owner).get(old)
    assert (answer.status_code, answer["Location"]) == (301, new)


def test_nothing_is_sent_to_an_old_address(client_of, owner, study):
    assert client_of(owner).post(f"/p/{study.slug}/members/add/", {}).status_code == 405


def test_every_new_beginning_is_one_that_pages_have():
    beginnings = {new for _, new in RENAMED} - {"annotators/", "evaluation/"}
    alone = {"annotators/runs/": "7/", "live-interviews/": "", "suggestions/drafts/": ""}
    for new in beginnings:
        resolve(f"/studies/culture/{new}{alone.get(new, '')}")
