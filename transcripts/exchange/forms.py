"""What people choose to bring in."""

from __future__ import annotations

from django import forms

from transcripts.ui.fields import limit_size

MAX_FILE_SIZE = 200 * 1024 * 1024


class StudyFileForm(forms.Form):
    """A project file."""

    file = forms.FileField(
        label="Project file",
        help_text="A .qdpx or .qde file of ATLAS.ti, MAXQDA, NVivo, QualCoder or this program.",
        widget=forms.ClearableFileInput(attrs={"accept": ".qdpx,.qde"}),
        validators=[limit_size(MAX_FILE_SIZE)],
    )
