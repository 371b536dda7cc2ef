"""Whose money a batch may spend: grants, their limits, and what is committed at each step that could spend more."""

import datetime
import io
import threading
import uuid
from decimal import Decimal

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from auditapp.batches import actions, grants
from auditapp.batches.grants import find_left
from auditapp.batches.models import Batch, Cell
from auditapp.batches.pages.progress import describe_grants
from auditapp.batches.pure.estimates import Share, add_up, find_changes, settle, sum_shares
from auditapp.llm.actions import add_model
from auditapp.llm.grants import list_grants, revoke_grant, set_grant
from auditapp.llm.models import Commitment, Grant
from tests.auditapp.batches.trial_kinds import answer, launch, make_variant
from tests.conftest import make_user
from transcripts.accounts.actions import create_token
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study

DOLLAR = 1_000_000_000
MONDAY, TUESDAY = datetime.date(2026, 11, 23), datetime.date(2026, 11, 24)
ANN, BEA = 1, 2


def usd(amount):
    return Decimal(amount)


@pytest.fixture
def model(numbers):
    return make_variant("paid")


def make_owner_of_site():
    boss = make_user("boss")
    boss.is_superuser = True
    boss.save()
    return boss


def grant_to(study, model, total="10", day="5", person="3"):
    return set_grant(
        study=study,
        account=model.account,
        study_usd=usd(total),
        study_day_usd=usd(day),
        person_day_usd=usd(person),
        by=trail.SYSTEM,
    )


def fail_cells(batch):
    """The batch is done, and one of its cells failed."""
    Cell.objects.filter(batch=batch).update(state="done")
    Cell.objects.filter(pk=Cell.objects.filter(batch=batch).first().pk).update(state="failed")
    Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, spent_nano=DOLLAR)
    batch.refresh_from_db()


class TestArithmetic:
    def test_an_ended_batch_counts_with_what_it_spent_on_the_days_it_was_committed(self):
        rows = [Share(MONDAY, ANN, 5), Share(TUESDAY, BEA, 3)]
        assert settle(rows, 4) == [Share(MONDAY, ANN, 4)]
        assert settle(rows, 6) == [Share(MONDAY, ANN, 5), Share(TUESDAY, BEA, 1)]
        assert settle(rows, 9) == [Share(MONDAY, ANN, 5), Share(TUESDAY, BEA, 4)]
        assert settle(rows, 0) == []

    def test_more_counts_today_and_less_is_returned_to_the_last(self):
        rows = [Share(MONDAY, ANN, 5)]
        assert find_changes(rows, rows, 8, day=TUESDAY, person=BEA) == [Share(TUESDAY, BEA, 3)]
        rows = [Share(MONDAY, ANN, 5), Share(TUESDAY, BEA, 3)]
        assert find_changes(rows, rows, 6, day=TUESDAY, person=ANN) == [Share(TUESDAY, BEA, -2)]
        assert find_changes(rows, rows, 8, day=TUESDAY, person=ANN) == []

    def test_asking_again_counts_what_was_not_spent_for_whoever_does_it(self):
        rows = [Share(MONDAY, ANN, 5)]
        changes = find_changes(rows, settle(rows, 2), 5, day=TUESDAY, person=BEA)
        assert add_up([*rows, *changes]) == [Share(MONDAY, ANN, 2), Share(TUESDAY, BEA, 3)]

    @given(
        st.lists(st.tuples(st.sampled_from([MONDAY, TUESDAY]), st.sampled_from([ANN, BEA]), st.integers(1, 9))),
        st.integers(0, 30),
        st.integers(0, 30),
    )
    def test_after_a_change_exactly_the_new_amount_is_committed(self, shares, spent, target):
        rows = [Share(*each) for each in shares]
        counted = settle(rows, min(spent, sum(share.nano for share in rows)))
        after = add_up([*rows, *find_changes(rows, counted, target, day=TUESDAY, person=ANN)])
        assert sum_shares(after, day=TUESDAY, person=ANN)[0] == target
        assert all(share.nano > 0 for share in after)


class TestGranting:
    def test_a_grant_and_its_changes_are_rows_with_events(self, study, model):
        grant_to(study, model)
        grant_to(study, model)
        grant_to(study, model, total="20")
        revoke_grant(study=study, account=model.account, by=trail.SYSTEM)
        rows = Grant.objects.order_by("number").values_list("number", "study_nano", "is_revoked")
        assert list(rows) == [(1, 10 * DOLLAR, False), (2, 20 * DOLLAR, False), (3, 20 * DOLLAR, True)]
        events = AuditEvent.objects.filter(action__startswith="llm.grant").order_by("sequence")
        assert [event.action for event in events] == ["llm.grant.set", "llm.grant.set", "llm.grant.revoked"]
        assert [row.number for row in list_grants(study=study)] == [3]

    @pytest.mark.parametrize(
        ("limits", "words"),
        [
            ({"study_usd": "1"}, "Enter all three limits"),
            ({"study_usd": "0", "study_day_usd": "1", "person_day_usd": "1"}, "more than 0"),
            ({"study_usd": "NaN", "study_day_usd": "1", "person_day_usd": "1"}, "more than 0"),
            ({"study_usd": "1000001", "study_day_usd": "1", "person_day_usd": "1"}, "at most a million"),
            ({"study_usd": "1e-10", "study_day_usd": "1", "person_day_usd": "1"}, "nine places"),
        ],
    )
    def test_wrong_limits_are_refused(self, study, model, limits, words):
        with pytest.raises(Refused, match=words):
            set_grant(
                study=study,
                account=model.account,
                by=trail.SYSTEM,
                **{name: Decimal(value) for name, value in limits.items()},
            )

    def test_only_the_owner_of_the_site_grants(self, study, owner, model):
        with pytest.raises(PermissionDenied):
            set_grant(study=study, account=model.account, by=owner)
        with pytest.raises(PermissionDenied):
            revoke_grant(study=study, account=model.account, by=owner)


class TestTheAttack:
    """A signed-in account launches the site's paid model: each hurdle alone stops it."""

    def test_without_a_grant_nothing_paid_is_launched(self, study, owner, model):
        with pytest.raises(Refused, match=r"grant for the account .* is missing.*grant set culture"):
            launch(study, model, repeats=5, by=owner, cap_usd=usd(1))
        assert not Batch.objects.exists()

    def test_a_grant_to_one_study_is_none_to_another(self, study, owner, model):
        grant_to(create_study(slug="other", name="Other", by=trail.SYSTEM), model)
        with pytest.raises(Refused, match="is missing"):
            launch(study, model, by=owner, cap_usd=usd(1))

    def test_with_a_grant_a_batch_without_a_cap_is_refused(self, study, owner, model):
        grant_to(study, model)
        with pytest.raises(Refused, match="needs a cap"):
            launch(study, model, repeats=5, by=owner)
        assert not Batch.objects.exists()

    @pytest.mark.parametrize(
        ("limits", "whom"),
        [
            (("1", "5", "5"), "this study in all"),
            (("5", "1", "5"), "this study today"),
            (("5", "5", "1"), "you in this"),
        ],
    )
    def test_a_cap_beyond_any_limit_is_refused(self, study, owner, model, limits, whom):
        grant_to(study, model, *limits)
        with pytest.raises(Refused, match=f"commit \\$2.00 .* \\$1.00 of \\$1.00 is left for {whom}"):
            launch(study, model, by=owner, cap_usd=usd(2))
        assert not Batch.objects.exists()
        assert not Commitment.objects.exists()

    def test_many_batches_within_their_caps_stay_within_the_limits_together(self, study, owner, lead, model):
        grant_to(study, model)
        launch(study, model, by=owner, cap_usd=usd(3))
        with pytest.raises(Refused, match="left for you"):
            launch(study, model, by=owner, cap_usd=usd("0.01"))
        launch(study, model, by=lead, cap_usd=usd(2))
        with pytest.raises(Refused, match="this study today"):
            launch(study, model, by=lead, cap_usd=usd("0.01"))

    def test_after_revoking_nothing_more_is_launched_resumed_or_retried(self, study, owner, model):
        grant = grant_to(study, model)
        running = launch(study, model, by=owner, cap_usd=usd(1))
        done = launch(study, model, by=owner, cap_usd=usd(1))
        fail_cells(done)
        revoked = revoke_grant(study=study, account=grant.account, by=trail.SYSTEM)
        assert actions.pause_granted(grant=revoked, by=trail.SYSTEM) == 1
        for act in (actions.resume_batch, actions.drain_batch):
            with pytest.raises(Refused, match="was revoked"):
                act(batch=running, by=owner)
        with pytest.raises(Refused, match="was revoked"):
            actions.retry_failed(batch=done, by=owner)
        with pytest.raises(Refused, match="was revoked"):
            launch(study, model, by=owner, cap_usd=usd(1))
        actions.cancel_batch(batch=running, by=owner)


class TestCommitting:
    def test_a_higher_cap_commits_the_difference_and_a_lower_one_returns_it(self, study, owner, model):
        grant = grant_to(study, model)
        batch = launch(study, model, by=owner, cap_usd=usd(1))
        actions.change_cap(batch=batch, cap_usd=usd(3), by=owner)
        assert find_left(grant, owner) == (7 * DOLLAR, 2 * DOLLAR, 0)
        with pytest.raises(Refused, match=r"commit \$0.50 .* left for you"):
            actions.change_cap(batch=batch, cap_usd=usd("3.5"), by=owner)
        with pytest.raises(Refused, match="needs a cap"):
            actions.change_cap(batch=batch, cap_usd=None, by=owner)
        actions.change_cap(batch=batch, cap_usd=usd(1), by=owner)
        assert find_left(grant, owner) == (9 * DOLLAR, 4 * DOLLAR, 2 * DOLLAR)
        batch.refresh_from_db()
        assert batch.cap_nano == DOLLAR

    def test_approving_a_pilot_with_a_higher_cap_commits_it(self, study, owner, model):
        grant_to(study, model)
        batch = launch(study, model, by=owner, pilot=1, cap_usd=usd(1))
        answer(batch, 1)
        with pytest.raises(Refused, match="left for you"):
            actions.confirm_batch(batch=batch, cap_usd=usd(4), by=owner)
        with pytest.raises(Refused, match="needs a cap"):
            actions.confirm_batch(batch=batch, cap_usd=None, by=owner)
        actions.confirm_batch(batch=batch, cap_usd=usd(2), by=owner)
        assert Commitment.objects.count() == 2

    def test_an_ended_batch_returns_what_it_did_not_spend_until_it_is_asked_again(self, study, owner, lead, model):
        grant = grant_to(study, model)
        batch = launch(study, model, by=owner, cap_usd=usd(3))
        fail_cells(batch)
        assert find_left(grant, owner) == (9 * DOLLAR, 4 * DOLLAR, 2 * DOLLAR)
        assert find_left(grant, lead).person_today == 3 * DOLLAR
        actions.retry_failed(batch=batch, by=lead)
        assert find_left(grant, owner) == (7 * DOLLAR, 2 * DOLLAR, 2 * DOLLAR)
        assert find_left(grant, lead).person_today == DOLLAR

    def test_asking_again_is_refused_where_others_have_taken_what_was_returned(self, study, owner, model):
        grant_to(study, model)
        batch = launch(study, model, by=owner, cap_usd=usd(3))
        fail_cells(batch)
        launch(study, model, by=owner, cap_usd=usd(2))
        with pytest.raises(Refused, match=r"commit \$2.00"):
            actions.retry_failed(batch=batch, by=owner)
        batch.refresh_from_db()
        assert batch.state == Batch.State.DONE

    def test_a_batch_of_two_accounts_commits_its_cap_to_both_and_counts_with_what_each_was_paid(
        self, study, owner, model
    ):
        other = make_variant("far", base_url="https://other.example/v1")
        grant, second = grant_to(study, model), grant_to(study, other)
        batch = launch(study, model, other, inputs=1, by=owner, cap_usd=usd(1))
        assert find_left(grant, owner).study == find_left(second, owner).study == 9 * DOLLAR
        answer(batch, 1)
        actions.cancel_batch(batch=batch, by=owner)
        batch.refresh_from_db()
        assert batch.spent_nano > 0
        left = sorted([find_left(grant, owner).study, find_left(second, owner).study])
        assert left == [10 * DOLLAR - batch.spent_nano, 10 * DOLLAR]

    def test_the_next_day_has_its_own_limits_and_the_study_the_same(self, study, owner, model, monkeypatch):
        grant = grant_to(study, model, total="5", day="3", person="3")
        launch(study, model, by=owner, cap_usd=usd(3))
        tomorrow = grants.find_today() + datetime.timedelta(days=1)
        monkeypatch.setattr(grants, "find_today", lambda: tomorrow)
        assert find_left(grant, owner) == (2 * DOLLAR, 2 * DOLLAR, 2 * DOLLAR)
        with pytest.raises(Refused, match="this study in all"):
            launch(study, model, by=owner, cap_usd=usd(3))

    def test_the_same_form_sent_twice_commits_once(self, study, owner, model):
        grant_to(study, model)
        key = uuid.uuid4()
        first = launch(study, model, by=owner, cap_usd=usd(2), idempotency_key=key)
        assert launch(study, model, by=owner, cap_usd=usd(2), idempotency_key=key) == first
        assert Commitment.objects.count() == 1

    def test_a_batch_from_before_grants_needs_one_to_spend_more(self, study, owner, model):
        batch = launch(study, model)
        actions.pause_batch(batch=batch, by=owner)
        with pytest.raises(Refused, match="is missing"):
            actions.resume_batch(batch=batch, by=owner)
        grant_to(study, model)
        with pytest.raises(Refused, match="needs a cap"):
            actions.resume_batch(batch=batch, by=owner)
        actions.change_cap(batch=batch, cap_usd=usd(1), by=owner)
        actions.resume_batch(batch=batch, by=owner)
        assert Commitment.objects.get().nano == DOLLAR


class TestWhoNeedsNone:
    def test_the_owner_of_the_site_and_commands_launch_as_before(self, study, model):
        site_owner = make_owner_of_site()
        grant = grant_to(study, model)
        launch(study, model, by=site_owner)
        launch(study, model)
        assert find_left(grant, site_owner).study == 10 * DOLLAR

    def test_a_batch_that_the_owner_gives_more_is_counted_and_not_refused(self, study, owner, model):
        grant = grant_to(study, model)
        batch = launch(study, model, by=owner, cap_usd=usd(1))
        actions.change_cap(batch=batch, cap_usd=usd(50), by=trail.SYSTEM)
        assert find_left(grant, owner) == (0, 0, 0)

    def test_the_fake_provider_needs_none(self, study, owner, numbers):
        launch(study, add_model(label="fake", provider="fake", by=trail.SYSTEM), by=owner)

    def test_a_model_that_costs_nothing_needs_a_grant_and_no_cap(self, study, owner, numbers):
        free = make_variant("free", price=0)
        with pytest.raises(Refused, match="is missing"):
            launch(study, free, by=owner)
        set_grant(study=study, account=free.account, by=trail.SYSTEM)
        launch(study, free, by=owner)
        paid, unpriced = make_variant("paid"), make_variant("unpriced", price=None)
        for model in (paid, unpriced):
            with pytest.raises(Refused, match="only for models that cost nothing"):
                launch(study, model, by=owner)


def launch_at_once(study, model, people):
    """Each person launches a batch with a cap of 2 dollars at the same moment; what came of each."""
    ready, ends = threading.Barrier(len(people)), list[str]()

    def go(person):
        ready.wait()
        try:
            launch(study, model, by=person, cap_usd=usd(2))
            ends.append("launched")
        except Refused as error:
            ends.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=go, args=[person]) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ends


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite takes one writer at a time anyway")
@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_launches_at_the_same_moment_never_exceed_a_limit(self, study, owner, lead, coder, reader, model):
        grant = grant_to(study, model, total="10", day="5", person="3")
        ends = launch_at_once(study, model, [owner, lead, coder, reader])
        assert ends.count("launched") == 2, ends
        assert find_left(grant, owner).study_today == DOLLAR


class TestCommand:
    def run(self, *words):
        out = io.StringIO()
        call_command("grant", "set", *words, stdout=out)
        return out.getvalue()

    def test_it_grants_changes_and_revokes(self, study, owner, model):
        assert "has no grants" in self.run("culture")
        said = self.run("culture", "paid", "--total", "10", "--day", "5", "--person-day", "3")
        assert "$10.00 in all ($10.00 left), $5.00 a day, $3.00 a day for each person" in said
        launch(study, model, by=owner, cap_usd=usd(1))
        assert '"left": "9"' in self.run(
            "culture", "paid", "--total", "10", "--day", "5", "--person-day", "3", "--json"
        )
        assert "$10.00 in all ($9.00 left)" in self.run("culture")
        assert '"left_today": "4"' in self.run("culture", "--json")
        assert "cost nothing" in self.run("culture", "paid", "--free-only")
        assert "1 of its batches was paused" in self.run("culture", "paid", "--revoke", "--pause")

    @pytest.mark.parametrize(
        ("words", "refusal"),
        [
            (["culture", "paid"], "one of the three"),
            (["culture", "--free-only"], "Name a model"),
            (["culture", "paid", "--total", "1", "--revoke"], "one of the three"),
            (["culture", "paid", "--total", "1"], "all three"),
            (
                ["culture", "paid", "--total", "x", "--day", "1", "--person-day", "1"],
                "--total .x. is not a number",
            ),
            (["nowhere", "paid", "--free-only"], "no study 'nowhere'"),
            (["culture", "nothing", "--free-only"], "no model 'nothing'"),
            (["culture", "paid", "--revoke"], "nothing to revoke"),
            (["culture", "paid", "--free-only", "--pause"], "needs --revoke"),
        ],
    )
    def test_it_says_what_is_wrong(self, study, model, words, refusal):
        with pytest.raises(CommandError, match=refusal):
            self.run(*words)


class TestPages:
    def test_the_owner_of_the_site_grants_changes_and_revokes(self, study, owner, model, client_of):
        boss = client_of(make_owner_of_site())
        address = f"/models/accounts/{model.account_id}/grants/"
        assert "has not been granted to any study" in boss.get(address).content.decode()
        limits = {"study": "culture", "study_usd": "10", "study_day_usd": "5", "person_day_usd": "3"}
        assert "all three limits" in boss.post(address, limits | {"study_usd": ""}).content.decode()
        boss.post(address, limits)
        batch = launch(study, model, by=owner, cap_usd=usd(1))
        page = boss.get(address).content.decode()
        assert "$10.00" in page
        assert "$9.00" in page
        boss.post(f"{address}revoke/", {"study": "culture", "pause": "yes"})
        batch.refresh_from_db()
        assert batch.state == Batch.State.PAUSED
        assert "revoked" in boss.get(address).content.decode()
        assert boss.post(f"{address}revoke/", {"study": "culture"}).status_code == 422
        assert boss.post(f"{address}revoke/", {"study": "nowhere"}).status_code == 404

    def test_a_study_sees_what_it_was_granted_and_what_is_left(self, study, owner, lead, model, client_of):
        assert "no grants" in client_of(lead).get("/studies/culture/grants/").content.decode()
        grant_to(study, model)
        launch(study, model, by=owner, cap_usd=usd(1))
        page = client_of(lead).get("/studies/culture/grants/").content.decode()
        for amount in ("$9.00", "of $10.00", "$4.00", "of $5.00", "$3.00"):
            assert amount in page
        _, token = create_token(user=owner, name="", by=owner)
        answer = Client().get("/api/v1/studies/culture/grants/", headers={"Authorization": f"Bearer {token}"})
        [row] = answer.json()["results"]
        assert (row["left"], row["left_today"], row["left_for_you_today"]) == (9, 4, 2)

    def test_what_is_left_is_rounded_down_to_cents(self, study, owner, model):
        grant = grant_to(study, model)
        batch = launch(study, model, by=owner, cap_usd=usd(1))
        Batch.objects.filter(pk=batch.pk).update(state=Batch.State.DONE, spent_nano=1)
        [row] = describe_grants([grant], owner)
        assert row["left"] == (9_990_000_000, 4_990_000_000, 2_990_000_000)
        with pytest.raises(Refused, match=r"\$2\.99 of \$3\.00 is left for you"):
            launch(study, model, by=owner, cap_usd=usd(3))


class TestQuotas:
    def test_no_launch_has_more_cells_than_the_site_allows(self, study, model, settings):
        settings.MAX_CELLS_PER_LAUNCH = 20
        launch(study, model, inputs=10, repeats=2)
        with pytest.raises(Refused, match=r"has 22 cells .* limit of this site is 20.*MAX_CELLS_PER_LAUNCH"):
            launch(study, model, inputs=11, repeats=2)

    def test_a_study_has_so_many_open_batches_at_once(self, study, owner, numbers, settings):
        settings.MAX_OPEN_BATCHES = 2
        fake = add_model(label="fake", provider="fake", by=trail.SYSTEM)
        done = launch(study, fake, by=owner)
        fail_cells(done)
        first = launch(study, fake, by=owner)
        launch(study, fake, by=owner)
        with pytest.raises(Refused, match=r"2 open batches.*MAX_OPEN_BATCHES"):
            launch(study, fake, by=owner)
        with pytest.raises(Refused, match="2 open batches"):
            actions.retry_failed(batch=done, by=owner)
        launch(study, fake)
        for batch in (first, Batch.objects.latest("pk")):
            actions.cancel_batch(batch=batch, by=owner)
        actions.retry_failed(batch=done, by=owner)
