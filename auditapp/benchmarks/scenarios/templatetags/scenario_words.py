from __future__ import annotations

from collections.abc import Mapping

from django import template

from auditapp.benchmarks.scenarios.models import Script
from auditapp.benchmarks.scenarios.pure.outcomes import read_expected

register = template.Library()


@register.filter
def feature_name(identifier: str, names: Mapping[str, str]) -> str:
    """The name of a feature, or its identifier where the codebook does not have it."""
    return names.get(identifier, identifier)


@register.filter
def expected_words(script: Script) -> str:
    """What the last answer of a script is held against, in a few words."""
    if "answer" not in script.case:
        return "none"
    expected = read_expected(script.case["answer"])
    if expected.labels:
        words = f"{expected.label}, of {', '.join(expected.labels)}"
    elif expected.number is not None:
        words = f"{expected.number:g}" + (f", within {expected.within:g}" if expected.within else "")
    else:
        words = (
            f"a line like {expected.pattern}" if expected.pattern else f"the code {expected.code}, applied by people"
        )
    return f"{words}; a probability after “{expected.probability}”" if expected.probability else words
