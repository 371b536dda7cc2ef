"""Themes are made, changed, grouped, merged and split; nothing of them is written over."""

import pytest
from django.db import IntegrityError, transaction

from tests.transcripts.analysis.themes.cast import BALANCE, COMPASSION, CONTEXT, answers, make_theme, put_on
from tests.transcripts.coding.cast import count_events, last_event
from transcripts.analysis.models import Theme, ThemeQuote, ThemeVersion
from transcripts.analysis.themes import actions
from transcripts.analysis.themes.actions import ThemeChanged, ThemeText, add_quote
from transcripts.analysis.themes.queries import current_themes, find_current
from transcripts.codebook.actions import start_study
from transcripts.refusals import Refused, WrongInput

State = ThemeVersion.State


def revise(version, by, **changes):
    """The next version, other only in ``changes``."""
    text = ThemeText(*(changes.pop(name, getattr(version, name)) for name in ThemeText._fields))
    given = {"state": version.state, "codes": version.codes, "reason": "Read anew.", **changes}
    return actions.revise_theme(theme=version.theme, based_on=version.number, text=text, by=by, **given)


def names(study):
    return [each.name for each in current_themes(study)]


class TestMakingAndChanging:
    def test_a_theme_begins_as_a_candidate_of_codes(self, study, lead):
        version = make_theme(study, lead)
        assert (version.theme.number, version.number, version.state) == (1, 1, State.CANDIDATE)
        assert version.codes == [BALANCE, COMPASSION]
        event = last_event(study)
        assert (event.action, event.details["codes"]) == ("theme.created", 2)
        assert "Weighing" not in str(event.details)

    def test_a_change_is_a_new_version_and_the_old_one_stays(self, study, lead):
        first = make_theme(study, lead)
        second = revise(first, lead, name="Weighing up", state=State.REVIEWED, reason="Round two\r\nagreed.")
        first.refresh_from_db()
        assert (first.name, first.number) == ("Weighing", 1)
        assert (second.number, second.reason) == (2, "Round two\nagreed.")
        assert names(study) == ["Weighing up"]
        assert last_event(study).details["after"] == "reviewed"

    def test_states_come_in_any_order_and_dropped_keeps_everything(self, study, lead):
        version = make_theme(study, lead)
        for state in (State.DEFINED, State.DROPPED, State.CANDIDATE, State.REVIEWED):
            version = revise(version, lead, state=state)
            assert (version.state, version.codes) == (state, [BALANCE, COMPASSION])
        assert version.number == 5

    def test_an_unchanged_theme_gets_no_version(self, study, lead):
        version = make_theme(study, lead)
        events = count_events(study)
        assert revise(version, lead) == version
        assert count_events(study) == events

    def test_the_loser_of_a_race_learns_what_stands(self, study, lead, owner):
        version = make_theme(study, lead)
        revise(version, owner, name="Hers")
        with pytest.raises(ThemeChanged, match="owner changed theme 1") as caught:
            revise(version, lead, name="Mine")
        assert caught.value.latest.name == "Hers"
        assert names(study) == ["Hers"]

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"name": "  "}, "name"),
            ({"name": "x" * 201}, "name"),
            ({"concept": "x" * 20_001}, "concept"),
            ({"description": "half \ud800 a pair"}, "description"),
            ({"state": "finished"}, "state"),
            ({"codes": ["theme.nowhere"]}, "codes"),
            ({"name": "Other", "reason": " "}, "reason"),
        ],
    )
    def test_what_cannot_be_taken_is_named(self, study, lead, changes, field):
        version = make_theme(study, lead)
        with pytest.raises(WrongInput) as caught:
            revise(version, lead, **changes)
        assert caught.value.field == field
        assert ThemeVersion.objects.count() == 1

    def test_two_active_themes_never_bear_one_name(self, study, lead):
        first = make_theme(study, lead)
        with pytest.raises(WrongInput, match="Theme 1 is already called Weighing"):
            make_theme(study, lead, "weighing")
        revise(first, lead, state=State.DROPPED)
        assert make_theme(study, lead, "weighing").theme.number == 2

    def test_a_version_number_is_given_once(self, study, lead):
        version = make_theme(study, lead)
        version.pk = None
        with pytest.raises(IntegrityError), transaction.atomic():
            version.save(force_insert=True)


class TestGrouping:
    def group(self, study, by, codes, **places):
        given = {"into": None, "new_name": "", "out_of": None, "reason": "They say the same.", **places}
        return actions.regroup_codes(study=study, codes=codes, by=by, **given)

    def test_codes_move_from_one_theme_to_another(self, study, lead):
        one, two = make_theme(study, lead), make_theme(study, lead, "Caring", [CONTEXT])
        self.group(study, lead, [COMPASSION], into=two.theme, out_of=one.theme)
        assert [each.codes for each in current_themes(study)] == [[BALANCE], [CONTEXT, COMPASSION]]

    def test_a_code_may_be_in_several_themes(self, study, lead):
        make_theme(study, lead)
        [made] = self.group(study, lead, [BALANCE], new_name="Scales")
        assert made.codes == [BALANCE]
        assert [BALANCE in each.codes for each in current_themes(study)] == [True, True]

    def test_what_is_there_already_makes_no_version(self, study, lead):
        version = make_theme(study, lead)
        assert self.group(study, lead, [BALANCE], into=version.theme) == []
        assert ThemeVersion.objects.count() == 1

    def test_grouping_works_on_whatever_text_stands(self, study, lead, owner):
        version = make_theme(study, lead)
        revise(version, owner, name="Hers")
        [changed] = self.group(study, lead, [CONTEXT], into=version.theme)
        assert (changed.name, changed.number) == ("Hers", 3)

    @pytest.mark.parametrize(
        ("codes", "places", "field"),
        [
            ([], {"new_name": "New"}, "codes"),
            ([BALANCE], {}, "into"),
            (["theme.nowhere"], {"new_name": "New"}, "codes"),
            ([BALANCE], {"new_name": "New", "reason": ""}, "reason"),
            ([BALANCE], {"new_name": "weighing"}, "new_name"),
        ],
    )
    def test_what_cannot_be_grouped_is_named(self, study, lead, codes, places, field):
        make_theme(study, lead)
        with pytest.raises(WrongInput) as caught:
            self.group(study, lead, codes, **places)
        assert caught.value.field == field

    def test_a_dropped_theme_takes_no_codes(self, study, lead):
        dropped = revise(make_theme(study, lead), lead, state=State.DROPPED)
        with pytest.raises(WrongInput, match="was dropped"):
            self.group(study, lead, [CONTEXT], into=dropped.theme)


class TestMerging:
    def merge(self, study, sources, by, name="Both"):
        return actions.merge_themes(
            study=study,
            sources=[(each.theme, each.number) for each in sources],
            text=ThemeText(name),
            reason="One idea after all.",
            by=by,
        )

    def test_the_merged_theme_has_the_codes_and_the_others_are_dropped(self, study, lead):
        one, two = make_theme(study, lead), make_theme(study, lead, "Caring", [COMPASSION, CONTEXT])
        merged, _ = self.merge(study, [one, two], lead)
        assert merged.codes == [BALANCE, COMPASSION, CONTEXT]
        assert set(merged.theme.came_from.all()) == {one.theme, two.theme}
        states = {each.theme.number: each.state for each in current_themes(study)}
        assert states == {1: State.DROPPED, 2: State.DROPPED, 3: State.CANDIDATE}
        dropped = find_current(study, 1)
        assert dropped is not None
        assert dropped.codes == [BALANCE, COMPASSION]
        assert dropped.reason == "Merged into theme 3. One idea after all."

    def test_quotes_come_along_unless_their_sides_differ(self, study, interview, lead):
        one, two = make_theme(study, lead), make_theme(study, lead, "Caring", [CONTEXT])
        agreed, disputed, *_ = answers(interview)
        for theme, sentence, side in (
            *((one, agreed, "for"), (two, agreed, "for")),
            *((one, disputed, "for"), (two, disputed, "against")),
        ):
            add_quote(theme=theme.theme, sentence=sentence, side=side, by=lead)
        merged, quotes_left = self.merge(study, [one, two], lead)
        assert quotes_left == 1
        [quote] = merged.theme.quotes.all()
        assert (quote.sentence, quote.side, quote.added_by) == (agreed, "for", lead)
        assert one.theme.quotes.filter(withdrawn_at__isnull=True).count() == 2

    def test_a_theme_is_not_merged_with_itself(self, study, lead):
        version = make_theme(study, lead)
        with pytest.raises(WrongInput, match="merged with itself"):
            self.merge(study, [version, version], lead)

    def test_a_merge_of_something_changed_meanwhile_does_nothing(self, study, lead, owner):
        one, two = make_theme(study, lead), make_theme(study, lead, "Caring", [CONTEXT])
        revise(two, owner, concept="Another idea")
        with pytest.raises(ThemeChanged):
            self.merge(study, [one, two], lead)
        assert Theme.objects.count() == 2
        assert names(study) == ["Weighing", "Caring"]

    def test_the_merged_theme_may_keep_the_name_of_a_source(self, study, lead):
        one, two = make_theme(study, lead), make_theme(study, lead, "Caring", [CONTEXT])
        assert self.merge(study, [one, two], lead, "Caring")[0].name == "Caring"


class TestSplitting:
    def split(self, version, by, *parts):
        return actions.split_theme(
            theme=version.theme, based_on=version.number, parts=parts, reason="Two ideas.", by=by
        )

    def test_two_themes_take_its_place(self, study, lead):
        version = make_theme(study, lead, codes=[BALANCE, COMPASSION, CONTEXT])
        made = self.split(version, lead, ("One", [BALANCE, CONTEXT]), ("Two", [CONTEXT, COMPASSION]))
        assert [each.codes for each in made] == [[BALANCE, CONTEXT], [COMPASSION, CONTEXT]]
        assert list(version.theme.led_to.all()) == [each.theme for each in made]
        dropped = find_current(study, 1)
        assert dropped is not None
        assert (dropped.state, dropped.reason) == (State.DROPPED, "Split into themes 2 and 3. Two ideas.")

    def test_quotes_go_with_the_code_they_were_found_by(self, study, interview, lead):
        version = make_theme(study, lead)
        found, other, *_ = answers(interview)
        coding = put_on(found, BALANCE, lead)
        add_quote(theme=version.theme, sentence=found, side="for", by=lead, coding=coding)
        add_quote(theme=version.theme, sentence=other, side="against", by=lead)
        one, two = self.split(version, lead, ("One", [BALANCE]), ("Two", [COMPASSION]))
        assert {quote.sentence for quote in one.theme.quotes.all()} == {found, other}
        assert [quote.sentence for quote in two.theme.quotes.all()] == [other]
        assert ThemeQuote.objects.filter(theme=version.theme).count() == 2

    @pytest.mark.parametrize(
        ("parts", "field"),
        [
            ([("One", [BALANCE])], "name_1"),
            ([("One", [BALANCE]), ("one ", [COMPASSION])], "name_2"),
            ([("One", [BALANCE]), ("Two", [])], "name_2"),
            ([("One", [BALANCE]), ("Two", [CONTEXT])], "codes"),
            ([("One", [BALANCE]), ("", [COMPASSION])], "name_2"),
        ],
    )
    def test_what_cannot_be_split_is_named(self, study, lead, parts, field):
        version = make_theme(study, lead)
        with pytest.raises(WrongInput) as caught:
            self.split(version, lead, *parts)
        assert caught.value.field == field
        assert names(study) == ["Weighing"]

    def test_a_dropped_theme_is_not_split(self, study, lead):
        dropped = revise(make_theme(study, lead), lead, state=State.DROPPED)
        with pytest.raises(Refused, match="was dropped"):
            self.split(dropped, lead, ("One", [BALANCE]), ("Two", [COMPASSION]))


def test_themes_are_numbered_within_their_study(study, lead, owner):
    make_theme(study, lead)
    other = start_study(slug="other", name="Other", by=owner)
    assert make_theme(other, owner).theme.number == 1
