"""Annotators, their suggestions, what coders were shown of them, and how people judged them."""

from __future__ import annotations

from auditapp.preannotation.models.annotators import CHECK_KIND, CRITIC_KIND, KIND, Annotator, OfflineRun
from auditapp.preannotation.models.judging import (
    MAX_PER_CODE,
    USUAL_PER_CODE,
    AuditedSuggestion,
    CodeChoice,
    Disagreement,
    PositiveAudit,
    PositiveMark,
    ResultsOpening,
)
from auditapp.preannotation.models.readings import (
    MAX_PLANTED,
    CheckAnswer,
    CriticReading,
    OfflineReading,
    PlantedSentence,
    Reading,
    Suggestion,
    Understood,
)
from auditapp.preannotation.models.showing import DraftReading, Response, Showing, TurnArm, WithholdingPlan

__all__ = [
    "CHECK_KIND",
    "CRITIC_KIND",
    "KIND",
    "MAX_PER_CODE",
    "MAX_PLANTED",
    "USUAL_PER_CODE",
    "Annotator",
    "AuditedSuggestion",
    "CheckAnswer",
    "CodeChoice",
    "CriticReading",
    "Disagreement",
    "DraftReading",
    "OfflineReading",
    "OfflineRun",
    "PlantedSentence",
    "PositiveAudit",
    "PositiveMark",
    "Reading",
    "Response",
    "ResultsOpening",
    "Showing",
    "Suggestion",
    "TurnArm",
    "Understood",
    "WithholdingPlan",
]
