"""The bar above every page of a study."""

from __future__ import annotations

import pytest
from django.urls import get_resolver, resolve

from transcripts.projects.roles import CODER, OWNER
from transcripts.ui.navigation import SECTIONS, build_bar


def test_every_page_of_the_bar_is_there_and_in_a_room_of_its_section() -> None:
    bar_pages = [page for section in SECTIONS for page in section.pages]
    assert len(bar_pages) == len({page.route for page in bar_pages})
    for page in bar_pages:
        route = page.route
        room = route.partition(":")[0]
        found = build_bar("culture", view_name=route, permissions=OWNER.permissions - {page.unless})
        current = [link for link in [*found["sections"], *found["pages"]] if link["current"]]
        assert current, route
        assert resolve(current[-1]["address"]).view_name == route, route
        assert room in {"projects", *(name for section in SECTIONS for name in section.rooms)}


def test_pages_one_may_not_see_are_not_in_the_bar() -> None:
    names = {
        role.key: {
            link["name"]
            for section in SECTIONS
            for link in build_bar("culture", view_name=section.pages[0].route, permissions=role.permissions)["pages"]
        }
        for role in (OWNER, CODER)
    }
    assert {"Rounds", "Adjudication"} <= names["owner"]
    assert not {"Rounds", "Adjudication"} & names["coder"]
    # Who sees every coding goes there from the pages of annotators.
    assert "Influence" in names["coder"]
    assert "Influence" not in names["owner"]


def test_page_inside_a_room_opens_its_section() -> None:
    bar = build_bar("culture", view_name="coding:desk", permissions=CODER.permissions)
    assert [link["name"] for link in bar["sections"] if link["current"]] == ["Interviews"]
    assert [link["current"] for link in bar["sections"] if link["current"]] == ["true"]


@pytest.mark.parametrize(
    ("room", "name"), [("batches", "Batches"), ("preannotation", "Annotators"), ("sob", "Second-order bias")]
)
def test_every_page_of_a_machine_room_stands_under_one_page_of_the_bar(room: str, name: str) -> None:
    routes = [str(route) for route in get_resolver().namespace_dict[room][1].reverse_dict if isinstance(route, str)]
    assert len(routes) > 10
    for route in routes:
        bar = build_bar("culture", view_name=f"{room}:{route}", permissions=OWNER.permissions)
        assert [link["name"] for link in bar["pages"] if link["current"]] == [name], route
        assert [link["name"] for link in bar["sections"] if link["current"]] == ["Models & batches"], route


def test_a_coder_finds_pages_of_annotators_under_influence() -> None:
    bar = build_bar("culture", view_name="preannotation:run", permissions=CODER.permissions)
    assert [(link["name"], link["current"]) for link in bar["pages"] if link["current"]] == [("Influence", "true")]
