"""Every page of the demo study, as its owner sees it: readable, reachable, and free of what axe-core can find."""

import pytest

from tests.browser.conftest import check_looks, find_violations, find_wide_tables

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
        "/studies/demo/",
        "/new-study/",
        "/studies/demo/members/",
        "/studies/demo/history/",
    ],
    "how it is done": [
        "/studies/demo/method/",
        "/studies/demo/phases/",
        "/studies/demo/positionality/",
    ],
    "rounds": [
        "/studies/demo/rounds/new/",
        "/studies/demo/rounds/",
        "/studies/demo/my-work/",
    ],
    "agreement": [
        "/studies/trust/agreement/?family=themes",
        "/studies/demo/agreement/",
        "/studies/demo/agreement/?family=themes",
        "/studies/demo/disagreements/",
        "/studies/demo/adjudication/",
    ],
    "negotiation": [
        "/studies/threads/negotiation/?coder=demo-jonas&outcome=move.contextualize&stage=all&openings=before",
        "/studies/threads/negotiation/?coder=demo-amina",
        "/studies/demo/negotiation/",
        "/studies/demo/negotiation/turns/?figure=presence&key=move.balance",
        "/studies/demo/interviews/1/negotiation/",
        "/studies/threads/interviews/{thread}/negotiation/",
    ],
    "case sheets and pairs": [
        "/studies/threads/interviews/{thread}/case-sheet/",
        "/studies/threads/negotiation/pairs/",
        "/studies/threads/negotiation/pairs/museum/",
    ],
    "stances": [
        "/studies/threads/negotiation/stances/{stance}/next/",
        "/studies/threads/negotiation/stances/",
        "/studies/threads/negotiation/stances/new/",
    ],
    "scores": [
        "/studies/threads/interviews/{thread}/scores/",
        "/studies/threads/negotiation/scores/",
    ],
    "masked threads": [
        "/studies/threads/interviews/{masked}/condition/",
        "/studies/threads/interviews/{masked}/",
        "/studies/threads/interviews/unmask/?every",
    ],
    "webhooks": [
        "/studies/demo/webhooks/1/",
        "/studies/demo/webhooks/",
    ],
    "interviews": [
        "/studies/threads/interviews/",
        "/studies/demo/interviews/",
    ],
    "imports": [
        "/studies/threads/interviews/import/",
        "/studies/demo/interviews/import/",
    ],
    "consent and redaction": [
        "/studies/demo/interviews/redaction/",
        "/studies/demo/interviews/consent/",
        "/studies/demo/interviews/1/consent/",
    ],
    "the desk": [
        "/studies/threads/interviews/{thread}/",
        "/studies/demo/interviews/1/",
        "/studies/demo/interviews/1/?show=uncoded",
    ],
    "around the desk": [
        "/studies/demo/my-history/",
        "/studies/demo/shortcuts/",
        "/studies/demo/shortcuts/card/?definitions=1",
    ],
    "the codebook": [
        "/studies/demo/codebook/",
        "/studies/demo/codebook/import/",
        "/studies/demo/codebook/v1/keys/",
        "/studies/demo/codebook/v1..v1/effects/",
    ],
    "proposals": [
        "/studies/demo/codebook/propose/?sentence=2",
        "/studies/demo/codebook/proposals/",
    ],
    "re-review": [
        "/studies/demo/anchors/",
        "/studies/demo/re-review/",
    ],
    "batches": [
        "/studies/demo/batches/",
        "/studies/demo/batches/1/",
        "/studies/demo/grants/",
        "/studies/demo/batches/2/spend/",
        "/studies/demo/batches/2/end/?how=abort",
    ],
    "attempts": [
        "/studies/demo/batches/2/attempts/",
        "/studies/demo/batches/1/attempts/",
        "/studies/demo/batches/2/attempts/?end=answered",
        "/studies/demo/batches/2/attempts/40/",
    ],
    "annotators": [
        "/studies/demo/annotators/1/",
        "/studies/demo/annotators/",
        "/studies/trust/annotators/",
        "/studies/demo/annotators/2/",
        "/studies/demo/annotators/3/",
        "/studies/demo/annotators/1/answers/",
    ],
    "machine readings": [
        "/studies/demo/annotators/runs/1/",
        "/studies/demo/annotators/runs/2/",
        "/studies/demo/annotators/runs/3/",
        "/studies/demo/annotators/runs/4/",
        "/studies/demo/annotators/offline/",
        "/studies/demo/annotators/launch/",
    ],
    "checks": [
        "/studies/trust/evaluation/checks/8/",
        "/studies/demo/evaluation/checks/3/",
        "/studies/demo/annotators/1/checks/",
        "/studies/demo/annotators/1/checks/launch/",
        "/studies/trust/evaluation/checks/8/answers/?figure=same&code=theme.balance&scope=all",
        "/studies/trust/evaluation/checks/8/answers/?figure=controls",
    ],
    "calibration": [
        "/studies/trust/evaluation/calibration/?annotator=4",
        "/studies/demo/evaluation/calibration/",
        "/studies/trust/evaluation/calibration/sentences/?annotator=4&code=theme.balance&cell=fp",
        "/studies/trust/evaluation/disagreements/?annotator=4",
        "/studies/trust/evaluation/choose/?code=theme.balance",
    ],
    "what suggestions do": [
        "/studies/trust/evaluation/influence/?annotator=4",
        "/studies/trust/evaluation/rates/",
        "/studies/trust/suggestions/withholding/",
        "/studies/trust/suggestions/drafts/",
        "/studies/trust/annotators/control-sentences/",
        "/studies/trust/evaluation/critic/",
        "/studies/trust/evaluation/rejections/?annotator=4&code=theme.balance&verdict=rejected",
        "/studies/trust/evaluation/spread/",
    ],
    "audits of suggestions": [
        "/studies/trust/evaluation/audits/1/",
        "/studies/trust/evaluation/audits/",
        "/studies/trust/evaluation/audits/2/",
        "/studies/demo/evaluation/audits/draw/",
        "/studies/trust/evaluation/audits/1/items/?code=theme.balance&verdict=drawn",
        "/studies/trust/evaluation/audits/1/items/1/",
        "/studies/trust/evaluation/audits/2/items/10/",
    ],
    "second-order bias": [
        "/studies/demo/sob/batches/2/",
        "/studies/demo/sob/",
        "/studies/demo/sob/batches/2/?counting=strict&targets=all",
        "/studies/demo/sob/batches/2/map/",
        "/studies/demo/sob/batches/2/model/",
        "/studies/demo/sob/batches/2/target/?target=women",
        "/studies/demo/sob/batches/2/files/",
    ],
    "statistics": [
        "/studies/demo/sob/batches/2/statistics/",
        "/studies/demo/sob/batches/2/sensitivity/",
        "/studies/demo/sob/batches/2/values/",
        "/studies/demo/sob/batches/2/compare/?with=published",
    ],
    "answers": [
        "/studies/demo/sob/batches/2/responses/?task=acceptability&target=women",
        "/studies/demo/sob/batches/2/texts/",
        "/studies/demo/sob/batches/2/texts/1/",
    ],
    "starting an audit": [
        "/studies/demo/sob/launch/",
        "/studies/demo/sob/import/",
    ],
    "readings": [
        "/studies/demo/sob/batches/2/interpretations/49/",
        "/studies/demo/sob/batches/2/interpretations/",
        "/studies/demo/sob/batches/2/interpretations/formatter/",
        "/studies/demo/sob/batches/2/interpretations/49/history/",
    ],
    "audits of readings": [
        "/studies/demo/sob/batches/2/audits/1/1/",
        "/studies/demo/sob/batches/2/audits/",
        "/studies/demo/sob/batches/2/audits/new/",
        "/studies/demo/sob/batches/2/audits/1/",
        "/studies/demo/sob/batches/2/audits/2/",
        "/studies/demo/sob/batches/2/audits/2/6/",
    ],
    "datasets": [
        "/studies/demo/sob/datasets/1/",
        "/studies/demo/sob/datasets/",
        "/studies/demo/sob/datasets/load/",
        "/studies/demo/sob/datasets/combine/?sets=1&sets=2",
        "/studies/demo/sob/datasets/1/sample/",
        "/studies/demo/sob/datasets/1/targets/",
        "/studies/demo/sob/datasets/1/record/",
    ],
    "targets, mappings and wordings": [
        "/studies/demo/sob/mappings/1/",
        "/studies/demo/sob/targets/",
        "/studies/demo/sob/targets/new/?dataset=1",
        "/studies/demo/sob/targets/1/",
        "/studies/demo/sob/mappings/",
        "/studies/demo/sob/mappings/new/",
        "/studies/demo/sob/wordings/",
        "/studies/demo/sob/wordings/new/",
        "/studies/demo/sob/wordings/paper/",
        "/studies/demo/sob/wordings/base/",
        "/studies/demo/sob/wordings/two-names/",
    ],
    "search": [
        "/studies/demo/search/?words=family",
        "/studies/demo/search/",
        "/studies/demo/search/?state=uncoded&coder=demo-coder",
    ],
    "counts of codings": [
        "/studies/demo/codings/turns/1/?coder=demo-coder&beside=me",
        "/studies/demo/codings/turns/",
        "/studies/demo/codings/models/?coder=demo-coder",
        "/studies/demo/codings/interviews/?coder=demo-coder",
        "/studies/demo/codings/co-occurrence/?coder=demo-coder&together=turn",
    ],
    "exports": [
        "/studies/demo/exports/",
        "/studies/demo/exports/import/",
        "/studies/demo/exports/methods/",
    ],
    "themes": [
        "/studies/demo/themes/",
        "/studies/demo/themes/new/",
        "/studies/demo/themes/group/",
        "/studies/demo/themes/merge/",
        "/studies/demo/themes/evidence/?code=theme.balance",
        "/studies/demo/themes/presence/",
        "/studies/trust/themes/presence/?rows=codes&coder=all",
        "/studies/demo/themes/presence/?rows=codes&columns=interviews",
    ],
    "memos": [
        "/studies/demo/memos/",
        "/studies/demo/memos/new/?sentence=2",
    ],
}
PAGES = [path for paths in SUBJECTS.values() for path in paths]
# Looked at by `make test`; the others by `make test-ci`.
QUICK = [paths[0] for paths in SUBJECTS.values()][::5]
# Rooms whose pages are all looked at with something on them.
FULL = ("/annotators/", "/evaluation/", "/suggestions/", "/sob/")


@pytest.mark.parametrize(
    "path", [path if path in QUICK else pytest.param(path, marks=pytest.mark.full) for path in PAGES]
)
def test_a_page_is_accessible_in_light_and_dark_and_fits_a_narrow_window(site, visit, path):
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
def test_a_page_loaded_in_the_dark_and_in_a_narrow_window_is_accessible(site, visit, path):
    """By every rule and everywhere, where the test above asks of a page that was loaded otherwise, at one place of each kind."""
    page = visit.open(path.format(**site.threads), "dark", 320)
    assert find_violations(page, everywhere=True) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert visit.complaints == []


@pytest.mark.parametrize(
    ("path", "ticks"),
    [
        ("/studies/trust/annotators/launch/", ["Themes"]),
        ("/studies/trust/annotators/4/checks/launch/", ["Themes"]),
        ("/studies/trust/evaluation/critic/", ["Test suggestions again that this model has already tested"]),
        ("/studies/demo/sob/launch/", ["fake B (invented)", "I know that the instrument"]),
    ],
)
def test_the_review_of_a_launch_is_accessible_in_light_and_dark_and_fits_a_narrow_window(visit, path, ticks):
    page = visit.open(path)
    for words in ticks:
        page.get_by_label(words).first.check()
    page.get_by_role("button", name="Review").click()
    assert page.locator("ol.steps [aria-current=step]").inner_text() == "Review"
    check_looks(page)
    assert visit.complaints == []


def test_a_number_opens_down_to_the_answer_and_the_paid_call(visit):
    page = visit.open("/studies/demo/sob/", "light", 1280)
    page.locator("table.heat tbody:not(.published) td a").first.click()
    assert "answers" in page.locator("header.page-head").inner_text()
    masked = page.locator("details.masked").first
    assert not masked.locator("p").is_visible()
    masked.locator("summary").click()
    assert masked.locator("p").is_visible()
    page.get_by_role("link", name="Attempt").first.click()
    assert page.locator("h1").inner_text().startswith("Attempt")
    assert "fake" in page.locator("main").inner_text()
