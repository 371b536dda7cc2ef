"""Every page of a study lies three clicks from its overview, under at most two rows of navigation."""

from collections import Counter
from urllib.parse import urljoin, urlsplit

import lxml.html
import pytest
from django.urls import Resolver404, resolve, reverse

from tests.conftest import make_member
from tests.support.whole_study import set_stage
from tests.test_access_matrix import OF_A_STUDY
from transcripts.studies.roles import ROLES

CLICKS = 3
# Of the pages of one kind, such as those of all codes, a few lead on.
OF_A_KIND = 2
# Steps of a task that begins on such a page: one click more.
STEPS = {
    *("codebook:retire_code", "codebook:split_code", "evaluation:launch_check"),
    *("themes:edit", "themes:evidence", "themes:history", "themes:quote"),
    *("search:score_sheet", "annotators:run", "sob:mark", "sob:interpretation_history"),
    *("negotiation:new_stance", "negotiation:next_stance", "negotiation:pair", "negotiation:thread_scores"),
    "gender_cues:rationales",
    *("scenarios:new_script", "scenarios:next_script"),
    *("sob:audit_new", "sob:describe", "sob:format_launch", "sob:retarget", "sob:sample"),
}
# The form that leads there, or what the page is about, is not on the stage; their own tests open them.
NOT_ON_STAGE = {
    *(
        "agreement:units",
        "batches:end",
        "batches:end_job",
        "codebook:choose_comparison",
        "revision:near",
        "revision:re_review",
    ),
    *(
        "evaluation:audit_items",
        "evaluation:calibration_cell",
        "evaluation:check_answers",
        "evaluation:mark",
    ),
    *("annotators:turn_answers", "sob:combine", "sob:read_answer"),
    *("codebook:pin", "themes:merge", "themes:quote", "themes:split"),
    "negotiation:behind",
    # Closed to those who may code it and did not hold it, and a part of it.
    *("scenarios:session", "scenarios:talk"),
    # Led to where a thread is masked.
    *("blinding:condition", "blinding:unmask"),
}


def find_links(path, page):
    """Where a page leads, how many rows of navigation it has, and whether it says where it lies."""
    tree = lxml.html.fromstring(page.decode())
    links = [urljoin(path, str(each.get("href"))) for each in tree.iterfind(".//a[@href]")]
    rows = [each for each in tree.iter("nav") if str(each.get("class")).endswith("nav")]
    # The desk names its interview, and leaves the second row out.
    signs = (".//*[@class='crumbs']", ".//nav//a[@aria-current='page']", ".//*[@class='deskbar']/h1")
    where = [sign for sign in signs if tree.find(sign) is not None]
    return (
        [urlsplit(link).path + ("?" + query if (query := urlsplit(link).query) else "") for link in links],
        len(rows),
        bool(where),
    )


# The owner sees all that a lead sees.
@pytest.mark.parametrize("key", [*(pytest.param(key, marks=pytest.mark.full) for key in ("owner", "lead")), "coder"])
@pytest.mark.django_db
def test_every_page_is_three_clicks_from_the_overview(study, owner, client_of, key):
    stage = set_stage(study, owner, make_member(study, owner, "reader", "somebody else"))
    person = owner if key == "owner" else make_member(study, owner, key, f"the {key}")
    client = client_of(person)
    home = reverse("studies:home", args=[study.slug])
    found = {}
    seen, fetched, problems = {home}, Counter[str](), list[str]()
    level = [home]
    for clicks in range(CLICKS + 2):
        following = []
        for path in level:
            try:
                name = resolve(urlsplit(path).path).view_name
            except Resolver404:
                continue
            if name not in OF_A_STUDY or fetched[name] >= OF_A_KIND:
                continue
            fetched[name] += 1
            answer = client.get(path)
            if answer.status_code != 200 or "html" not in answer["Content-Type"]:
                continue
            found.setdefault(name, clicks)
            links, rows, says_where = find_links(path, answer.content)
            if rows > 2:
                problems.append(f"{path} has {rows} rows of navigation")
            if not says_where:
                problems.append(f"{path} does not say where it lies")
            following += [link for link in links if link not in seen]
            seen.update(links)
        level = following
    permissions = ROLES[key].permissions
    missing = set()
    for name, row in OF_A_STUDY.items():
        if row.get("GET") in permissions and not name.endswith("_csv") and name not in found:
            answer = client.get(stage.path(name))
            if answer.status_code == 200 and b"<!doctype html>" in answer.content[:100]:
                missing.add(name)
    far = {name for name, clicks in found.items() if clicks > CLICKS}
    assert " ".join(sorted(missing - NOT_ON_STAGE)) == ""
    assert " ".join(sorted(far - STEPS)) == ""
    assert "\n".join(problems) == ""
