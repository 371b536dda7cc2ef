"""What people type about studies and codebooks."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat
from django.utils.text import slugify

from transcripts.projects.models import Project

LARGEST_FILE = 5 * 1024 * 1024


class StudyForm(forms.Form):
    """A new study."""

    name = forms.CharField(
        max_length=200, label="Name", help_text="What people will see, such as “Cultural schemas, round two”."
    )
    slug = forms.CharField(
        max_length=60,
        required=False,
        label="Address",
        help_text="Small letters, digits and hyphens; made from the name when left empty. It cannot be changed later.",
    )
    description = forms.CharField(
        required=False,
        label="Description",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="For the members of the study.",
    )

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or {}
        if "name" in cleaned and not cleaned.get("slug"):
            cleaned["slug"] = slugify(str(cleaned["name"]))[: Project._meta.get_field("slug").max_length].strip("-")
            if not cleaned["slug"] and "slug" not in self.errors:
                self.add_error("slug", "No address can be made from this name; give one, such as culture-2.")
        return cleaned


class CodebookFileForm(forms.Form):
    """A codebook as a CSV file."""

    file = forms.FileField(
        label="CSV file",
        help_text="The columns of the exported codebook, in any order. The whole file is taken, or none of it.",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,text/csv"}),
    )

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        size = file.size or 0
        if size > LARGEST_FILE:
            raise ValidationError(
                f"This file has {filesizeformat(size)}; a codebook has at most {filesizeformat(LARGEST_FILE)}."
            )
        return file
