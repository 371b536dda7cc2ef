"""The pages of annotators: who reads, told what, and every count down to the call behind it."""

import json
import re
import uuid
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from auditapp.annotators.actions.annotators import ensure_annotator, read_prompts
from auditapp.annotators.actions.launching import launch_model
from auditapp.annotators.models import Annotator, CodeChoice
from auditapp.annotators.queries.turn_answers import PER_PAGE, count_turn_answers, find_turn_answers
from auditapp.annotators.runner import PreannotationKind
from auditapp.batches.kinds import Answered
from auditapp.batches.models import Attempt, Batch, Result
from tests.auditapp.annotators.cast import add_interviews, add_reader
from tests.support.databases import stored
from transcripts.audit_trail import trail
from transcripts.codebook.models import Code
from transcripts.corpus.models import Sentence


@stored
def batch(study):
    """Five answers: a whole one, one that leaves a sentence out, one with an unknown code, one of no use, one to come."""
    add_interviews(study, "one", answers=5)
    batch = launch_model(study=study, variant=add_reader(), families=["themes"], by=trail.SYSTEM)
    cells = list(batch.cells.order_by("pk"))
    whole, left_out, unknown = (write_entries(cell) for cell in cells[:3])
    whole[0]["codings"].append({"rationale": "Weighs.", "quote": "I would ask", "code": "theme.balance"})
    unknown[0]["codings"].append({"rationale": "?", "quote": "I would ask", "code": "theme.astrology"})
    for cell, said in zip(cells, (whole, left_out[1:], unknown, None), strict=False):
        store(batch, cell, "no JSON" if said is None else json.dumps({"sentences": said}))
    return batch


def write_entries(cell):
    sentences = Sentence.objects.filter(turn=cell.input_id).order_by("start")
    return [{"sentence": each.pk, "codings": []} for each in sentences]


def store(batch, cell, answer):
    """An answer as the engine stores it, with the call it came in."""
    now = timezone.now()
    attempt = Attempt.objects.create(
        cell=cell,
        arm=cell.arm,
        fence=1,
        request_id=uuid.uuid4(),
        runner="x",
        written_at=now,
        end="answered",
        done_at=now,
    )
    Result.objects.create(cell=cell, attempt=attempt, answer=answer, stored_at=now)
    answered = Answered(cell.pk, cell.arm_id, cell.input_id, answer, "stop", "")
    PreannotationKind().store_answers(batch, [answered])


@pytest.fixture
def annotator(batch):
    return Annotator.objects.get()


@pytest.fixture
def client(lead, client_of):
    return client_of(lead)


def read(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


class TestCounts:
    def test_answers_are_counted_by_how_they_were_understood(self, batch):
        assert count_turn_answers(batch) == {
            "turn_answers": 4,
            "suggestions": 1,
            "valid": 1,
            "partial": 2,
            "invalid": 1,
            "missing_sentences": 3,
            "curtailed_sentences": 1,
            "rejected_items": 1,
            "rejected_by_reason": {"unknown code": 1},
            "flagged": 0,
            "asked_again": 0,
        }

    def test_a_batch_without_answers_counts_nothing(self, batch, study):
        other = launch_model(study=study, name="reader", families=["moves"], by=trail.SYSTEM)
        assert count_turn_answers(other)["turn_answers"] == 0

    @pytest.mark.parametrize(
        ("chosen", "count"),
        [
            ({}, 4),
            ({"what": "valid"}, 1),
            ({"what": "partial"}, 2),
            ({"what": "invalid"}, 1),
            ({"what": "missing"}, 2),
            ({"what": "rejected"}, 1),
            ({"what": "rejected", "reason": "unknown code"}, 1),
            ({"what": "rejected", "reason": "named twice"}, 0),
            ({"what": "flagged"}, 0),
            ({"batch": 0}, 0),
        ],
    )
    def test_every_count_has_its_answers(self, annotator, chosen, count):
        assert len(find_turn_answers(annotator, **chosen)[0]) == count

    def test_answers_come_a_page_at_a_time(self, annotator, monkeypatch):
        assert PER_PAGE == 50
        monkeypatch.setattr("auditapp.annotators.queries.turn_answers.PER_PAGE", 3)
        rows, following = find_turn_answers(annotator)
        assert (len(rows), following) == (3, rows[-1]["cell_id"])
        rest, end = find_turn_answers(annotator, after=following or 0)
        assert (len(rest), end) == (1, None)


class TestPages:
    def test_the_list_says_what_each_is_and_what_it_has_read(self, study, annotator, client):
        CodeChoice.objects.create(
            study=study,
            code_identifier="theme.balance",
            annotator=annotator,
            chosen_at=timezone.now(),
            chosen_by_name="x",
        )
        page = read(client, reverse("annotators:annotators", args=[study.slug]))
        for words in (
            "One call per turn and code family",
            annotator.hash[:12],
            "4 calls",
            Code.objects.get(version=annotator.version, identifier="theme.balance").name,
            "fake",
        ):
            assert words in page

    def test_the_list_costs_as_many_queries_for_many_as_for_one(self, study, annotator, client):
        path = reverse("annotators:annotators", args=[study.slug])
        read(client, path)
        with CaptureQueriesContext(connection) as few:
            read(client, path)
        for number in range(5):
            ensure_annotator(study=study, variant=add_reader(f"m{number}"), by=trail.SYSTEM)
        with CaptureQueriesContext(connection) as many:
            read(client, path)
        assert len(few) == len(many)

    def test_one_shows_its_exact_instructions_and_their_hashes(self, study, annotator, client):
        page = read(client, reverse("annotators:annotator", args=[study.slug, annotator.pk]))
        assert annotator.hash in page
        prompts = read_prompts(annotator)
        assert len(prompts) > 1
        arm = Batch.objects.get().arms.order_by("pk")[0]
        assert arm.system_prompt in page
        assert f"<code>{arm.prompt_hash[:12]}</code>" in page
        for prompt in prompts:
            assert prompt["text"] in page

    def test_every_count_of_its_answers_opens_down_to_the_call(self, study, annotator, reader, client_of):
        client = client_of(reader)
        page = read(client, reverse("annotators:annotator", args=[study.slug, annotator.pk]))
        links = re.findall(r'href="([^"]*/answers/\?[^"]*)">([^<]+)<', page)
        assert [words for _, words in links] == ["1", "2", "1", "3", "1 unknown code"]
        for address, _ in links:
            shown = read(client, address)
            assert re.search(r"/batches/\d+/attempts/\d+/", shown), address

    def test_a_check_and_a_critic_are_no_rows_of_turn_answers_but_lead_to_their_pages(
        self, study, batch, annotator, client
    ):
        others = {}
        for kind in ("preannotation_check", "preannotation_critic"):
            batch.pk, batch.kind, batch.idempotency_key = None, kind, uuid.uuid4()
            batch.parameters = {"annotators": [annotator.pk]}
            batch.save()
            others[kind] = batch.pk
        page = read(client, reverse("annotators:annotator", args=[study.slug, annotator.pk]))
        table = page.partition('aria-labelledby="batches-title" tabindex')[2].partition("</table>")[0]
        assert table.count("all calls") == 1
        assert reverse("evaluation:check", args=[study.slug, others["preannotation_check"]]) in page
        assert reverse("batches:detail", args=[study.slug, others["preannotation_critic"]]) in page
        assert reverse("evaluation:rejections", args=[study.slug]) + f"?annotator={annotator.pk}" in page

    def test_a_second_launch_is_told_what_was_read_already(self, study, annotator, client):
        typed = {"model": annotator.variant_id, "concurrency": 5, "pilot": 0, "lost_answers": "retry"}
        page = client.post(reverse("annotators:launch", args=[study.slug]), typed).content.decode()
        assert "reader has already annotated 4 of these 5 turns." in page

    def test_rules_and_runs_of_one_that_asks_no_model_are_shown(self, study, client):
        annotator = ensure_annotator(
            study=study, kind="rules", recipe={"rules": {"theme.balance": ["weigh*"]}}, by=trail.SYSTEM
        )
        page = read(client, reverse("annotators:annotator", args=[study.slug, annotator.pk]))
        assert "weigh*" in page
        assert "It has annotated nothing yet." in page
        assert "The exact instructions" not in page

    def test_the_list_of_answers_never_says_what_was_proposed(self, study, annotator, client):
        page = read(client, reverse("annotators:turn_answers", args=[study.slug, annotator.pk]))
        for words in ("theme.balance", "Balance", "Weighs.", "Suggestions"):
            assert words not in page.partition("<main")[2]

    @pytest.mark.parametrize("query", ["?batch=x&after=-1", "?what=nonsense", "?batch=99999999999999999999"])
    def test_a_choice_that_is_none_narrows_nothing(self, study, annotator, client, query):
        path = reverse("annotators:turn_answers", args=[study.slug, annotator.pk])
        assert "4" in read(client, path + query)

    def test_a_coder_learns_nothing_here(self, study, annotator, coder, client_of):
        client = client_of(coder)
        for name, args in (("annotators", []), ("annotator", [annotator.pk]), ("turn_answers", [annotator.pk])):
            assert client.get(reverse(f"annotators:{name}", args=[study.slug, *args])).status_code == 403
