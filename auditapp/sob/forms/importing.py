from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.template.defaultfilters import filesizeformat

from auditapp.sob.forms.launching import DatasetChoice
from auditapp.sob.models import Dataset
from auditapp.sob.pure.instruments import BASE_TASK, TASKS
from transcripts.projects.models import Project

# A larger file takes longer to store than a page should be waited for, and all of it is held in memory.
MAX_UPLOAD_BYTES = 100_000_000


class ImportForm(forms.Form):
    """Answers of another run, and the texts they belong to. ``checked`` is a hash of what was previewed."""

    dataset = DatasetChoice(
        queryset=Dataset.objects.none(), empty_label=None, label="Texts", help_text="The set that was asked about."
    )
    file = forms.FileField(
        help_text="The authors' sob_results.csv, or an Inspect log (.json, .eval) of the same task.",
        error_messages={"empty": "The file is empty. Choose the one that holds the answers."},
    )
    task = forms.ChoiceField(
        choices=[("", "as the file says"), *TASKS, (BASE_TASK, "Base")],
        required=False,
        help_text="For prompts that have another name in the file.",
    )
    checked = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        found = Dataset.objects.filter(project=project).select_related("project")
        self.fields["dataset"].queryset = found.annotate(  # type: ignore[attr-defined]
            n_texts=Count("texts"), n_targets=Count("texts__target", distinct=True)
        ).order_by("pk")

    def clean_file(self) -> object:
        file = self.cleaned_data["file"]
        if file.size > MAX_UPLOAD_BYTES:
            raise ValidationError(
                f"The file has {filesizeformat(file.size)}; a page takes at most {filesizeformat(MAX_UPLOAD_BYTES)}. Import it "
                "with `manage.py sob_import`."
            )
        return file
