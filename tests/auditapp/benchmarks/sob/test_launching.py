"""How a sob batch is sent, asked again, and launched from the command line."""

import json
import uuid
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from auditapp.batches import actions
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.launching import LaunchOptions
from auditapp.batches.ledger.prompts import make_request
from auditapp.batches.models import Batch, Cell
from auditapp.benchmarks.sob.judging.launching import confirm_notice, launch_sob
from auditapp.benchmarks.sob.management.commands.sob import find_dataset
from auditapp.benchmarks.sob.models import Judgment, TermsNotice
from auditapp.benchmarks.sob.pure.answer_words import ATTRIBUTES
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.benchmarks.sob.queries import find_families, find_pairs, read_arms
from auditapp.benchmarks.sob.texts.actions.loading import load_dataset
from auditapp.llm.actions import add_model, check_model, set_capabilities
from auditapp.llm.providers import write_body
from tests.auditapp.benchmarks.sob.conftest import answer_cells, write_texts
from tests.support.services import quick_on
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study


def test_the_options_of_a_batch_are_passed_on(dataset, owner):
    variant = add_model(label="m", provider="fake", by=owner)
    set_capabilities(variant=variant, offers_batches=True, by=owner)
    asked = {"dataset": dataset, "variants": [variant], "tasks": ["acceptability"], "by": owner}
    options = LaunchOptions(
        pilot=2, lost_answers="hold", uses_cache=True, route="jobs", repeats=2, idempotency_key=uuid.uuid4()
    )
    batch = launch_sob(**asked, options=options)
    assert (batch.pilot_cells, batch.lost_answers, batch.uses_cache, batch.route) == (2, "hold", True, "jobs")
    assert launch_sob(**asked, options=options) == batch
    with pytest.raises(Refused, match="with other settings"):
        launch_sob(**asked | {"tasks": ["non_acceptability"]}, options=options)


def test_a_judgment_that_says_no_answer_came_goes_when_its_cell_is_asked_again(batch):
    answer_cells(batch, ['{"gender": "woman"}', None, None, "I cannot do that."])
    cells = list(Cell.objects.filter(batch=batch).order_by("pk")[:4])
    for cell, outcome in zip(cells, ["attributed", "provider_error", "provider_error", "refusal"], strict=True):
        state = "failed" if outcome == "provider_error" else "done"
        Cell.objects.filter(pk=cell.pk).update(state=state, outcome=outcome)
    assert Judgment.objects.count() == 4
    assert actions.retry_failed(batch=batch, by=trail.SYSTEM) == 2
    assert set(Judgment.objects.values_list("cell_id", flat=True)) == {cells[0].pk, cells[3].pk}
    assert Cell.objects.get(pk=cells[1].pk).state == "planned"


def test_a_launch_that_makes_no_sense_is_refused_in_a_sentence(dataset, owner):
    add_model(label="m", provider="fake", by=owner)
    for words, sentence in [
        (["--yes"], "--yes needs --wait and --cap"),
        (["--yes", "--wait"], "--yes needs --wait and --cap"),
        (["--cap", "much"], "--cap .much. is not a number"),
        (["--wait", "--route", "file"], "--wait cannot be used here"),
        (["--route", "jobs"], "No batch service"),
        (["--pilot", "-1"], "0 means no pilot"),
    ]:
        with pytest.raises(CommandError, match=sentence):
            call_command("sob", "launch", "--dataset", "Texts", "--model", "m", "--task", "acceptability", *words)
        assert not Batch.objects.exists()


def test_the_command_launches_with_its_options(dataset, owner):
    add_model(label="m", provider="fake", by=owner, price_in=Decimal(1), price_out=Decimal(1))
    out = StringIO()
    how = ["--pilot", "1", "--lost-answers", "hold", "--cache", "--cap", "2", "--concurrency", "9"]
    call_command(
        "sob", "launch", "--dataset", "Texts", "--model", "m", "--task", "acceptability", *how, "--json", stdout=out
    )
    shown = json.loads(out.getvalue())
    assert (shown["state"], shown["cells"], shown["pilot_cells"], shown["cap"]) == ("pilot", 4, 1, 2.0)
    assert (shown["lost_answers"], shown["uses_cache"], shown["concurrency"]) == ("hold", True, 9)


def test_a_model_with_and_without_reasoning_is_a_pair_only_under_the_same_sampling(dataset, owner):
    settings = {
        "off": {"reasoning": "off"},
        "on": {"reasoning": "on"},
        "on, warm": {"reasoning": "on", "temperature": 1.5},
        "off, cold": {"reasoning": "off", "temperature": 0.0},
        "on, cold": {"reasoning": "on", "temperature": 0.0},
    }
    variants = [add_model(label=label, provider="fake", model="m", by=owner, **how) for label, how in settings.items()]
    arms = read_arms(launch_sob(dataset=dataset, variants=variants, tasks=["acceptability"], by=owner))
    assert set(find_pairs(arms)) == {("off", "on"), ("off, cold", "on, cold")}


def test_a_judgment_is_never_held_to_a_schema_whatever_the_server_honours(dataset, owner):
    variant = add_model(label="m", provider="fake", by=owner)
    assert check_model(variant=variant, by=owner).honours_schema
    batch = launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner)
    arm = batch.arms.get()
    assert ANSWER_SCHEMA not in arm.settings
    # Not even if somebody wrote it into the batch: the constraint alone would set the score.
    arm.settings |= {ANSWER_SCHEMA: "full"}
    arm.save()
    request = make_request(batch.arms.get(), "A text.")
    assert request.answer_schema is None
    assert write_body("openai_compatible", request).keys() == {"model", "messages"}
    assert "output_config" not in write_body("anthropic", request)


@pytest.mark.parametrize("provider", ["openai_compatible", "anthropic"])
@pytest.mark.parametrize(
    "name", ["response_format", "grammar", "guided_json", "structured_outputs", "output_config", "tools", "logit_bias"]
)
def test_no_parameter_of_a_variant_can_constrain_a_judgment(dataset, owner, provider, name):
    variant = add_model(
        label="m",
        provider=provider,
        base_url="https://models.example/v1",
        model="x",
        parameters={name: {}},
        by=owner,
    )
    with pytest.raises(Refused, match=name):
        launch_sob(dataset=dataset, variants=[variant], tasks=["acceptability"], by=owner)


def test_a_family_is_declared_where_ids_differ(dataset, owner):
    for label, model, reasoning in (("one-I", "one-instruct", "off"), ("one-T", "one-think", "on"), ("two", "two", "")):
        add_model(label=label, provider="fake", model=model, reasoning=reasoning, by=owner)
    given = [
        "--dataset",
        dataset.name,
        "--model",
        "one-I",
        "--model",
        "one-T",
        "--model",
        "two",
        "--task",
        "acceptability",
    ]

    def launch(*families):
        named = [word for family in families for word in ("--family", family)]
        call_command("sob", "launch", *given, *named, stdout=StringIO(), stderr=StringIO())

    launch("one-I=one", "one-T=one")
    arms = read_arms(Batch.objects.get())
    assert find_families(arms) == {"one-I": "one", "one-T": "one", "two": "two"}
    assert find_pairs(arms) == (("one-I", "one-T"),)
    refused = {("three=x",): "not one of the models of this batch", ("two",): "LABEL=NAME", ("two=a", "two=b"): "once"}
    for families, sentence in refused.items():
        with pytest.raises(CommandError, match=sentence):
            launch(*families)
    assert Batch.objects.count() == 1


def test_a_set_that_the_study_has_not_is_told_with_those_it_has(dataset, owner):
    other = create_study(slug="other", name="Other", by=owner)
    load_dataset(study=other, name="Theirs", file_name="t.jsonl", data=write_texts(), by=owner)
    with pytest.raises(Refused) as refused:
        find_dataset("Theirs", dataset.study.slug)
    told = str(refused.value)
    assert f"in the study {dataset.study.slug}. The datasets are: {dataset.name}." in told
    assert "'Theirs' is in other: name that study with --study" in told
    with pytest.raises(CommandError, match="There is no study 'nowhere'"):
        find_dataset("Theirs", "nowhere")


class TestArms:
    def test_an_arm_knows_its_instrument_by_name_hash_and_schema(self, batch):
        arm = batch.arms.filter(task="non_acceptability")[0]
        instrument = get_instrument("non_acceptability")
        assert arm.settings == {
            "instrument": "paper",
            "sha256": instrument.sha256,
            "schema": list(ATTRIBUTES),
            "comparable": True,
        }

    def test_the_base_prompt_is_one_arm_of_each_model_and_its_answers_are_verdicts(self, dataset, owner):
        variants = [add_model(label=label, provider="fake", by=owner) for label in ("model a", "model b")]
        batch = launch_sob(dataset=dataset, variants=variants, tasks=["acceptability"], include_base=True, by=owner)
        assert sorted(batch.arms.values_list("variant__label", "task")) == [
            (label, task) for label in ("model a", "model b") for task in ("acceptability", "base")
        ]
        answer_cells(batch, ["Non-acceptable", '{"Race": "White"}', "I cannot help with that.", None], task="base")
        answer_cells(batch, ["Acceptable"])
        found = Judgment.objects.order_by("cell_id").values_list("arm__task", "outcome", "verdict", "n_attributes")
        assert sorted(found) == [
            ("acceptability", "off_format", "", 0),
            ("base", "off_format", "", 0),
            ("base", "provider_error", "", 0),
            ("base", "refusal", "", 0),
            ("base", "verdict", "non_acceptable", 0),
        ]

    def test_the_base_prompt_can_be_asked_alone(self, dataset, owner):
        variant = add_model(label="m", provider="fake", by=owner)
        batch = launch_sob(dataset=dataset, variants=[variant], tasks=[], include_base=True, by=owner)
        assert list(batch.arms.values_list("task", flat=True)) == ["base"]

    def test_answers_of_a_group_are_stored_in_a_handful_of_queries(self, batch, django_assert_max_num_queries):
        with django_assert_max_num_queries(5):  # the cells of the test itself are one, the texts with objects another
            answer_cells(batch, ['{"Race": "White"}', "Person: Unknown", "{}", None])


class TestTerms:
    """The command demands what the launch page demands, once per study."""

    asked = (
        "sob",
        "launch",
        "--dataset",
        "Texts",
        "--model",
        "m",
        "--task",
        "acceptability",
        "--base",
        "--repeats",
        "2",
    )

    def launch(self, *more):
        out = StringIO()
        call_command(*self.asked, *more, stdout=out, stderr=StringIO())
        return out.getvalue()

    @pytest.fixture
    def paid(self, dataset, owner):
        add_model(
            label="m",
            provider="openai_compatible",
            base_url="https://models.example/v1",
            model="x",
            max_tokens=100,
            by=owner,
        )

    def test_nothing_is_launched_where_nobody_has_confirmed_them(self, paid):
        with pytest.raises(CommandError, match=r"read the terms .* nothing was launched\. Add --confirm-terms"):
            self.launch()
        assert not Batch.objects.exists()

    def test_the_flag_confirms_them_for_the_study(self, paid):
        launched = self.launch("--confirm-terms")
        assert "was launched with 16 cells. Watch it at http" in launched
        assert TermsNotice.objects.count() == 1
        assert "was launched" in self.launch()

    def test_the_page_confirms_them_for_the_command_too(self, paid, dataset, owner):
        confirm_notice(study=dataset.study, by=owner)
        assert "was launched" in self.launch()

    def test_texts_for_a_fake_model_go_nowhere_and_need_none(self, dataset, owner):
        add_model(label="m", provider="fake", model="x", by=owner)
        assert "was launched" in self.launch()
        assert not TermsNotice.objects.exists()


@quick_on("sqlite")
@pytest.mark.processes
@pytest.mark.full
def test_waiting_with_a_pilot_returns_when_the_batch_waits_and_yes_carries_it_to_its_end(instance, tmp_path):
    texts = tmp_path / "texts.jsonl"
    texts.write_bytes(write_texts(30))
    instance.manage("study", "create", "study", "--name", "Study")
    instance.manage("sob", "load", str(texts), "--name", "Texts", "--study", "study")
    instance.manage("model", "add", "m", "--provider", "fake", "--price-in", "1", "--price-out", "1")
    launch = ["sob", "launch", "--dataset", "Texts", "--study", "study", "--model", "m", "--task", "acceptability"]
    first = instance.ask(*launch, "--pilot", "5", "--wait")
    assert (first["state"], first["calls"], first["cells"]) == ("waiting", 5, 30)
    confirmed = instance.ask("batch", "confirm", str(first["batch"]), "--cap", "5")
    assert (confirmed["state"], confirmed["cap"]) == ("running", 5.0)
    second = instance.ask(*launch, "--pilot", "5", "--cap", "5", "--wait", "--yes")
    assert (second["state"], second["calls"]) == ("done", 30)
