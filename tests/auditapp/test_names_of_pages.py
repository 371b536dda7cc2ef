"""A page is called the same in the bar that leads to it and in its own heading."""

import re
from html import unescape

import pytest
from django.urls import reverse

from transcripts.ui.navigation import DESTINATIONS, Group


@pytest.mark.django_db
def test_a_page_is_headed_by_the_name_that_the_bar_gives_it(client, owner, study):
    client.force_login(owner)
    differ = {}  # the overview bears the name of the study
    for entry in (entry for destination in DESTINATIONS for entry in destination.entries):
        for page in entry.pages if isinstance(entry, Group) else (entry,):
            html = client.get(reverse(page.route, args=[study.slug]), follow=True).content.decode()
            found = re.search(r"<h1[^>]*>(.*?)</h1>", html, re.DOTALL)
            heading = " ".join(unescape(re.sub(r"<[^>]+>", " ", found[1])).split()) if found else ""
            # "All audits" in the group "Audits" may be headed "Audits of positives".
            wanted = page.name.removeprefix("All ").removeprefix("By ")
            if page.route != "studies:home" and wanted.casefold() not in heading.casefold():
                differ[f"{entry.name}: {page.name}"] = heading
    assert differ == {}
