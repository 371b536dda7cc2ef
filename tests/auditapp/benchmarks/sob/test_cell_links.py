import uuid

import pytest
from django.urls import reverse

from auditapp.batches.models import Attempt, Cell, Result
from auditapp.benchmarks.sob.judging.actions import launch_formatter
from auditapp.llm.actions import add_model
from tests.auditapp.benchmarks.sob.test_formatter import PROSE, WHITE, answer_formatter, store_results


@pytest.fixture
def answered(batch):
    [key] = store_results(batch, [PROSE])
    return Cell.objects.select_related("result").get(pk=key)


@pytest.fixture
def read(answered, batch, owner):
    """The call of a formatter that read the answer."""
    formatting = launch_formatter(batch=batch, variant=add_model(label="small", provider="fake", by=owner), by=owner)
    answer_formatter(formatting, answered.pk, WHITE)
    cell = Cell.objects.get(batch=formatting)
    attempt = Attempt.objects.create(
        cell=cell, arm_id=cell.arm_id, fence=1, request_id=uuid.uuid4(), runner="x", written_at=batch.created_at
    )
    Result.objects.create(cell=cell, attempt=attempt, answer="{}", stored_at=batch.created_at)
    return attempt


def link(name, batch, *rest):
    return f'href="{reverse(name, args=[batch.study.slug, batch.pk, *rest])}"'


def show_attempt(client, attempt):
    batch = attempt.cell.batch
    answer = client.get(reverse("batches:attempt", args=[batch.study.slug, batch.pk, attempt.pk]))
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_attempt_leads_to_its_text_and_to_how_it_was_read(answered, batch, lead, client_of):
    page = show_attempt(client_of(lead), answered.result.attempt)
    assert link("sob:text", batch, answered.input_id) in page
    assert link("sob:interpretation_history", batch, answered.pk) in page


def test_a_call_that_brought_no_answer_has_no_interpretations_to_lead_to(answered, batch, lead, client_of):
    silent = Cell.objects.filter(batch=batch).exclude(pk=answered.pk)[0]
    attempt = Attempt.objects.create(
        cell=silent, arm_id=silent.arm_id, fence=1, request_id=uuid.uuid4(), runner="x", written_at=batch.created_at
    )
    page = show_attempt(client_of(lead), attempt)
    assert link("sob:text", batch, silent.input_id) in page
    assert "How this answer was read" not in page


def test_a_formatters_call_leads_to_the_answer_it_was_shown(answered, read, batch, lead, client_of):
    page = show_attempt(client_of(lead), read)
    assert link("batches:attempt", batch, answered.result.attempt_id) in page
    assert link("sob:interpretation_history", batch, answered.pk) in page


@pytest.mark.parametrize("name", ["responses", "text"])
def test_an_answer_that_a_formatter_read_leads_to_its_call_and_to_all_interpretations(
    name, answered, read, batch, lead, coder, client_of
):
    place = [batch.study.slug, batch.pk, *([answered.input_id] if name == "text" else [])]
    path = reverse(f"sob:{name}", args=place)
    page = client_of(lead).get(path).content.decode()
    assert link("batches:attempt", read.cell.batch, read.pk) in page
    assert link("sob:interpretation_history", batch, answered.pk) in page
    assert "All interpretations" not in client_of(coder).get(path).content.decode()
