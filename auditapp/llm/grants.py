"""The owner of the site grants a study the models of an account."""

from __future__ import annotations

from decimal import Decimal

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F, Window
from django.db.models.functions import RowNumber

from auditapp.llm.actions import CALLS_NOBODY
from auditapp.llm.models import Grant, ProviderAccount
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study

NANO = 1_000_000_000
MAX_LIMIT = 1_000_000


@transaction.atomic
def set_grant(
    *,
    study: Study,
    account: ProviderAccount,
    by: trail.Actor,
    study_usd: Decimal | None = None,
    study_day_usd: Decimal | None = None,
    person_day_usd: Decimal | None = None,
) -> Grant:
    """Let a study use the account's models, with limits in US dollars; without limits, only models that cost nothing.

    An earlier grant is replaced; granting the same again changes nothing. Raises ``Refused``, or ``PermissionDenied`` for a
    person who does not own the site.
    """
    _refuse_others(by)
    if account.provider in CALLS_NOBODY:
        raise Refused(
            f"The provider {account.provider} makes no calls, so every study may use its models without a grant."
        )
    limits = _check_limits(study_usd, study_day_usd, person_day_usd)
    # Two first grants at the same moment would have the same number.
    ProviderAccount.objects.select_for_update().get(pk=account.pk)
    before = lock_grants(study, [account.pk]).get(account.pk)
    grant = Grant(study=study, account=account, **limits)
    if before is not None and grant.says_the_same(before):
        return before
    return grant.store_after(before, by=by)


@transaction.atomic
def revoke_grant(*, study: Study, account: ProviderAccount, by: trail.Actor) -> Grant:
    """End a study's grant: its members can no longer launch, confirm, resume or retry anything with the account's paid models.

    Running batches are not stopped here. Raises ``Refused`` if there is no grant.
    """
    _refuse_others(by)
    before = lock_grants(study, [account.pk]).get(account.pk)
    if before is None or before.is_revoked:
        raise Refused(f"The study {study.slug} has no grant for {account.name}, so there is nothing to revoke.")
    limits = {name: getattr(before, name) for name in Grant.limits}
    return Grant(study=study, account=account, is_revoked=True, **limits).store_after(before, by=by)


def lock_grants(study: Study, account_ids: list[int]) -> dict[int, Grant]:
    """The newest grant of the study for each of these accounts, locked until the transaction ends.

    The lock is on the first row of each grant, which stays the same when a new row is added; rows are always locked in the same
    order.
    """
    rows = Grant.objects.filter(study=study, account__in=account_ids)
    list(rows.filter(number=1).order_by("pk").select_for_update().values_list("pk", flat=True))
    return {row.account_id: row for row in rows.select_related("account").order_by("number")}


def list_grants(*, study: Study | None = None, account: ProviderAccount | None = None) -> list[Grant]:
    """The newest grant of every study and account, or of one study or one account."""
    rows = Grant.objects.all()
    if study is not None:
        rows = rows.filter(study=study)
    if account is not None:
        rows = rows.filter(account=account)
    newest = Window(RowNumber(), partition_by=["study", "account"], order_by=F("number").desc())
    ranked = rows.annotate(rank=newest).filter(rank=1).select_related("study", "account")
    return sorted(ranked, key=lambda row: (row.account.name, row.study.name, row.pk))


def _refuse_others(by: trail.Actor) -> None:
    if isinstance(by, User) and not by.is_superuser:
        raise PermissionDenied(
            "Only the owner of the site can grant models to studies, because calls to them may cost money."
        )


def _check_limits(*given: Decimal | None) -> dict[str, int | None]:
    """The limits in nanodollars, by their names. Raises ``Refused``."""
    known = [limit for limit in given if limit is not None]
    if known and len(known) < len(given):
        raise Refused(
            "Enter all three limits: for the study, for the study per day, and for each person per day. Leave all three "
            "empty if the study may only use models of this account that cost nothing."
        )
    if not all(limit.is_finite() and 0 < limit <= MAX_LIMIT for limit in known):
        raise Refused("A limit must be more than 0 and at most a million dollars.")
    if any(limit * NANO != int(limit * NANO) for limit in known):
        raise Refused("A limit can have at most nine places after the decimal point.")
    nano = (None if limit is None else int(limit * NANO) for limit in given)
    return dict(zip(Grant.limits, nano, strict=True))
