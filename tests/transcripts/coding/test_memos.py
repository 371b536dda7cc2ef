"""One memo per person and place; a new text supersedes the old."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.transcripts.coding.cast import count_events, last_event
from transcripts.coding import actions
from transcripts.coding.actions.checks import find_winner
from transcripts.coding.models import Memo
from transcripts.corpus.models import Interview
from transcripts.refusals import WrongInput


class TestMemos:
    def write(self, interview, sentence, text, by):
        return actions.write_memo(
            study=interview.study, interview=interview, sentence=sentence, text=text, by=by, idempotency_key=uuid4()
        )

    def standing(self, author):
        return list(Memo.objects.filter(author=author, withdrawn_at__isnull=True).values_list("text", flat=True))

    def test_new_text_supersedes(self, study, interview, sentence, coder):
        before = self.write(interview, sentence, "Hedges here.\r\nCompare turn 1.  ", coder)
        after = self.write(interview, sentence, "Hedges only when pushed.", coder)
        before.refresh_from_db()
        assert before.text == "Hedges here.\nCompare turn 1."
        assert before.superseded_by == after
        assert self.standing(coder) == ["Hedges only when pushed."]
        event = last_event(study)
        assert event.action == "coding.memo.written"
        assert "Hedges" not in str(event.details)

    def test_a_memo_ends_no_earlier_than_it_began_though_the_clock_goes_back(
        self, interview, sentence, coder, monkeypatch
    ):
        before = self.write(interview, sentence, "Hedges here.", coder)
        monkeypatch.setattr(timezone, "now", lambda: before.created_at - timedelta(minutes=1))
        self.write(interview, sentence, "Hedges only when pushed.", coder)
        before.refresh_from_db()
        assert before.withdrawn_at == before.created_at

    def test_whoever_loses_a_race_gets_the_row_of_her_own_key_or_else_the_active_one(self, interview, sentence, coder):
        place = {"interview": interview, "sentence": sentence, "author": coder}
        first = self.write(interview, sentence, "One.", coder)
        second = self.write(interview, sentence, "Two.", coder)
        assert find_winner(Memo(idempotency_key=second.idempotency_key), **place) == second
        assert find_winner(Memo(idempotency_key=uuid4()), **place) == second
        assert find_winner(Memo(idempotency_key=first.idempotency_key), **place) == first

    def test_sentence_and_interview_have_a_memo_each(self, interview, sentence, coder):
        self.write(interview, sentence, "On the sentence", coder)
        self.write(interview, None, "On the interview", coder)
        assert sorted(self.standing(coder)) == ["On the interview", "On the sentence"]

    def test_empty_text_takes_the_memo_away(self, interview, sentence, coder):
        self.write(interview, sentence, "Hedges here.", coder)
        self.write(interview, sentence, "  ", coder)
        assert self.standing(coder) == []
        assert Memo.objects.filter(text="Hedges here.").exists()

    def test_unchanged_text_writes_nothing(self, study, interview, sentence, coder):
        first = self.write(interview, sentence, "Hedges here.", coder)
        events = count_events(study)
        assert self.write(interview, sentence, "Hedges here.", coder) == first
        assert count_events(study) == events

    def test_replay_finds_the_row(self, interview, sentence, coder):
        idempotency_key = uuid4()
        written = [
            actions.write_memo(
                study=interview.study,
                interview=interview,
                sentence=sentence,
                text=text,
                by=coder,
                idempotency_key=idempotency_key,
            )
            for text in ("Hedges here.", "Hedges here.")
        ]
        assert written[0] == written[1]
        assert Memo.objects.count() == 1

    def test_memo_on_a_sentence_of_another_interview_is_refused(self, study, interview, sentence, coder):
        other = Interview.objects.get(pk=interview.pk)
        other.pk = interview.pk + 1
        with pytest.raises(actions.WrongPlace):
            self.write(other, sentence, "Lost", coder)

    def test_memo_that_is_too_long_is_refused(self, interview, sentence, coder):
        with pytest.raises(WrongInput, match="20,001 characters"):
            self.write(interview, sentence, "x" * 20_001, coder)
