"""A chart leaves a page as a file: as that page showed it, for that person, on record."""

import hashlib
import re

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template import Context, Template
from django.test import RequestFactory
from django.urls import reverse

from tests.transcripts.charts.samples import CHARTS, DOTS
from transcripts.audit_trail.models import AuditEvent
from transcripts.charts.figures import Missing, RowChart
from transcripts.charts.layout import lay_out
from transcripts.charts.svg import write_file_svg, write_page_svg
from transcripts.ui.templatetags.charts import sign_chart

CHART = write_page_svg(lay_out(DOTS), key="agreement", title="Agreement", description="")
SVG = write_file_svg(CHART)


def sign(study, user):
    return sign_chart(CHART, summary="", note="", study=study, user_id=user.pk)


def ask(client, study, token, format):
    url = reverse("exchange:chart", args=[study.slug])
    return client.post(url, {"chart": token, "format": format})


def render(chart, study, user, table=""):
    request = RequestFactory().get("/")
    request.user = user
    context = {"figure": chart, "study": study, "request": request, "table": table}
    return Template("{% load charts %}{% chart figure table=table %}").render(Context(context))


@pytest.mark.django_db
@pytest.mark.parametrize("format", ["svg", "png"])
def test_a_chart_comes_as_a_file_and_on_record(client_of, coder, study, format):
    token = sign(study.slug, coder)
    response = ask(client_of(coder), study, token, format)
    assert response.status_code == 200
    assert response["Content-Disposition"] == f'attachment; filename="{study.slug}-agreement.{format}"'
    assert response.content == SVG.encode() if format == "svg" else response.content.startswith(b"\x89PNG")
    event = AuditEvent.objects.get(action="chart.downloaded")
    assert event.details == {"format": format, "sha256": hashlib.sha256(response.content).hexdigest()}


@pytest.mark.django_db
def test_a_chart_of_somebody_else_or_made_up_is_refused(client_of, coder, owner, study):
    client = client_of(coder)
    for token, format in (
        (sign(study.slug, owner), "svg"),
        (sign("another", coder), "svg"),
        (sign(study.slug, coder), "exe"),
        (SVG, "svg"),
        ("", "png"),
    ):
        response = ask(client, study, token, format)
        assert response.status_code == 302
        assert "can no longer be downloaded" in client.get(response["Location"]).content.decode()
    assert not AuditEvent.objects.filter(action="chart.downloaded").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_a_page_has_the_chart_its_table_and_its_downloads(chart, coder, study):
    page = render(chart, study, coder)
    assert f'aria-labelledby="chart-{chart.key}-title chart-{chart.key}-desc"' in page
    assert f'id="chart-{chart.key}-title"' in page
    assert f'data-table="{chart.key}-table"' in page
    assert f'<details class="chart-table" id="{chart.key}-table">' in page
    assert re.findall(r'name="format" value="(\w+)"', page) == ["svg", "png"]
    own = render(chart, study, coder, table="own")
    assert 'data-table="own"' in own
    assert "<table" not in own


def test_without_a_study_a_chart_has_no_downloads():
    page = render(DOTS, None, AnonymousUser())
    assert "<svg" in page
    assert "<form" not in page


def test_a_chart_of_nothing_says_what_is_missing_and_where_to_get_it():
    missing = Missing("No <b>unit</b> was decided by two coders.", "/rounds/", "Make a round")
    page = render(RowChart("a", "A", [], missing=missing), None, AnonymousUser())
    assert "No &lt;b&gt;unit&lt;/b&gt; was decided by two coders." in page
    assert '<a href="/rounds/">Make a round</a>' in page
    assert "<svg" not in page
    assert "nothing to draw yet" in render(RowChart("a", "A", []), None, AnonymousUser())
