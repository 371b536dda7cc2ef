from __future__ import annotations

from django import forms

from auditapp.sob.pure.measures.mapping import Rows

MAX_ROWS_SHOWN = 200


class MappingForm(forms.Form):
    """The reason for a change of the mapping; ``based_on`` names the table that was shown."""

    based_on = forms.CharField(max_length=40, widget=forms.HiddenInput)
    reason = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Kept with the table and shown beside every figure that it counts.",
    )


class MappingRowForm(forms.Form):
    """One target with its two lists, one value per line; without a target there is none."""

    target = forms.CharField(max_length=100, required=False, help_text="As the texts name it.")
    self_values = forms.CharField(
        label="Self", required=False, widget=forms.Textarea(attrs={"rows": 4}), help_text="One value per line."
    )
    dominant_values = forms.CharField(
        label="Dominant", required=False, widget=forms.Textarea(attrs={"rows": 4}), help_text="One value per line."
    )
    out = forms.BooleanField(label="Remove this row", required=False)

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        if not cleaned.get("target") and (cleaned.get("self_values") or cleaned.get("dominant_values")):
            self.add_error("target", "These values have no target. Name it, or clear both lists.")
        return cleaned


MappingRowFormSet = forms.formset_factory(
    MappingRowForm,
    extra=2,
    max_num=MAX_ROWS_SHOWN,
    absolute_max=MAX_ROWS_SHOWN + 10,
)


def read_rows(formset: forms.BaseFormSet[MappingRowForm]) -> Rows:
    """The rows of a valid form set as a mapping has them. Raises ``ValueError`` for a target that is named twice."""
    rows: dict[str, dict[str, list[str]]] = {}
    for form in formset.forms:
        target = form.cleaned_data.get("target", "")
        if not target or form.cleaned_data.get("out"):
            continue
        if target in rows:
            raise ValueError(f"{target} has two rows. Put its values into one.")
        rows[target] = {
            "self": form.cleaned_data["self_values"].splitlines(),
            "dominant": form.cleaned_data["dominant_values"].splitlines(),
        }
    return rows


def fill_in(rows: Rows) -> list[dict[str, str]]:
    """A mapping as the form set shows it."""
    return [
        {
            "target": target,
            "self_values": "\n".join(lists.get("self", ())),
            "dominant_values": "\n".join(lists.get("dominant", ())),
        }
        for target, lists in rows.items()
    ]
