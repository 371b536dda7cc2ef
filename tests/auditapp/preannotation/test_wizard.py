"""Having interviews read, in steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.test import Client
from django.urls import reverse

from auditapp.batches.models import Batch
from auditapp.llm.actions import add_model
from auditapp.preannotation.models import Annotator
from transcripts.accounts.models import User
from transcripts.corpus.models import Interview
from transcripts.projects.models import Project

ClientOf = Callable[[User], Client]


def test_the_review_writes_nothing_and_warns_of_kin(
    project: Project, interview: Interview, lead: User, client_of: ClientOf
) -> None:
    Interview.objects.update(model_label="Claude 5")
    variant = add_model(
        label="reader", provider="openai_compatible", base_url="https://models.example/v1", model="claude-5", by=lead
    )
    typed: dict[str, Any] = {
        "model": variant.pk,
        "families": ["themes"],
        "concurrency": 5,
        "pilot": 0,
        "lost_answers": "retry",
    }
    client, path = client_of(lead), reverse("preannotation:launch", args=[project.slug])
    page = client.post(path, typed).content.decode()
    assert "of one family (claude)" in page
    assert "The exact instructions" in page
    assert not Annotator.objects.exists()
    assert not Batch.objects.exists()
    assert client.post(path, typed | {"step": "launch"}).status_code == 302
    batch = Batch.objects.get()
    assert (batch.state, batch.arms.get().task) == ("running", "themes")
    assert Annotator.objects.get().name == "reader"


def test_wrong_input_is_the_form_again(project: Project, interview: Interview, lead: User, client_of: ClientOf) -> None:
    variant = add_model(label="reader", provider="fake", by=lead)
    path = reverse("preannotation:launch", args=[project.slug])
    answer = client_of(lead).post(path, {"model": variant.pk, "concurrency": 5000})
    assert answer.status_code == 422
    assert 'value="5000"' in answer.content.decode()
