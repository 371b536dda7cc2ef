"""The anchors: drawn once, read afresh under each version."""

import uuid

import pytest

from tests.transcripts.coding.cast import count_events
from tests.transcripts.revision.codebooks import current
from transcripts.coding.actions.boundary_edits import split_sentence
from transcripts.refusals import Refused
from transcripts.revision import actions, queries
from transcripts.revision.models import AnchorReading, AnchorSentence


def test_same_seed_draws_the_same_sentences_of_models(study, interview, owner):
    drawn = actions.draw_anchors(study=study, count=3, seed=5, by=owner)
    assert {anchor.sentence.turn.role for anchor in drawn} == {"model"}
    first = {anchor.sentence_id for anchor in drawn}
    for anchor in drawn:
        actions.remove_anchor(study=study, anchor=anchor, by=owner)
    again = actions.draw_anchors(study=study, count=3, seed=5, by=owner)
    assert {anchor.sentence_id for anchor in again} == first


@pytest.mark.parametrize("count", [0, 10, -1])
def test_no_more_is_drawn_than_is_there(study, interview, owner, count):
    with pytest.raises(Refused, match="between 1 and 7"):
        actions.draw_anchors(study=study, count=count, seed=5, by=owner)
    assert not AnchorSentence.objects.exists()


def test_sentence_is_an_anchor_once(study, sentence, owner):
    first = actions.add_anchor(study=study, sentence=sentence, by=owner)
    before = count_events(study)
    assert actions.add_anchor(study=study, sentence=sentence, by=owner) == first
    assert count_events(study) == before


def test_first_reading_under_a_version_stands(study, sentence, owner, coder):
    anchor = actions.add_anchor(study=study, sentence=sentence, by=owner)
    version, idempotency_key = current(study), uuid.uuid4()

    def read(identifiers, number):
        return actions.read_anchor(
            study=study, anchor=anchor, version=version, identifiers=identifiers, by=coder, idempotency_key=number
        )

    stored = read(["theme.compassion", "theme.balance"], idempotency_key)
    # In the order of the codebook, and replayed without a second row.
    assert stored.codes == ["theme.balance", "theme.compassion"]
    assert read(["theme.compassion", "theme.balance"], idempotency_key) == stored
    with pytest.raises(Refused, match="The first reading counts"):
        read([], uuid.uuid4())
    assert queries.list_unread(study, version, coder) == []
    assert len(queries.list_unread(study, version, owner)) == 1


def test_anchor_takes_codes_of_sentences_only(study, sentence, owner, coder):
    anchor = actions.add_anchor(study=study, sentence=sentence, by=owner)
    for identifier in ("feature.task", "nothing"):
        with pytest.raises(Refused, match=r"has no code '.+' for sentences"):
            actions.read_anchor(
                study=study,
                anchor=anchor,
                version=current(study),
                identifiers=[identifier],
                by=coder,
                idempotency_key=uuid.uuid4(),
            )
    assert not AnchorReading.objects.exists()


def test_sentence_whose_break_was_corrected_is_no_anchor_any_more(study, sentence, owner, coder):
    anchor = actions.add_anchor(study=study, sentence=sentence, by=owner)
    actions.read_anchor(
        study=study, anchor=anchor, version=current(study), identifiers=[], by=coder, idempotency_key=uuid.uuid4()
    )
    assert queries.list_readings(study, coder=None).count() == 1
    at = sentence.turn.text.index(" ", sentence.start) + 1
    split_sentence(study=study, sentence=sentence, at=at, by=owner, idempotency_key=uuid.uuid4())
    assert list(queries.list_anchors(study)) == []
    assert queries.list_unread(study, current(study), owner) == []
    assert queries.list_readings(study, coder=None).count() == 0
    anchor = AnchorSentence.objects.get(pk=anchor.pk)
    with pytest.raises(Refused, match="no longer an anchor"):
        actions.read_anchor(
            study=study,
            anchor=anchor,
            version=current(study),
            identifiers=[],
            by=owner,
            idempotency_key=uuid.uuid4(),
        )


def test_reading_sent_twice_at_once_is_the_one_that_was_stored(study, sentence, owner, coder, monkeypatch):
    anchor = actions.add_anchor(study=study, sentence=sentence, by=owner)
    idempotency_key = uuid.uuid4()

    def read():
        return actions.read_anchor(
            study=study,
            anchor=anchor,
            version=current(study),
            identifiers=[],
            by=coder,
            idempotency_key=idempotency_key,
        )

    stored = read()
    events = count_events(study)
    # The twin looks before the first is stored, and inserts after it.
    answers = iter([None, stored])
    monkeypatch.setattr(actions, "_find_stored_reading", lambda *_: next(answers))
    assert read() == stored
    assert count_events(study) == events
