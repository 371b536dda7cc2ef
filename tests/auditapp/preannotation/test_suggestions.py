from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from auditapp.batches.kinds import Answered
from auditapp.batches.models import Batch, Cell
from auditapp.llm.actions import add_model
from auditapp.preannotation import actions
from auditapp.preannotation.kind import PreannotationKind
from auditapp.preannotation.models import Annotator, Reading, Response, Suggestion
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.actions import decide_sentence
from transcripts.coding.models import Coding, Layer, Reveal
from transcripts.corpus.models import Interview, Sentence
from transcripts.projects.models import Project


@pytest.fixture
def annotator(project: Project, owner: User) -> Annotator:
    add_model(label="reader", provider="fake", by=owner)
    return actions.ensure_annotator(project=project, name="reader", by=owner)


@pytest.fixture
def batch(project: Project, interview: Interview, annotator: Annotator, owner: User) -> Batch:
    return actions.launch_preannotation(project=project, annotator=annotator, families=["themes", "moves"], by=owner)


def cell_of(batch: Batch, sentence: Sentence, family: str) -> Cell:
    return Cell.objects.get(batch=batch, input_id=sentence.turn_id, arm__task=family)


def store(batch: Batch, cell: Cell, answer: str | None) -> str:
    answered = Answered(cell.pk, cell.arm_id, cell.input_id, answer, "stop", "")
    return PreannotationKind().store_answers(batch, [answered])[cell.pk]


@pytest.fixture
def suggestion(batch: Batch, sentence: Sentence) -> Suggestion:
    item = {"sentence": sentence.pk, "code": "theme.balance", "rationale": "It weighs."}
    store(batch, cell_of(batch, sentence, "themes"), json.dumps({"codings": [item]}))
    return Suggestion.objects.get()


def decide(project: Project, sentence: Sentence, by: User) -> None:
    decide_sentence(project=project, sentence=sentence, by=by, client_id=uuid.uuid4())


class TestReading:
    def test_a_batch_has_one_cell_per_model_turn_and_family(self, batch: Batch) -> None:
        assert batch.cells.count() == 4
        assert {arm.task for arm in batch.arms.all()} == {"themes", "moves"}

    def test_the_options_of_a_batch_are_passed_on(
        self, project: Project, interview: Interview, annotator: Annotator, owner: User
    ) -> None:
        asked: dict[str, Any] = {"project": project, "annotator": annotator, "by": owner, "client_id": uuid.uuid4()}
        batch = actions.launch_preannotation(**asked, pilot=1, lost_answers="hold", uses_cache=True)
        assert batch.state == "pilot"
        assert (batch.lost_answers, batch.uses_cache, batch.route) == ("hold", True, "live")
        assert actions.launch_preannotation(**asked) == batch

    def test_asking_again_has_nothing_to_forget(self, batch: Batch, sentence: Sentence) -> None:
        cell = cell_of(batch, sentence, "themes")
        assert store(batch, cell, None) == "provider_error"
        PreannotationKind().reopen([cell.pk])
        assert store(batch, cell, '{"codings": []}') == "valid"

    def test_the_prompt_shows_the_question_and_the_numbered_sentences(self, batch: Batch, sentence: Sentence) -> None:
        arm = batch.arms.get(task="themes")
        prompt = PreannotationKind().write_prompts(arm, [sentence.turn_id])[sentence.turn_id]
        assert "where culture may matter?" in prompt
        assert f"[{sentence.pk}] I would ask first." in prompt
        assert "code theme.balance:" in arm.system_prompt
        assert "code move.elicit:" not in arm.system_prompt

    def test_a_suggestion_is_a_machines_row_and_no_coding(self, suggestion: Suggestion) -> None:
        assert Coding.objects.count() == 0
        assert suggestion.code.identifier == "theme.balance"
        assert suggestion.annotator.name == "reader"

    def test_codes_of_another_family_and_foreign_sentences_are_counted_and_never_applied(
        self, batch: Batch, sentence: Sentence
    ) -> None:
        foreign = Sentence.objects.exclude(turn=sentence.turn).first()
        assert foreign is not None
        items = [
            {"sentence": sentence.pk, "code": "move.elicit"},
            {"sentence": foreign.pk, "code": "theme.balance"},
        ]
        cell = cell_of(batch, sentence, "themes")
        assert store(batch, cell, json.dumps({"codings": items})) == "partial"
        reading = Reading.objects.get(cell=cell)
        assert reading.accepted == 0
        assert [each["reason"] for each in reading.rejected] == ["unknown code", "sentence was not asked about"]
        assert Suggestion.objects.count() == 0

    @pytest.mark.parametrize("answer", ["", "no JSON here"])
    def test_an_answer_of_no_use_is_counted_as_such(self, batch: Batch, sentence: Sentence, answer: str | None) -> None:
        cell = cell_of(batch, sentence, "themes")
        assert store(batch, cell, answer) == "invalid"
        assert Reading.objects.get(cell=cell).problem

    def test_a_call_without_an_answer_is_the_providers_failure_and_no_reading(
        self, batch: Batch, sentence: Sentence
    ) -> None:
        assert store(batch, cell_of(batch, sentence, "themes"), None) == "provider_error"
        assert Reading.objects.count() == 0

    @pytest.mark.parametrize("rationale", ["a\x00b", "\ud800"])
    @pytest.mark.parametrize("number", ["1e999", "12345678901234567890123", "{}"])
    def test_a_hostile_answer_can_be_stored(
        self, batch: Batch, sentence: Sentence, rationale: str, number: str
    ) -> None:
        items = f'{{"sentence": {number}, "code": "x\\u0000"}}, ' + json.dumps(
            {"sentence": sentence.pk, "code": "theme.balance", "rationale": rationale}
        )
        cell = cell_of(batch, sentence, "themes")
        assert store(batch, cell, f'{{"codings": [{items}]}}') == "partial"
        assert len(Reading.objects.get(cell=cell).rejected) == 1
        assert Suggestion.objects.count() == 1

    def test_an_annotator_needs_a_known_model(self, project: Project, owner: User) -> None:
        with pytest.raises(actions.PreannotationError, match="no annotator and no model 'nobody'"):
            actions.ensure_annotator(project=project, name="nobody", by=owner)

    def test_a_family_that_is_not_there_is_refused(self, project: Project, annotator: Annotator) -> None:
        with pytest.raises(actions.PreannotationError, match="astrology"):
            actions.launch_preannotation(project=project, annotator=annotator, families=["astrology"], by=trail.SYSTEM)


class TestRevealAndResponse:
    def panel(self, client: Client, project: Project, sentence: Sentence) -> tuple[int, str]:
        answer = client.post(reverse("preannotation:panel", args=[project.slug, sentence.pk]))
        return answer.status_code, answer.content.decode()

    def test_nothing_is_shown_before_ones_own_decision(
        self,
        suggestion: Suggestion,
        project: Project,
        sentence: Sentence,
        coder: User,
        client_of: Callable[[User], Client],
    ) -> None:
        status, page = self.panel(client_of(coder), project, sentence)
        assert status == 409
        assert "It weighs." not in page
        assert Reveal.objects.count() == 0

    def test_after_the_decision_the_panel_opens_and_that_is_on_record(
        self,
        suggestion: Suggestion,
        project: Project,
        sentence: Sentence,
        coder: User,
        client_of: Callable[[User], Client],
    ) -> None:
        decide(project, sentence, coder)
        status, page = self.panel(client_of(coder), project, sentence)
        assert status == 200
        assert "It weighs." in page
        assert "fake provider, invented" in page
        assert Reveal.objects.get().coder == coder

    def test_the_absence_of_a_suggestion_is_said(
        self, batch: Batch, project: Project, sentence: Sentence, coder: User, client_of: Callable[[User], Client]
    ) -> None:
        decide(project, sentence, coder)
        store(batch, cell_of(batch, sentence, "themes"), '{"codings": []}')
        assert "No code suggested." in self.panel(client_of(coder), project, sentence)[1]

    def test_keeping_makes_ones_own_coding_marked_as_assisted(
        self,
        suggestion: Suggestion,
        project: Project,
        sentence: Sentence,
        coder: User,
        client_of: Callable[[User], Client],
    ) -> None:
        client = client_of(coder)
        decide(project, sentence, coder)
        self.panel(client, project, sentence)
        answer = client.post(reverse("preannotation:respond", args=[project.slug, suggestion.pk]), {"act": "keep"})
        assert answer.status_code == 302
        coding = Coding.objects.get()
        assert (coding.coder, coding.layer, coding.reason) == (coder, Layer.ASSISTED, "suggestion")
        assert Response.objects.get().coding == coding

    def test_leaving_adds_no_coding_and_can_be_changed_to_keeping(
        self, suggestion: Suggestion, project: Project, sentence: Sentence, coder: User
    ) -> None:
        decide(project, sentence, coder)
        Reveal.objects.create(sentence=sentence, coder=coder, revealed_at=suggestion.annotator.created_at)
        actions.leave_suggestion(suggestion=suggestion, project=project, by=coder)
        assert Coding.objects.count() == 0
        actions.keep_suggestion(suggestion=suggestion, project=project, by=coder)
        assert list(Response.objects.order_by("pk").values_list("verdict", flat=True)) == ["left", "kept"]
        assert Response.objects.filter(superseded_at__isnull=True).count() == 1

    def test_a_suggestion_cannot_be_kept_unseen(self, suggestion: Suggestion, project: Project, coder: User) -> None:
        with pytest.raises(actions.PreannotationError, match="Decide on the sentence yourself first"):
            actions.keep_suggestion(suggestion=suggestion, project=project, by=coder)

    def test_an_outsider_gets_404(
        self,
        suggestion: Suggestion,
        project: Project,
        sentence: Sentence,
        outsider: User,
        client_of: Callable[[User], Client],
    ) -> None:
        client = client_of(outsider)
        assert self.panel(client, project, sentence)[0] == 404
        url = reverse("preannotation:respond", args=[project.slug, suggestion.pk])
        assert client.post(url, {"act": "keep"}).status_code == 404
        assert Coding.objects.count() == 0

    def test_keeping_a_move_leaves_open_whether_it_is_enacted(
        self, batch: Batch, project: Project, sentence: Sentence, coder: User, client_of: Callable[[User], Client]
    ) -> None:
        item = {"sentence": sentence.pk, "code": "move.elicit"}
        store(batch, cell_of(batch, sentence, "moves"), json.dumps({"codings": [item]}))
        suggestion, client = Suggestion.objects.get(), client_of(coder)
        decide(project, sentence, coder)
        self.panel(client, project, sentence)
        client.post(reverse("preannotation:respond", args=[project.slug, suggestion.pk]), {"act": "keep"})
        assert Coding.objects.get().enactment == ""
