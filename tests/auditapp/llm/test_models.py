import json
import re
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from auditapp.llm.actions import add_account, add_model, ensure_local_model, set_capabilities, set_price
from auditapp.llm.models import AllowedAddress, Capabilities, ModelVariant, Price, ProviderAccount
from auditapp.llm.pure.model_settings import read_families
from auditapp.llm.queries import find_capabilities, find_prices
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

OPENAI = "https://api.openai.com/v1"
LOCAL = "http://127.0.0.1:11434/v1"


def add_paid(label, model, *, base_url=OPENAI, **others):
    return add_model(
        label=label,
        provider="openai_compatible",
        base_url=base_url,
        model=model,
        by=trail.SYSTEM,
        **others,
    )


@pytest.mark.django_db
class TestAddModel:
    def test_a_model_is_stored_with_its_account_price_and_event(self):
        variant = add_paid(
            "llama",
            "llama3.1",
            base_url=f"{LOCAL}/",
            price_in=Decimal("0.1"),
            price_out=Decimal("0.2"),
            allow_private=True,
        )
        assert variant.account.base_url == LOCAL
        assert variant.account.name == "127.0.0.1:11434"
        price = Price.objects.get()
        assert (price.number, price.price_in, price.price_out) == (1, Decimal("0.1"), Decimal("0.2"))
        assert AuditEvent.objects.filter(action="llm.model.added").count() == 1

    def test_the_fake_provider_costs_nothing(self):
        add_model(label="f", provider="fake", by=trail.SYSTEM)
        add_model(label="g", provider="fake", model="f", by=trail.SYSTEM)
        price = Price.objects.get()
        assert (price.number, price.price_in, price.price_out) == (1, Decimal(0), Decimal(0))

    def test_other_providers_have_no_price_that_nobody_gave(self):
        add_paid("a", "gpt-4o")
        assert not Price.objects.exists()

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({"label": "", "provider": "fake"}, "cannot be a label"),
            ({"label": "x", "provider": "tarot"}, "no provider"),
            ({"label": "x", "provider": "openai_compatible", "model": "m"}, "base URL is missing"),
            (
                {"label": "x", "provider": "openai_compatible", "base_url": "file:///etc", "model": "m"},
                "not a valid base URL",
            ),
            (
                {"label": "x", "provider": "openai_compatible", "base_url": "https://u:p@h.org/v1", "model": "m"},
                "not a valid base URL",
            ),
            *(
                (
                    {"label": "x", "provider": "openai_compatible", "base_url": base_url, "model": "m"},
                    "not a valid base URL",
                )
                for base_url in (f"{OPENAI}?", f"{OPENAI}#", "https://a..example/v1", f"https://{'a' * 64}.example/v1")
            ),
            ({"label": "x", "provider": "openai_compatible", "base_url": OPENAI}, "Name the model"),
            ({"label": "x", "provider": "fake", "key_env": "sk-123"}, "never the key itself"),
            ({"label": "x", "provider": "fake", "key_env": "gsk_a1b2c3"}, "never the key itself"),
            ({"label": "x", "provider": "fake", "key_env": "A_KEY"}, "needs no key"),
            ({"label": "x", "provider": "fake", "base_url": OPENAI}, "makes no calls"),
            ({"label": "x", "provider": "fake", "price_in": Decimal(1)}, "both prices"),
            (
                {"label": "x", "provider": "fake", "price_in": Decimal(-1), "price_out": Decimal(1)},
                "A price must be between",
            ),
            ({"label": "x", "provider": "fake", "price_in": Decimal("1e-9"), "price_out": Decimal(1)}, "six places"),
            ({"label": "x", "provider": "fake", "max_tokens": 0}, "between 1 and 200,000"),
            ({"label": "x", "provider": "fake", "timeout_seconds": 0}, "between 1 and 3,600 seconds"),
            ({"label": "x", "provider": "fake", "temperature": 3.0}, "temperature must be a number from 0 to 2, not 3"),
            ({"label": "x", "provider": "fake", "temperature": -1.0}, "temperature must be"),
            ({"label": "x", "provider": "fake", "temperature": float("nan")}, "temperature must be"),
            ({"label": "x", "provider": "fake", "top_p": 0.0}, "Top p must be a number above 0 and at most 1, not 0"),
            ({"label": "x", "provider": "fake", "top_p": 2.0}, "Top p must be"),
            ({"label": "x", "provider": "fake", "seed": -1}, "seed must be a whole number"),
            ({"label": "x", "provider": "fake", "seed": 2**31}, "seed must be a whole number"),
            ({"label": "x", "provider": "fake", "stop": [str(n) for n in range(20)]}, "at most 4 stop texts, not 20"),
            ({"label": "x", "provider": "fake", "stop": [""]}, "1 to 100 characters"),
            ({"label": "x", "provider": "fake", "stop": ["a", "a"]}, "each stop text once"),
        ],
    )
    def test_nonsense_is_refused_with_a_sentence(self, values, sentence):
        with pytest.raises(Refused, match=sentence):
            add_model(by=trail.SYSTEM, **values)
        assert ModelVariant.objects.count() == ProviderAccount.objects.count() == 0

    @pytest.mark.parametrize("name", ["SECRET_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "HOME"])
    def test_a_variable_that_the_server_does_not_name_is_sent_to_nobody(self, name):
        with pytest.raises(Refused, match=f"{name}=api.openai.com:443 to PROVIDER_KEYS"):
            add_paid("x", "m", key_env=name)
        assert not ProviderAccount.objects.exists()

    def test_a_variable_is_sent_only_where_the_server_says(self):
        with pytest.raises(Refused, match=r"do not allow A_KEY to be sent to thief\.example\.org:443"):
            add_paid("x", "m", key_env="A_KEY", base_url="https://thief.example.org/v1")
        with pytest.raises(Refused, match=r"do not allow A_KEY to be sent to api\.openai\.com:8443"):
            add_paid("x", "m", key_env="A_KEY", base_url="https://api.openai.com:8443/v1")

    def test_a_password_in_an_address_is_not_repeated(self):
        with pytest.raises(Refused) as caught:
            add_paid("x", "m", base_url="https://me:hunter2@example.org/v1")
        assert "hunter2" not in str(caught.value)

    def test_a_label_is_used_once(self):
        add_model(label="f", provider="fake", by=trail.SYSTEM)
        with pytest.raises(CommandError, match="already a model f"):
            call_command("model", "add", "f", provider="fake")

    def test_the_same_address_and_key_mean_the_same_account(self):
        first = add_paid("a", "m", key_env="A_KEY")
        assert add_paid("b", "n", key_env="A_KEY", base_url=f"{OPENAI}/").account == first.account
        other = add_paid("c", "m", key_env="ANOTHER_KEY").account
        assert other != first.account
        assert (first.account.name, other.name) == ("api.openai.com", "api.openai.com (ANOTHER_KEY)")

    def test_an_account_is_found_by_its_name_or_made(self):
        made = add_paid("a", "m", account="Ours", key_env="A_KEY").account
        assert made.name == "Ours"
        assert (
            add_model(label="b", provider="openai_compatible", model="m", account="Ours", by=trail.SYSTEM).account
            == made
        )
        with pytest.raises(Refused, match="another provider, address or key variable"):
            add_paid("c", "m", account="Ours", key_env="ANOTHER_KEY")


@pytest.mark.django_db
class TestPrivateAddresses:
    @pytest.mark.parametrize(
        "base_url",
        [
            LOCAL,
            "http://localhost:1234/v1",
            "http://ollama:11434/v1",
            "http://10.0.0.7/v1",
            "http://[::1]:8000/v1",
            "http://[::ffff:127.0.0.1]:8000/v1",
            "http://2130706433/v1",
            "http://0x7f.1/v1",
            "https://169.254.169.254/v1",
            "https://gpu.internal/v1",
        ],
    )
    def test_a_private_address_is_refused_with_the_way_to_allow_it(self, base_url):
        with pytest.raises(Refused, match=r"private address.*address allow"):
            add_paid("x", "m", base_url=base_url)

    def test_texts_never_cross_the_open_network_in_the_clear(self):
        with pytest.raises(Refused, match="without https"):
            add_paid("x", "m", base_url="http://api.example.org/v1")

    @pytest.mark.parametrize("base_url", [OPENAI, "https://8.8.8.8/v1", "https://openrouter.ai/api/v1"])
    def test_public_addresses_need_no_list(self, base_url):
        add_paid("x", "m", base_url=base_url, allow_private=True)
        assert not AllowedAddress.objects.exists()

    def test_an_address_of_the_setting_is_allowed(self, settings):
        settings.ALLOW_PRIVATE_PROVIDERS = frozenset({"127.0.0.1:11434"})
        add_paid("x", "m", base_url=LOCAL)
        assert not AllowedAddress.objects.exists()

    def test_the_command_puts_the_address_on_the_list_and_says_so(self):
        out = StringIO()
        call_command("model", "add", "x", provider="openai_compatible", base_url=LOCAL, model="m", stdout=out)
        assert "127.0.0.1:11434 is on the list" in out.getvalue()
        out = StringIO()
        call_command(
            "model", "add", "y", provider="openai_compatible", base_url=LOCAL, model="n", json=True, stdout=out
        )
        assert json.loads(out.getvalue()) == {
            "label": "y",
            "provider": "openai_compatible",
            "model": "n",
            "account": "127.0.0.1:11434",
            "allowed_addresses": [],
            "settings": "the provider’s defaults",
            "price_changed_for": [],
        }
        add_paid("z", "o", base_url=LOCAL)

    def test_an_address_is_put_on_the_list_and_taken_off(self):
        call_command("address", "allow", "LOCALHOST:1234")
        add_paid("x", "m", base_url="http://localhost:1234/v1")
        out = StringIO()
        call_command("address", "allow", "localhost:1234", remove=True, json=True, stdout=out)
        assert json.loads(out.getvalue()) == {"address": "localhost:1234", "allowed_addresses": []}
        with pytest.raises(CommandError, match="not on the list"):
            call_command("address", "allow", "localhost:1234", remove=True)
        with pytest.raises(CommandError, match="Write host:port"):
            call_command("address", "allow", "http://localhost:1234")
        actions = AuditEvent.objects.filter(action__startswith="llm.address").values_list("action", flat=True)
        assert sorted(actions) == ["llm.address.allowed", "llm.address.disallowed"]


@pytest.mark.django_db
class TestPrices:
    def test_a_new_price_is_a_new_row_for_every_variant_of_the_model(self):
        variant = add_paid("low", "o4-mini", reasoning="low", price_in=Decimal(1), price_out=Decimal(4))
        other = add_paid("high", "o4-mini", reasoning="high", price_in=Decimal(1), price_out=Decimal(4))
        row = set_price(
            variant=variant, price_in=Decimal("0.5"), price_out=Decimal(2), batch_share=Decimal("0.5"), by=trail.SYSTEM
        )
        assert row.number == 2
        assert Price.objects.get(number=1).price_in == 1
        assert find_prices([variant, other]) == {variant.pk: row, other.pk: row}

    def test_a_model_added_with_another_price_says_whose_price_it_changed(self):
        paid = {"provider": "openai_compatible", "base_url": OPENAI, "model": "o4-mini", "price_out": "4"}
        said = []
        for label, price in (("low", "1"), ("mid", "1"), ("high", "1.5")):
            out = StringIO()
            call_command("model", "add", label, price_in=price, **paid, stdout=out)
            said.append(out.getvalue())
        assert "price" not in said[0] + said[1]
        assert "The price of o4-mini is now $1.5 in and $4 out per million tokens" in said[2]
        assert "for every label of this model: low, mid, high." in said[2]
        out = StringIO()
        call_command("model", "add", "top", price_in="2", **paid, json=True, stdout=out)
        assert json.loads(out.getvalue())["price_changed_for"] == ["low", "mid", "high", "top"]

    @pytest.mark.parametrize("share", ["0", "1.1", "0.0005", "NaN"])
    def test_a_share_of_the_batch_service_is_a_part_of_one(self, share):
        variant = add_model(label="f", provider="fake", by=trail.SYSTEM)
        with pytest.raises(Refused, match="batch share"):
            set_price(
                variant=variant, price_in=Decimal(1), price_out=Decimal(1), batch_share=Decimal(share), by=trail.SYSTEM
            )

    def test_the_command_says_the_row_that_holds(self):
        add_model(label="f", provider="fake", by=trail.SYSTEM)
        out = StringIO()
        call_command(
            "model", "set-price", "f", price_in="0.15", price_out="0.6", batch_share="0.5", json=True, stdout=out
        )
        assert json.loads(out.getvalue())["number"] == 2
        with pytest.raises(CommandError, match=r"There is no model 'g'\. There are: f\. Add one"):
            call_command("model", "set-price", "g", price_in="0.15", price_out="0.6")
        with pytest.raises(CommandError, match="--price-in 'cheap' is not a number"):
            call_command("model", "set-price", "f", price_in="cheap", price_out="0.6")


@pytest.mark.django_db
class TestCapabilities:
    @pytest.mark.parametrize(
        ("base_url", "model", "expected"),
        [
            (OPENAI, "o4-mini", ("effort", "max_completion_tokens", False, True)),
            (OPENAI, "gpt-5.1", ("effort", "max_completion_tokens", False, True)),
            (OPENAI, "gpt-4o-mini", ("none", "max_completion_tokens", True, True)),
            ("https://openrouter.ai/api/v1", "qwen/qwen3-32b", ("nested_effort", "max_tokens", True, False)),
            ("https://gpu.example.org/v1", "Qwen/Qwen3-8B", ("template", "max_tokens", True, False)),
        ],
    )
    def test_known_families_are_noted_with_their_source(self, base_url, model, expected):
        add_paid("x", model, base_url=base_url)
        row = Capabilities.objects.get()
        assert (row.reasoning, row.token_limit, row.takes_temperature, row.offers_batches) == expected
        assert "https://" in row.source

    @pytest.mark.parametrize(
        ("model", "reasoning"),
        [
            ("claude-3-5-haiku-20241022", "none"),
            ("claude-3-7-sonnet-20250219", "budget"),
            ("claude-opus-4-20250514", "budget"),
            ("claude-sonnet-4-5-20250929", "budget"),
            ("claude-haiku-4-5", "budget"),
            ("claude-opus-4-7", "effort"),
        ],
    )
    def test_budgets_go_to_those_claude_models_that_take_them(self, model, reasoning):
        variant = add_model(label="x", provider="anthropic", model=model, by=trail.SYSTEM)
        assert variant.account.base_url == "https://api.anthropic.com"
        assert find_capabilities([variant])[variant.pk].reasoning == reasoning

    def test_what_is_not_known_is_not_noted(self):
        add_paid("x", "llama3.1", base_url="https://gpu.example.org/v1")
        assert not Capabilities.objects.exists()

    def test_what_somebody_said_of_a_model_is_not_overwritten_by_its_family(self):
        variant = add_paid("x", "gpt-4o")
        set_capabilities(variant=variant, reasoning="effort", by=trail.SYSTEM)
        add_paid("y", "gpt-4o")
        assert find_capabilities([variant])[variant.pk].number == 2

    def test_every_family_is_one_the_database_takes(self):
        for family in read_families():
            assert family.source.startswith("https://")
            assert family.capabilities["reasoning"] in Capabilities.Reasoning.values
            assert family.capabilities.get("token_limit", "max_tokens") in Capabilities.TokenLimit.values

    def test_the_command_writes_a_new_row(self):
        add_paid("x", "gpt-4o")
        out = StringIO()
        call_command("model", "set-capabilities", "x", reasoning="nested_effort", no_system=True, json=True, stdout=out)
        answer = json.loads(out.getvalue())
        assert (answer["number"], answer["reasoning"], answer["takes_system"]) == (2, "nested_effort", False)
        with pytest.raises(CommandError, match="The maximum output tokens"):
            call_command("model", "set-capabilities", "x", max_output_tokens=0)


class TestPages:
    def test_only_the_owner_of_the_site_may_see_models(self, owner, client_of):
        assert client_of(owner).get(reverse("llm:models")).status_code == 403
        owner.is_superuser = True
        owner.save(update_fields=["is_superuser"])
        assert client_of(owner).get(reverse("llm:models")).status_code == 200

    def test_a_wrong_model_is_told_on_the_form(self, site_owner, client_of):
        form = {"label": "x", "provider": "openai_compatible", "max_tokens": 10, "timeout_seconds": 60}
        answer = client_of(site_owner).post(reverse("llm:models"), form)
        assert answer.status_code == 422
        assert "base URL is missing" in answer.content.decode()

    def test_an_empty_longest_answer_sets_no_limit(self, site_owner, client_of):
        form = {"label": "x", "provider": "fake", "timeout_seconds": 60}
        page = client_of(site_owner).post(reverse("llm:models"), form, follow=True).content.decode()
        assert '<td class="num">no limit</td>' in page
        [variant] = ModelVariant.objects.all()
        assert variant.max_tokens is None
        page = client_of(site_owner).get(reverse("llm:model", args=[variant.pk])).content.decode()
        assert "<dd>no limit set</dd>" in page

    def test_sampling_is_set_and_shown_and_what_is_wrong_is_told(self, site_owner, client_of):
        client, form = client_of(site_owner), {"label": "x", "provider": "fake", "timeout_seconds": 60}
        wrong = {
            "Enter a number.": {"temperature": "hot"},
            "Enter a whole number.": {"seed": "text"},
            "from 0 to 2, not 3": {"temperature": "3"},
            "at most 4 stop texts, not 20": {"stop": "\n".join(map(str, range(20)))},
        }
        for sentence, typed in wrong.items():
            answer = client.post(reverse("llm:models"), form | typed)
            assert (answer.status_code, sentence in answer.content.decode()) == (422, True)
        sampling = {"temperature": "0.70", "top_p": "1", "seed": "7", "stop": "\\n\n\nEND\n"}
        page = client.post(reverse("llm:models"), form | sampling, follow=True).content.decode()
        [variant] = ModelVariant.objects.all()
        assert variant.parameters == {"temperature": 0.7, "top_p": 1.0, "seed": 7, "stop": ["\n", "END"]}
        words = "temperature 0.7, top_p 1, seed 7, stop “\\n”, “END”"
        assert words in page
        assert words in client.get(reverse("llm:model", args=[variant.pk])).content.decode()
        plain = add_model(label="plain", provider="fake", by=trail.SYSTEM)
        assert plain.parameters == {}
        page = client.get(reverse("llm:model", args=[plain.pk])).content.decode()
        assert "not set: the provider's defaults" in page

    def test_a_private_address_is_refused_on_the_page(self, site_owner, client_of):
        form = {"label": "x", "provider": "openai_compatible", "base_url": LOCAL, "model": "m"}
        answer = client_of(site_owner).post(reverse("llm:models"), {**form, "max_tokens": 10, "timeout_seconds": 60})
        assert answer.status_code == 422
        assert "manage.py address allow 127.0.0.1:11434" in answer.content.decode()
        assert not AllowedAddress.objects.exists()

    def test_a_model_is_added_and_shown_with_price_number_and_key(self, site_owner, client_of):
        form = {"label": "x", "provider": "openai_compatible", "base_url": OPENAI, "model": "m", "key_env": "A_KEY"}
        numbers = {"max_tokens": 10, "timeout_seconds": 60, "price_in": "0.075", "price_out": "2.5"}
        answer = client_of(site_owner).post(reverse("llm:models"), {**form, **numbers}, follow=True)
        page = answer.content.decode()
        for shown in ("from A_KEY", "$0.075", "$2.50", "no. 1", "api.openai.com"):
            assert shown in page
        add_paid("unpriced", "n")
        assert "not known" in client_of(site_owner).get(reverse("llm:models")).content.decode()

    def test_the_list_asks_the_database_as_often_for_many_models_as_for_one(
        self, site_owner, client_of, django_assert_max_num_queries
    ):
        for number in range(12):
            add_paid(f"m{number}", f"o{number}", key_env=f"KEY_{number}", price_in=Decimal(1), price_out=Decimal(1))
        client = client_of(site_owner)
        with django_assert_max_num_queries(6):
            assert client.get(reverse("llm:models")).content.decode().count("from KEY_") == 24

    def test_a_price_is_set_on_the_page_of_the_model(self, site_owner, client_of):
        variant = add_paid("x", "m", price_in=Decimal(1), price_out=Decimal(2))
        client = client_of(site_owner)
        place = reverse("llm:set_price", args=[variant.pk])
        form = {"price_in": "0.5", "price_out": "1", "batch_share": "0.5", "source": "price list"}
        page = client.post(place, form, follow=True).content.decode()
        assert "2 (in force)" in page
        assert "price list" in page
        refused = client.post(place, {**form, "batch_share": "0"})
        assert refused.status_code == 422
        [said] = refused.context["price_form"].errors["batch_share"]
        assert said.startswith("The batch share must be more than 0 and at most 1")
        assert Price.objects.count() == 2

    def test_capabilities_are_set_on_the_page_of_the_model(self, site_owner, client_of):
        variant = add_paid("x", "gpt-4o")
        client = client_of(site_owner)
        place = reverse("llm:set_capabilities", args=[variant.pk])
        page = client.get(reverse("llm:model", args=[variant.pk]))
        seen = page.context["capabilities_form"].initial["seen"]
        form = {"reasoning": "effort", "token_limit": "max_tokens", "takes_system": "on", "seen": seen}
        assert client.post(place, form).status_code == 302
        row = find_capabilities([variant])[variant.pk]
        assert (row.number, row.takes_system, row.takes_temperature) == (2, True, False)
        assert client.post(place, {**form, "reasoning": "telepathy"}).status_code == 422

    def test_allowed_addresses_are_listed_and_taken_off(self, site_owner, client_of):
        call_command("address", "allow", "127.0.0.1:11434")
        client = client_of(site_owner)
        assert "127.0.0.1:11434" in client.get(reverse("llm:addresses")).content.decode()
        row = AllowedAddress.objects.get()
        client.post(reverse("llm:disallow_address", args=[row.pk]))
        assert not AllowedAddress.objects.exists()

    def test_an_account_without_models_is_listed(self, site_owner, client_of):
        add_account(name="Spare", provider="anthropic", by=trail.SYSTEM)
        page = client_of(site_owner).get(reverse("llm:models")).content.decode()
        assert reverse("llm:account", args=[ProviderAccount.objects.get().pk]) in page
        assert "Spare" in page

    def test_what_is_not_there_is_not_found(self, site_owner, client_of):
        client = client_of(site_owner)
        for name in ("llm:model", "llm:account"):
            for number in (999_999, 10**30):
                assert client.get(reverse(name, args=[number])).status_code == 404


@pytest.mark.django_db
class TestLocalModel:
    def ensure(self, port, *, label="local-smollm2", is_small=True):
        url = f"http://127.0.0.1:{port}/v1"
        return ensure_local_model(label=label, base_url=url, is_small=is_small, by=trail.SYSTEM)

    def test_it_costs_nothing_and_says_that_it_is_very_small(self):
        variant = self.ensure(8100)
        assert variant.note == "A very small model: its answers are real, but most of them cannot be parsed."
        assert variant.max_tokens == 200
        assert not variant.is_fake
        assert find_prices([variant])[variant.pk].price_out == 0

    def test_a_model_of_ones_own_has_no_such_note(self):
        assert self.ensure(8100, label="local-large", is_small=False).note == ""

    def test_started_again_elsewhere_it_is_the_same_model_and_its_old_address_is_closed(self):
        first = self.ensure(8100)
        again = self.ensure(8200)
        assert again.pk == first.pk
        assert ProviderAccount.objects.get().base_url == "http://127.0.0.1:8200/v1"
        assert list(AllowedAddress.objects.values_list("address", flat=True)) == ["127.0.0.1:8200"]

    def test_started_again_at_the_same_address_nothing_is_written(self):
        self.ensure(8100)
        events = AuditEvent.objects.count()
        self.ensure(8100)
        assert AuditEvent.objects.count() == events


@pytest.mark.django_db
def test_a_note_stands_on_the_models_pages_and_is_not_too_long(site_owner, client_of):
    variant = add_model(label="odd", provider="fake", note=" Answers in <b>verse</b>. ", by=trail.SYSTEM)
    client = client_of(site_owner)
    for address in (reverse("llm:models"), reverse("llm:model", args=[variant.pk])):
        assert "Answers in &lt;b&gt;verse&lt;/b&gt;." in client.get(address).content.decode()
    with pytest.raises(Refused, match="This text has 301 characters; the limit is 300"):
        add_model(label="odder", provider="fake", note="x" * 301, by=trail.SYSTEM)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--temperature", "hot", "--temperature 'hot' is not a number. Write a number from 0 to 2"),
        ("--temperature", "0,7", "--temperature '0,7' is not a number"),
        ("--top-p", "nan", "--top-p 'nan' is not a number"),
        ("--seed", "abc", "--seed 'abc' is not a number. Write a whole number"),
        ("--seed", "1.5", "--seed '1.5' is not a whole number"),
    ],
)
def test_the_command_says_in_one_line_what_a_setting_must_be(option, value, words):
    with pytest.raises(CommandError, match=re.escape(words)):
        call_command("model", "add", "x", "--provider", "fake", option, value)
    assert not ModelVariant.objects.exists()
