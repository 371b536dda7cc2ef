from __future__ import annotations

from django.apps import AppConfig


class AuditTrailConfig(AppConfig):
    name = "transcripts.audit_trail"
