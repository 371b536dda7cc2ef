"""Answers as models write them, in our own wording, each with the interpretation that a person would give it."""

import json
from collections import Counter
from pathlib import Path

import pytest

from auditapp.benchmarks.sob.pure.parsing import parse_answer

ANSWERS = json.loads(
    (Path(__file__).resolve().parents[3] / "data" / "sob" / "answers.json").read_text(encoding="utf-8")
)
DEFAULT_FINISH = "stop"


@pytest.mark.parametrize("entry", ANSWERS, ids=[f"{number}: {entry['shows']}" for number, entry in enumerate(ANSWERS)])
def test_the_answer_is_read_as_a_person_would_read_it(entry):
    parsed = parse_answer(entry["answer"], finish_reason=entry.get("finish_reason", DEFAULT_FINISH))
    assert (str(parsed.outcome), parsed.attributes) == (entry["outcome"], entry.get("attributes", {}))


def test_the_table_is_large_and_repeats_nothing():
    assert len(ANSWERS) >= 150
    assert (
        max(Counter((entry["answer"], entry.get("finish_reason", DEFAULT_FINISH)) for entry in ANSWERS).values()) == 1
    )
    assert {entry["outcome"] for entry in ANSWERS} == {
        *("attributed", "unknown", "refusal", "truncated", "off_format", "empty")
    }
