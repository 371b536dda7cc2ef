"""Programs that run inside the product, each in a process of its own: ``python -m perf.inside.NAME``.

They find the data folder in AUDITAPP_DATA and print one JSON object.
"""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "auditapp.settings")
django.setup()
