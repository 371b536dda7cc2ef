"""A study whose codebook began as the built-in one is offered what that has gained since, as a draft."""

from dataclasses import replace

import pytest
from django.urls import reverse

from tests.transcripts.codebook.cast import code, content, list_events, list_steps
from transcripts.codebook import actions, queries
from transcripts.codebook.models import Code, CodeExample
from transcripts.codebook.pure.seed import find_newer_parts, load_seed

NEWER = ("challenges", "responses")
OFFER = "The built-in codebook has grown"


@pytest.fixture
def older(published):
    """The published version as studies have it that began before the newer parts."""
    CodeExample.objects.filter(code__family__identifier__in=NEWER, code__version=published).delete()
    published.codes.filter(family__identifier__in=NEWER).delete()
    published.families.filter(identifier__in=NEWER).delete()
    for each in Code.objects.filter(version=published, family__identifier="case_features"):
        each.attributes = [item for item in each.attributes if item["key"] not in {"status", "hypothesis"}]
        each.save()
    return published


@pytest.fixture
def page(study):
    return reverse("codebook:current", args=[study.slug])


@pytest.fixture
def take(study):
    return reverse("codebook:take_newer_parts", args=[study.slug])


def shows_offer(client, page):
    return OFFER in client.get(page).content.decode()


def test_draft_adds_families_and_questions_and_changes_nothing_else(study, older, lead):
    before = queries.read_content(older)
    draft = actions.take_newer_parts(study=study, by=lead)
    after, built_in = queries.read_content(draft), load_seed().content
    assert draft.status == "draft"
    assert [family.identifier for family in after.families] == [*(each.identifier for each in before.families), *NEWER]
    sides = {family.identifier: family.applies_to for family in after.families}
    assert (sides["challenges"], sides["responses"]) == ("interviewer", "model")
    found = {each.identifier: each for each in after.codes}
    for was in before.codes:
        now = found.pop(was.identifier)
        assert replace(now, attributes=()) == replace(was, attributes=())
        assert now.attributes[: len(was.attributes)] == was.attributes
        keys = [question.key for question in now.attributes[len(was.attributes) :]]
        assert keys == (["status", "hypothesis"] if was.family == "case_features" else [])
    assert found == {each.identifier: each for each in built_in.codes if each.family in NEWER}
    invented = CodeExample.objects.filter(code__version=draft, code__family__identifier__in=NEWER)
    assert invented.count() == 16


def test_each_change_is_recorded_and_no_coding_needs_re_review(study, older, lead):
    draft = actions.take_newer_parts(study=study, by=lead)
    steps = list_steps(draft)
    assert sorted({(kind, effect) for kind, effect, _, _ in steps}) == [("added", ""), ("adjusted", "wording")]
    assert len(steps) == 8 + 10
    there = draft.codes.exclude(family__identifier__in=NEWER)
    assert set(there.values_list("meaning_version", flat=True)) == {older.number}
    assert list_events(study)[-1] == "codebook.built_in.taken_over"


def test_lead_starts_it_from_the_codebook_page_and_is_not_asked_again(client_of, study, older, lead, page, take):
    client = client_of(lead)
    html = client.get(page).content.decode()
    assert OFFER in html
    assert "Challenges and Responses, and questions of 10 codes" in html
    answer = client.post(take)
    draft = study.codebook_versions.get(number=2)
    assert answer.headers["Location"] == reverse("codebook:draft", args=[study.slug, 2])
    assert queries.current_version(study) == older
    assert not shows_offer(client, page)
    actions.publish_version(version=draft, by=lead)
    assert not shows_offer(client, page)
    assert client.post(take).status_code == 409
    assert study.codebook_versions.count() == 2


def test_a_discarded_draft_is_offered_again_and_an_open_one_stands_in_the_way(
    client_of, study, older, lead, page, take
):
    client = client_of(lead)
    draft = actions.start_draft(study=study, by=lead)
    assert not shows_offer(client, page)
    assert client.post(take).status_code == 409
    actions.discard_draft(version=draft, by=lead)
    assert shows_offer(client, page)


def test_what_a_study_had_and_took_out_is_not_offered_again(client_of, study, older, lead, page):
    draft = actions.take_newer_parts(study=study, by=lead)
    actions.publish_version(version=draft, by=lead)
    third = actions.start_draft(study=study, by=lead)
    for each in list(third.codes.filter(family__identifier="challenges")):
        actions.retire_code(code=each, revision=None, reason="Not ours.", by=lead)
    actions.remove_family(family=third.families.get(identifier="challenges"), revision=None, by=lead)
    actions.publish_version(version=third, by=lead)
    assert not queries.find_newer_parts(third)
    assert not shows_offer(client_of(lead), page)


def test_who_may_not_edit_the_codebook_is_not_asked(client_of, older, coder, page):
    assert not shows_offer(client_of(coder), page)


def test_a_new_study_lacks_nothing(client_of, published, lead, page):
    assert not shows_offer(client_of(lead), page)


def test_a_codebook_without_codes_of_ours_is_offered_nothing():
    assert not find_newer_parts(content(code("tone.hedge")), load_seed().content, had=())


def test_a_question_of_the_studys_own_with_the_same_key_stays_as_it_is():
    built_in = load_seed().content
    task = next(each for each in built_in.codes if each.identifier == "feature.task")
    own = replace(task, attributes=(replace(task.attributes[0], label="Mine", choices=("a", "b")),))
    parts = find_newer_parts(replace(built_in, codes=(own,)), built_in, had=())
    assert [question.key for question in parts.questions["feature.task"]] == ["hypothesis"]
