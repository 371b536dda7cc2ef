from __future__ import annotations

from typing import Any

from django import forms

from auditapp.sob.judging.actions.wordings import check_name
from auditapp.sob.models import Wording
from auditapp.sob.pure.instruments import TASKS, list_variants
from auditapp.sob.pure.parsing import ATTRIBUTES
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.ui.forms import RowForm
from transcripts.ui.typed_text import MAX_TEXT


class WordingForm(RowForm):
    """A wording of a study's own: what it asks for, and its text under each task."""

    based_on = forms.ChoiceField(choices=[], label="Based on", help_text="The wording to start from.")
    characteristics = forms.CharField(
        widget=forms.Textarea({"rows": 10}),
        max_length=4000,
        initial="\n".join(name.capitalize() for name in ATTRIBUTES),
        help_text="One on each line, in the order in which they are asked for. Strict counting counts only these.",
    )

    class Meta(RowForm.Meta):
        model = Wording
        fields = ("name",)

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        own = Wording.objects.filter(project=project).order_by("name").values_list("name", flat=True).distinct()
        self.fields["based_on"].choices = [(name, name) for name in (*list_variants(), *own)]  # type: ignore[attr-defined]
        for task, label in TASKS:
            self.fields[task] = forms.CharField(
                widget=forms.Textarea({"rows": 16, "spellcheck": "false"}),
                max_length=MAX_TEXT,
                required=False,
                strip=False,
                label=f"Text, {label.lower()}",
                help_text="If empty, the text of the wording above is used, with its list of characteristics replaced.",
            )

    def clean_name(self) -> str:
        """The name, refused before the texts are looked at where it could not be kept."""
        name: str = self.cleaned_data["name"]
        try:
            check_name(self.project, name)
        except Refused as error:
            raise forms.ValidationError(str(error)) from error
        return name

    def read(self, *, is_anew: bool = False) -> dict[str, Any]:
        """What ``plan_texts`` takes, of a valid form: the characteristics as typed, a line each, and the text of each task, unless
        both are to be written from the list."""
        typed = self.cleaned_data
        return {
            "based_on": typed["based_on"],
            "characteristics": [line.strip() for line in typed["characteristics"].splitlines() if line.strip()],
            "texts": {} if is_anew else {task: typed[task] for task, _ in TASKS},
        }
