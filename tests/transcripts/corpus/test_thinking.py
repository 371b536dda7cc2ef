"""Reasoning that a server returns in the answer itself is never part of the answer, in whatever form it comes."""

import pytest

from transcripts.formats import thinking
from transcripts.formats.thinking import drop_thinking

BLOCKS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<Thought>", "</Thought>"),
    ("<seed:think>", "</seed:think>"),
    ('<think type="slow">', "</think>"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("<reasoning>", "</reasoning>"),
    ("<REASONING>", "</REASONING>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|start|>assistant<|channel|>commentary to=x.y <|constrain|>json<|message|>", "<|call|>"),
    ("analysisWe weigh it. ", "assistantfinal"),
    ("analysis\nWe weigh it.\n", "\nassistantfinal\n"),
    ("analysis\nWe weigh it.\n", "\nfinal\n"),
    ("analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("Here is my thought process: ", "Here is my response: "),
    ("Here's my thought process:\n", "\nHere's my response:\n"),
]
DRAFT = '{"Race": "Black"} or so.'
ANSWER = "Person: Unknown\nReasoning “none”"


@pytest.mark.parametrize(("begin", "end"), BLOCKS)
def test_reasoning_in_any_form_is_left_out(begin, end):
    answer, never_ends = drop_thinking(f"{begin}{DRAFT}{end}{ANSWER}")
    assert (answer.strip(), never_ends) == (ANSWER, False)


@pytest.mark.parametrize(("begin", "end"), BLOCKS)
def test_reasoning_that_never_ends_takes_all_that_follows_it(begin, end):
    assert drop_thinking(begin + DRAFT) == ("", True)


@pytest.mark.parametrize(("begin", "end"), BLOCKS[:18])
def test_reasoning_that_began_in_the_chat_template_is_left_out(begin, end):
    assert drop_thinking(f"{DRAFT}\n{end}\n{ANSWER}") == ("\n" + ANSWER, False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>", ANSWER),
        (f"{DRAFT}assistantfinal{ANSWER}", ANSWER),
        (f"<|begin_of_thought|>{DRAFT}<|begin_of_solution|>{ANSWER}<|end_of_solution|>", ANSWER),
        (f"<|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>", ANSWER),
        (f"{ANSWER}\n<reflection>{DRAFT}</reflection>", ANSWER + "\n"),
        (f"<think>a<reflection>b</reflection>{DRAFT}</think>{ANSWER}", ANSWER),
        (f"<think>a</think><scratchpad>{DRAFT}</scratchpad>{ANSWER}", ANSWER),
        (f"<think>a<think>b</think>{DRAFT}</think>{ANSWER}", ANSWER),
        (f"<think>I write “</think>” last. {DRAFT}</thinking>{ANSWER}", ANSWER),
        (f"<|channel|>final<|message|>{ANSWER}<|channel|>final<|message|>{DRAFT}", ANSWER + DRAFT),
    ],
)
def test_marks_that_are_nested_mixed_or_left_out_never_let_reasoning_through(text, answer):
    assert drop_thinking(text) == (answer, False)


def test_a_reflection_that_ends_does_not_end_the_thinking_around_it():
    assert drop_thinking(f"<thinking>a<reflection>b</reflection>{DRAFT}") == ("", True)


@pytest.mark.parametrize(
    "text",
    [
        "My reasoning: an analysis of the text and a reflection on it, then a final thought.",
        "analysis of the text: nothing is said.",
        "Analysis\nThe text says nothing.\n\nFinal\nPerson: Unknown",
        'Person: Unknown\nReasoning "the tag <think> tag is odd"',
        'It holds the word "<reasoning>" and `</think>`, no more.',
        "The </think> tag is in the text.",
        "The assistant's final answer: Person: Unknown",
        'The word "assistantfinal" is no English.',
        "[Reasoning] none [value]",
        "a < b and c > d, <b>bold</b>, <reasonable>, [thinker], <|im_end|>",
        "Here is my response: Person: Unknown",
        "He is thinking; <thin> is no tag.",
        '{"Race": "White"}\nReasoning: final\nanalysis',
    ],
)
def test_text_that_only_mentions_such_words_is_left_as_it_is(text):
    assert drop_thinking(text) == (text, False)


class _Counted:
    """A compiled pattern that counts how far its searches reach."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.searches = 0

    def __getattr__(self, name):
        self.searches += 1
        return getattr(self.pattern, name)


@pytest.mark.parametrize(
    "part",
    [
        "<",
        "<|",
        "<think>",
        "</think>",
        "<think ",
        "[t",
        "&lt;",
        "<|channel|>",
        "assistantfina",
        "analysis\n",
        "◁",
        '"<think>"',
    ],
)
def test_a_long_text_of_marks_is_looked_at_once(part, monkeypatch):
    may_begin = _Counted(thinking._MARK_MAY_BEGIN)
    monkeypatch.setattr(thinking, "_MARK_MAY_BEGIN", may_begin)
    text = part * (100_000 // len(part))
    drop_thinking(text)
    assert may_begin.searches <= text.count("<") + text.count("[") + text.count("◁") + text.count("&") + 1
