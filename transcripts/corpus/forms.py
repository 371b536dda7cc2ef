"""What people bring: files of interviews."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat

from transcripts.corpus.pure.readers import FORMATS

MAX_UPLOAD_SIZE = 64 * 1024 * 1024


class SeveralFilesInput(forms.ClearableFileInput):
    """Lets a person choose more than one file."""

    allow_multiple_selected = True


class SeveralFilesField(forms.FileField):
    """One file or more, each checked as a single one is."""

    widget = SeveralFilesInput

    def clean(self, data: object, initial: object = None) -> list[UploadedFile[bytes]]:
        given: Sequence[object] = data if isinstance(data, list) and data else [data]
        files = [super(SeveralFilesField, self).clean(one, initial) for one in given]
        size = sum(file.size or 0 for file in files)
        if size > MAX_UPLOAD_SIZE:
            raise ValidationError(
                f"These files have {filesizeformat(size)} together; the page takes {filesizeformat(MAX_UPLOAD_SIZE)}. "
                "Import them in parts, or use the command import_interviews on the server."
            )
        return files


class ImportForm(forms.Form):
    """Files of interviews and how to read them."""

    uploads = SeveralFilesField(label="Files", help_text="If one file fails, nothing is imported.")
    format = forms.ChoiceField(
        label="Format",
        required=False,
        choices=[("auto", "Detect from the file"), *((key, reader.label) for key, reader in FORMATS.items())],
        help_text="Choose the format yourself if the report shows that a file was read in the wrong one.",
    )

    def clean_format(self) -> str:
        return self.cleaned_data["format"] or "auto"
