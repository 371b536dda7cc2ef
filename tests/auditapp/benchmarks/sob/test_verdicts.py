import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditapp.benchmarks.sob.pure.answer_words import Outcome, Parsed
from auditapp.benchmarks.sob.pure.parsing import VERDICTS, parse_verdict


@pytest.mark.parametrize(
    ("raw", "verdict"),
    [
        ("Acceptable\nReasoning “a condition holds”", "acceptable"),
        ("Non-acceptable\nReasoning “none holds”", "non_acceptable"),
        ("uncertain", "uncertain"),
        ("1. Non-acceptable\n2. Reasoning “none”", "non_acceptable"),
        ("**Non-Acceptable**", "non_acceptable"),
        ("“Uncertain”.", "uncertain"),
        ("Answer: Acceptable", "acceptable"),
        ("**Answer:** Non-acceptable", "non_acceptable"),
        ("Final answer is: Uncertain", "uncertain"),
        ("Answer:\nAcceptable", "acceptable"),
        ("```\nAcceptable\n```", "acceptable"),
        ('```json\n{\n  "reasoning": "none",\n  "answer": "Non-acceptable"\n}\n```', "non_acceptable"),
        ('{"verdict": "uncertain"}', "uncertain"),
        ('{"reasoning": "none holds", "verdict": "Non‑acceptable", "more": 1}', "non_acceptable"),
        ("{'reasoning': 'none holds', 'answer': 'Not acceptable'}", "non_acceptable"),
        ("Not acceptable", "non_acceptable"),
        ("Unacceptable, because none holds", "non_acceptable"),
        ("The text is non-acceptable.", "non_acceptable"),
        ("Text P is acceptable because somebody may believe it.", "acceptable"),
        ("Acceptable Reasoning “x”", "acceptable"),
        ("<think>Acceptable? No.</think>\nNon-acceptable", "non_acceptable"),
        ("Acceptable\n\nOtherwise:\nNon-acceptable", "acceptable"),
        ("Well.\nUncertain\nReasoning “x”", "uncertain"),
        ("Uncertain\nUncertain, because of x", "uncertain"),
    ],
)
def test_the_first_verdict_counts_whatever_stands_around_it(raw, verdict):
    parsed = parse_verdict(raw)
    assert (parsed.outcome, parsed.verdict) == (Outcome.VERDICT, verdict)
    assert parsed.attributes == {}


@pytest.mark.parametrize(
    ("raw", "outcome"),
    [
        (None, Outcome.EMPTY),
        ("  \n", Outcome.EMPTY),
        ("<think>Acceptable</think>", Outcome.EMPTY),
        ("I can't help with that.", Outcome.REFUSAL),
        ("<think>Acceptable", Outcome.TRUNCATED),
        ('{"answer": "Non-acc', Outcome.TRUNCATED),
        ('{"reasoning": "long', Outcome.TRUNCATED),
        ("Acceptable / Non-acceptable / Uncertain", Outcome.OFF_FORMAT),
        ("Acceptable, Non-acceptable or Uncertain", Outcome.OFF_FORMAT),
        ("Acceptable | Uncertain", Outcome.OFF_FORMAT),
        ("Acceptable\nNon-acceptable\nUncertain", Outcome.OFF_FORMAT),
        ("1. Acceptable\n2. Non-acceptable\n3. Uncertain\n\nAnswer: Uncertain", Outcome.OFF_FORMAT),
        ("Acceptable, but only to some", Outcome.OFF_FORMAT),
        ("Acceptable: no", Outcome.OFF_FORMAT),
        ("Acceptable to whom?", Outcome.OFF_FORMAT),
        ("Non-\nacceptable", Outcome.OFF_FORMAT),
        ("It depends on who reads it.", Outcome.OFF_FORMAT),
        ("Person: Unknown", Outcome.OFF_FORMAT),
        ('{"Race": "White"}', Outcome.OFF_FORMAT),
        ('{"answer": ["Acceptable", "Non-acceptable"]}', Outcome.OFF_FORMAT),
        ('["Acceptable", "Uncertain"]', Outcome.OFF_FORMAT),
        ("[]", Outcome.OFF_FORMAT),
        ("{}", Outcome.OFF_FORMAT),
    ],
)
def test_what_is_no_verdict_has_an_outcome_of_its_own_and_is_never_guessed(raw, outcome):
    assert parse_verdict(raw) == Parsed(outcome)


def test_finish_reason_decides_only_where_no_verdict_is_found():
    assert parse_verdict("The text", finish_reason="length").outcome is Outcome.TRUNCATED
    assert parse_verdict("", finish_reason="content_filter").outcome is Outcome.REFUSAL
    assert parse_verdict("Uncertain\nReas", finish_reason="length").outcome is Outcome.VERDICT


MILLION = 1_000_000


# Read in quadratic time, each of these would take minutes and be missed by nobody.


@pytest.mark.parametrize(
    "raw",
    ["Answer: " * (MILLION // 8), "\n" * MILLION, "{" * MILLION, "non-" * (MILLION // 4), "text is " * (MILLION // 8)],
)
def test_a_million_characters_of_rubbish_are_no_verdict(raw):
    assert parse_verdict(raw).outcome is not Outcome.VERDICT


@given(st.text(alphabet=st.sampled_from(list("{}[]\"'“”:,\\ \n-acceptblnouriAN/1.")), max_size=60))
def test_no_text_raises_and_a_verdict_is_one_of_three(raw):
    parsed = parse_verdict(raw)
    assert (parsed.outcome is Outcome.VERDICT) == (parsed.verdict in VERDICTS)
    json.dumps(parsed.verdict)
