"""Blind readings over random histories: the querysets, the fast SQL and the rule in words say the same."""

import contextlib
import random
from uuid import uuid4

import pytest

from tests.transcripts.coding.cast import decide, find_code, put, take_off
from tests.transcripts.revision.codebooks import code_of, current, merge
from tests.transcripts.rounds.cast import answers, bring_in
from transcripts.blinding.actions import unblind_interview
from transcripts.coding import actions
from transcripts.coding.actions import boundary_edits
from transcripts.coding.blind import read_blind
from transcripts.coding.models import Blinding, Coding, Decision, Reveal, Unblinding
from transcripts.corpus.changes import SentenceRetired
from transcripts.corpus.models import Sentence
from transcripts.corpus.pure.boundaries import BoundaryEditRefused
from transcripts.refusals import Refused
from transcripts.revision.actions import migrate_merged

MERGED, KEPT, OTHER = "theme.compassion", "theme.balance", "theme.models_metamodels"
ACTS = 60

Row = tuple[int, ...]


class History:
    """Random acts of several coders on a few interviews, and what is true of them afterwards."""

    def __init__(self, seed, study, owner, coders):
        self.random = random.Random(seed)
        self.study, self.owner, self.coders = study, owner, coders
        self.talks = bring_in(study, owner, ["Model A", "Model B"])

    def act(self):
        """One act; what the rules refuse is no act."""
        acts = [self.code] * 5 + [self.take_off] * 4 + [self.decide] * 3
        acts += [self.reopen, self.reveal, self.unblind, self.split, self.join, self.migrate]
        acts += [self.see_and_change] * 3
        with contextlib.suppress(Refused, BoundaryEditRefused, SentenceRetired):
            self.random.choice(acts)()

    def coder(self):
        return self.random.choice(self.coders)

    def talk(self):
        return self.random.choice(self.talks)

    def sentence(self):
        return self.random.choice(answers(self.talk()))

    def code(self):
        code = code_of(current(self.study), self.random.choice([KEPT, OTHER]))
        if self.random.random() < 0.5:
            code = find_code(self.study, MERGED)
        put(self.sentence(), code, self.coder(), reason="So it reads.")

    def take_off(self):
        if codings := list(Coding.objects.active().select_related("sentence__turn__interview__study")):
            coding = self.random.choice(codings)
            take_off(coding, coding.coder, reason="On second thoughts.")

    def decide(self):
        decide(self.sentence(), self.coder())

    def reopen(self):
        if decisions := list(Decision.objects.active().select_related("sentence__turn__interview__study")):
            decision = self.random.choice(decisions)
            actions.reopen_sentence(study=self.study, decision=decision, by=decision.coder, reason="Once more.")

    def reveal(self):
        actions.reveal_suggestions(study=self.study, sentence=self.sentence(), by=self.coder())

    def unblind(self):
        lead = self.coders[0]
        unblind_interview(study=self.study, interview=self.talk(), by=lead, where="test")

    def see_and_change(self):
        """A coder decides, is shown suggestions, and withdraws or reopens what she had done blind."""
        if codings := list(Coding.objects.active().filter(blinding=Blinding.BLIND, sentence__retired_by=None)):
            coding = self.random.choice(codings)
            sentence, coder = coding.sentence, coding.coder
            decision = decide(sentence, coder)
            actions.reveal_suggestions(study=self.study, sentence=sentence, by=coder)
            take_off(coding, coder, reason="The machine is right.")
            if self.random.random() < 0.5:
                actions.reopen_sentence(study=self.study, decision=decision, by=coder, reason="Once more.")

    def split(self):
        sentence = self.sentence()
        if sentence.end - sentence.start < 2:
            return
        at = self.random.randrange(sentence.start + 1, sentence.end)
        boundary_edits.split_sentence(
            study=self.study, sentence=sentence, at=at, by=self.owner, idempotency_key=uuid4()
        )

    def join(self):
        boundary_edits.merge_sentences(study=self.study, first=self.sentence(), by=self.owner, idempotency_key=uuid4())

    def migrate(self):
        """Publish a version that merges two codes, or migrate what was coded with the merged one since."""
        version = current(self.study)
        if version.number == 1:
            version = merge(self.study, [MERGED, KEPT], KEPT, self.owner)
        migrate_merged(study=self.study, version=version, by=self.owner)

    def say_in_words(self):
        """Codings and decisions that are blind readings, by docs/blinding.md, one row after the other in Python."""
        seen = {}
        for reveal in Reveal.objects.all():
            seen.setdefault((reveal.coder_id, reveal.sentence_id), []).append(reveal.revealed_at)
        interview_of = dict(Sentence.objects.values_list("pk", "turn__interview"))
        for unblinding in Unblinding.objects.all():
            for sentence, interview in interview_of.items():
                if interview == unblinding.interview_id:
                    seen.setdefault((unblinding.user_id, sentence), []).append(unblinding.unblinded_at)

        def is_blind(row):
            moments = seen.get((row.coder_id, row.sentence_id), [])
            withdrawn = row.withdrawn_at
            return row.blinding == Blinding.BLIND and (withdrawn is None or any(at < withdrawn for at in moments))

        on = {"sentence__in": set(Sentence.objects.current().values_list("pk", flat=True))}
        codings = [
            (row.sentence_id, row.coder_id, row.code_id)
            for row in Coding.objects.filter(**on).select_related("superseded_by")
            if is_blind(row) and not (row.superseded_by and row.superseded_by.migrated_from_id == row.pk)
        ]
        decisions = {(row.sentence_id, row.coder_id) for row in Decision.objects.filter(**on) if is_blind(row)}
        return sorted(codings), sorted(decisions)

    def ask_querysets(self):
        on = {"sentence__in": Sentence.objects.current()}
        codings = Coding.objects.blind().filter(**on).values_list("sentence_id", "coder_id", "code_id")
        decisions = Decision.objects.blind().filter(**on).values_list("sentence_id", "coder_id")
        return sorted(codings), sorted(set(decisions))

    def ask_fast_sql(self):
        found = read_blind(self.study)
        sentences, coders = found.sentence_ids.tolist(), found.coders
        codings = [(sentences[place], coders[coder], code) for place, coder, code in found.codings.tolist()]
        decisions = [
            (sentences[place], coders[coder])
            for coder, through in enumerate(found.decisions)
            for place in through.nonzero()[0].tolist()
        ]
        return sorted(codings), sorted(decisions)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 8))])
def test_querysets_fast_sql_and_the_rule_in_words_agree(study, owner, lead, coder, second_coder, seed):
    history = History(seed, study, owner, [lead, coder, second_coder])
    for number in range(ACTS):
        history.act()
        if number % 10 == 9:
            expected = history.say_in_words()
            assert history.ask_querysets() == expected
            assert history.ask_fast_sql() == expected
    codings, decisions = history.say_in_words()
    assert codings
    assert decisions
    # The history holds what makes the rule hard: blind labels withdrawn before and after their coder was unblinded.
    withdrawn = set(Coding.objects.filter(blinding=Blinding.BLIND, withdrawn_at__isnull=False))
    still_blind = set(Coding.objects.blind())
    assert withdrawn - still_blind
    assert withdrawn & still_blind
    assert Coding.objects.filter(migrated_from__isnull=False).exists()
