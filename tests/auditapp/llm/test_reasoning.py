from pathlib import Path

import pytest

from auditapp.llm.providers.base import BUDGETS, MIN_BUDGET, SettingRefused, Traits, max_output_tokens
from auditapp.llm.providers.openai_compatible import write_body
from tests.auditapp.llm.asking import write_request

DOCUMENTATION = Path(__file__).resolve().parents[3] / "docs" / "reference" / "providers.md"
FRAME = {"model", "messages", "max_tokens"}


def write_rest(reasoning, trait, parameters=None):
    """The body of a chat completion without what every body has."""
    body = write_body(write_request(reasoning=reasoning, traits=Traits(reasoning=trait), parameters=parameters or {}))
    return {name: value for name, value in body.items() if name not in FRAME}


@pytest.mark.parametrize("trait", ["none", "effort", "nested_effort", "budget", "template"])
def test_nothing_is_said_of_reasoning_where_the_variant_says_nothing(trait):
    assert write_rest("", trait) == {}


@pytest.mark.parametrize(
    ("reasoning", "trait", "written"),
    [
        ("high", "effort", {"reasoning_effort": "high"}),
        ("off", "effort", {"reasoning_effort": "none"}),
        ("on", "effort", {"reasoning_effort": "medium"}),
        ("High ", "nested_effort", {"reasoning": {"effort": "high"}}),
        ("on", "nested_effort", {"reasoning": {"enabled": True}}),
        ("off", "nested_effort", {"reasoning": {"enabled": False}}),
        ("2000", "nested_effort", {"reasoning": {"max_tokens": 2000}}),
        ("on", "template", {"chat_template_kwargs": {"enable_thinking": True}}),
        ("off", "template", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("off", "none", {}),
    ],
)
def test_one_word_is_written_as_each_api_takes_it(reasoning, trait, written):
    assert write_rest(reasoning, trait) == written


def test_the_variants_own_parameters_of_the_same_object_stay():
    nested = write_rest("high", "nested_effort", {"reasoning": {"exclude": True, "effort": "low"}})
    assert nested == {"reasoning": {"exclude": True, "effort": "high"}}
    template = write_rest("off", "template", {"chat_template_kwargs": {"custom": 1}})
    assert template == {"chat_template_kwargs": {"custom": 1, "enable_thinking": False}}


@pytest.mark.parametrize(
    ("reasoning", "trait"),
    [("high", "none"), ("high", "template"), ("2000", "template"), ("2000", "effort"), ("low", "budget")],
)
def test_a_word_the_model_cannot_be_asked_with_is_refused_and_never_dropped(reasoning, trait):
    with pytest.raises(SettingRefused, match="m "):
        write_rest(reasoning, trait)


@pytest.mark.parametrize(
    ("reasoning", "trait", "tokens"),
    [
        ("", "budget", 50),
        ("off", "budget", 50),
        ("on", "budget", 50 + 8192),
        ("high", "budget", 50 + 16384),
        ("2000", "budget", 2050),
        ("2000", "nested_effort", 2050),
        ("high", "effort", 50),
        ("on", "template", 50),
    ],
)
def test_what_a_call_may_be_billed_for_is_the_limit_that_is_sent(reasoning, trait, tokens):
    request = write_request(reasoning=reasoning, traits=Traits(reasoning=trait))
    assert max_output_tokens(request) == tokens
    if trait != "budget":
        assert write_body(request)["max_tokens"] == tokens


def test_the_budgets_behind_the_words_are_in_the_documentation():
    row = next(line for line in DOCUMENTATION.read_text(encoding="utf-8").splitlines() if line.startswith("| `budget`"))
    for tokens in {*BUDGETS.values(), MIN_BUDGET}:
        assert f"{tokens:,}" in row
