"""What counts as a blind reading. The rules are those on which agreement, anchors and themes rest."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from tests.transcripts.coding.cast import decide, find_code, put, take_off
from tests.transcripts.rounds.cast import answers, bring_in
from transcripts.audit_trail import trail
from transcripts.blinding.actions import unblind_interview
from transcripts.codebook.models import Code, CodebookVersion, CodeChange, CodeFamily
from transcripts.coding.actions import reveal_suggestions
from transcripts.coding.blind import VersionSpan, read_blind
from transcripts.coding.models import Coding, Decision
from transcripts.corpus.models import BoundaryEdit, Sentence
from transcripts.studies.actions import set_member_role

BALANCE, COMPASSION = "theme.balance", "theme.compassion"
THEMES = ["theme.models_metamodels", BALANCE, COMPASSION]


@pytest.fixture
def talks(study, owner):
    return bring_in(study, owner, ["Model A", "Model B"])


def themes_of(study, *talks, span=None):
    wanted = {talk.pk for talk in talks} if talks else None
    return read_blind(study, interviews=wanted, span=span).arrange("themes", "sentence", THEMES)


def reading(table, unit_id):
    """Who decided about a unit, and the codes each put."""
    return table.list_readings(list(table.unit_ids).index(unit_id))


class TestSentences:
    def test_sentence_is_decided_by_a_code_of_the_family_or_by_a_decision(self, study, talks, coder, second_coder):
        first, second, third = answers(talks[0])
        put(first, find_code(study, BALANCE), coder)
        put(second, find_code(study, "move.elicit"), coder)
        decide(third, coder)
        decide(first, second_coder)
        table = themes_of(study)
        assert reading(table, first.pk) == {coder.pk: (BALANCE,), second_coder.pk: ()}
        assert reading(table, second.pk) == {}
        assert reading(table, third.pk) == {coder.pk: ()}
        assert [table.unit_ids[place] for place in table.find_differing()] == [first.pk]

    def test_what_was_taken_back_while_blind_is_gone(self, study, talks, coder):
        first, second, _ = answers(talks[0])
        take_off(put(first, find_code(study, BALANCE), coder), coder)
        put(second, find_code(study, BALANCE), coder, level="semantic")
        put(second, find_code(study, BALANCE), coder, level="latent", note="Between the lines.")
        table = themes_of(study)
        assert reading(table, first.pk) == {}
        assert reading(table, second.pk) == {coder.pk: (BALANCE,)}

    def test_reading_at_the_moment_of_the_reveal_stays_whatever_is_done_later(self, study, talks, coder):
        first = answers(talks[0])[0]
        balance = put(first, find_code(study, BALANCE), coder)
        decide(first, coder)
        reveal_suggestions(study=study, sentence=first, by=coder)
        take_off(balance, coder, reason="The machine is right.")
        put(first, find_code(study, COMPASSION), coder, reason="The machine is right.")
        assert reading(themes_of(study), first.pk) == {coder.pk: (BALANCE,)}

    def test_reading_at_the_moment_of_the_opening_stays_and_later_decisions_are_not_blind(self, study, talks, lead):
        first, second, third = answers(talks[0])
        balance = put(first, find_code(study, BALANCE), lead)
        decide(third, lead)
        unblind_interview(study=study, interview=talks[0], by=lead, where="agreement")
        Coding.objects.filter(pk=balance.pk).update(withdrawn_at=timezone.now())
        Decision.objects.update(withdrawn_at=timezone.now())
        decide(second, lead)
        table = themes_of(study)
        assert reading(table, first.pk) == {lead.pk: (BALANCE,)}
        assert reading(table, second.pk) == {}
        assert reading(table, third.pk) == {lead.pk: ()}

    def test_opening_of_another_person_or_interview_keeps_nothing_alive(self, study, talks, lead, coder):
        first = answers(talks[0])[0]
        coding = put(first, find_code(study, BALANCE), coder)
        unblind_interview(study=study, interview=talks[0], by=lead, where="agreement")
        unblind_interview(study=study, interview=talks[1], by=lead, where="agreement")
        take_off(coding, coder)
        assert reading(themes_of(study), first.pk) == {}

    def test_retired_sentences_are_left_out(self, study, talks, coder):
        first = answers(talks[0])[0]
        put(first, find_code(study, BALANCE), coder)
        edit = BoundaryEdit.objects.create(
            turn=first.turn, kind="split", idempotency_key=uuid.uuid4(), edited_at=timezone.now(), edited_by=coder
        )
        Sentence.objects.filter(pk=first.pk).update(retired_by=edit)
        assert first.pk not in set(themes_of(study).unit_ids)

    def test_only_the_wanted_interviews_and_the_own_study_are_read(self, study, talks, coder, outsider):
        from transcripts.codebook.actions import start_study

        for talk in talks:
            put(answers(talk)[0], find_code(study, BALANCE), coder)
        other = start_study(slug="other", name="Other", by=outsider)
        set_member_role(study=other, user=coder, role="coder", by=trail.SYSTEM)
        [foreign] = bring_in(other, outsider, ["Model A"])
        put(answers(foreign)[0], find_code(other, BALANCE), coder)
        assert set(themes_of(study, talks[1]).interview_ids) == {talks[1].pk}
        assert set(themes_of(study).interview_ids) == {talk.pk for talk in talks}
        assert read_blind(study, interviews=[foreign.pk]).coders == ()
        assert len(read_blind(study, interviews=[]).sentence_ids) == 0


class TestOtherUnits:
    def test_turn_is_decided_by_its_own_code_or_by_decisions_on_all_its_sentences(
        self, study, talks, coder, second_coder
    ):
        sentences = answers(talks[0])
        turn = sentences[0].turn
        put(sentences[1], find_code(study, "feature.task"), coder)
        for sentence in sentences[:2]:
            decide(sentence, second_coder)
        codes = ["feature.task", "feature.stakeholders"]

        def read():
            return reading(read_blind(study).arrange("case_features", "turn", codes), turn.pk)

        assert read() == {coder.pk: ("feature.task",)}
        decide(sentences[2], second_coder)
        assert read() == {coder.pk: ("feature.task",), second_coder.pk: ()}

    def test_code_of_the_turn_says_nothing_about_its_first_sentence(self, study, talks, coder):
        first = answers(talks[0])[0]
        put(first, find_code(study, "feature.task"), coder)
        assert reading(themes_of(study), first.pk) == {}

    def test_interview_is_decided_by_its_own_code_or_by_decisions_on_all_the_model_says(
        self, study, talks, coder, second_coder
    ):
        version = CodebookVersion.objects.get(study=study)
        family = CodeFamily.objects.create(
            version=version, identifier="whole", name="Whole", unit="interview", carries_level=False, position=90
        )
        code = Code.objects.create(version=version, family=family, identifier="whole.short", name="Short", position=900)
        first = Sentence.objects.filter(turn__interview=talks[0]).order_by("position")[0]
        Coding.objects.create(
            sentence=first, code=code, coder=coder, idempotency_key=uuid.uuid4(), created_at=timezone.now()
        )
        for sentence in answers(talks[0]):
            decide(sentence, second_coder)
        table = read_blind(study).arrange("whole", "interview", ["whole.short"])
        assert reading(table, talks[0].pk) == {coder.pk: ("whole.short",), second_coder.pk: ()}
        assert reading(table, talks[1].pk) == {}
        assert table.sentence_ids[list(table.unit_ids).index(talks[0].pk)] == first.pk


class TestVersions:
    @pytest.fixture
    def later(self, study):
        """The code balance in a second version, in another family there."""
        now = timezone.now()
        version = CodebookVersion.objects.create(
            study=study, number=2, status="published", title="x", created_at=now, published_at=now
        )
        family = CodeFamily.objects.create(version=version, identifier="themes", name="Themes", position=1)
        return Code.objects.create(version=version, family=family, identifier=BALANCE, name="Balance", position=1)

    def test_code_is_one_thing_across_versions(self, study, talks, coder, second_coder, later):
        first = answers(talks[0])[0]
        put(first, find_code(study, BALANCE), coder)
        put(first, later, second_coder)
        table = themes_of(study)
        assert reading(table, first.pk) == {coder.pk: (BALANCE,), second_coder.pk: (BALANCE,)}
        assert len(table.find_differing()) == 0

    def test_code_belongs_to_the_family_it_has_now(self, study, talks, coder, later):
        CodeFamily.objects.filter(pk=later.family_id).update(identifier="ways", name="Ways")
        first = answers(talks[0])[0]
        put(first, find_code(study, BALANCE), coder)
        assert reading(themes_of(study), first.pk) == {}
        moved = read_blind(study).arrange("ways", "sentence", [BALANCE])
        assert reading(moved, first.pk) == {coder.pk: (BALANCE,)}

    def test_merged_code_counts_as_what_it_went_into(self, study, talks, coder, second_coder, later):
        first = answers(talks[0])[0]
        put(first, find_code(study, COMPASSION), coder)
        put(first, later, second_coder)
        CodeChange.objects.create(
            version=later.version,
            kind="merged",
            from_identifier=COMPASSION,
            to_identifier=BALANCE,
            made_at=timezone.now(),
        )
        assert reading(themes_of(study), first.pk) == {coder.pk: (BALANCE,), second_coder.pk: (BALANCE,)}

    def test_reading_with_a_code_that_was_split_is_unknown_until_it_is_sorted(self, study, talks, lead, later):
        first = answers(talks[0])[0]
        old = put(first, find_code(study, COMPASSION), lead)
        CodeChange.objects.create(
            version=later.version,
            kind="split",
            from_identifier=COMPASSION,
            to_identifier=BALANCE,
            made_at=timezone.now(),
        )
        assert reading(themes_of(study), first.pk) == {}
        unblind_interview(study=study, interview=talks[0], by=lead, where="agreement")
        now = timezone.now()
        Coding.objects.filter(pk=old.pk).update(withdrawn_at=now)
        new = Coding.objects.create(
            sentence=first, code=later, coder=lead, migrated_from=old, idempotency_key=uuid.uuid4(), created_at=now
        )
        assert reading(themes_of(study), first.pk) == {}
        Coding.objects.filter(pk=old.pk).update(superseded_by=new)
        assert reading(themes_of(study), first.pk) == {lead.pk: (BALANCE,)}

    def test_span_keeps_what_was_wholly_said_under_its_versions(self, study, talks, coder, second_coder, later):
        first, second, third = answers(talks[0])
        published = later.version.published_at
        assert published
        put(first, find_code(study, BALANCE), coder)
        put(first, later, second_coder)
        early, late = decide(second, coder), decide(second, second_coder)
        Decision.objects.filter(pk=early.pk).update(created_at=published - timedelta(days=1))
        Decision.objects.filter(pk=late.pk).update(created_at=published + timedelta(days=1))
        put(third, find_code(study, COMPASSION), coder)
        put(third, later, coder)
        only_first = themes_of(study, span=VersionSpan(1, 1, None, published))
        assert reading(only_first, first.pk) == {coder.pk: (BALANCE,)}
        assert reading(only_first, second.pk) == {coder.pk: ()}
        only_second = themes_of(study, span=VersionSpan(2, 2, published, None))
        assert reading(only_second, first.pk) == {second_coder.pk: (BALANCE,)}
        assert reading(only_second, second.pk) == {second_coder.pk: ()}
        assert reading(only_first, third.pk) == reading(only_second, third.pk) == {}
        assert reading(themes_of(study), third.pk) == {coder.pk: (BALANCE, COMPASSION)}


def test_study_without_work_has_no_readings(study, talks):
    table = themes_of(study)
    assert table.coders == ()
    assert table.labels.shape == (3, 0, 8)
    assert len(table.find_differing()) == 0
