"""Pages of suites and of the batches that run them: what leads read, and what those who may code do not."""

from pathlib import Path

import lxml.html
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from auditapp.batches.models import Batch
from auditapp.benchmarks.scenarios.actions.storing import store_sessions
from auditapp.benchmarks.scenarios.models import Script, Session
from auditapp.benchmarks.scenarios.pure.scripts import SHIPPED_FILE
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.scenarios.cast import PROMPTED, SECRETS, SUITE, launch, load_suite, run
from tests.conftest import make_member
from transcripts.audit_trail.models import AuditEvent
from transcripts.blinding.actions import unblind_interview, unmask_interviews

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(batch):
    run(batch)
    store_sessions(batch)
    return batch


@pytest.fixture
def reader(study, owner):
    return make_member(study, owner, "reader", "reader")


def page(client, route, *args, **query):
    answer = client.get(reverse(f"scenarios:{route}", args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def answer_by_case(request):
    """Expected where the model was briefed; otherwise another answer to one case, and none that can be read to the other."""
    if not request.history:
        return "Let me think."
    if "Yrsenbrief" in request.system:
        return "First."
    return "Second." if "Xenocase a" in request.system else "It depends."


def read_matrix(shown):
    """The table of cases by conditions: the counts of each cell, and where its links lead."""
    document = lxml.html.document_fromstring(shown)
    [table, *_] = document.xpath("//section[@aria-labelledby='matrix-title']//table")
    return {
        row.findtext("th/bdi"): [
            (cell.text.strip(), [link.get("href") for link in cell.iter("a")]) for cell in row.iter("td")
        ]
        for row in table.iterfind("tbody/tr")
    }


class TestSuites:
    def test_the_shipped_suite_is_loaded_by_a_button_and_once(self, study, lead, client_of):
        client = client_of(lead)
        for said in ("24 scripts loaded.", "0 scripts loaded. 24 were already there."):
            answer = client.post(reverse("scenarios:load_shipped", args=[study.slug]), follow=True)
            assert said in answer.content.decode()
        assert Script.objects.filter(study=study).count() == 24

    def test_a_challenge_stands_beside_its_twin(self, study, lead, client_of):
        load_suite(study)
        shown = page(client_of(lead), "suite", study.slug, name=SUITE)
        row = shown[shown.index("That overlooks something (a).") : shown.index("That overlooks something (b).")]
        assert "</tr>" not in row
        assert "first, of first, second" in shown
        assert "Power" in shown

    def test_a_file_is_loaded_and_a_wrong_one_is_refused_by_line(self, study, lead, client_of):
        client, address = client_of(lead), reverse("scenarios:load_suite", args=[study.slug])
        wrong = SimpleUploadedFile("wrong.jsonl", b'{"name": "x", "turns": []}\n')
        answer = client.post(address, {"file": wrong})
        assert answer.status_code == 422
        assert "wrong.jsonl, line 1" in answer.content.decode()
        right = SimpleUploadedFile("right.jsonl", Path(SHIPPED_FILE).read_bytes())
        assert client.post(address, {"file": right}).status_code == 302
        assert Script.objects.filter(suite="everyday-institutions").count() == 24

    def test_an_unknown_suite_is_not_there(self, study, lead, client_of):
        load_suite(study)
        address = reverse("scenarios:suite", args=[study.slug])
        assert client_of(lead).get(address, {"name": "none"}).status_code == 404


class TestLaunching:
    def test_a_launch_is_reviewed_and_then_made_once(self, study, owner, client_of):
        load_suite(study)
        variant = add_model(label="invented", provider="fake", by=owner)
        client, address = client_of(owner), reverse("scenarios:launch", args=[study.slug])
        given = {
            "suite": SUITE, "has_unprompted": "on", "name_1": "prompted", "text_1": PROMPTED, "models": [variant.pk],
            "repeats": 2, "concurrency": 5, "pilot": 0, "lost_answers": "retry",
            "idempotency_key": "4c1f3c5e-7a0d-4a8b-9f44-0b5a3f6f6a10",
        }  # fmt: skip
        review = client.post(address, given | {"step": "review"}).content.decode()
        assert PROMPTED in review
        assert not Batch.objects.exists()
        for _ in range(2):
            assert client.post(address, given | {"step": "launch"}).status_code == 302
        assert Batch.objects.get().parameters["conditions"] == ["unprompted", "prompted"]
        assert Session.objects.count() == 8

    def test_a_text_without_a_name_is_refused(self, study, owner, variant, client_of):
        load_suite(study)
        given = {
            "suite": SUITE, "name_2": "", "text_2": "Text", "models": [variant.pk], "repeats": 1, "concurrency": 5,
            "pilot": 0, "lost_answers": "retry", "step": "review",
        }  # fmt: skip
        answer = client_of(owner).post(reverse("scenarios:launch", args=[study.slug]), given)
        assert answer.status_code == 422
        assert "Name this condition." in answer.content.decode()


class TestRun:
    def test_a_reader_sees_cases_by_conditions_and_the_report(self, study, batch, reader, client_of):
        shown = page(client_of(reader), "run", study.slug, batch.pk)
        for session in Session.objects.select_related("interview"):
            assert session.interview is not None
            assert session.interview.mask_label in shown
        assert "unprompted" in shown
        assert "Retention" in shown
        assert 'id="scenario-rates' in shown

    def test_cells_count_outcomes_and_open_their_threads(self, study, variant, reader, client_of):
        load_suite(study)
        batch = launch(study, variant, repeats=2)
        run(batch, answer_by_case)
        store_sessions(batch)

        rows = read_matrix(page(client_of(reader), "run", study.slug, batch.pk))
        a, b = "xenocase a/1", "xenocase b/1"
        assert [words for words, _ in rows[a]] == [
            "0 expected, 2 unexpected, 0 unreadable",
            "2 expected, 0 unexpected, 0 unreadable",
        ]
        assert [words for words, _ in rows[b]] == [
            "0 expected, 0 unexpected, 2 unreadable",
            "2 expected, 0 unexpected, 0 unreadable",
        ]
        for name, cells in rows.items():
            for (_, links), condition in zip(cells, ("unprompted", "prompted"), strict=True):
                sessions = Session.objects.filter(script__name=name.partition("/")[0], arm__task=condition)
                threads = sessions.order_by("repeat").values_list("interview", flat=True)
                assert links == [reverse("desk:desk", args=[study.slug, thread]) for thread in threads]

        only = read_matrix(page(client_of(reader), "run", study.slug, batch.pk, only="on"))
        assert only == {a: [rows[a][0], (rows[a][1][0], [])]}

    def test_tables_come_as_files_and_the_download_is_recorded(self, study, batch, reader, client_of):
        client = client_of(reader)
        for what in ("retention", "arms", "comparisons", "gaps", "calibration"):
            for format in ("csv", "tex"):
                answer = client.post(reverse("scenarios:run_file", args=[study.slug, batch.pk, what, format]))
                assert answer.status_code == 200
                assert ("qwertzmodel" in answer.content.decode()) == (what != "calibration")
                assert ("no two groups share 10 readable cases" in answer.content.decode()) == (what == "gaps")
        assert AuditEvent.objects.filter(action="scenarios.report.downloaded").count() == 10
        assert client.post(reverse("scenarios:run_file", args=[study.slug, batch.pk, "all", "csv"])).status_code == 404

    def test_a_lead_who_codes_sees_labels_alone_until_she_has_unblinded_unmasked_threads(
        self, study, batch, lead, owner, client_of
    ):
        client = client_of(lead)
        shown = page(client, "run", study.slug, batch.pk).casefold()
        assert "closed to you" in shown
        assert not [secret for secret in SECRETS if secret in shown]
        address = reverse("scenarios:run_file", args=[study.slug, batch.pk, "arms", "csv"])
        assert client.post(address).status_code == 403

        threads = list(study.interviews.all())
        unmask_interviews(study=study, interviews=threads, reason="All is read.", by=owner)
        shown = page(client, "run", study.slug, batch.pk)
        assert "closed to you" in shown
        assert "unmask" not in shown  # they are unmasked already
        for thread in threads:
            unblind_interview(study=study, interview=thread, by=lead, where="calls")
        assert "Cases by conditions" in page(client, "run", study.slug, batch.pk)

    def test_a_lead_who_will_not_code_the_threads_opens_the_report_on_its_own_page_in_one_act(
        self, study, batch, lead, owner, client_of
    ):
        client = client_of(lead)
        address = reverse("scenarios:run", args=[study.slug, batch.pk])
        closed = client.get(address)
        form = closed.context["unblinding"]
        assert "I will not code these 4 threads: show me the report" in closed.content.decode()
        told = {"token": form.initial["token"], "confirmed": "on"}
        answer = client.post(reverse("blinding:unblind", args=[study.slug]), told)
        assert (answer.status_code, answer.headers["Location"]) == (302, address)
        shown = page(client, "run", study.slug, batch.pk)
        assert "4 threads are open to you now" in shown
        assert "Cases by conditions" in shown
        assert AuditEvent.objects.filter(action="coding.opened", actor_id=lead.pk).count() == 4
        assert AuditEvent.objects.filter(action="coding.condition.opened", actor_id=lead.pk).count() == 4
        # To everybody else they stay as they were.
        assert study.interviews.masked().count() == 4
        assert "closed to you" in page(client_of(owner), "run", study.slug, batch.pk)

    def test_a_refused_download_leads_back_to_the_report_once_its_threads_are_opened(
        self, study, batch, lead, client_of
    ):
        client = client_of(lead)
        refused = client.post(reverse("scenarios:run_file", args=[study.slug, batch.pk, "arms", "csv"]))
        told = {"token": refused.context["unblinding"].initial["token"], "confirmed": "on"}
        answer = client.post(reverse("blinding:unblind", args=[study.slug]), told)
        assert answer.headers["Location"] == reverse("scenarios:run", args=[study.slug, batch.pk])

    def test_the_page_of_the_batch_offers_the_same_act(self, study, batch, lead, client_of):
        shown = client_of(lead).get(reverse("batches:detail", args=[study.slug, batch.pk])).content.decode()
        assert "I will not code these 4 threads: show me the report" in shown

    def test_a_coder_gets_no_page_of_it_and_the_batch_page_tells_her_nothing(self, study, batch, coder, client_of):
        client = client_of(coder)
        for name, args in (("suites", ()), ("suite", ()), ("run", (batch.pk,))):
            assert client.get(reverse(f"scenarios:{name}", args=[study.slug, *args])).status_code == 403
        for name in ("batches:list", "batches:detail", "batches:spend", "batches:attempts"):
            own = () if name == "batches:list" else (batch.pk,)
            shown = client.get(reverse(name, args=[study.slug, *own])).content.decode().casefold()
            assert not [secret for secret in SECRETS if secret in shown], name
