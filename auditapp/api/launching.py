"""Launches of batches, and their review, with the actions, checks and options of the pages."""

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
    """The part of a launch that does not depend on what is asked."""

    name = Words(
        allow_blank=True,
        default="",
        max_length=MAX_NAME_LENGTH,
        help_text="The name of the batch; if not sent, it is named after what it asks.",
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
        help_text="Calls of each model and task that are sent first; then the batch waits for approval. 0: no pilot. Unless "
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
        help_text="A UUID that you generate. Sent again with the same launch, it launches nothing twice."
    )

    def validate_name(self, name: str) -> str:
        return check_name(name) if name else name


def read_options(given: dict[str, Any]) -> LaunchOptions:
    """The options of a launch, as pages and commands pass them on."""
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
        help_text="The label of a model; or an annotator of the study, as its name and number, whose settings hold unless sent.",
    )
    interviews = serializers.ListField(
        child=WholeNumber(min_value=1, max_value=MAX_ID),
        allow_empty=False,
        allow_null=True,
        default=None,
        help_text="Numbers of the interviews; all with consent, unless sent.",
    )
    families = serializers.ListField(
        child=Words(max_length=100),
        allow_empty=False,
        allow_null=True,
        default=None,
        help_text="Ids of code families, coded by sentence or by turn; all that are coded by sentence, unless sent.",
    )
    limit = WholeNumber(
        min_value=1,
        max_value=MAX_ID,
        allow_null=True,
        default=None,
        help_text="Annotate only this many turns, from the beginning.",
    )
    mode = Choice(
        Annotator.Mode.choices,
        allow_null=True,
        default=None,
        help_text="One call per turn and family, or per turn and code.",
    )
    reads_latent = TrueOrFalse(allow_null=True, default=None, help_text="Whether latent meaning is annotated too.")
    latent_reason = Words(
        allow_blank=True,
        default="",
        max_length=MAX_REASON,
        help_text="Why latent meaning is annotated too; required with it, and kept in the history.",
    )
    answer_schema = TrueOrFalse(
        allow_null=True,
        default=None,
        help_text="Whether answers must follow a JSON schema; if not sent, they must if a probe found that the server honours one.",
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
        min_value=1, max_value=MAX_REPEATS, default=1, help_text="How often each model gets each text under each task."
    )
    families = serializers.DictField(
        child=Words(max_length=100),
        default=dict,
        help_text="The family of a model by its label, where variants of one model have ids of their own.",
    )
    confirms_terms = TrueOrFalse(
        default=False,
        help_text="true: you know that the instrument tells the model not to refuse, and have read the terms of the providers "
        "that the texts go to. Asked once per study.",
    )

    class Meta:
        ref_name = "NewSob"


class AskedView(StudyView):
    """What launches and their reviews share: what a body asks for."""

    scope = Scope.LAUNCH
    permission = Permission.RUN_BATCHES
    refusals = (409,)

    def plan(self, given: dict[str, Any]) -> LaunchPlan:
        """What would be asked, with what its review says; writes nothing. Raises what ``launch`` raises."""
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
        200: "The batch that this key had already launched.",
    }

    def post(self, request: Request, slug: str) -> Response:
        given = self.read_body()
        is_known = Batch.objects.filter(idempotency_key=given["idempotency_key"]).exists()
        batch = self.launch(given)
        return self.answer(self.describe(batch.pk), status=200 if is_known else 201)


class LaunchPreannotation(OfPreannotation, LaunchView):
    """Have interviews annotated by a model. Those without consent are left out if the model is not of this site.

    The same request sent again launches nothing more and answers 200 with the batch.
    """

    Input = PreannotationInput


class LaunchSob(OfSob, LaunchView):
    """Ask models about the texts of a dataset, under one or more tasks.

    The same request sent again launches nothing more and answers 200 with the batch.
    """

    Input = SobInput


class CostOutput(serializers.Serializer[Any]):
    """How many calls a review says would be sent, and what they can cost. Amounts are US dollars; null: a price is not known."""

    calls = serializers.IntegerField(source="cells", help_text="Calls in total.")
    pilot_calls = serializers.IntegerField(
        source="pilot_cells", help_text="How many of them would be sent first, as a pilot."
    )
    tokens_in = serializers.IntegerField(help_text="The most tokens that would be sent: one per byte.")
    tokens_out = serializers.IntegerField(help_text="The most tokens of all answers: the longest that are allowed.")
    highest = InDollars(
        source="highest_nano",
        allow_null=True,
        help_text="The most that they can cost, without answers that are lost and asked for again.",
    )
    likely = InDollars(
        source="likely_nano",
        allow_null=True,
        help_text="What they will probably cost, with answers of usual length; null: their length is not known.",
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
        """What a launch would send, and the most that it can cost. Amounts are US dollars; null: a price is not known."""

        title = serializers.CharField(help_text="The name that the batch would get, unless named.")
        inputs = serializers.IntegerField(help_text="How many turns, texts or questions would be asked.")
        interviews = serializers.IntegerField(
            allow_null=True, help_text="How many interviews these are of; null: of none."
        )
        left_out = serializers.IntegerField(
            allow_null=True,
            help_text="How many interviews would be left out for want of consent; null: none is asked for.",
        )
        cap = serializers.FloatField(allow_null=True, help_text="The cap that was sent; null: none.")
        arms = serializers.ListField(child=ReviewedArm(), help_text="The models and tasks.")
        accounts = serializers.ListField(
            child=serializers.CharField(), help_text="Names of the accounts that are asked."
        )
        grants = serializers.ListField(
            child=ListGrants.Output(),
            help_text="The grants that the cap would be committed to, with what is left; none if you need no grant.",
        )
        fake = serializers.BooleanField(
            source="has_fake", help_text="Whether answers of a model in it are invented by this program."
        )
        warnings = serializers.ListField(
            child=serializers.CharField(), help_text="What to consider first, in sentences."
        )

        class Meta:
            ref_name = "LaunchEstimate"

    success: ClassVar[Mapping[int, str]] = {200: "What it would send and cost. Nothing was stored."}

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
    """What a launch of a pre-annotation would send and cost at most, as its page shows it. Stores nothing.

    It takes the same body, and refuses what the launch would refuse.
    """

    class Input(PreannotationInput):
        """Interviews to be annotated by a model; the key is not needed."""

        idempotency_key = Uuid(required=False, help_text="Not used.")

        class Meta:
            ref_name = "ReviewedPreannotation"


class EstimateSob(OfSob, EstimateView):
    """What a launch of a sob batch would send and cost at most, as its page shows it. Stores nothing.

    It takes the same body, and refuses what the launch would refuse, except for terms that nobody has confirmed.
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
    """The model with this label, for the field ``models`` of a body. Raises ``ValidationError``, which lists those there are."""
    variant = ModelVariant.objects.select_related("account").filter(label=label).first()
    if variant is None:
        labels = ", ".join(ModelVariant.objects.order_by("label").values_list("label", flat=True)) or "none"
        raise serializers.ValidationError({"models": [f"There is no such model. The models are: {labels}."]})
    return variant
