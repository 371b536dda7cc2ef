"""A draft is begun as a copy, edited, checked and published; versions that are published never change."""

from dataclasses import replace

import pytest

from tests.transcripts.codebook.cast import content_of, edit, find, list_events, list_steps, new_code, snapshot
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook import actions, queries
from transcripts.codebook.models import CodebookVersion, CodeProposal
from transcripts.formats.codebook_rules import CodeAttribute, FamilyContent
from transcripts.refusals import Refused
from transcripts.studies.actions import create_study

State = CodebookVersion.Status


class TestBeginning:
    def test_draft_holds_what_the_published_version_holds(self, study, published, lead, sentence):
        first = actions.start_draft(study=study, by=lead)
        code = find(first, "theme.balance")
        actions.pin_example(version=first, code=code, sentence=sentence, kind="anchor", note="so", by=lead)
        actions.add_code(version=first, given=new_code(parent="theme.balance"), by=lead)
        actions.publish_version(version=first, by=lead)
        draft = actions.start_draft(study=study, by=lead)
        assert queries.read_content(draft) == queries.read_content(first)
        assert (draft.number, draft.status, draft.based_on) == (3, State.DRAFT, first)
        meanings = [dict(each.codes.values_list("identifier", "meaning_version")) for each in (first, draft)]
        assert meanings[0] == meanings[1]
        assert meanings[1]["theme.balance"] == 1
        assert meanings[1]["theme.new"] == 2
        told = ("sentence", "words", "kind", "note", "added_at", "added_by_name")
        kept = [list(find(each, "theme.balance").examples.order_by("pk").values_list(*told)) for each in (first, draft)]
        assert len(kept[0]) == find(published, "theme.balance").examples.count() + 1
        assert kept[0] == kept[1]

    def test_there_is_one_open_draft_at_a_time(self, study, draft, owner):
        with pytest.raises(actions.DraftIsOpen, match="v2 is a draft that lead started") as refused:
            actions.start_draft(study=study, by=owner)
        assert refused.value.draft == draft

    def test_study_without_a_codebook_begins_with_an_empty_draft(self, owner):
        study = create_study(slug="bare", name="Bare", by=owner)
        draft = actions.start_draft(study=study, by=owner)
        assert (draft.number, draft.based_on, draft.codes.count()) == (1, None, 0)
        actions.add_family(version=draft, given=FamilyContent(identifier="", name="My themes"), by=owner)
        code = actions.add_code(version=draft, given=new_code("First", "my_themes"), by=owner)
        actions.publish_version(version=draft, by=owner)
        assert (code.identifier, code.meaning_version) == ("my_themes.first", 1)

    def test_discarded_draft_can_be_read_and_its_number_is_not_used_again(self, study, draft, lead, sentence, coder):
        proposal = CodeProposal.objects.create(
            study=study,
            name="Missing",
            family_identifier="themes",
            proposed_by=coder,
            proposed_at=draft.created_at,
            idempotency_key="00000000-0000-0000-0000-000000000001",
        )
        actions.accept_proposal(proposal=proposal, by=lead)
        actions.discard_draft(version=draft, by=lead)
        proposal.refresh_from_db()
        assert (proposal.state, proposal.code, proposal.answered_at) == ("open", None, None)
        assert draft.codes.filter(name="Missing").exists()
        assert actions.start_draft(study=study, by=lead).number == 3
        assert queries.current_version(study) != draft

    def test_draft_that_is_published_or_discarded_is_closed(self, study, draft, lead):
        stale = find(draft, "theme.balance")
        actions.publish_version(version=draft, by=lead)
        before = snapshot(draft)
        for refuse in (
            lambda: edit(draft, "theme.balance", lead, name="Other"),
            lambda: actions.add_code(version=draft, given=new_code(), by=lead),
            lambda: actions.shift_code(code=stale, revision=None, step=1, by=lead),
            lambda: actions.retire_code(code=stale, revision=None, reason="x", by=lead),
            lambda: actions.split_code(code=stale, revision=None, parts=[new_code()] * 2, reason="x", by=lead),
            lambda: actions.add_family(version=draft, given=FamilyContent(identifier="", name="F"), by=lead),
            lambda: actions.restore_code(version=draft, identifier="x", by=lead),
            lambda: actions.discard_draft(version=draft, by=lead),
        ):
            with pytest.raises(actions.DraftIsClosed, match="v2 is published now"):
                refuse()
        assert snapshot(draft) == before

    def test_discarded_draft_cannot_be_published(self, draft, lead):
        actions.discard_draft(version=draft, by=lead)
        with pytest.raises(actions.DraftIsClosed, match="discarded"):
            actions.publish_version(version=draft, by=lead)


class TestEditing:
    def test_rename_keeps_the_code_and_its_meaning(self, study, draft, lead):
        code = find(draft, "theme.balance")
        actions.rename_code(code=code, revision=0, name="  Two  sides ", by=lead, reason="clearer")
        code.refresh_from_db()
        assert (code.name, code.identifier, code.meaning_version, code.revision) == ("Two sides", "theme.balance", 1, 1)
        assert list_steps(draft) == [("renamed", "wording", "theme.balance", "theme.balance")]
        assert list_events(study)[-1] == "codebook.code.changed"

    @pytest.mark.parametrize(("effect", "meaning"), [("wording", 1), ("narrowing", 2), ("widening", 2)])
    def test_new_definition_says_what_it_does(self, draft, lead, effect, meaning):
        code = edit(draft, "theme.balance", lead, definition="Other words.", effect=effect, reason="why")
        assert code.meaning_version == meaning
        assert list_steps(draft) == [("redefined", effect, "theme.balance", "theme.balance")]

    @pytest.mark.parametrize("field", ["definition", "include", "exclude"])
    def test_new_words_for_people_without_an_effect_are_refused(self, draft, lead, field):
        before = snapshot(draft)
        with pytest.raises(actions.WrongInput, match="Choose the effect of the new wording") as refused:
            edit(draft, "theme.balance", lead, **{field: "Other words."})
        assert refused.value.problems[0].field == "effect"
        assert snapshot(draft) == before
        assert list_steps(draft) == []

    def test_new_words_for_machines_are_wording_to_people(self, draft, lead):
        code = edit(draft, "theme.balance", lead, machine_definition="Answer yes.", effect="narrowing")
        assert code.meaning_version == 1
        assert list_steps(draft) == [("redefined", "wording", "theme.balance", "theme.balance")]

    def test_words_put_back_mean_what_they_meant(self, draft, lead):
        before = content_of(draft, "theme.balance").definition
        edit(draft, "theme.balance", lead, definition="Other words.", effect="narrowing")
        assert edit(draft, "theme.balance", lead, definition=before, effect="widening").meaning_version == 1

    def test_code_that_is_new_needs_no_effect(self, draft, lead):
        code = actions.add_code(version=draft, given=new_code(), by=lead)
        assert edit(draft, code.identifier, lead, definition="Words.").meaning_version == 2

    def test_one_edit_is_one_event_and_a_step_of_each_kind(self, study, draft, lead):
        before = len(list_events(study))
        question = CodeAttribute(key="why", label="Why?")
        edit(
            *(draft, "theme.balance", lead),
            effect="widening",
            name="Other",
            include="More.",
            key="",
            parent="theme.compassion",
            attributes=(question,),
        )
        assert len(list_events(study)) == before + 1
        assert [step[:2] for step in list_steps(draft)] == [
            ("renamed", "wording"),
            ("redefined", "widening"),
            ("moved", "wording"),
            ("adjusted", "wording"),
        ]
        event = AuditEvent.objects.order_by("-pk")[0]
        assert event.details["fields"] == ["attributes", "include", "key", "name", "parent"]
        assert "More." not in str(event.details)

    def test_nothing_changed_is_nothing_done(self, study, draft, lead):
        before = list_events(study)
        code = edit(draft, "theme.balance", lead, definition=content_of(draft, "theme.balance").definition + "\r\n ")
        assert code.revision == 0
        assert list_events(study) == before

    def test_published_version_stays_as_it_is(self, published, draft, lead):
        before = snapshot(published)
        edit(draft, "theme.balance", lead, name="Other", definition="Other.", effect="wording")
        assert snapshot(published) == before

    def test_key_of_another_code_is_refused_with_its_name(self, draft, lead):
        with pytest.raises(actions.WrongInput, match="Models and Metamodels already has the key a") as refused:
            edit(draft, "theme.balance", lead, key="a")
        assert refused.value.problems[0].field == "key"
        with pytest.raises(actions.WrongInput, match="The desk uses the key m itself"):
            edit(draft, "theme.balance", lead, key="m")

    def test_key_that_was_given_up_can_be_taken(self, draft, lead):
        edit(draft, "theme.models_metamodels", lead, key="")
        assert edit(draft, "theme.balance", lead, key="a").key == "a"

    def test_definition_that_is_too_long_is_refused_with_both_numbers(self, draft, lead):
        with pytest.raises(actions.WrongInput, match="1,000,000 characters; the limit is 20,000"):
            edit(draft, "theme.balance", lead, definition="x" * 1_000_000, effect="wording")

    def test_code_moves_with_what_is_under_it(self, draft, lead):
        child = actions.add_code(version=draft, given=new_code("Child", parent="theme.balance"), by=lead)
        edit(draft, "theme.balance", lead, family="repertoires")
        child.refresh_from_db()
        assert child.family.identifier == "repertoires"
        codes = [each.identifier for each in queries.read_content(draft).codes]
        assert codes[codes.index("theme.balance") + 1] == "theme.child"
        positions = list(draft.codes.order_by("family__position", "position").values_list("position", flat=True))
        assert positions == sorted(positions)

    @pytest.mark.parametrize(
        ("values", "sentence"),
        [
            ({"parent": "theme.balance"}, "under itself"),
            ({"family": "case_features"}, "applied to turns"),
            ({"parent": "move.elicit"}, "another family"),
            ({"parent": "nobody"}, "does not exist"),
        ],
    )
    def test_place_that_cannot_be_is_refused(self, draft, lead, values, sentence):
        with pytest.raises(actions.WrongInput, match=sentence) as refused:
            edit(draft, "theme.balance", lead, **values)
        assert {problem.field for problem in refused.value.problems} == {"place"}


class TestOrder:
    def test_moving_up_and_down_is_among_siblings(self, draft, lead):
        first, second = (each.identifier for each in queries.read_content(draft).codes[:2])
        actions.shift_code(code=find(draft, second), revision=0, step=-1, by=lead)
        assert [each.identifier for each in queries.read_content(draft).codes[:2]] == [second, first]
        actions.shift_code(code=find(draft, second), revision=1, step=-1, by=lead)
        assert find(draft, second).revision == 1
        assert list_steps(draft) == [("moved", "wording", second, second)]

    def test_moving_twice_is_one_step_of_the_draft(self, draft, lead):
        for _ in range(2):
            actions.shift_code(code=find(draft, "theme.balance"), revision=None, step=-1, by=lead)
        assert len(list_steps(draft)) == 1

    def test_families_change_places(self, draft, lead):
        family = draft.families.get(identifier="moves")
        actions.shift_family(family=family, revision=0, step=-1, by=lead)
        assert [each.identifier for each in queries.read_content(draft).families[:2]] == ["moves", "themes"]


class TestRaces:
    def test_loser_of_a_race_is_told_and_nothing_of_hers_is_stored(self, draft, lead, owner):
        seen = find(draft, "theme.balance")
        edit(draft, "theme.balance", owner, name="The owner's")
        given = replace(content_of(draft, "theme.balance"), name="The lead's")
        for lose in (
            lambda: actions.edit_code(code=seen, revision=seen.revision, given=given, by=lead),
            lambda: actions.rename_code(code=seen, revision=seen.revision, name="Mine", by=lead),
            lambda: actions.shift_code(code=seen, revision=seen.revision, step=1, by=lead),
            lambda: actions.retire_code(code=seen, revision=seen.revision, reason="x", by=lead),
        ):
            with pytest.raises(actions.EditConflict, match="Another person has changed") as lost:
                lose()
            assert lost.value.current.name == "The owner's"

    def test_moves_race_too(self, draft, lead, owner):
        seen = find(draft, "theme.balance")
        actions.shift_code(code=seen, revision=0, step=-1, by=owner)
        with pytest.raises(actions.EditConflict):
            actions.shift_code(code=seen, revision=0, step=1, by=lead)

    def test_families_race_too(self, draft, lead, owner):
        family = draft.families.get(identifier="themes")
        given = replace(queries.read_content(draft).families[0], rules="Mine.")
        actions.edit_family(family=family, revision=0, given=replace(given, rules="Hers."), by=owner)
        with pytest.raises(actions.EditConflict) as lost:
            actions.edit_family(family=family, revision=0, given=given, by=lead)
        assert getattr(lost.value.current, "rules", "") == "Hers."

    def test_code_that_was_taken_out_meanwhile_is_gone(self, draft, lead, owner):
        seen = find(draft, "theme.balance")
        actions.retire_code(code=seen, revision=None, reason="x", by=owner)
        with pytest.raises(actions.CodeIsGone, match="removed from"):
            actions.rename_code(code=seen, revision=0, name="Mine", by=lead)


class TestTakingOut:
    def test_retired_code_is_out_of_the_draft_only(self, study, published, draft, lead):
        child = actions.add_code(version=draft, given=new_code("Child", parent="theme.balance"), by=lead)
        actions.retire_code(code=find(draft, "theme.balance"), revision=0, reason="never used", by=lead)
        child.refresh_from_db()
        assert child.parent is None
        assert not draft.codes.filter(identifier="theme.balance").exists()
        assert published.codes.filter(identifier="theme.balance").exists()
        assert list_steps(draft)[-1] == ("retired", "", "theme.balance", "")
        assert [each.identifier for each in queries.find_missing(draft)] == ["theme.balance"]
        assert list_events(study)[-1] == "codebook.code.retired"

    def test_retiring_needs_a_reason(self, draft, lead):
        with pytest.raises(actions.WrongInput, match="Say why you retire") as refused:
            actions.retire_code(code=find(draft, "theme.balance"), revision=0, reason=" \r\n", by=lead)
        assert refused.value.problems[0].field == "reason"

    def test_retired_code_is_put_back_as_it_was(self, draft, lead, published):
        before = content_of(draft, "theme.balance")
        actions.retire_code(code=find(draft, "theme.balance"), revision=0, reason="x", by=lead)
        edit(draft, "theme.compassion", lead, key="d")
        code = actions.restore_code(version=draft, identifier="theme.balance", by=lead)
        assert content_of(draft, "theme.balance") == replace(before, key="")
        assert code.meaning_version == 1
        assert ("retired", "", "theme.balance", "") not in list_steps(draft)
        with pytest.raises(Refused, match="no such code"):
            actions.restore_code(version=draft, identifier="theme.balance", by=lead)

    def test_name_of_a_retired_code_makes_another_code(self, draft, lead):
        actions.retire_code(code=find(draft, "theme.balance"), revision=0, reason="x", by=lead)
        code = actions.add_code(version=draft, given=new_code("Balance"), by=lead)
        assert code.identifier == "theme.balance_2"


class TestFamilies:
    def test_family_has_rules_and_a_unit_of_its_own(self, study, draft, lead):
        given = FamilyContent(
            identifier="", name="Whole talks", unit="interview", carries_level=False, rules="Once.", color="#2f7fb5"
        )
        family = actions.add_family(version=draft, given=given, by=lead)
        assert queries.read_content(draft).families[-1] == replace(given, identifier="whole_talks")
        assert list_events(study)[-1] == "codebook.family.added"
        assert family.position == 8

    def test_codes_of_a_family_with_another_unit_mean_something_else(self, draft, lead):
        family = draft.families.get(identifier="repertoires")
        given = next(each for each in queries.read_content(draft).families if each.identifier == "repertoires")
        actions.edit_family(family=family, revision=0, given=replace(given, unit="turn"), by=lead)
        assert set(family.codes.values_list("meaning_version", flat=True)) == {2}
        assert [step[:2] for step in list_steps(draft)] == [("redefined", "")] * 5

    def test_family_is_removed_when_it_is_empty(self, draft, lead):
        family = actions.add_family(version=draft, given=FamilyContent(identifier="", name="Empty"), by=lead)
        actions.remove_family(family=family, revision=0, by=lead)
        assert not draft.families.filter(identifier="empty").exists()
        with pytest.raises(actions.WrongInput, match="This family has 7 codes"):
            actions.remove_family(family=draft.families.get(identifier="themes"), revision=None, by=lead)


class TestPublishing:
    def test_everything_that_is_wrong_is_listed_at_once(self, study, draft, lead):
        draft.codes.filter(identifier="theme.balance").update(name=" ")
        draft.codes.filter(identifier="theme.compassion").update(key="m")
        with pytest.raises(actions.CodebookRefused) as refused:
            actions.publish_version(version=draft, by=lead)
        assert len(refused.value.problems) == 2
        assert "no name" in refused.value.problems[0]
        assert "The desk uses the key m" in refused.value.problems[1]
        draft.refresh_from_db()
        assert draft.status == State.DRAFT

    def test_what_was_wrong_before_does_not_stand_in_the_way_of_another_edit(self, draft, lead):
        draft.codes.filter(identifier="theme.compassion").update(key="m")
        assert edit(draft, "theme.balance", lead, name="Other").name == "Other"
