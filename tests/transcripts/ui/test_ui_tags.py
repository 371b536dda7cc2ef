import datetime

import pytest
from django.template import Context, Template


def render(at):
    return Template("{% load ui %}{{ at|moment }}").render(Context({"at": at}))


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("UTC", '<time datetime="2026-07-01T22:05:09+00:00">1 Jul 2026, 22:05 UTC</time>'),
        ("Europe/Berlin", '<time datetime="2026-07-02T00:05:09+02:00">2 Jul 2026, 00:05 CEST</time>'),
    ],
)
def test_moment_is_shown_in_the_sites_zone_and_names_it(settings, zone, shown):
    settings.TIME_ZONE = zone
    assert render(datetime.datetime(2026, 7, 1, 22, 5, 9, tzinfo=datetime.UTC)) == shown


def test_no_moment_is_a_dash():
    assert render(None) == "–"
