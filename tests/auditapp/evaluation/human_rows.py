"""Everything that people made, as one number: what no machine may ever change."""

from __future__ import annotations

import hashlib
import json

from django.apps import apps
from django.db.models import Model

from auditapp.suggestions.models import Response

# Machines leave events of their own there.
HISTORY = "audit_trail"


def hash_human() -> str:
    """SHA-256 of all rows of the human half, and of what people answered to suggestions; without the history."""
    human = [model for model in apps.get_models() if model.__module__.startswith("transcripts.")]
    models: list[type[Model]] = [*(model for model in human if model._meta.app_label != HISTORY), Response]
    rows = {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in models}
    return hashlib.sha256(json.dumps(rows, default=str, sort_keys=True).encode()).hexdigest()
