"""What people type about sentences that show what a code means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms

from transcripts.codebook.forms.fields import Choices, line_field, offer
from transcripts.codebook.models import CodeExample
from transcripts.codebook.queries import FamilyNode
from transcripts.ui.forms import RowForm


class ExampleForm(RowForm):
    """What an example shows about a code."""

    kind = forms.ChoiceField(
        label="It",
        choices=[
            (CodeExample.Kind.INCLUDE, "belongs to the code"),
            (CodeExample.Kind.EXCLUDE, "does not belong, although it may seem to"),
            (CodeExample.Kind.ANCHOR, "anchors what the code means"),
        ],
    )

    class Meta(RowForm.Meta):
        model = CodeExample
        fields: ClassVar[tuple[str, ...]] = ("note",)


class PinnedExampleForm(ExampleForm):
    """A sentence, by its interview and number, and what it shows."""

    interview = forms.ChoiceField(label="Interview")
    number = line_field("Sentence", required=True, help_text="Its number at the desk, such as 14 or 14a.")

    def __init__(self, *args: Any, interviews: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "interview", interviews)


class InventedExampleForm(ExampleForm):
    """A sentence that was invented for the codebook, and what it shows."""

    needed = ("words",)

    class Meta(ExampleForm.Meta):
        fields = ("words", "note")


class PinForm(ExampleForm):
    """A code for a given sentence, and what the sentence shows about it."""

    code = forms.ChoiceField(label="Code")

    def __init__(self, *args: Any, families: Sequence[FamilyNode], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        codes = [
            (node.family.name, [(each.code.identifier, each.code.name) for each in node.codes]) for node in families
        ]
        offer(self, "code", codes)
