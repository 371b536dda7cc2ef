"""Forms for codebooks: codes and families of a draft, whole versions and their files, examples, and proposals.

Also the kinds of fields that these forms share.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, cast

from django import forms
from django.utils.text import slugify

from transcripts.codebook.models import Beginning, Code, CodeChange, CodeExample, CodeFamily, CodeProposal
from transcripts.codebook.pure.checking import MAX_ATTRIBUTES
from transcripts.codebook.pure.editing import make_identifier
from transcripts.codebook.pure.keyword_rules import check_rule
from transcripts.codebook.queries import FamilyNode
from transcripts.formats.codebook_rules import COLOR, RESERVED_KEYS, CodeAttribute, CodeContent, FamilyContent
from transcripts.studies.models import MethodChoice, Study
from transcripts.ui.forms import NumberField, OnceForm, RowForm, limit_size

Choices = Iterable[tuple[str, Any]]
# Each has enough contrast on light and dark pages (at least 3:1) for a swatch or a border. No single colour suits words on
# both, so none is used for words, and none is ever the only sign.
PALETTE = {
    "#a8559a": "plum",
    "#c25187": "pink",
    "#c94a5c": "red",
    "#c2661a": "orange",
    "#a86b25": "brown",
    "#94791a": "gold",
    "#7d861c": "olive",
    "#3d8a49": "green",
    "#1f8a86": "teal",
    "#2f7fb5": "blue",
    "#7a68c9": "violet",
    "#6f7b8a": "slate",
}
MAX_PARTS_SHOWN = 6


def text_field(label: str, *, rows: int = 3, help_text: str = "", required: bool = False) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows, "dir": "auto"})
    return forms.CharField(label=label, required=required, help_text=help_text, widget=widget)


def line_field(label: str, *, help_text: str = "", required: bool = False) -> forms.CharField:
    widget = forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"})
    return forms.CharField(label=label, required=required, help_text=help_text, widget=widget)


def offer(form: forms.BaseForm, name: str, choices: Choices) -> None:
    """Set the choices of a field, which are known only when the form is made."""
    cast(forms.ChoiceField, form.fields[name]).choices = list(choices)


class LinesField(forms.CharField):
    """Several names, one on each line."""

    widget = forms.Textarea

    def prepare_value(self, value: object) -> object:
        return "\n".join(map(str, value)) if isinstance(value, tuple | list) else value

    def clean(self, value: object) -> Any:
        return tuple(super().clean(value).splitlines())


class RulesField(LinesField):
    """Keyword rules, one per line; errors name the line."""

    def clean(self, value: object) -> Any:
        lines = super().clean(value)
        wrong = [
            f"Line {number}: {sentence}"
            for number, line in enumerate(lines, 1)
            if line.strip() and (sentence := check_rule(" ".join(line.split())))
        ]
        if wrong:
            raise forms.ValidationError(wrong)
        return lines


class ColorField(forms.ChoiceField):
    """A colour of the palette, the present colour, or none."""

    def __init__(self) -> None:
        choices = [("", "none"), *PALETTE.items()]
        super().__init__(
            label="Colour", required=False, choices=choices, help_text="Always shown together with the name."
        )

    def offer(self, color: str) -> None:
        """Also offer a colour that came from a file."""
        if color and color not in PALETTE:
            self.choices = [("", "none"), *PALETTE.items(), (color, color)]

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).lower()

    def valid_value(self, value: Any) -> bool:
        return super().valid_value(value) or bool(COLOR.fullmatch(str(value)))


class SeenForm(forms.Form):
    """A form for a code or a family of a draft; ``revision`` is the one that the page showed."""

    revision = NumberField(min_value=0, required=False)


class FamilyForm(SeenForm, RowForm):
    """A family of codes and its rules."""

    color = ColorField()

    class Meta(RowForm.Meta):
        model = CodeFamily
        fields = (
            "name",
            "description",
            "rules",
            "unit",
            "applies_to",
            "carries_level",
            "carries_enactment",
            "once_per_answer",
        )
        help_texts: ClassVar = {
            "unit": "If you change this later, all its codes count as changed in meaning.",
            "applies_to": "A coding on other turns is refused. If you change this later, all its codes count as changed in "
            "meaning.",
        }

    def read_content(self) -> FamilyContent:
        """The family as entered."""
        values = {name: value for name, value in self.cleaned_data.items() if name != "revision"}
        return FamilyContent(identifier="", **values)


NEEDED_WHEN = "required once the definition, include or exclude changes"


class CodeForm(SeenForm, RowForm):
    """A code. ``place`` is a family (``f:themes``) or a code it is under (``c:theme.balance``)."""

    place = forms.ChoiceField(label="Place", help_text="The family, or the code it is under.")
    effect = forms.ChoiceField(
        label="Effect of the new wording",
        required=False,
        choices=[
            (CodeChange.Effect.WORDING, "Same meaning in other words: codings stay as they are"),
            (CodeChange.Effect.NARROWING, "Narrower: some sentences no longer belong"),
            (CodeChange.Effect.WIDENING, "Wider: some sentences now belong that did not before"),
        ],
        widget=forms.RadioSelect,
        help_text="Narrower and wider meanings require re-review.",
    )
    key = line_field("Key", help_text="One letter or digit that applies the code at the desk; may be empty.")
    aliases = LinesField(
        label="Other names",
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
        help_text="One on each line. At the desk, a search finds the code by any of them.",
    )
    terms = LinesField(
        label="Terms",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text="One per line, in the language of the interviews. A coding is prompted if the interviewer has already used one "
        "of them; a coding can be unprompted only if its code has terms. [challenge] means any question of that kind.",
    )
    keyword_rules = RulesField(
        label="Keyword rules",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto", "spellcheck": "false"}),
        help_text=(
            "One on each line. The keyword annotator suggests the code for a sentence that matches any of these "
            "lines: words, “phrases”, * for any ending of a word, & between two that must both occur, - before one that must "
            "not. For example: promis* & keep"
        ),
    )
    color = ColorField()
    reason = text_field("Reason for the change", rows=2, help_text="Kept in the history of the code.")

    class Meta(RowForm.Meta):
        model = Code
        fields = ("name", "definition", "include", "exclude", "machine_definition", "group", "is_category", "source")

    def __init__(self, *args: Any, families: Sequence[FamilyNode], asks_effect: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "place", [(node.family.name, list(_offer_places(node))) for node in families])
        if asks_effect:
            # What a label says instead of "optional".
            self.fields["effect"].needed_when = NEEDED_WHEN  # type: ignore[attr-defined]
        else:
            del self.fields["effect"]

    def clean_key(self) -> str:
        return str(self.cleaned_data["key"]).lower()

    def read_content(self, families: Sequence[FamilyNode], attributes: tuple[CodeAttribute, ...]) -> CodeContent:
        """The code as entered."""
        kind, _, identifier = self.cleaned_data["place"].partition(":")
        family_of = {node.code.identifier: each.family for each in families for node in each.codes}
        family = identifier if kind == "f" else family_of[identifier].identifier
        names = ("name", "definition", "include", "exclude", "machine_definition", "key", "group", "aliases")
        values = {
            name: self.cleaned_data[name]
            for name in (*names, "terms", "keyword_rules", "is_category", "color", "source")
        }
        parent = identifier if kind == "c" else ""
        return CodeContent(identifier="", family=family, parent=parent, attributes=attributes, **values)


def _offer_places(node: FamilyNode) -> Iterable[tuple[str, str]]:
    yield f"f:{node.family.identifier}", f"{node.family.name}: at the top"
    for code in node.codes:
        yield f"c:{code.code.identifier}", f"{'– ' * code.depth}under {code.code.name}"


class AttributeForm(forms.Form):
    """A question that codings with a code answer; without a label there is no question."""

    label = line_field("Question")
    kind = forms.ChoiceField(
        label="Answered by", choices=[("text", "a line of text"), ("choice", "one of the answers below")]
    )
    choices = LinesField(
        label="Answers",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        help_text="One on each line, if the answer is a choice.",
    )
    required = forms.BooleanField(
        label="Every coding needs an answer",
        required=False,
        help_text="It is asked as soon as the code is applied. Otherwise it can be answered in the details of the coding.",
    )
    key = forms.CharField(widget=forms.HiddenInput, required=False)


_AttributeFormSet = forms.formset_factory(
    AttributeForm, extra=1, max_num=MAX_ATTRIBUTES, absolute_max=MAX_ATTRIBUTES + 1
)


class AttributeFormSet(_AttributeFormSet):  # type: ignore[misc, valid-type]
    """The questions of a code and an empty form for one more."""

    def read_attributes(self) -> tuple[CodeAttribute, ...]:
        """The questions as entered; a new one gets a key made from its words."""
        found: list[CodeAttribute] = []
        for form in self.forms:
            label = " ".join(form.cleaned_data.get("label", "").split())
            if not label:
                continue
            choices = tuple(" ".join(choice.split()) for choice in form.cleaned_data["choices"] if choice.strip())
            taken = [attribute.key for attribute in found]
            key = form.cleaned_data["key"] or make_identifier(label.lower()[:30], prefix="", used=taken)
            found.append(
                CodeAttribute(
                    key=_spell_key(key),
                    label=label,
                    kind=form.cleaned_data["kind"],
                    choices=choices,
                    required=form.cleaned_data["required"],
                )
            )
        return tuple(found)


def _spell_key(key: str) -> str:
    plain = re.sub(r"[^a-z0-9_]", "", key)
    return plain if plain[:1].isalpha() else f"q{plain}"


def list_attributes(code: CodeContent) -> list[dict[str, object]]:
    """The questions of a code as the forms show them."""
    return [
        {name: getattr(each, name) for name in ("label", "kind", "choices", "required", "key")}
        for each in code.attributes
    ]


class NeedsReason(RowForm):
    """The reason for a change, which the codebook alone does not show. ``current`` is the code if somebody has changed it in the
    meantime."""

    needed = ("reason",)
    current: Any = None

    class Meta(RowForm.Meta):
        model = CodeChange
        fields = ("reason",)

    @property
    def status(self) -> int:
        """The HTTP status of the page that shows it."""
        return 409 if self.current else 422 if self.errors else 200


class ReasonForm(SeenForm, NeedsReason):
    """The reason for a change of a code."""


class MergeForm(NeedsReason):
    """A merge of two or more codes into one of them, or into a new one."""

    codes = forms.MultipleChoiceField(label="Codes to merge", widget=forms.CheckboxSelectMultiple)
    target = forms.ChoiceField(label="They become")
    name = line_field("Name of the new code", help_text="Only if they become a new code.")
    key = line_field("Its key", help_text="One letter or digit. If empty, the first key of the merged codes is used.")
    definition = text_field("Its definition", rows=4)
    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    NEW = "new"

    def __init__(self, *args: Any, offered: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = list(offered)
        offer(self, "codes", offered)
        offer(self, "target", [(self.NEW, "a new code"), *offered])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("target") == self.NEW and not cleaned.get("name", "").strip():
            self.add_error("name", "Name the new code, or choose the code that is kept.")
        return cleaned


class PartForm(RowForm):
    """One of the codes that result from a split; without a name there is none."""

    optional = ("name",)

    class Meta(RowForm.Meta):
        model = Code
        fields = ("name", "definition")
        # That of a code which is renamed.
        help_texts: ClassVar = {"name": ""}


PartFormSet = forms.formset_factory(PartForm, extra=3, max_num=MAX_PARTS_SHOWN, absolute_max=MAX_PARTS_SHOWN * 2)


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
        # If a file was chosen, it is used even if the option was not ticked.
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
    """The file that was previewed, and decisions that cannot be read from it."""

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
    """The meaning of an example for a code."""

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
    """A sentence, identified by interview and number, and what it shows."""

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
    """The proposal of a code. The page sets the fields for the sentence."""

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
    """The answer to a proposal."""

    ACCEPT, USE, DECLINE = "accept", "use", "decline"

    verdict = forms.ChoiceField(choices=[(ACCEPT, "Add it to the draft"), (USE, "Use it now"), (DECLINE, "Decline it")])

    class Meta(RowForm.Meta):
        model = CodeProposal
        fields = ("answer",)
