"""Forms that are sent twice: the batch that the first press made, and whether the second asks for the same."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping

from auditapp.batches.actions.changes import BatchError
from auditapp.batches.models import Batch
from transcripts.projects.models import Project

ASKED = "asked"
OF_ANOTHER_STUDY = "This form has launched a batch of another study already. Open it again and send it once more."
ASKS_OTHERWISE = (
    "This form has launched batch {batch} already, with other settings, so nothing was launched now. To launch this as "
    "well, review it and launch again."
)


def digest_asked(kind: str, sending: Mapping[str, object], **asked: object) -> str:
    """SHA-256 of what a launch asks for and of how it is sent: the same for a form sent again, another for a changed one.

    ``asked`` holds ids and names, in an order that does not change by itself.
    """
    how = {name: str(value) for name, value in sending.items() if name != "client_id"}
    return hashlib.sha256(json.dumps([kind, how, asked], sort_keys=True).encode()).hexdigest()


def find_launched(project: Project, client_id: uuid.UUID | None, asked: str = "") -> Batch | None:
    """The batch that a form has launched already. Whoever plans with what a batch changes looks here first: what was
    to be planned may be done by now. Raises ``BatchError`` where it is another study's, or where it was launched with
    another ``asked``, which was ``digest_asked`` then."""
    if client_id is None:
        return None
    standing = Batch.objects.filter(client_id=client_id).first()
    if standing is None:
        return None
    if standing.project_id != project.pk:
        raise BatchError(OF_ANOTHER_STUDY)
    if asked and standing.parameters.get(ASKED, asked) != asked:
        raise BatchError(ASKS_OTHERWISE.format(batch=standing.pk))
    return standing
