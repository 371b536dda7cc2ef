"""The forms of batches: launch options, limits, files of answers, and the selection of attempts."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from typing import ClassVar

from django import forms
from django.db.models import QuerySet
from django.forms import BoundField

from auditapp.batches.actions import MAX_NAME_LENGTH, read_name
from auditapp.batches.launching import DEFAULT_PILOT, LaunchOptions
from auditapp.batches.models import Arm, Attempt, Batch
from auditapp.llm.models import Capabilities, ModelVariant, ProviderAccount
from auditapp.llm.providers.base import ErrorClass
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.forms import RowForm, limit_size

MAX_ANSWER_FILE = 512 * 1024 * 1024


def list_variants() -> QuerySet[ModelVariant]:
    """The models that can be chosen, with their accounts."""
    return ModelVariant.objects.select_related("account")


def list_routes() -> list[Batch.Route]:
    """The routes that are possible for some model."""
    routes = [Batch.Route.LIVE]
    if Capabilities.objects.filter(offers_batches=True).exists():
        routes.append(Batch.Route.JOBS)
    if ProviderAccount.objects.filter(provider="file").exists():
        routes.append(Batch.Route.FILE)
    return routes


def cap_field() -> forms.DecimalField:
    """A cap in US dollars; empty for none."""
    return forms.DecimalField(
        min_value=0,
        max_digits=15,
        decimal_places=6,
        required=False,
        label="Cap in US dollars",
        help_text="No call that could exceed it is sent. Required for models that cost money, unless you own the site.",
        widget=forms.NumberInput({"step": "any", "inputmode": "decimal"}),
    )


def name_field(*, required: bool = True, help_text: str = "") -> forms.CharField:
    """What people call a batch."""
    widget = forms.TextInput({"maxlength": MAX_NAME_LENGTH})
    return forms.CharField(
        required=required, label="Name", help_text=help_text, widget=widget, validators=[_check_name]
    )


def _check_name(name: str) -> None:
    try:
        read_name(name)
    except Refused as error:
        raise forms.ValidationError(str(error)) from error


def seed_field(*, largest: int, help_text: str) -> forms.IntegerField:
    """The number with which a sample can be drawn again; a new number is suggested each time."""
    return forms.IntegerField(
        min_value=0,
        max_value=largest,
        initial=lambda: random.randint(0, largest),  # noqa: S311 - no secret
        help_text=help_text,
    )


class LaunchForm(forms.Form):
    """A form that launches only once, thanks to its idempotency key."""

    def renew(self) -> None:
        """Give the form a new key; with the old key it would return the batch that was already launched."""
        renewed = self.data.copy()  # type: ignore[attr-defined]
        renewed[self.add_prefix("idempotency_key")] = str(uuid.uuid4())
        self.data = renewed


class LaunchOptionsForm(LaunchForm, RowForm):
    """The launch options: the part of every launch form that does not depend on the questions.

    A feature's form adds its own fields and lists them, group by group, in ``what``; names in the same string share a row.
    """

    what: Sequence[tuple[str, Sequence[str]]] = ()
    how = ("name", "route", "repeats concurrency", "pilot cap", "lost_answers", "uses_cache")

    name = name_field(
        required=False, help_text="Distinguishes the batch from others. Without a name, it is named after what it asks."
    )
    repeats = forms.IntegerField(
        min_value=1, max_value=100, initial=1, help_text="How often each model gets each text for each task."
    )
    pilot = forms.IntegerField(
        min_value=0,
        max_value=10_000,
        initial=DEFAULT_PILOT,
        label="Pilot, calls per arm",
        help_text=(
            "These calls are sent first. Then the batch waits for your approval, with an estimate. Their answers "
            "count. 0 for no pilot."
        ),
    )
    cap = cap_field()
    lost_answers = forms.ChoiceField(
        choices=Batch.LostAnswers.choices,
        initial=Batch.LostAnswers.RETRY,
        widget=forms.RadioSelect,
        label="When the answer to a call is lost",
        help_text="A crash or a lost connection can lose an answer that was paid for.",
    )
    idempotency_key = forms.UUIDField(required=False, widget=forms.HiddenInput)

    class Meta(RowForm.Meta):
        model = Batch
        fields: ClassVar[tuple[str, ...]] = ("route", "concurrency", "uses_cache")
        widgets = {"route": forms.RadioSelect}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["idempotency_key"].initial = uuid.uuid4
        routes = list_routes()
        if len(routes) > 1:
            self.fields["route"].choices = [(route.value, route.label) for route in routes]  # type: ignore[attr-defined]
        else:
            del self.fields["route"]

    @property
    def groups(self) -> list[tuple[str, list[list[BoundField]]]]:
        """Headings, each with its visible fields row by row."""
        return [(title, self._list_rows(names)) for title, names in (*self.what, ("How it is sent", self.how))]

    def _list_rows(self, names: Sequence[str]) -> list[list[BoundField]]:
        rows = [[self[name] for name in row.split() if name in self.fields] for row in names]
        return [row for row in rows if row]

    @property
    def as_sent(self) -> list[BoundField]:
        """Every field, for passing it through the review as a hidden input."""
        return list(self)

    def options(self) -> LaunchOptions:
        """The chosen options. A batch whose answers are imported from a file has no pilot, because the file is answered as a
        whole."""
        chosen = self.cleaned_data
        route = chosen.get("route", Batch.Route.LIVE.value)
        return LaunchOptions(
            name=chosen["name"],
            repeats=chosen.get("repeats", 1),
            concurrency=chosen["concurrency"],
            pilot=0 if route == Batch.Route.FILE else chosen["pilot"],
            cap_usd=chosen["cap"],
            route=route,
            lost_answers=chosen["lost_answers"],
            uses_cache=chosen.get("uses_cache", False),
            idempotency_key=chosen["idempotency_key"],
        )


class CapForm(forms.Form):
    """A new cap."""

    prefix = "cap"
    cap = cap_field()


class NameForm(forms.Form):
    """Another name."""

    prefix = "named"
    name = name_field()


class ConcurrencyForm(RowForm):
    """A new number of calls in flight."""

    prefix = "in-flight"

    class Meta(RowForm.Meta):
        model = Batch
        fields = ("concurrency",)


class ConfirmForm(CapForm):
    """The approval after the pilot, with the cap for the whole batch."""

    prefix = "confirm"
    anyway = forms.BooleanField(required=False, label="Send the rest anyway, although nothing could be read")
    # The cap of which the page said that it is below the estimate.
    warned = forms.DecimalField(required=False, widget=forms.HiddenInput)


def limit_field(label: str, help_text: str = "") -> forms.DecimalField:
    """A limit of a grant in US dollars."""
    return forms.DecimalField(
        label=label,
        help_text=help_text,
        required=False,
        min_value=0,
        max_digits=16,
        decimal_places=9,
        widget=forms.NumberInput({"step": "any", "inputmode": "decimal"}),
    )


class GrantForm(forms.Form):
    """Models of an account for a study."""

    study = forms.ModelChoiceField(
        Study.objects.all(), to_field_name="slug", label="Study", empty_label="Choose a study"
    )
    study_usd = limit_field(
        "For the study, US dollars", "Leave all three empty if the study may use only models that cost nothing."
    )
    study_day_usd = limit_field("For the study per day, US dollars")
    person_day_usd = limit_field("For each person per day, US dollars")


class AnswersForm(forms.Form):
    """Answers to be imported from a file."""

    prefix = "answers"
    file = forms.FileField(
        label="File of answers",
        help_text="JSON lines, one answer each, with the custom_id of its request. Answers that have already been imported are "
        "left out.",
        validators=[limit_size(MAX_ANSWER_FILE, "Split the file between two lines and import the parts one by one.")],
    )


class AttemptChoice(forms.Form):
    """Which attempts of a batch to list. An invalid value is ignored."""

    end = forms.ChoiceField(choices=[("", "all"), *Attempt.End.choices], required=False)
    problem = forms.ChoiceField(
        choices=[("", "all"), *((each, each.replace("_", " ")) for each in ErrorClass if each)],
        required=False,
        label="What went wrong",
    )
    arm = forms.TypedChoiceField(coerce=int, empty_value=None, required=False)
    status = forms.IntegerField(min_value=100, max_value=599, required=False, label="HTTP status")
    job = forms.IntegerField(min_value=1, max_value=2**62, required=False, label="Provider's job")
    twice = forms.BooleanField(required=False, label="Only calls that may have been paid twice")

    def __init__(self, *args: object, arms: Sequence[Arm], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        names = [(arm.pk, f"{arm.variant.label} · {arm.task.replace('_', ' ')}") for arm in arms]
        self.fields["arm"].choices = [("", "all"), *names]  # type: ignore[attr-defined]
