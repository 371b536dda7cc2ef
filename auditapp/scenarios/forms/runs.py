from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from auditapp.batches.forms import LaunchOptionsForm, list_variants
from auditapp.llm.models import ModelVariant
from auditapp.scenarios.actions.runs import MAX_CONDITION_NAME
from auditapp.scenarios.pure.measures import PROMPTED
from auditapp.scenarios.queries.runs import list_suites
from transcripts.projects.models import Project
from transcripts.ui.forms import RowsField, limit_size
from transcripts.ui.typed_text import MAX_REASON

MAX_UPLOAD_BYTES = 20_000_000
CONDITIONS = 3
"""How many conditions the page of a launch has room for; the command takes more."""


class LoadForm(forms.Form):
    """A file of scripts of scenarios."""

    file = forms.FileField(
        label="File of scripts",
        help_text="JSON lines in UTF-8, a script on each, as docs/reference/formats.md describes. It is taken whole or not at all.",
        validators=[limit_size(MAX_UPLOAD_BYTES, "Load a larger one with `manage.py scenario load`.")],
    )
    suite = forms.CharField(
        required=False, max_length=100, help_text="The suite of scripts that name none; without it the file's name."
    )
    reason = forms.CharField(
        required=False,
        max_length=MAX_REASON,
        help_text="Why, where the study has a script of this name with other words: the new words are its next number.",
    )


class ReportForm(forms.Form):
    """Which cases are listed, and whose codings give the outcomes of cases that name a code."""

    coder = forms.ChoiceField(label="Codings of", required=False)
    only = forms.BooleanField(
        label="Only unexpected",
        required=False,
        help_text="Cases with an unexpected answer, and the threads that have it.",
    )

    def __init__(self, data: object, counts: Mapping[str, int]) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        people = [(who, f"{who} alone ({count} threads)") for who, count in counts.items()]
        self.fields["coder"].choices = [("", "all coders, as adjudicated"), *people]  # type: ignore[attr-defined]
        if not people:
            del self.fields["coder"]


class LaunchForm(LaunchOptionsForm):
    """The suite, conditions, models and options of a launch."""

    what = (
        ("Suite", ("suite",)),
        (
            "Conditions",
            (
                "has_unprompted",
                *(f"{part}_{number}" for number in range(1, CONDITIONS + 1) for part in ("name", "text")),
            ),
        ),
        ("Models", ("models",)),
    )

    suite = forms.ChoiceField(help_text="The latest number of each of its scripts is played.")
    has_unprompted = forms.BooleanField(
        required=False,
        initial=True,
        label="Unprompted",
        help_text="Each case is also played without a system text of the team. What stays without one is measured against it.",
    )
    models = RowsField(
        queryset=ModelVariant.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one model."},
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        suites = list_suites(project)
        self.fields["suite"].choices = [(each.name, f"{each.name}: {each.cases:,} scripts") for each in suites]  # type: ignore[attr-defined]
        for number in range(1, CONDITIONS + 1):
            self.fields[f"name_{number}"] = forms.CharField(
                required=False,
                max_length=MAX_CONDITION_NAME,
                label=f"Name of condition {number}",
                initial=PROMPTED if number == 1 else "",
                help_text=f"“{PROMPTED}” is the one that unprompted plays are measured against." if number == 1 else "",
            )
            self.fields[f"text_{number}"] = forms.CharField(
                required=False,
                strip=False,
                label=f"System text of condition {number}",
                widget=forms.Textarea({"rows": 4}),
                help_text="It comes before each script's own. Leave name and text empty for no such condition."
                if number == 1
                else "",
            )
        self.fields["models"].queryset = list_variants()  # type: ignore[attr-defined]
        self.fields["repeats"].help_text = "How often each case is played under each condition."
        self.fields["pilot"].label = "Pilot, calls of each arm"
        self.fields["pilot"].help_text = (
            "As many whole plays are held first as make so many calls. Then the batch waits for your approval, with an estimate. "
            "They count. 0 for no pilot."
        )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        for number in range(1, CONDITIONS + 1):
            name, text = given.get(f"name_{number}", ""), given.get(f"text_{number}", "")
            if text.strip() and not name:
                self.add_error(f"name_{number}", "Name this condition.")
            if name and not text.strip() and f"name_{number}" in self.changed_data:
                self.add_error(f"text_{number}", f"Write the system text of {name}, or take its name out.")
        names = [name.casefold() for name in self._read_conditions(given)]
        named = [given.get(f"name_{number}", "") for number in range(1, CONDITIONS + 1) if given.get(f"text_{number}")]
        if len(names) < len([name for name in named if name]):
            self.add_error(None, "Each condition has a name of its own.")
        return given

    def read(self) -> dict[str, Any]:
        """What was chosen, for ``plan_scenarios`` and ``launch_scenarios``."""
        chosen = self.cleaned_data
        return {
            "suite": chosen["suite"],
            "variants": list(chosen["models"]),
            "conditions": self._read_conditions(chosen),
            "has_unprompted": chosen["has_unprompted"],
        }

    @staticmethod
    def _read_conditions(given: Mapping[str, Any]) -> dict[str, str]:
        pairs = (
            (given.get(f"name_{number}", ""), given.get(f"text_{number}", "")) for number in range(1, CONDITIONS + 1)
        )
        return {name: text.replace("\r\n", "\n") for name, text in pairs if name and text.strip()}
