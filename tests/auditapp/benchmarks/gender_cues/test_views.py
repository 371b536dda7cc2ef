import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from auditapp.batches.models import Attempt, Batch
from auditapp.benchmarks.gender_cues.actions import store_rationales
from auditapp.benchmarks.gender_cues.models import Purpose, ReviewSet
from auditapp.benchmarks.gender_cues.pure.parsing import CAVEATS
from auditapp.benchmarks.gender_cues.pure.tables import DEGENERATE
from tests.auditapp.benchmarks.gender_cues.conftest import answer_cells, write_reviews
from tests.auditapp.benchmarks.gender_cues.making import RULES
from tests.auditapp.benchmarks.gender_cues.test_actions import answer, code_turns
from transcripts.audit_trail.models import AuditEvent
from transcripts.corpus.models import Interview
from transcripts.formats.codebook_csv import read_codebook

pytestmark = pytest.mark.django_db
ADDRESSES = ("load", "launch", "themes")


def address(study, name, *more):
    return reverse(f"gender_cues:{name}", args=[study.slug, *more])


def test_until_an_owner_writes_the_purpose_pages_explain_and_nothing_else_is_reachable(study, owner, lead, client_of):
    client = client_of(lead)
    page = client.get(address(study, "home"))
    assert page.status_code == 200
    assert "is off in this study" in page.text
    for name in ADDRESSES:
        assert client.get(address(study, name)).status_code == 403
        assert client.post(address(study, name), {}).status_code in {403, 405}
    assert client.get(address(study, "purpose")).status_code == 403
    assert client_of(owner).post(address(study, "purpose"), {"text": "To learn."}).status_code == 302
    assert Purpose.objects.get().text == "To learn."
    assert client.get(address(study, "load")).status_code == 200


def test_an_empty_purpose_is_refused(study, owner, client_of):
    assert client_of(owner).post(address(study, "purpose"), {"text": " "}).status_code == 422
    assert not Purpose.objects.exists()


def upload(data, **changed):
    return {
        "name": "Invented",
        "file": SimpleUploadedFile("r.csv", data),
        "category_method": "invented",
        "source": "invented",
        "rules": json.dumps(RULES),
        "seed": 7,
        **changed,
    }


def test_a_page_loads_reviews_and_shows_the_funnel(purpose, study, lead, client_of):
    client = client_of(lead)
    answered = client.post(address(study, "load"), upload(write_reviews()))
    reviews = ReviewSet.objects.get()
    assert answered["Location"] == address(study, "reviews", reviews.pk)
    page = client.get(answered["Location"])
    assert "three words" in page.text
    assert all(sentence in page.text.replace("&#x27;", "'") for sentence in CAVEATS)
    assert "constructed review" not in page.text


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rules": "{"}, "The rules, line 1: found JSON that breaks off"),
        ({"rules": '{"name": "x", "steps": []}'}, "1 to 50 steps"),
        ({"file": SimpleUploadedFile("r.csv", b"text,category,author\nx,woman,y\n")}, "names"),
        ({"category_method": ""}, "required"),
    ],
)
def test_what_cannot_be_loaded_comes_back_with_the_reason(purpose, study, lead, client_of, changed, says):
    answered = client_of(lead).post(address(study, "load"), upload(write_reviews(), **changed))
    assert answered.status_code == 422
    assert says in answered.text
    assert not ReviewSet.objects.exists()


def test_a_set_with_too_few_texts_shows_its_funnel_and_offers_no_launch(purpose, study, lead, client_of):
    client = client_of(lead)
    answered = client.post(address(study, "load"), upload(write_reviews(29)))
    page = client.get(answered["Location"])
    assert "Too few for a launch" in page.text
    assert address(study, "launch") not in page.text.split("<main")[1]


def fill_launch(reviews, variant, **changed):
    filled = {
        "reviews": reviews.pk,
        "primed": 30,
        "may_abstain": 30,
        "androgynous": 0,
        "models": [variant.pk],
        "route": "live",
        "concurrency": 10,
        "pilot": 0,
        "lost_answers": "retry",
    }
    return {**filled, **changed}


def test_a_launch_goes_through_its_review(reviews, variant, study, lead, client_of):
    client, path = client_of(lead), address(study, "launch")
    assert client.get(path).status_code == 200
    review = client.post(path, fill_launch(reviews, variant, step="review"))
    assert review.status_code == 200
    assert "30 women&#x27;s, 30 men&#x27;s texts" in review.text
    assert all(sentence in review.text.replace("&#x27;", "'") for sentence in CAVEATS)
    assert not Batch.objects.exists()
    answered = client.post(path, fill_launch(reviews, variant, step="launch"))
    batch = Batch.objects.get()
    assert answered["Location"] == reverse("batches:detail", args=[study.slug, batch.pk])
    assert batch.cells.count() == 120
    few = client.post(path, fill_launch(reviews, variant, primed=41, step="review"))
    assert few.status_code == 422
    assert "the rules kept 40" in few.text.replace("&#x27;", "'")


def test_the_report_shows_both_tables_and_says_what_to_read_with_them(
    probe, study, rationale_study, owner, lead, client_of
):
    answer_cells(probe, answer)
    client, path = client_of(owner), address(study, "report", probe.pk)
    assert "Themes are counted once" in client.get(path).text
    store_rationales(batch=probe, into=rationale_study, by=owner, seed=1)
    code = code_turns(rationale_study, owner, 12)
    page = client.get(path, {"axis": "prediction"}).text
    assert "Table 1, model a" in page
    assert "Table 2, model a" in page
    assert ">degenerate<" in page
    assert DEGENERATE in page
    assert all(sentence in page.replace("&#x27;", "'") for sentence in CAVEATS)
    search = reverse("search:search", args=[rationale_study.slug])
    assert f"{search}?code={code.identifier}" in page
    assert "constructed review" not in page
    assert "not a member" in client_of(lead).get(path).text


@pytest.mark.parametrize("what", ["table1.csv", "table1.tex", "table2.csv", "table2.tex", "funnel.csv"])
def test_tables_are_downloaded_without_any_text_and_recorded(probe, study, rationale_study, owner, client_of, what):
    answer_cells(probe, answer)
    store_rationales(batch=probe, into=rationale_study, by=owner, seed=1)
    code_turns(rationale_study, owner, 12)
    name, _, form = what.partition(".")
    path = address(study, "file", probe.pk, name, form)
    answered = client_of(owner).post(path)
    assert answered.status_code == 200
    text = answered.content.decode()
    assert "constructed" not in text
    assert ("\\toprule" in text) == (form == "tex")
    assert AuditEvent.objects.filter(action="gender_cues.downloaded").count() == 1
    assert client_of(owner).post(address(study, "file", probe.pk, "trials", "csv")).status_code == 404


def test_rationales_are_stored_by_a_form(probe, study, rationale_study, owner, lead, client_of):
    answer_cells(probe, answer)
    path = address(study, "rationales", probe.pk)
    # A lead of this study who is none of the other is offered nothing.
    assert client_of(lead).post(path, {"into": rationale_study.slug, "seed": 1}).status_code == 422
    client = client_of(owner)
    page = client.get(path)
    assert page.status_code == 200
    assert "they may reveal its prediction" in page.text
    assert client.post(path, {"into": rationale_study.slug, "seed": 1}).status_code == 302
    assert Interview.objects.filter(study=rationale_study).count() == 3
    again = client.post(path, {"into": rationale_study.slug, "seed": 1})
    assert again.status_code == 422
    assert "not stored yet" in again.text


def test_no_page_of_a_batch_shows_a_call_of_a_probe(probe, study, owner, client_of):
    answer_cells(probe, answer)
    cell = probe.cells.select_related("arm").first()
    assert cell is not None
    attempt = Attempt.objects.create(
        cell=cell,
        arm=cell.arm,
        fence=1,
        request_id="00000000-0000-0000-0000-000000000001",
        runner="x",
        written_at=probe.created_at,
        done_at=probe.created_at,
        end=Attempt.End.ANSWERED,
        prompt="A constructed review",
        raw="**Gender:** Female",
    )
    client = client_of(owner)
    for name, more in (("batches:attempts", ()), ("batches:attempt", (attempt.pk,)), ("batches:detail", ())):
        page = client.get(reverse(name, args=[study.slug, probe.pk, *more]))
        assert page.status_code == 200
        assert "constructed review" not in page.text
        assert "**Gender:** Female" not in page.text
    requests = client.post(reverse("batches:requests", args=[study.slug, probe.pk]))
    assert requests.status_code == 302


def test_published_themes_are_a_codebook_that_can_be_read(purpose, study, coder, client_of):
    answered = client_of(coder).get(address(study, "themes"))
    rows = read_codebook(answered.content, name="themes.csv").codes
    assert len(rows) == 18
    assert {row.unit for row in rows} == {"turn"}


def test_exports_hold_figures_of_groups_and_nothing_while_the_probe_is_off(probe, study, owner, client_of):
    answer_cells(probe, answer)
    client = client_of(owner)

    def export(what):
        answered = client.post(reverse("exchange:download", args=[study.slug, what, "json"]))
        assert answered.status_code == 200
        return json.loads(answered.getvalue())

    rows = export("probe_table1")
    assert [(row["condition"], row["subset"]) for row in rows[:2]] == [("control", "all"), ("control", "emotion")]
    assert rows[0]["degenerate"] is True
    assert [row["step"] for row in export("probe_funnels")] == ["read", "three words"]
    assert "constructed" not in json.dumps([rows, export("probe_funnels")])
    Purpose.objects.all().delete()
    assert export("probe_table1") == export("probe_funnels") == []
