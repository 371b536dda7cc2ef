"""What an annotator is: told what exactly, by which hash known, and when another."""

import pytest

from auditapp.annotators.actions.annotators import draft_annotator, ensure_annotator, read_prompts
from auditapp.annotators.actions.launching import launch_model, launch_preannotation
from auditapp.annotators.models import Annotator
from auditapp.annotators.pure.prompts import PROMPT_VERSION
from auditapp.annotators.runner import PreannotationKind
from tests.auditapp.annotators.cast import OFF_SITE, add_interviews, add_reader, allow, publish_next
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook.actions import seed_codebook
from transcripts.codebook.models import Code, CodeExample
from transcripts.corpus.consent import save_redaction
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.redacting import Entry
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study

pytestmark = pytest.mark.usefixtures("without_grants")


class TestHash:
    def test_the_same_reader_is_one_annotator(self, study, owner):
        variant = add_reader()
        first = ensure_annotator(study=study, variant=variant, by=owner)
        assert ensure_annotator(study=study, variant=variant, by=owner) == first
        assert ensure_annotator(study=study, name="reader", by=owner) == first
        assert (first.number, len(first.hash), first.prompt_version) == (1, 64, PROMPT_VERSION)
        assert Annotator.objects.count() == 1

    @pytest.mark.parametrize(
        "otherwise", [{"mode": "code"}, {"reads_latent": True, "reason": "To see."}], ids=["by code", "latent"]
    )
    def test_who_reads_otherwise_is_the_next_number(self, study, owner, otherwise):
        variant = add_reader()
        first = ensure_annotator(study=study, variant=variant, by=owner)
        other = ensure_annotator(study=study, variant=variant, by=owner, **otherwise)
        assert (other.name, other.number) == (first.name, 2)
        assert other.hash != first.hash

    def test_another_codebook_version_makes_another_annotator(self, study, owner):
        variant = add_reader()
        first = ensure_annotator(study=study, variant=variant, by=owner)
        publish_next(study, owner, definition="Weighs two goods.")
        second = ensure_annotator(study=study, name="reader", by=owner)
        assert (second.number, second.version.number) == (2, first.version.number + 1)
        assert "Weighs two goods." in str(second.recipe)
        assert "Weighs two goods." not in str(first.recipe)

    def test_models_that_differ_in_reasoning_differ(self, study, owner):
        plain, deep = add_reader("plain"), add_reader("deep", reasoning="on")
        hashes = {ensure_annotator(study=study, variant=variant, by=owner).hash for variant in (plain, deep)}
        assert len(hashes) == 2

    def test_a_label_reads_by_family_and_a_number_names_another_way(self, study, owner):
        variant = add_reader()
        plain = ensure_annotator(study=study, variant=variant, by=owner)
        by_code = ensure_annotator(study=study, variant=variant, mode="code", by=owner)
        for name, meant in (("reader", plain), ("reader 1", plain), ("reader 2", by_code)):
            assert ensure_annotator(study=study, name=name, by=owner) == meant
        with pytest.raises(Refused, match="no annotator and no model 'reader 3'"):
            ensure_annotator(study=study, name="reader 3", by=owner)

    def test_a_name_that_is_no_model_s_means_its_newest_number(self, study, owner):
        variant = add_reader()
        ensure_annotator(study=study, variant=variant, name="Anna", by=owner)
        by_code = ensure_annotator(study=study, variant=variant, name="Anna", mode="code", by=owner)
        assert ensure_annotator(study=study, name="Anna", by=owner) == by_code

    def test_a_name_of_another_study_or_of_one_without_a_model_names_none(self, study, owner):
        other = create_study(slug="other", name="Other", by=owner)
        seed_codebook(study=other, by=owner)
        ensure_annotator(study=other, variant=add_reader(), name="Anna", by=owner)
        ensure_annotator(study=study, name="Rules", kind="rules", recipe={"rules": {"a": ["x"]}}, by=owner)
        for name in ("Anna", "Anna 1", "Rules", "Rules 1"):
            with pytest.raises(Refused, match=f"no annotator and no model '{name}'"):
                ensure_annotator(study=study, name=name, by=owner)

    def test_an_annotator_needs_a_codebook(self, owner):
        bare = create_study(slug="bare", name="Bare", by=owner)
        with pytest.raises(Refused, match="no published codebook"):
            ensure_annotator(study=bare, variant=add_reader(), by=owner)

    def test_one_that_asks_no_model_is_what_its_recipe_says(self, study, owner):
        first = ensure_annotator(study=study, kind="rules", recipe={"rules": {"a": ["x"]}}, by=owner)
        again = ensure_annotator(study=study, kind="rules", recipe={"rules": {"a": ["x"]}}, by=owner)
        other = ensure_annotator(study=study, kind="rules", recipe={"rules": {"a": ["y"]}}, by=owner)
        assert first == again
        assert (other.name, other.number, other.variant) == (first.name, 2, None)


class TestEvent:
    def test_making_one_is_on_record_and_finding_it_is_not(self, study, owner):
        variant = add_reader()
        made = ensure_annotator(study=study, variant=variant, by=owner)
        ensure_annotator(study=study, variant=variant, by=owner)
        [event] = AuditEvent.objects.filter(action="annotators.annotator.created")
        assert event.details == {
            "name": "reader",
            "number": 1,
            "kind": "model",
            "model": "reader",
            "codebook": 1,
            "hash": made.hash,
        }

    def test_turn_answer_for_what_is_implied_needs_a_reason_which_is_kept(self, study, owner):
        variant = add_reader()
        with pytest.raises(Refused, match="Say why"):
            ensure_annotator(study=study, variant=variant, reads_latent=True, reason="  ", by=owner)
        assert not Annotator.objects.exists()
        ensure_annotator(study=study, variant=variant, reads_latent=True, reason="Pilot study.", by=owner)
        [event] = AuditEvent.objects.filter(action="annotators.annotator.created")
        assert (event.details["reads_latent"], event.details["reason"]) == (True, "Pilot study.")
        ensure_annotator(study=study, variant=variant, reads_latent=True, reason="Main study.", by=owner)
        [again] = AuditEvent.objects.filter(action="annotators.annotator.confirmed")
        assert again.details["reason"] == "Main study."
        assert Annotator.objects.count() == 1


class TestPrompts:
    def test_by_family_there_is_one_for_each_family_of_sentences_or_turns(self, study):
        prompts = read_prompts(draft_annotator(study=study, variant=add_reader()))
        codes = Code.objects.filter(version__study=study).exclude(family__unit="interview")
        assert [prompt["task"] for prompt in prompts] == [prompt["family"] for prompt in prompts]
        assert sorted(code for prompt in prompts for code in prompt["codes"]) == sorted(
            codes.values_list("identifier", flat=True)
        )

    def test_by_code_there_is_one_for_each_code_that_names_no_other(self, study):
        prompts = read_prompts(draft_annotator(study=study, variant=add_reader(), mode="code"))
        assert all([prompt["task"]] == prompt["codes"] for prompt in prompts)
        balance = next(prompt for prompt in prompts if prompt["task"] == "theme.balance")
        assert "code theme.balance:" in balance["text"]
        assert "code theme.compassion:" not in balance["text"]

    def test_only_what_is_said_is_asked_for_unless_the_lead_says_otherwise(self, study):
        variant = add_reader()
        plain = draft_annotator(study=study, variant=variant)
        latent = draft_annotator(study=study, variant=variant, reads_latent=True)
        assert '"level"' not in read_prompts(plain)[0]["text"]
        assert any('"level"' in prompt["text"] for prompt in read_prompts(latent))

    def test_a_draft_writes_nothing_and_is_what_will_be_stored(self, study, owner):
        variant = add_reader()
        drafted = draft_annotator(study=study, variant=variant)
        assert not Annotator.objects.exists()
        stored = ensure_annotator(study=study, variant=variant, by=owner)
        assert (stored.hash, read_prompts(stored)) == (drafted.hash, read_prompts(drafted))
        assert draft_annotator(study=study, variant=variant) == stored

    def test_what_was_told_stays_told_when_the_codebook_moves_on(self, study, owner):
        annotator = ensure_annotator(study=study, variant=add_reader(), by=owner)
        before = read_prompts(annotator)
        publish_next(study, owner, definition="Weighs two goods.")
        annotator.refresh_from_db()
        assert read_prompts(annotator) == before

    def test_one_made_before_there_were_hashes_still_has_its_instructions(self, study, owner):
        annotator = ensure_annotator(study=study, variant=add_reader(), by=owner)
        told = [prompt for prompt in read_prompts(annotator) if "turns_of" not in prompt]
        Annotator.objects.update(recipe={}, hash="")
        annotator.refresh_from_db()
        assert read_prompts(annotator) == told


@pytest.fixture
def pinned(study, owner):
    """An interview of which a sentence is an example in the current codebook."""
    [talk] = add_interviews(study, "pinned")
    sentence = Sentence.objects.select_related("turn__interview").get(turn__interview=talk, turn__position=2, start=0)
    publish_next(study, owner, example=sentence)
    return talk


def tell(study, **variant):
    return draft_annotator(study=study, variant=add_reader(f"m{len(variant)}", **variant))


class TestExamples:
    WORDS = "I would ask about topic 0 first."

    def test_a_model_of_this_site_is_told_the_pinned_sentences(self, study, pinned):
        annotator = tell(study)
        assert self.WORDS in str(annotator.recipe["prompts"])
        assert len(annotator.recipe["examples"]) == 1

    def test_no_model_is_told_the_invented_examples(self, study):
        invented = CodeExample.objects.filter(code__version__study=study).exclude(words="")
        annotator = tell(study)
        assert invented.exists()
        assert annotator.recipe["examples"] == []
        assert not any(example.words in str(annotator.recipe["prompts"]) for example in invented)

    def test_a_model_off_the_site_is_told_none_without_consent(self, study, pinned):
        annotator = tell(study, **OFF_SITE)
        assert self.WORDS not in str(annotator.recipe["prompts"])
        assert (annotator.recipe["examples"], annotator.recipe["examples_left_out"]) == ([], 1)

    def test_with_consent_it_is_told_them_redacted(self, study, pinned):
        allow(study, pinned)
        without = tell(study, **OFF_SITE)
        assert self.WORDS in str(without.recipe["prompts"])
        save_redaction(study=study, entries=[Entry("topic", "SUBJECT")], reason="To test.", based_on=0, by=trail.SYSTEM)
        redacted = draft_annotator(study=study, variant=without.variant)
        assert "I would ask about SUBJECT 0 first." in str(redacted.recipe["prompts"])
        assert redacted.recipe["redaction"] == 1
        assert redacted.hash != without.hash

    def test_a_consent_withdrawn_makes_another_annotator_and_stops_the_old_one(self, study, pinned, owner):
        [other] = add_interviews(study, "other")
        allow(study, pinned, other)
        variant = add_reader("far", **OFF_SITE)
        annotator = ensure_annotator(study=study, variant=variant, by=owner)
        running = launch_preannotation(study=study, annotator=annotator, interviews=[other], by=owner)
        allow(study, pinned, is_given=False)
        arm = running.arms.select_related("variant__account")[0]
        assert not PreannotationKind().write_prompts(arm, list(arm.cells.values_list("input_id", flat=True)))
        with pytest.raises(Refused, match="may no longer be sent"):
            launch_preannotation(study=study, annotator=annotator, interviews=[other], by=owner)
        batch = launch_model(study=study, variant=variant, interviews=[other], by=owner)
        assert not any(self.WORDS in arm.system_prompt for arm in batch.arms.all())
        assert batch.parameters["annotators"] != [annotator.pk]
