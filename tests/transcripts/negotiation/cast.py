"""Two short threads, and short ways to be through with one.

Short ways to write stances and give scores in tests."""

import uuid
from uuid import uuid4

from tests.transcripts.rounds.cast import answers
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.actions import decide_sentence
from transcripts.corpus.models import Sentence
from transcripts.negotiation.actions import Evidence, pair_threads, put_score, write_case_sheet, write_stance
from transcripts.negotiation.models import NormativeStance
from transcripts.rounds.actions import complete_interview

WHY = "Only power decides this case."
RELEVANT = [{"feature": "feature.power", "reason": WHY}]
IRRELEVANT = [{"feature": "feature.policy", "reason": "No rule applies."}]
DIFFERS = "Who is the tutor."


def decide_all(interview, by):
    """Decide everything that the model says."""
    for sentence in answers(interview):
        decide_sentence(study=interview.study, sentence=sentence, by=by, idempotency_key=uuid.uuid4())


def finish(interview, by):
    """Decide everything, and finish."""
    decide_all(interview, by)
    complete_interview(study=interview.study, interview=interview, by=by)


def write_sheet(interview, by, **others):
    given = {"relevant": RELEVANT, "irrelevant": IRRELEVANT, **others}
    return write_case_sheet(study=interview.study, interview=interview, by=by, **given)


def pair_up(threads, by, **others):
    a, b = threads
    given = {"name": "tutor 1", "differs": DIFFERS, "expect": "no_change", **others}
    return pair_threads(study=a.study, a=a, b=b, by=by, **given)


CARE = {
    "statement": "Nobody is left worse off for having asked.",
    "author": "The team",
    "priorities": "Those who cannot contest an answer.",
    "context": "Advice to the public.",
}


def write(study, by, name="care", *, based_on=0, **changes):
    """A number of a stance, the first unless something else is said."""
    stance = NormativeStance(study=study, name=name, **{**CARE, **changes})
    return write_stance(stance=stance, by=by, based_on=based_on)


def list_sentences(interview):
    rows = Sentence.objects.current().filter(turn__interview=interview)
    return list(rows.select_related("turn__interview__study").order_by("position", "start"))


def score(stance, interview, by, value=2, criterion="moves", **how):
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


def add_challenges(study):
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
