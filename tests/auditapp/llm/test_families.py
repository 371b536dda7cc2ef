"""Families of models by their names."""

import pytest

from auditapp.llm.pure.model_settings import group_by_family, may_think, name_family


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("llama3.1:8b", "llama"),
        ("mistral:7b", "mistral"),
        ("qwen2.5-coder", "qwen"),
        ("gpt-4o-mini", "gpt"),
        ("4o", ""),
    ],
)
def test_a_family_is_what_stands_before_the_first_digit_or_sign(model, family):
    assert name_family(model) == family


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("gpt-5.1", True),
        ("openai/gpt-5-mini", True),
        ("o3", True),
        ("o4-mini", True),
        ("openai/gpt-oss-20b", True),
        ("deepseek-r1:8b", True),
        ("deepseek/deepseek-reasoner", True),
        ("Qwen/Qwen3-8B", True),
        ("qwen/qwq-32b", True),
        ("mistralai/Magistral-Small-2506", True),
        ("microsoft/Phi-4-reasoning", True),
        ("allenai/Olmo-3-32B-Think", True),
        ("gemini-2.5-flash", True),
        ("gpt-4o", False),
        ("gpt-4.1-mini", False),
        ("llama3.1:8b", False),
        ("Qwen/Qwen2.5-7B-Instruct", False),
        ("claude-sonnet-4-5", False),
        ("olmo-2", False),
        ("SmolLM2-135M-Instruct", False),
        ("gemini-2.0-flash", False),
    ],
)
def test_models_that_think_are_known_by_their_names(model, thinks):
    assert may_think(model) is thinks


def test_only_families_with_several_models_are_listed():
    models = [("a", "gpt-4o"), ("b", "openai/gpt-5"), ("c", "llama3"), ("d", "4o"), ("e", "4o")]
    assert group_by_family(models) == {"gpt": ["a", "b"]}
