"""Structured answers: what a server is made to answer with, for whom, and never for a benchmark."""

import asyncio
import json

import pytest
from django.urls import reverse

from auditapp.annotators.actions.annotators import draft_annotator, ensure_annotator
from auditapp.annotators.actions.launching import launch_model, launch_preannotation
from auditapp.annotators.models import TurnAnswer
from auditapp.annotators.pure.answers import parse_response, read_numbers, write_answer_schema
from auditapp.annotators.pure.prompts import CodeText, write_system_prompt, write_user_prompt
from auditapp.batches.kinds import Answered, get_kind
from auditapp.batches.ledger.prompts import compute_highest_price, make_request
from auditapp.batches.models import Arm
from auditapp.llm.actions import check_model
from auditapp.llm.models import Capabilities
from auditapp.llm.providers import open_provider, write_body
from auditapp.llm.providers.base import Account, ChatRequest
from auditapp.llm.pure.json_answers import conforms, make_example, strip_limits
from tests.auditapp.annotators.cast import add_interviews, add_reader
from transcripts.audit_trail import trail
from transcripts.corpus.models import Sentence
from transcripts.refusals import Refused

CODES = [CodeText("theme.balance", "Balance", "Weighs."), CodeText("theme.compassion", "Compassion", "Cares.")]
NAMES = [code.identifier for code in CODES]
SENTENCES = {7: "On the one hand, this.", 9: "On the other hand, that."}
MESSAGE = write_user_prompt("Why?", [(None, "Well:"), *SENTENCES.items()])


def write(*, reads_latent=False):
    system = write_system_prompt("Themes", CODES, reads_latent=reads_latent)
    return write_answer_schema(system, NAMES, read_numbers(MESSAGE))


def list_objects(schema):
    """Every object schema in a schema."""
    if isinstance(schema, list):
        return [each for inner in schema for each in list_objects(inner)]
    if not isinstance(schema, dict):
        return []
    return [
        *([schema] if schema.get("type") == "object" else []),
        *(each for inner in schema.values() for each in list_objects(inner)),
    ]


class TestSchema:
    @pytest.mark.parametrize("reads_latent", [False, True])
    def test_it_allows_an_answer_to_the_instructions_and_only_what_was_asked(self, reads_latent):
        schema = write(reads_latent=reads_latent)
        level = {"level": "latent"} if reads_latent else {}
        coding = {"rationale": "r", **level, "quote": "On the one hand", "code": "theme.balance"}
        answer = {"sentences": [{"sentence": 7, "codings": [coding]}, {"sentence": 9, "codings": []}]}
        assert conforms(answer, schema)
        assert not parse_response(
            json.dumps(answer), sentences=SENTENCES, codes=NAMES, reads_latent=reads_latent
        ).rejected
        for wrong in (
            {"sentences": answer["sentences"][:1]},
            {"sentences": [answer["sentences"][1]] * 3},
            {"sentences": [{"sentence": 8, "codings": []}] * 2},
            {"sentences": answer["sentences"][::-1]},
            {"sentences": [{"sentence": 7, "codings": [coding | {"code": "theme.other"}]}] * 2},
            {"sentences": [{"sentence": 7, "codings": [coding | {"quote": "x" * 201}]}] * 2},
            {"sentences": [{"sentence": 7, "codings": [coding] * 3}] * 2},
            {"sentences": [{"sentence": 7, "codings": [{"code": "theme.balance"}]}] * 2},
        ):
            assert not conforms(wrong, schema)

    def test_the_reason_comes_before_the_code_as_the_instructions_ask(self):
        coding = make_example(write(reads_latent=True)["$defs"]["codings"]["items"])
        assert [*coding] == ["rationale", "level", "quote", "code"]

    def test_the_enactment_of_a_move_is_demanded_where_the_instructions_ask_for_it(self):
        instructions = write_system_prompt("Moves", CODES, carries_enactment=True)
        coding = make_example(write_answer_schema(instructions, NAMES, [7])["$defs"]["codings"]["items"])
        assert [*coding] == ["rationale", "enactment", "quote", "code"]
        assert "enactment" not in json.dumps(write())

    def test_every_property_is_required_and_no_other_is_allowed_as_strict_servers_demand(self):
        objects = list_objects(write(reads_latent=True))
        assert len(objects) == 4
        for each in objects:
            assert each["required"] == [*each["properties"]]
            assert each["additionalProperties"] is False

    def test_without_limits_no_keyword_of_length_is_left(self):
        schema = write_answer_schema("", NAMES, list(SENTENCES), is_ordered=False)
        words = json.dumps(strip_limits(schema))
        assert not any(keyword in words for keyword in ("maxLength", "minItems", "maxItems", "prefixItems"))
        assert '"enum": [7, 9]' in words

    def test_the_fake_provider_is_held_to_it(self):
        system = write_system_prompt("Themes", CODES)
        request = ChatRequest("r", "m", system, MESSAGE, max_tokens=None, answer_schema=write())
        answer = asyncio.run(open_provider(Account("fake")).chat(request))
        assert conforms(json.loads(answer.content), write())


def find_out(variant, answer_schema):
    """What a probe would have found of the variant's server."""
    number = Capabilities.objects.filter(account=variant.account, model=variant.model).count() + 1
    Capabilities.objects.create(
        account=variant.account,
        model=variant.model,
        number=number,
        answer_schema=answer_schema,
        recorded_by_name="x",
        recorded_at="2026-01-01T00:00Z",
    )


class TestAnnotator:
    def test_one_with_a_schema_and_one_without_are_two(self, study, owner):
        variant = add_reader()
        before = ensure_annotator(study=study, variant=variant, by=owner)
        check_model(variant=variant, by=owner)
        held = ensure_annotator(study=study, variant=variant, by=owner)
        without = ensure_annotator(study=study, variant=variant, answer_schema=False, by=owner)
        assert held.recipe["answer_schema"] == {"form": "full", "version": "schema-1"}
        assert (without, held.number) == (before, 2)
        assert held.hash != without.hash
        find_out(variant, "plain")
        plain = ensure_annotator(study=study, variant=variant, by=owner)
        assert (plain.number, plain.recipe["answer_schema"]["form"]) == (3, "plain")
        assert ensure_annotator(study=study, name="reader 1", by=owner) == without

    @pytest.mark.parametrize("found", ["unknown", "ignored", "refused"])
    def test_none_is_held_to_one_that_the_server_is_not_known_to_honour(self, study, owner, found):
        variant = add_reader()
        check_model(variant=variant, by=owner)
        held = ensure_annotator(study=study, variant=variant, by=owner)
        find_out(variant, found)
        assert "answer_schema" not in draft_annotator(study=study, variant=variant).recipe
        with pytest.raises(Refused, match="no probe has found that the server of reader honours"):
            draft_annotator(study=study, variant=variant, answer_schema=True)
        with pytest.raises(Refused, match="no probe has found"):
            launch_preannotation(study=study, annotator=held, by=owner)

    def test_it_is_chosen_at_the_launch_and_shown_with_the_instructions(self, study, interview, lead, client_of):
        variant = add_reader()
        check_model(variant=variant, by=lead)
        client, path = client_of(lead), reverse("annotators:launch", args=[study.slug])
        typed = {"model": variant.pk, "families": ["themes"], "concurrency": 5, "lost_answers": "retry"}
        assert "held to a JSON schema (schema-1)" in client.post(path, typed).content.decode()
        without = client.post(path, typed | {"without_schema": "on"}).content.decode()
        assert "<dt>Structured answers</dt><dd>no</dd>" in without
        annotator = ensure_annotator(study=study, variant=variant, by=lead)
        page = client.get(reverse("annotators:annotator", args=[study.slug, annotator.pk])).content.decode()
        assert "held to a JSON schema, schema-1" in page
        assert "&quot;theme.balance&quot;" in page
        assert "&quot;additionalProperties&quot;: false" in page


class TestRequest:
    def test_each_call_names_the_sentences_of_its_turn_and_the_codes_of_its_arm(self, study):
        add_interviews(study, "one")
        variant = add_reader()
        check_model(variant=variant, by=trail.SYSTEM)
        batch = launch_model(study=study, variant=variant, families=["themes"], by=trail.SYSTEM)
        arm = batch.arms.get(settings__condition="")
        cell = batch.cells.filter(arm=arm).first()
        assert cell is not None
        prompt = get_kind(batch.kind).write_prompts(arm, [cell.input_id])[cell.input_id]
        request = make_request(arm, prompt)
        sentences = list(Sentence.objects.filter(turn=cell.input_id).order_by("start").values_list("pk", flat=True))
        words = json.dumps(write_body("openai_compatible", request)["response_format"])
        asked = [f'"sentence": {{"type": "integer", "enum": [{key}]}}' for key in sentences]
        assert sorted(map(words.index, asked)) == [words.index(each) for each in asked]
        assert json.dumps(arm.settings["codes"]) in words
        arm.price_in = arm.price_out = 1
        without = Arm(batch=batch, variant=variant, system_prompt=arm.system_prompt, price_in=1, price_out=1)
        assert compute_highest_price(request, arm) > compute_highest_price(make_request(without, prompt), without)

    def test_answers_are_read_as_any_others(self, study):
        add_interviews(study, "one")
        variant = add_reader()
        check_model(variant=variant, by=trail.SYSTEM)
        batch = launch_model(study=study, variant=variant, families=["themes"], by=trail.SYSTEM)
        arm = batch.arms.get(settings__condition="")
        cell = batch.cells.filter(arm=arm).first()
        assert cell is not None
        answered = Answered(cell.pk, arm.pk, cell.input_id, "I would rather not use JSON.", "stop", "")
        assert get_kind(batch.kind).store_answers(batch, [answered]) == {cell.pk: TurnAnswer.Outcome.INVALID}
