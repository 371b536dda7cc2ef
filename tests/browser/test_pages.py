"""Every page of the demo study, as its owner sees it: readable, reachable, and free of what axe-core can find."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Site, Visit, check_looks, find_violations, find_wide_tables

pytestmark = [pytest.mark.browser, pytest.mark.processes]

# By what they are about. `make test` looks at the first of each subject, `make test-ci` at all.
SUBJECTS = {
    "home and help": [
        "/",
        "/help/",
        "/help/api/",
    ],
    "people": [
        "/people/",
        "/account/",
    ],
    "models": [
        "/models/1/",
        "/models/",
        "/models/accounts/1/",
        "/models/accounts/1/grants/",
        "/models/addresses/",
    ],
    "a study": [
        "/p/demo/",
        "/studies/new/",
        "/p/demo/members/",
        "/p/demo/history/",
    ],
    "how it is done": [
        "/p/demo/method/",
        "/p/demo/phases/",
        "/p/demo/positionality/",
    ],
    "rounds": [
        "/p/demo/rounds/new/",
        "/p/demo/rounds/",
        "/p/demo/work/",
    ],
    "agreement": [
        "/p/trust/agreement/?family=themes",
        "/p/demo/agreement/",
        "/p/demo/agreement/?family=themes",
        "/p/demo/disagreements/",
        "/p/demo/adjudication/",
    ],
    "negotiation": [
        "/p/threads/negotiation/?coder=demo-jonas&outcome=move.contextualize&stage=all&openings=before",
        "/p/threads/negotiation/?coder=demo-amina",
        "/p/demo/negotiation/",
        "/p/demo/negotiation/turns/?figure=presence&key=move.balance",
        "/p/demo/interviews/1/negotiation/",
        "/p/threads/interviews/{thread}/negotiation/",
    ],
    "case sheets and pairs": [
        "/p/threads/interviews/{thread}/case-sheet/",
        "/p/threads/negotiation/pairs/",
        "/p/threads/negotiation/pairs/museum/",
    ],
    "stances": [
        "/p/threads/negotiation/stances/{stance}/next/",
        "/p/threads/negotiation/stances/",
        "/p/threads/negotiation/stances/new/",
    ],
    "scores": [
        "/p/threads/interviews/{thread}/scores/",
        "/p/threads/negotiation/scores/",
    ],
    "masked threads": [
        "/p/threads/interviews/{masked}/condition/",
        "/p/threads/interviews/{masked}/",
        "/p/threads/interviews/unmask/?every",
    ],
    "webhooks": [
        "/p/demo/webhooks/1/",
        "/p/demo/webhooks/",
    ],
    "interviews": [
        "/p/threads/interviews/",
        "/p/demo/interviews/",
    ],
    "imports": [
        "/p/threads/interviews/import/",
        "/p/demo/interviews/import/",
    ],
    "consent and redaction": [
        "/p/demo/interviews/redaction/",
        "/p/demo/interviews/consent/",
        "/p/demo/interviews/1/consent/",
    ],
    "the desk": [
        "/p/threads/interviews/{thread}/",
        "/p/demo/interviews/1/",
        "/p/demo/interviews/1/?show=uncoded",
    ],
    "around the desk": [
        "/p/demo/my-history/",
        "/p/demo/keys/",
        "/p/demo/keys/card/?definitions=1",
    ],
    "the codebook": [
        "/p/demo/codebook/",
        "/p/demo/codebook/import/",
        "/p/demo/codebook/v1/keys/",
        "/p/demo/codebook/v1..v1/effects/",
    ],
    "proposals": [
        "/p/demo/codebook/propose/?sentence=2",
        "/p/demo/codebook/proposals/",
    ],
    "re-review": [
        "/p/demo/anchors/",
        "/p/demo/re-review/",
    ],
    "batches": [
        "/p/demo/batches/",
        "/p/demo/batches/1/",
        "/p/demo/grants/",
        "/p/demo/batches/2/spend/",
        "/p/demo/batches/2/end/?how=abort",
    ],
    "attempts": [
        "/p/demo/batches/2/attempts/",
        "/p/demo/batches/1/attempts/",
        "/p/demo/batches/2/attempts/?end=answered",
        "/p/demo/batches/2/attempts/40/",
    ],
    "annotators": [
        "/p/demo/annotators/1/",
        "/p/demo/annotators/",
        "/p/trust/annotators/",
        "/p/demo/annotators/2/",
        "/p/demo/annotators/3/",
        "/p/demo/annotators/1/answers/",
    ],
    "machine readings": [
        "/p/demo/annotators/runs/1/",
        "/p/demo/annotators/runs/2/",
        "/p/demo/annotators/runs/3/",
        "/p/demo/annotators/runs/4/",
        "/p/demo/annotators/offline/",
        "/p/demo/annotators/launch/",
    ],
    "checks": [
        "/p/trust/evaluation/checks/8/",
        "/p/demo/evaluation/checks/3/",
        "/p/demo/annotators/1/checks/",
        "/p/demo/annotators/1/checks/launch/",
        "/p/trust/evaluation/checks/8/answers/?figure=same&code=theme.balance&scope=all",
        "/p/trust/evaluation/checks/8/answers/?figure=planted",
    ],
    "calibration": [
        "/p/trust/evaluation/calibration/?annotator=4",
        "/p/demo/evaluation/calibration/",
        "/p/trust/evaluation/calibration/sentences/?annotator=4&code=theme.balance&cell=fp",
        "/p/trust/evaluation/disagreements/?annotator=4",
        "/p/trust/evaluation/choose/?code=theme.balance",
    ],
    "what suggestions do": [
        "/p/trust/evaluation/influence/?annotator=4",
        "/p/trust/evaluation/rates/",
        "/p/trust/suggestions/withholding/",
        "/p/trust/suggestions/drafts/",
        "/p/trust/annotators/planted/",
        "/p/trust/evaluation/critic/",
        "/p/trust/evaluation/reversals/?annotator=4&code=theme.balance&verdict=reversed",
        "/p/trust/evaluation/spread/",
    ],
    "audits of suggestions": [
        "/p/trust/evaluation/audits/1/",
        "/p/trust/evaluation/audits/",
        "/p/trust/evaluation/audits/2/",
        "/p/demo/evaluation/audits/draw/",
        "/p/trust/evaluation/audits/1/items/?code=theme.balance&verdict=drawn",
        "/p/trust/evaluation/audits/1/items/1/",
        "/p/trust/evaluation/audits/2/items/10/",
    ],
    "second-order bias": [
        "/p/demo/sob/batches/2/",
        "/p/demo/sob/",
        "/p/demo/sob/batches/2/?counting=strict&targets=all",
        "/p/demo/sob/batches/2/map/",
        "/p/demo/sob/batches/2/model/",
        "/p/demo/sob/batches/2/target/?target=women",
        "/p/demo/sob/batches/2/files/",
    ],
    "statistics": [
        "/p/demo/sob/batches/2/statistics/",
        "/p/demo/sob/batches/2/sensitivity/",
        "/p/demo/sob/batches/2/values/",
        "/p/demo/sob/batches/2/compare/?with=published",
    ],
    "answers": [
        "/p/demo/sob/batches/2/responses/?task=acceptability&target=women",
        "/p/demo/sob/batches/2/texts/",
        "/p/demo/sob/batches/2/texts/1/",
    ],
    "starting an audit": [
        "/p/demo/sob/launch/",
        "/p/demo/sob/import/",
    ],
    "readings": [
        "/p/demo/sob/batches/2/readings/49/",
        "/p/demo/sob/batches/2/readings/",
        "/p/demo/sob/batches/2/readings/formatter/",
        "/p/demo/sob/batches/2/readings/49/history/",
    ],
    "audits of readings": [
        "/p/demo/sob/batches/2/audits/1/1/",
        "/p/demo/sob/batches/2/audits/",
        "/p/demo/sob/batches/2/audits/new/",
        "/p/demo/sob/batches/2/audits/1/",
        "/p/demo/sob/batches/2/audits/2/",
        "/p/demo/sob/batches/2/audits/2/6/",
    ],
    "datasets": [
        "/p/demo/sob/datasets/1/",
        "/p/demo/sob/datasets/",
        "/p/demo/sob/datasets/load/",
        "/p/demo/sob/datasets/combine/?sets=1&sets=2",
        "/p/demo/sob/datasets/1/sample/",
        "/p/demo/sob/datasets/1/targets/",
        "/p/demo/sob/datasets/1/record/",
    ],
    "targets, mappings and wordings": [
        "/p/demo/sob/mappings/1/",
        "/p/demo/sob/targets/",
        "/p/demo/sob/targets/new/?dataset=1",
        "/p/demo/sob/targets/1/",
        "/p/demo/sob/mappings/",
        "/p/demo/sob/mappings/new/",
        "/p/demo/sob/wordings/",
        "/p/demo/sob/wordings/new/",
        "/p/demo/sob/wordings/paper/",
        "/p/demo/sob/wordings/base/",
        "/p/demo/sob/wordings/two-names/",
    ],
    "search": [
        "/p/demo/search/?words=family",
        "/p/demo/search/",
        "/p/demo/search/?state=uncoded&coder=demo-coder",
    ],
    "counts of codings": [
        "/p/demo/codings/turns/1/?coder=demo-coder&beside=me",
        "/p/demo/codings/turns/",
        "/p/demo/codings/models/?coder=demo-coder",
        "/p/demo/codings/interviews/?coder=demo-coder",
        "/p/demo/codings/together/?coder=demo-coder&together=turn",
    ],
    "exports": [
        "/p/demo/exports/",
        "/p/demo/exports/import/",
        "/p/demo/exports/methods/",
    ],
    "themes": [
        "/p/demo/themes/",
        "/p/demo/themes/new/",
        "/p/demo/themes/group/",
        "/p/demo/themes/merge/",
        "/p/demo/themes/evidence/?code=theme.balance",
        "/p/demo/themes/presence/",
        "/p/trust/themes/presence/?rows=codes&coder=all",
        "/p/demo/themes/presence/?rows=codes&columns=interviews",
    ],
    "memos": [
        "/p/demo/memos/",
        "/p/demo/memos/new/?sentence=2",
    ],
}
PAGES = [path for paths in SUBJECTS.values() for path in paths]
FIRST = [paths[0] for paths in SUBJECTS.values()]
# Rooms whose pages are all looked at with something on them.
FULL = ("/annotators/", "/evaluation/", "/suggestions/", "/sob/")


@pytest.mark.parametrize(
    "path", [path if path in FIRST else pytest.param(path, marks=pytest.mark.full) for path in PAGES]
)
def test_a_page_is_accessible_in_light_and_dark_and_fits_a_narrow_window(site: Site, visit: Visit, path: str) -> None:
    page = visit.open(path.format(**site.threads))
    check_looks(page)
    # The codes by interview are as wide as a study has interviews.
    assert "columns=interviews" in path or find_wide_tables(page) == []
    assert page.title()
    if any(room in path for room in FULL):
        assert page.locator("main .empty").count() == 0
    assert visit.complaints == []


@pytest.mark.full
@pytest.mark.parametrize("path", PAGES)
def test_a_page_loaded_in_the_dark_and_in_a_narrow_window_is_accessible(site: Site, visit: Visit, path: str) -> None:
    """By every rule and everywhere, where the test above asks of a page that was loaded otherwise, at one place of each kind."""
    page = visit.open(path.format(**site.threads), "dark", 320)
    assert find_violations(page, everywhere=True) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert visit.complaints == []


@pytest.mark.parametrize(
    ("path", "ticks"),
    [
        ("/p/trust/annotators/launch/", ["Themes"]),
        ("/p/trust/annotators/4/checks/launch/", ["Themes"]),
        ("/p/trust/evaluation/critic/", ["Test suggestions again that this model has already tested"]),
        ("/p/demo/sob/launch/", ["fake B (invented)", "I know that the instrument"]),
    ],
)
def test_the_review_of_a_launch_is_accessible_in_light_and_dark_and_fits_a_narrow_window(
    visit: Visit, path: str, ticks: list[str]
) -> None:
    page = visit.open(path)
    for words in ticks:
        page.get_by_label(words).first.check()
    page.get_by_role("button", name="Review").click()
    assert page.locator("ol.steps [aria-current=step]").inner_text() == "Review"
    check_looks(page)
    assert visit.complaints == []


def test_a_number_opens_down_to_the_answer_and_the_paid_call(visit: Visit) -> None:
    page = visit.open("/p/demo/sob/", "light", 1280)
    page.locator("table.heat tbody:not(.published) td a").first.click()
    assert "answers" in page.locator("header.page-head").inner_text()
    masked = page.locator("details.masked").first
    assert not masked.locator("p").is_visible()
    masked.locator("summary").click()
    assert masked.locator("p").is_visible()
    page.get_by_role("link", name="Attempt").first.click()
    assert page.locator("h1").inner_text().startswith("Attempt")
    assert "fake" in page.locator("main").inner_text()
