"""Every table that a page of the demo offers comes in every format that it offers, under its name, and on record."""

from urllib.parse import urljoin

import lxml.html
import pytest
from django.test import Client

from auditapp.demo.actions import load_demo
from tests.approved.copies import crawl
from transcripts.accounts.models import User
from transcripts.audit_trail.models import AuditEvent
from transcripts.studies.downloads import CONTENT_TYPES

PAGES = {
    "agreement.table": 1,
    "negotiation.study": 1,
    "evaluation.calibration": 1,
    "evaluation.rates": 1,
    "experiments.show": 1,
    "gender_cues.report": 4,
    "sob.files": 16,
}
"""How many tables each offers, by the name of its route."""


def list_buttons(address, page):
    """Where each button of a format sends its form, with what, and the format."""
    document = lxml.html.document_fromstring(page)
    for form in document.xpath("//main//form"):
        for button in form.iterfind(".//button"):
            format = (button.text or "").strip().lower().replace("latex", "tex")
            target = urljoin(address, button.get("formaction") or form.get("action") or "")
            if format in {"csv", "json", "parquet", "tex"}:
                fields = {
                    **dict(form.form_values()),
                    **({button.get("name"): button.get("value")} if button.get("name") else {}),
                }
                yield target, fields, format


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_every_table_that_is_offered_comes_in_every_format():
    load_demo()
    client = Client()
    client.force_login(User.objects.get(username="owner"))
    offered = {name: list(list_buttons(address, page)) for name, address, page in crawl("owner") if name in PAGES}
    assert {name: len([1 for *_, format in found if format == "csv"]) for name, found in offered.items()} == PAGES
    for name, found in offered.items():
        for target, fields, format in found:
            before = AuditEvent.objects.count()
            answer = client.post(target, fields)
            place = name, target, format
            assert answer.status_code == 200, place
            assert answer["Content-Type"] == CONTENT_TYPES[format], place
            assert answer["Content-Disposition"].rstrip('"').endswith(f".{format}"), place
            assert answer.content, place
            assert AuditEvent.objects.count() == before + 1, place
            if format == "tex":
                assert r"\begin{tabular}" in answer.content.decode(), place
