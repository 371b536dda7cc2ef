from __future__ import annotations

from collections.abc import Mapping

from django import forms

from auditapp.batches.forms import seed_field
from auditapp.probe.actions.rationales import MAX_SEED
from auditapp.probe.pure.tables import AXES
from transcripts.accounts.models import User
from transcripts.projects.models import Project
from transcripts.projects.roles import ROLES, Permission


class ReportForm(forms.Form):
    """By what Table 2 counts, and whose codings it is made of."""

    axis = forms.ChoiceField(
        label="Table 2 by",
        required=False,
        choices=[(AXES[0], "name-inferred category"), (AXES[1], "the model's prediction")],
    )
    coder = forms.ChoiceField(label="Codings of", required=False)

    def __init__(self, data: object, counts: Mapping[str, int]) -> None:
        super().__init__(data)  # type: ignore[arg-type]
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
