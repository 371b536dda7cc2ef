"""Launching in steps: the form, what it would send and cost, the batch."""

import re
import uuid
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from auditapp.batches.ledger.prompts import compute_highest_price, make_request
from auditapp.batches.models import Arm, Attempt, Batch, Cell, WorkerSign
from auditapp.benchmarks.sob.judging.launching import add_wording, find_notice
from auditapp.benchmarks.sob.models import Text
from auditapp.benchmarks.sob.pure.instruments import get_instrument
from auditapp.llm.actions import add_model, set_capabilities
from auditapp.llm.models import Capabilities
from transcripts.audit_trail.models import AuditEvent

pytestmark = pytest.mark.usefixtures("without_grants")


@pytest.fixture
def variant(owner, settings):
    settings.PROVIDER_KEYS = {"EXAMPLE_KEY": frozenset({"models.example:443"})}
    return add_model(
        label="priced",
        provider="openai_compatible",
        base_url="https://models.example/v1",
        model="gpt-5",
        max_tokens=1024,
        key_env="EXAMPLE_KEY",
        price_in=Decimal(1),
        price_out=Decimal(2),
        by=owner,
    )


@pytest.fixture
def typed(dataset, variant):
    """A form that can be sent."""
    return {
        "dataset": dataset.pk,
        "models": [variant.pk],
        "tasks": ["acceptability", "non_acceptability"],
        "instrument": "paper",
        "notice": "on",
        "repeats": 1,
        "concurrency": 5,
        "pilot": 2,
        "cap": "1.5",
        "lost_answers": "hold",
        "idempotency_key": str(uuid.uuid4()),
    }


class Wizard:
    """A lead's browser on the launch form."""

    def __init__(self, client, study):
        self.client, self.path = client, reverse("sob:launch", args=[study.slug])
        self.status = 200

    def send(self, typed, step=""):
        got = self.client.post(self.path, typed | ({"step": step} if step else {}))
        self.status = got.status_code
        return " ".join(got.content.decode().split())


@pytest.fixture
def wizard(study, lead, client_of):
    return Wizard(client_of(lead), study)


def read_hidden(page):
    """What the review carries on, as a browser would send it."""
    form = page[page.index('<form class="form launch"') :]
    found = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form):
        found.setdefault(name, []).append(value)
    return found


class TestReview:
    def test_it_says_what_would_be_sent_and_writes_nothing(self, wizard, typed):
        page = wizard.send(typed)
        assert wizard.status == 200
        assert Batch.objects.count() == 0
        assert "Review the launch" in page
        assert '<p class="figure">8</p>' in page
        assert '<p class="figure">4</p>' in page
        assert get_instrument("acceptability", "paper").text.split("\n")[0][:40] in page
        assert "EXAMPLE_KEY" in page
        assert "Start pilot" in page
        assert Attempt.objects.count() == 0

    def test_it_names_the_data_set_the_texts_and_the_wording(self, wizard, typed):
        page = wizard.send(typed | {"limit": 3, "include_base": "on"})
        assert "<dt>Dataset</dt><dd>Texts</dd>" in page
        assert "<dt>Texts</dt><dd>3 of 4</dd>" in page
        assert "<dt>Tasks</dt><dd>Acceptability, Non-acceptability, the Base prompt</dd>" in page
        assert "<dt>Wording</dt><dd>paper: as printed in Tables 8 and 9</dd>" in page
        assert "were asked for" not in page

    def test_it_says_where_no_limit_is_set_and_where_one_may_cut_off_thinking(self, wizard, typed, owner):
        address = {
            "provider": "openai_compatible",
            "base_url": "https://models.example/v1",
            "by": owner,
        }
        known = add_model(label="known", model="k", **address)
        set_capabilities(variant=known, max_output_tokens=16_384, by=owner)
        unknown = add_model(label="unknown", model="u", price_in=Decimal(1), price_out=Decimal(1), **address)
        page = wizard.send(typed | {"models": [known.pk, unknown.pk], "cap": ""})
        assert "the longest possible answer: 16,384 tokens from known." in page
        assert "answers of unknown, and the most that the model can write is not recorded" in page
        assert "assumes at most 131,072 tokens per answer" in page
        assert "Thinking counts" not in page
        assert "1,024 tokens for priced. A model that thinks" in wizard.send(typed)
        assert "A cap requires a known maximum cost per answer, but for unknown" in wizard.send(
            typed | {"models": [unknown.pk]}
        )

    def test_a_limit_above_the_texts_there_are_is_told(self, wizard, typed):
        page = wizard.send(typed | {"limit": 999999})
        assert "999,999 texts were requested, but Texts has 4, so all are used." in page
        assert "<dt>Texts</dt><dd>4 of 4</dd>" in page

    def test_it_refuses_what_a_launch_refuses(self, wizard, typed, owner):
        unpriced = add_model(
            label="unpriced", provider="openai_compatible", base_url="https://models.example/v1", model="x", by=owner
        )
        elsewhere = add_model(label="elsewhere", provider="file", base_url="", model="y", by=owner)
        for wrong, sentence in (
            ({"cap": "0", "route": "live"}, "A cap must be more than 0"),
            ({"models": [unpriced.pk], "route": "live"}, "A cap needs prices"),
            ({"models": [elsewhere.pk], "cap": "", "route": "live"}, "its answers are imported from a file"),
            ({"route": "file", "cap": ""}, "Only models of a file account can get their answers from a file"),
        ):
            page = wizard.send(typed | wrong, "review")
            assert wizard.status == 422, sentence
            assert sentence in page
            assert "Review the launch" not in page

    def test_a_pilot_as_large_as_the_texts_is_told(self, wizard, typed):
        page = wizard.send(typed | {"pilot": 4})
        assert "A pilot of 4 would include all 4 cells of each arm" in page

    def test_answers_from_a_file_are_no_calls(self, wizard, typed, owner):
        elsewhere = add_model(label="elsewhere", provider="file", base_url="", model="y", by=owner)
        page = wizard.send(typed | {"models": [elsewhere.pk], "cap": "", "route": "file"})
        assert wizard.status == 200
        for words in ("everything is sent at once", "In flight", "every call", "There is no cap"):
            assert words not in page, words

    def test_the_most_it_can_cost_is_what_would_be_reserved(self, wizard, typed, variant):
        page = wizard.send(typed | {"tasks": ["acceptability"], "repeats": 3, "pilot": 0})
        arm = Arm(
            variant=variant,
            system_prompt=get_instrument("acceptability", "paper").text,
            price_in=Decimal(1),
            price_out=Decimal(2),
        )
        texts = Text.objects.values_list("text", flat=True)
        nano = 3 * sum(compute_highest_price(make_request(arm, text), arm) for text in texts)
        shown = re.search(r'At most for all</h2><p class="figure">\$([\d.]+)', page)
        assert shown
        assert float(shown[1]) == pytest.approx(nano / 1e9, abs=0.005)

    def test_everything_typed_comes_back_to_be_changed(self, wizard, typed):
        carried = read_hidden(wizard.send(typed))
        assert carried["tasks"] == typed["tasks"]
        form = wizard.send(carried, "change")
        assert wizard.status == 200
        assert 'name="cap" value="1.5"' in form
        assert 'value="hold" required' in form
        assert Batch.objects.count() == 0

    def test_it_warns_of_what_a_person_should_know(self, wizard, typed, variant, owner):
        relative = add_model(
            label="relative", provider="openai_compatible", base_url="https://other.example/v1", model="gpt-6", by=owner
        )
        fake = add_model(label="invented", provider="fake", by=owner)
        page = wizard.send(typed | {"models": [variant.pk, relative.pk, fake.pk], "cap": ""})
        assert "No price is recorded for relative" in page
        assert "The fake provider invents its answers (invented)" in page
        assert "No worker is running" in page
        assert "3 accounts" in page
        assert "priced, relative belong to the same family (gpt)" in page
        assert "Fake provider." in page
        WorkerSign.objects.create(name="here:1", seen_at=timezone.now())
        page = wizard.send(typed | {"cap": "0.000001"})
        assert "No worker is running" not in page
        assert "The cap is lower than the maximum cost" in page

    def test_another_way_of_asking_is_offered_where_a_model_has_it(self, wizard, variant):
        assert 'name="route"' not in wizard.client.get(wizard.path).content.decode()
        Capabilities.objects.create(
            account=variant.account,
            model=variant.model,
            number=99,
            offers_batches=True,
            recorded_by_name="x",
            recorded_at=timezone.now(),
        )
        assert 'value="jobs"' in wizard.client.get(wizard.path).content.decode()


class TestForm:
    def test_each_model_says_where_it_is_asked_how_it_is_set_and_whether_its_price_is_known(
        self, wizard, variant, owner
    ):
        add_model(
            label="thinker",
            provider="openai_compatible",
            base_url="https://models.example/v1",
            model="gpt-6",
            reasoning="high",
            by=owner,
        )
        add_model(label="invented", provider="fake", by=owner)
        page = " ".join(wizard.client.get(wizard.path).content.decode().split())
        account = variant.account.name
        settings = "answers of at most 1,024 tokens, otherwise the provider’s defaults"
        known = f"{settings}; $1 in, $2 out per million tokens"
        assert f'priced <small class="under">gpt-5 at {account} (openai compatible); {known}' in page
        assert re.search(
            r'thinker <small class="under">gpt-6 at [^<]*reasoning high, [^<]*otherwise the provider’s defaults; no price',
            page,
        )
        assert 'invented <small class="under">fake provider: its answers are invented' in page

    def test_a_set_of_texts_stands_with_its_counts(self, wizard, dataset):
        page = wizard.client.get(wizard.path).content.decode()
        assert "Texts: 4 texts, 3 targets" in page

    def test_the_address_can_choose_the_texts_and_the_wording(self, wizard, dataset, study, owner):
        add_wording(study=study, name="caste", based_on="paper", characteristics=["Caste"], by=owner)
        page = wizard.client.get(wizard.path, {"dataset": str(dataset.pk), "instrument": "caste"}).content.decode()
        assert f'<option value="{dataset.pk}" selected>' in page
        assert '<option value="caste" selected>caste: this study&#x27;s own wording, not comparable' in page

    def test_the_notice_is_asked_once_for_a_study_and_then_says_who_confirmed_it(self, wizard, typed, study, lead):
        page = wizard.send(typed | {"notice": ""})
        assert wizard.status == 422
        assert "Please confirm this before texts of this kind are sent" in page
        wizard.send(typed)
        assert find_notice(study) is None
        wizard.send(typed, "launch")
        notice = find_notice(study)
        assert notice is not None
        assert (notice.made_by, notice.made_by_name) == (lead, "lead")
        assert AuditEvent.objects.filter(action="sob.notice.confirmed").count() == 1
        page = wizard.client.get(wizard.path).content.decode()
        assert 'name="notice"' not in page
        assert "Confirmed for this study by lead" in page
        again = typed | {"notice": "", "idempotency_key": str(uuid.uuid4())}
        wizard.send(again, "launch")
        assert (wizard.status, Batch.objects.count()) == (302, 2)
        assert AuditEvent.objects.filter(action="sob.notice.confirmed").count() == 1

    def test_a_launch_that_is_refused_confirms_nothing(self, wizard, typed, study):
        wizard.send(typed | {"cap": "0"}, "launch")
        assert wizard.status == 422
        assert find_notice(study) is None

    def test_the_base_prompt_is_an_arm_more_and_named_a_reconstruction(self, wizard, typed):
        page = wizard.send(typed | {"include_base": "on"})
        assert "The Base prompt is a reconstruction" in page
        assert '<p class="figure">12</p>' in page
        wizard.send(read_hidden(page), "launch")
        arm = Arm.objects.get(task="base")
        assert arm.system_prompt == get_instrument("base", "base").text
        assert arm.settings["instrument"] == "base"
        assert Batch.objects.get().parameters["comparable"] is True

    def test_a_wording_of_the_studys_own_is_reviewed_as_not_comparable(self, wizard, typed, study, owner):
        assert "Not comparable" not in wizard.send(typed)
        add_wording(study=study, name="caste", based_on="paper", characteristics=["Caste"], by=owner)
        page = wizard.send(typed | {"instrument": "caste"})
        assert "Not comparable with the published figures" in page
        assert "• Caste" in page


class TestLaunch:
    def test_it_launches_what_was_reviewed(self, wizard, typed, lead):
        wizard.send(read_hidden(wizard.send(typed)), "launch")
        assert wizard.status == 302
        batch = Batch.objects.get()
        assert (batch.state, batch.pilot_cells, batch.concurrency) == ("pilot", 4, 5)
        assert (batch.cap_nano, batch.lost_answers, batch.uses_cache) == (1_500_000_000, "hold", False)
        assert (batch.launched_by, batch.route) == (lead, "live")
        assert Cell.objects.count() == 8

    def test_a_double_click_is_one_batch(self, wizard, typed):
        carried = read_hidden(wizard.send(typed))
        for _ in range(2):
            wizard.send(carried, "launch")
            assert wizard.status == 302
        assert Batch.objects.count() == 1

    def test_what_was_changed_after_a_launch_is_another_launch(self, wizard, typed):
        carried = read_hidden(wizard.send(typed))
        wizard.send(carried, "launch")
        changed = wizard.send(carried, "change")
        assert wizard.status == 200
        [renewed] = re.findall(r'name="idempotency_key" value="(.*?)"', changed)
        assert renewed != typed["idempotency_key"]
        wizard.send(carried | {"concurrency": 9, "idempotency_key": renewed}, "launch")
        assert wizard.status == 302
        assert sorted(Batch.objects.values_list("concurrency", flat=True)) == [5, 9]

    def test_a_changed_form_under_an_old_id_is_refused_and_may_be_sent_again(self, wizard, typed):
        carried = read_hidden(wizard.send(typed))
        wizard.send(carried, "launch")
        refused = wizard.send(carried | {"concurrency": 9}, "launch")
        assert wizard.status == 422
        assert f"This form has already launched batch {Batch.objects.get().pk}, with other settings" in refused
        [renewed] = re.findall(r'name="idempotency_key" value="(.*?)"', refused)
        wizard.send(carried | {"concurrency": 9, "idempotency_key": renewed}, "launch")
        assert wizard.status == 302
        assert Batch.objects.count() == 2

    def test_what_is_wrong_is_told_and_nothing_typed_is_lost(self, wizard, typed):
        form = wizard.send(typed | {"concurrency": 0, "limit": 3})
        assert wizard.status == 422
        assert 'name="limit" value="3"' in form
        assert "Nothing was sent. Please fix this:" in form

    def test_a_refusal_of_the_launch_is_the_form_again(self, wizard, typed, owner):
        free = add_model(
            label="free", provider="openai_compatible", base_url="https://models.example/v1", model="m", by=owner
        )
        form = wizard.send(typed | {"models": [free.pk]}, "launch")
        assert wizard.status == 422
        assert "A cap needs prices" in form
        assert 'name="cap" value="1.5"' in form
        assert Batch.objects.count() == 0

    def test_no_text_stands_in_the_batchs_title(self, wizard, typed):
        wizard.send(typed, "launch")
        assert "Constructed text" not in Batch.objects.get().title
