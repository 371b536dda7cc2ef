"""Annotators, what they answered and suggest, and what is withheld from people."""

from __future__ import annotations

from auditapp.annotators.models.annotators import CHECK_KIND, CRITIC_KIND, KIND, Annotator, CodeChoice, OfflineRun
from auditapp.annotators.models.readings import (
    MAX_PLANTED,
    CheckAnswer,
    CriticReading,
    OfflineReading,
    PlantedSentence,
    Reading,
    Suggestion,
    Understood,
)
from auditapp.annotators.models.withholding import DraftReading, TurnArm, WithholdingPlan

__all__ = [
    "CHECK_KIND",
    "CRITIC_KIND",
    "KIND",
    "MAX_PLANTED",
    "Annotator",
    "CheckAnswer",
    "CodeChoice",
    "CriticReading",
    "DraftReading",
    "OfflineReading",
    "OfflineRun",
    "PlantedSentence",
    "Reading",
    "Suggestion",
    "TurnArm",
    "Understood",
    "WithholdingPlan",
]
