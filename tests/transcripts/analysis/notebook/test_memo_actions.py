"""Memos on anything: versions, two windows, replays, and one way to write them."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from tests.transcripts.analysis.themes.cast import BALANCE, make_theme
from tests.transcripts.coding.cast import count_events, last_event
from transcripts.analysis.notebook import actions
from transcripts.analysis.notebook.actions import MemoChanged
from transcripts.analysis.notebook.queries import Place, PlaceNotFound, find_place
from transcripts.coding import actions as desk
from transcripts.coding.models import Memo
from transcripts.refusals import WrongInput


def write(study, place, by, text="A thought.", kind="interpretive"):
    return actions.write_memo(study=study, place=place, text=text, kind=kind, by=by, idempotency_key=uuid4())


def revise(memo, by, text, kind="interpretive"):
    return actions.revise_memo(memo=memo, text=text, kind=kind, by=by, idempotency_key=uuid4())


def active_texts():
    return list(Memo.objects.filter(withdrawn_at__isnull=True).order_by("pk").values_list("text", flat=True))


@pytest.fixture
def places(study, sentence, lead):
    make_theme(study, lead)
    asked = {
        "sentence": {"sentence": str(sentence.pk)},
        "interview": {"interview": str(sentence.turn.interview_id)},
        "code": {"code": BALANCE},
        "theme": {"theme": "1"},
        "study": {},
    }
    return {name: find_place(study, fields) for name, fields in asked.items()}


SUBJECTS = ["sentence", "interview", "code", "theme", "study"]


@pytest.mark.parametrize("subject", SUBJECTS)
class TestOnEachSubject:
    def test_a_memo_is_written_and_changed_and_withdrawn(self, study, places, coder, subject):
        place = places[subject]
        first = write(study, place, coder, "A thought.\r\nWith a second line. ")
        assert (first.subject, first.kind, first.revision) == (subject, "interpretive", 1)
        assert first.text == "A thought.\nWith a second line."
        second = revise(first, coder, "Another thought.", "decision")
        first.refresh_from_db()
        assert first.superseded_by == second
        assert (second.revision, second.kind, Place.of(second)) == (2, "decision", place)
        assert [each.text for each in actions.list_versions(first)] == [second.text, first.text]
        actions.withdraw_memo(memo=second, by=coder)
        assert active_texts() == []
        assert "thought" not in str(last_event(study).details)

    def test_two_windows_lose_nothing(self, study, places, coder, subject):
        first = write(study, places[subject], coder)
        second = revise(first, coder, "From one window.")
        with pytest.raises(MemoChanged) as caught:
            revise(first, coder, "From the other.")
        assert caught.value.current == second
        with pytest.raises(MemoChanged):
            actions.withdraw_memo(memo=first, by=coder)
        assert active_texts() == ["From one window."]
        actions.withdraw_memo(memo=second, by=coder)
        with pytest.raises(MemoChanged) as caught:
            revise(second, coder, "Too late.")
        assert caught.value.current is None

    def test_a_page_gone_back_to_and_sent_with_another_text_is_not_taken_for_a_replay(
        self, study, places, coder, subject
    ):
        def send(text):
            return actions.write_memo(
                study=study, place=places[subject], text=text, kind="reading", by=coder, idempotency_key=number
            )

        number = uuid4()
        first = send("As it was.")
        with pytest.raises(MemoChanged) as caught:
            send("As I want it now.")
        assert caught.value.current == first
        actions.withdraw_memo(memo=first, by=coder)
        with pytest.raises(MemoChanged) as caught:
            send("As I want it now.")
        assert (caught.value.current, caught.value.memo) == (None, first)
        assert Memo.objects.count() == 1

    def test_a_form_sent_twice_is_stored_once(self, study, places, coder, subject):
        number = uuid4()
        written = [
            actions.write_memo(
                study=study, place=places[subject], text="Once.", kind="reading", by=coder, idempotency_key=number
            )
            for _ in range(2)
        ]
        assert written[0] == written[1]
        number = uuid4()
        revised = [
            actions.revise_memo(memo=written[0], text="Twice.", kind="reading", by=coder, idempotency_key=number)
            for _ in range(2)
        ]
        assert revised[0] == revised[1]
        assert Memo.objects.count() == 2
        with pytest.raises(desk.UsedForAnother):
            actions.write_memo(
                study=study,
                place=places["study" if subject != "study" else "code"],
                text="Once.",
                kind="reading",
                by=coder,
                idempotency_key=number,
            )

    def test_an_unchanged_memo_writes_nothing(self, study, places, coder, subject):
        memo = write(study, places[subject], coder)
        events = count_events(study)
        assert revise(memo, coder, memo.text) == memo
        assert count_events(study) == events

    def test_people_change_their_own_memos(self, study, places, coder, lead, subject):
        memo = write(study, places[subject], coder)
        with pytest.raises(desk.NotYours):
            revise(memo, lead, "Hers.")
        with pytest.raises(desk.NotYours):
            actions.withdraw_memo(memo=memo, by=lead)


def test_of_a_code_people_keep_many_memos_of_a_sentence_one(study, places, coder, second_coder):
    for _ in range(2):
        write(study, places["code"], coder)
    write(study, places["sentence"], coder)
    write(study, places["sentence"], second_coder)
    with pytest.raises(MemoChanged):
        write(study, places["sentence"], coder, "Another.")
    assert len(active_texts()) == 4


def test_the_desk_and_this_room_write_the_same_memo(study, sentence, coder):
    interview = sentence.turn.interview
    memo = desk.write_memo(
        study=study, interview=interview, sentence=sentence, text="At the desk.", by=coder, idempotency_key=uuid4()
    )
    revised = revise(memo, coder, "In the room.")
    assert revised.revision == 2
    desk.write_memo(
        study=study,
        interview=interview,
        sentence=sentence,
        text="At the desk again.",
        by=coder,
        idempotency_key=uuid4(),
    )
    with pytest.raises(MemoChanged):
        revise(revised, coder, "Too late.")
    assert active_texts() == ["At the desk again."]


def test_one_version_of_a_thread_stands(study, places, coder):
    memo = write(study, places["code"], coder)
    memo.pk, memo.idempotency_key = None, uuid4()
    with pytest.raises(IntegrityError), transaction.atomic():
        memo.save(force_insert=True)


@pytest.mark.parametrize(
    ("text", "kind", "field"),
    [
        ("", "reading", "text"),
        ("x" * 20_001, "reading", "text"),
        ("half \ud800", "reading", "text"),
        ("x", "odd", "kind"),
    ],
)
def test_what_cannot_be_taken_is_named(study, coder, text, kind, field):
    with pytest.raises(WrongInput) as caught:
        write(study, Place("study"), coder, text, kind)
    assert caught.value.field == field
    assert not Memo.objects.exists()


@pytest.mark.parametrize(
    "asked",
    [{"sentence": "999999"}, {"interview": "x"}, {"code": "theme.nowhere"}, {"theme": "7"}, {"theme": "9" * 30}],
)
def test_places_that_are_not_in_the_study_are_not_found(study, interview, asked):
    with pytest.raises(PlaceNotFound):
        find_place(study, asked)
