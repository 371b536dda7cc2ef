"""Sentences that show what a code means: pinned in a draft, kept through versions, told when they are split or merged."""

from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.test import Client

from tests.transcripts.codebook.cast import find, list_events
from tests.transcripts.coding.cast import decide
from tests.transcripts.corpus.cast import allow
from tests.transcripts.rounds.cast import open_round
from transcripts.accounts.actions import create_token
from transcripts.audit_trail.models import AuditEvent
from transcripts.codebook import actions, queries
from transcripts.codebook.files import read_version
from transcripts.codebook.models import CodeExample
from transcripts.codebook.queries import find_labelled_sentence, find_pieces, find_sentence, read_examples
from transcripts.corpus.actions import split_sentence
from transcripts.corpus.models import Interview, Sentence


def pin(draft, sentence, by, **more):
    given = {"kind": "include", **more}
    return actions.pin_example(version=draft, code=find(draft, "theme.balance"), sentence=sentence, by=by, **given)


def cut(sentence, by):
    """The two pieces of a sentence whose break is corrected."""
    study = sentence.turn.interview.study
    edit = split_sentence(study=study, sentence=sentence, at=sentence.start + 8, by=by, idempotency_key=uuid4())
    return list(edit.made.order_by("start"))


def test_pinned_sentence_is_shown_with_its_words_and_survives_versions(study, draft, lead, sentence):
    pin(draft, sentence, lead, kind="anchor", note="  says\nso ")
    actions.publish_version(version=draft, by=lead)
    later = actions.start_draft(study=study, by=lead)
    for version in (draft, later):
        [row] = read_examples(Q(code__version=version, sentence__isnull=False), coder=None)[
            find(version, "theme.balance").pk
        ]
        assert (row.text, row.sentence.label, row.get_kind_display(), row.note) == (
            "I would ask first.",
            "2",
            "Anchor",
            "says so",
        )
        assert row.sentence.retired_by_id is None


def test_words_of_a_sentence_are_counted_in_code_points(study, interview):
    turn = interview.turns.get(position=1)
    turn.text = "👩‍🔬é " + turn.text
    turn.save()
    pk = turn.sentences.order_by("start")[0].pk
    Sentence.objects.filter(pk=pk).update(start=5, end=11)
    line = find_sentence(study, pk)
    assert line is not None
    assert line.read_text() == turn.text[5:11]


def test_pinning_is_one_event_without_words(study, draft, lead, sentence):
    before = len(list_events(study))
    pin(draft, sentence, lead, note="a secret note")
    assert list_events(study)[before:] == ["codebook.example.pinned"]
    assert "secret" not in str(AuditEvent.objects.order_by("-pk")[0].details)


@pytest.mark.parametrize(
    ("more", "field", "found"),
    [
        ({"kind": "maybe"}, "kind", "Choose what the sentence shows"),
        ({"note": "x" * 501}, "note", "this one has 501"),
    ],
)
def test_pin_that_says_too_little_or_too_much_is_refused(draft, lead, sentence, more, field, found):
    with pytest.raises(actions.WrongInput, match=found) as refused:
        pin(draft, sentence, lead, **more)
    assert refused.value.problems[0].field == field


def test_sentence_is_pinned_once_to_a_code(draft, lead, sentence):
    pin(draft, sentence, lead)
    with pytest.raises(actions.WrongInput, match="Sentence 2 is pinned to Balance already"):
        pin(draft, sentence, lead, kind="exclude")


def test_sentence_of_another_study_is_not_pinned(study, draft, lead, sentence, owner):
    other = actions.start_study(slug="other", name="Other", by=owner)
    Interview.objects.update(study=other, owning_study=other)
    with pytest.raises(actions.WrongInput, match="not part of this study"):
        pin(draft, Sentence.objects.get(pk=sentence.pk), lead)


def test_published_version_takes_no_pins(study, published, draft, lead, sentence):
    example = pin(draft, sentence, lead)
    with pytest.raises(actions.DraftIsClosed):
        pin(published, sentence, lead)
    actions.publish_version(version=draft, by=lead)
    with pytest.raises(actions.DraftIsClosed):
        actions.unpin_example(example=example, by=lead)
    assert CodeExample.objects.filter(pk=example.pk).exists()


def test_sentence_that_was_cut_anew_says_so_and_offers_its_pieces(draft, lead, sentence):
    example = pin(draft, sentence, lead, note="kept")
    pieces = cut(sentence, lead)
    [row] = read_examples(Q(code=example.code, sentence=sentence), coder=None)[example.code_id]
    assert row.sentence.retired_by_id is not None
    assert [each.label for each in find_pieces([sentence.pk])[sentence.pk]] == ["2a", "2b"]
    with pytest.raises(actions.WrongInput, match="boundaries of sentence 2 were edited"):
        pin(draft, Sentence.objects.select_related("turn__interview").get(pk=sentence.pk), lead)
    piece = Sentence.objects.select_related("turn__interview").get(pk=pieces[1].pk)
    renewed = actions.repin_example(example=example, sentence=piece, by=lead)
    assert (renewed.sentence, renewed.kind, renewed.note) == (piece, "include", "kept")
    assert not CodeExample.objects.filter(pk=example.pk).exists()


def test_pieces_are_found_by_their_numbers(study, lead, sentence):
    interview_id = sentence.turn.interview_id
    first, second = cut(sentence, lead)
    for label, pk in (("2a", first.pk), ("2b", second.pk)):
        line = find_labelled_sentence(study, interview_id, label)
        assert line is not None
        assert line.pk == pk
    for label in ("2", "", "a", "2c", "9" * 30, "２"):
        assert find_labelled_sentence(study, interview_id, label) is None


def test_pinning_from_the_desk_begins_a_draft_where_there_is_none(study, published, lead, sentence):
    given = {"study": study, "sentence": sentence, "kind": "include", "by": lead}
    first = actions.pin_in_open_draft(identifier="theme.balance", **given)
    second = actions.pin_in_open_draft(identifier="theme.compassion", **given)
    assert first.code.version == second.code.version == queries.find_open_draft(study)
    with pytest.raises(actions.WrongInput, match="not in the draft v2"):
        actions.pin_in_open_draft(identifier="theme.none", **given)


def invent(draft, by, **more):
    given = {"words": "A parent who pays is a parent who decides.", "kind": "exclude", **more}
    return actions.add_invented_example(version=draft, code=find(draft, "theme.balance"), by=by, **given)


def test_invented_example_is_shown_with_its_words_and_survives_versions(study, draft, lead):
    example = invent(draft, lead, words="  Money\nhelps. ", note="no  group")
    actions.publish_version(version=draft, by=lead)
    later = actions.start_draft(study=study, by=lead)
    for version in (draft, later):
        rows = read_examples(Q(code__version=version), coder=None)[find(version, "theme.balance").pk]
        [row] = [row for row in rows if row.words == example.words]
        assert (row.text, row.sentence, row.kind, row.note) == ("Money helps.", None, "exclude", "no group")


def test_an_invented_example_is_a_difference_between_versions(published, draft, lead):
    invent(draft, lead)
    [difference] = queries.find_comparison(published, draft).codes
    assert difference.identifier == "theme.balance"
    assert "A parent who pays is a parent who decides." in str(difference)


@pytest.mark.parametrize(
    ("more", "field", "found"),
    [
        ({"words": " \n"}, "words", "Write the sentence"),
        ({"words": "x" * 2_001}, "words", "this one has 2,001"),
        ({"kind": "maybe"}, "kind", "Choose what the sentence shows"),
        ({"note": "x" * 501}, "note", "this one has 501"),
    ],
)
def test_invented_example_that_cannot_be_stored_is_refused(draft, lead, more, field, found):
    with pytest.raises(actions.WrongInput, match=found) as refused:
        invent(draft, lead, **more)
    assert refused.value.problems[0].field == field


def test_invented_example_is_in_a_code_once_and_can_be_removed(study, draft, lead):
    example = invent(draft, lead)
    with pytest.raises(actions.WrongInput, match="has this example already"):
        invent(draft, lead)
    actions.unpin_example(example=example, by=lead)
    assert not CodeExample.objects.filter(pk=example.pk).exists()
    assert list_events(study)[-2:] == ["codebook.example.invented", "codebook.example.unpinned"]
    assert "parent" not in str(AuditEvent.objects.order_by("-pk")[0].details)


def test_example_is_either_pinned_or_invented(draft, lead, sentence):
    pinned = pin(draft, sentence, lead)
    with pytest.raises(IntegrityError), transaction.atomic():
        CodeExample.objects.filter(pk=pinned.pk).update(words="Both.")
    with pytest.raises(IntegrityError), transaction.atomic():
        CodeExample.objects.filter(pk=pinned.pk).update(sentence=None)


def test_a_pinned_sentence_shows_its_code_to_nobody_who_is_still_to_code_it(
    study, draft, lead, coder, reader, sentence, client_of
):
    pin(draft, sentence, lead)
    actions.publish_version(version=draft, by=lead)
    code = find(draft, "theme.balance")
    number = draft.number
    open_round(study, lead, coder)

    def shown(person):
        client = client_of(person)
        token = {"Authorization": f"Bearer {create_token(user=person, name='t', by=person)[1]}"}
        paths = {
            "page": f"/studies/{study.slug}/codebook/",
            "code": f"/studies/{study.slug}/codebook/v{number}/codes/{code.pk}/",
            "compared": f"/studies/{study.slug}/codebook/v1..v{number}/",
        }
        texts = {name: client.get(path).content.decode() for name, path in paths.items()}
        texts["api"] = Client(headers=token).get(f"/api/v1/studies/{study.slug}/codebook/").content.decode()
        content = read_version(draft, coder=person if person != reader else None)
        texts["file"] = " ".join(example.quote for example in content.examples)
        return {name for name, text in texts.items() if "I would ask first." in text or "sentence 2 of" in text}

    everywhere = {"page", "code", "compared", "api", "file"}
    assert shown(reader) == everywhere
    assert shown(lead) == everywhere, "who pinned it knows it"
    assert shown(coder) == set()
    decide(sentence, coder)
    assert shown(coder) == everywhere


def test_a_pinned_sentence_of_an_interview_that_is_assigned_to_nobody_hides_its_code_too(draft, lead, coder, sentence):
    pin(draft, sentence, lead)
    actions.publish_version(version=draft, by=lead)
    pinned = CodeExample.objects.shown(coder=coder).filter(sentence=sentence)
    assert not pinned.exists()
    decide(sentence, coder)
    assert pinned.exists()


def test_files_to_be_published_quote_no_interview_without_consent(study, draft, lead, sentence, tmp_path):
    pin(draft, sentence, lead)
    code = find(draft, "theme.balance")
    actions.add_invented_example(version=draft, code=code, words="Weigh both.", kind="include", by=lead)
    actions.publish_version(version=draft, by=lead)

    def write(format):
        path = tmp_path / format
        call_command("study", "export", "codebook", study=study.slug, format=format, output=str(path))
        return path.read_text(encoding="utf-8")

    for format in ("json", "qdc"):
        assert "I would ask first." not in write(format)
        assert "Weigh both." in write(format)
    allow(lead, sentence.turn.interview, scope="quotation")
    for format in ("json", "qdc"):
        assert "I would ask first." in write(format)
