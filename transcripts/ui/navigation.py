"""The pages of a study in the order of the work: what the bar above every page shows.

Rooms are named by their routes, so that this room knows none of them; a route that is not there is left out.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from django.urls import NoReverseMatch, reverse


class Page(NamedTuple):
    """A page of a study that the bar leads to. ``permission`` is what one needs to see it, "" for any member.

    People with ``unless`` get there from another page, so the bar leaves it out. Every page of the namespace ``within``
    that has no entry of its own in the bar belongs to this one.
    """

    name: str
    route: str
    permission: str = ""
    unless: str = ""
    within: str = ""


class Section(NamedTuple):
    """Pages that belong together, under the name of the first of them that one may see. ``rooms`` are its namespaces."""

    name: str
    rooms: frozenset[str]
    pages: tuple[Page, ...]


SECTIONS = (
    Section(
        "Interviews",
        frozenset({"corpus", "coding", "retrieval", "memos"}),
        (
            Page("Interviews", "corpus:interviews"),
            Page("Consent", "corpus:consent"),
            Page("Redaction", "corpus:redaction", "set_method"),
            Page("Search", "retrieval:search"),
            Page("Codes by interview", "retrieval:by_interview"),
            Page("Codes by model", "retrieval:by_model"),
            Page("Answers by code", "retrieval:by_answer"),
            Page("Codes together", "retrieval:cooccurrence"),
            Page("Score sheets", "retrieval:score_sheets"),
            Page("Memos", "memos:list"),
        ),
    ),
    Section(
        "Codebook",
        frozenset({"codebook", "revision"}),
        (
            Page("Codebook", "codebook:current"),
            Page("Proposals", "codebook:proposals"),
            Page("Re-review", "revision:queue", "code"),
            Page("Anchors and drift", "revision:anchors", "code"),
        ),
    ),
    Section(
        "Team",
        frozenset({"rounds", "agreement"}),
        (
            Page("Your work", "rounds:work", "code"),
            Page("Rounds", "rounds:list", "assign"),
            Page("Agreement", "agreement:table", "see_all_codings"),
            Page("Disagreements", "agreement:disagreements"),
            Page("Adjudication", "agreement:queue", "see_all_codings"),
            Page("Method", "projects:method"),
            Page("Members", "projects:members"),
        ),
    ),
    Section(
        "Themes",
        frozenset({"themes"}),
        (
            Page("Themes", "themes:themes"),
            Page("Presence", "themes:presence"),
            Page("Six phases", "themes:phases"),
            Page("Positionality", "themes:positionality"),
        ),
    ),
    Section(
        "Models & batches",
        frozenset({"batches", "preannotation", "sob", "llm"}),
        (
            Page("Batches", "batches:list", within="batches"),
            Page("Annotators", "preannotation:annotators", "see_all_codings", within="preannotation"),
            Page("Influence", "preannotation:influence", unless="see_all_codings", within="preannotation"),
            Page("Second-order bias", "sob:dashboard", within="sob"),
            Page("Judges", "llm:judges"),
        ),
    ),
    Section(
        "Exports",
        frozenset({"exchange"}),
        (
            Page("Exports", "exchange:exports"),
            Page("Methods paragraph", "exchange:methods", "see_all_codings"),
            Page("Import a project", "exchange:import", "import"),
        ),
    ),
)


def build_bar(slug: str, *, view_name: str, permissions: Container[str]) -> dict[str, list[dict[str, str]]]:
    """The bar of a study on the page of that route, for somebody with these permissions.

    These are its ``sections``, and the ``pages`` of the one that is open, each a link with ``name``, ``address`` and
    ``current``: "page", "true" for what is inside it, or "".
    """
    room = view_name.partition(":")[0]
    sections: list[dict[str, str]] = []
    open_pages: list[dict[str, str]] = []
    for section in SECTIONS:
        found = [(page, _find_address(page.route, slug)) for page in section.pages if _may(page, permissions)]
        links = [
            {"name": page.name, "address": address, "current": _find_current(page, view_name)}
            for page, address in found
            if address
        ]
        if not links:
            continue
        is_page = any(link["current"] == "page" for link in links)
        is_open = is_page or room in section.rooms
        current = (links[0]["current"] or "true") if is_open else ""
        sections.append({"name": section.name, "address": links[0]["address"], "current": current})
        if is_open and len(links) > 1:
            open_pages = links
    return {"sections": sections, "pages": open_pages}


def _find_current(page: Page, view_name: str) -> str:
    if page.route == view_name:
        return "page"
    return "true" if page.within and view_name.partition(":")[0] == page.within else ""


def _may(page: Page, permissions: Container[str]) -> bool:
    return (not page.permission or page.permission in permissions) and page.unless not in permissions


def _find_address(route: str, slug: str) -> str:
    try:
        return reverse(route, args=[slug])
    except NoReverseMatch:
        return ""
