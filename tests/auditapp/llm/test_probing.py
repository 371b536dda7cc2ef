"""Probing a server: whether it holds an answer to a JSON schema, and which settings of sampling it refuses."""

import json
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from auditapp.batches.launching import LaunchOptions, PlannedArm, check_launch
from auditapp.llm.actions import add_model, check_model, disallow_address, set_capabilities
from auditapp.llm.models import Capabilities
from auditapp.llm.pure.json_answers import conforms, make_example, make_object, strip_limits
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.refusals import Refused

PRICES = {"price_in": Decimal(1), "price_out": Decimal(2)}


def add(server, label="m", **settings):
    return add_model(
        label=label,
        provider=settings.pop("provider", "openai_compatible"),
        base_url=server.base_url,
        model="m",
        allow_private=True,
        by=trail.SYSTEM,
        **settings,
    )


class TestSchemas:
    SCHEMA = make_object(
        word={"type": "string", "enum": ["a"]},
        note={"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
        numbers={"type": "array", "items": {"type": "integer", "enum": [1, 2]}, "minItems": 1, "maxItems": 2},
    )
    ORDERED = make_object(
        pair={"type": "array", "prefixItems": [{"$ref": "#/$defs/one"}, {"type": "null"}], "minItems": 2, "maxItems": 2}
    ) | {"$defs": {"one": {"type": "integer", "enum": [1]}}}

    @pytest.mark.parametrize(
        ("pair", "fits"), [([1, None], True), ([None, 1], False), ([1], False), ([1, None, 1], False)]
    )
    def test_a_list_may_have_its_items_in_order(self, pair, fits):
        assert conforms({"pair": pair}, self.ORDERED) is fits
        assert make_example(self.ORDERED) == {"pair": [1, None]}

    @pytest.mark.parametrize(
        ("value", "fits"),
        [
            ({"word": "a", "note": "abc", "numbers": [1, 2]}, True),
            ({"word": "a", "note": None, "numbers": [1]}, True),
            ({"word": "b", "note": None, "numbers": [1]}, False),
            ({"word": "a", "note": "abcd", "numbers": [1]}, False),
            ({"word": "a", "note": None, "numbers": []}, False),
            ({"word": "a", "note": None, "numbers": [1, 1, 1]}, False),
            ({"word": "a", "note": None, "numbers": ["1"]}, False),
            ({"word": "a", "note": None}, False),
            ({"word": "a", "note": None, "numbers": [1], "more": 1}, False),
            (["a"], False),
            (None, False),
        ],
    )
    def test_a_value_fits_a_schema_or_not(self, value, fits):
        assert conforms(value, self.SCHEMA) is fits

    def test_the_smallest_example_fits(self):
        assert conforms(make_example(self.SCHEMA), self.SCHEMA)

    def test_limits_of_length_are_taken_out_and_properties_of_that_name_are_not(self):
        plain = strip_limits(make_object(maxItems={"type": "string", "maxLength": 3}, other=self.SCHEMA))
        assert plain["properties"]["maxItems"] == {"type": "string"}
        assert "minItems" not in json.dumps(plain)
        assert plain["required"] == ["maxItems", "other"]


@pytest.mark.django_db
class TestProbe:
    @pytest.mark.parametrize("provider", ["openai_compatible", "anthropic"])
    @pytest.mark.parametrize(
        ("schemas", "found", "calls"),
        [("honour", "full", 1), ("plain", "plain", 2), ("ignore", "ignored", 1), ("refuse", "refused", 3)],
    )
    def test_it_finds_what_becomes_of_a_schema(self, fake_provider, provider, schemas, found, calls):
        fake_provider.order(schemas=schemas)
        variant = add(fake_provider, provider=provider, **PRICES)
        row = check_model(variant=variant, by=trail.SYSTEM)
        assert (row.answer_schema, row.honours_schema) == (found, found in {"full", "plain"})
        assert (len(row.probe["calls"]), fake_provider.stats()["received"]) == (calls, calls)
        # One call is answered; the refused ones are not billed.
        assert (row.probe["tokens_in"], row.probe["tokens_out"], float(row.probe["cost_usd"])) == (100, 20, 0.00014)
        [started, probed] = AuditEvent.objects.filter(action__startswith="llm.model.probe").order_by("pk")
        assert (started.action, probed.action) == ("llm.model.probe_started", "llm.model.probed")
        assert (probed.details["cost_usd"], probed.details["calls"]) == ("0.00014", calls)

    def test_a_setting_that_the_server_refuses_is_recorded_and_refused_at_the_next_launch(self, fake_provider):
        fake_provider.order(refuses=["seed", "stop"])
        variant = add(fake_provider, seed=7, stop=["x"], temperature=0.5)
        row = check_model(variant=variant, by=trail.SYSTEM)
        assert (row.refused_sampling, row.answer_schema) == (["seed", "stop"], "full")
        with pytest.raises(Refused, match="m: m does not accept seed and stop"):
            check_launch([PlannedArm(variant, "task", "Say it.")], [1], LaunchOptions())

    def test_what_was_recorded_before_stays_and_what_was_found_stays_after(self, fake_provider):
        variant = add(fake_provider)
        set_capabilities(variant=variant, reasoning="none", max_output_tokens=9_000, takes_seed=False, by=trail.SYSTEM)
        row = check_model(variant=variant, by=trail.SYSTEM)
        assert (row.number, row.reasoning, row.max_output_tokens, row.refused_sampling) == (2, "none", 9_000, ["seed"])
        row = set_capabilities(variant=variant, by=trail.SYSTEM)
        assert (row.answer_schema, row.probe["label"]) == ("full", "m")

    def test_what_a_probe_does_not_ask_about_is_shown_as_the_default_until_a_person_records_it(
        self, fake_provider, site_owner, client_of
    ):
        variant = add(fake_provider)
        path = reverse("llm:model", args=[variant.pk])
        words = "not probed; by default reasoning_effort"
        for _ in range(2):
            assert check_model(variant=variant, by=trail.SYSTEM).is_assumed
            assert words in client_of(site_owner).get(path).content.decode()
        set_capabilities(variant=variant, reasoning="none", by=trail.SYSTEM)
        row = check_model(variant=variant, by=trail.SYSTEM)
        assert (row.reasoning, row.is_assumed) == ("none", False)
        assert "not probed; by default cannot be set" not in client_of(site_owner).get(path).content.decode()

    def test_nothing_is_recorded_where_nothing_was_found_out(self, fake_provider):
        variant = add(fake_provider)
        for orders, sentence in (
            ({"always": "401"}, "as ordered"),
            ({"always": "length", "schemas": "ignore"}, "cut off"),
        ):
            fake_provider.order(reset=True, **orders)
            with pytest.raises(Refused, match=f"The probe of m gave no result: .*{sentence}"):
                check_model(variant=variant, by=trail.SYSTEM)
        fake_provider.order(reset=True)
        disallow_address(address=variant.account.base_url.split("/")[2], by=trail.SYSTEM)
        with pytest.raises(Refused, match=r"Calls to .* are refused"):
            check_model(variant=variant, by=trail.SYSTEM)
        assert fake_provider.stats()["received"] == 0
        assert not Capabilities.objects.exists()
        assert AuditEvent.objects.filter(action="llm.model.probe_failed").count() == 3

    def test_an_account_that_makes_no_calls_has_nothing_to_probe(self):
        variant = add_model(label="theirs", provider="file", by=trail.SYSTEM)
        with pytest.raises(Refused, match="no server to probe"):
            check_model(variant=variant, by=trail.SYSTEM)
        fake = add_model(label="fake", provider="fake", by=trail.SYSTEM)
        assert check_model(variant=fake, by=trail.SYSTEM).answer_schema == "full"

    def test_the_page_and_the_command_probe_and_say_what_was_found(self, fake_provider, site_owner, client_of):
        fake_provider.order(schemas="plain")
        variant = add(fake_provider, **PRICES)
        client = client_of(site_owner)
        page = client.post(reverse("llm:probe", args=[variant.pk]), follow=True).content.decode()
        assert "Structured answers: honoured, without limits of length." in page
        assert "The last probe: 2 calls, 100 tokens in, 20 out, $0.00014" in page
        assert "maxLength is not permitted" in page
        out = StringIO()
        call_command("model", "check", "m", json=True, stdout=out)
        assert json.loads(out.getvalue())["answer_schema"] == "plain"
        fake_provider.order(always="401")
        assert client.post(reverse("llm:probe", args=[variant.pk])).status_code == 409
        with pytest.raises(CommandError, match="gave no result"):
            call_command("model", "check", "m")
