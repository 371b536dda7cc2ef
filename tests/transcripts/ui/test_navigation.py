"""The bar above every page of a study."""

import pytest
from django.urls import get_resolver, resolve

from tests.support.whole_study import ADDRESSES
from transcripts.studies.roles import CODER, LEAD, OWNER, READER
from transcripts.ui.navigation import DESTINATIONS, Group, build_bar

ROOMS = ("corpus", "desk", "codebook", "revision", "search", "themes", "notebook", "rounds", "agreement", "batches")
MACHINE_ROOMS = {
    **dict.fromkeys(("batches", "annotators", "suggestions", "evaluation", "llm"), "Models"),
    "sob": "Benchmark",
}


def list_pages(*, of_batch):
    for destination in DESTINATIONS:
        for entry in destination.batch if of_batch else destination.entries:
            for page in entry.pages if isinstance(entry, Group) else [entry]:
                yield destination.name, page


def find_current(bar):
    """What is marked in both rows, from the outside to the inside."""
    links = [*bar.destinations, *bar.pages, *(inner for link in bar.pages for inner in link.pages)]
    return [(link.name, link.current) for link in links if link.current]


def test_there_are_eight_destinations():
    bar = build_bar("culture", view_name="studies:home", permissions=OWNER.permissions)
    assert [link.name for link in bar.destinations] == [
        *("Overview", "Interviews", "Codebook", "Analysis", "Team", "Models", "Benchmark", "Export")
    ]
    assert bar.pages == ()


@pytest.mark.parametrize("role", [OWNER, LEAD, CODER, READER], ids=lambda role: str(role.key))
def test_no_row_is_longer_than_a_screen_of_1280_pixels(role):
    """About 7 pixels a letter and 14 around each name: the browser test looks at the pixels."""
    for of_batch in (False, True):
        for _, page in list_pages(of_batch=of_batch):
            bar = build_bar("culture", view_name=page.route, permissions=role.permissions, of={"batch_id": 1})
            names = [each.name for link in bar.pages for each in (link, *link.pages)]
            assert sum(7 * len(name) + 14 for name in names) < 1280, page.route


@pytest.mark.parametrize("of_batch", [False, True])
def test_every_page_of_the_bar_is_there_and_marked_when_it_is_open(of_batch):
    pages = list(list_pages(of_batch=of_batch))
    assert len(pages) == len({page.route for _, page in pages})
    for destination, page in pages:
        of = {"batch_id": 7} if of_batch else {}
        bar = build_bar("culture", view_name=page.route, permissions=OWNER.permissions, of=of)
        current = find_current(bar)
        assert current[0][0] == destination, page.route
        assert current[-1][1] == "page", page.route
        links = [*bar.destinations, *bar.pages, *(inner for link in bar.pages for inner in link.pages)]
        addresses = [link.address for link in links if link.current == "page"]
        assert {resolve(address).view_name for address in addresses} == {page.route}


def test_pages_one_may_not_see_are_not_in_the_bar():
    seen = {
        role.key: {
            name
            for _, page in list_pages(of_batch=False)
            for link in build_bar("culture", view_name=page.route, permissions=role.permissions).pages
            for name in (link.name, *(inner.name for inner in link.pages))
        }
        for role in (OWNER, CODER)
    }
    assert {"Rounds", "Adjudication", "Calibration", "Choice per code"} <= seen["owner"]
    assert not {"Rounds", "Adjudication", "Calibration", "Choice per code", "Annotators"} & seen["coder"]
    # One page of a group stands under the name of the group.
    assert "Influence" in seen["coder"]


def test_the_pages_of_the_open_group_stand_beside_its_name():
    bar = build_bar("culture", view_name="evaluation:calibration_cell", permissions=OWNER.permissions)
    assert find_current(bar) == [("Models", "true"), ("Calibration", "true"), ("Calibration", "true")]
    assert [link.name for link in bar.pages if link.pages] == ["Calibration"]


def test_a_page_of_a_batch_shows_the_pages_of_that_batch():
    bar = build_bar(
        "culture", view_name="sob:read_answer", permissions=CODER.permissions, of={"batch_id": 7, "cell_id": 9}
    )
    assert [link.name for link in bar.pages] == ["Scores", "Patterns", "Answers", "Quality", "Files"]
    assert find_current(bar) == [("Benchmark", "true"), ("Quality", "true"), ("Interpretations", "true")]
    assert "/batches/7/" in bar.pages[0].address


@pytest.mark.parametrize(("room", "name"), MACHINE_ROOMS.items())
@pytest.mark.parametrize("role", [OWNER, CODER], ids=lambda role: str(role.key))
def test_every_page_of_a_machine_room_lies_in_one_destination(room, name, role):
    routes = [str(route) for route in get_resolver().namespace_dict[room][1].reverse_dict if isinstance(route, str)]
    for route in routes:
        for of in ({}, {"batch_id": 1}):
            bar = build_bar("culture", view_name=f"{room}:{route}", permissions=role.permissions, of=of)
            assert [link.name for link in bar.destinations if link.current] == [name], route


def test_the_desk_lies_in_the_interviews():
    bar = build_bar("culture", view_name="desk:desk", permissions=CODER.permissions)
    assert find_current(bar) == [("Interviews", "true"), ("Interviews", "true")]


@pytest.mark.parametrize(
    ("route", "page"),
    [
        ("rounds:complete_several", "My work"),
        ("rounds:complete_assignment", "My work"),
        ("rounds:complete_interview", "My work"),
        ("agreement:adjudicate", "Adjudication"),
        ("revision:draw", "Anchors and drift"),
        ("themes:write_entry", "Six phases"),
        ("themes:write_statement", "Positionality"),
        ("negotiation:withdraw_pair", "Pairs"),
        ("negotiation:put_score", "Scores"),
        ("evaluation:sort_disagreement", "Disagreements"),
        ("evaluation:calibration_compute", "Calibration"),
        ("evaluation:rates_compute", "Rates"),
        ("suggestions:close_draft", "Drafts"),
        ("annotators:add_control_set", "Control sentences"),
        ("evaluation:draw_audit", "All audits"),
        ("batches:account_grants", "Grants"),
        ("scenarios:load_shipped", "Scenarios"),
    ],
)
def test_a_form_that_is_shown_again_stays_in_its_page(route, page):
    """What is wrong with a form is said at the address to which it was sent."""
    bar = build_bar("culture", view_name=route, permissions=OWNER.permissions)
    assert find_current(bar)[-1] == (page, "true")


def test_a_page_of_several_rooms_says_in_which_it_lies():
    bar = build_bar("culture", view_name="jobs:job", permissions=OWNER.permissions, lies_in="exchange:exports")
    assert find_current(bar) == [("Export", "true"), ("Export", "true")]
    assert find_current(build_bar("culture", view_name="jobs:job", permissions=OWNER.permissions))[0][0] == "Interviews"


def test_every_route_that_a_page_names_is_there():
    named = {
        route
        for of_batch in (False, True)
        for _, page in list_pages(of_batch=of_batch)
        for route in (page.route, *page.holds)
        if not route.endswith(":")
    }
    assert named <= ADDRESSES.keys()
