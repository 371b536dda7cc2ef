"""Codes that become one, and one that becomes several."""

from uuid import uuid4

import pytest

from tests.transcripts.codebook.cast import content_of, edit, find, list_events, list_steps, new_code, snapshot
from transcripts.codebook import actions, queries
from transcripts.codebook.models import CodeProposal
from transcripts.codebook.pure.comparing import trace


def merge(version, by, *identifiers, into=None, **more):
    codes = [find(version, identifier) for identifier in identifiers]
    given = {"reason": "the same", "into": into or codes[0], **more}
    return actions.merge_codes(version=version, codes=codes, by=by, **given)


class TestMerging:
    def test_merge_into_one_of_them(self, study, published, draft, lead, sentence):
        before = snapshot(published)
        actions.pin_example(
            version=draft, code=find(draft, "theme.balance"), sentence=sentence, kind="include", by=lead
        )
        child = actions.add_code(version=draft, given=new_code("Child", parent="theme.balance"), by=lead)
        events = len(list_events(study))
        merge(draft, lead, "theme.compassion", "theme.balance")
        code = find(draft, "theme.compassion")
        assert {"Balance", "Balancing value and harm of sociocultural schemas"} <= set(code.aliases)
        assert {"trade-off", "empathy"} <= set(code.terms)
        assert (code.key, code.meaning_version) == ("h", 2)
        assert [each for each in code.examples.values_list("sentence", flat=True) if each] == [sentence.pk]
        assert code.examples.filter(words__contains="customs of a region").count() == 1
        child.refresh_from_db()
        assert child.parent == code
        assert not draft.codes.filter(identifier="theme.balance").exists()
        assert list_steps(draft)[1:] == [("merged", "widening", "theme.balance", "theme.compassion")]
        assert list_events(study)[events:] == ["codebook.code.merged"]
        assert snapshot(published) == before

    def test_merge_into_a_new_code(self, draft, lead):
        merge(draft, lead, "theme.balance", "theme.compassion", into=new_code("Care", key="d", definition="Both."))
        code = find(draft, "theme.care")
        assert (code.key, code.definition, code.meaning_version) == ("d", "Both.", 2)
        assert code.aliases[:1] == ["Balance"]
        assert [step[0::2] for step in list_steps(draft)] == [
            ("added", ""),
            ("merged", "theme.balance"),
            ("merged", "theme.compassion"),
        ]
        assert {step[3] for step in list_steps(draft)} == {"theme.care"}

    def test_sentence_pinned_to_both_is_pinned_once(self, draft, lead, sentence):
        for identifier in ("theme.balance", "theme.compassion"):
            actions.pin_example(version=draft, code=find(draft, identifier), sentence=sentence, kind="anchor", by=lead)
        merge(draft, lead, "theme.compassion", "theme.balance")
        assert find(draft, "theme.compassion").examples.filter(sentence=sentence).count() == 1

    def test_proposal_that_was_accepted_goes_with_its_code(self, study, draft, lead, coder):
        proposal = actions.propose_code(
            study=study, name="Mine", family_identifier="themes", idempotency_key=uuid4(), by=coder
        )
        actions.accept_proposal(proposal=proposal, by=lead)
        merge(draft, lead, "theme.balance", "theme.mine")
        assert CodeProposal.objects.get().code == find(draft, "theme.balance")

    @pytest.mark.parametrize(
        ("identifiers", "more", "sentence"),
        [
            (["theme.balance"], {}, "cannot be merged into itself"),
            (["theme.balance", "theme.balance"], {}, "cannot be merged into itself"),
            (["theme.balance"], {"into": new_code("Other")}, "at least two codes"),
            (
                ["theme.balance", "feature.task"],
                {},
                "Themes is applied to sentences, Case features is applied to turns",
            ),
            (["theme.balance", "theme.compassion"], {"reason": " "}, "Say why you merge"),
            (["theme.balance", "theme.compassion"], {"reason": "x" * 2_001}, "this one has 2,001"),
            (["theme.balance", "theme.compassion"], {"into": new_code(" ")}, "has no name"),
            (["theme.balance", "theme.compassion"], {"into": new_code("Care", key="a")}, "already has the key a"),
        ],
    )
    def test_merge_that_is_none_is_refused_and_nothing_is_half_done(self, draft, lead, identifiers, more, sentence):
        before = snapshot(draft)
        with pytest.raises(actions.WrongInput, match=sentence):
            merge(draft, lead, *identifiers, **more)
        assert snapshot(draft) == before
        assert list_steps(draft) == []

    def test_merge_loses_a_race_too(self, draft, lead, owner):
        seen = {code.pk: code.revision for code in draft.codes.all()}
        edit(draft, "theme.balance", owner, name="Changed")
        with pytest.raises(actions.EditConflict):
            merge(draft, lead, "theme.compassion", "theme.balance", revisions=seen)

    def test_merged_code_can_be_put_back(self, draft, lead):
        before = content_of(draft, "theme.balance")
        merge(draft, lead, "theme.compassion", "theme.balance")
        actions.restore_code(version=draft, identifier="theme.balance", by=lead)
        assert content_of(draft, "theme.balance") == before
        assert list_steps(draft) == []

    def test_code_goes_under_the_one_it_is_merged_with(self, draft, lead):
        child = actions.add_code(version=draft, given=new_code("Child", parent="theme.balance"), by=lead)
        merge(draft, lead, child.identifier, "theme.balance")
        child.refresh_from_db()
        assert child.parent is None


class TestSplitting:
    def test_split_puts_new_codes_in_the_place_of_one(self, study, draft, lead):
        place = [each.identifier for each in queries.read_content(draft).codes].index("theme.balance")
        born = actions.split_code(
            code=find(draft, "theme.balance"),
            revision=0,
            parts=[new_code("Gain", "?", definition="A."), new_code("Harm", "?"), new_code("Harm", "?")],
            reason="two things",
            by=lead,
        )
        assert [code.identifier for code in born] == ["theme.gain", "theme.harm", "theme.harm_2"]
        codes = [each.identifier for each in queries.read_content(draft).codes]
        assert codes[place : place + 3] == ["theme.gain", "theme.harm", "theme.harm_2"]
        assert {code.meaning_version for code in born} == {2}
        assert list_steps(draft) == [("split", "narrowing", "theme.balance", code.identifier) for code in born]
        assert list_events(study)[-1] == "codebook.code.split"
        assert [each.identifier for each in queries.find_missing(draft)] == ["theme.balance"]

    @pytest.mark.parametrize(
        ("parts", "reason", "sentence"),
        [
            ([new_code("One")], "x", "between two and 12 new codes out of one, not 1"),
            ([new_code(f"P{number}") for number in range(13)], "x", "not 13"),
            ([new_code("One"), new_code("Two")], "", "Say why you split"),
            ([new_code("One"), new_code(" ")], "x", "has no name"),
        ],
    )
    def test_split_that_is_none_is_refused(self, draft, lead, parts, reason, sentence):
        before = snapshot(draft)
        with pytest.raises(actions.WrongInput, match=sentence):
            actions.split_code(
                code=find(draft, "theme.balance"),
                revision=0,
                parts=parts,
                reason=reason,
                by=lead,
            )
        assert snapshot(draft) == before


class TestHistory:
    def test_lineage_is_told_over_versions(self, study, draft, lead):
        merge(draft, lead, "theme.balance", "theme.compassion", into=new_code("Care"))
        actions.publish_version(version=draft, by=lead)
        third = actions.start_draft(study=study, by=lead)
        edit(third, "theme.care", lead, name="Caring")
        lineage = trace("theme.care", *queries.read_history(third))
        assert lineage is not None
        assert [tuple(each) for each in lineage.renamings] == [(3, "Care", "Caring")]
        assert [origin.lineage.name for origin in lineage.origins] == ["Balance", "Compassion"]

    def test_comparison_leaves_out_the_steps_of_discarded_drafts(self, study, published, draft, lead):
        merge(draft, lead, "theme.compassion", "theme.balance")
        actions.discard_draft(version=draft, by=lead)
        third = actions.start_draft(study=study, by=lead)
        edit(third, "theme.balance", lead, name="Other")
        [difference] = queries.find_comparison(published, third).codes
        assert (difference.kinds, difference.origins) == (["renamed"], [])

    def test_wordings_are_told_once_for_each(self, study, draft, lead):
        edit(draft, "theme.balance", lead, key="")
        actions.publish_version(version=draft, by=lead)
        third = actions.start_draft(study=study, by=lead)
        code = edit(third, "theme.balance", lead, definition="Other.", effect="narrowing", reason="why")
        wordings = queries.read_wordings(code)
        assert [each.version.number for each, _ in wordings] == [3, 1]
        assert [step.reason for step in wordings[0][1]] == ["why"]
