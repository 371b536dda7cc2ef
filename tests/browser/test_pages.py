"""Every page of the demo study, as its owner sees it: readable, reachable, and free of what axe-core can find."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Site, Visit, check_looks, find_violations, find_wide_tables

pytestmark = [pytest.mark.browser, pytest.mark.processes]

PAGES = [
    "/",
    "/help/",
    "/help/api/",
    "/help/api/codings/",
    "/account/",
    "/people/",
    "/models/",
    "/models/1/",
    "/models/accounts/1/",
    "/models/accounts/1/grants/",
    "/models/addresses/",
    "/studies/new/",
    "/p/demo/",
    "/p/demo/members/",
    "/p/demo/method/",
    "/p/demo/rounds/",
    "/p/demo/rounds/new/",
    "/p/demo/work/",
    "/p/demo/disagreements/",
    "/p/demo/agreement/",
    "/p/trust/agreement/?family=themes",
    "/p/trust/themes/presence/?rows=codes&coder=all",
    "/p/demo/adjudication/",
    "/p/demo/negotiation/",
    "/p/demo/negotiation/turns/?figure=presence&key=move.balance",
    "/p/demo/interviews/1/negotiation/",
    "/p/threads/interviews/",
    "/p/threads/interviews/import/",
    "/p/threads/interviews/{thread}/",
    "/p/threads/interviews/{thread}/negotiation/",
    "/p/threads/interviews/{thread}/scores/",
    "/p/threads/interviews/{thread}/case-sheet/",
    "/p/threads/interviews/{masked}/",
    "/p/threads/interviews/{masked}/condition/",
    "/p/threads/interviews/unmask/?every",
    "/p/threads/negotiation/?coder=demo-amina",
    "/p/threads/negotiation/?coder=demo-jonas&outcome=move.contextualize&stage=all&openings=before",
    "/p/threads/negotiation/pairs/",
    "/p/threads/negotiation/pairs/museum/",
    "/p/threads/negotiation/stances/",
    "/p/threads/negotiation/stances/new/",
    "/p/threads/negotiation/stances/{stance}/next/",
    "/p/threads/negotiation/scores/",
    "/p/demo/history/",
    "/p/demo/webhooks/",
    "/p/demo/webhooks/1/",
    "/p/demo/interviews/",
    "/p/demo/interviews/import/",
    "/p/demo/interviews/consent/",
    "/p/demo/interviews/redaction/",
    "/p/demo/interviews/1/consent/",
    "/p/demo/interviews/1/",
    "/p/demo/interviews/1/breaks/",
    "/p/demo/my-history/",
    "/p/demo/keys/",
    "/p/demo/keys/card/?definitions=1",
    "/p/demo/codebook/",
    "/p/demo/codebook/import/",
    "/p/demo/codebook/proposals/",
    "/p/demo/codebook/propose/?sentence=2",
    "/p/demo/codebook/v1/keys/",
    "/p/demo/codebook/v1..v1/effects/",
    "/p/demo/re-review/",
    "/p/demo/anchors/",
    "/p/demo/batches/",
    "/p/demo/grants/",
    "/p/demo/batches/2/attempts/",
    "/p/demo/batches/2/attempts/40/",
    "/p/demo/batches/2/spend/",
    "/p/demo/batches/2/end/?how=abort",
    "/p/demo/preannotation/launch/",
    "/p/demo/preannotation/annotators/",
    "/p/demo/preannotation/annotators/1/",
    "/p/demo/preannotation/offline/",
    "/p/demo/preannotation/runs/1/",
    "/p/demo/preannotation/runs/4/",
    "/p/demo/preannotation/annotators/1/answers/",
    "/p/demo/preannotation/annotators/1/checks/",
    "/p/demo/preannotation/annotators/1/checks/launch/",
    "/p/trust/preannotation/checks/8/answers/?figure=same&code=theme.balance&scope=all",
    "/p/demo/preannotation/audits/draw/",
    "/p/trust/preannotation/checks/8/",
    "/p/trust/preannotation/calibration/?annotator=4",
    "/p/trust/preannotation/calibration/sentences/?annotator=4&code=theme.balance&cell=fp",
    "/p/trust/preannotation/disagreements/?annotator=4",
    "/p/trust/preannotation/choose/?code=theme.balance",
    "/p/trust/preannotation/rates/",
    "/p/trust/preannotation/influence/?annotator=4",
    "/p/trust/preannotation/withholding/",
    "/p/trust/preannotation/drafts/",
    "/p/trust/preannotation/planted/",
    "/p/trust/preannotation/critic/",
    "/p/trust/preannotation/reversals/?annotator=4&code=theme.balance&verdict=reversed",
    "/p/trust/preannotation/spread/",
    "/p/trust/preannotation/audits/",
    "/p/trust/preannotation/audits/1/",
    "/p/trust/preannotation/audits/1/items/?code=theme.balance&verdict=drawn",
    "/p/trust/preannotation/audits/1/items/1/",
    "/p/demo/sob/",
    "/p/demo/sob/batches/2/",
    "/p/demo/sob/batches/2/responses/?task=acceptability&target=women",
    "/p/demo/sob/batches/2/statistics/",
    "/p/demo/sob/batches/2/sensitivity/",
    "/p/demo/sob/batches/2/values/",
    "/p/demo/sob/batches/2/map/",
    "/p/demo/sob/batches/2/files/",
    "/p/demo/sob/batches/2/model/",
    "/p/demo/sob/batches/2/target/?target=women",
    "/p/demo/sob/batches/2/texts/",
    "/p/demo/sob/batches/2/texts/1/",
    "/p/demo/sob/batches/2/compare/?with=published",
    "/p/demo/sob/datasets/load/",
    "/p/demo/sob/import/",
    "/p/demo/sob/launch/",
    "/p/demo/sob/batches/2/readings/",
    "/p/demo/sob/batches/2/readings/formatter/",
    "/p/demo/sob/batches/2/readings/49/",
    "/p/demo/sob/batches/2/readings/49/history/",
    "/p/demo/sob/batches/2/audits/",
    "/p/demo/sob/batches/2/audits/new/",
    "/p/demo/sob/batches/2/audits/1/",
    "/p/demo/sob/batches/2/audits/1/1/",
    "/p/demo/sob/datasets/",
    "/p/demo/sob/datasets/combine/?sets=1&sets=2",
    "/p/demo/sob/datasets/1/",
    "/p/demo/sob/datasets/1/sample/",
    "/p/demo/sob/datasets/1/targets/",
    "/p/demo/sob/datasets/1/record/",
    "/p/demo/sob/targets/",
    "/p/demo/sob/targets/new/?dataset=1",
    "/p/demo/sob/targets/1/",
    "/p/demo/sob/mappings/",
    "/p/demo/sob/mappings/new/",
    "/p/demo/sob/mappings/1/",
    "/p/demo/sob/wordings/",
    "/p/demo/sob/wordings/new/",
    "/p/demo/sob/wordings/paper/",
    "/p/demo/search/?words=family",
    "/p/demo/codings/interviews/?coder=demo-coder",
    "/p/demo/codings/together/?coder=demo-coder&together=turn",
    "/p/demo/codings/turns/",
    "/p/demo/codings/turns/1/?coder=demo-coder&beside=me",
    "/p/demo/exports/",
    "/p/demo/exports/import/",
    "/p/demo/exports/methods/",
    "/p/demo/themes/",
    "/p/demo/themes/new/",
    "/p/demo/themes/group/",
    "/p/demo/themes/merge/",
    "/p/demo/themes/evidence/?code=theme.balance",
    "/p/demo/phases/",
    "/p/demo/positionality/",
    "/p/demo/memos/",
    "/p/demo/memos/new/?sentence=2",
]
# What one of the pages above also shows, with other figures: looked at in `make test-all`.
LIKE_ANOTHER = [
    "/p/demo/preannotation/checks/3/",
    "/p/demo/themes/presence/",
    "/p/demo/search/",
    "/p/demo/agreement/?family=themes",
    "/p/demo/interviews/1/?show=uncoded",
    "/p/demo/batches/1/",
    "/p/demo/batches/1/attempts/",
    "/p/demo/batches/2/attempts/?end=answered",
    "/p/demo/preannotation/annotators/2/",
    "/p/demo/preannotation/annotators/3/",
    "/p/demo/preannotation/runs/2/",
    "/p/demo/preannotation/runs/3/",
    "/p/demo/preannotation/calibration/",
    "/p/trust/preannotation/annotators/",
    "/p/trust/preannotation/checks/8/answers/?figure=planted",
    "/p/trust/preannotation/audits/2/",
    "/p/trust/preannotation/audits/2/items/10/",
    "/p/demo/sob/batches/2/?counting=strict&targets=all",
    "/p/demo/sob/batches/2/audits/2/",
    "/p/demo/sob/batches/2/audits/2/6/",
    "/p/demo/sob/wordings/base/",
    "/p/demo/sob/wordings/two-names/",
    "/p/demo/search/?state=uncoded&coder=demo-coder",
    "/p/demo/codings/models/?coder=demo-coder",
    "/p/demo/themes/presence/?rows=codes&columns=interviews",
]
# Rooms whose pages are all looked at with something on them.
FULL = ("/preannotation/", "/sob/")


@pytest.mark.parametrize("path", [*PAGES, *(pytest.param(path, marks=pytest.mark.full) for path in LIKE_ANOTHER)])
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
@pytest.mark.parametrize("path", [*PAGES, *LIKE_ANOTHER])
def test_a_page_loaded_in_the_dark_and_in_a_narrow_window_is_accessible(site: Site, visit: Visit, path: str) -> None:
    """By every rule and everywhere, where the test above asks of a page that was loaded otherwise, at one place of each kind."""
    page = visit.open(path.format(**site.threads), "dark", 320)
    assert find_violations(page, everywhere=True) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert visit.complaints == []


@pytest.mark.parametrize(
    ("path", "ticks"),
    [
        ("/p/trust/preannotation/launch/", ["Themes"]),
        ("/p/trust/preannotation/annotators/4/checks/launch/", ["Themes"]),
        ("/p/trust/preannotation/critic/", ["Test suggestions again that this model has already tested"]),
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
