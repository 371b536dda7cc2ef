import json
import uuid
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.transcripts.blinding.cast import find_form, unblind_on
from transcripts.analysis.search.queries import StudyPrompts
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.actions import decide_sentence, open_stage, withdraw_coding, write_memo
from transcripts.coding.models import Coding, Unblinding
from transcripts.coding.pure import Prompts, read_signs
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence, Turn
from transcripts.desk.desk import build_page


class TestWords:
    def test_all_words_in_one_sentence_with_what_each_count_is_out_of(self, ask, coder):
        answer = ask(coder, words="weigh SIDES")
        assert answer.texts == ["I weigh both sides."]
        assert answer.heading == "1 of 16 sentences in 1 of 2 interviews"
        assert "<mark>weigh</mark>" in answer.page

    def test_results_stand_in_the_order_of_the_study(self, ask, coder):
        assert ask(coder, words="settle").texts == [
            "Background can shape an answer, though it never settles it.",
            "You said it never settles it.",
            "Nothing is settled.",
        ]

    def test_a_phrase_stands_together(self, ask, coder):
        assert ask(coder, words='"weigh it"').texts == ["I weigh it again."]

    def test_a_sentence_whose_breaks_were_corrected_is_not_found(self, ask, coder, study, interview):
        old = Sentence.objects.filter(turn__interview=interview).order_by("pk")[1]
        edit = BoundaryEdit.objects.create(
            turn=old.turn, kind="merge", idempotency_key=uuid.uuid4(), edited_at=timezone.now(), edited_by=coder
        )
        Sentence.objects.filter(pk=old.pk).update(retired_by=edit)
        assert ask(coder, words="ask first").texts == []

    def test_the_question_before_it_is_beside_a_sentence(self, ask, coder):
        page = ask(coder, words="both sides").page
        assert "Do you weigh balance?" in page
        assert "Nothing is settled." in page

    def test_markup_in_a_text_is_shown_as_text(self, ask, coder):
        answer = ask(coder, words="<mark>")
        assert answer.texts == []
        assert 'value="&lt;mark&gt;"' in answer.page

    def test_words_are_in_no_title_and_leave_in_no_referrer(self, ask, coder):
        page = ask(coder, words="weigh").page
        assert "weigh" not in page.partition("</title>")[0]
        assert 'class="to-desk"' in page
        assert page.count('rel="noreferrer"') >= page.count('class="to-desk"')

    def test_more_words_than_make_sense_are_refused_with_a_sentence(self, ask, coder):
        answer = ask(coder, words=" ".join(f"w{n}" for n in range(40)))
        assert answer.status == 422
        assert "more than 20 words" in answer.page


class TestCodings:
    def test_by_code_family_level_and_enactment(self, ask, put, coder):
        put(coder, "I weigh both", "theme.balance")
        put(coder, "Nothing is", "theme.balance", level="latent", note="Leaves it open.")
        put(coder, "I take that", "move.revise")
        assert ask(coder, code="theme.balance").texts == ["I weigh both sides.", "Nothing is settled."]
        assert ask(coder, code="theme.balance", level="latent").texts == ["Nothing is settled."]
        assert ask(coder, family="moves").texts == ["I take that back."]
        assert ask(coder, enactment="enacted").texts == ["I take that back."]
        Coding.objects.update(enactment="")
        assert ask(coder, enactment="-").texts == ["I take that back."]
        assert ask(coder, enactment="enacted").texts == []
        assert ask(coder, code=["theme.balance", "move.revise"]).count == 3

    def test_by_the_answer_to_a_question_of_a_code(self, ask, put, coder):
        put(coder, "I weigh both", "theme.compassion", attributes={"direction": "about self"})
        put(coder, "Nothing is", "theme.compassion", attributes={"direction": "towards the user or others"})
        put(coder, "Nothing is", "theme.balance")
        put(coder, "I take that", "theme.compassion")
        put(coder, "I take that", "move.revise", attributes={"change": "all of it"})
        question = "theme.compassion:direction"
        found = ask(coder, answer=f"{question}=about self")
        assert found.texts == ["I weigh both sides."]
        assert "In which direction?</bdi> <b><bdi>about self" in found.main
        assert "Answer to a code’s question: In which direction? about self" in found.page
        assert ask(coder, answer=question).texts == ["I weigh both sides.", "Nothing is settled."]
        assert ask(coder, answer=f"{question}=").texts == ["I take that back."]
        assert ask(coder, answer="move.revise:change").texts == ["I take that back."]
        codes = ["theme.compassion", "theme.balance"]
        assert ask(coder, answer=question, code=codes, together="sentence").texts == ["Nothing is settled."]
        assert ask(coder, answer=question, code=codes, together="turn").texts == [
            "I weigh both sides.",
            "Nothing is settled.",
        ]

    def test_an_answer_to_a_question_of_another_code_is_refused(self, ask, coder):
        refused = ask(coder, answer="theme.compassion:direction", code="theme.balance")
        assert refused.status == 422
        assert "Tick that code too" in refused.page
        assert ask(coder, answer="theme.compassion:direction=sideways").status == 422

    def test_others_answers_are_not_found(self, ask, put, coder, second_coder):
        put(coder, "I weigh both", "theme.compassion", attributes={"direction": "about self"})
        for answer in ("theme.compassion:direction", "theme.compassion:direction="):
            assert ask(second_coder, answer=answer).texts == []

    def test_two_codes_together_on_a_sentence_or_in_a_turn(self, ask, put, coder):
        put(coder, "I weigh both", "theme.balance")
        put(coder, "I weigh both", "theme.compassion")
        put(coder, "Nothing is", "theme.compassion")
        put(coder, "I take that", "theme.compassion")
        both = ["theme.balance", "theme.compassion"]
        assert ask(coder, code=both, together="sentence").texts == ["I weigh both sides."]
        assert ask(coder, code=both, together="turn").texts == ["I weigh both sides.", "Nothing is settled."]

    def test_by_speaker_model_interview_and_turn(self, ask, coder, interview, second_interview):
        assert ask(coder, role="interviewer", model="Model B").texts == ["Do you weigh balance?", "Are you sure?"]
        assert ask(coder, interview=second_interview.pk, turn=4).texts == ["I take that back.", "I weigh it again."]
        assert ask(coder, interview=interview.pk).count == 10

    def test_a_turn_without_its_interview_is_asked_about(self, ask, coder):
        answer = ask(coder, turn=3)
        assert answer.status == 422
        assert "Choose the interview too" in answer.page

    def test_what_was_taken_off_is_not_found(self, ask, put, coder, study):
        coding = put(coder, "I weigh both", "theme.balance")
        withdraw_coding(study=study, coding=coding, by=coder)
        assert ask(coder, code="theme.balance").texts == []

    def test_prompted_is_derived_and_what_a_person_says_holds(self, ask, put, coder):
        put(coder, "I weigh both", "theme.balance")
        put(coder, "Background can", "theme.balance")
        assert ask(coder, prompted="prompted").texts == ["I weigh both sides."]
        assert ask(coder, prompted="unprompted", code="theme.balance").texts[0].startswith("Background")
        Coding.objects.filter(sentence__turn__interview__external_id="i2").update(prompting="unclear")
        assert ask(coder, prompted="prompted").texts == []
        assert ask(coder, prompted="unclear").texts == ["I weigh both sides."]

    def test_a_code_on_a_question_raises_it_for_what_follows_as_at_the_desk(
        self, ask, put, coder, study, second_interview
    ):
        put(coder, "Are you", "theme.compassion")
        before, after = put(coder, "I weigh both", "theme.compassion"), put(coder, "I take", "theme.compassion")
        assert ask(coder, prompted="prompted").texts == ["I take that back."]
        turns = Turn.objects.filter(interview=second_interview, role="interviewer")
        questions = [(turn.position, turn.text, turn.prompt_kind) for turn in turns]
        signs = {"theme.compassion": read_signs(["Compassion"], ["kindness"])}
        desk = Prompts(questions, signs, [("c", "theme.compassion", 3)])
        prompts = StudyPrompts(study)
        for coding in (before, after):
            position = coding.sentence.turn.position
            told = prompts.derive(second_interview.pk, coder.pk, "theme.compassion", "model", position)
            assert told == desk.derive(coder="c", code="theme.compassion", position=position)

    @pytest.mark.parametrize(
        ("term", "asked"),
        [
            ("powers", "Who has power?"),
            ("policies", "Which policy is it?"),
            ("policy", "Which policies?"),
            ("cue", "Cues?"),
        ],
    )
    def test_a_term_in_the_plural_or_singular_prompts_in_searches_as_at_the_desk(
        self, put, coder, study, second_interview, term, asked
    ):
        Turn.objects.filter(interview=second_interview, position=1).update(text=asked)
        coding = put(coder, "I weigh both", "theme.compassion")
        Code.objects.filter(pk=coding.code_id).update(terms=[term])
        assert Prompts([(1, asked, "")], {"c": read_signs([], [term])}).find_mention("c") == 1
        told = StudyPrompts(study).derive(second_interview.pk, coder.pk, "theme.compassion", "model", 2)
        assert told == "prompted"

    def read_desk(self, study, interview, coder):
        page = build_page(study, interview, coder.pk, at=None)
        rows = [row for exchange in page.exchanges for turn in exchange.turns for row in turn.rows]
        return [chip.derived for row in rows for chip in (row.marks.chips if row.marks else ())]

    def test_an_opening_prompt_that_the_file_gives_apart_prompts_too(self, ask, put, coder, study, second_interview):
        put(coder, "I weigh both", "theme.compassion")
        assert ask(coder, prompted="unprompted").count == 1
        second_interview.opening_prompt = "Let us speak of compassion."
        second_interview.save()
        assert ask(coder, prompted="prompted").texts == ["I weigh both sides."]
        assert self.read_desk(study, second_interview, coder) == ["prompted"]

    def test_an_opening_prompt_makes_nothing_unprompted_in_an_excerpt(self, ask, put, coder, study, second_interview):
        put(coder, "I take", "theme.compassion")
        Turn.objects.filter(interview=second_interview, position=1).update(role="system")
        second_interview.opening_prompt = "Variant 2"
        second_interview.save()
        assert ask(coder, prompted="unclear").texts == ["I take that back."]
        assert self.read_desk(study, second_interview, coder) == ["unclear"]

    def test_in_an_excerpt_that_begins_with_the_model_nothing_is_unprompted(
        self, ask, put, coder, study, second_interview
    ):
        put(coder, "I take", "theme.compassion")
        assert ask(coder, prompted="unprompted").texts == ["I take that back."]
        assert self.read_desk(study, second_interview, coder) == ["unprompted"]
        Turn.objects.filter(interview=second_interview, position=1).update(role="system")
        assert ask(coder, prompted="unprompted").texts == []
        assert ask(coder, prompted="unclear").texts == ["I take that back."]
        assert self.read_desk(study, second_interview, coder) == ["unclear"]


class TestStates:
    def test_uncoded_is_what_the_model_says_and_nobody_has_touched(self, ask, put, coder, study, second_interview):
        put(coder, "I weigh both", "theme.balance")
        put(coder, "I take that", "feature.task")
        sentence = Sentence.objects.filter(turn__interview=second_interview, turn__position=2).order_by("pk")[1]
        decide_sentence(study=study, sentence=sentence, by=coder, idempotency_key=uuid.uuid4())
        found = ask(coder, state="uncoded", interview=second_interview.pk).texts
        assert found == ["I take that back.", "I weigh it again."]
        assert ask(coder, state="decided").texts == ["I weigh both sides.", "Nothing is settled."]

    def test_memos_are_ones_own(self, ask, coder, second_coder, study, sentence):
        write_memo(
            study=study,
            interview=sentence.turn.interview,
            sentence=sentence,
            text="Elicits.",
            by=coder,
            idempotency_key=uuid.uuid4(),
        )
        assert "Elicits." in ask(coder, state="memo").page
        assert ask(second_coder, state="memo").texts == []

    def test_stale_is_what_was_coded_before_its_code_changed_or_went(self, ask, put, coder, study):
        put(coder, "I weigh both", "theme.balance")
        put(coder, "Nothing is", "theme.compassion")
        put(coder, "I take that", "theme.intersectionality")
        assert ask(coder, state="stale").texts == []
        publish_again(study, changed="theme.balance", gone="theme.compassion")
        assert ask(coder, state="stale").texts == ["I weigh both sides.", "Nothing is settled."]
        assert "no longer in the codebook" in ask(coder).page


def publish_again(study, *, changed, gone):
    """A second version in which one code means something else and one is no more."""
    version = CodebookVersion.objects.create(
        study=study,
        number=2,
        title="Second",
        status="published",
        created_at=timezone.now(),
        published_at=timezone.now(),
        created_by_name="x",
    )
    for family in CodeFamily.objects.filter(version__study=study, version__number=1):
        codes = list(family.codes.exclude(identifier=gone))
        family.pk, family.version = None, version
        family._state.adding = True
        family.save()
        for code in codes:
            meaning = 2 if code.identifier == changed else code.meaning_version
            code.pk, code.version, code.family, code.meaning_version = None, version, family, meaning
            code._state.adding = True
        Code.objects.bulk_create(codes)


class TestWhoSeesWhat:
    def test_a_coder_finds_her_own_codings_and_is_offered_nobody_elses(self, ask, put, coder, second_coder):
        before = ask(second_coder, code="theme.balance", words="").main
        put(coder, "I weigh both", "theme.balance")
        after = ask(second_coder, code="theme.balance", words="")
        assert after.texts == []
        assert after.main == before
        assert ask(second_coder, coder="coder").status == 422
        assert ask(second_coder, coder="all").status == 422
        assert ask(second_coder, state="disagreed").status == 422

    def test_a_reader_sees_everybodys_unasked(self, ask, put, coder, reader):
        put(coder, "I weigh both", "theme.balance")
        answer = ask(reader, code="theme.balance")
        assert answer.texts == ["I weigh both sides."]
        assert "<bdi>coder</bdi>" in answer.page
        assert ask(reader, code="theme.balance", coder="coder").count == 1

    def test_a_lead_who_codes_sees_others_only_where_she_opened_their_work(
        self, ask, put, coder, lead, second_interview
    ):
        put(coder, "I weigh both", "theme.balance")
        put(coder, "I would ask", "theme.balance")
        closed = ask(lead, code="theme.balance", coder="all")
        assert closed.texts == []
        assert "Others’ labels in 2 interviews are hidden from you" in closed.page
        Unblinding.objects.create(interview=second_interview, user=lead, where="search", unblinded_at=timezone.now())
        assert ask(lead, code="theme.balance", coder="all").texts == ["I weigh both sides."]
        assert ask(lead, code="theme.balance", coder="coder").texts == ["I weigh both sides."]
        assert ask(lead, code="theme.balance").texts == []

    def test_words_are_found_in_closed_interviews_and_colleagues_chips_are_not_shown(self, ask, put, coder, lead):
        put(coder, "I weigh both", "theme.balance")
        put(lead, "I weigh both", "theme.compassion")
        answer = ask(lead, words="both sides", coder="all")
        assert answer.texts == ["I weigh both sides."]
        chips = answer.main.partition('id="results"')[2]
        assert "Compassion" in chips
        assert "Balance" not in chips

    def test_opening_is_confirmed_kept_and_leads_back(self, ask, put, coder, lead, study, second_interview, client_of):
        put(coder, "I weigh both", "theme.balance")
        put(coder, "I would ask", "theme.balance")
        client, here = client_of(lead), f"/studies/{study.slug}/search/?coder=all&code=theme.balance"
        assert unblind_on(client, here, confirmed=False).status_code == 422
        assert not Unblinding.objects.exists()
        narrowed = f"{here}&interview={second_interview.pk}"
        assert unblind_on(client, narrowed)["Location"] == narrowed
        assert [each.interview for each in Unblinding.objects.all()] == [second_interview]
        assert ask(lead, code="theme.balance", coder="all").count == 1
        unblind_on(client, here)
        assert Unblinding.objects.count() == 2
        assert ask(lead, code="theme.balance", coder="all").count == 2

    def test_an_interview_without_colleagues_work_needs_no_opening(self, ask, put, lead):
        put(lead, "I weigh both", "theme.balance")
        answer = ask(lead, code="theme.balance", coder="all")
        assert answer.count == 1
        assert find_form(answer.page) is None

    def test_where_coders_read_differently(self, ask, put, coder, second_coder, reader, study):
        put(coder, "I weigh both", "theme.balance")
        put(coder, "Nothing is", "theme.balance")
        put(second_coder, "I weigh both", "theme.balance")
        put(second_coder, "Nothing is", "theme.compassion")
        assert ask(reader, state="disagreed").texts == ["Nothing is settled."]
        assert ask(reader, state="disagreed", family="moves").texts == []


class TestThePage:
    def test_nothing_asked_is_no_result_and_no_error(self, ask, coder):
        answer = ask(coder)
        assert (answer.status, answer.count) == (200, None)

    def test_an_unknown_code_is_refused(self, ask, coder):
        assert ask(coder, code="theme.none").status == 422

    def test_what_narrows_is_named_and_can_be_left_out(self, ask, coder, second_interview):
        page = ask(coder, words="weigh", interview=second_interview.pk, role="model").page
        assert "Interview: Second interview" in page
        assert f'href="?words=weigh&amp;interview={second_interview.pk}"' in page

    def test_pages_hold_fifty_and_the_queries_do_not_grow(self, study, owner, client_of, django_assert_max_num_queries):
        from transcripts.corpus.actions import import_file

        text = " ".join(f"Sentence number {n}." for n in range(120)).replace('"', "")
        line = f'{{"id": "long", "turns": [{{"role": "model", "text": "{text}"}}]}}'
        import_file(study=study, name="long.jsonl", data=line.encode(), by=owner)
        client = client_of(owner)
        path = reverse("search:search", args=[study.slug])
        with django_assert_max_num_queries(24):
            page = client.get(f"{path}?words=sentence&page=3").content.decode()
        assert page.count('class="result"') == 20
        assert "101–120 of 120 sentences" in page

    def test_a_coding_made_a_moment_ago_is_found(self, ask, put, coder):
        coding = put(coder, "I weigh both", "theme.balance")
        Coding.objects.filter(pk=coding.pk).update(created_at=timezone.now() + timedelta(hours=1))
        assert ask(coder, code="theme.balance").count == 1

    @pytest.mark.parametrize("query", ["interview=x", "turn=0", "turn=99999999999999999999", "interview=-1", "page=x"])
    def test_what_is_no_number_is_told(self, study, interview, coder, client_of, query):
        answer = client_of(coder).get(reverse("search:search", args=[study.slug]) + "?" + query)
        assert answer.status_code == (200 if query.startswith("page") else 422)


class TestToolsAndReasoning:
    """What is searched of a trajectory, and what of it stays closed."""

    @pytest.fixture
    def run(self, study, interview, owner):
        turns = [
            {"role": "interviewer", "text": "List the files."},
            {"role": "model", "channel": "reasoning", "text": "A secret walrus. Then a seal."},
            {
                "role": "model",
                "channel": "tool_call",
                "speaker": "bash",
                "text": '{"command": "ls walrus"}',
                "call_id": "c",
            },
            {"role": "tool", "channel": "tool_result", "speaker": "bash", "text": "walrus\u202e.txt", "call_id": "c"},
            {"role": "model", "text": "I looked."},
        ]
        line = json.dumps({"id": "run", "kind": "trajectory", "title": "A run", "turns": turns})
        import_file(study=study, name="run.jsonl", data=line.encode(), by=owner)
        return Interview.objects.get(study=study, external_id="run")

    def test_calls_and_results_are_found_and_lead_to_their_turn(self, ask, coder, run):
        answer = ask(coder, words="walrus", role="tools")
        assert answer.texts == ['{"command": "ls walrus"}', "walrus\u202e.txt"]
        desk = reverse("desk:desk", args=[run.study.slug, run.pk])
        assert f'href="{desk}?at=' in answer.page
        assert f'href="{desk}#turn-4"' in answer.page
        assert 'data-point="U+202E"' in answer.page

    def test_closed_reasoning_is_neither_searched_nor_shown(self, ask, coder, run, study):
        assert ask(coder, words="secret").texts == []
        assert ask(coder, words="walrus").count == 2
        listed = ask(coder, role="reasoning")
        assert listed.count == 2
        assert "walrus" not in listed.page
        assert "closed until you open it at the desk" in listed.page
        open_stage(study=study, turn=run.turns.get(position=2), by=coder)
        assert ask(coder, words="secret").texts == ["A secret walrus."]
        assert "Then a seal." in ask(coder, role="reasoning").page

    def test_who_does_not_code_reads_it(self, ask, reader, run):
        assert ask(reader, words="secret").texts == ["A secret walrus."]
