from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from auditapp.batches.models import Tick
from auditapp.batches.runner.recovery import sweep_others
from transcripts.accounts.models import Session

pytestmark = pytest.mark.django_db


def test_workers_delete_sessions_that_are_over_once_an_hour(coder):
    for hours in (13, 1):
        client = Client()
        client.force_login(coder)
        Session.objects.filter(pk=client.session.session_key).update(
            last_used_at=timezone.now() - timedelta(hours=hours)
        )
    sweep_others()
    assert Session.objects.count() == 1
    Session.objects.update(last_used_at=timezone.now() - timedelta(hours=13))
    sweep_others()
    assert Session.objects.count() == 1, "not again so soon"
    Tick.objects.filter(name="old sessions").update(at=timezone.now() - timedelta(hours=2))
    sweep_others()
    assert not Session.objects.exists()
