"""Two short threads, and short ways to be through with one.

Short ways to write stances and give scores in tests."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from tests.transcripts.rounds.cast import answers
from transcripts.accounts.models import User
from transcripts.audit_trail.trail import Actor
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.actions import decide_sentence
from transcripts.corpus.models import Interview, Sentence
from transcripts.negotiation.actions import Evidence, pair_threads, put_score, write_case_sheet, write_stance
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score
from transcripts.rounds.actions import complete_interview
from transcripts.studies.models import Study

WHY = "Only power decides this case."
RELEVANT = [{"feature": "feature.power", "reason": WHY}]
IRRELEVANT = [{"feature": "feature.policy", "reason": "No rule applies."}]
DIFFERS = "Who is the tutor."


def decide_all(interview: Interview, by: User) -> None:
    """Decide everything that the model says."""
    for sentence in answers(interview):
        decide_sentence(study=interview.study, sentence=sentence, by=by, idempotency_key=uuid.uuid4())


def finish(interview: Interview, by: User) -> None:
    """Decide everything, and finish."""
    decide_all(interview, by)
    complete_interview(study=interview.study, interview=interview, by=by)


def write_sheet(interview: Interview, by: Actor, **others: Any) -> CaseSheet:
    given: dict[str, Any] = {"relevant": RELEVANT, "irrelevant": IRRELEVANT, **others}
    return write_case_sheet(study=interview.study, interview=interview, by=by, **given)


def pair_up(threads: Sequence[Interview], by: User, **others: Any) -> Pair:
    a, b = threads
    given: dict[str, Any] = {"name": "tutor 1", "differs": DIFFERS, "expect": "no_change", **others}
    return pair_threads(study=a.study, a=a, b=b, by=by, **given)


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
