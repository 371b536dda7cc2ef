"""A code that means more: which sentences that were read before may belong to it now."""

import json

import pytest
from django.urls import reverse

from tests.transcripts.coding.cast import decide, find_code, put
from tests.transcripts.revision.codebooks import code_of, current, give
from transcripts.codebook import actions
from transcripts.corpus.actions import import_file
from transcripts.corpus.models import Sentence
from transcripts.revision.pure import choose_stems, cut_words, find_near
from transcripts.rounds.actions import complete_interview

SAID = (
    "I would weigh both sides.",
    "A promise is not kept by silence.",
    "Promising too much helps nobody.",
    "It is a matter of taste.",
    "Nobody promised anything.",
)


@pytest.mark.parametrize(
    ("now", "before", "stems"),
    [
        (["Weighs goods, and promises"], ["Weighs goods"], {"promis"}),
        (["The same"], ["the same"], set()),
        (["It is so"], [""], set()),
        (["Über-Versprechen"], [""], {"über", "verspr"}),
    ],
)
def test_only_the_words_count_that_the_definition_did_not_use_before(now, before, stems):
    assert choose_stems(now, before) == stems


def test_what_says_more_of_the_words_and_rarer_ones_comes_first():
    sentences = {1: "A promise.", 2: "Nothing.", 3: "A promise under oath.", 4: "Promised!", 5: "Vows & oaths"}
    assert [pk for pk, _ in find_near(sentences, {"promis", "oath"})] == [3, 1, 4]
    assert find_near(sentences, {"promis"})[0] == (1, [(2, 9)])
    assert [pk for pk, _ in find_near(sentences, {"promis"}, ["vows"])] == [5, 1, 3, 4]
    assert find_near(sentences, set()) == []


def test_a_word_that_is_everywhere_tells_nothing():
    sentences = dict.fromkeys(range(100), "They always promise.") | {200: "They swear an oath."}
    assert [pk for pk, _ in find_near(sentences, {"promis", "oath"})] == [200]


def test_places_that_overlap_are_marked_once():
    assert cut_words("to keep a promise", [(3, 7), (3, 17), (10, 17)]) == [(False, "to "), (True, "keep a promise")]


@pytest.fixture
def said(study, owner):
    turns = [{"role": "interviewer", "text": "Is a promise binding?"}, {"role": "model", "text": " ".join(SAID)}]
    for name in ("talk", "other"):
        line = json.dumps({"id": name, "turns": turns})
        import_file(study=study, name=f"{name}.jsonl", data=line.encode(), by=owner)
    sentences = Sentence.objects.filter(turn__interview__study=study, turn__role="model")
    return list(sentences.select_related("turn__interview").order_by("turn__interview", "position"))


def widen(study, by, *, effect="widening"):
    draft = actions.start_draft(study=study, by=by)
    code = code_of(draft, "theme.balance")
    given = give(code, attributes=(), definition=f"{code.definition} Also promises that are weighed.")
    actions.edit_code(code=code, revision=None, given=given, by=by, effect=effect, reason="too narrow")
    actions.publish_version(version=draft, by=by)
    return current(study)


def look(client, study):
    answer = client.get(reverse("revision:near", args=[study.slug]), {"code": "theme.balance"})
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_a_coder_is_offered_what_she_read_before_and_did_not_code_so(
    study, said, owner, coder, second_coder, client_of
):
    first, unread = said[:5], said[5:]
    put(first[1], find_code(study, "theme.balance"), coder)
    put(first[2], find_code(study, "theme.compassion"), coder)
    for sentence in (first[0], first[3], first[4]):
        decide(sentence, coder)
    put(unread[1], find_code(study, "theme.compassion"), second_coder)
    version = widen(study, owner)
    client = client_of(coder)
    queue = client.get(reverse("revision:queue", args=[study.slug])).content.decode()
    assert "near/?code=theme.balance" in queue
    page = look(client, study)
    assert page.count("<article") == 2
    for sentence, word in ((first[2], "Promising"), (first[4], "promised")):
        assert f"?at={sentence.pk}#s{sentence.pk}" in page
        assert f"<mark>{word}</mark>" in page
    # What she codes with the new meaning is read anew.
    put(first[4], code_of(version, "theme.balance"), coder)
    assert look(client, study).count("<article") == 1
    assert look(client_of(second_coder), study).count("<article") == 1


def test_interviews_that_are_closed_to_her_are_only_counted(study, said, owner, coder, client_of):
    for sentence in said[:5]:
        decide(sentence, coder)
    widen(study, owner)
    complete_interview(study=study, interview=said[0].turn.interview, by=coder)
    page = look(client_of(coder), study)
    assert "<article" not in page
    assert "3 more are in interviews that are closed to you" in page


def test_only_a_code_that_means_more_is_offered(study, said, owner, coder, client_of):
    for sentence in said:
        decide(sentence, coder)
    widen(study, owner, effect="wording")
    client = client_of(coder)
    assert "near/?code" not in client.get(reverse("revision:queue", args=[study.slug])).content.decode()
    address = reverse("revision:near", args=[study.slug])
    for code in ("theme.balance", "no.such", ""):
        assert "No code of this name has come to mean more" in client.get(address, {"code": code}).content.decode()
