"""Models, the accounts that pay for their calls, their prices and their capabilities."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from auditapp.llm.pure.model_settings import SAMPLING, describe_sampling
from transcripts.audit_trail import trail
from transcripts.history.models import Numbered
from transcripts.studies.models import Study

MAX_TOKENS = 200_000
MAX_TIMEOUT = 3_600
MAX_OUTPUT_TOKENS = 10_000_000
# Characters of a source or a note.
MAX_REMARK = 300
# In US dollars per million tokens; what a column of twelve digits with six places may store is larger.
MAX_PRICE = 100_000


class ProviderAccount(models.Model):
    """Where calls go and who pays for them: one address with one key.

    The key is read from the worker's environment variable ``key_env``, or stored encrypted in ``key_sealed``; only
    ``key_last_four`` is ever shown. Changing the address removes the key, so that it is never sent elsewhere.
    """

    name = models.CharField(max_length=100, unique=True)
    provider = models.CharField(
        max_length=40, help_text="Who runs the model: fake if answers are invented, file if they were imported."
    )
    base_url = models.CharField(
        "base URL", max_length=300, blank=True, help_text="For example https://api.openai.com/v1, without a key."
    )
    key_env = models.CharField(
        "key variable",
        max_length=100,
        blank=True,
        help_text="The name of the worker's environment variable with the key, never the key itself. Leave empty for no key.",
    )
    key_sealed = models.TextField(blank=True)
    key_last_four = models.CharField(max_length=4, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(key_env="") | Q(key_sealed=""), name="%(app_label)s_%(class)s_key_in_one_place"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ModelVariant(models.Model):
    """A model of an account with one set of settings: one column of results. Never changed once added.

    ``max_tokens``: the longest answer; ``None`` sets no limit, where the API allows that.
    ``note`` is a warning for readers of its answers.
    """

    label = models.CharField(
        max_length=100, unique=True, help_text="The name of the model in tables, such as llama-3.1-8b."
    )
    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, related_name="variants")
    model = models.CharField(max_length=200, help_text="The model's name at the provider.")
    reasoning = models.CharField(
        max_length=20, blank=True, help_text="The reasoning effort in the provider's terms, or on or off."
    )
    max_tokens = models.PositiveIntegerField(
        "longest answer",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_TOKENS)],
        help_text="In tokens. Leave empty for no limit. Thinking counts towards a limit, so a small one cuts off the answers of "
        "reasoning models; only a reasoning token budget is added to it. A small local model needs a limit, or it may never stop.",
    )
    timeout_seconds = models.PositiveIntegerField(
        "time-out",
        default=600,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_TIMEOUT)],
        help_text="How many seconds to wait for an answer.",
    )
    parameters = models.JSONField(
        default=dict,
        help_text="Sampling settings (temperature, top_p, seed, stop); for a setting that is missing, the provider's default "
        "applies.",
    )
    held_to_schema: bool  # set where a critic with structured answers and one without are listed
    note = models.CharField(
        max_length=MAX_REMARK,
        blank=True,
        default="",
        help_text="A warning for people who read its answers. It is shown with them.",
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["label"]

    def __str__(self) -> str:
        return self.label

    @property
    def provider(self) -> str:
        """The provider of its account. Reads account."""
        return self.account.provider

    @property
    def is_fake(self) -> bool:
        """Whether answers are invented by this program. Reads account."""
        return self.account.provider == "fake"

    @property
    def sampling(self) -> str:
        """Its sampling settings in words; empty if all are the provider's defaults."""
        return describe_sampling(self.parameters)

    @property
    def settings_in_words(self) -> str:
        """Every setting that shapes its answers, including those left to the provider. Reads the account.

        For a model whose answers are imported, only the settings that were recorded: the others are not known here.
        """
        if self.provider == "file":
            recorded = [f"reasoning {self.reasoning}" if self.reasoning else "", self.sampling]
            return ", ".join([*filter(None, recorded), "other settings not recorded"])
        limit = "" if self.max_tokens is None else f"answers of at most {self.max_tokens:,} tokens"
        chosen = [*filter(None, [f"reasoning {self.reasoning}" if self.reasoning else "", self.sampling, limit])]
        if not chosen:
            return "the provider’s defaults"
        return ", ".join(chosen) + ("" if len(chosen) == 3 else ", otherwise the provider’s defaults")

    @property
    def queue_name(self) -> str:
        """The name of its work queue in a batch. Calls to one model of one account share a queue and its limits."""
        return f"{self.account_id}:{self.model}"


class OfModel(Numbered):
    """A record about a model of an account, shared by every variant of the model. The same may be recorded again."""

    model = models.CharField(max_length=200)
    reason = None  # type: ignore[assignment] # a source says why
    recorded_by_name = models.CharField(max_length=200)
    recorded_at = models.DateTimeField()

    within = ("account", "model")
    signed = "recorded"
    reason_from = None
    stream = trail.SITE

    class Meta:
        abstract = True

    def says_the_same(self, latest: Self) -> bool:
        return False


class Price(OfModel):
    """What a model of an account costs, in US dollars per million tokens. A new price is a new row with the next number;
    a batch keeps the row it was launched with.

    ``batch_share`` is the share of the price that a call through the provider's own batch service costs (0.5: half).
    """

    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, related_name="prices")
    price_in = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        validators=[MinValueValidator(0)],
        help_text="US dollars per million input tokens.",
    )
    price_out = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        validators=[MinValueValidator(0)],
        help_text="US dollars per million output tokens.",
    )
    batch_share = models.DecimalField(
        "batch service share",
        max_digits=4,
        decimal_places=3,
        default=1,
        validators=[MaxValueValidator(1)],
        help_text="The share of this price that a call costs through the provider's own batch service: 0.5 is half, 1 is the full "
        "price.",
    )
    source = models.CharField(
        max_length=MAX_REMARK, blank=True, help_text="Where the price is published, and since when."
    )

    event = "llm.price.set"

    class Meta:
        ordering: ClassVar = ["account", "model", "-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["account", "model", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=Q(price_in__gte=0, price_out__gte=0, batch_share__gt=0, batch_share__lte=1),
                name="%(app_label)s_%(class)s_in_bounds",
            ),
        ]

    def __str__(self) -> str:
        return f"price {self.number} of {self.model}"

    def describe(self, latest: Self | None) -> dict[str, Any]:
        amounts = {name: str(getattr(self, name)) for name in ("price_in", "price_out", "batch_share")}
        return {"model": self.model, "number": self.number, **amounts}


def name_probe(label: str) -> str:
    """The source given for capabilities that a probe of a variant found."""
    return f"a probe of {label}"[:MAX_REMARK]


class Capabilities(OfModel):
    """The settings that a model of an account accepts, which decide how requests are written.

    They are numbered, and kept by batches, like prices. Without a row, the provider's defaults apply. ``answer_schema`` is what a
    probe found about JSON schemas; ``probe`` is that probe: its address, calls and cost.
    """

    class Reasoning(models.TextChoices):
        NONE = "none", "cannot be set"
        EFFORT = "effort", "reasoning_effort (OpenAI, vLLM, Ollama)"
        NESTED_EFFORT = "nested_effort", "reasoning.effort (OpenRouter)"
        BUDGET = "budget", "a budget of thinking tokens (Anthropic)"
        TEMPLATE = "template", "chat_template_kwargs.enable_thinking on or off (vLLM)"

    class TokenLimit(models.TextChoices):
        MAX_TOKENS = "max_tokens", "max_tokens"
        MAX_COMPLETION_TOKENS = "max_completion_tokens", "max_completion_tokens"

    class AnswerSchema(models.TextChoices):
        UNKNOWN = "unknown", "not probed"
        FULL = "full", "honoured"
        PLAIN = "plain", "honoured, without limits of length"
        IGNORED = "ignored", "ignored by the server"
        REFUSED = "refused", "refused by the server"

    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, related_name="capabilities")
    reasoning = models.CharField(max_length=20, choices=Reasoning.choices, default=Reasoning.EFFORT)
    token_limit = models.CharField(
        "setting for the longest answer", max_length=30, choices=TokenLimit.choices, default=TokenLimit.MAX_TOKENS
    )
    takes_system = models.BooleanField("accepts a system message", default=True)
    takes_temperature = models.BooleanField("accepts a temperature", default=True)
    takes_top_p = models.BooleanField("accepts top p", default=True)
    takes_seed = models.BooleanField("accepts a seed", default=True)
    takes_stop = models.BooleanField("accepts stop texts", default=True)
    offers_batches = models.BooleanField("available in the provider's batch service", default=False)
    max_output_tokens = models.PositiveIntegerField(
        "maximum output tokens",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_OUTPUT_TOKENS)],
        help_text="Leave empty if unknown.",
    )
    answer_schema = models.CharField(max_length=10, choices=AnswerSchema.choices, default=AnswerSchema.UNKNOWN)
    probe = models.JSONField(default=dict, blank=True)
    source = models.CharField(max_length=MAX_REMARK, blank=True, help_text="Where this is documented.")

    event = "llm.capabilities.set"

    class Meta:
        ordering: ClassVar = ["account", "model", "-number"]
        verbose_name_plural = "capabilities"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["account", "model", "number"], name="%(app_label)s_%(class)s_number_once"),
        ]

    def __str__(self) -> str:
        return f"capabilities {self.number} of {self.model}"

    def describe(self, latest: Self | None) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in ("reasoning", "token_limit", "offers_batches")}
        return {"model": self.model, "number": self.number, **settings}

    @property
    def is_assumed(self) -> bool:
        """Whether a probe made this row and nobody had recorded what a probe does not test. The way to set reasoning, the field
        for the longest answer, system messages and the batch service are then the provider's defaults."""
        is_of_probe = bool(self.probe) and self.source == name_probe(self.probe["label"])
        return is_of_probe and not self.probe.get("follows_record", self.number > 1)

    @property
    def honours_schema(self) -> bool:
        """Whether answers can be held to a JSON schema."""
        return self.answer_schema in {self.AnswerSchema.FULL, self.AnswerSchema.PLAIN}

    @property
    def refused_sampling(self) -> list[str]:
        """The sampling settings that the model does not accept."""
        return [name for name in SAMPLING if not getattr(self, f"takes_{name}")]


# What a person records again as a whole; the rest of a row says who did so, and what a probe found.
REPLACED_CAPABILITIES = (
    *("reasoning", "token_limit", "takes_system", "takes_temperature", "takes_top_p", "takes_seed", "takes_stop"),
    *("offers_batches", "max_output_tokens"),
)


class AllowedAddress(models.Model):
    """A private address (``host:port``) that calls may go to, allowed by the person who runs the server.

    All other private, loopback and link-local addresses are refused when a call is made, after the name has been resolved.
    """

    address = models.CharField(max_length=300, unique=True)
    added_by_name = models.CharField(max_length=200)
    added_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.address


class Grant(Numbered):
    """The right of a study to use the models of an account, and how much of its money. A change or a revocation is a new row with
    the next number; the newest row for a study and an account applies.

    The limits are in nanodollars: for the study as a whole, for all its launches on one day, and for those of one person on one
    day. A grant without limits is for models that cost nothing.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="grants")
    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, related_name="grants")
    reason = None  # type: ignore[assignment] # the limits say what changed
    study_nano = models.BigIntegerField(
        null=True, blank=True, help_text="The most that all batches of the study may spend."
    )
    study_day_nano = models.BigIntegerField(
        null=True, blank=True, help_text="The most that may be launched on one day."
    )
    person_day_nano = models.BigIntegerField(
        null=True, blank=True, help_text="The most that one person may launch on a day."
    )
    is_revoked = models.BooleanField(default=False, help_text="Whether it was revoked.")
    granted_by_name = models.CharField(max_length=200, help_text="Who granted it, or revoked it.")
    granted_at = models.DateTimeField(help_text="When it was granted, or revoked.")

    limits = ("study_nano", "study_day_nano", "person_day_nano")
    within = ("study", "account")
    wording = (*limits, "is_revoked")
    signed = "granted"
    reason_from = None

    class Meta:
        ordering: ClassVar = ["account", "study", "-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "account", "number"], name="%(app_label)s_%(class)s_number_once"),
            models.CheckConstraint(
                condition=Q(study_nano__gt=0, study_day_nano__gt=0, person_day_nano__gt=0)
                | Q(study_nano__isnull=True, study_day_nano__isnull=True, person_day_nano__isnull=True),
                name="%(app_label)s_%(class)s_all_limits_or_none",
            ),
        ]

    def __str__(self) -> str:
        return f"grant {self.number} of {self.account_id} to {self.study_id}"

    @property
    def event(self) -> str:  # type: ignore[override] # of two kinds
        """What the audit trail records about it."""
        return "llm.grant.revoked" if self.is_revoked else "llm.grant.set"

    def describe(self, latest: Self | None) -> dict[str, Any]:
        limits = {name: getattr(self, name) for name in self.limits}
        return {"account": self.account.name, "number": self.number, **limits}

    @property
    def has_limits(self) -> bool:
        """Whether models that cost money may be used."""
        return self.study_nano is not None


class Commitment(models.Model):
    """Money of a grant that a batch may spend, set aside when the batch was launched, got a higher cap, or had failed cells asked
    again.

    ``nano`` is negative where money was returned. ``person`` is who did it, on the site's ``day``; she is ``None`` for a command.
    Batches belong to a room above this one, so ``batch_number`` is a plain number. Rows are only added.
    """

    grant = models.ForeignKey(Grant, on_delete=models.PROTECT, related_name="commitments")
    batch_number = models.PositiveBigIntegerField(db_index=True)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="commitments"
    )
    person_name = models.CharField(max_length=200)
    day = models.DateField()
    nano = models.BigIntegerField()
    committed_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return f"{self.nano} for batch {self.batch_number}"
