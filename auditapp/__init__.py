"""The site, and the machine half of the product."""

from __future__ import annotations

from auditapp.celery import app as celery_app

__all__ = ["celery_app"]
