"""The documentation site (``make docs``): the same documents as help, with a search, from no other site."""

import json
import subprocess
import sys

import lxml.html
import pytest

from auditapp.site.guides import list_guides, render_guide
from tests.support.instance import ROOT
from tools.docs_site import list_navigation

SHOWN = ("h1", "h2", "h3", "h4", "li", "th", "td", "pre", "code", "strong", "em", "a", "img")


def build(config, folder):
    """As the Makefile does, to a folder of its own."""
    command = ["-m", "properdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(folder)]
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT / "properdocs.yml", folder)
    assert built.returncode == 0, built.stderr
    return folder


def list_shown(part):
    """Kind, words and anchor of what a document is made of, in its order."""
    return [(each.tag, " ".join(each.text_content().split()), each.get("id")) for each in part.iter(*SHOWN)]


def test_the_site_shows_each_document_as_help_does(site):
    for place in list_guides():
        page = lxml.html.parse(str(site / place / "index.html")).getroot()
        [article] = page.xpath("//*[@itemprop='articleBody']")
        help_page = lxml.html.fragment_fromstring(str(render_guide(place)["text"]), create_parent="div")
        assert list_shown(article) == list_shown(help_page), place


def test_the_list_of_documents_is_the_navigation(site):
    home, *parts = list_navigation()
    assert home == {"Help": "README.md"}
    assert [name for part in parts for name in part][:2] == ["Code and review", "Run a study"]
    page = lxml.html.parse(str(site / "index.html")).getroot()
    menu = page.xpath("//nav//a[contains(@class, 'reference')]/@href")
    assert {"guide/desk/", "adr/0001-two-halves-one-database/"} <= {link.removeprefix("./") for link in menu}


def test_the_site_loads_nothing_from_elsewhere_and_can_be_searched(site):
    for file in site.rglob("*.html"):
        page = lxml.html.parse(str(file)).getroot()
        loaded = page.xpath("//script/@src | //img/@src | //iframe/@src | //link[@rel!='canonical']/@href")
        assert [address for address in loaded if "//" in address] == [], file
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert {"guide/desk/", "guide/exports/#formats"} <= {each["location"] for each in index["docs"]}


@pytest.mark.parametrize("link", ["nowhere.md", "desk.md#nowhere", "../../README.md"])
def test_a_link_that_leads_nowhere_fails(tmp_path, link):
    documents = tmp_path / "docs"
    (documents / "guide").mkdir(parents=True)
    (documents / "README.md").write_text(
        "# Help\n\n## Guides\n\n- [The desk](guide/desk.md): code.\n", encoding="utf-8"
    )
    (documents / "guide" / "desk.md").write_text(f"# The desk\n\n[Read on]({link}).\n", encoding="utf-8")
    config = (ROOT / "properdocs.yml").read_text(encoding="utf-8")
    for name in ("hooks:\n  - tools/docs_site.py\n", "docs_dir: docs\n"):
        assert name in config
        config = config.replace(name, "")
    (tmp_path / "properdocs.yml").write_text(config, encoding="utf-8")

    built = build(tmp_path / "properdocs.yml", tmp_path / "site")

    assert built.returncode == 1
    assert link.partition("#")[0] in built.stderr
    assert "strict mode" in built.stdout + built.stderr
