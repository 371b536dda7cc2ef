"""People's work when the breaks of its sentence are corrected."""

import json
from unittest.mock import ANY
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.transcripts.coding.cast import count_events, decide, find_code, last_event, put, standing_codes, take_off
from transcripts.coding import actions
from transcripts.coding.actions import boundary_edits
from transcripts.coding.models import Coding, Decision, Memo, Reveal, Unblinding
from transcripts.coding.values import CodingValues
from transcripts.corpus.actions import import_file
from transcripts.corpus.changes import SentenceRetired
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence
from transcripts.corpus.pure.boundaries import BoundaryEditRefused, Extent
from transcripts.rounds.models import Assignment, Round

ANSWER = "One and two and three. Second thing. Third thing."


@pytest.fixture
def run_on(study, owner):
    """An answer of three sentences: 2, 3 and 4."""
    turns = [{"role": "interviewer", "text": "Why?"}, {"role": "model", "text": ANSWER}]
    line = json.dumps({"id": "r", "title": "Run on", "turns": turns})
    import_file(study=study, name="r.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(external_id="r")


def find(interview, label):
    rows = Sentence.objects.filter(turn__interview=interview, retired_by__isnull=True).select_related("turn__interview")
    return next(row for row in rows if row.label == label)


def split(interview, label="2", before=" and three", *, by):
    sentence = find(interview, label)
    at = ANSWER.index(before, sentence.start)
    return boundary_edits.split_sentence(
        study=interview.study, sentence=sentence, at=at, by=by, idempotency_key=uuid4()
    )


def join(interview, label, *, by):
    return boundary_edits.merge_sentences(
        study=interview.study, first=find(interview, label), by=by, idempotency_key=uuid4()
    )


def quote(interview, label, words, code, by):
    start = ANSWER.index(words)
    return actions.add_coding(
        study=interview.study,
        sentence=find(interview, label),
        code=find_code(interview.study, code),
        by=by,
        idempotency_key=uuid4(),
        values=CodingValues(quote=Extent(*(start, start + len(words)))),
    )


def remember(interview, label, text, by):
    return actions.write_memo(
        study=interview.study,
        interview=interview,
        sentence=find(interview, label),
        text=text,
        by=by,
        idempotency_key=uuid4(),
    )


def reveal(interview, label, by):
    return actions.reveal_suggestions(study=interview.study, sentence=find(interview, label), by=by)


def show(interview, coder):
    """The standing codings of ``coder``, as "label code" with what they quote."""
    rows = Coding.objects.filter(coder=coder, withdrawn_at__isnull=True, sentence__retired_by__isnull=True)
    told = []
    for row in rows.select_related("sentence", "code").order_by("sentence__start", "code__identifier"):
        words = "" if row.quote_start is None else f" «{ANSWER[row.quote_start : row.quote_end]}»"
        told.append(f"{row.sentence.label} {row.code.identifier}{words}")
    return told


class TestSplit:
    def test_coding_without_a_quote_goes_to_both_pieces(self, run_on, lead, coder):
        old = put(find(run_on, "2"), find_code(run_on.study, "theme.balance"), coder, level="latent", note="Why")
        split(run_on, by=lead)
        assert show(run_on, coder) == ["2a theme.balance", "2b theme.balance"]
        old.refresh_from_db()
        assert old.withdrawn_at is not None
        assert old.superseded_by is None
        assert old.withdrawal_reason == "The sentence was split."
        for new in old.migrated_to.all():
            assert (new.level, new.note, new.blinding, new.coder, new.created_at) == (
                "latent",
                "Why",
                "blind",
                coder,
                old.created_at,
            )

    def test_quote_goes_to_the_piece_that_holds_it(self, run_on, lead, coder):
        first = quote(run_on, "2", "One and", "theme.balance", coder)
        quote(run_on, "2", "three", "theme.compassion", coder)
        split(run_on, by=lead)
        assert show(run_on, coder) == ["2a theme.balance «One and»", "2b theme.compassion «three»"]
        first.refresh_from_db()
        assert first.superseded_by == Coding.objects.get(migrated_from=first)

    def test_quote_cut_in_two_is_cut(self, run_on, lead, coder):
        quote(run_on, "2", "two and three", "theme.balance", coder)
        split(run_on, by=lead)
        assert show(run_on, coder) == ["2a theme.balance «two»", "2b theme.balance «and three»"]

    def test_quote_of_a_whole_piece_becomes_the_piece(self, run_on, lead, coder):
        quote(run_on, "2", "One and two", "theme.balance", coder)
        split(run_on, by=lead)
        assert show(run_on, coder) == ["2a theme.balance"]

    def test_code_of_the_turn_goes_to_the_first_piece(self, run_on, lead, coder):
        put(find(run_on, "4"), find_code(run_on.study, "feature.task"), coder)
        split(run_on, by=lead)
        assert show(run_on, coder) == ["2a feature.task"]

    def test_decision_goes_to_both_and_says_none_applies_where_no_code_came(self, run_on, lead, coder, second_coder):
        quote(run_on, "2", "three", "theme.balance", coder)
        decide(find(run_on, "2"), coder)
        decide(find(run_on, "2"), second_coder)
        split(run_on, by=lead)
        standing = Decision.objects.filter(withdrawn_at__isnull=True).select_related("sentence")
        assert sorted((row.sentence.label, row.coder.username, row.none_applies) for row in standing) == [
            ("2a", "coder", True),
            ("2a", "second_coder", True),
            ("2b", "coder", False),
            ("2b", "second_coder", True),
        ]

    def test_memo_goes_to_the_first_piece_whole(self, run_on, lead, coder):
        old = remember(run_on, "2", "Hedges.\nTwice.", coder)
        split(run_on, by=lead)
        memo = Memo.objects.get(withdrawn_at__isnull=True)
        assert (memo.sentence, memo.text, memo.created_at) == (find(run_on, "2a"), "Hedges.\nTwice.", old.created_at)
        old.refresh_from_db()
        assert old.superseded_by == memo

    def test_who_had_seen_suggestions_has_seen_them_for_both_pieces(self, run_on, lead, coder):
        decide(find(run_on, "2"), coder)
        seen = reveal(run_on, "2", coder)
        split(run_on, by=lead)
        both = Reveal.objects.filter(sentence__retired_by__isnull=True)
        assert {row.revealed_at for row in both} == {seen.revealed_at}
        assert both.count() == 2

    @pytest.mark.parametrize("where", ["suggestions", "colleagues"])
    def test_blind_reading_that_was_changed_after_seeing_others_is_carried_too(self, run_on, lead, coder, where):
        blind = put(find(run_on, "2"), find_code(run_on.study, "theme.balance"), coder)
        decide(find(run_on, "2"), coder)
        if where == "suggestions":
            moment = reveal(run_on, "2", coder).revealed_at
        else:
            moment = timezone.now()
            Unblinding.objects.create(interview=run_on, user=coder, where="test", unblinded_at=moment)
        actions.withdraw_coding(study=run_on.study, coding=blind, by=coder, reason="It was right")
        blind.refresh_from_db()
        split(run_on, by=lead)
        carried = Coding.objects.filter(migrated_from=blind)
        assert {row.sentence.label for row in carried} == {"2a", "2b"}
        assert {(row.created_at, row.withdrawn_at) for row in carried} == {(blind.created_at, blind.withdrawn_at)}
        assert all(row.created_at <= moment < row.withdrawn_at for row in carried if row.withdrawn_at)
        assert show(run_on, coder) == []

    def test_what_was_taken_off_before_is_history_and_stays(self, run_on, lead, coder):
        take_off(put(find(run_on, "2"), find_code(run_on.study, "theme.balance"), coder), coder)
        split(run_on, by=lead)
        assert Coding.objects.count() == 1

    def test_one_event_names_the_cut_and_every_row(self, run_on, lead, coder):
        old = put(find(run_on, "2"), find_code(run_on.study, "theme.balance"), coder)
        decision = decide(find(run_on, "2"), coder)
        retired, events = find(run_on, "2"), count_events(run_on.study)
        edit = split(run_on, by=lead)
        event = last_event(run_on.study)
        assert count_events(run_on.study) == events + 1
        assert (event.action, event.target) == ("corpus.sentence.split", f"corpus.boundaryedit:{edit.pk}")
        assert event.details == {
            "interview": run_on.pk,
            "turn": retired.turn_id,
            "retired": [retired.pk],
            "made": [find(run_on, "2a").pk, find(run_on, "2b").pk],
            "codings_withdrawn": [old.pk],
            "codings_made": list(old.migrated_to.order_by("pk").values_list("pk", flat=True)),
            "decisions_withdrawn": [decision.pk],
            "decisions_made": list(
                Decision.objects.filter(withdrawn_at__isnull=True).order_by("pk").values_list("pk", flat=True)
            ),
            "rows": ANY,
        }


class TestJoin:
    def test_coding_of_one_quotes_it_on_the_whole(self, run_on, lead, coder):
        old = put(find(run_on, "3"), find_code(run_on.study, "theme.balance"), coder)
        quote(run_on, "2", "two", "theme.compassion", coder)
        join(run_on, "2", by=lead)
        assert show(run_on, coder) == ["2 theme.balance «Second thing.»", "2 theme.compassion «two»"]
        old.refresh_from_db()
        assert old.superseded_by == Coding.objects.get(migrated_from=old)

    def test_same_code_on_both_becomes_one(self, run_on, lead, coder, second_coder):
        balance = find_code(run_on.study, "theme.balance")
        put(find(run_on, "2"), balance, coder, level="latent", note="Weighs")
        put(find(run_on, "3"), balance, coder)
        put(find(run_on, "3"), balance, second_coder)
        join(run_on, "2", by=lead)
        assert show(run_on, coder) == ["2 theme.balance"]
        assert show(run_on, second_coder) == ["2 theme.balance «Second thing.»"]
        joined = Coding.objects.get(coder=coder, withdrawn_at__isnull=True)
        assert (joined.level, joined.note) == ("latent", "Weighs")
        assert last_event(run_on.study).details["put_differently"] == 1

    def test_notes_are_joined(self, run_on, lead, coder):
        balance = find_code(run_on.study, "theme.balance")
        put(find(run_on, "2"), balance, coder, level="latent", note="Weighs")
        put(find(run_on, "3"), balance, coder, level="latent", note="Hedges")
        join(run_on, "2", by=lead)
        assert Coding.objects.get(withdrawn_at__isnull=True).note == "Weighs / Hedges"
        assert "put_differently" not in last_event(run_on.study).details

    def test_decision_stands_only_where_both_were_decided(self, run_on, lead, coder, second_coder):
        decide(find(run_on, "2"), coder)
        put(find(run_on, "3"), find_code(run_on.study, "theme.balance"), coder)
        decide(find(run_on, "3"), coder)
        decide(find(run_on, "2"), second_coder)
        join(run_on, "2", by=lead)
        [decision] = Decision.objects.filter(withdrawn_at__isnull=True)
        assert (decision.coder, decision.none_applies) == (coder, False)
        assert Decision.objects.filter(coder=second_coder).count() == 1

    def test_none_applies_only_where_it_did_on_both(self, run_on, lead, coder):
        decide(find(run_on, "2"), coder)
        decide(find(run_on, "3"), coder)
        join(run_on, "2", by=lead)
        assert Decision.objects.get(withdrawn_at__isnull=True).none_applies

    def test_memos_are_joined_with_a_blank_line(self, run_on, lead, coder, second_coder):
        remember(run_on, "2", "First.", coder)
        remember(run_on, "3", "Second.", coder)
        remember(run_on, "3", "Hers.", second_coder)
        join(run_on, "2", by=lead)
        texts = Memo.objects.filter(withdrawn_at__isnull=True, sentence=find(run_on, "2")).order_by("author__username")
        assert list(texts.values_list("text", flat=True)) == ["First.\n\nSecond.", "Hers."]

    def test_whole_was_seen_when_either_was(self, run_on, lead, coder):
        decide(find(run_on, "2"), coder)
        decide(find(run_on, "3"), coder)
        seen = reveal(run_on, "3", coder)
        join(run_on, "2", by=lead)
        assert Reveal.objects.get(sentence=find(run_on, "2")).revealed_at == seen.revealed_at

    def test_codes_of_the_turn_stay_of_the_turn(self, run_on, lead, coder):
        put(find(run_on, "4"), find_code(run_on.study, "feature.task"), coder)
        join(run_on, "2", by=lead)
        assert show(run_on, coder) == ["2 feature.task"]

    def test_decision_both_had_before_suggestions_stays_on_record_when_one_was_taken_back(self, run_on, lead, coder):
        first, _ = decide(find(run_on, "2"), coder), decide(find(run_on, "3"), coder)
        seen = reveal(run_on, "2", coder)
        actions.reopen_sentence(study=run_on.study, decision=first, by=coder, reason="Look again")
        join(run_on, "2", by=lead)
        [kept] = Decision.objects.filter(sentence=find(run_on, "2"))
        assert kept.withdrawn_at is not None
        assert kept.created_at <= seen.revealed_at < kept.withdrawn_at


class TestBackAndForth:
    def test_join_undoes_a_split(self, run_on, lead, coder):
        put(find(run_on, "2"), find_code(run_on.study, "theme.balance"), coder)
        quote(run_on, "2", "two and three", "theme.compassion", coder)
        quote(run_on, "2", "One", "theme.intersectionality", coder)
        decide(find(run_on, "2"), coder)
        remember(run_on, "2", "A memo", coder)
        before = show(run_on, coder)
        split(run_on, by=lead)
        join(run_on, "2a", by=lead)
        assert show(run_on, coder) == before
        assert Decision.objects.get(withdrawn_at__isnull=True).sentence == find(run_on, "2")
        assert Memo.objects.get(withdrawn_at__isnull=True).text == "A memo"

    def test_split_undoes_a_join(self, run_on, lead, coder):
        put(find(run_on, "2"), find_code(run_on.study, "theme.balance"), coder)
        put(find(run_on, "3"), find_code(run_on.study, "theme.compassion"), coder)
        decide(find(run_on, "2"), coder)
        decide(find(run_on, "3"), coder)
        before = show(run_on, coder)
        join(run_on, "2", by=lead)
        split(run_on, "2", "Second", by=lead)
        assert show(run_on, coder) == before
        assert Decision.objects.filter(withdrawn_at__isnull=True, none_applies=False).count() == 2

    def test_every_carried_row_can_be_followed_back(self, run_on, lead, coder):
        first = put(find(run_on, "2"), find_code(run_on.study, "theme.balance"), coder)
        split(run_on, by=lead)
        join(run_on, "2a", by=lead)
        now = Coding.objects.get(withdrawn_at__isnull=True)
        middle = now.migrated_from
        assert middle is not None
        assert middle.migrated_from == first
        assert not Coding.objects.exclude(sentence__retired_by__isnull=True).filter(withdrawn_at__isnull=True).exists()


class TestRefusals:
    def test_act_on_a_retired_sentence_is_refused_and_says_why(self, run_on, lead, coder):
        old, code = find(run_on, "2"), find_code(run_on.study, "theme.balance")
        standing, number = put(old, code, coder), uuid4()
        decision = decide(old, coder, number)
        split(run_on, by=lead)
        words = "Sentence 2 has since been split"
        with pytest.raises(actions.WrongPlace, match=words):
            put(old, find_code(run_on.study, "theme.compassion"), coder)
        with pytest.raises(actions.WrongPlace, match=words):
            take_off(standing, coder)
        with pytest.raises(actions.WrongPlace, match=words):
            decide(old, coder)
        with pytest.raises(actions.WrongPlace, match=words):
            actions.reopen_sentence(study=run_on.study, decision=decision, by=coder)
        with pytest.raises(actions.WrongPlace, match=words):
            actions.write_memo(
                study=run_on.study, interview=run_on, sentence=old, text="x", by=coder, idempotency_key=uuid4()
            )
        assert standing_codes(old, coder) == []

    def test_act_that_was_stored_before_the_cut_is_found_again(self, run_on, lead, coder):
        old, number, other = find(run_on, "2"), uuid4(), uuid4()
        code = find_code(run_on.study, "theme.balance")
        stored, decided = put(old, code, coder, idempotency_key=number), decide(old, coder, other)
        split(run_on, by=lead)
        assert put(old, code, coder, idempotency_key=number) == stored
        assert decide(old, coder, other) == decided

    @pytest.mark.parametrize("state", ["completed", "locked"])
    def test_signed_off_or_locked_interviews_keep_their_sentences(self, run_on, lead, coder, state):
        now = timezone.now()
        number_two = Round.objects.create(
            study=run_on.study,
            number=2,
            name="Second",
            opened_at=now,
            opened_by_name="lead",
            locked_at=now if state == "locked" else None,
            locked_by=lead if state == "locked" else None,
        )
        given = Assignment.objects.create(
            round=number_two,
            interview=run_on,
            coder=coder,
            assigned_at=now,
            assigned_by_name="lead",
            completed_at=now if state == "completed" else None,
        )
        with pytest.raises(BoundaryEditRefused, match=r"[Rr]ound 2.* cannot be split"):
            split(run_on, by=lead)
        with pytest.raises(BoundaryEditRefused, match=r"[Rr]ound 2.* cannot be split"):
            join(run_on, "2", by=lead)
        assert not BoundaryEdit.objects.exists()
        given.withdrawn_at = now
        given.save()
        split(run_on, by=lead)

    def test_refusals_of_the_room_below_come_through(self, run_on, lead):
        old = find(run_on, "2")
        split(run_on, by=lead)
        with pytest.raises(SentenceRetired):
            boundary_edits.split_sentence(
                study=run_on.study, sentence=old, at=old.start + 4, by=lead, idempotency_key=uuid4()
            )
