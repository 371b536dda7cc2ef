"""The pages of a draft: plain forms that say what is wrong, and give both texts back to the loser of a race."""

import pytest
from django.urls import reverse

from tests.transcripts.codebook.cast import content_of, edit, find, list_steps, new_code, snapshot
from tests.transcripts.coding.cast import decide
from transcripts.codebook import actions, queries
from transcripts.studies.actions import create_study


@pytest.fixture
def client(lead, client_of):
    return client_of(lead)


def address(name, version, *args):
    return reverse(f"codebook:{name}", args=[version.study.slug, version.number, *args])


def fill_in(code, **changes):
    """The form of a code as a browser would send it."""
    content = content_of(code.version, code.identifier)
    form = {name: getattr(content, name) for name in ("name", "definition", "include", "exclude", "machine_definition")}
    form |= {name: getattr(content, name) for name in ("key", "group", "color", "source")}
    form |= {name: "\r\n".join(getattr(content, name)) for name in ("aliases", "terms", "keyword_rules")}
    form |= {
        "place": f"c:{content.parent}" if content.parent else f"f:{content.family}",
        "revision": code.revision,
        "q-TOTAL_FORMS": len(content.attributes),
        "q-INITIAL_FORMS": len(content.attributes),
        "reason": "",
    }
    for number, question in enumerate(content.attributes):
        form |= {f"q-{number}-{name}": getattr(question, name) for name in ("label", "kind", "key")}
        form[f"q-{number}-choices"] = "\r\n".join(question.choices)
        # As a browser sends a box: only when it is ticked.
        form |= {f"q-{number}-required": "on"} if question.required else {}
    return form | changes


def text_of(answer):
    return answer.content.decode()


class TestBeginning:
    def test_lead_begins_a_draft_and_goes_on_there(self, client, study, published):
        answer = client.post(reverse("codebook:start_draft", args=[study.slug]), follow=True)
        assert answer.redirect_chain[0][0] == reverse("codebook:draft", args=[study.slug, 2])
        assert "Edit the draft" in text_of(client.get(published.get_absolute_url()))

    def test_second_draft_is_refused_with_a_link_to_the_first(self, client, draft):
        answer = client.post(reverse("codebook:start_draft", args=[draft.study.slug]))
        assert answer.status_code == 409
        assert address("draft", draft) in text_of(answer)

    def test_study_without_a_codebook_offers_to_begin_one(self, owner, client_of):
        study = create_study(slug="bare", name="Bare", by=owner)
        page = client_of(owner).get(reverse("codebook:current", args=[study.slug]))
        assert page.status_code == 200
        assert reverse("codebook:start_draft", args=[study.slug]) in text_of(page)

    def test_published_version_is_shown_where_it_is_asked_to_be_edited(self, client, published):
        answer = client.get(address("draft", published), follow=True)
        assert "v1 is not a draft" in text_of(answer)

    def test_discarding_asks_once(self, client, draft):
        assert "Discard the draft v2?" in text_of(client.get(address("discard", draft)))
        assert "v2 is discarded" in text_of(client.post(address("discard", draft), follow=True))
        assert "This draft was discarded" in text_of(client.get(draft.get_absolute_url()))

    def test_draft_takes_as_many_queries_for_many_codes_as_for_few(
        self, client, draft, lead, django_assert_num_queries
    ):
        page = address("draft", draft)
        with django_assert_num_queries(12):
            client.get(page)
        for number in range(5):
            actions.add_code(version=draft, given=new_code(f"New {number}", parent="theme.balance"), by=lead)
        with django_assert_num_queries(12):
            client.get(page)


class TestCodeForm:
    def test_code_is_edited_by_a_plain_form(self, client, draft):
        code = find(draft, "move.bracket")
        form = fill_in(
            code, name="Set aside", definition="Two\r\nlines.", effect="narrowing", reason="why", color="#2f7fb5"
        )
        answer = client.post(address("edit_code", draft, code.pk), form)
        assert answer.status_code == 302
        content = content_of(draft, "move.bracket")
        assert (content.name, content.definition, content.color) == ("Set aside", "Two\nlines.", "#2f7fb5")
        assert [each.key for each in content.attributes] == ["duration", "justification"]

    def test_the_effect_is_said_to_be_needed_before_it_is(self, client, draft):
        page = client.get(address("edit_code", draft, find(draft, "move.bracket").pk)).content.decode()
        legend = page.partition("Effect of the new wording")[2].partition("</legend>")[0]
        assert "required once the definition, include or exclude changes" in legend
        assert "optional" not in legend.replace('class="optional"', "")

    def test_form_sent_as_it_came_changes_nothing(self, client, draft):
        for code in draft.codes.select_related("family"):
            code.version = draft
            assert client.post(address("edit_code", draft, code.pk), fill_in(code)).status_code == 302
        assert list_steps(draft) == []
        assert set(draft.codes.values_list("revision", flat=True)) == {0}

    @pytest.mark.parametrize(
        ("changes", "field", "found"),
        [
            ({"name": " "}, "name", "required"),
            ({"definition": "Other."}, "effect", "Choose the effect of the new wording"),
            ({"definition": "x" * 25_000, "effect": "wording"}, "definition", "25,000 characters; the limit is 20,000"),
            ({"key": "s"}, "key", "Identity as Context already has the key s"),
            ({"key": "n"}, "key", "The desk uses the key n itself"),
            ({"place": "f:case_features"}, "place", "applied to turns"),
            ({"place": "f:nowhere"}, "place", "Select a valid choice"),
            ({"color": "red"}, "color", "Select a valid choice"),
            ({"aliases": "\n".join(f"name {number}" for number in range(51))}, "aliases", "51 other names"),
        ],
    )
    def test_wrong_input_is_said_beside_its_field_and_kept(self, client, draft, changes, field, found):
        code = find(draft, "theme.balance")
        before = snapshot(draft)
        page = client.post(address("edit_code", draft, code.pk), fill_in(code, **changes))
        assert page.status_code == 422
        assert list(page.context["form"].errors) == [field]
        assert found in page.context["form"].errors[field][0]
        assert page.context["form"][field].value() == {**fill_in(code), **changes}.get(field)
        assert snapshot(draft) == before

    def test_question_is_added_and_taken_off(self, client, draft):
        code = find(draft, "move.bracket")
        asked = {
            "q-TOTAL_FORMS": 3,
            "q-0-label": "",
            "q-2-label": "How sure?",
            "q-2-kind": "choice",
            "q-2-choices": "very\r\n\r\nnot",
            "q-2-key": "",
        }
        assert client.post(address("edit_code", draft, code.pk), fill_in(code, **asked)).status_code == 302
        questions = content_of(draft, "move.bracket").attributes
        assert [(each.key, each.choices) for each in questions] == [
            ("justification", ()),
            ("how_sure", ("very", "not")),
        ]

    def test_question_with_one_answer_is_refused(self, client, draft):
        code = find(draft, "theme.balance")
        asked = {"q-TOTAL_FORMS": 1, "q-0-label": "Sure?", "q-0-kind": "choice", "q-0-choices": "yes"}
        page = client.post(address("edit_code", draft, code.pk), fill_in(code, **asked))
        assert page.status_code == 422
        assert "between 2 and 12 different answers" in text_of(page)

    def test_code_is_added_where_it_was_asked_for(self, client, draft):
        page = client.get(address("add_code", draft) + "?family=moves")
        assert page.context["form"]["place"].value() == "f:moves"
        assert "effect" not in page.context["form"].fields
        form = {"name": "Mirror", "place": "c:move.elicit", "q-TOTAL_FORMS": 0, "q-INITIAL_FORMS": 0}
        assert client.post(address("add_code", draft), form).status_code == 302
        assert content_of(draft, "move.mirror").parent == "move.elicit"
        assert client.post(address("add_code", draft), {**form, "name": ""}).status_code == 422


class TestRaces:
    def lose(self, client, draft, owner, **mine):
        """Send a form that was opened before somebody else saved."""
        form = fill_in(find(draft, "theme.balance"), **mine)
        edit(draft, "theme.balance", owner, name="Theirs", include="Their cases.", effect="widening")
        return client.post(address("edit_code", draft, find(draft, "theme.balance").pk), form)

    def test_loser_gets_both_texts_and_keeps_hers(self, client, draft, owner):
        page = self.lose(client, draft, owner, name="Mine", definition="My words.", effect="narrowing")
        assert page.status_code == 409
        assert {clash["name"] for clash in page.context["clashes"]} == {"name", "definition", "include"}
        for text in ("Mine", "Theirs", "Their cases.", "My words.", "Stored in the meantime"):
            assert text in text_of(page)
        assert page.context["form"]["definition"].value() == "My words."
        assert content_of(draft, "theme.balance").name == "Theirs"

    def test_she_takes_hers_or_the_other_for_each_text(self, client, draft, owner):
        page = self.lose(client, draft, owner, name="Mine", definition="My words.", effect="narrowing")
        again = {field.html_name: field.value() or "" for field in page.context["form"]}
        again |= {"q-TOTAL_FORMS": 0, "q-INITIAL_FORMS": 0}
        again |= {"take-name": "mine", "take-include": "theirs", "take-definition": "mine"}
        answer = client.post(address("edit_code", draft, find(draft, "theme.balance").pk), again)
        assert answer.status_code == 302
        content = content_of(draft, "theme.balance")
        assert (content.name, content.definition, content.include) == ("Mine", "My words.", "Their cases.")

    def test_questions_race_like_texts(self, client, draft, owner):
        code = find(draft, "move.bracket")
        form = fill_in(code, **{"q-0-label": "My question?"})
        edit(draft, "move.bracket", owner, attributes=content_of(draft, "move.bracket").attributes[:1])
        page = client.post(address("edit_code", draft, code.pk), form)
        assert [clash["name"] for clash in page.context["clashes"]] == ["attributes"]
        theirs = {**form, "revision": 1, "take-attributes": "theirs"}
        client.post(address("edit_code", draft, code.pk), theirs)
        assert [each.label for each in content_of(draft, "move.bracket").attributes] == ["For how long?"]

    def test_text_on_a_code_that_is_gone_is_given_back(self, client, draft, owner):
        code = find(draft, "theme.balance")
        form = fill_in(code, definition="Not to be lost.", effect="wording")
        actions.retire_code(code=code, revision=None, reason="x", by=owner)
        page = client.post(address("edit_code", draft, code.pk), form)
        assert page.status_code == 409
        assert "Not to be lost." in text_of(page)

    def test_text_on_a_draft_that_is_closed_is_given_back(self, client, draft, owner):
        code = find(draft, "theme.balance")
        form = fill_in(code, definition="Not to be lost.", effect="wording")
        actions.publish_version(version=draft, by=owner)
        page = client.post(address("edit_code", draft, code.pk), form)
        assert page.status_code == 409
        assert "Not to be lost." in text_of(page)
        assert "v2 is published now" in text_of(page)

    def test_move_asks_again(self, client, draft, owner):
        code = find(draft, "theme.balance")
        actions.shift_code(code=code, revision=0, step=-1, by=owner)
        page = client.post(address("move", draft), {"what": f"code:{code.pk}:0:up"})
        assert page.status_code == 409
        assert "2 of 7 in Themes" in text_of(page)
        answer = client.post(address("move", draft), {"what": page.context["again"]})
        assert answer.status_code == 302
        assert queries.read_content(draft).codes[0].identifier == "theme.balance"

    def test_retiring_asks_again(self, client, draft, owner):
        code = find(draft, "theme.balance")
        edit(draft, "theme.balance", owner, name="Better now")
        form = {"reason": "never used", "revision": 0}
        page = client.post(address("retire_code", draft, code.pk), form)
        assert page.status_code == 409
        assert "Better now" in text_of(page)
        again = {"reason": page.context["form"]["reason"].value(), "revision": page.context["form"]["revision"].value()}
        assert client.post(address("retire_code", draft, code.pk), again).status_code == 302

    @pytest.mark.parametrize("name", ["merge", "split_code"])
    def test_merging_and_splitting_ask_again(self, client, draft, owner, name):
        code, other = find(draft, "theme.balance"), find(draft, "theme.compassion")
        edit(draft, "theme.balance", owner, name="Better now")
        form = {"reason": "x", "revision": 0, "part-TOTAL_FORMS": 2, "part-INITIAL_FORMS": 0}
        form |= {"part-0-name": "One", "part-1-name": "Two"}
        form |= {"codes": [code.pk, other.pk], "target": other.pk, "seen": f"{code.pk}:0 {other.pk}:0"}
        where = address(name, draft, *([code.pk] if name == "split_code" else []))
        page = client.post(where, form)
        assert page.status_code == 409
        assert find(draft, "theme.balance").name == "Better now"
        renewed = {field.html_name: field.value() or "" for field in page.context["form"]}
        assert client.post(where, form | renewed).status_code == 302
        assert not draft.codes.filter(identifier="theme.balance").exists()

    def test_family_form_gives_both_texts(self, client, draft, owner):
        family = draft.families.get(identifier="themes")
        form = {"name": "Themes", "rules": "Mine.", "unit": "sentence", "applies_to": "any"}
        form |= {"revision": 0, "carries_level": "on"}
        given = queries.read_content(draft).families[0]
        from dataclasses import replace

        actions.edit_family(
            family=family, revision=0, given=replace(given, rules="Theirs.", carries_level=False), by=owner
        )
        page = client.post(address("edit_family", draft, family.pk), form)
        assert page.status_code == 409
        assert {"rules", "carries_level", "description", "color"} == {each["name"] for each in page.context["clashes"]}
        taken = {f"take-{name}": "theirs" for name in ("carries_level", "description", "color")}
        answer = client.post(address("edit_family", draft, family.pk), {**form, **taken, "revision": 1})
        assert answer.status_code == 302
        after = queries.read_content(draft).families[0]
        assert (after.rules, after.carries_level, after.description) == ("Mine.", False, given.description)


class TestMovingAndMerging:
    def test_moving_keeps_the_hand_on_the_button(self, client, draft):
        code = find(draft, "theme.balance")
        page = client.post(address("move", draft), {"what": f"code:{code.pk}:0:up"}, follow=True)
        button = f'value="code:{code.pk}:1:up" autofocus'
        assert button in text_of(page)

    @pytest.mark.parametrize(
        "what", ["", "code", "code:x:0:up", "code:1:0:sideways", f"code:1:{10**30}:up", "thing:1:0:up"]
    )
    def test_move_of_an_old_page_is_refused(self, client, draft, what):
        assert client.post(address("move", draft), {"what": what}).status_code == 409

    def test_merge_by_form(self, client, draft):
        code, other = find(draft, "theme.balance"), find(draft, "theme.compassion")
        page = client.get(address("merge", draft) + f"?code={code.pk}&code=x")
        assert page.context["form"]["codes"].value() == [str(code.pk)]
        form = {"codes": [code.pk, other.pk], "target": "new", "name": "Care", "definition": "Both.", "reason": "same"}
        assert client.post(address("merge", draft), form | {"name": ""}).status_code == 422
        assert client.post(address("merge", draft), form | {"reason": ""}).status_code == 422
        assert client.post(address("merge", draft), form | {"codes": [code.pk], "target": code.pk}).status_code == 422
        turn = find(draft, "feature.task")
        page = client.post(address("merge", draft), form | {"codes": [code.pk, turn.pk]})
        assert "applied to turns" in text_of(page)
        others = draft.codes.exclude(pk__in=[code.pk, other.pk]).exclude(key="").filter(family=code.family)
        other_key = others.values_list("key", flat=True)[0]
        taken = client.post(address("merge", draft), form | {"key": other_key})
        assert taken.status_code == 422
        assert client.post(address("merge", draft), form).status_code == 302
        made = find(draft, "theme.care")
        assert (made.definition, made.key) == ("Both.", code.key)

    def test_split_by_form(self, client, draft):
        code = find(draft, "theme.balance")
        form = {"part-TOTAL_FORMS": 3, "part-INITIAL_FORMS": 0, "reason": "two things", "revision": 0}
        page = client.post(address("split_code", draft, code.pk), form | {"part-0-name": "Only"})
        assert page.status_code == 422
        assert "between two and 12 new codes" in text_of(page)
        client.post(address("split_code", draft, code.pk), form | {"part-0-name": "Gain", "part-2-name": "Harm"})
        assert {step[3] for step in list_steps(draft)} == {"theme.gain", "theme.harm"}

    def test_code_is_put_back_by_form(self, client, draft, lead):
        actions.retire_code(code=find(draft, "theme.balance"), revision=0, reason="x", by=lead)
        assert "Restore" in text_of(client.get(address("draft", draft)))
        client.post(address("restore", draft), {"identifier": "theme.balance"})
        assert find(draft, "theme.balance").key == "d"
        assert client.post(address("restore", draft), {"identifier": "theme.balance"}).status_code == 409

    def test_an_existing_study_adopts_once_per_answer_in_a_draft(self, client, draft, owner):
        family = draft.families.get(identifier="themes")
        page = client.get(address("edit_family", draft, family.pk))
        assert "at most once per answer" in text_of(page)
        form = {"name": "Themes", "unit": "sentence", "applies_to": "any", "revision": 0}
        form |= {"carries_level": "on", "once_per_answer": "on"}
        assert client.post(address("edit_family", draft, family.pk), form).status_code == 302
        family.refresh_from_db()
        assert family.once_per_answer
        actions.publish_version(version=draft, by=owner)
        versions = draft.study.codebook_versions.order_by("number")
        before, after = (version.families.get(identifier="themes") for version in versions)
        assert (before.once_per_answer, after.once_per_answer) == (False, True)
        assert set(draft.codes.filter(family=family).values_list("meaning_version", flat=True)) == {1}

    def test_a_family_is_kept_to_the_turns_of_one_side_and_its_codes_need_re_review(self, client, draft):
        family = draft.families.get(identifier="themes")
        form = {"name": "Themes", "unit": "sentence", "revision": 0, "carries_level": "on"}
        assert client.post(address("edit_family", draft, family.pk), form).status_code == 422
        answer = client.post(address("edit_family", draft, family.pk), form | {"applies_to": "interviewer"})
        assert answer.status_code == 302
        family.refresh_from_db()
        assert family.applies_to == "interviewer"
        assert set(family.codes.values_list("meaning_version", flat=True)) == {draft.number}
        assert "on the interviewer's turns" in text_of(
            client.get(reverse("codebook:version", args=[draft.study.slug, draft.number]))
        )

    def test_a_family_of_whole_interviews_cannot_be_for_one_side(self, client, draft):
        form = {"name": "Whole talks", "unit": "interview", "applies_to": "model"}
        page = client.post(address("add_family", draft), form)
        assert page.status_code == 422
        assert "which have turns of both sides" in text_of(page)

    def test_family_is_added_and_removed_by_form(self, client, draft):
        form = {"name": "Whole talks", "unit": "interview", "applies_to": "any"}
        assert client.post(address("add_family", draft), {}).status_code == 422
        assert client.post(address("add_family", draft), form).status_code == 302
        family = draft.families.get(identifier="whole_talks")
        assert (family.unit, family.carries_level) == ("interview", False)
        removed = client.post(address("remove_family", draft, family.pk), follow=True).content.decode()
        assert f"The family {family.name} is removed from the draft." in removed
        full = draft.families.get(identifier="themes")
        assert client.post(address("remove_family", draft, full.pk)).status_code == 409


class TestReading:
    def test_everything_in_the_way_is_listed_on_the_page(self, client, draft):
        draft.codes.filter(identifier="theme.balance").update(name="")
        draft.codes.filter(identifier="theme.compassion").update(key="m")
        page = client.post(address("publish", draft))
        assert page.status_code == 422
        assert len(page.context["obstacles"]) == 2
        assert "The desk uses the key m" in text_of(page)

    def test_comparison_marks_words_by_more_than_colour(self, client, published, draft, lead):
        edit(draft, "theme.balance", lead, definition="Group knowledge helps.", effect="narrowing")
        page = client.get(reverse("codebook:compare", args=[draft.study.slug, 1, 2]))
        text = text_of(page)
        assert "<del>" in text
        assert "removed: " in text
        assert client.get(reverse("codebook:compare", args=[draft.study.slug, 1, 9])).status_code == 404

    def test_two_versions_are_chosen_in_any_order(self, client, draft):
        where = reverse("codebook:choose_comparison", args=[draft.study.slug])
        answer = client.get(where, {"before": 2, "after": 1})
        assert answer.headers["Location"].endswith("/codebook/v1..v2/")
        assert client.get(where, {"before": 2, "after": 7}).status_code == 422

    def test_code_tells_its_history_and_what_became_of_it(self, client, study, published, draft, lead):
        codes = [find(draft, "theme.balance"), find(draft, "theme.compassion")]
        actions.merge_codes(version=draft, codes=codes, into=new_code("Care"), reason="the same thing", by=lead)
        actions.publish_version(version=draft, by=lead)
        new = text_of(client.get(address("code", draft, find(draft, "theme.care").pk)))
        assert "Balance was merged into it in v2: the same thing" in new
        old = text_of(client.get(address("code", published, find(published, "theme.balance").pk)))
        assert "Merged into Care in v2: the same thing" in old

    def test_hierarchy_is_a_nested_list(self, client, draft, lead):
        actions.add_code(version=draft, given=new_code("Child", parent="theme.balance"), by=lead)
        page = client.get(draft.get_absolute_url())
        themes = page.context["families"][0]
        assert [node.depth for node in themes.codes][:5] == [1, 1, 1, 2, 1]
        assert "Under Balance" in text_of(page)

    def test_key_card_lists_every_key(self, client, published):
        text = text_of(client.get(address("key_card", published)))
        assert all(f"<kbd>{key}</kbd>" in text for key in "asdfghjqwertyui1234567890")

    def test_pinned_sentence_is_shown_to_coders_with_its_place(self, draft, lead, coder, client_of, sentence):
        actions.pin_example(
            version=draft, code=find(draft, "theme.balance"), sentence=sentence, kind="exclude", by=lead
        )
        actions.publish_version(version=draft, by=lead)
        assert "I would ask first." not in text_of(client_of(coder).get(draft.get_absolute_url()))
        decide(sentence, coder)
        text = text_of(client_of(coder).get(draft.get_absolute_url()))
        assert "I would ask first." in text
        assert f"?at={sentence.pk}#s{sentence.pk}" in text
        assert "Does not belong" in text


class TestPinning:
    def test_sentence_is_pinned_by_its_number(self, client, draft, sentence):
        code = find(draft, "theme.balance")
        form = {"pin-interview": sentence.turn.interview_id, "pin-number": "2", "pin-kind": "include", "pin-note": "so"}
        assert client.post(address("pin_example", draft, code.pk), form | {"pin-number": "99"}).status_code == 422
        assert client.post(address("pin_example", draft, code.pk), form).status_code == 302
        page = client.post(address("pin_example", draft, code.pk), form)
        assert page.status_code == 422
        assert "pinned to Balance already" in text_of(page)
        example = code.examples.get(sentence=sentence)
        client.post(address("unpin_example", draft, example.pk))
        assert not code.examples.filter(sentence=sentence).exists()

    def test_invented_example_is_added_and_removed(self, client, draft):
        code = find(draft, "theme.balance")
        form = {"invented-words": "Maps help and mislead.", "invented-kind": "exclude", "invented-note": "no people"}
        where = address("add_invented_example", draft, code.pk)
        page = client.post(where, form | {"invented-words": " "})
        assert page.status_code == 422
        assert "Nothing was added" in text_of(page)
        assert client.post(where, form).status_code == 302
        text = text_of(client.get(address("edit_code", draft, code.pk)))
        assert "Maps help and mislead." in text
        assert "invented · no people · added by" in text
        example = code.examples.get(words="Maps help and mislead.")
        client.post(address("unpin_example", draft, example.pk))
        assert not code.examples.filter(pk=example.pk).exists()

    def test_sentence_is_pinned_from_the_desk(self, client, study, published, sentence):
        where = reverse("codebook:pin", args=[study.slug])
        assert "I would ask first." in text_of(client.get(where, {"sentence": sentence.pk}))
        assert queries.find_open_draft(study) is None
        form = {"sentence": sentence.pk, "code": "theme.balance", "kind": "anchor", "note": ""}
        assert client.post(where, form | {"code": "none"}).status_code == 422
        answer = client.post(where, form)
        assert answer.headers["Location"].endswith(f"?at={sentence.pk}#s{sentence.pk}")
        code = find(queries.find_open_draft(study) or published, "theme.balance")
        assert code.examples.filter(sentence=sentence).count() == 1
        assert client.get(where, {"sentence": 999_999}).status_code == 404
        assert client.get(where, {"sentence": "x"}).status_code == 404
