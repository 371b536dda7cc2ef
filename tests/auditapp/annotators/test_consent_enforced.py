"""Consent, end to end: what reaches a paid API off the site, whatever the route and whenever a consent is taken back."""

import datetime
import json
import re
import urllib.request
from decimal import Decimal

import pytest
from django.conf import settings
from django.db.models import F

from auditapp.annotators.actions.launching import launch_model
from auditapp.annotators.runner import PreannotationKind
from auditapp.batches.actions import pause_batch, resume_batch
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.ledger.verify import verify_batches
from auditapp.batches.models import Attempt, Batch, Cell, ProviderJob
from auditapp.batches.routes import jobs
from auditapp.llm import credentials
from auditapp.llm.actions import add_model, set_capabilities
from auditapp.llm.models import ProviderAccount
from tests.auditapp.annotators.cast import OFF_SITE, add_interviews, add_reader, allow, publish_next
from tests.auditapp.batches.queues import Shop
from tests.support.instance import wait_until
from transcripts.audit_trail import trail
from transcripts.corpus.consent import save_redaction
from transcripts.corpus.pure.redacting import Entry

TURNS = 24


def read_sent(provider):
    """Every text that reached the paid API."""
    with urllib.request.urlopen(f"http://127.0.0.1:{provider.port}/prompts", timeout=10) as response:
        prompts = json.loads(response.read())
    return [str(prompt["text"]) for prompt in prompts.values()]


def count_sent(provider, interview):
    """How many of the interview's answers reached it; some are asked about twice."""
    marks = (re.findall(rf"{interview}, part (\d+)", text) for text in read_sent(provider))
    return len({mark for found in marks for mark in found})


def write_interviews(folder, **consents):
    """Interviews whose every answer holds the word ``about_`` and its name."""
    path = folder / "interviews.jsonl"
    lines = [
        {
            "id": name,
            "consent": consent,
            "turns": [{"role": "model", "text": f"This is about_{name}, part {part}."} for part in range(TURNS)],
        }
        for name, consent in consents.items()
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.mark.full
@pytest.mark.processes
class TestWorker:
    """A real worker, and the paid API under an address that is nobody's own network."""

    @pytest.fixture
    def study(self, instance, tmp_path):
        instance.manage("study", "create", "s", "--name", "S")
        given = {"external": True}
        path = write_interviews(tmp_path, yes=given, silent=None, no={"external": False}, gone=given, late=given)
        instance.manage("interview", "import", str(path), "--study", "s")
        return instance

    def launch(self, study, host, port, *more):
        address = ("--base-url", f"http://{host}:{port}/v1", "--model", "m")
        study.manage("model", "add", "m", "--provider", "openai_compatible", *address)
        asked = ("--study", "s", "--annotator", "m", "--family", "themes", "--concurrency", "1", "--pilot", "0")
        return int(study.ask("annotator", "run", *asked, *more)["batch"])

    def withdraw(self, study, interview):
        asked = ("--scope", "external", "--withdrawn", "--basis", "a letter", "--interview", interview)
        study.manage("interview", "consent", "--study", "s", *asked)

    def wait_for_end(self, study, batch):
        sql = f"SELECT state FROM batches_batch WHERE id = {batch}"
        wait_until(lambda: study.query(sql) == [("done",)], what="the batch was done")

    def test_nothing_without_consent_is_sent_also_when_it_is_taken_back_on_the_way(self, study, fake_provider):
        fake_provider.order(latency=0.1)
        batch = self.launch(study, "0.0.0.0", fake_provider.port)
        self.withdraw(study, "gone")
        study.start_worker()
        wait_until(lambda: count_sent(fake_provider, "late") > 0, what="the last interview was begun")
        # A letter arrives while the provider is slow.
        fake_provider.order(latency=3.0)
        self.withdraw(study, "late")
        fake_provider.order(latency=0.0)
        self.wait_for_end(study, batch)
        assert count_sent(fake_provider, "yes") == TURNS
        assert 0 < count_sent(fake_provider, "late") < TURNS
        for interview in ("silent", "no", "gone"):
            assert count_sent(fake_provider, interview) == 0, interview
        outcomes = study.query("SELECT outcome FROM batches_cell WHERE state = 'failed'")
        assert set(outcomes) == {("no_input",)}
        assert len(outcomes) >= TURNS

    @pytest.mark.full
    def test_a_model_of_the_site_itself_needs_no_consent(self, study, fake_provider):
        batch = self.launch(study, "127.0.0.1", fake_provider.port, "--limit", str(4 * TURNS))
        study.start_worker()
        self.wait_for_end(study, batch)
        assert count_sent(fake_provider, "silent") == TURNS
        assert count_sent(fake_provider, "no") == TURNS


def test_a_consent_taken_back_stops_instructions_that_hold_a_sentence_of_that_interview(study, owner):
    read, pinned = add_interviews(study, "read", "pinned")
    allow(study, read, pinned)
    publish_next(study, owner, example=pinned.turns.get(position=2).sentences.order_by("pk")[0])
    batch = launch_model(
        study=study, variant=add_reader(**OFF_SITE), interviews=[read], families=["themes"], by=trail.SYSTEM
    )
    arm = batch.arms.select_related("variant__account").get(settings__condition="")
    turns = list(arm.cells.values_list("input_id", flat=True))
    assert "I would ask about topic 0 first." in arm.system_prompt
    assert set(PreannotationKind().write_prompts(arm, turns)) == set(turns)
    allow(study, pinned, is_given=False)
    assert not PreannotationKind().write_prompts(arm, turns)


def test_a_batch_launched_for_a_model_of_the_site_stops_when_its_address_leaves_the_site(study):
    [read] = add_interviews(study, "read")
    allow(study, read)
    save_redaction(study=study, entries=[Entry("topic", "[thing]")], reason="To test.", by=trail.SYSTEM, based_on=0)
    here = OFF_SITE | {"base_url": "http://127.0.0.1:9/v1", "allow_private": True}
    near = add_reader(**here)
    batch = launch_model(study=study, variant=near, families=["themes"], by=trail.SYSTEM)
    turns = list(batch.cells.values_list("input_id", flat=True))
    assert PreannotationKind().write_prompts(batch.arms.get(settings__condition=""), turns)
    ProviderAccount.objects.filter(pk=near.account_id).update(base_url=OFF_SITE["base_url"])
    assert PreannotationKind().write_prompts(batch.arms.get(settings__condition=""), turns) == {}


def test_a_batch_launched_before_there_was_a_redaction_list_goes_on_without_one(study):
    [read] = add_interviews(study, "read")
    allow(study, read)
    batch = launch_model(study=study, variant=add_reader(**OFF_SITE), families=["themes"], by=trail.SYSTEM)
    save_redaction(study=study, entries=[Entry("topic", "[thing]")], reason="To test.", by=trail.SYSTEM, based_on=0)
    turns = list(batch.cells.values_list("input_id", flat=True))
    assert set(PreannotationKind().write_prompts(batch.arms.get(settings__condition=""), turns)) == set(turns)


class TestJobs:
    """A provider's batch service gets files that were written some time before."""

    @pytest.fixture(autouse=True)
    def _outside(self, monkeypatch, tmp_path):
        """Where the fake paid API listens counts as off the site."""
        monkeypatch.setattr(credentials, "OWN_NETWORKS", [])
        monkeypatch.setattr(settings, "SPOOL_FOLDER", tmp_path / "spool")

    @pytest.fixture
    def shop(self, fake_provider):
        shop = Shop(fake_provider)
        shop.order(reset=True)
        yield shop
        shop.order(reset=True)

    @pytest.fixture
    def interviews(self, study):
        interviews = add_interviews(study, "a", "b")
        allow(study, *interviews)
        return interviews

    def launch(self, study, shop):
        variant = add_model(
            label="m",
            provider="openai_compatible",
            base_url=shop.provider.base_url,
            model="m",
            price_in=Decimal(1),
            price_out=Decimal(2),
            allow_private=True,
            by=trail.SYSTEM,
        )
        set_capabilities(variant=variant, offers_batches=True, by=trail.SYSTEM)
        batch = launch_model(
            study=study,
            variant=variant,
            families=["themes"],
            options=LaunchOptions(route="jobs"),
            by=trail.SYSTEM,
        )
        return batch.queues.get()

    def test_a_job_written_before_a_consent_was_taken_back_is_given_up_and_made_anew(self, study, interviews, shop):
        queue = self.launch(study, shop)
        shop.order(cut_uploads=1)
        jobs.run_job_queue(queue.pk)
        [first] = ProviderJob.objects.all()
        assert (first.provider_file_id, first.provider_job_id, first.calls) == ("", "", 5)
        allow(study, interviews[0], is_given=False)
        ProviderJob.objects.update(checked_at=F("checked_at") - datetime.timedelta(minutes=10))
        jobs.run_job_queue(queue.pk)
        first, second = ProviderJob.objects.order_by("pk")
        assert (first.state, second.state) == ("failed", "submitted")
        sent = Attempt.objects.filter(job=second).values_list("cell__input_id", flat=True)
        turns = interviews[1].turns.filter(role="model").values_list("pk", flat=True)
        assert set(sent) == set(turns)
        failed = Cell.objects.filter(outcome="no_input").values_list("input_id", flat=True)
        assert set(failed) == set(interviews[0].turns.filter(role="model").values_list("pk", flat=True))
        assert verify_batches() == []

    def test_a_file_uploaded_before_a_consent_was_taken_back_is_deleted_where_it_was_brought(
        self, study, interviews, shop, monkeypatch
    ):
        queue = self.launch(study, shop)

        def withdraw(reached):
            if reached == "job_uploaded":
                pause_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
                allow(study, interviews[0], is_given=False)

        with monkeypatch.context() as patch:
            patch.setattr(jobs, "crash_point", withdraw)
            jobs.run_job_queue(queue.pk)
        assert (shop.stats()["kept"], shop.stats()["jobs"]) == (1, 0)
        resume_batch(batch=Batch.objects.get(), by=trail.SYSTEM)
        jobs.run_job_queue(queue.pk)
        first, second = ProviderJob.objects.order_by("pk")
        assert (first.state, second.state) == ("failed", "submitted")
        assert (shop.stats()["deleted"], shop.stats()["kept"]) == (1, 1), "there is the file of the second job alone"
        assert not Attempt.objects.filter(job=second, cell__input_id__in=interviews[0].turns.values("pk")).exists()

    def test_where_every_consent_was_taken_back_no_job_is_made(self, study, interviews, shop):
        queue = self.launch(study, shop)
        allow(study, *interviews, is_given=False)
        jobs.run_job_queue(queue.pk)
        assert not ProviderJob.objects.exists()
        assert shop.stats()["jobs"] == 0
        assert Batch.objects.get().state == "done"
