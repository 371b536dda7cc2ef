"""The keys that a person chooses for acts and codes at the desk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.models import DeskSettings
from transcripts.desk.keys import OFF, Choices, CodeKey, read_choices


@transaction.atomic
def set_keys(*, given: Mapping[str, str], codes: Iterable[CodeKey], by: User) -> DeskSettings:
    """Give acts and codes other keys, or none; see ``keys.read_choices``. Raises ``KeysRefused``."""
    stored = DeskSettings.objects.select_for_update().filter(user=by).first()
    return _store_keys(read_choices(given, codes, stored.keys if stored else {}), by)


@transaction.atomic
def reset_keys(*, by: User) -> DeskSettings:
    """Give every act and every code, of every study, the key it comes with."""
    return _store_keys({}, by)


def _store_keys(choices: Choices, by: User) -> DeskSettings:
    before = DeskSettings.objects.filter(user=by).first()
    if before is not None and before.keys == choices:
        return before
    settings, _ = DeskSettings.objects.update_or_create(
        user=by, defaults={"keys": choices, "changed_at": timezone.now()}
    )
    keys = [key for chosen in choices.values() for key in chosen.values()]
    trail.record("coding.keys.set", target=settings, by=by, details={"chosen": len(keys), "off": keys.count(OFF)})
    return settings
