"""Help: the documents of ``docs/``, reached from the pages that they explain."""

import re
from urllib.parse import urljoin, urlsplit

import lxml.html
import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.test.utils import override_script_prefix
from django.urls import reverse

from auditapp.site.guides import DOCUMENTS, find_address, list_guides, make_anchor, read_size, render_guide
from auditapp.site.pages import MOVED
from tests.support.instance import ROOT
from tests.support.whole_study import ADDRESSES
from transcripts.ui.navigation import DESTINATIONS, GUIDES, Group, find_help

pytestmark = pytest.mark.django_db
GUIDE_FILES = sorted((DOCUMENTS / "guide").glob("*.md"))
LONGEST_LINE = 400


def find_page(place):
    return reverse("help_page", args=[place]) if place else reverse("help")


def open_pages():
    """The main part of every page of help, by its address."""
    client = Client()
    pages = {address: client.get(address) for address in map(find_page, list_guides())}
    assert {address for address, page in pages.items() if page.status_code != 200} == set()
    return {address: lxml.html.fromstring(page.content.decode()).find(".//main") for address, page in pages.items()}


def test_every_document_is_reached_from_the_list_and_every_link_leads_to_a_page_a_part_or_a_file():
    pages = open_pages()
    assert len(pages) > 60
    led_to, broken = {reverse("help")}, list[str]()
    for address, page in pages.items():
        for link in page.xpath(".//@href | .//@src"):
            if re.match(r"(https?|mailto):", link):
                continue
            path, part = urljoin(address, urlsplit(link).path), urlsplit(link).fragment
            if path in pages:
                led_to |= {path} - {address}
                whole = not part or pages[path].xpath("boolean(.//*[@id=$part])", part=part)
            else:
                whole = path == reverse("api_reference") or bool(finders.find(path.removeprefix("/static/")))
            broken += [] if whole else [f"{address}: {link}"]
    assert broken == []
    assert set(pages) - led_to == set()


def test_no_page_has_a_style_of_its_own_or_an_anchor_twice():
    for address, page in open_pages().items():
        anchors = page.xpath(".//@id")
        assert not page.xpath(".//@style"), address
        assert sorted(anchors) == sorted(set(anchors)), address


def test_a_document_shows_its_table_its_picture_and_its_code():
    page = open_pages()["/help/guide/experiments/"]
    [picture] = page.xpath(".//img")
    width, height = read_size((DOCUMENTS / "images" / "experiment.webp").read_bytes())
    assert picture.get("src") == "/static/docs/images/experiment.webp"
    assert (picture.get("width"), picture.get("height")) == (str(width), str(height))
    [table] = page.xpath(".//div[@role='region' and @aria-label='A plan']/table")
    assert table.xpath("string(.//th)") == "key"
    for file in (DOCUMENTS / "examples").glob("experiment-*"):
        assert file.read_text(encoding="utf-8") in [each.text for each in page.xpath(".//pre/code")]
        assert page.xpath("boolean(.//a[@href=$address])", address=f"/static/docs/examples/{file.name}")


def test_the_place_of_the_site_is_part_of_every_address():
    assert 'href="/help/guide/desk/"' in str(render_guide("")["text"])
    with override_script_prefix("/auditapp/"):
        below = str(render_guide("")["text"])
    assert 'href="/auditapp/help/guide/desk/"' in below
    assert 'href="/help/guide/desk/"' not in below


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("#keys", "#keys"),
        ("https://example.org/a.md", "https://example.org/a.md"),
        ("themes.md", "/help/guide/themes/"),
        ("../reference/formats.md#codebook", "/help/reference/formats/#codebook"),
        ("../README.md", "/help/"),
        ("../adr/README.md", "/help/adr/"),
        ("../images/desk.webp", "/static/docs/images/desk.webp"),
    ],
)
def test_a_link_of_a_document_leads_to_the_page_of_that_document(link, address):
    assert find_address("guide/desk.md", link) == address


def test_anchors_are_those_that_forges_make():
    assert make_anchor("Studies of other programs (REFI-QDA)") == "studies-of-other-programs-refi-qda"
    assert make_anchor("The paper's 2,457 texts, from & to") == "the-papers-2457-texts-from--to"


def test_a_document_is_no_page_of_its_own_file_nor_of_one_outside(client):
    for place in ("guide/desk.md", "../README", "guide", "guide/make-coffee", "README"):
        assert client.get(f"/help/{place}/").status_code == 404, place


@pytest.mark.parametrize("old", MOVED)
def test_addresses_of_help_before_lead_on(client, old):
    answer = client.get(f"/help/{old}/")
    assert answer.status_code == 301
    assert client.get(answer["Location"]).status_code == 200


def test_help_above_a_page_leads_to_its_guide():
    assert find_help("desk:desk") == "/help/guide/desk/"
    assert find_help("sob:dashboard") == "/help/guide/second-order-bias/#read-the-heat-map"
    assert find_help("sob:launch") == "/help/guide/second-order-bias/"
    assert find_help("studies:home") == "/help/"


def test_the_guides_above_pages_and_the_pages_below_guides_exist():
    pages = open_pages()
    rooms = {name.partition(":")[0] + ":" for name in ADDRESSES}
    for guide, routes in GUIDES.items():
        place, _, part = guide.partition("#")
        page = pages[find_page(place)]
        assert not part or page.xpath("boolean(.//*[@id=$part])", part=part), guide
        assert set(routes) <= set(ADDRESSES) | rooms, guide


def test_places_in_the_program_are_said_by_the_names_of_the_bar():
    bar = {
        destination.name: {
            entry.name: {page.name for page in entry.pages} if isinstance(entry, Group) else set()
            for entry in destination.entries
        }
        for destination in DESTINATIONS
    }
    # "*Team*, *Rounds*" or "*Team, Rounds*"; what follows the name of a page is a button of it.
    said = [
        (file.name, *run.replace("*", "").strip(".").split(", "), "")
        for file in GUIDE_FILES
        for run in re.findall(r"\*[A-Z][^*\n]+\*(?:, \*[^*\n]+\*)*", file.read_text(encoding="utf-8"))
    ]
    places = [place for place in said if place[1] in bar and len(place) > 3]
    assert len(places) > 15
    wrong = []
    for file, destination, entry, page, *_ in places:
        pages = bar[destination].get(entry)
        if pages is None or (pages and page and page not in pages):
            wrong.append(f"{file}: {destination}, {entry}, {page}")
    assert wrong == []


def test_the_guides_have_no_line_that_nobody_can_review():
    long = [
        f"{file.name}:{number}"
        for file in GUIDE_FILES
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    assert long == []


def test_every_picture_is_shown_somewhere_small_and_described():
    pages = [ROOT / "README.md", *DOCUMENTS.rglob("*.md")]
    words = "".join(page.read_text(encoding="utf-8") for page in pages)
    for file in (DOCUMENTS / "images").iterdir():
        assert f"images/{file.name})" in words, file.name
        assert file.stat().st_size < 110_000, file.name
    assert all(len(said) > 30 for said in re.findall(r"!\[([^\]]*)\]\([^)]*images/", words))
