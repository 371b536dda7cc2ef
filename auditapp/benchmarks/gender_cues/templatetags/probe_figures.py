from __future__ import annotations

from django import template

from auditapp.benchmarks.gender_cues.pure.parsing import CAVEATS

register = template.Library()


@register.simple_tag
def list_caveats() -> str:
    """What must be read with every figure of the probe."""
    return " ".join(CAVEATS)
