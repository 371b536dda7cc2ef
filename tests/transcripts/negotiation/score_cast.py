"""Short ways to write stances and give scores in tests."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from transcripts.accounts.models import User
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.corpus.models import Interview, Sentence
from transcripts.negotiation.actions import Evidence, put_score, write_stance
from transcripts.negotiation.models import NormativeStance, Score
from transcripts.studies.models import Study

CARE = {
    "statement": "Nobody is left worse off for having asked.",
    "author": "The team",
    "priorities": "Those who cannot contest an answer.",
    "context": "Advice to the public.",
}


def write(study: Study, by: User, name: str = "care", *, based_on: int = 0, **changes: Any) -> NormativeStance:
    """A number of a stance, the first unless something else is said."""
    stance = NormativeStance(study=study, name=name, **{**CARE, **changes})
    return write_stance(stance=stance, by=by, based_on=based_on)


def list_sentences(interview: Interview) -> list[Sentence]:
    rows = Sentence.objects.current().filter(turn__interview=interview)
    return list(rows.select_related("turn__interview__study").order_by("position", "start"))


def score(
    stance: NormativeStance, interview: Interview, by: User, value: int | None = 2, criterion: str = "moves", **how: Any
) -> Score:
    """A score that rests on the second sentence, unless something else is said."""
    how.setdefault("evidence", [Evidence(list_sentences(interview)[1])] if value is not None else [])
    if value is None:
        how.setdefault("note", "It never came up.")
    return put_score(
        study=how.pop("study", stance.study),
        stance=stance,
        interview=interview,
        criterion=criterion,
        value=value,
        by=by,
        idempotency_key=how.pop("idempotency_key", None) or uuid4(),
        **how,
    )


def add_challenges(study: Study) -> Code:
    """A family of challenges with one code in the study's published codebook, if it has none yet."""
    version = CodebookVersion.objects.get(study=study, number=1)
    family, _ = CodeFamily.objects.get_or_create(
        version=version,
        identifier="challenges",
        defaults={
            "name": "Challenges",
            "unit": "turn",
            "carries_level": False,
            "position": 90,
            "applies_to": "interviewer",
        },
    )
    code, _ = Code.objects.get_or_create(
        version=version,
        identifier="challenge.warranted",
        defaults={"family": family, "name": "Warranted", "position": 900},
    )
    return code
