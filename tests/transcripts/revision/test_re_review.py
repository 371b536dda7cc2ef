"""Re-review of codings whose code means something else, or is gone."""

import uuid

import pytest

from tests.transcripts.coding.cast import decide, last_event, put, standing_codes, take_off
from tests.transcripts.revision.codebooks import code_of, current, merge, narrow, split
from transcripts.blinding.actions import unblind_interview
from transcripts.coding.actions import OncePerAnswer
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.models import Interview
from transcripts.refusals import Refused
from transcripts.revision import actions, queries


def due_codings(study, coder):
    return [each.coding_id for each in queries.list_due(current(study), coder=coder)]


def test_change_of_meaning_puts_codings_in_the_queue_of_their_coder_only(
    study, sentence, code, owner, coder, second_coder
):
    coding = put(sentence, code, coder)
    other = put(sentence, code_of(code.version, "theme.systemic_grounding"), second_coder)
    narrow(study, code.identifier, owner)
    assert due_codings(study, coder) == [coding.pk]
    assert due_codings(study, second_coder) == []
    assert other.withdrawn_at is None


def test_change_of_wording_leaves_codings_as_they_stand(study, sentence, code, owner, coder):
    put(sentence, code, coder)
    narrow(study, code.identifier, owner, effect="wording")
    assert due_codings(study, coder) == []


def test_kept_coding_stands_under_the_new_version_as_it_was_put(study, sentence, code, owner, coder):
    quote = (sentence.start, sentence.start + 4)
    old = put(sentence, code, coder, level="latent", note="weighs without saying so", quote=quote, grounding="abstract")
    version = narrow(study, code.identifier, owner)
    idempotency_key = uuid.uuid4()
    for _ in range(2):
        new = actions.keep_coding(study=study, coding=old, version=version, by=coder, idempotency_key=idempotency_key)
    old.refresh_from_db()
    assert (new.code.version, new.level, new.note, (new.quote_start, new.quote_end), new.grounding) == (
        version,
        "latent",
        "weighs without saying so",
        quote,
        "abstract",
    )
    assert old.superseded_by == new
    assert due_codings(study, coder) == []
    assert Coding.objects.filter(coder=coder).count() == 2


def test_split_code_is_sorted_into_what_it_became(study, sentence, code, owner, coder):
    old = put(sentence, code, coder, level="latent", note="one line")
    decide(sentence, coder)
    version = split(study, code.identifier, ["Weighing harms", "Weighing values"], owner)
    parts = queries.find_codes(version, queries.find_fate(old, version)[1])
    assert [part.name for part in parts] == ["Weighing harms", "Weighing values"]
    with pytest.raises(Refused, match="is no longer in v2"):
        actions.keep_coding(study=study, coding=old, version=version, by=coder, idempotency_key=uuid.uuid4())
    put_again = actions.move_coding(
        study=study, coding=old, codes=parts, version=version, by=coder, idempotency_key=uuid.uuid4()
    )
    old.refresh_from_db()
    assert old.superseded_by == put_again[0]
    assert old.withdrawal_reason == "re-reviewed with codebook v2"
    assert {each.note for each in put_again} == {"one line"}
    assert standing_codes(sentence, coder) == sorted(part.identifier for part in parts)
    assert Decision.objects.filter(sentence=sentence, coder=coder, withdrawn_at__isnull=True).exists()
    assert due_codings(study, coder) == []


def test_nothing_takes_the_place_of_itself_or_comes_from_an_older_version(study, sentence, code, owner, coder):
    old = put(sentence, code, coder)
    version = narrow(study, code.identifier, owner)
    same, earlier = code_of(version, code.identifier), code_of(code.version, "theme.compassion")
    for codes, words in (([], "at least one"), ([same], "cannot replace itself"), ([earlier], "codes of v2")):
        with pytest.raises(Refused, match=words):
            actions.move_coding(
                study=study, coding=old, codes=codes, version=version, by=coder, idempotency_key=uuid.uuid4()
            )
    assert standing_codes(sentence, coder) == [code.identifier]


def test_a_code_applied_once_per_answer_does_not_take_the_place_of_another_twice(study, sentence, owner, coder):
    first_version = current(study)
    framing, inviting = (
        code_of(first_version, f"repertoire.{name}") for name in ("probabilistic_framing", "user_correction")
    )
    other = sentence.turn.sentences.select_related("turn__interview__study").order_by("start")[1]
    put(sentence, inviting, coder)
    old = put(other, framing, coder)
    version = narrow(study, framing.identifier, owner)
    target = code_of(version, inviting.identifier)
    with pytest.raises(OncePerAnswer, match=f"applied it to sentence {sentence.label} of this answer"):
        actions.move_coding(
            study=study, coding=old, codes=[target], version=version, by=coder, idempotency_key=uuid.uuid4()
        )
    assert standing_codes(other, coder) == [framing.identifier]
    actions.keep_coding(study=study, coding=old, version=version, by=coder, idempotency_key=uuid.uuid4())
    assert due_codings(study, coder) == []


def test_merging_codes_may_leave_one_twice_in_an_answer(study, sentence, owner, coder):
    names = ["repertoire.probabilistic_framing", "repertoire.user_correction"]
    other = sentence.turn.sentences.select_related("turn__interview__study").order_by("start")[1]
    for place, name in zip((sentence, other), names, strict=True):
        put(place, code_of(current(study), name), coder)
    version = merge(study, names, names[0], owner)
    actions.migrate_merged(study=study, version=version, by=owner)
    assert [standing_codes(place, coder) for place in (sentence, other)] == [names[:1], names[:1]]


def test_nobody_looks_again_at_the_codings_of_others(study, sentence, code, owner, coder, second_coder):
    old = put(sentence, code, coder)
    version = narrow(study, code.identifier, owner)
    with pytest.raises(Refused):
        actions.drop_coding(study=study, coding=old, version=version, by=second_coder, idempotency_key=uuid.uuid4())
    assert standing_codes(sentence, coder) == [code.identifier]


def test_merged_codings_are_carried_for_everybody_and_can_be_taken_back(
    study, sentence, code, owner, coder, second_coder
):
    compassion = code_of(code.version, "theme.compassion")
    for person in (coder, second_coder):
        put(sentence, compassion, person, level="latent", note="kind")
    put(sentence, code, second_coder)
    version = merge(study, ["theme.compassion", code.identifier], code.identifier, owner)
    assert actions.migrate_merged(study=study, version=version, by=owner) == 2
    assert last_event(study).details["count"] == 2
    assert actions.migrate_merged(study=study, version=version, by=owner) == 0
    assert standing_codes(sentence, coder) == standing_codes(sentence, second_coder) == [code.identifier]
    carried = Coding.objects.get(coder=coder, withdrawn_at__isnull=True)
    assert carried.migrated_from is not None
    assert (carried.note, carried.migrated_from.superseded_by) == ("kind", carried)

    assert actions.undo_migration(study=study, version=version, by=owner) == 2
    assert actions.undo_migration(study=study, version=version, by=owner) == 0
    assert standing_codes(sentence, coder) == ["theme.compassion"]
    assert standing_codes(sentence, second_coder) == [code.identifier, "theme.compassion"]


def test_codings_that_come_in_with_a_file_are_not_carried_before_the_study_has_them(
    study, sentence, code, owner, coder
):
    put(sentence, code_of(code.version, "theme.compassion"), coder)
    version = merge(study, ["theme.compassion", code.identifier], code.identifier, owner)
    Interview.objects.update(study=None, owning_study=None)
    assert actions.migrate_merged(study=study, version=version, by=owner) == 0
    Interview.objects.update(study=study, owning_study=study)
    assert actions.migrate_merged(study=study, version=version, by=owner) == 1


def test_what_a_coder_did_after_the_carrying_is_left_to_her(study, sentence, code, owner, coder):
    put(sentence, code_of(code.version, "theme.compassion"), coder)
    version = merge(study, ["theme.compassion", code.identifier], code.identifier, owner)
    actions.migrate_merged(study=study, version=version, by=owner)
    take_off(Coding.objects.get(coder=coder, withdrawn_at__isnull=True), coder)
    assert actions.undo_migration(study=study, version=version, by=owner) == 0
    assert standing_codes(sentence, coder) == []


def test_what_is_carried_and_taken_back_again_and_again_is_never_lost(study, sentence, code, owner, coder):
    put(sentence, code_of(code.version, "theme.compassion"), coder)
    version = merge(study, ["theme.compassion", code.identifier], code.identifier, owner)
    for _ in range(3):
        assert actions.migrate_merged(study=study, version=version, by=owner) == 1
        assert standing_codes(sentence, coder) == [code.identifier]
        assert actions.undo_migration(study=study, version=version, by=owner) == 1
        assert standing_codes(sentence, coder) == ["theme.compassion"]


def test_what_was_carried_is_read_once_and_as_what_it_went_into(study, sentence, code, owner, lead):
    """Withdrawn by the carrying after an opening, the old row stood when others' labels were seen; it counts no more."""
    from transcripts.coding.blind import read_blind

    old = put(sentence, code_of(code.version, "theme.compassion"), lead)
    unblind_interview(study=study, interview=sentence.turn.interview, by=lead, where="test")

    def read():
        readings = read_blind(study)
        return [readings.codes[number].identifier for number in readings.codings[:, 2]]

    assert read() == ["theme.compassion"]
    version = merge(study, ["theme.compassion", code.identifier], code.identifier, owner)
    actions.migrate_merged(study=study, version=version, by=owner)
    old.refresh_from_db()
    assert old.withdrawn_at is not None
    assert read() == [code.identifier]
    assert read_blind(study).codings[:, 2].tolist() == [code_of(version, code.identifier).pk]
    # What she takes off after the opening was still her own reading: hers as it was carried.
    take_off(Coding.objects.get(coder=lead, withdrawn_at__isnull=True), lead, reason="Hers convinces me.")
    assert read() == [code.identifier]


def test_decided_sentence_stays_decided_when_its_last_code_does_not_hold(study, sentence, code, owner, coder):
    old = put(sentence, code, coder)
    decide(sentence, coder)
    version = narrow(study, code.identifier, owner)
    idempotency_key = uuid.uuid4()
    for _ in range(2):
        actions.drop_coding(study=study, coding=old, version=version, by=coder, idempotency_key=idempotency_key)
    standing = Decision.objects.get(sentence=sentence, coder=coder, withdrawn_at__isnull=True)
    assert standing.none_applies
    assert Decision.objects.filter(sentence=sentence, coder=coder).count() == 2
    assert standing_codes(sentence, coder) == []


def test_undecided_sentence_or_one_with_other_codes_gets_no_new_decision(
    study, sentence, code, owner, coder, second_coder
):
    alone, beside = put(sentence, code, coder), put(sentence, code, second_coder)
    put(sentence, code_of(code.version, "theme.compassion"), second_coder)
    decided = decide(sentence, second_coder)
    version = narrow(study, code.identifier, owner)
    for coding, person in ((alone, coder), (beside, second_coder)):
        actions.drop_coding(study=study, coding=coding, version=version, by=person, idempotency_key=uuid.uuid4())
    assert list(Decision.objects.filter(sentence=sentence)) == [decided]
    decided.refresh_from_db()
    assert (decided.withdrawn_at, decided.none_applies) == (None, False)
