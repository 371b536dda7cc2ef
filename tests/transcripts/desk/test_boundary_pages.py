"""Correcting sentence breaks over HTTP, with and without the page's script."""

import json
from uuid import uuid4

import pytest
from django.urls import reverse

from tests.transcripts.coding.cast import find_code, put
from tests.transcripts.desk.desk_pages import act, address, post, read
from transcripts.coding.models import Coding
from transcripts.corpus.models import BoundaryEdit, Interview, Sentence


@pytest.fixture
def second(interview):
    """Background can shape an answer, though it never settles it."""
    return Sentence.objects.select_related("turn").get(turn__interview=interview, position=3)


def labels(interview):
    rows = Sentence.objects.filter(turn__interview=interview, retired_by__isnull=True).order_by("position", "start")
    return [row.label for row in rows]


class TestScript:
    def test_place_is_counted_as_browsers_count_it(self, interview, second, lead, client_of):
        at = second.read_text().index("though")
        response = act(client_of(lead), "split", interview, lead, sentence=second.pk, at=at)
        told = response.json()
        pieces = Sentence.objects.filter(made_by__isnull=False).order_by("start")
        assert [piece.read_text() for piece in pieces.select_related("turn")] == [
            "Background can shape an answer,",
            "though it never settles it.",
        ]
        assert told["sentence"] == pieces[0].pk
        assert told["label"] == "3a"
        assert told["sentences"] == {str(second.pk): pieces[0].pk}

    def test_answer_names_ones_own_rows_and_nobody_elses(self, interview, second, lead, coder, client_of):
        code = find_code(interview.study, "theme.balance")
        mine, hers = put(second, code, lead), put(second, code, coder)
        response = act(client_of(lead), "split", interview, lead, sentence=second.pk, at=15)
        rows = response.json()["rows"]
        assert list(rows) == [mine.idempotency_key.hex]
        first = Coding.objects.filter(migrated_from=mine).order_by("sentence__start")[0]
        assert rows[mine.idempotency_key.hex] == first.idempotency_key.hex
        assert hers.idempotency_key.hex not in response.content.decode()

    def test_join_tells_where_it_would_be_cut_again(self, interview, second, lead, client_of):
        told = act(client_of(lead), "merge", interview, lead, sentence=second.pk).json()
        again = act(client_of(lead), "split", interview, lead, sentence=told["sentence"], at=told["at"])
        assert again.status_code == 200
        assert labels(interview) == [str(number) for number in range(1, 11)]

    def test_same_request_twice_cuts_once(self, interview, second, lead, client_of):
        fields = {"sentence": second.pk, "at": 15, "idempotency_key": uuid4()}
        first = act(client_of(lead), "split", interview, lead, **fields)
        again = act(client_of(lead), "split", interview, lead, **fields)
        assert first.json() == again.json()
        assert BoundaryEdit.objects.count() == 1

    @pytest.mark.parametrize(
        ("fields", "status", "words"),
        [
            ({"at": 0}, 409, "edge of the sentence"),
            ({"at": 9999}, 422, "Copy them exactly"),
            ({"at": "x"}, 422, "whole number"),
            ({"at": 15, "idempotency_key": "x"}, 422, "32 hexadecimal digits"),
        ],
    )
    def test_refusals_are_one_plain_sentence(self, interview, second, lead, client_of, fields, status, words):
        response = act(client_of(lead), "split", interview, lead, sentence=second.pk, **fields)
        assert response.status_code == status
        assert response["Content-Type"].startswith("text/plain")
        assert words in response.content.decode()
        assert not BoundaryEdit.objects.exists()

    def test_retired_sentence_is_told_to_the_other_tab(self, interview, second, lead, coder, client_of):
        act(client_of(lead), "split", interview, lead, sentence=second.pk, at=15)
        code = find_code(interview.study, "theme.balance")
        for name, fields in (("add", {"code": code.pk}), ("decide", {}), ("memo", {"text": "A memo"})):
            response = act(client_of(coder), name, interview, coder, sentence=second.pk, **fields)
            assert response.status_code == 409
            assert response.content.decode() == "Sentence 3 has since been split. Reload the page."

    def test_page_of_somebody_else_is_refused(self, interview, second, lead, coder, client_of):
        response = act(client_of(lead), "split", interview, coder, sentence=second.pk, at=15)
        assert response.status_code == 401


class TestPlainForms:
    def test_cut_by_the_words_with_which_the_second_piece_begins(self, interview, second, lead, client_of):
        client = client_of(lead)
        assert "Split sentence 2" in read(client.get(address("desk", interview)))
        response = post(client, "split", interview, sentence=second.pk, before="though it")
        first = Sentence.objects.get(suffix="a")
        assert response["Location"] == f"{address('desk', interview)}?at={first.pk}#s{first.pk}"
        post(client, "merge", interview, sentence=first.pk)
        assert labels(interview) == [str(number) for number in range(1, 11)]

    def test_words_that_are_not_there_are_told_and_kept(self, interview, second, lead, client_of):
        response = post(client_of(lead), "split", interview, sentence=second.pk, before="nowhere")
        assert response.status_code == 422
        html = response.content.decode()
        assert "These words are not in the sentence" in html
        assert 'value="nowhere"' in html

    def test_coders_are_offered_no_form_and_refused(self, interview, second, coder, client_of):
        client = client_of(coder)
        html = read(client.get(address("desk", interview)))
        assert "Split sentence" not in html
        assert "data-split" not in html
        assert post(client, "split", interview, sentence=second.pk, at=15).status_code == 403


class TestHistory:
    def test_tells_who_changed_what_before_and_after(self, interview, second, lead, coder, client_of):
        page = address("boundary_edits", interview)
        assert "Every sentence is as it was imported" in client_of(coder).get(page).content.decode()
        act(client_of(lead), "split", interview, lead, sentence=second.pk, at=15)
        html = client_of(coder).get(page).content.decode()
        assert "lead" in html
        assert ">Split<" in html
        assert ">3a</a> <bdi>Background can</bdi>" in html
        assert page in client_of(coder).get(address("desk", interview)).content.decode()


def test_numbers_of_pieces_are_shown(interview, second, lead, coder, client_of):
    act(client_of(lead), "split", interview, lead, sentence=second.pk, at=15)
    html = read(client_of(coder).get(reverse("desk:desk", args=[interview.study.slug, interview.pk])))
    assert ">3a</a>" in html
    assert ">3b</a>" in html


def test_enter_goes_from_piece_to_piece(interview, second, lead, coder, client_of):
    act(client_of(lead), "split", interview, lead, sentence=second.pk, at=15)
    first, following = Sentence.objects.filter(position=3, retired_by__isnull=True).order_by("start")
    response = post(client_of(coder), "decide", interview, sentence=first.pk)
    assert response["Location"].endswith(f"#s{following.pk}")


def test_offsets_are_right_in_every_script(study_of_scripts, lead, client_of):
    cuts = {"שלום עולם, מה נשמע?": "מה", "我会先问。": "先问", "👩‍👩‍👧 families differ.": "differ"}
    for sentence in Sentence.objects.filter(turn__interview=study_of_scripts).select_related("turn"):
        text = sentence.read_text()
        if text in cuts:
            at = len(text[: text.index(cuts[text])].encode("utf-16-le")) // 2
            response = act(client_of(lead), "split", study_of_scripts, lead, sentence=sentence.pk, at=at)
            made = Sentence.objects.select_related("turn").filter(made_by__retired=sentence).order_by("start")
            assert response.status_code == 200
            assert made[1].read_text() == text[text.index(cuts.pop(text)) :]
    assert not cuts


@pytest.fixture
def study_of_scripts(interview, owner):
    from transcripts.corpus.actions import import_file

    text = "שלום עולם, מה נשמע?\n我会先问。你呢？\n👩‍👩‍👧 families differ."
    line = json.dumps({"id": "scripts", "turns": [{"role": "model", "text": text}]})
    import_file(study=interview.study, name="s.jsonl", data=line.encode(), by=owner)
    return Interview.objects.get(external_id="scripts")
