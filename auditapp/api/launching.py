"""Launches of batches and their reviews, with the same actions, checks and options as the pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from auditapp.annotators.actions.annotators import LATENT_NEEDS_REASON, draft_annotator
from auditapp.annotators.actions.launching import launch_model, plan_annotation
from auditapp.annotators.launch_review import add_review
from auditapp.annotators.models import Annotator
from auditapp.api.batches import BatchView, check_name
from auditapp.api.fields import Body, Choice, Dollars, InDollars, TrueOrFalse, Uuid, WholeNumber, Words
from auditapp.api.studies import ListGrants, describe_grant
from auditapp.api.views import StudyView
from auditapp.batches.actions import MAX_NAME_LENGTH
from auditapp.batches.launching import DEFAULT_PILOT, MAX_REPEATS, PILOT_SHARE, LaunchOptions, LaunchPlan, check_grants
from auditapp.batches.models import MAX_IN_FLIGHT, Batch
from auditapp.batches.pages.costs import review_launch, write_warnings
from auditapp.batches.pages.progress import describe_money
from auditapp.benchmarks.sob.judging.launching import NOTICE, launch_sob, needs_notice, plan_sob
from auditapp.benchmarks.sob.models import Dataset
from auditapp.benchmarks.sob.pure.instruments import TASKS
from auditapp.llm.models import ModelVariant
from transcripts.accounts.models import Scope
from transcripts.corpus.models import Interview
from transcripts.studies.roles import Permission
from transcripts.ui.typed_text import MAX_ID, MAX_REASON

MAX_PILOT = 10_000
MAX_LABEL = 200
MAX_NAMED = 10


class OptionsInput(Body):
    """The part of a launch that does not depend on the questions asked."""

    name = Words(
        allow_blank=True,
        default="",
        max_length=MAX_NAME_LENGTH,
        help_text="The name of the batch; if not sent, the batch is named after what it asks.",
    )
    route = Choice(Batch.Route.choices, default=Batch.Route.LIVE, help_text="How its calls are sent.")
    concurrency = WholeNumber(
        min_value=1, max_value=MAX_IN_FLIGHT, default=30, help_text="The maximum number of calls in flight at once."
    )
    pilot = WholeNumber(
        min_value=0,
        max_value=MAX_PILOT,
        default=None,
        allow_null=True,
        help_text="How many calls of each model and task are sent first; then the batch waits for approval. 0: no pilot. If not "
        f"sent, one call in {PILOT_SHARE} of all, at least one and at most {DEFAULT_PILOT} of each.",
    )
    cap = Dollars(
        required=False,
        allow_null=True,
        default=None,
        help_text="The most it may cost, in US dollars: no call is sent that could exceed it. Null: no cap.",
    )
    lost_answers = Choice(
        Batch.LostAnswers.choices,
        default=Batch.LostAnswers.RETRY,
        help_text="What happens to a call with an unknown end: retry asks once more, hold waits for a person.",
    )
    uses_cache = TrueOrFalse(
        default=False, help_text="Whether an earlier answer to exactly the same request is reused."
    )
    idempotency_key = Uuid(
        help_text="A UUID that you generate. If you send it again with the same launch, nothing is launched twice."
    )

    def validate_name(self, name: str) -> str:
        return check_name(name) if name else name


def read_options(given: dict[str, Any]) -> LaunchOptions:
    """The options of a launch, in the form in which pages and commands pass them on."""
    return LaunchOptions(
        name=given["name"],
        repeats=given.get("repeats", 1),
        concurrency=given["concurrency"],
        pilot=given["pilot"],
        cap_usd=given["cap"],
        route=given["route"],
        lost_answers=given["lost_answers"],
        uses_cache=given["uses_cache"],
        idempotency_key=given.get("idempotency_key"),
    )


class PreannotationInput(OptionsInput):
    """Interviews to be annotated by a model."""

    annotator = Words(
        max_length=MAX_LABEL,
        help_text="The label of a model; or an annotator of the study, by its name and number, whose settings apply unless "
        "others are sent.",
    )
    interviews = serializers.ListField(
        child=WholeNumber(min_value=1, max_value=MAX_ID),
        allow_empty=False,
        allow_null=True,
        default=None,
        help_text="Numbers of the interviews; if not sent, all interviews with consent.",
    )
    families = serializers.ListField(
        child=Words(max_length=100),
        allow_empty=False,
        allow_null=True,
        default=None,
        help_text="Ids of code families that are coded by sentence or by turn; if not sent, all that are coded by sentence.",
    )
    limit = WholeNumber(
        min_value=1,
        max_value=MAX_ID,
        allow_null=True,
        default=None,
        help_text="Annotate only this number of turns, from the beginning.",
    )
    mode = Choice(
        Annotator.Mode.choices,
        allow_null=True,
        default=None,
        help_text="Whether there is one call per turn and family, or per turn and code.",
    )
    reads_latent = TrueOrFalse(allow_null=True, default=None, help_text="Whether latent meaning is annotated too.")
    latent_reason = Words(
        allow_blank=True,
        default="",
        max_length=MAX_REASON,
        help_text="Why latent meaning is annotated too; required if it is, and kept in the history.",
    )
    answer_schema = TrueOrFalse(
        allow_null=True,
        default=None,
        help_text="Whether answers must follow a JSON schema; if not sent, they must whenever a probe has found that the server "
        "honours one.",
    )

    class Meta:
        ref_name = "NewPreannotation"

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["reads_latent"] and not attrs["latent_reason"].strip():
            raise serializers.ValidationError({"latent_reason": [LATENT_NEEDS_REASON]})
        return attrs


class SobInput(OptionsInput):
    """Texts to be judged by models."""

    dataset = Words(max_length=MAX_LABEL, help_text="Name of a dataset of the study.")
    models = serializers.ListField(
        child=Words(max_length=MAX_LABEL), allow_empty=False, help_text="Labels of the models."
    )
    tasks = serializers.ListField(
        child=Choice([key for key, _ in TASKS]), allow_empty=False, help_text="What they are asked to do."
    )
    instrument = Words(
        default="paper", max_length=MAX_LABEL, help_text="The wording: paper, release, or the name of the study's own."
    )
    include_base = TrueOrFalse(
        default=False, help_text="Whether the reconstructed Base prompt is asked too; it has no score."
    )
    limit = WholeNumber(
        min_value=1,
        max_value=MAX_ID,
        allow_null=True,
        default=None,
        help_text="Use only this many texts, spread evenly over the dataset.",
    )
    repeats = WholeNumber(
        min_value=1, max_value=MAX_REPEATS, default=1, help_text="How often each model gets each text for each task."
    )
    families = serializers.DictField(
        child=Words(max_length=100),
        default=dict,
        help_text="The family of each model, by label; needed if variants of one model have different ids.",
    )
    confirms_terms = TrueOrFalse(
        default=False,
        help_text="true: you know that the instrument tells the model not to refuse, and you have read the terms of the "
        "providers to which the texts are sent. Required once per study.",
    )

    class Meta:
        ref_name = "NewSob"


class AskedView(StudyView):
    """What launches and their reviews share: reading what a body asks for."""

    scope = Scope.LAUNCH
    permission = Permission.RUN_BATCHES
    refusals = (409,)

    def plan(self, given: dict[str, Any]) -> LaunchPlan:
        """What would be asked, and what the review says about it. Writes nothing. Raises what ``launch`` raises."""
        raise NotImplementedError

    def launch(self, given: dict[str, Any]) -> Batch:
        """The batch. Raises ``Refused``."""
        raise NotImplementedError


class OfPreannotation(AskedView):
    """Interviews, annotated by a model."""

    def plan(self, given: dict[str, Any]) -> LaunchPlan:
        annotator = draft_annotator(study=self.study, **_read_annotator(given))
        reading = plan_annotation(study=self.study, annotator=annotator, **self._read_choice(given))
        return add_review(reading, annotator)

    def launch(self, given: dict[str, Any]) -> Batch:
        return launch_model(
            study=self.study,
            reason=given["latent_reason"],
            by=self.person,
            options=read_options(given),
            **_read_annotator(given),
            **self._read_choice(given),
        )

    def _read_choice(self, given: dict[str, Any]) -> dict[str, Any]:
        return {
            "interviews": self._find_interviews(given["interviews"]),
            "families": given["families"],
            "limit": given["limit"],
        }

    def _find_interviews(self, numbers: list[int] | None) -> list[Interview] | None:
        if numbers is None:
            return None
        found = list(self.study.interviews.filter(pk__in=numbers))
        missing = sorted(set(numbers) - {interview.pk for interview in found})
        if missing:
            named = ", ".join(map(str, missing[:MAX_NAMED]))
            raise serializers.ValidationError({"interviews": [f"The study has no interview {named}."]})
        return found


class OfSob(AskedView):
    """Texts of a dataset, judged by models."""

    def plan(self, given: dict[str, Any]) -> LaunchPlan:
        asked = self._read_choice(given)
        planned = plan_sob(**asked)
        if given["confirms_terms"] or not needs_notice(self.study, asked["variants"]):
            return planned
        return replace(planned, warnings=[*planned.warnings, NOTICE])

    def launch(self, given: dict[str, Any]) -> Batch:
        asked = self._read_choice(given)
        if not given["confirms_terms"] and needs_notice(self.study, asked["variants"]):
            raise serializers.ValidationError(
                {"confirms_terms": [f"{NOTICE} Nobody has confirmed this for the study yet."]}
            )
        return launch_sob(**asked, options=read_options(given), confirms_terms=given["confirms_terms"], by=self.person)

    def _read_choice(self, given: dict[str, Any]) -> dict[str, Any]:
        return {
            "dataset": self._find_dataset(given["dataset"]),
            "variants": [find_variant(label) for label in given["models"]],
            "tasks": given["tasks"],
            "instrument_variant": given["instrument"],
            "include_base": given["include_base"],
            "limit": given["limit"],
            "families": given["families"],
        }

    def _find_dataset(self, name: str) -> Dataset:
        datasets = Dataset.objects.filter(study=self.study).select_related("study")
        found = datasets.filter(name=name).first()
        if found is None:
            names = ", ".join(datasets.order_by("name").values_list("name", flat=True)) or "none"
            raise serializers.ValidationError(
                {"dataset": [f"The study has no such dataset. Its datasets are: {names}."]}
            )
        return found


class LaunchView(AskedView, BatchView):
    """Launches what a body asks for."""

    success: ClassVar[Mapping[int, str]] = {
        201: "The batch that was launched.",
        200: "The batch that was already launched with this key.",
    }

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        is_known = Batch.objects.filter(idempotency_key=given["idempotency_key"]).exists()
        batch = self.launch(given)
        return self.answer(self.describe(batch.pk), status=200 if is_known else 201)


class LaunchPreannotation(OfPreannotation, LaunchView):
    """Have interviews annotated by a model. If the model does not run on this site, interviews without consent are left out.

    Sending the same request again launches nothing more and returns 200 with the batch.
    """

    Input = PreannotationInput


class LaunchSob(OfSob, LaunchView):
    """Ask models about the texts of a dataset, with one or more tasks.

    Sending the same request again launches nothing more and returns 200 with the batch.
    """

    Input = SobInput


class CostOutput(serializers.Serializer[Any]):
    """How many calls would be sent according to a review, and what they can cost. Amounts are in US dollars; null: a price is not
    known."""

    calls = serializers.IntegerField(source="cells", help_text="Calls in total.")
    pilot_calls = serializers.IntegerField(
        source="pilot_cells", help_text="How many of these would be sent first, as a pilot."
    )
    tokens_in = serializers.IntegerField(help_text="The most tokens that would be sent, counting one per byte.")
    tokens_out = serializers.IntegerField(
        help_text="The most tokens that all answers can have, if each is as long as allowed."
    )
    highest = InDollars(
        source="highest_nano",
        allow_null=True,
        help_text="The most that they can cost, not counting answers that are lost and asked for again.",
    )
    likely = InDollars(
        source="likely_nano",
        allow_null=True,
        help_text="What they will probably cost, with answers of the usual length; null: that length is not known.",
    )
    pilot_highest = InDollars(source="pilot_nano", allow_null=True, help_text="The most that the pilot can cost.")


class ReviewedArm(CostOutput):
    """A model with one task. Amounts are US dollars; null: the price is not known."""

    model = serializers.CharField(source="variant.label", help_text="Label of the model.")
    task = serializers.CharField(help_text="What it would be asked to do.")
    price_in = serializers.FloatField(
        source="price.price_in", allow_null=True, help_text="Price of a million tokens sent."
    )
    price_out = serializers.FloatField(
        source="price.price_out", allow_null=True, help_text="Price of a million tokens of answers."
    )
    prompt_hash = serializers.CharField(help_text="Hash of its exact instructions.")

    class Meta:
        ref_name = "ReviewedArm"


class EstimateView(AskedView):
    """Reviews what a body asks for."""

    class Output(CostOutput):
        """What a launch would send, and the most that it can cost. Amounts are in US dollars; null: a price is not known."""

        title = serializers.CharField(help_text="The name that the batch gets if none is given.")
        inputs = serializers.IntegerField(help_text="How many turns, texts or questions would be asked.")
        interviews = serializers.IntegerField(
            allow_null=True, help_text="How many interviews these are from; null: they are not from interviews."
        )
        left_out = serializers.IntegerField(
            allow_null=True,
            help_text="How many interviews would be left out because consent is missing; null: the batch is not about "
            "interviews.",
        )
        cap = serializers.FloatField(allow_null=True, help_text="The cap that was sent; null: none.")
        arms = serializers.ListField(child=ReviewedArm(), help_text="The models and tasks.")
        accounts = serializers.ListField(
            child=serializers.CharField(), help_text="Names of the accounts that would be used."
        )
        grants = serializers.ListField(
            child=ListGrants.Output(),
            help_text="The grants to which the cap would be charged, with what is left of them; none if you need no grant.",
        )
        fake = serializers.BooleanField(
            source="has_fake", help_text="Whether answers of a model in it are invented by this program."
        )
        warnings = serializers.ListField(
            child=serializers.CharField(), help_text="What to consider before the launch, in sentences."
        )

        class Meta:
            ref_name = "LaunchEstimate"

    success: ClassVar[Mapping[int, str]] = {200: "What the launch would send and cost. Nothing was stored."}

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        options, plan = read_options(given), self.plan(given)
        check_grants(plan, study=self.study, options=options, by=self.person)
        review = review_launch(plan, options)
        money = describe_money(plan, self.study, self.person)
        return self.answer(
            {
                **review,
                "title": plan.title,
                "inputs": len(plan.input_ids),
                "interviews": len(plan.interview_ids) if plan.interview_ids else None,
                "left_out": plan.parameters.get("left_out"),
                "tokens_in": sum(arm["tokens_in"] for arm in review["arms"]),
                "tokens_out": sum(arm["tokens_out"] for arm in review["arms"]),
                "cap": options.cap_usd,
                "accounts": [account.name for account in review["accounts"]],
                "grants": [describe_grant(row) for row in money],
                "warnings": write_warnings(review),
            }
        )


class EstimatePreannotation(OfPreannotation, EstimateView):
    """What a launch of a pre-annotation would send, and the most it would cost, as the review page shows it. Stores nothing.

    It takes the same body as the launch, and refuses whatever the launch would refuse.
    """

    class Input(PreannotationInput):
        """Interviews to be annotated by a model; the key is not needed."""

        idempotency_key = Uuid(required=False, help_text="Not used.")

        class Meta:
            ref_name = "ReviewedPreannotation"


class EstimateSob(OfSob, EstimateView):
    """What a launch of a sob batch would send, and the most it would cost, as the review page shows it. Stores nothing.

    It takes the same body as the launch, and refuses whatever the launch would refuse, except that the terms need not be
    confirmed.
    """

    class Input(SobInput):
        """Texts to be judged by models; the key is not needed."""

        idempotency_key = Uuid(required=False, help_text="Not used.")

        class Meta:
            ref_name = "ReviewedSob"


def _read_annotator(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": given["annotator"],
        "mode": given["mode"],
        "reads_latent": given["reads_latent"],
        "answer_schema": given["answer_schema"],
    }


def find_variant(label: str) -> ModelVariant:
    """The model with this label, for the field ``models`` of a body. Raises ``ValidationError``, which lists all models."""
    variant = ModelVariant.objects.select_related("account").filter(label=label).first()
    if variant is None:
        labels = ", ".join(ModelVariant.objects.order_by("label").values_list("label", flat=True)) or "none"
        raise serializers.ValidationError({"models": [f"There is no such model. The models are: {labels}."]})
    return variant
