"""Forms for interviews: files, details, consent, and the list of what is replaced in copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.template.defaultfilters import filesizeformat

from transcripts.corpus.changes import FIELDS, SEALED, name_kind, read_details
from transcripts.corpus.models import Consent, Interview, RedactionList, Turn
from transcripts.corpus.pure.previews import ChoiceRefused, read_choices
from transcripts.corpus.pure.redacting import BadEntry, Entry, read_lines
from transcripts.formats.interviews import FORMATS
from transcripts.formats.interviews.base import MAX_BASIS_LENGTH
from transcripts.formats.interviews.conversations import PROMPT_KINDS
from transcripts.history.views import NextForm
from transcripts.ui.forms import ReplacingForm, RowForm
from transcripts.ui.typed_text import MAX_REASON

# The folder for temporary files of the web service (docker-compose.yml) holds a request and its files: twice as much.
MAX_UPLOAD_SIZE = 240 * 1024 * 1024
ROLE, TITLE = "role:", "title:"
ROLE_CHOICES = [(str(value), str(label)) for value, label in Turn.Role.choices]
# Coding is allowed unless somebody said no.
SCOPE_CHOICES = [(str(value), str(label)) for value, label in Consent.Scope.choices if value != Consent.Scope.CODING]
GIVEN, REFUSED = "given", "refused"
MAX_LIST_LENGTH = 100_000


class DetailsForm(ReplacingForm, RowForm):
    """The details of an interview, with the kind of each prompt of its interviewer (``kind-`` and the turn)."""

    reason = forms.CharField(label="Why you change this", max_length=MAX_REASON, required=False)

    class Meta(RowForm.Meta):
        model = Interview
        fields = tuple(FIELDS)

    def __init__(self, data: Any = None, *, interview: Interview, stored: Mapping[str, object] | None = None) -> None:
        super().__init__(data, stored=read_details(interview) if stored is None else stored)
        if interview.is_masked:
            for name in SEALED:
                self.fields[name].disabled = True
        self.questions = list(interview.turns.filter(role=Turn.Role.INTERVIEWER).order_by("position"))
        for turn in self.questions:
            known = [turn.prompt_kind] if turn.prompt_kind not in PROMPT_KINDS else []
            self.fields[name_kind(turn.pk)] = forms.ChoiceField(
                label=f"Kind of the prompt in turn {turn.position}",
                choices=[(kind, kind.replace("_", " ") or "not known") for kind in [*PROMPT_KINDS, *known]],
                initial=turn.prompt_kind,
                required=False,
            )

    @property
    def details(self) -> list[forms.BoundField]:
        """The fields of the interview itself."""
        return [self[name] for name in (*FIELDS, "reason")]

    @property
    def prompts(self) -> list[tuple[Turn, forms.BoundField]]:
        """Every prompt with the field for its kind."""
        return [(turn, self[name_kind(turn.pk)]) for turn in self.questions]

    def read_kinds(self) -> dict[int, str]:
        """The kinds by turn, for the prompts in the posted form."""
        names = {turn.pk: name_kind(turn.pk) for turn in self.questions}
        return {pk: self.cleaned_data[name] for pk, name in names.items() if name in self.data}


class SeveralFilesInput(forms.ClearableFileInput):
    """Lets a person choose more than one file."""

    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """One or more files, each checked like a single file."""

    widget = SeveralFilesInput

    def clean(self, data: object, initial: object = None) -> list[UploadedFile[bytes]]:
        given: Sequence[object] = data if isinstance(data, list) and data else [data]
        files = [super(SeveralFilesField, self).clean(one, initial) for one in given]
        size = sum(file.size or 0 for file in files)
        if size > MAX_UPLOAD_SIZE:
            raise ValidationError(
                f"These files are {filesizeformat(size)} in total; the limit of the page is {filesizeformat(MAX_UPLOAD_SIZE)}. "
                "Import them in parts, or use `manage.py interview import` on the server."
            )
        return files


class ImportForm(forms.Form):
    """Files of interviews and how to read them."""

    uploads = SeveralFilesField(label="Files", help_text="If one file fails, nothing is imported.")
    format = forms.ChoiceField(
        label="Format",
        required=False,
        choices=[("auto", "Detect from the file"), *((key, reader.label) for key, reader in FORMATS.items())],
        help_text="Choose the format yourself if the report shows that a file was read in the wrong format.",
    )
    mask = forms.BooleanField(
        label="Mask these threads",
        required=False,
        help_text=(
            "Each gets a random label. Model, vendor, date, system prompts and everything else that would reveal its condition "
            "are sealed, and names of models in the text are covered, until a lead unmasks them."
        ),
    )

    def clean_format(self) -> str:
        return self.cleaned_data["format"] or "auto"


def read_posted_choices(data: QueryDict) -> dict[str, object]:
    """The choices for the files that were shown, as the options of a job; see ``read_choices``. ``without`` names files that are
    left out. What was not chosen is empty, which cancels an earlier choice; masking stays."""
    listed, taken = data.getlist("listed"), set(data.getlist("take"))
    chosen: dict[str, object] = {
        "without": data.getlist("without"),
        "leave_out": [each for each in listed if each not in taken],
        "speakers": data.getlist("speaker"),
        "roles": _read_named(data, ROLE),
        "titles": _read_named(data, TITLE),
        "model": data.get("model", ""),
        "consent": dict.fromkeys(data.getlist("consent"), True),
        "basis": data.get("basis", ""),
    }
    return {**chosen, "mask": True} if "mask" in data else chosen


def _read_named(data: QueryDict, prefix: str) -> dict[str, str]:
    """The choices by name. A name in several files has a field for each of them; the changed one counts."""
    given = {name.removeprefix(prefix): [one for one in data.getlist(name) if one.strip()] for name in data}
    return {
        name: given[name][-1] for full in data if full.startswith(prefix) and given[name := full.removeprefix(prefix)]
    }


class ChosenForm(forms.Form):
    """The choices for all previewed files. The form is valid if the choices for each file are valid too."""

    model = forms.CharField(label="Model, if a file names none", max_length=200, required=False)
    consent = forms.MultipleChoiceField(
        label="Consent, if a file says nothing",
        choices=SCOPE_CHOICES,
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    basis = forms.CharField(label="Basis of the consent", max_length=MAX_BASIS_LENGTH, required=False)

    def __init__(self, data: QueryDict | None = None, *, initial: Mapping[str, object] | None = None) -> None:
        super().__init__(data, initial=dict(initial or {}), auto_id="choose-%s")
        self.fields["basis"].needed_when = "needed with a consent"  # type: ignore[attr-defined]
        for name in ("model", "basis"):
            self.fields[name].widget.attrs |= {"autocomplete": "off", "dir": "auto"}
        # The choices that the page shows, including those for each file; see ``read_posted_choices``.
        self.options: Mapping[str, object] = (initial or {}) if data is None else read_posted_choices(data)

    def clean(self) -> None:
        try:
            read_choices(self.options)
        except ChoiceRefused as error:
            if error.option not in self.errors:
                self.add_error(error.option if error.option in self.fields else None, str(error))


class ConsentForm(RowForm):
    """One record of consent for one or more interviews, which are ticked in the table."""

    scope = forms.ChoiceField(label="Scope", choices=[("", "Choose one"), *Consent.Scope.choices])
    given = forms.ChoiceField(
        label="Consent",
        choices=[(GIVEN, "Given: it may be done"), (REFUSED, "Not given, or withdrawn: it may not be done")],
        widget=forms.RadioSelect,
    )
    needed = ("basis",)
    field_order = ("scope", "given", "basis")

    class Meta(RowForm.Meta):
        model = Consent
        fields = ("basis",)

    @property
    def is_given(self) -> bool:
        return bool(self.cleaned_data["given"] == GIVEN)


class EntriesField(forms.CharField):
    """Entries as text, one per line; its value is a list of entries."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        try:
            return read_lines(str(value or ""))
        except BadEntry as error:
            raise forms.ValidationError(str(error)) from error

    def validate(self, value: list[Entry]) -> None:
        """Accept an empty list, which ends redaction."""

    def run_validators(self, value: object) -> None:
        """Entries are checked as a whole, by the action."""


class RedactionForm(NextForm, RowForm):
    """The next list."""

    entries = EntriesField(
        label="Entries",
        required=False,
        help_text="One entry per line: the text, an arrow (->) and its replacement, for example: Anna Berg -> [PERSON 1]",
        widget=forms.Textarea({"rows": 10, "dir": "auto", "spellcheck": "false"}),
    )
    needed = ("based_on",)
    field_order = ("entries", "reason")

    class Meta(RowForm.Meta):
        model = RedactionList
        fields = ("reason",)

    def clean_entries(self) -> list[Entry]:
        typed = str(self.data.get("entries", ""))
        if len(typed) > MAX_LIST_LENGTH:
            raise forms.ValidationError(f"The list has {len(typed):,} characters; the limit is {MAX_LIST_LENGTH:,}.")
        return list(self.cleaned_data["entries"])
