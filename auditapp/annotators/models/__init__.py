"""Annotators, what they answered and suggest, and what is withheld from people."""

from __future__ import annotations

from auditapp.annotators.models.annotators import CHECK_KIND, CRITIC_KIND, KIND, Annotator, CodeChoice, OfflineRun
from auditapp.annotators.models.answers import (
    MAX_CONTROL_SENTENCES,
    CheckAnswer,
    ControlSentence,
    CriticAnswer,
    OfflineAnswer,
    Suggestion,
    TurnAnswer,
    Understood,
)
from auditapp.annotators.models.withholding import DraftInterview, TurnArm, WithholdingPlan

__all__ = [
    "CHECK_KIND",
    "CRITIC_KIND",
    "KIND",
    "MAX_CONTROL_SENTENCES",
    "Annotator",
    "CheckAnswer",
    "CodeChoice",
    "ControlSentence",
    "CriticAnswer",
    "DraftInterview",
    "OfflineAnswer",
    "OfflineRun",
    "Suggestion",
    "TurnAnswer",
    "TurnArm",
    "Understood",
    "WithholdingPlan",
]
