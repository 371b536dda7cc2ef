from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.db.models import QuerySet

from auditapp.batches.forms import seed_field
from auditapp.batches.models import Batch
from auditapp.benchmarks.gender_cues.actions.rationales import MAX_SEED
from auditapp.benchmarks.gender_cues.pure.tables import AXES
from transcripts.accounts.models import User
from transcripts.studies.models import Project
from transcripts.studies.roles import ROLES, Permission

BATCHES_OFFERED = 100


class ReportForm(forms.Form):
    """With which other probe this one is compared; by what Table 2 counts, and whose codings it is made of."""

    axis = forms.ChoiceField(
        label="Table 2 by",
        required=False,
        choices=[(AXES[0], "name-inferred category"), (AXES[1], "the model's prediction")],
    )
    coder = forms.ChoiceField(label="Codings of", required=False)

    def __init__(self, data: object, counts: Mapping[str, int], *, has_themes: bool, others: QuerySet[Batch]) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        offered = [(str(each.pk), f"{each.pk} · {each.title}") for each in others[:BATCHES_OFFERED]]
        if offered:
            self.fields["with"] = forms.ChoiceField(
                label="Compare with", required=False, choices=[("", "this probe itself"), *offered]
            )
        if not has_themes:
            del self.fields["axis"]
        if counts:
            self.fields["coder"].choices = [(who, f"{who} ({count})") for who, count in counts.items()]  # type: ignore[attr-defined]
        else:
            del self.fields["coder"]


class RationalesForm(forms.Form):
    """The study in which rationales are coded."""

    into = forms.ModelChoiceField(
        queryset=Project.objects.none(),
        label="Study",
        to_field_name="slug",
        empty_label=None,
        help_text="A study of their own, of which you are a lead or an owner. Who codes there should not read this report before.",
    )
    seed = seed_field(largest=MAX_SEED, help_text="Of the order of the rationales.")

    def __init__(self, *args: object, project: Project, user: User, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        roles = [key for key, role in ROLES.items() if Permission.IMPORT in role.permissions]
        own = Project.objects.filter(memberships__user=user, memberships__role__in=roles).exclude(pk=project.pk)
        self.fields["into"].queryset = own.order_by("name")  # type: ignore[attr-defined]
