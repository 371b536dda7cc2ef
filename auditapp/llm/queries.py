"""Models and accounts, with the prices and capabilities that apply now; and a model's scorecard in a study."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db.models import Count

from auditapp.llm.credentials import SealBroken, open_key
from auditapp.llm.models import Capabilities, ModelVariant, Price, ProviderAccount
from auditapp.llm.providers import DEFAULT_MAX_OUTPUT
from transcripts.hooks import load_registrations
from transcripts.studies.models import Study
from transcripts.studies.roles import Permission


def find_prices(variants: Iterable[ModelVariant]) -> dict[int, Price]:
    """The newest price of each variant's model, by the variant's key. Models without a price are left out. One query."""
    variants = list(variants)
    accounts = {variant.account_id for variant in variants}
    newest = {(row.account_id, row.model): row for row in Price.objects.filter(account__in=accounts).order_by("number")}
    found = {variant.pk: newest.get((variant.account_id, variant.model)) for variant in variants}
    return {key: row for key, row in found.items() if row is not None}


def find_capabilities(variants: Iterable[ModelVariant]) -> dict[int, Capabilities]:
    """The newest capabilities of each variant's model, by the variant's key. One query."""
    variants = list(variants)
    accounts = {variant.account_id for variant in variants}
    rows = Capabilities.objects.filter(account__in=accounts).order_by("number")
    newest = {(row.account_id, row.model): row for row in rows}
    found = {variant.pk: newest.get((variant.account_id, variant.model)) for variant in variants}
    return {key: row for key, row in found.items() if row is not None}


def list_noted(variants: Iterable[ModelVariant]) -> list[ModelVariant]:
    """The variants that have a note, each once."""
    return list({variant.pk: variant for variant in variants if variant.note}.values())


def find_answer_schema(variant: ModelVariant) -> str:
    """The form of a JSON schema that a probe found the variant's server to honour (``Capabilities.AnswerSchema``); empty for
    none. One query."""
    row = find_capabilities([variant]).get(variant.pk)
    return row.answer_schema if row is not None and row.honours_schema else ""


def find_max_output(variant: ModelVariant, capabilities: Capabilities | None) -> int | None:
    """The most tokens that one answer of the variant's model can have, thinking included: as recorded, or the limit that is sent
    where an API demands one. ``None`` if it is not known. Reads variant.account."""
    recorded = capabilities.max_output_tokens if capabilities else None
    return recorded or DEFAULT_MAX_OUTPUT.get(variant.provider)


def is_open_ended(variant: ModelVariant, capabilities: Capabilities | None) -> bool:
    """Whether nothing limits what one answer can cost: no limit is set, and the model's maximum is not known. Reads
    variant.account."""
    return variant.max_tokens is None and find_max_output(variant, capabilities) is None


def list_variants() -> list[dict[str, object]]:
    """Every variant by label, with its current price and capabilities and the state of its key, in three queries."""
    variants = list(ModelVariant.objects.select_related("account"))
    prices, capabilities = find_prices(variants), find_capabilities(variants)
    return [
        {
            "variant": each,
            "price": prices.get(each.pk),
            "capabilities": capabilities.get(each.pk),
            "key_state": find_key_state(each.account),
        }
        for each in variants
    ]


def list_accounts() -> list[dict[str, object]]:
    """Every account by its name, with the number of its models and the state of its key, in one query."""
    accounts = ProviderAccount.objects.annotate(models_there=Count("variants")).order_by("name")
    return [{"account": each, "models": each.models_there, "key_state": find_key_state(each)} for each in accounts]


def find_key_state(account: ProviderAccount) -> str:
    """Where the account's key comes from. Reveals only the last four characters of the key."""
    if account.key_env:
        return f"from {account.key_env}"
    if not account.key_sealed:
        return "no key"
    state = f"ends in {account.key_last_four}" if account.key_last_four else "stored"
    return state if does_seal_open(account) else f"{state}, and FIELD_KEY does not decrypt it"


def does_seal_open(account: ProviderAccount) -> bool:
    """Whether the stored key of ``account`` can be used by a process with these settings."""
    try:
        open_key(account.key_sealed, address=account.base_url)
    except SealBroken:
        return False
    return True


def find_broken_seals() -> list[str]:
    """The names of accounts whose stored key FIELD_KEY does not open."""
    return [each.name for each in ProviderAccount.objects.exclude(key_sealed="") if not does_seal_open(each)]


class ScorecardFigure(NamedTuple):
    """One figure. ``basis`` names its denominator and labels; ``href`` leads to its data. ``alarm`` says why the figure is not
    evidence; it is "" if the figure can be used."""

    name: str
    value: str
    basis: str
    href: str = ""
    alarm: str = ""


class ScorecardPart(NamedTuple):
    """What one feature reports about a model. ``summary`` is one sentence for forms in which a model is chosen."""

    title: str
    figures: Sequence[ScorecardFigure]
    summary: str
    notes: Sequence[str] = ()


# Reads the parts of many models at once, by the variant's key. Models without a part are left out.
PartReader = Callable[[Study, Sequence[ModelVariant]], Mapping[int, ScorecardPart]]

_sources: dict[str, tuple[PartReader, Permission]] = {}


def register_scorecard_part(key: str, reader: PartReader, permission: Permission = Permission.VIEW) -> None:
    """Register a feature's part, shown to people with ``permission``. Called once, in its ``registrations``."""
    _sources[key] = reader, permission


def hides_parts(permissions: Container[Permission]) -> bool:
    """Whether scorecards have parts that a person with these permissions may not see."""
    load_registrations()
    return any(permission not in permissions for _, permission in _sources.values())


def read_scorecards(
    study: Study, variants: Sequence[ModelVariant], permissions: Container[Permission]
) -> list[list[ScorecardPart]]:
    """The visible scorecard parts of each of ``variants``, in the same order."""
    load_registrations()
    read = [reader(study, variants) for reader, permission in _sources.values() if permission in permissions]
    return [[parts[each.pk] for parts in read if each.pk in parts] for each in variants]


def find_part(key: str, study: Study, variant: ModelVariant) -> ScorecardPart | None:
    """The part of the feature ``key`` for one model; ``None`` if it has none or the feature is not registered."""
    load_registrations()
    if key not in _sources:
        return None
    reader, _ = _sources[key]
    return reader(study, [variant]).get(variant.pk)
