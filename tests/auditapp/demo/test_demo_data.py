"""The invented study that a first start shows: whole, consistent with the codebook, and said to be invented."""

import csv
import json
import re
from pathlib import Path

import pytest

from tests.support.shared import shared
from transcripts.codebook.pure.seed import load_seed
from transcripts.corpus.pure.segmenting import segment

DATA = Path(__file__).resolve().parents[3] / "auditapp" / "demo" / "data"
TARGETS = {"muslim", "lgbtq", "women", "jew", "immigrant", "black", "disabled", "asian", "mexican", "arab"}
PROMPT_KINDS = {"open", "expand", "reflect", "challenge", "new_information", "leading"}
FAMILY_OF = {code.id: family for family in load_seed().families for code in family.codes}


def load(name):
    text = (DATA / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


INTERVIEWS = {interview["id"]: interview for interview in load("interviews.jsonl")}
CODINGS = load("codings.json")
every_interview = pytest.mark.parametrize("interview", INTERVIEWS.values(), ids=list(INTERVIEWS))


def list_sentences(interview_id, turn):
    text = INTERVIEWS[interview_id]["turns"][turn]["text"]
    return [text[span.start : span.end] for span in segment(text, "en")]


def find_sentences(entry):
    sentences = list_sentences(entry["interview"], entry["turn"])
    return [sentence for sentence in sentences if sentence.startswith(entry["quote"])]


@every_interview
def test_interview_says_that_it_is_invented(interview):
    assert all(
        "invented" in interview[name] for name in ("title", "model", "vendor", "surface", "period", "interviewer")
    )


@every_interview
def test_interviewer_and_model_take_turns_from_the_opening_on(interview):
    turns = interview["turns"]

    assert [turn["role"] for turn in turns] == ["interviewer", "model"] * (len(turns) // 2)
    assert interview["opening_prompt"] == turns[0]["text"]
    assert 4 <= len(turns) // 2 <= 6


@every_interview
def test_every_question_has_its_kind_and_every_interview_a_challenge(interview):
    kinds = [turn["prompt_kind"] for turn in interview["turns"] if turn["role"] == "interviewer"]

    assert set(kinds) <= PROMPT_KINDS
    assert "challenge" in kinds
    assert not any("prompt_kind" in turn for turn in interview["turns"] if turn["role"] == "model")


@every_interview
def test_answers_have_the_length_of_chatbot_answers(interview):
    assert all(80 <= len(turn["text"].split()) <= 220 for turn in interview["turns"] if turn["role"] == "model")


def test_each_quote_begins_exactly_one_sentence_of_a_turn_that_its_codes_are_for():
    places = set()
    for entry in CODINGS:
        turn = INTERVIEWS[entry["interview"]]["turns"][entry["turn"]]
        sides = {FAMILY_OF[code["code"]].applies_to for code in entry["codes"]}
        assert turn["role"] == ("interviewer" if sides == {"interviewer"} else "model")
        assert len(entry["quote"]) >= 18
        assert turn["text"].count(entry["quote"]) == 1
        assert len(find_sentences(entry)) == 1, entry["quote"]
        places.add((entry["interview"], entry["turn"], entry["quote"]))
    assert len(places) == len(CODINGS)


def test_codes_carry_what_their_family_asks_for():
    for entry in CODINGS:
        assert entry["none"] is (entry["codes"] == [])
        assert len({code["code"] for code in entry["codes"]}) == len(entry["codes"])
        for code in entry["codes"]:
            family = FAMILY_OF[code["code"]]
            assert (code["level"] in {"semantic", "latent"}) is family.carries_level
            assert (code["enactment"] in {"enacted", "demonstrated", "described"}) is family.carries_enactment
            if family.unit == "turn":
                assert find_sentences(entry)[0] == list_sentences(entry["interview"], entry["turn"])[0]


def test_latent_codings_say_how_the_sentence_was_read():
    latent = [code for entry in CODINGS for code in entry["codes"] if code["level"] == "latent"]

    assert latent
    assert all(code["note"] for code in latent)
    assert all(isinstance(entry["memo"], str) for entry in CODINGS)


def test_more_than_half_of_the_first_interview_is_decided():
    first = next(iter(INTERVIEWS))
    total = sum(len(list_sentences(first, turn)) for turn in range(len(INTERVIEWS[first]["turns"])))
    decided = sum(entry["interview"] == first for entry in CODINGS)

    assert 0.5 < decided / total < 0.7
    assert len(CODINGS) > decided


def test_codings_show_every_family_level_and_enactment():
    codes = [code for entry in CODINGS for code in entry["codes"]]

    assert {FAMILY_OF[code["code"]].id for code in codes} == {family.id for family in load_seed().families}
    assert {code["enactment"] for code in codes} == {"enacted", "demonstrated", "described", ""}
    assert any(entry["none"] for entry in CODINGS)


def test_a_revision_follows_a_challenge():
    revised = {
        (entry["interview"], entry["turn"])
        for entry in CODINGS
        for code in entry["codes"]
        if code["code"] == "move.revise" and code["enactment"] == "enacted"
    }

    assert revised
    assert all(INTERVIEWS[name]["turns"][turn - 1]["prompt_kind"] == "challenge" for name, turn in revised)


def test_texts_for_the_sob_batch_are_constructed_and_cover_the_targets():
    with (DATA / "sob_texts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    columns = ["source", "tix", "text", "target_raw", "type", "target", "target_secondary", "target_tertiary"]
    assert list(rows[0]) == columns
    assert [row["tix"] for row in rows] == [str(number) for number in range(1, 25)]
    assert {row["source"] for row in rows} == {"invented"}
    assert all(row["text"].startswith("Constructed example: ") for row in rows)
    assert len({row["text"] for row in rows}) == len(rows)
    assert {row["target"] for row in rows} == TARGETS | {"old"}


def test_invented_answers_share_no_eight_words_in_a_row_with_the_paper():
    def list_runs(text):
        words = re.findall(r"[a-z']+", text.lower())
        return {tuple(words[start : start + 8]) for start in range(len(words) - 7)}

    published = list_runs(shared("papers/bias_negotiation.txt").read_text("utf-8"))
    ours = " ".join(turn["text"] for interview in INTERVIEWS.values() for turn in interview["turns"])

    assert not list_runs(ours) & published


def test_runs_of_the_demo_are_coded_with_codes_and_answers_of_the_codebook():
    codes = {code.id: code for family in load_seed().families for code in family.codes}
    content = json.loads((DATA / "negotiation.json").read_text("utf-8"))
    turns = [turn for thread in content["threads"] for turn in thread["turns"]]
    entries = [
        entry
        for turn in turns
        for each in turn.get("sentences", ())
        for entries in each["codes"].values()
        for entry in entries
    ]
    assert entries
    for entry in entries:
        questions = {question.key: question for question in codes[entry["code"]].attributes}
        for key, answer in entry.get("answers", {}).items():
            assert not questions[key].choices or answer in questions[key].choices, (entry["code"], answer)
        assert set(entry.get("acts_on", ())) <= codes.keys()
    for turn in turns:
        if turn.get("channel") != "tool_call" and "sentences" in turn:
            text = " ".join(each["text"] for each in turn["sentences"])
            assert [text[span.start : span.end] for span in segment(text, "en")] == [
                each["text"] for each in turn["sentences"]
            ]
