"""Who launched a batch, its key, or the wish for it goes away half-way: what was spent stays in the books, nothing is orphaned."""

import pytest

from auditapp.batches.actions import cancel_batch
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Attempt, Cell, Result
from auditapp.llm.actions import forget_key, set_key
from auditapp.llm.providers.base import CallOutcome, ChatAnswer
from tests.auditapp.batches.trial_kinds import answer, claim, finish, launch, make_variant
from tests.conftest import make_member
from transcripts.accounts.actions import close_account
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.studies.actions import remove_member

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("numbers")]

CELLS = 10
# 10 tokens in at $1 for a million and 5 out at $2.
ONE_CALL = 20_000
SAID = ChatAnswer(CallOutcome.ANSWERED, content="yes", raw="{}", http_status=200, tokens_in=10, tokens_out=5)


@pytest.fixture
def variant():
    return make_variant("model a")


@pytest.fixture
def launcher(study, owner):
    """One of two owners of the site, so that no grant is needed, who belongs to the study."""
    User.objects.create_user("another-owner", is_superuser=True)
    user = make_member(study, owner, "lead", "launcher")
    user.is_superuser = True
    user.save(update_fields=["is_superuser"])
    return user


def close(launcher, study, batch, variant):
    close_account(user=launcher, by=trail.SYSTEM)


def remove(launcher, study, batch, variant):
    remove_member(study=study, user=launcher, by=trail.SYSTEM)


def take_key_away(launcher, study, batch, variant):
    set_key(account=variant.account, key="sk-invented-0123456789", by=trail.SYSTEM)
    forget_key(account=variant.account, by=trail.SYSTEM)


def cancel(launcher, study, batch, variant):
    cancel_batch(batch=batch, by=trail.SYSTEM)


@pytest.mark.parametrize("go", [close, remove, take_key_away, cancel])
def test_what_was_spent_stays_and_calls_in_flight_are_booked(study, variant, launcher, go):
    batch = launch(study, variant, inputs=CELLS, by=launcher)
    answer(batch, 4)
    in_flight = claim(batch, 2)
    go(launcher, study, batch, variant)
    batch.refresh_from_db()
    assert batch.spent_nano == 4 * ONE_CALL
    finish(batch, in_flight, SAID)
    assert batch.spent_nano == 6 * ONE_CALL
    assert Result.objects.filter(cell__batch=batch).count() == 6
    assert Attempt.objects.filter(cell__batch=batch).count() == 6
    if go is not cancel:
        answer(batch, CELLS)
        assert (batch.state, batch.spent_nano, batch.reserved_nano) == ("done", CELLS * ONE_CALL, 0)
    assert batch.launched_by_name == "launcher"
    assert Cell.objects.filter(batch=batch, lease_until__isnull=False).count() == 0
    assert list(verify_batches()) == []
