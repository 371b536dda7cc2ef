"""What of an answer counts, whatever stands around it and whatever is wrong with it."""

import json
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.annotators.pure import answers
from auditapp.annotators.pure.answers import MAX_RATIONALE, MAX_REJECTED, ParsedAnswer, parse_response
from auditapp.llm.pure.json_answers import Judged

SENTENCES = {11: "I would ask  first.", 12: "It is “a tendency”, not a rule.", 13: "Would you like to say more?"}
CODES = ("theme.balance", "move.elicit")


def read(answer, *, finish_reason="stop", **asked):
    return parse_response(answer, sentences=SENTENCES, codes=CODES, finish_reason=finish_reason, **asked)


def coding(**changes):
    return {"rationale": "It weighs.", "quote": "ask first", "code": "theme.balance"} | changes


def entry(number=11, *codings):
    return {"sentence": number, "codings": list(codings)}


def answer(*entries):
    return json.dumps({"sentences": entries})


WHOLE = answer(entry(11, coding()), entry(12), entry(13))


def test_a_plain_answer_is_taken_whole():
    found = read(answer(entry(11, coding(), coding(code="move.elicit")), entry(12), entry(13)))
    assert [(each.sentence, each.code) for each in found.proposals] == [(11, "theme.balance"), (11, "move.elicit")]
    assert (found.rejected, found.missing, found.problem) == ([], [], "")
    assert found.proposals[0].level == "semantic"


def test_a_move_is_taken_with_its_enactment_and_rejected_without():
    said = answer(
        entry(11, coding(enactment="described")),
        entry(12, coding(quote="a tendency")),
        entry(
            13, coding(quote="say more", enactment="acted"), coding(code="move.elicit", enactment=[], quote="say more")
        ),
    )
    found = read(said, reads_enactment=True)
    assert [(each.sentence, each.enactment) for each in found.proposals] == [(11, "described")]
    assert [(each["sentence"], each["reason"]) for each in found.rejected] == [
        (12, "no enactment"),
        (13, "malformed: enactment"),
        (13, "no enactment"),
    ]
    assert (found.missing, found.problem) == ([], "")


def test_an_enactment_that_was_not_asked_for_is_not_used():
    found = read(answer(entry(11, coding(enactment="enacted")), entry(12), entry(13)))
    assert (found.proposals[0].enactment, found.rejected) == ("", [])


def test_a_number_in_quotation_marks_is_that_number():
    found = read(answer(entry("11", coding()), entry("12"), entry(13)))
    assert ([each.sentence for each in found.proposals], found.missing, found.rejected) == ([11], [], [])


def test_no_code_for_any_sentence_is_an_answer():
    assert read(answer(entry(11), entry(12), entry(13))) == ParsedAnswer([], [], [], "")


def test_a_sentence_that_is_left_out_is_missing_and_not_without_a_code():
    found = read(answer(entry(11, coding()), entry(13)))
    assert (found.missing, found.problem) == ([12], "")
    assert read(answer()).missing == [11, 12, 13]
    assert read(answer()).problem == "says nothing about any of the sentences"


@pytest.mark.parametrize(
    "wrapped",
    [
        "```json\n{}\n```",
        "Here you are: {}",
        '<think>{{"sentences": [1]}}</think>{}',
        "<thinking>never closed {}</thinking>{}",
        '[THINK]{{"sentences": [1]}}[/THINK]{}',
        '<|channel|>analysis<|message|>{{"sentences": [1]}}<|end|><|start|>assistant<|channel|>final<|message|>{}',
        'analysisWe look at {{"sentences": [1]}}.assistantfinal{}',
        '{{"note": 1}} {}',
        '{{"answer": {}}}',
        '{{"result": {{"output": {}}}}}',
        "[{}]",
        "[[{}]]",
        "Sätze: [12] und {}\n.",
        "{} {}",
    ],
)
def test_the_object_is_found_whatever_stands_around_it(wrapped):
    found = read(wrapped.replace("{}", WHOLE).replace("{{", "{").replace("}}", "}"))
    assert (len(found.proposals), found.rejected, found.problem) == (1, [], "")


def test_marks_of_reasoning_that_are_quoted_from_the_interview_are_words_of_the_answer():
    quoted = coding(rationale="It quotes <think> and </reasoning>.")
    assert len(read(answer(entry(11, quoted), entry(12), entry(13))).proposals) == 1


def test_a_bare_list_of_entries_is_an_answer():
    assert len(read(json.dumps([entry(11, coding()), entry(12), entry(13)])).proposals) == 1


def test_two_different_answers_are_none():
    found = read(f"{WHOLE}\nOn reflection:\n{answer(entry(11), entry(12), entry(13))}")
    assert (found.proposals, found.missing, found.problem) == ([], [11, 12, 13], "two different answers")


@pytest.mark.parametrize(
    ("said", "finish_reason", "problem"),
    [
        (f"{WHOLE} On reflection, none of them applies.", "stop", "words after the answer"),
        (f'{WHOLE}\n{{"sentences": [{{"sentence": 11, "codings": [', "length", "words after the answer"),
        (WHOLE, "length", "cut off"),
        (WHOLE, "content_filter", "the model refused"),
    ],
)
def test_an_answer_that_goes_on_or_did_not_end_by_itself_is_none(said, finish_reason, problem):
    found = read(said, finish_reason=finish_reason)
    assert (found.proposals, found.problem) == ([], problem)


def test_an_answer_that_is_in_the_turn_itself_is_none():
    turn = f"The interviewer wrote {WHOLE.replace(' ', '  ')} and asked for more."
    assert read(f"The turn contains {WHOLE}", judged=Judged([turn])).proposals == []
    assert len(read(f"The turn contains {WHOLE}").proposals) == 1


def test_the_example_of_the_prompt_repeated_first_is_not_taken_for_the_answer():
    example = answer(entry(98, coding()), entry(99))
    found = read(f"{example}\n{WHOLE}")
    assert [each.sentence for each in found.proposals] == [11]
    assert found.missing == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (coding(code="theme.invented"), "unknown code"),
        (coding(code="Theme.Balance"), "unknown code"),
        (coding(code="theme.b\u0430lance"), "unknown code"),
        (coding(code=None), "malformed: code"),
        (coding(code=["theme.balance"]), "malformed: code"),
        (coding(rationale=["x"]), "malformed: rationale"),
        (coding(quote=7), "malformed: quote"),
        (coding(quote=""), "no quote"),
        ({"code": "theme.balance"}, "no quote"),
        (coding(quote="It is a tendency"), "quote is not in the sentence"),
        (coding(quote="ask … first"), "quote is not in the sentence"),
        (coding(quote="."), "quote is not in the sentence"),
        (coding(level="latent"), "latent was not asked for"),
        ("theme.balance", "malformed: item"),
    ],
)
def test_a_coding_that_was_not_asked_for_or_has_no_evidence_is_kept_aside(wrong, reason):
    found = read(answer(entry(11, wrong, coding(code="move.elicit")), entry(12), entry(13)))
    assert [each["reason"] for each in found.rejected] == [reason]
    assert [each.code for each in found.proposals] == ["move.elicit"]
    assert found.missing == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (entry(99, coding()), "sentence was not asked about"),
        (entry("011", coding()), "malformed: sentence"),
        (entry("+11", coding()), "malformed: sentence"),
        (entry("1_1", coding()), "malformed: sentence"),
        (entry("١١", coding()), "malformed: sentence"),
        (entry("9" * 40, coding()), "malformed: sentence"),
        (entry("99", coding()), "sentence was not asked about"),
        (entry(True), "malformed: sentence"),
        (entry(11.0), "malformed: sentence"),
        ({"codings": []}, "malformed: sentence"),
        ({"sentence": 11}, "malformed: codings"),
        ({"sentence": 11, "codings": {"code": "theme.balance"}}, "malformed: codings"),
        ("11", "malformed: entry"),
        ([], "malformed: entry"),
    ],
)
def test_an_entry_that_is_none_is_kept_aside_and_its_sentence_stays_missing(wrong, reason):
    found = read(answer(wrong, entry(12), entry(13)))
    assert [each["reason"] for each in found.rejected] == [reason]
    assert (found.missing, found.proposals) == ([11], [])


def test_what_is_kept_of_a_rejected_item_is_short_and_can_be_stored_whatever_it_was():
    deep = []
    for _ in range(800):
        deep = [deep]
    found = read(answer(entry(deep), entry(10**400), entry(11, coding(code="x" * 5_000)), entry(12), entry(13)))
    assert [each["sentence"] for each in found.rejected] == ["(a list)", str(10**400)[:100], 11]
    assert found.rejected[2]["code"] == "x" * 100


def test_what_is_nested_as_deeply_as_can_be_read_is_kept_aside_like_anything_else():
    whole = answer(entry(11), entry(12), entry(13))
    for depth in range(850, 1_010):
        nested = '{"sentence": ' + "[" * depth + "]" * depth + ', "codings": []}, '
        found = read(whole.replace('[{"sentence"', "[" + nested + '{"sentence"', 1))
        assert found.missing in ([], [11, 12, 13])


def test_a_quote_ends_with_the_last_accent_of_its_last_letter():
    sentence = "So the cafe\u0301 closed."
    assert answers.find_quote("THE CAFÉ", sentence) == (3, 12)


def test_a_sentence_is_prepared_once_however_often_it_is_quoted(monkeypatch):
    """An answer of a megabyte with fifteen thousand wrong quotes held a worker for two minutes."""
    prepared = []

    def count(text):
        prepared.append(text)
        return answers.fold(text)

    monkeypatch.setattr(answers, "_fold_once", lru_cache(maxsize=8)(count))
    wrong = [coding(quote=f"never {number}") for number in range(300)]
    found = read(answer(entry(11, *wrong), entry(12), entry(13)))
    assert len(prepared) == 1
    assert found.rejected[-1]["reason"] == "and 100 more"


def test_what_is_said_twice_counts_once():
    found = read(answer(entry(11, coding(), coding(rationale="again")), entry(11), entry(12), entry(13)))
    assert len(found.proposals) == 1
    assert [each["reason"] for each in found.rejected] == ["named twice", "sentence named twice"]


ONCE = {"sentences": SENTENCES, "codes": CODES, "once": ["theme.balance"]}
TWICE = answer(
    entry(11, coding(), coding(code="move.elicit")),
    entry(12, coding(quote="a tendency"), coding(code="move.elicit", quote="not a rule")),
    entry(13, coding(quote="say more")),
)


def test_of_a_code_given_once_per_answer_the_first_is_taken_and_each_other_is_told_of():
    found = parse_response(TWICE, **ONCE)
    assert [(each.sentence, each.code) for each in found.proposals] == [
        (11, "theme.balance"),
        (11, "move.elicit"),
        (12, "move.elicit"),
    ]
    assert found.rejected == [
        {"sentence": number, "code": "theme.balance", "reason": "second in this answer"} for number in (12, 13)
    ]
    assert (found.missing, found.problem) == ([], "")


def test_a_code_given_once_per_answer_may_follow_one_that_was_not_taken():
    said = answer(entry(11, coding(quote="not there")), entry(12, coding(quote="a tendency")), entry(13))
    found = parse_response(said, **ONCE)
    assert [each.sentence for each in found.proposals] == [12]
    assert [item["reason"] for item in found.rejected] == ["quote is not in the sentence"]


def test_a_control_sentence_is_no_part_of_the_answer_in_which_a_code_is_given_once():
    found = parse_response(TWICE, **ONCE, controls=[12])
    assert [each.sentence for each in found.proposals if each.code == "theme.balance"] == [11, 12]
    assert [item["sentence"] for item in found.rejected] == [13]


def test_without_the_rule_a_code_may_be_given_to_every_sentence():
    assert [each.sentence for each in read(TWICE).proposals if each.code == "theme.balance"] == [11, 12, 13]


def test_a_coding_refused_for_its_quote_may_be_given_again_with_a_true_one():
    found = read(answer(entry(11, coding(quote="never"), coding()), entry(12), entry(13)))
    assert [each["reason"] for each in found.rejected] == ["quote is not in the sentence"]
    assert len(found.proposals) == 1


@pytest.mark.parametrize(
    ("number", "quote", "words"),
    [
        (11, "ask first", "ask  first"),
        (11, "ASK FIRST.", "ask  first."),
        (11, "  would\nask ", "would ask"),
        (12, 'is "a tendency", not', "is “a tendency”, not"),
        (12, "'a tendency'", "a tendency"),
        (12, "“a tendency”", "“a tendency”"),
    ],
)
def test_a_quote_may_differ_in_spaces_quotation_marks_and_case(number, quote, words):
    entries = [entry(each, *([coding(quote=quote)] if each == number else [])) for each in SENTENCES]
    found = read(answer(*entries))
    assert found.rejected == []
    place = found.proposals[0].quote
    assert place is not None
    assert SENTENCES[number][place[0] : place[1]] == words


def test_a_quote_may_compose_accents_otherwise():
    sentence = "Jose\u0301 fragt, wie groß."
    raw = answer(entry(1, coding(quote="jos\u00e9 FRAGT, wie gross")))
    found = parse_response(raw, sentences={1: sentence}, codes=CODES)
    assert [each.quote for each in found.proposals] == [(0, len(sentence) - 1)]


def test_levels_count_only_where_they_were_asked_for():
    given_level = answer(entry(11, coding(level="latent"), coding(code="move.elicit", level="semantic")), *MORE)
    found = read(given_level, reads_latent=True)
    assert [each.level for each in found.proposals] == ["latent", "semantic"]
    for wrong, reason in (
        ({}, "no level"),
        ({"level": "deep"}, "malformed: level"),
        ({"level": []}, "malformed: level"),
    ):
        found = read(answer(entry(11, coding(**wrong)), *MORE), reads_latent=True)
        assert [each["reason"] for each in found.rejected] == [reason]


MORE = (entry(12), entry(13))


@pytest.mark.parametrize(
    ("useless", "problem"),
    [
        ("", "empty answer"),
        ("   \n", "empty answer"),
        ("<think>and so on", "empty answer"),
        ("I see no codes.", "no JSON object with a list of sentences"),
        ("Ich sehe keine Codes in diesem Text.", "no JSON object with a list of sentences"),
        ('{"Sätze": [{"Satz": 11}]}', "no JSON object with a list of sentences"),
        ('{"sentences": {}}', "no JSON object with a list of sentences"),
        ("[]", "no JSON object with a list of sentences"),
        ("null", "no JSON object with a list of sentences"),
        ('{"sentences": [', "cut off before the first complete item"),
        ('{"sentences": [{"sentence": 11, "codings": [{"rationale": "It w', "cut off before the first complete item"),
        ('{"tool_calls": [{"name": "code"}]}', "a tool call instead of an answer"),
        ('{"name": "answer", "arguments": {"sentences": []}}', "a tool call instead of an answer"),
        ('[{"name": "answer", "input": {"sentences": []}}]', "a tool call instead of an answer"),
    ],
)
def test_an_answer_of_no_use_says_why_and_all_is_missing(useless, problem):
    assert read(useless) == ParsedAnswer([], [], [11, 12, 13], problem)


def test_the_end_of_the_call_tells_why_there_are_no_words():
    assert read("", finish_reason="tool_calls").problem == "a tool call instead of an answer"
    assert read("I cannot help with that.", finish_reason="refusal").problem == "the model refused"
    assert read("", finish_reason="content_filter").problem == "the model refused"


def test_of_an_answer_that_is_cut_off_anywhere_the_whole_entries_are_kept():
    for cut in range(len(WHOLE)):
        found = read(WHOLE[:cut], finish_reason="length")
        answered = {11, 12, 13} - set(found.missing)
        assert answered in (set(), {11}, {11, 12}, {11, 12, 13})
        assert len(found.proposals) == (11 in answered)
        assert bool(found.problem) == (not answered)


def test_a_cut_answer_keeps_what_came():
    assert read(WHOLE[: WHOLE.index(', {"sentence": 13')], finish_reason="length").missing == [13]


def test_what_is_no_number_spoils_only_what_it_is_said_of():
    raw = WHOLE.replace('"rationale"', '"score": NaN, "weight": Infinity, "rationale"')
    assert len(read(raw).proposals) == 1
    found = read(WHOLE.replace("12", "NaN"))
    assert (found.missing, [each["reason"] for each in found.rejected]) == ([12], ["malformed: sentence"])


@pytest.mark.parametrize("number", ["1e999", "12345678901234567890123", "-1", "{}", '"\\ud800\\u0000"'])
def test_strange_numbers_are_kept_aside_so_that_they_can_be_stored(number):
    found = read(WHOLE.replace('"sentence": 12', f'"sentence": {number}'))
    assert (found.missing, len(found.rejected), len(found.proposals)) == ([12], 1, 1)
    json.dumps(found.rejected).encode()


def test_a_megabyte_of_reason_is_cut_and_stays_text():
    found = read(answer(entry(11, coding(rationale="<script>" + "x" * 1_000_000)), *MORE))
    assert len(found.proposals[0].rationale) == MAX_RATIONALE
    assert found.proposals[0].rationale.startswith("<script>")


def test_what_no_database_takes_is_written_out():
    found = read(answer(entry(11, coding(rationale="a\x00b\ud800")), *MORE))
    assert found.proposals[0].rationale == "a\\x00b\\ud800"


def test_the_items_kept_aside_are_limited_and_their_number_is_not_lost():
    found = read(answer(*(entry(1000 + number) for number in range(500))))
    assert len(found.rejected) == MAX_REJECTED + 1
    assert found.rejected[-1]["reason"] == "and 300 more"


@pytest.mark.parametrize(
    "hostile",
    [
        "{" * 200_000,
        "[" * 200_000,
        '{"a":' * 100_000,
        '{"a":{"a":' * 400 + "[" + "1," * 500_000,
        '"sentences": [' * 50_000,
        '{"sentences": [' * 50_000,
        "<think>" * 100_000,
    ],
)
def test_text_that_only_looks_like_an_answer_is_read_to_its_end(hostile):
    found = read(hostile)
    assert (found.proposals, found.missing) == ([], [11, 12, 13])


@given(
    st.text(max_size=300)
    | st.recursive(
        st.integers(10, 14) | st.sampled_from(["ask first", *CODES, "latent"]) | st.none() | st.floats(allow_nan=True),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["sentences", "sentence", "codings", "code", "quote", "level"]), inner)
        ),
        max_leaves=30,
    ).map(json.dumps)
)
def test_no_answer_names_anything_that_was_not_asked(text):
    found = read(text)
    for proposal in found.proposals:
        assert proposal.sentence in SENTENCES
        assert proposal.code in CODES
        assert proposal.quote is not None
        assert proposal.level == "semantic"
    assert set(found.missing) <= set(SENTENCES)
    assert not found.problem or len(found.missing) == len(SENTENCES)
