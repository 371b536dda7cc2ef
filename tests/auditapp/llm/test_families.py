"""Families of models by their names."""

from __future__ import annotations

import pytest

from auditapp.llm.pure.families import group_by_family, name_family


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
def test_a_family_is_what_stands_before_the_first_digit_or_sign(model: str, family: str) -> None:
    assert name_family(model) == family


def test_only_families_with_several_models_are_listed() -> None:
    models = [("a", "gpt-4o"), ("b", "openai/gpt-5"), ("c", "llama3"), ("d", "4o"), ("e", "4o")]
    assert group_by_family(models) == {"gpt": ["a", "b"]}
