import threading
import uuid
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from auditapp.batches import actions, launching
from auditapp.batches.grids import draw_pilot
from auditapp.batches.launching import LaunchOptions, PlannedArm, settle_pilot
from auditapp.batches.models import Arm, Batch, Cell, WorkQueue
from auditapp.batches.runner import tasks
from auditapp.llm.actions import set_capabilities, set_price
from auditapp.llm.models import ModelVariant
from auditapp.llm.providers import ASSUMED_MAX_OUTPUT
from tests.auditapp.batches.trial_kinds import answer, claim, launch, make_variant
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study

pytestmark = pytest.mark.usefixtures("numbers", "without_grants")


class TestGrid:
    def test_every_arm_gets_every_input_as_often_as_asked(self, study):
        batch = launch(study, make_variant("a"), make_variant("b"), inputs=3, repeats=2)
        cells = Cell.objects.filter(batch=batch)
        assert cells.count() == 12
        assert set(cells.values_list("state", "pilot", "fence", "tries", "outcome")) == {("planned", False, 0, 0, "")}
        for arm in Arm.objects.filter(batch=batch):
            rows = cells.filter(arm=arm).order_by("pk").values_list("repeat", "input_id")
            assert list(rows) == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]

    def test_planning_takes_as_many_queries_for_many_inputs_as_for_few(self, study):
        first, second = make_variant("a"), make_variant("b")
        launch(study, inputs=1)
        with CaptureQueriesContext(connection) as few:
            launch(study, first, inputs=2)
        with CaptureQueriesContext(connection) as many:
            launch(study, second, inputs=500)
        assert len(few) == len(many)

    def test_there_is_a_queue_for_each_model_of_an_account(self, study):
        one = make_variant("one", model="m")
        again = make_variant("again", model="m", price=None)
        other = make_variant("other", model="n")
        batch = launch(study, one, again, other)
        assert list(WorkQueue.objects.filter(batch=batch).order_by("name").values_list("name", flat=True)) == sorted(
            {one.queue_name, other.queue_name}
        )

    def test_one_event_tells_of_a_launch_in_whole_numbers_and_short_words(self, study, lead):
        batch = launch(study, make_variant("a"), inputs=40, pilot=5, cap_usd=Decimal("2.5"), by=lead)
        [event] = AuditEvent.objects.filter(target=f"batches.batch:{batch.pk}")
        assert (event.action, event.actor_name) == ("batch.launched", "lead")
        assert event.details == {
            "kind": "numbers",
            "cells": 40,
            "pilot": 5,
            "arms": ["a task"],
            "cap_usd": "2.5",
            "route": "live",
            "lost_answers": "retry",
        }

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"inputs": 0}, "nothing to ask about"),
            ({"repeats": 0}, "Repeats must be between 1 and 1,000"),
            ({"repeats": 1001}, "Repeats must be between 1 and 1,000"),
            ({"concurrency": 0}, "between 1 and 1,000"),
            ({"concurrency": 1001}, "between 1 and 1,000"),
            ({"pilot": -1}, "0 means no pilot"),
            ({"cap_usd": Decimal(0)}, "more than 0"),
            ({"cap_usd": Decimal("NaN")}, "more than 0"),
        ],
    )
    def test_what_makes_no_batch_is_refused_and_leaves_nothing(self, study, options, words):
        with pytest.raises(Refused, match=words):
            launch(study, **options)
        assert not Batch.objects.exists()

    def test_a_model_named_twice_is_refused(self, study):
        variant = make_variant()
        with pytest.raises(Refused, match="once"):
            launch(study, variant, variant)

    def test_an_input_named_twice_is_refused(self, study):
        with pytest.raises(Refused, match="Each text can be named only once"):
            launching.launch_batch(
                study=study,
                kind="numbers",
                title="Numbers",
                arms=[PlannedArm(make_variant(), "task", "Say it.")],
                input_ids=[1, 1],
                by=trail.SYSTEM,
            )

    @pytest.mark.parametrize(
        ("options", "refuses"),
        [
            ({"max_tokens": 100}, False),
            ({"max_tokens": None}, True),
            ({"max_tokens": None, "price": 0}, False),
            ({"max_tokens": None, "provider": "anthropic", "base_url": ""}, False),
        ],
    )
    def test_a_cap_needs_to_know_the_longest_answer_of_a_paid_model(self, study, options, refuses):
        variant = make_variant("m", **options)
        if not refuses:
            assert launch(study, variant, cap_usd=Decimal(1)).cap_nano == 1_000_000_000
            return
        with pytest.raises(Refused, match="for m no limit is set and the model's maximum is not recorded"):
            launch(study, variant, cap_usd=Decimal(1))
        batch = launch(study, variant)
        with pytest.raises(Refused, match="no limit is set"):
            actions.change_cap(batch=batch, cap_usd=Decimal(1), by=trail.SYSTEM)
        set_capabilities(variant=variant, max_output_tokens=5_000, by=trail.SYSTEM)
        with pytest.raises(Refused, match="no limit is set"):  # of what this batch was launched with
            actions.change_cap(batch=batch, cap_usd=Decimal(1), by=trail.SYSTEM)
        launch(study, variant, inputs=4, cap_usd=Decimal(1))

    def test_without_a_limit_the_models_maximum_is_reserved(self, study):
        unlimited = make_variant("m", max_tokens=None)
        set_capabilities(variant=unlimited, max_output_tokens=5_000, by=trail.SYSTEM)
        limited = make_variant("n", max_tokens=5_000)
        reserved = [claim(launch(study, each, inputs=1), 1)[0].leased.reserved_nano for each in (unlimited, limited)]
        assert reserved[0] == reserved[1] > 5_000 * 2_000
        assumed = claim(launch(study, make_variant("o", max_tokens=None), inputs=1), 1)[0]
        assert assumed.leased.reserved_nano > ASSUMED_MAX_OUTPUT * 2_000

    @pytest.mark.parametrize(
        ("options", "refused", "sentence"),
        [
            (
                {"seed": 7, "temperature": 0.5},
                {"takes_seed": False},
                "m: m does not accept seed, according to its recorded",
            ),
            (
                {"temperature": 0.5, "top_p": 1.0},
                {"takes_temperature": False, "takes_top_p": False},
                "temperature and top_p",
            ),
            ({"seed": 7, "provider": "anthropic", "base_url": ""}, {}, "m: m takes no seed: Anthropic's API has none"),
            ({"reasoning": "5000"}, {}, "no reasoning token budget"),
        ],
    )
    def test_a_setting_that_is_not_accepted_is_told_before_anything_is_sent(self, study, options, refused, sentence):
        variant = make_variant("m", **options)
        set_capabilities(variant=variant, by=trail.SYSTEM, **refused)
        with pytest.raises(Refused, match=sentence):
            launch(study, variant, make_variant("other"))
        assert not Batch.objects.exists()
        set_capabilities(variant=variant, by=trail.SYSTEM)
        if refused:
            assert launch(study, variant).cells.count() == 3

    def test_a_cap_needs_a_price_for_every_model(self, study):
        with pytest.raises(Refused, match="have none: dear"):
            launch(study, make_variant("cheap"), make_variant("dear", price=None), cap_usd=Decimal(1))

    def test_the_queues_are_rung_when_the_batch_stands(self, study, monkeypatch, django_capture_on_commit_callbacks):
        notified = []
        monkeypatch.setattr(tasks, "notify_queue", notified.append)
        with django_capture_on_commit_callbacks(execute=True):
            batch = launch(study)
        assert notified == [batch.queues.get().pk]


class TestPilot:
    def test_a_pilot_is_so_many_calls_of_each_arm(self, study):
        batch = launch(study, make_variant("a"), make_variant("b"), inputs=20, repeats=2, pilot=7)
        assert (batch.state, batch.control, batch.pilot_cells) == ("pilot", "run", 14)
        for arm in batch.arms.all():
            assert Cell.objects.filter(arm=arm, pilot=True).count() == 7

    def test_a_pilot_is_drawn_at_random_and_the_same_for_the_same_seed(self):
        ids = list(range(1, 1001))
        drawn = draw_pilot([[each] for each in ids], 1, 30, seed="batch 1 arm 1")
        assert drawn == draw_pilot([[each] for each in ids], 1, 30, seed="batch 1 arm 1")
        assert drawn != draw_pilot([[each] for each in ids], 1, 30, seed="batch 1 arm 2")
        assert len(set(drawn[1])) == 30
        assert max(drawn[1]) > 500 > min(drawn[1])

    def test_a_pilot_is_drawn_from_all_repeats(self):
        drawn = draw_pilot([[1], [2], [3], [4]], 5, 15, seed="x")
        assert set(drawn) <= {1, 2, 3, 4, 5}
        assert len(drawn) > 1
        assert sum(map(len, drawn.values())) == 15

    @pytest.mark.parametrize(
        ("options", "inputs", "arms", "pilot"),
        [
            ({"pilot": None}, 5, 2, 1),
            ({"pilot": None}, 99, 2, 9),
            ({"pilot": None}, 9, 40, 1),
            ({"pilot": None}, 5_000, 2, 30),
            ({"pilot": None, "repeats": 3}, 100, 1, 30),
            ({"pilot": None, "route": "file"}, 100, 1, 0),
            ({"pilot": 7}, 100, 2, 7),
            ({"pilot": 0}, 100, 2, 0),
        ],
    )
    def test_a_pilot_that_nobody_names_is_one_call_in_ten_and_at_most_thirty_of_each_arm(
        self, options, inputs, arms, pilot
    ):
        planned = [PlannedArm(ModelVariant(), f"task {number}", "") for number in range(arms)]
        assert settle_pilot(planned, range(inputs), LaunchOptions(**options)) == pilot

    @pytest.mark.parametrize("inputs", [2, 3])
    def test_a_batch_no_larger_than_its_pilot_has_none(self, study, inputs):
        batch = launch(study, inputs=inputs, pilot=3)
        assert (batch.state, batch.pilot_cells) == ("running", 0)
        assert not Cell.objects.filter(batch=batch, pilot=True).exists()

    def test_only_the_pilot_is_claimed_and_then_the_batch_waits(self, study):
        batch = launch(study, inputs=10, pilot=4)
        assert len(answer(batch, 10)) == 4
        assert set(batch.cells.filter(state="done").values_list("pilot", flat=True)) == {True}
        assert (batch.state, batch.control) == ("waiting", "pause")
        assert claim(batch, 10) == []


class TestPressedTwice:
    def test_the_same_form_sent_again_gives_the_batch_it_made(self, study):
        variant, idempotency_key = make_variant(), uuid.uuid4()
        first = launch(study, variant, idempotency_key=idempotency_key)
        again = launch(study, variant, idempotency_key=idempotency_key)
        assert again == first
        assert Batch.objects.count() == 1
        assert Cell.objects.count() == 3
        assert AuditEvent.objects.filter(action="batch.launched").count() == 1

    @pytest.mark.parametrize("otherwise", [{"inputs": 50}, {"concurrency": 7}, {"repeats": 2}, {"cap_usd": Decimal(1)}])
    def test_the_same_form_with_other_settings_is_refused(self, study, otherwise):
        variant, idempotency_key = make_variant(), uuid.uuid4()
        set_price(variant=variant, price_in=Decimal(3), price_out=Decimal(4), by=trail.SYSTEM)
        first = launch(study, variant, idempotency_key=idempotency_key)
        with pytest.raises(Refused, match=f"launched batch {first.pk}, with other settings"):
            launch(study, variant, idempotency_key=idempotency_key, **otherwise)
        with pytest.raises(Refused, match="with other settings"):
            launch(study, make_variant("another"), idempotency_key=idempotency_key)
        assert Batch.objects.get() == first

    def test_a_batch_of_before_there_were_digests_is_given_back(self, study):
        variant, idempotency_key = make_variant(), uuid.uuid4()
        first = launch(study, variant, idempotency_key=idempotency_key)
        Batch.objects.update(parameters={})
        assert launch(study, variant, idempotency_key=idempotency_key, inputs=50) == first

    def test_two_presses_at_the_same_time_make_one_batch(self, study, monkeypatch):
        variant, idempotency_key = make_variant(), uuid.uuid4()
        first = launch(study, variant, idempotency_key=idempotency_key)
        look, looked = launching.find_launched, []

        def look_too_early(study, key, asked):
            looked.append(key)
            return look(study, key, asked) if len(looked) > 1 else None

        monkeypatch.setattr(launching, "find_launched", look_too_early)
        assert launch(study, variant, idempotency_key=idempotency_key) == first
        assert len(looked) == 2
        assert Batch.objects.count() == 1

    def test_the_form_of_another_study_is_refused(self, study, owner):
        idempotency_key = uuid.uuid4()
        launch(study, idempotency_key=idempotency_key)
        other = create_study(slug="other", name="Other", by=owner)
        with pytest.raises(Refused, match="another study"):
            launch(other, idempotency_key=idempotency_key)

    def test_the_database_keeps_a_form_to_one_batch(self, study):
        idempotency_key = uuid.uuid4()
        launch(study, idempotency_key=idempotency_key)
        second = launch(study)
        with pytest.raises(IntegrityError):
            Batch.objects.filter(pk=second.pk).update(idempotency_key=idempotency_key)


class TestPricesAndRoutes:
    def test_an_arm_pins_the_newest_prices_and_capabilities(self, study):
        variant = make_variant()
        set_price(variant=variant, price_in=Decimal(3), price_out=Decimal(4), by=trail.SYSTEM)
        row = set_capabilities(variant=variant, by=trail.SYSTEM)
        arm = launch(study, variant).arms.get()
        set_price(variant=variant, price_in=Decimal(5), price_out=Decimal(6), by=trail.SYSTEM)
        arm.refresh_from_db()
        assert (arm.price_in, arm.price_out, arm.price.number if arm.price else None) == (Decimal(3), Decimal(4), 2)
        assert arm.capabilities == row

    def test_the_provider_batch_service_costs_its_share_of_the_price(self, study):
        variant = make_variant()
        set_price(
            variant=variant,
            price_in=Decimal("0.000003"),
            price_out=Decimal(4),
            batch_share=Decimal("0.5"),
            by=trail.SYSTEM,
        )
        set_capabilities(variant=variant, offers_batches=True, by=trail.SYSTEM)
        live, jobs = launch(study, variant).arms.get(), launch(study, variant, route="jobs").arms.get()
        assert (live.price_in, live.price_out) == (Decimal("0.000003"), Decimal(4))
        # Rounded up, so that no call is billed above what was reserved for it.
        assert (jobs.price_in, jobs.price_out) == (Decimal("0.000002"), Decimal(2))

    def test_the_batch_service_needs_a_model_known_to_offer_one(self, study):
        with pytest.raises(Refused, match="No batch service of the provider is known for plain"):
            launch(study, make_variant("plain"), route="jobs")

    def test_answers_come_as_a_file_only_for_accounts_made_for_it(self, study):
        with pytest.raises(Refused, match="directly"):
            launch(study, make_variant("live"), route="file")
        brought = make_variant("brought", provider="file", base_url="")
        with pytest.raises(Refused, match="imported from a file"):
            launch(study, brought)
        with pytest.raises(Refused, match="no pilot"):
            launch(study, brought, route="file", inputs=10, pilot=2)
        with pytest.raises(Refused, match="cannot have a cap"):
            launch(study, brought, route="file", cap_usd=Decimal(1))
        batch = launch(study, brought, route="file")
        assert batch.state == "running"
        with pytest.raises(Refused, match="cannot have a cap"):
            actions.change_cap(batch=batch, cap_usd=Decimal(1), by=trail.SYSTEM)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite takes one writer at a time anyway")
@pytest.mark.django_db(transaction=True)
def test_presses_in_parallel_make_one_batch(numbers):
    owner = User.objects.create_user(username="owner", password=None, may_start_studies=True)
    study = create_study(slug="culture", name="Cultural schemas", by=owner)
    variant, idempotency_key = make_variant(), uuid.uuid4()
    made = []

    def press():
        try:
            made.append(launch(study, variant, idempotency_key=idempotency_key).pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert len(set(made)) == 1
    assert Cell.objects.count() == 3
