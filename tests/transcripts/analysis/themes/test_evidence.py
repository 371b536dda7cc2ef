"""Whose codings are counted, what they are out of, and that a cell opens exactly its sentences."""

import html
import re

import pytest
from django.urls import reverse

from tests.transcripts.analysis.themes.cast import BALANCE, COMPASSION, CONTEXT, answers, make_theme, open_all, put_on
from tests.transcripts.coding.cast import decide, find_code, put, take_off
from tests.transcripts.revision.codebooks import merge
from transcripts.accounts.models import User
from transcripts.analysis.themes.queries import (
    choose_viewpoint,
    count_codes,
    count_decided,
    count_sentences,
    count_themes,
    current_themes,
    find_coded_sentences,
    list_coders,
    read_catalogue,
)
from transcripts.blinding.viewers import Viewer
from transcripts.coding.models import Blinding, Coding
from transcripts.corpus.models import Sentence
from transcripts.revision.actions import migrate_merged
from transcripts.studies.roles import CODER, LEAD, READER

FEATURE, MOVE = "feature.power", "move.refuse"


def look(study, user, role, coder="", blinding="any"):
    return choose_viewpoint(Viewer(study, user, role), coder=coder, blinding=blinding)


def found(viewpoint):
    """What one theme of two codes shows over all interviews."""
    themes = current_themes(viewpoint.study)
    theme = themes[0] if themes else make_theme(viewpoint.study, User.objects.get(username="owner"))
    return count_themes(viewpoint, [theme]).rows[0][2]


class TestWhoseCodings:
    @pytest.fixture(autouse=True)
    def coded(self, interview, coder, second_coder, lead):
        one, two, three, *_ = answers(interview)
        put_on(one, BALANCE, coder)
        put_on(one, COMPASSION, second_coder)
        put_on(two, BALANCE, second_coder)
        put_on(three, CONTEXT, lead)
        decide(answers(interview)[3], second_coder)

    def test_a_blind_coder_counts_her_own_whatever_she_asks_for(self, study, coder):
        for asked in ("", "all", "second_coder", "nobody"):
            viewpoint = look(study, coder, CODER, asked)
            assert viewpoint.coder == "me"
            assert (found(viewpoint).sentences, found(viewpoint).out_of) == (1, 1)
        assert list_coders(Viewer(study, coder, CODER)) == []

    def test_a_reader_counts_everybody_and_each_sentence_once(self, study, reader):
        cell = found(look(study, reader, READER))
        assert (cell.sentences, cell.out_of) == (2, 4)
        cell = found(look(study, reader, READER, "second_coder"))
        assert (cell.sentences, cell.out_of) == (2, 3)

    def test_who_may_still_code_counts_colleagues_only_where_she_opened_them(self, study, interview, lead):
        assert look(study, lead, LEAD).coder == "me"
        closed = look(study, lead, LEAD, "all")
        assert (found(closed).sentences, found(closed).out_of) == (0, 0)
        assert closed.visibility.hidden == {interview.pk}
        open_all(study, lead)
        opened = look(study, lead, LEAD, "all")
        assert (found(opened).sentences, found(opened).out_of) == (2, 4)
        assert not opened.visibility.hidden

    def test_codes_are_counted_too_and_by_interview(self, study, reader):
        codes = read_catalogue(study).name_codes([BALANCE, CONTEXT])
        presence = count_codes(look(study, reader, READER), codes, by_interview=True)
        assert [[cell.sentences for cell in cells] for _, cells, _ in presence.rows] == [[2], [1]]
        assert [column.name for column in presence.columns] == ["First interview"]


class TestWhatCounts:
    def test_codings_that_were_taken_off_do_not(self, study, sentence, coder):
        take_off(put_on(sentence, BALANCE, coder), coder)
        cell = found(look(study, coder, CODER))
        assert (cell.sentences, cell.out_of) == (0, 0)

    def test_what_the_interviewer_says_does_not_but_it_prompts(self, study, interview, coder):
        question = Sentence.objects.filter(turn__interview=interview, turn__position=3)[0]
        put_on(question, BALANCE, coder)
        before, *_, after = answers(interview)
        put_on(before, BALANCE, coder)
        put_on(after, BALANCE, coder)
        cell = found(look(study, coder, CODER))
        assert (cell.sentences, cell.unprompted, cell.prompted, cell.out_of) == (2, 1, 1, 2)

    def test_what_the_coder_said_of_prompting_holds(self, study, sentence, coder):
        coding = put_on(sentence, BALANCE, coder)
        Coding.objects.filter(pk=coding.pk).update(prompting="unclear")
        assert found(look(study, coder, CODER)).unclear == 1

    def test_a_blind_reading_taken_back_after_an_opening_still_counts_as_one(self, study, sentence, lead):
        coding = put_on(sentence, BALANCE, lead)
        open_all(study, lead)
        take_off(coding, lead, reason="Hers convinces me.")
        assert found(look(study, lead, LEAD)).sentences == 0
        assert found(look(study, lead, LEAD, blinding="blind")).sentences == 1

    def test_a_blind_reading_carried_to_another_code_counts_there_only(self, study, sentence, owner, lead):
        put_on(sentence, COMPASSION, lead)
        open_all(study, lead)
        version = merge(study, [COMPASSION, BALANCE], BALANCE, owner)
        migrate_merged(study=study, version=version, by=owner)
        viewpoint = look(study, lead, LEAD, blinding="blind")
        assert find_coded_sentences(viewpoint, [COMPASSION]) == []
        assert [sentence_id for sentence_id, _, _ in find_coded_sentences(viewpoint, [BALANCE])] == [sentence.pk]

    def test_assisted_codings_are_no_blind_readings(self, study, sentence, lead):
        coding = put_on(sentence, BALANCE, lead)
        Coding.objects.filter(pk=coding.pk).update(blinding=Blinding.ASSISTED)
        blind = found(look(study, lead, LEAD, blinding="blind"))
        assert (blind.sentences, blind.out_of) == (0, 0)
        assert found(look(study, lead, LEAD)).sentences == 1

    def test_a_finished_sentence_is_in_the_denominator(self, study, interview, coder):
        one, two, *_ = answers(interview)
        put_on(one, BALANCE, coder)
        decide(one, coder)
        decide(two, coder)
        decided = count_decided(look(study, coder, CODER))
        assert decided[interview.pk] == (2, 1)

    def test_a_code_of_a_turn_decides_no_sentence_where_other_codes_are_counted(self, study, interview, coder):
        put_on(answers(interview)[0], FEATURE, coder)
        viewpoint = look(study, coder, CODER)
        codes = read_catalogue(study).name_codes([BALANCE, FEATURE])
        assert not count_codes(viewpoint, codes[:1]).rows[0][2].is_read
        cells = [row[2] for row in count_codes(viewpoint, codes).rows]
        assert sorted((cell.sentences, cell.out_of) for cell in cells) == [(0, 1), (1, 1)]


class TestMoves:
    def test_what_a_model_says_it_would_do_is_no_presence_of_a_move(self, study, interview, coder, client_of):
        one, two, three, *_ = answers(interview)
        move = find_code(study, MOVE)
        put(one, move, coder, enactment="described")
        put(two, move, coder, enactment="described")
        put(three, move, coder)
        put(two, find_code(study, BALANCE), coder)
        viewpoint = look(study, coder, CODER)
        [(_, [cell], total)] = count_codes(viewpoint, read_catalogue(study).name_codes([MOVE])).rows
        assert (cell.sentences, cell.out_of, cell.described, total.described) == (1, 3, 2, 2)
        assert cell.prompted + cell.unprompted + cell.unclear == 1
        assert count_sentences(viewpoint) == {MOVE: 1, BALANCE: 1}
        # A theme of a move and another code, as a list for each kind opens it.
        theme = make_theme(study, User.objects.get(username="owner"), codes=[BALANCE, MOVE])
        [(_, [cell], _)] = count_themes(viewpoint, [theme]).rows
        assert (cell.sentences, cell.apart) == (2, [("described", "described", 2)])
        for kind, found in (("", [two, three]), ("described", [one, two]), ("demonstrated", [])):
            listed = find_coded_sentences(viewpoint, [BALANCE, MOVE], apart=kind)
            assert [sentence_id for sentence_id, _, _ in listed] == [each.pk for each in found]
        client = client_of(coder)
        page = client.get(reverse("themes:presence", args=[study.slug]), {"rows": "codes"}).content.decode()
        assert "Moves count where the model enacts them." in page
        [href] = re.findall(r'<a href="([^"]*)">2 described</a>', page)[:1]
        page = client.get(html.unescape(href)).content.decode()
        assert "1–2 of 2 sentences" in page
        assert '<option value="described" selected>' in page

    def test_a_move_stored_before_its_enactment_was_asked_for_is_apart(self, study, interview, coder):
        put(answers(interview)[0], find_code(study, MOVE), coder)
        Coding.objects.update(enactment="")
        [(_, [cell], _)] = count_codes(look(study, coder, CODER), read_catalogue(study).name_codes([MOVE])).rows
        assert (cell.sentences, cell.not_stated) == (0, 1)


class TestSentencesBehindACell:
    def test_a_cell_opens_as_many_as_it_says(self, study, interview, reader, coder):
        sentences = answers(interview)
        put_on(sentences[4], BALANCE, coder)
        put_on(sentences[0], COMPASSION, coder, level="latent")
        put_on(sentences[0], BALANCE, coder)
        put_on(sentences[1], CONTEXT, coder)
        viewpoint = look(study, reader, READER)

        def list_them(**filters):
            listed = find_coded_sentences(viewpoint, [BALANCE, COMPASSION], **filters)
            return [sentence_id for sentence_id, _, _ in listed]

        both = [sentences[0].pk, sentences[4].pk]
        assert list_them() == both
        assert len(both) == found(viewpoint).sentences
        assert list_them(model="Model A") == both
        assert list_them(model="Model B") == list_them(model="") == []
        assert list_them(interview_id=interview.pk) == both
        assert list_them(level="latent") == both[:1]
        assert list_them(prompting="unprompted") == both
        assert list_them(prompting="prompted") == []
