"""Launches that are sent twice: the batch that the first one made, and whether the second asks for the same."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import asdict

from auditapp.batches.actions.changes import BatchError
from auditapp.batches.models import Batch
from auditapp.batches.pure.launch_options import LaunchOptions
from transcripts.projects.models import Project

ASKED = "asked"
OF_ANOTHER_STUDY = "This form has already launched a batch in another study. Open it again and submit it once more."
ASKS_OTHERWISE = (
    "This form has launched batch {batch} already, with other settings, so nothing was launched now. To launch this too, "
    "review it and launch again."
)


def digest_asked(kind: str, options: LaunchOptions, **asked: object) -> str:
    """SHA-256 of what a launch asks for and of how it is sent: the same for a form sent again, another for a changed one.

    ``asked`` holds ids and names, in an order that does not change by itself.
    """
    how = {name: str(value) for name, value in asdict(options).items() if name != "idempotency_key"}
    return hashlib.sha256(json.dumps([kind, how, asked], sort_keys=True).encode()).hexdigest()


def find_launched(project: Project, idempotency_key: uuid.UUID | None, asked: str) -> Batch | None:
    """The batch that was launched with this key already, if any.

    Raises ``BatchError`` where that batch belongs to another study, or where it was asked for something else: ``asked``
    is ``digest_asked`` of the launch.
    """
    if idempotency_key is None:
        return None
    launched = Batch.objects.filter(idempotency_key=idempotency_key).first()
    if launched is None:
        return None
    if launched.project_id != project.pk:
        raise BatchError(OF_ANOTHER_STUDY)
    if launched.parameters.get(ASKED, asked) != asked:
        raise BatchError(ASKS_OTHERWISE.format(batch=launched.pk))
    return launched
