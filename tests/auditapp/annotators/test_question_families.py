"""Challenges on the interviewer's turns: a model proposes them, people decide first and keep them, and it is calibrated."""

import json
import re
import uuid

import pytest
from django.urls import reverse

from auditapp.annotators.actions.launching import launch_model
from auditapp.annotators.models import Annotator, Suggestion, TurnArm
from auditapp.annotators.runner import render_turn_prompts
from auditapp.annotators.withholding import (
    ensure_arms,
    find_arms,
    list_all_withheld,
    list_undecided,
    open_draft_interview,
)
from auditapp.batches.models import Cell
from auditapp.evaluation.actions import choose_annotator, plan_check
from auditapp.evaluation.queries.calibration import find_listable, read_compared
from auditapp.evaluation.queries.calibration_tables import read_spread
from auditapp.evaluation.queries.influence import count_influence
from auditapp.evaluation.queries.positives import list_positives
from auditapp.suggestions.actions import accept_suggestion, undo_response
from auditapp.suggestions.models import Showing
from tests.auditapp.annotators.cast import (
    FACT,
    PROBE,
    TURNS,
    answer,
    bring_in,
    find_arm,
    find_reader,
    launch,
    read_calibration,
    read_material,
)
from tests.auditapp.suggestions.cast import decide, look, show_all, withhold_all
from tests.transcripts.coding.cast import find_code, put
from transcripts.audit_trail import trail
from transcripts.codebook.actions import publish_version, start_draft
from transcripts.coding.actions import NotDecided
from transcripts.coding.actions.boundary_edits import split_sentence
from transcripts.coding.models import Blinding, Coding, Reveal
from transcripts.corpus.models import Sentence, Turn
from transcripts.refusals import Refused
from transcripts.studies.actions import set_method

Talk = list[list[Sentence]]
FIRST, ANSWER, CHALLENGED, REPLY, LAST = range(5)


@pytest.fixture
def talk(study):
    """Three questions, the last without an answer; nothing of it is withheld."""
    show_all(study)
    return bring_in(study)


@pytest.fixture
def arm(study, owner, talk):
    return find_arm(launch(study, owner))


def propose(arm, talk):
    return answer(arm, talk[CHALLENGED], {FACT: "manager has left"})[FACT]


def challenge(talk, place, by, code=FACT):
    first = talk[place][0]
    return put(first, find_code(first.turn.interview.study, code), by)


def decide_all(sentences, by):
    for each in sentences:
        decide(each, by)


def make_sentence_family(study, owner):
    """A version whose themes are for single sentences of the interviewer."""
    draft = start_draft(study=study, by=owner)
    draft.families.filter(identifier="themes").update(applies_to="interviewer")
    publish_version(version=draft, by=owner)


class TestLaunch:
    def test_the_interviewers_turns_are_asked_about_and_no_others(self, arm, talk):
        asked = set(Cell.objects.filter(arm=arm).values_list("input_id", flat=True))
        assert asked == {talk[place][0].turn_id for place in (FIRST, CHALLENGED, LAST)}

    def test_with_other_families_each_arm_asks_about_its_own_side(self, study, owner, talk):
        batch = launch(study, owner, "challenges", "responses", "themes")
        sides = {
            family: set(Turn.objects.filter(pk__in=cells).values_list("role", flat=True))
            for family in ("challenges", "responses", "themes")
            if (cells := Cell.objects.filter(arm=find_arm(batch, family)).values("input_id"))
        }
        assert sides == {"challenges": {"interviewer"}, "responses": {"model"}, "themes": {"model"}}
        assert batch.parameters["turns"] == 5

    def test_they_are_asked_for_only_by_name(self, study, owner, talk):
        usual = launch_model(study=study, variant=find_reader(), by=owner)
        assert "challenges" not in set(usual.arms.values_list("settings__family", flat=True))

    def test_a_limit_takes_so_many_of_each_side(self, study, owner, talk):
        batch = launch_model(
            study=study, variant=find_reader(), families=["challenges", "responses"], limit=1, by=owner
        )
        asked = set(batch.cells.values_list("input_id", flat=True))
        assert asked == {talk[FIRST][0].turn_id, talk[ANSWER][0].turn_id}

    def test_the_turn_goes_whole_after_all_that_was_said_before_it(self, arm, talk):
        turn = talk[CHALLENGED][0].turn_id
        material = read_material(render_turn_prompts(arm, [turn])[turn])
        assert material["turn"] == [{"sentence": talk[CHALLENGED][0].pk, "text": TURNS[CHALLENGED][1]}]
        assert material["question"] == ""
        assert [(each["speaker"], each["text"]) for each in material["earlier"]] == TURNS[:CHALLENGED]
        assert "a whole turn of the interviewer" in arm.system_prompt

    def test_interviews_in_which_the_interviewer_is_silent_are_refused_with_a_sentence(self, study, owner):
        bring_in(study, "monologue", [("model", "I would wait.")])
        with pytest.raises(Refused, match="the interviewer says nothing in the chosen interviews"):
            launch(study, owner)

    def test_codes_for_single_sentences_of_the_interviewer_are_refused_with_a_sentence(self, study, talk, owner):
        make_sentence_family(study, owner)
        with pytest.raises(Refused, match="for single sentences of the interviewer"):
            launch(study, owner, "themes")
        usual = launch_model(study=study, variant=find_reader(), by=owner)
        assert "themes" not in set(usual.arms.values_list("settings__family", flat=True))

    def test_checks_leave_them_out(self, study, arm):
        with pytest.raises(Refused, match="whole turns"):
            plan_check(study=study, annotator=Annotator.objects.get(), families=["challenges"])

    def test_the_form_offers_them_and_the_review_counts_their_turns(self, study, talk, owner, client_of):
        model = find_reader()
        client, address = client_of(owner), reverse("annotators:launch", args=[study.slug])
        assert "Challenges (whole turns of the interviewer)" in client.get(address).content.decode()
        data = {"model": model.pk, "families": ["challenges"], "concurrency": 3, "pilot": 0, "lost_answers": "retry"}
        page = client.post(address, data).content.decode()
        assert "<dt>Turns</dt><dd>3</dd>" in page

    def test_the_fake_provider_proposes_challenges(self, instance):
        instance.manage("study", "create", "culture", "--name", "Culture")
        turns = [
            turn
            for n in range(20)
            for turn in (
                {"role": "interviewer", "text": f"And what of topic {n}? It was not so."},
                {"role": "model", "text": f"I would ask about topic {n} first."},
            )
        ]
        file = instance.folder / "one.jsonl"
        file.write_text(json.dumps({"id": "one", "turns": turns}), encoding="utf-8")
        instance.manage("interview", "import", str(file), "--study", "culture")
        instance.manage("model", "add", "reader", "--provider", "fake")
        asked = ("--study", "culture", "--annotator", "reader", "--pilot", "0", "--wait")
        found = instance.ask("annotator", "run", *asked, "--family", "challenges")
        assert (found["state"], found["rejected_items"], found["missing_sentences"]) == ("done", 0, 0)
        assert (found["turns"], found["turn_answers"]) == (20, 20)
        rows = instance.query(
            "SELECT c.identifier, t.role FROM annotators_suggestion s JOIN codebook_code c ON c.id = s.code_id "
            "JOIN corpus_sentence n ON n.id = s.sentence_id JOIN corpus_turn t ON t.id = n.turn_id"
        )
        assert rows
        assert all((code.partition(".")[0], role) == ("challenge", "interviewer") for code, role in rows)


class TestDecidingFirst:
    def test_nothing_is_shown_before_the_turn_is_coded_or_its_whole_answer_decided(self, arm, talk, coder):
        made = propose(arm, talk)
        with pytest.raises(NotDecided, match="Decide on this turn first"):
            look(talk[CHALLENGED][0], coder)
        decide(talk[REPLY][0], coder)
        with pytest.raises(NotDecided):
            look(talk[CHALLENGED][0], coder)
        assert not Reveal.objects.exists()
        assert not Showing.objects.exists()
        decide(talk[REPLY][1], coder)
        [offer] = look(talk[CHALLENGED][0], coder).offers
        assert offer["suggestion"] == made

    def test_a_challenge_of_ones_own_decides_it(self, arm, talk, coder):
        made = propose(arm, talk)
        own = challenge(talk, CHALLENGED, coder, PROBE)
        assert [each["suggestion"] for each in look(talk[CHALLENGED][0], coder).offers] == [made]
        assert own.blinding == Blinding.BLIND
        assert Showing.objects.get().own_codes == [PROBE]

    def test_another_persons_decision_decides_nothing(self, arm, talk, coder, second_coder):
        propose(arm, talk)
        challenge(talk, CHALLENGED, second_coder)
        decide_all(talk[REPLY], second_coder)
        with pytest.raises(NotDecided):
            look(talk[CHALLENGED][0], coder)

    def test_a_question_is_decided_by_its_own_answer_alone(self, arm, talk, coder):
        propose(arm, talk)
        decide_all(talk[ANSWER], coder)
        with pytest.raises(NotDecided):
            look(talk[CHALLENGED][0], coder)

    def test_a_last_turn_without_an_answer_is_decided_by_a_code_or_sentence_by_sentence(
        self, arm, talk, coder, second_coder
    ):
        answer(arm, talk[LAST], {PROBE: "sure"})
        decide_all(talk[REPLY], coder)
        with pytest.raises(NotDecided):
            look(talk[LAST][0], coder)
        decide_all(talk[LAST], coder)
        assert len(look(talk[LAST][0], coder).offers) == 1
        challenge(talk, LAST, second_coder, PROBE)
        assert len(look(talk[LAST][0], second_coder).offers) == 1

    def test_what_was_seen_stays_seen_and_what_is_coded_then_is_assisted(self, arm, talk, coder):
        propose(arm, talk)
        decide_all(talk[REPLY], coder)
        look(talk[CHALLENGED][0], coder)
        assert set(Reveal.objects.values_list("sentence", flat=True)) == {each.pk for each in talk[CHALLENGED]}
        study = arm.batch.study
        later = put(talk[CHALLENGED][0], find_code(study, FACT), coder, reason="I saw it.")
        assert later.blinding == Blinding.ASSISTED

    def test_what_the_panel_says_before_does_not_depend_on_what_was_suggested(self, arm, talk, coder, client_of, study):
        client = client_of(coder)
        address = reverse("suggestions:panel", args=[study.slug, talk[CHALLENGED][0].pk])
        desk = reverse("desk:desk", args=[study.slug, talk[CHALLENGED][0].turn.interview_id])
        before = client.post(address), client.get(desk)
        propose(arm, talk)
        after = client.post(address), client.get(desk)
        assert before[0].status_code == after[0].status_code == 409
        for was, now in zip(before, after, strict=True):
            assert _strip(was.content) == _strip(now.content)

    def test_the_panel_of_any_sentence_of_the_turn_is_that_of_the_turn(self, arm, talk, coder, client_of, study):
        propose(arm, talk)
        challenge(talk, CHALLENGED, coder)
        address = reverse("suggestions:panel", args=[study.slug, talk[CHALLENGED][1].pk])
        assert "New fact" in client_of(coder).post(address).content.decode()

    def test_a_draft_opens_them_before(self, arm, talk, coder, study):
        propose(arm, talk)
        interview = talk[CHALLENGED][0].turn.interview
        open_draft_interview(study=study, interview=interview, reason="To try.", by=trail.SYSTEM)
        assert len(look(talk[CHALLENGED][0], coder).offers) == 1
        later = put(talk[CHALLENGED][0], find_code(study, FACT), coder, reason="I saw it.")
        assert later.blinding == Blinding.ASSISTED


def _strip(page):
    return re.sub(rb'\w{64}|name="idempotency_key" value="[0-9a-f-]+"', b"", page)


class TestWithholding:
    def test_a_question_inherits_the_arm_of_its_answer(self, study, talk):
        ensure_arms(study=study, interviews=None, by=trail.SYSTEM)
        reply = talk[REPLY][0].turn_id
        TurnArm.objects.filter(turn=reply).update(arm=TurnArm.Arm.WITHHELD)
        turn_of = [each[0].turn_id for each in talk]
        arms = {place: each.arm for place, pk in enumerate(turn_of) for each in find_arms([pk]).values()}
        # The last has no answer, so it goes with the answer before it.
        assert arms == {FIRST: "shown", ANSWER: "shown", CHALLENGED: "withheld", REPLY: "withheld", LAST: "withheld"}
        assert list_all_withheld(study) == {turn_of[place] for place in (CHALLENGED, REPLY, LAST)}

    def test_where_the_model_says_nothing_nothing_is_withheld(self, study, owner, coder):
        alone = bring_in(study, "alone", [("interviewer", "Is anybody there?")])
        arm = find_arm(launch(study, owner))
        answer(arm, alone[0], {PROBE: "anybody"})
        decide_all(alone[0], coder)
        assert len(look(alone[0][0], coder).offers) == 1

    def test_a_withheld_question_shows_nothing_and_leaves_its_coder_blind(self, study, owner, coder):
        held = bring_in(study, "held")
        withhold_all(study, held[0][0].turn.interview)
        arm = find_arm(launch(study, owner))
        made = propose(arm, held)
        challenge(held, CHALLENGED, coder, PROBE)
        panel = look(held[CHALLENGED][0], coder)
        assert (panel.annotators, panel.is_withheld) == ([], True)
        assert not Reveal.objects.exists()
        with pytest.raises(Refused):
            accept_suggestion(suggestion=made, study=study, by=coder)

    def test_calls_about_a_withheld_question_stay_hidden_until_it_is_decided(self, study, owner, lead):
        held = bring_in(study, "held")
        withhold_all(study, held[0][0].turn.interview)
        launch(study, owner)
        questions = Turn.objects.filter(interview__external_id="held", role="interviewer")
        waiting = {each[0].turn_id for each in (held[FIRST], held[CHALLENGED], held[LAST])}
        assert set(list_undecided(lead, questions).values_list("pk", flat=True)) == waiting
        decide_all(held[ANSWER], lead)
        challenge(held, CHALLENGED, lead)
        assert set(list_undecided(lead, questions).values_list("pk", flat=True)) == {held[LAST][0].turn_id}
        decide_all(held[LAST], lead)
        assert not list_undecided(lead, questions).exists()


class TestDesk:
    def test_a_kept_challenge_is_a_coding_of_the_turn(self, study, arm, talk, coder):
        made = propose(arm, talk)
        decide_all(talk[REPLY], coder)
        look(talk[CHALLENGED][0], coder)
        assert not Coding.objects.exists()
        kept = accept_suggestion(suggestion=made, study=study, by=coder).coding
        assert kept is not None
        assert (kept.sentence, kept.code.identifier, kept.blinding) == (talk[CHALLENGED][0], FACT, Blinding.ASSISTED)
        undo_response(suggestion=made, study=study, by=coder)
        assert not Coding.objects.active().exists()

    def test_it_stays_with_the_turn_when_its_first_sentence_is_split(self, study, arm, talk, coder, owner):
        made = propose(arm, talk)
        challenge(talk, CHALLENGED, coder)
        split_sentence(study=study, sentence=talk[CHALLENGED][0], at=3, by=owner, idempotency_key=uuid.uuid4())
        first = Sentence.objects.current().filter(turn=talk[CHALLENGED][0].turn_id).order_by("start")[0]
        assert [each["suggestion"] for each in look(first, coder).offers] == [made]


class TestCalibration:
    def read(self, *, only_withheld=False):
        """By code: labels of people compared, of them with the code, turns the machine gave it, and turns compared."""
        found = {}
        for each in read_compared(Annotator.objects.get(), only_withheld=only_withheld).codes:
            counts, people = each.labels.counts, each.labels.people
            units = counts.any(axis=0)
            found[each.code.identifier] = (
                int(counts.sum()),
                int((people & counts).sum()),
                int((each.labels.machine & units).sum()),
                int(units.sum()),
            )
        return found

    def answer_all(self, arm, talk):
        propose(arm, talk)
        for place in (FIRST, LAST):
            answer(arm, talk[place], {})

    def test_the_unit_is_the_interviewers_turn(self, arm, talk, coder, second_coder):
        self.answer_all(arm, talk)
        challenge(talk, CHALLENGED, coder)
        decide_all(talk[REPLY], second_coder)
        assert self.read()[FACT] == (2, 1, 1, 1)
        decide_all(talk[ANSWER], second_coder)
        # Two turns decided by the second, one of them by the first as well. The last turn is decided by nobody.
        assert self.read()[FACT] == (3, 1, 1, 2)
        decide_all(talk[LAST], second_coder)
        assert self.read()[FACT] == (4, 1, 1, 3)

    def test_what_is_kept_after_seeing_it_is_no_blind_label(self, study, arm, talk, coder):
        self.answer_all(arm, talk)
        made = Suggestion.objects.get()
        challenge(talk, CHALLENGED, coder, PROBE)
        look(talk[CHALLENGED][0], coder)
        accept_suggestion(suggestion=made, study=study, by=coder)
        decide_all(talk[REPLY], coder)
        assert self.read()[FACT] == (1, 0, 1, 1)
        assert self.read()[PROBE] == (1, 1, 0, 1)

    def test_withheld_turns_alone_can_be_compared(self, study, owner, coder):
        held = bring_in(study, "held")
        withhold_all(study, held[0][0].turn.interview)
        shown = bring_in(study, "shown")
        arm = find_arm(launch(study, owner))
        for each in (held, shown):
            self.answer_all(arm, each)
            challenge(each, CHALLENGED, coder)
        assert self.read()[FACT] == (2, 2, 2, 2)
        assert self.read(only_withheld=True)[FACT] == (1, 1, 1, 1)

    def test_who_codes_sees_no_withheld_question_one_by_one_before_her_own_decision(self, study, owner, coder, lead):
        held = bring_in(study, "held")
        withhold_all(study, held[0][0].turn.interview)
        arm = find_arm(launch(study, owner))
        self.answer_all(arm, held)
        challenge(held, CHALLENGED, coder)
        at = held[CHALLENGED][0].pk
        compared = read_compared(Annotator.objects.get())
        place = compared.sentence_ids.tolist().index(at)
        assert not find_listable(compared, lead.pk, may_code=True)[FACT][place]
        challenge(held, CHALLENGED, lead)
        assert find_listable(read_compared(Annotator.objects.get()), lead.pk, may_code=True)[FACT][place]

    def test_the_page_counts_turns(self, study, arm, talk, coder, reader, client_of):
        set_method(study=study, method="codebook", by=trail.SYSTEM)
        self.answer_all(arm, talk)
        challenge(talk, CHALLENGED, coder)
        page = client_of(reader).get(reverse("evaluation:calibration", args=[study.slug])).content.decode()
        assert "The unit is a whole turn of the interviewer." in page
        assert "Turns coded by two or more" in page
        [family] = read_calibration(reader)
        assert (family["family"], family["unit"], family["turns_of"]) == ("challenges", "turn", "interviewer")
        fact = next(each for each in family["codes"] if each["code"] == FACT)
        assert (fact["labels"], fact["units"], fact["turns"], fact["tp"]) == (1, 1, 1, 1)

    @pytest.mark.parametrize(
        "name", ["critic", "rejections", "audits", "draw_audit", "rates", "influence", "spread", "choose", "checks"]
    )
    def test_pages_that_know_sentences_alone_name_what_they_leave_out(self, study, arm, owner, client_of, name):
        arguments = [study.slug, Annotator.objects.get().pk] if name == "checks" else [study.slug]
        page = client_of(owner).get(reverse(f"evaluation:{name}", args=arguments)).content.decode()
        assert "Challenges (turns of the interviewer)" in page

    def test_measures_of_sentences_leave_challenges_out(self, study, arm, talk, coder, owner):
        propose(arm, talk)
        annotator = Annotator.objects.get()
        challenge(talk, CHALLENGED, coder)
        look(talk[CHALLENGED][0], coder)
        assert list_positives(annotator) == []
        assert read_spread([annotator])[0] == []
        assert count_influence(annotator)["tables"] == {}
        with pytest.raises(Refused, match="no such code for sentences"):
            choose_annotator(study=study, code_identifier=FACT, annotator=None, reason="No.", by=owner)
