from __future__ import annotations

from auditapp.sob.forms.launching import LaunchForm
from auditapp.sob.forms.wordings import WordingForm

__all__ = ["LaunchForm", "WordingForm"]
