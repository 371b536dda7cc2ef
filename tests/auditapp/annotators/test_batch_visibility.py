"""Who may look into the calls of a machine that read interviews, and what it costs her blindness."""

import uuid

import pytest
from django.urls import URLResolver, reverse
from django.utils import timezone

from auditapp.annotators.actions.launching import launch_preannotation
from auditapp.annotators.runner import PreannotationKind
from auditapp.batches.models import Attempt, Batch
from auditapp.batches.pages import progress
from auditapp.batches.pages.progress import ENOUGH_CALLS, is_sum_shown, read_progress
from auditapp.batches.urls import urlpatterns
from auditapp.evaluation.runner import CriticKind
from tests.auditapp.annotators.cast import add_interviews, answer_all
from tests.auditapp.evaluation.cast import add_critic, launch, list_sentences, open_to, suggest
from tests.auditapp.suggestions.cast import add_annotator, decide, read_offline, show_all, withhold_all
from tests.support.databases import stored
from tests.transcripts.blinding.cast import unblind_on
from tests.transcripts.coding.cast import find_code, put
from transcripts.accounts.actions import create_token
from transcripts.coding.models import Blinding, Unblinding
from transcripts.corpus.models import Turn
from transcripts.rounds.models import Assignment, Round


@pytest.fixture(autouse=True)
def _nothing_is_remembered():
    progress._watched.clear()


@stored
def annotator(study):
    return add_annotator(study)


@stored
def suggestion(annotator, study, interview):
    """Balance on the first sentence of the model, nothing withheld."""
    show_all(study)
    [found] = suggest(annotator, {list_sentences(interview)[0]: ["theme.balance"]})
    return found


@stored
def batch(suggestion):
    """The turn answer that proposed it, answered."""
    assert suggestion.cell is not None
    answer_all(suggestion.cell.batch)
    return suggestion.cell.batch


def address(name, batch, *more):
    return reverse(f"batches:{name}", args=[batch.study.slug, batch.pk, *more])


def read(client, path, status=200, method="GET"):
    got = client.generic(method, path)
    assert got.status_code == status
    return " ".join(got.content.decode().split())


def list_routes():
    for pattern in urlpatterns:
        if isinstance(pattern, URLResolver):
            yield from ((str(each), getattr(each, "callback", None)) for each in pattern.url_patterns)


@pytest.mark.parametrize(("name", "view"), list(list_routes()))
def test_every_address_of_a_batch_goes_through_the_gate(name, view):
    inner = view
    while not hasattr(inner, "goes_through_the_gate") and hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    assert hasattr(inner, "goes_through_the_gate"), name


class TestCoders:
    @pytest.mark.parametrize(("name", "method"), [("attempts", "GET"), ("spend", "GET"), ("spend_file", "POST")])
    def test_see_nothing_of_single_calls_and_are_told_why(self, batch, coder, client_of, name, method):
        page = read(client_of(coder), address(name, batch), method=method)
        assert "could reveal the answers of a machine" in page
        assert "Tokens" not in page
        assert "tokens_out" not in page

    def test_see_the_state_and_the_share_of_calls_alone(self, batch, coder, client_of):
        page = read(client_of(coder), address("detail", batch))
        assert "100 %<small> of the calls have ended" in page
        for kept_back in ("Outcomes", "valid", "spent", "Attempts", "Spend", "Arms", "throughput"):
            assert kept_back not in page
        assert "100 %" in read(client_of(coder), reverse("batches:list", args=[batch.study.slug]))

    def test_see_no_outcomes_where_the_page_asks_for_what_changed(self, batch, coder, client_of):
        got = client_of(coder).get(address("detail", batch), headers={"hx-request": "true"}).content.decode()
        assert "live-progress" in got
        assert "valid" not in got

    def test_see_no_alarm_of_answers_they_may_not_see(self, batch, coder, client_of, monkeypatch):
        monkeypatch.setattr(PreannotationKind, "find_alarms", lambda kind, outcomes: ["worthless"])
        client = client_of(coder)
        assert "worthless" not in read(client, address("detail", batch))
        got = client.get(address("detail", batch), headers={"hx-request": "true"}).content.decode()
        assert "live-alarms" in got
        assert "worthless" not in got

    def test_get_null_for_what_calls_tell_from_the_interface_for_programs(self, batch, coder, client):
        headers = {"authorization": f"Bearer {create_token(user=coder, name='x', by=coder)[1]}"}
        [row] = client.get(f"/api/v1/studies/{batch.study.slug}/batches/", headers=headers).json()["results"]
        one = client.get(f"/api/v1/studies/{batch.study.slug}/batches/{batch.pk}/", headers=headers).json()
        for found in (row, one):
            assert (found["closed"], found["percent"], found["state"]) == (True, 100, "done")
            assert {found[name] for name in ("cells", "finished", "calls", "spent")} == {None}
        assert (one["outcomes"], one["states"], one["throughput"], one["arms"]) == (None, None, None, [])


def fail_once(batch, end):
    """An attempt of the batch's one cell that brought no answer, with everything that a provider may have sent."""
    cell, now = batch.cells.get(), timezone.now()
    return Attempt.objects.create(
        cell=cell,
        arm=cell.arm,
        fence=9,
        request_id=uuid.uuid4(),
        runner="x",
        written_at=now,
        sent_at=now,
        done_at=now,
        end=end,
        http_status=400,
        error_class="context_overflow",
        error="It needs 2,640 tokens.",
        prompt="Asked of the model.",
        raw="Said by the model.",
        finish_reason="finished by itself",
        tokens_out=4321,
    )


class TestReaders:
    def test_see_everything_and_open_nothing(self, batch, reader, client_of):
        client = client_of(reader)
        assert "Tokens out" in read(client, address("attempts", batch))
        assert "Tokens out" in read(client, address("spend", batch))
        assert "Nothing here." in read(client, address("attempt", batch, batch.cells.get().attempts.get().pk))
        assert not Unblinding.objects.exists()


class TestWhoRunsBatchesAndCodes:
    def test_opens_first_and_what_she_codes_after_is_assisted(self, batch, suggestion, lead, client_of):
        client, attempt = client_of(lead), batch.cells.get().attempts.get().pk
        for path in (address("attempts", batch), address("spend", batch), address("attempt", batch, attempt)):
            page = read(client, path)
            assert "Unblind it first" in page
            assert "Nothing here." not in page
        assert not Unblinding.objects.exists()
        unblind_on(client, address("detail", batch))
        assert Unblinding.objects.get().where == "calls"
        assert "Nothing here." in read(client, address("attempt", batch, attempt))
        assert "Tokens out" in read(client, address("spend", batch))
        balance = find_code(batch.study, "theme.balance")
        assert put(suggestion.sentence, balance, lead, reason="So.").blinding == Blinding.ASSISTED

    @pytest.mark.parametrize("end", ["refused", "failed", "unsent", "unknown"])
    def test_reads_why_a_call_failed_without_unblinding(self, batch, lead, coder, client_of, end):
        failed, answered = fail_once(batch, end), batch.cells.get().attempts.get(end="answered")
        page = read(client_of(lead), address("attempt", batch, failed.pk))
        for shown in ("context overflow", "It needs 2,640 tokens.", "400"):
            assert shown in page
        for hidden in ("Asked of the model.", "Said by the model.", "4,321", "finished by itself"):
            assert hidden not in page
        page = read(client_of(lead), address("attempts", batch))
        assert address("attempt", batch, failed.pk) in page
        assert address("attempt", batch, answered.pk) not in page
        assert "4,321" not in page
        assert "Nothing here." not in read(client_of(lead), address("attempt", batch, answered.pk))
        assert address("attempts", batch) in read(client_of(lead), address("detail", batch))
        assert not Unblinding.objects.exists()
        assert client_of(coder).get(address("attempt", batch, failed.pk)).status_code == 403
        assert "context overflow" not in read(client_of(coder), address("attempts", batch))

    def test_a_critics_message_that_could_quote_labels_stays_hidden(self, batch, lead, client_of, monkeypatch):
        failed = fail_once(batch, "refused")
        monkeypatch.setattr(PreannotationKind, "find_visibility", CriticKind.find_visibility)
        page = read(client_of(lead), address("attempt", batch, failed.pk))
        assert "context overflow" in page
        assert "2,640" not in page

    def test_sees_no_call_about_a_withheld_turn_before_she_has_decided_about_it(
        self, annotator, study, interview, lead, client_of
    ):
        withhold_all(study, interview)
        sentences = list_sentences(interview)
        [found] = suggest(annotator, {sentences[0]: ["theme.balance"]})
        assert found.cell is not None
        batch, [attempt] = found.cell.batch, answer_all(found.cell.batch)
        open_to(study, interview, lead)
        client = client_of(lead)
        for path in (address("spend", batch), address("attempt", batch, attempt.pk)):
            assert "Press Enter on every sentence" in read(client, path)
        page = read(client, address("attempts", batch))
        assert "No attempts match." in page
        own = [each for each in sentences if each.turn_id == found.sentence.turn_id]
        for sentence in own:
            decide(sentence, lead)
        assert "Nothing here." in read(client, address("attempt", batch, attempt.pk))
        assert "Tokens out" in read(client, address("spend", batch))

    def test_of_an_interview_that_is_closed_to_her_she_reads_the_withheld_turns_too_once_she_has_unblinded_it(
        self, annotator, study, interview, owner, coder, client_of
    ):
        withhold_all(study, interview)
        [found] = suggest(annotator, {list_sentences(interview)[0]: ["theme.balance"]})
        assert found.cell is not None
        batch, [attempt] = found.cell.batch, answer_all(found.cell.batch)
        dealt = Round.objects.create(
            study=study, number=1, name="Others", opened_at=timezone.now(), opened_by_name="lead"
        )
        Assignment.objects.create(
            round=dealt, interview=interview, coder=coder, assigned_at=timezone.now(), assigned_by_name="lead"
        )
        client = client_of(owner)
        assert "Unblind it first" in read(client, address("spend", batch))
        open_to(study, interview, owner)
        assert "Nothing here." in read(client, address("attempt", batch, attempt.pk))
        assert "Tokens out" in read(client, address("spend", batch))

    def test_unblinding_on_a_call_unblinds_its_interview_alone(self, annotator, study, owner, lead, client_of):
        first, second = add_interviews(study, "first", "second")
        show_all(study)
        turn_answer = launch_preannotation(
            study=study, annotator=annotator, families=["themes"], interviews=[first, second], by=owner
        )
        answer_all(turn_answer)
        cell = turn_answer.cells.filter(input_id__in=Turn.objects.filter(interview=first).values("pk")).first()
        assert cell is not None
        unblind_on(client_of(lead), address("attempt", turn_answer, cell.attempts.get().pk))
        assert [each.interview for each in Unblinding.objects.all()] == [first]

    def test_takes_no_requests_of_a_critic_out_before_she_opened(
        self, annotator, batch, study, interview, lead, client_of
    ):
        critics = launch(annotator, add_critic())
        Batch.objects.filter(pk=critics.pk).update(route=Batch.Route.FILE)
        client = client_of(lead)
        answer = client.post(address("requests", critics))
        assert answer.status_code == 302
        assert "The requests were not written." in read(client, address("detail", critics))
        open_to(study, interview, lead)
        assert client.post(address("requests", critics)).status_code == 200

    def test_sees_the_verdicts_of_a_critic_after_she_opened(self, annotator, batch, study, interview, lead, client_of):
        critics = launch(annotator, add_critic())
        answer_all(critics)
        critics.cells.update(outcome="rejected")
        client = client_of(lead)
        assert "rejected" not in read(client, address("detail", critics))
        open_to(study, interview, lead)
        progress._watched.clear()
        assert "rejected" in read(client, address("detail", critics))

    def test_finds_no_answer_behind_the_counts_of_an_annotator_before_she_opened(
        self, annotator, batch, study, interview, lead, client_of
    ):
        path = reverse("annotators:turn_answers", args=[study.slug, annotator.pk])
        assert "No answers match." in read(client_of(lead), path)
        page = reverse("annotators:annotator", args=[study.slug, annotator.pk])
        assert "Hidden from you: unblind its interviews" in read(client_of(lead), page)
        open_to(study, interview, lead)
        assert address("attempt", batch, batch.cells.get().attempts.get().pk) in read(client_of(lead), path)

    def test_is_told_the_sum_of_enough_calls_that_rest(self, batch):
        stood = read_progress(batch)
        enough = stood._replace(finished=ENOUGH_CALLS)
        batch.state = Batch.State.PAUSED
        assert is_sum_shown(batch, enough)
        assert not is_sum_shown(batch, stood)
        batch.state = Batch.State.RUNNING
        assert not is_sum_shown(batch, enough)


def test_how_much_a_run_without_a_model_suggested_is_told_once_its_interviews_are_opened(
    study, interview, lead, reader, client_of
):
    rules = add_annotator(study, "rules", kind="rules")
    [found] = read_offline(rules, list_sentences(interview)[0], ["theme.balance"])
    path = reverse("annotators:run", args=[study.slug, found.run_id])
    assert "<dt>Suggestions</dt> <dd>1</dd>" in read(client_of(reader), path)
    assert "<dt>Suggestions</dt> <dd>1</dd>" not in read(client_of(lead), path)
    open_to(study, interview, lead)
    assert "<dt>Suggestions</dt> <dd>1</dd>" in read(client_of(lead), path)


def test_a_batch_of_another_kind_stays_open_to_coders(batch, coder, client_of):
    Batch.objects.filter(pk=batch.pk).update(kind="sob")
    assert "Tokens out" in read(client_of(coder), address("attempts", batch))
