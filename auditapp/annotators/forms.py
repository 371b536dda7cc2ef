"""Forms for having interviews annotated: pilots, annotators without a model, control sentences, reasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from uuid import uuid4

from django import forms

from auditapp.annotators.actions.annotators import LATENT_NEEDS_REASON
from auditapp.annotators.actions.launching import MAX_POSITIVES
from auditapp.annotators.models import Annotator, ControlSentence
from auditapp.annotators.pure.learning import MIN_INTERVIEWS, MIN_POSITIVES
from auditapp.annotators.queries.annotators import find_codes, list_asked_families
from auditapp.batches.forms import LaunchForm, LaunchOptionsForm, list_variants
from auditapp.batches.launching import DEFAULT_PILOT, PILOT_SHARE, PlannedArm, settle_pilot
from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.corpus.models import Interview
from transcripts.studies.models import Study
from transcripts.ui.forms import RowForm, RowsField
from transcripts.ui.typed_text import MAX_REASON


class SmallPilotOptions(LaunchOptionsForm):
    """Which model is asked, and how the calls are sent.

    In a batch with many small arms, a fixed number of pilot calls for each arm would be most of the batch, or all of it. There
    are no repeats, because a second run of the same model would look like a run of another model.
    """

    repeats = None  # type: ignore[assignment]
    model = forms.ModelChoiceField(queryset=ModelVariant.objects.none(), empty_label=None)
    without_schema = forms.BooleanField(
        required=False,
        label="Ask without structured answers",
        help_text="Otherwise answers must follow a JSON schema if a probe found that the model's server honours one. The same "
        "model with and without a schema is listed as two.",
    )
    pilot = forms.IntegerField(
        min_value=0,
        max_value=10_000,
        required=False,
        label="Pilot, calls per arm",
        help_text="These calls are sent first. Then the batch shows an estimate and waits for approval. Their answers count. If "
        f"empty, one call in {PILOT_SHARE} is used, with at least one and at most {DEFAULT_PILOT} per arm; 0 for no "
        "pilot.",
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model"].queryset = list_variants()  # type: ignore[attr-defined]

    def settle_pilot(self, arms: Sequence[PlannedArm], input_ids: Sequence[int]) -> None:
        """Fill in the number if none was typed, so that the review shows it and passes it to the launch.

        Not for a file, which has no pilot, because another route may be chosen later.
        """
        options = self.options()
        if options.pilot is not None:
            return
        pilot = settle_pilot(arms, input_ids, options)
        self.cleaned_data["pilot"] = pilot
        settled = self.data.copy()  # type: ignore[attr-defined]
        settled[self.add_prefix("pilot")] = str(pilot)
        self.data = settled


class OfflineForm(LaunchForm):
    """Which kind of annotator, from how many examples, and which interviews."""

    kind = forms.ChoiceField(
        choices=[
            (Annotator.Kind.RULES.value, Annotator.Kind.RULES.label),
            (Annotator.Kind.LEARNT.value, Annotator.Kind.LEARNT.label),
        ],
        widget=forms.RadioSelect,
        label="Annotator",
    )
    minimum = forms.IntegerField(
        min_value=2,
        max_value=MAX_POSITIVES,
        initial=MIN_POSITIVES,
        label="Minimum number of examples for a code",
        help_text=f"Sentences with the code, in at least {MIN_INTERVIEWS} interviews. Not used by keyword rules.",
    )
    interviews = RowsField(
        queryset=Interview.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="If you choose none, all are used. Sentences that this annotator has already annotated are skipped.",
    )
    idempotency_key = forms.UUIDField(initial=uuid4, widget=forms.HiddenInput)

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = cast("forms.ModelMultipleChoiceField[Interview]", self.fields["interviews"])
        field.queryset = Interview.objects.filter(study=study)

    def clean_interviews(self) -> list[Interview] | None:
        return list(self.cleaned_data["interviews"]) or None


class ControlSentenceForm(RowForm):
    """An invented sentence and its known codes."""

    codes = forms.MultipleChoiceField(
        required=False,
        label="Its codes",
        help_text="Choose every code of these families that applies. If you choose none, no code applies.",
        widget=forms.CheckboxSelectMultiple,
    )
    field_order = ("text", "codes")

    class Meta(RowForm.Meta):
        model = ControlSentence
        fields = ("text",)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.MultipleChoiceField", self.fields["codes"]).choices = [
            (code.identifier, f"{code.family.name}: {code.name}") for code in find_codes(study)
        ]


class FamilyReasonForm(forms.Form):
    """Why figures are computed for a family that is coded reflexively."""

    family = forms.CharField(max_length=100, widget=forms.HiddenInput)
    reason = forms.CharField(
        label="Reason for computing them anyway",
        help_text="The reason is kept in the history. The figures are shown once.",
        max_length=MAX_REASON,
        widget=forms.Textarea({"rows": 2}),
    )


class PreannotationForm(SmallPilotOptions):
    """Which model annotates which interviews, for which code families, and with which settings."""

    what = (
        ("Interviews and codes", ("interviews", "families")),
        ("Annotator", ("model", "mode", "reads_latent", "latent_reason", "without_schema")),
    )

    interviews = RowsField(
        queryset=Interview.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="If you choose none, all are annotated. Only interviews with consent are sent to a model outside this site.",
    )
    families = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Code families",
        help_text="If you choose none, all families coded by sentence are used. Families coded by turn are used only if chosen. "
        "Each adds one call per turn of the model, or of the interviewer if its codes are for the interviewer's turns.",
    )
    mode = forms.ChoiceField(
        choices=Annotator.Mode.choices,
        initial=Annotator.Mode.FAMILY,
        required=False,
        widget=forms.RadioSelect,
        label="One call per",
        help_text="One call per code multiplies the cost by the number of codes in a family. Use it for codes that are annotated "
        "poorly with one call per family, according to calibration.",
    )
    reads_latent = forms.BooleanField(
        required=False,
        label="Annotate latent meaning too",
        help_text="Otherwise a code is suggested only if the sentence says it outright (semantic).",
    )
    latent_reason = forms.CharField(
        required=False,
        max_length=MAX_REASON,
        label="Reason for annotating latent meaning",
        help_text="Required if the box above is ticked. Kept in the history of the study.",
    )

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["interviews"].queryset = Interview.objects.filter(study=study)  # type: ignore[attr-defined]
        families = list_asked_families(current_version(study))
        self.fields["families"].choices = [(family.identifier, name_choice(family)) for family in families]  # type: ignore[attr-defined]

    def clean_mode(self) -> str:
        return str(self.cleaned_data["mode"] or Annotator.Mode.FAMILY)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("reads_latent") and not cleaned.get("latent_reason"):
            self.add_error("latent_reason", LATENT_NEEDS_REASON)
        return cleaned


def name_choice(family: CodeFamily) -> str:
    """The choice of a family for a launch."""
    if family.unit != CodeFamily.Unit.TURN:
        return family.name
    is_questions = family.applies_to == CodeFamily.AppliesTo.INTERVIEWER
    return f"{family.name} ({'whole turns of the interviewer' if is_questions else 'whole turns'})"
