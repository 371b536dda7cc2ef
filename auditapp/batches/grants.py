"""Whose money a batch may spend: grants of accounts to studies, and the amounts that batches have committed.

A batch commits its cap when it is launched, and again whenever it could spend more; the ledger keeps each batch within its cap.
So grants need not be checked for each call. An ended batch counts with the amount that it spent.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from django.db.models import F, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from auditapp.batches.models import Arm, Attempt, Batch
from auditapp.batches.pure.estimates import NANO, Share, add_up, find_changes, settle, sum_shares, to_dollars
from auditapp.llm.actions import CALLS_NOBODY
from auditapp.llm.grants import lock_grants
from auditapp.llm.models import Commitment, Grant, ModelVariant, Price, ProviderAccount
from auditapp.outbound.clock import read_now
from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.refusals import Refused
from transcripts.studies.models import Study

CENT = NANO // 100


class Asked(NamedTuple):
    """An account whose models a batch uses; ``is_paid`` unless all of these are known to cost nothing."""

    account: ProviderAccount
    labels: list[str]
    is_paid: bool


class Left(NamedTuple):
    """What is left of a grant, in nanodollars: for the study, for the study today, for this person today."""

    study: int
    study_today: int
    person_today: int


def needs_no_grant(by: trail.Actor) -> bool:
    """Whether a person decides about the site's money herself. The owner of the site does, and so does anyone who runs commands
    on its server."""
    return not isinstance(by, User) or by.is_superuser


def find_asked(priced: Iterable[tuple[ModelVariant, Decimal | None, Decimal | None]]) -> list[Asked]:
    """The accounts of these variants for which somebody pays, each with its prices in and out. A model without a price counts as
    paid; the fake provider and answers from a file cost nothing. Reads variant.account."""
    found: dict[int, Asked] = {}
    for variant, price_in, price_out in priced:
        if variant.provider in CALLS_NOBODY:
            continue
        is_paid = price_in is None or price_out is None or bool(price_in or price_out)
        known = found.get(variant.account_id, Asked(variant.account, [], is_paid=False))
        labels = list(dict.fromkeys([*known.labels, variant.label]))
        found[variant.account_id] = Asked(variant.account, labels, known.is_paid or is_paid)
    return [found[key] for key in sorted(found)]


def find_asked_at(variants: Iterable[ModelVariant], prices: Mapping[int, Price]) -> list[Asked]:
    """The same at the current prices, by the variant's key. Reads variant.account."""
    rows = [(variant, prices.get(variant.pk)) for variant in variants]
    return find_asked((each, row.price_in if row else None, row.price_out if row else None) for each, row in rows)


def find_asked_of(batch: Batch) -> list[Asked]:
    """The same for a launched batch, at the prices that it keeps."""
    arms = Arm.objects.filter(batch=batch).select_related("variant__account")
    return find_asked((arm.variant, arm.price_in, arm.price_out) for arm in arms)


def commit_money(*, batch: Batch, cap_nano: int | None, by: trail.Actor) -> None:
    """Commit the batch's cap against the study's grants, before the batch can spend more. Inside a transaction.

    ``batch`` is as it was before the change. If ``by`` needs no grant, nothing is refused, and a batch that has already committed
    money is adjusted to its new cap. Raises ``Refused``.
    """
    asked = find_asked_of(batch)
    if not asked:
        return
    grants = lock_grants(batch.study, [each.account.pk for each in asked])
    if not needs_no_grant(by):
        for each in asked:
            _check_covered(batch.study, each, grants.get(each.account.pk), cap_nano)
    if cap_nano is None:
        return
    today = find_today()
    for each in asked:
        grant = grants.get(each.account.pk)
        if each.is_paid and grant is not None:
            _commit_to(grant, batch, cap_nano, by, today)


def find_today() -> datetime.date:
    """The current day in the site's time zone, by the database's clock."""
    return timezone.localdate(read_now())


def check_money(*, study: Study, asked: Sequence[Asked], cap_nano: int | None, by: trail.Actor) -> None:
    """Refuse a new batch that ``commit_money`` would refuse, before anything is written. Raises ``Refused``."""
    if needs_no_grant(by) or not asked:
        return
    grants = find_grants(study, asked)
    for each in asked:
        grant = grants.get(each.account.pk)
        _check_covered(study, each, grant, cap_nano)
        if grant is not None and cap_nano is not None and each.is_paid:
            _check_limits(grant, find_left(grant, by), cap_nano)


def find_grants(study: Study, asked: Iterable[Asked]) -> dict[int, Grant]:
    """The newest grant of the study by account, without a lock."""
    rows = Grant.objects.filter(study=study, account__in=[each.account.pk for each in asked])
    return {row.account_id: row for row in rows.select_related("account", "study").order_by("number")}


def find_left(grant: Grant, by: trail.Actor) -> Left:
    """What is left of the grant now, within all of its limits: a person never has more left than the study."""
    sums = sum_shares(_list_counted(grant), day=find_today(), person=_key_of(by))
    return _subtract(grant, sums)


def round_down(nano: int) -> int:
    """In whole cents. The exact amount left is never shown: it would reveal what an ended batch cost, even to people from whom
    its calls are hidden."""
    return nano // CENT * CENT


def _subtract(grant: Grant, sums: tuple[int, int, int]) -> Left:
    study, day, person = grant.study_nano or 0, grant.study_day_nano or 0, grant.person_day_nano or 0
    in_study = max(0, study - sums[0])
    today = min(in_study, max(0, day - sums[1]))
    return Left(in_study, today, min(today, max(0, person - sums[2])))


def _commit_to(grant: Grant, batch: Batch, cap_nano: int, by: trail.Actor, today: datetime.date) -> None:
    rows = _read_rows(grant)
    own = rows.pop(batch.pk, [])
    if needs_no_grant(by) and not own:
        return
    counted = _count_batches(grant, {batch.pk: own})
    more = cap_nano - sum(share.nano for share in counted)
    if more > 0 and not needs_no_grant(by):
        others = [*_count_batches(grant, rows), *counted]
        _check_limits(grant, _subtract(grant, sum_shares(others, day=today, person=_key_of(by))), more)
    changes = find_changes(add_up(own), counted, cap_nano, day=today, person=_key_of(by))
    names = {row.person_id: row.person_name for row in Commitment.objects.filter(batch_number=batch.pk)}
    names[_key_of(by)] = by.get_username()
    Commitment.objects.bulk_create(
        Commitment(
            grant=grant,
            batch_number=batch.pk,
            person_id=share.person,
            person_name=names[share.person][:200],
            day=share.day,
            nano=share.nano,
            committed_at=timezone.now(),
        )
        for share in changes
    )


def _key_of(by: trail.Actor) -> int | None:
    return by.pk if isinstance(by, User) else None


def _check_covered(study: Study, asked: Asked, grant: Grant | None, cap_nano: int | None) -> None:
    """Refuse a batch without a grant for this account, or without a cap. Raises ``Refused``."""
    name, labels = asked.account.name, ", ".join(asked.labels)
    command = f"python manage.py grant set {study.slug} {asked.labels[0]!r}"
    if grant is None or grant.is_revoked:
        what = "was revoked" if grant else "is missing"
        raise Refused(
            f"This study may not use {labels}: a grant for the account {name} {what}. The owner of the site can grant it on the "
            f"page of the account, or with `{command} --total 50 --day 20 --person-day 10` (US dollars)."
        )
    if not asked.is_paid:
        return
    if not grant.has_limits:
        raise Refused(
            f"The grant of this study for the account {name} is only for models that cost nothing, and {labels} may cost money. "
            f"The owner of the site can set limits on the page of the account, or with `{command} --total 50 --day 20 "
            "--person-day 10` (US dollars)."
        )
    if cap_nano is None:
        raise Refused(
            f"A batch with {labels} needs a cap, because it spends money granted to this study. Enter the most that it may cost."
        )


def _check_limits(grant: Grant, left: Left, more: int) -> None:
    """Refuse to commit more than what is left. Raises ``Refused``."""
    limits = [
        (left.study, grant.study_nano, "this study in all"),
        (left.study_today, grant.study_day_nano, "this study today"),
        (left.person_today, grant.person_day_nano, "you in this study today"),
    ]
    for amount, limit, whom in limits:
        if more > amount:
            raise Refused(
                f"This would commit ${_in_words(more)} of the money granted for the account {grant.account.name}, but only "
                f"${_in_words(round_down(amount))} of ${_in_words(limit)} is left for {whom}. Choose a lower cap, wait until "
                "other batches have ended, or ask the owner of the site for more."
            )


def _in_words(nano: int | None) -> str:
    amount = to_dollars(nano) or Decimal(0)
    return f"{amount:,.2f}" if amount == round(amount, 2) else f"{amount.normalize():,f}"


def _read_rows(grant: Grant) -> dict[int, list[Share]]:
    """All rows of the study and account by batch, whatever the number of the grant."""
    rows = Commitment.objects.filter(grant__study=grant.study_id, grant__account=grant.account_id).order_by("pk")
    found: dict[int, list[Share]] = {}
    for batch, day, person, nano in rows.values_list("batch_number", "day", "person_id", "nano"):
        found.setdefault(batch, []).append(Share(day, person, nano))
    return found


def _list_counted(grant: Grant) -> list[Share]:
    return _count_batches(grant, _read_rows(grant))


def _count_batches(grant: Grant, rows: Mapping[int, list[Share]]) -> list[Share]:
    """The amounts with which these batches count: what they have committed while they are open, and what they spent once they
    have ended."""
    batches = Batch.objects.in_bulk(list(rows))
    ended = [batch for batch in batches.values() if not batch.is_open]
    spent = _read_spent(grant, ended)
    counted: list[Share] = []
    for number, own in rows.items():
        counted += settle(own, spent[number]) if number in spent else add_up(own)
    return counted


def _read_spent(grant: Grant, ended: Sequence[Batch]) -> dict[int, int]:
    """What each ended batch spent on the grant's account, counting calls whose end is unknown at their highest price."""
    spent = {batch.pk: batch.spent_nano + batch.reserved_nano for batch in ended}
    arms = Arm.objects.filter(batch__in=spent).exclude(variant__account=grant.account_id)
    mixed = set(arms.order_by().values_list("batch", flat=True).distinct())
    if mixed:
        calls = Attempt.objects.filter(arm__batch__in=mixed, arm__variant__account=grant.account_id)
        sums = (
            calls.order_by().values_list("arm__batch").annotate(nano=Sum(Coalesce(F("cost_nano"), F("reserved_nano"))))
        )
        spent |= dict.fromkeys(mixed, 0) | {batch: nano or 0 for batch, nano in sums}
    return spent
