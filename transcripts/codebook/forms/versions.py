"""What people type about whole versions of the codebook, the files they bring, sentences that show what a code means, and codes
that are missing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.utils.text import slugify

from transcripts.codebook.forms.codes import Choices, line_field, offer
from transcripts.codebook.models import Beginning, CodeExample, CodeProposal
from transcripts.codebook.queries import FamilyNode
from transcripts.formats.codebook_rules import RESERVED_KEYS
from transcripts.studies.models import MethodChoice, Study
from transcripts.ui.forms import NumberField, OnceForm, RowForm, limit_size

MAX_FILE_SIZE = 5 * 1024 * 1024
# With hx-preserve the file stays chosen when the form is answered.
FILE_ATTRIBUTES = {"accept": ".csv,.tsv,.txt,.json,.qdc,text/csv,application/json,text/xml", "hx-preserve": "true"}
RESERVED = ", ".join(sorted(RESERVED_KEYS))


class StudyForm(forms.Form):
    """A new study."""

    reserved_keys = RESERVED

    name = forms.CharField(
        max_length=200, label="Name", help_text="What people will see, such as “Cultural schemas, round two”."
    )
    slug = forms.CharField(
        max_length=60,
        required=False,
        label="Web address",
        help_text="Lower-case letters, digits and hyphens. If empty, it is made from the name. It cannot be changed later.",
    )
    description = forms.CharField(
        required=False,
        label="Description",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="For the members of the study.",
    )
    codebook = forms.ChoiceField(
        label="Codebook",
        widget=forms.RadioSelect,
        choices=Beginning.choices,
        initial=Beginning.BUILT_IN,
        required=False,
    )
    file = forms.FileField(
        required=False,
        label="Codebook file",
        help_text="A list of codes as CSV, or a .qdc file from any program.",
        widget=forms.FileInput(attrs=FILE_ATTRIBUTES),
        validators=[limit_size(MAX_FILE_SIZE)],
    )
    method = forms.ChoiceField(
        label="Method",
        widget=forms.RadioSelect,
        choices=MethodChoice.Method.choices,
        initial=MethodChoice.Method.REFLEXIVE,
        help_text="It can be changed later, also for single families of codes.",
        required=False,
    )

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or {}
        if "name" in cleaned and not cleaned.get("slug"):
            cleaned["slug"] = slugify(str(cleaned["name"]))[: Study._meta.get_field("slug").max_length].strip("-")
            if not cleaned["slug"] and "slug" not in self.errors:
                self.add_error("slug", "No address can be made from this name. Give one, such as culture-2.")
        # A file says what is meant, also where nothing was ticked.
        if cleaned.get("file") is not None:
            cleaned["codebook"] = Beginning.FILE
        elif cleaned.get("codebook") == Beginning.FILE and "file" not in self.errors:
            self.add_error("file", "Choose the file of the codebook, or another way to begin.")
        cleaned["codebook"] = cleaned.get("codebook") or Beginning.BUILT_IN
        cleaned["method"] = cleaned.get("method") or MethodChoice.Method.REFLEXIVE
        return cleaned


class CompareForm(forms.Form):
    """Two versions."""

    before = forms.TypedChoiceField(label="From", coerce=int)
    after = forms.TypedChoiceField(label="To", coerce=int)

    def __init__(self, *args: Any, versions: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("before", "after"):
            offer(self, name, versions)


class CodebookFileForm(forms.Form):
    """A codebook as a file."""

    reserved_keys = RESERVED

    file = forms.FileField(
        label="File",
        help_text=(
            "A list of codes as CSV, a .qdc file from any program, or JSON as exported here. If any part of the file is "
            "wrong, nothing is imported."
        ),
        widget=forms.FileInput(attrs=FILE_ATTRIBUTES),
        validators=[limit_size(MAX_FILE_SIZE)],
    )


class ConfirmForm(forms.Form):
    """The file as it was looked at, and what cannot be read from it."""

    name = forms.CharField(widget=forms.HiddenInput, max_length=255)
    content = forms.CharField(widget=forms.HiddenInput, max_length=MAX_FILE_SIZE * 2)
    keep_missing = forms.ChoiceField(
        label="Codes that are not in the file",
        choices=[("", "are removed from the draft"), ("keep", "stay in the draft")],
        required=False,
        widget=forms.RadioSelect,
    )

    def clean_content(self) -> bytes:
        try:
            return base64.b64decode(self.cleaned_data["content"], validate=True)
        except (binascii.Error, ValueError):
            raise forms.ValidationError("The file was not uploaded completely. Choose it again.") from None


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


class ProposalForm(OnceForm, RowForm):
    """A code that is missing. The fields on the sentence are made by the page."""

    DRAFT, USE = "draft", "use"

    family = forms.ChoiceField(label="Family")
    then = forms.ChoiceField(
        label="And then",
        required=False,
        choices=[("", "propose it"), (DRAFT, "add it to the draft"), (USE, "use it now, in a new version")],
        widget=forms.RadioSelect,
    )
    sure = forms.BooleanField(required=False, widget=forms.HiddenInput)
    sentence = NumberField(required=False)

    class Meta(RowForm.Meta):
        model = CodeProposal
        fields = ("name", "definition")

    def __init__(self, *args: Any, families: Choices, may_use: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "family", families)
        if not may_use:
            del self.fields["then"]


class AnswerForm(RowForm):
    """What becomes of a proposal."""

    ACCEPT, USE, DECLINE = "accept", "use", "decline"

    verdict = forms.ChoiceField(choices=[(ACCEPT, "Add it to the draft"), (USE, "Use it now"), (DECLINE, "Decline it")])

    class Meta(RowForm.Meta):
        model = CodeProposal
        fields = ("answer",)
