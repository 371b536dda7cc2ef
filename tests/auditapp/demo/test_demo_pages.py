"""The demo study, whole: what it promises to somebody who wants to learn from it, and that no page of the bar is empty."""

import pytest
from django.urls import reverse

from auditapp.batches.models import Batch
from auditapp.benchmarks.sob.models import Audit, AuditMark
from auditapp.demo.actions import load_demo
from auditapp.evaluation.models import Disagreement, PositiveAudit, PositiveMark
from auditapp.llm.models import ModelVariant
from auditapp.suggestions.models import Response
from tests.support.services import database_kind
from transcripts.accounts.models import User
from transcripts.agreement.models import Adjudication
from transcripts.analysis.models import Theme, ThemeQuote
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.models import CodeProposal
from transcripts.coding.models import Coding, Link, Memo
from transcripts.negotiation.models import Pair, Score
from transcripts.revision.models import AnchorReading
from transcripts.rounds.models import Assignment, Round
from transcripts.studies.models import Study
from transcripts.studies.roles import CODER, OWNER
from transcripts.ui.navigation import DESTINATIONS, Page

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # Nothing in it speaks SQL that no other test brings to PostgreSQL, and the demo takes long to load.
    *([pytest.mark.full] if database_kind() == "postgres" else []),
]

CODERS = {"demo-coder", "demo-amina", "demo-jonas"}
# Pages that may say that there is nothing, and why.
MAY_BE_EMPTY = {
    # Grants of money are given on the page of an account that costs something. The fake provider is free.
    "batches:grants",
    # No program is told of the demo.
    "webhooks:list",
    # It asks first with what the batch is to be compared.
    "sob:compare",
    # Most of its parts are full. Some need an outcome to be chosen, or more threads than a demo has.
    "negotiation:study",
    # Its threads are masked, so the demo's suite is in a study of its own.
    "scenarios:suites",
    # Its interviews are on different subjects, so no question was asked of two models.
    "themes:compared",
}


def list_pages(entries):
    for entry in entries:
        yield from (entry,) if isinstance(entry, Page) else entry.pages


@pytest.mark.full
def test_the_demo_is_a_study_to_learn_from_and_every_page_of_the_bar_has_something_on_it(client):
    assert load_demo()
    check_people()
    check_negotiation()
    check_machines()
    check_pages(client)
    assert not load_demo()


def check_people():
    study = Study.objects.get(slug="demo")
    codings = Coding.objects.filter(sentence__turn__interview__study=study)
    assert set(codings.values_list("coder__username", flat=True)) == CODERS
    training = Round.objects.get(name="Training round")
    assert training.locked_at is not None
    assert not Assignment.objects.filter(round=training, completed_at__isnull=True).exists()
    assert Adjudication.objects.count() >= 4
    assert CodeProposal.objects.filter(state="open").count() == 1
    assert Theme.objects.count() == 3
    assert set(ThemeQuote.objects.values_list("side", flat=True)) == {"for", "against"}
    assert set(Memo.objects.values_list("subject", flat=True)) == {"sentence", "interview", "code", "theme"}
    assert AnchorReading.objects.values("version").distinct().count() == 2
    assert study.interviews.count() == 10


def check_negotiation():
    """Two coders agree on most of a run, and score it under two stances that judge it differently."""
    over_turns = Round.objects.get(name="Moves over turns")
    assert over_turns.locked_at is not None
    assert not Assignment.objects.filter(round=over_turns, completed_at__isnull=True).exists()
    assert set(Link.objects.active().values_list("kind", flat=True)) == {"acts_on", "warrant", "revises"}
    assert set(Pair.objects.active().values_list("expect", flat=True)) == {"change", "no_change"}
    asked = Score.objects.active().filter(criterion="features")
    assert set(asked.values_list("stance__name", "value")) == {("care", 1), ("equal-rules", 3)}
    assert all(score.note for score in asked.filter(coder__username="demo-amina"))
    determined = Score.objects.active().filter(turn__isnull=False)
    assert set(determined.values_list("criterion", flat=True)) == {"warranted", "updated"}


def check_machines():
    assert ModelVariant.objects.exclude(account__provider="fake").count() == 0
    assert Batch.objects.exclude(state="done").count() == 0
    batch = Batch.objects.get(pk=2)
    assert batch.arms.values("variant").distinct().count() == 6
    items = PositiveAudit.objects.get().items
    assert PositiveMark.objects.filter(item__in=items.all()).count() == items.count() > 0
    assert Disagreement.objects.count() == 2
    assert set(Response.objects.values_list("verdict", flat=True)) == {"accepted", "rejected"}
    assert AuditMark.objects.filter(item__audit=Audit.objects.get()).values("reviewer").distinct().count() == 2
    people = CODERS | {"owner", "system"}
    assert set(AuditEvent.objects.values_list("actor_name", flat=True)) <= people


def check_pages(client):
    """Every page of the bar opens for everybody who may see it, and shows something to one of them."""
    empty = {}
    of_a_batch = {page for each in DESTINATIONS for page in list_pages(each.batch)}
    for username, role in (("owner", OWNER), ("demo-coder", CODER)):
        client.force_login(User.objects.get(username=username))
        for page in {page for each in DESTINATIONS for page in list_pages(each.entries)} | of_a_batch:
            if page.permission and page.permission not in role.permissions:
                continue
            arguments = ["demo", 2] if page in of_a_batch else ["demo"]
            response = client.get(reverse(page.route, args=arguments), follow=True)
            assert response.status_code == 200, (username, page.route)
            empty.setdefault(page.route, []).append('class="empty"' in response.content.decode())
    assert {route for route, each in empty.items() if all(each)} <= MAY_BE_EMPTY
    assert "Intersectionality" in client.get(reverse("revision:queue", args=["demo"])).content.decode()
