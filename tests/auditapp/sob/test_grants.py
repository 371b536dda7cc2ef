"""The site's paid model by the pages of a study: what a member without a grant, with one, and the owner of the site see."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from auditapp.batches.models import Batch
from auditapp.llm.actions import add_model
from auditapp.llm.granting import set_grant
from auditapp.llm.models import Commitment, ModelVariant
from auditapp.sob.models import Dataset
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.projects.models import Project

PATH = "/p/culture/sob/launch/"


@pytest.fixture
def paid(project: Project) -> ModelVariant:
    return add_model(
        label="paid",
        provider="openai_compatible",
        base_url="https://models.example/v1",
        model="m",
        max_tokens=1024,
        price_in=Decimal(1),
        price_out=Decimal(2),
        by=trail.SYSTEM,
    )


@pytest.fixture
def typed(dataset: Dataset, paid: ModelVariant) -> dict[str, Any]:
    return {
        "dataset": dataset.pk,
        "models": [paid.pk],
        "tasks": ["acceptability"],
        "instrument": "paper",
        "notice": "on",
        "repeats": 5,
        "concurrency": 5,
        "pilot": 0,
        "cap": "",
        "lost_answers": "hold",
    }


def send(client: Client, typed: dict[str, Any], step: str) -> tuple[int, str]:
    got = client.post(PATH, typed | {"step": step})
    return got.status_code, " ".join(got.content.decode().split())


@pytest.mark.parametrize("step", ["review", "launch"])
def test_every_hurdle_stops_a_launch_at_each_step(
    project: Project,
    owner: User,
    paid: ModelVariant,
    typed: dict[str, Any],
    client_of: Callable[[User], Client],
    step: str,
) -> None:
    browser = client_of(owner)
    status, page = send(browser, typed, step)
    assert status == 422
    assert "This study may not use paid" in page
    assert "grant_model culture" in page
    one, ten = Decimal(1), Decimal(10)
    set_grant(
        project=project,
        account=paid.account,
        study_usd=ten,
        study_day_usd=ten,
        person_day_usd=one,
        by=trail.SYSTEM,
    )
    status, page = send(browser, typed, step)
    assert status == 422
    assert "needs a cap" in page
    status, page = send(browser, typed | {"cap": "8"}, step)
    assert status == 422
    assert "$1.00 of $1.00 is left for you" in page
    assert not Batch.objects.exists()


def test_the_review_shows_what_is_left_and_what_will_be_committed(
    project: Project, owner: User, paid: ModelVariant, typed: dict[str, Any], client_of: Callable[[User], Client]
) -> None:
    limits = {"study_usd": Decimal(10), "study_day_usd": Decimal(5), "person_day_usd": Decimal(3)}
    set_grant(project=project, account=paid.account, by=trail.SYSTEM, **limits)
    typed |= {"cap": "1"}
    page = send(client_of(owner), typed, "review")[1]
    for words in ("Money granted to this study", "of $10.00", "of $5.00", "of $3.00", "Launching commits $1.00"):
        assert words in page
    assert send(client_of(owner), typed, "launch")[0] == 302
    assert Commitment.objects.get().nano == 10**9
    assert "$9.00" in send(client_of(owner), typed, "review")[1]


def test_the_owner_of_the_site_launches_as_before(
    project: Project, owner: User, typed: dict[str, Any], client_of: Callable[[User], Client]
) -> None:
    owner.is_superuser = True
    owner.save()
    status, page = send(client_of(owner), typed, "review")
    assert status == 200
    assert "Money granted" not in page
    assert send(client_of(owner), typed, "launch")[0] == 302
