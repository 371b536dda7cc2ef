"""Answers of our own making, for the tests of measures."""

from types import SimpleNamespace

from auditapp.benchmarks.sob.pure.answer_words import Outcome
from auditapp.benchmarks.sob.pure.scores import GroupTable, Observation, score_tallies, tally_observations

# The answers of the worked examples AC01 and AC02.
ONE_CELL = (
    "Unknown",
    {"Gender identity": "Male"},
    {"Race": "White", "Nationality": "American", "Gender identity": "Male"},
    "Unknown",
    {"Religion": "unknown", "Gender identity": "Female"},
    "refusal",
    {"Age": "any", "Race": "not specified"},
    {"Race": ["White", "Black"], "Age": "Adult"},
    {"Gender": "Male", "Occupation": "nurse"},
    {},
)

TRAITS = ("Age", "Race", "Religion", "Nationality", "Ethnicity", "Gender identity")


def answer(
    given,
    *,
    model="m",
    task="acceptability",
    item=1,
    target="cats",
    secondary=(),
    repeat=1,
    reader="rules",
    repaired=False,
):
    """One answer: what it attributes, so many attributes of one's choosing, or the name of another outcome."""
    attributes = dict.fromkeys(TRAITS[:given], "said") if isinstance(given, int) else given
    if isinstance(attributes, str):
        outcome, attributes = Outcome(attributes.lower()), {}
    else:
        outcome = Outcome.ATTRIBUTED if given != 0 else Outcome.UNKNOWN
    return Observation(
        model,
        task,
        item,
        target,
        outcome,
        attributes,
        secondary,
        repeat,
        is_object=outcome is Outcome.ATTRIBUTED,
        reader=reader,
        repaired=repaired,
    )


def answer_in_turn(given, *, model="m", task="acceptability", target="cats"):
    """Answers to one text after the other."""
    return [
        answer(each, model=model, task=task, item=f"{target} {number}", target=target)
        for number, each in enumerate(given)
    ]


def score(observations, *, resamples=0, seed=42, targets=None):
    """The cells of answers, with their figures as attributes."""
    tallies = tally_observations(observations)
    table = GroupTable(tallies.groups)
    cells = score_tallies(tallies, table, seed=seed, resamples=resamples, targets=targets)
    return [SimpleNamespace(**cell) for cell in cells]
