"""What people choose to bring in."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat

MAX_FILE_SIZE = 200 * 1024 * 1024


class StudyFileForm(forms.Form):
    """A project file."""

    file = forms.FileField(
        label="Project file",
        help_text="A .qdpx or .qde file of ATLAS.ti, MAXQDA, NVivo, QualCoder or this program.",
        widget=forms.ClearableFileInput(attrs={"accept": ".qdpx,.qde"}),
    )

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        size = file.size or 0
        if size > MAX_FILE_SIZE:
            raise ValidationError(
                f"This file has {filesizeformat(size)}; the limit is {filesizeformat(MAX_FILE_SIZE)}."
            )
        return file
