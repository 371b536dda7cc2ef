"""What a model said of whole turns: its labels as arrays, and its answers to the codes' own questions.

A turn stands under its first sentence, whichever that is now, so that boundary edits move nothing. Loads numpy; pages import
this inside functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from auditapp.annotators.models import Annotator, Suggestion, TurnAnswer
from auditapp.annotators.queries.machine_labels import MachineLabels
from auditapp.batches.models import Arm
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Sentence

AT_A_TIME = 5_000
# Of what was said of a turn: the number of its first sentence, and the identifier of a code.
Place = tuple[int, str]


class TurnLabels(NamedTuple):
    """``labels``: as of sentences, by the first sentence of each turn. ``answers``: of each label, by the key of the question."""

    labels: MachineLabels
    answers: Mapping[Place, Mapping[str, str]]


def read_turn_labels(annotator: Annotator) -> TurnLabels:
    """The annotator's current labels of turns in interviews that count: of several for a turn and a code, the latest.

    A turn that its answer left out was not read. Five queries, more for many thousands of turns.
    """
    codes = Code.objects.filter(version=annotator.version_id, family__unit=CodeFamily.Unit.TURN)
    known = list(codes.order_by("family__position", "position").values_list("identifier", flat=True))
    turn_answers = TurnAnswer.objects.filter(annotator=annotator, cell__arm__settings__turns_of__isnull=False)
    rows = turn_answers.exclude(outcome=TurnAnswer.Outcome.INVALID).order_by("cell_id")
    columns = ("cell_id", "cell__input_id", "cell__arm_id", "asked", "missing")
    answered = [row[:3] for row in rows.values_list(*columns) if set(row[3]) - set(row[4])]
    arms = Arm.objects.filter(pk__in={arm for *_, arm in answered})
    asked_by = {pk: settings["codes"] for pk, settings in arms.values_list("pk", "settings")}
    first_of = _find_first({turn for _, turn, _ in answered})
    latest: dict[Place, int] = {}
    for cell, turn, arm in answered:
        if turn in first_of:
            latest |= {(first_of[turn], code): cell for code in asked_by[arm] if code in known}
    answers = _read_answers(annotator, first_of, latest)
    sentence_ids = np.array(sorted({sentence for sentence, _ in latest}), dtype=np.int64)
    asked = [code for code in known if code in {each for _, each in latest}]
    return TurnLabels(
        MachineLabels(
            sentence_ids,
            tuple(asked),
            np.array([[(each, code) in latest for each in sentence_ids.tolist()] for code in asked], dtype=bool),
            np.array([[(each, code) in answers for each in sentence_ids.tolist()] for code in asked], dtype=bool),
        ),
        answers,
    )


def _find_first(turn_ids: set[int]) -> dict[int, int]:
    """The first current sentence of each of these turns, in interviews that count in their study."""
    found: dict[int, int] = {}
    wanted = sorted(turn_ids)
    for start in range(0, len(wanted), AT_A_TIME):
        part = wanted[start : start + AT_A_TIME]
        current = Sentence.objects.current().filter(turn__in=part, turn__interview__study__isnull=False)
        for turn, sentence in current.order_by("turn", "start").values_list("turn_id", "pk"):
            found.setdefault(turn, sentence)
    return found


def _read_answers(
    annotator: Annotator, first_of: Mapping[int, int], latest: Mapping[Place, int]
) -> dict[Place, dict[str, str]]:
    """By place, the answers that came with each label that holds."""
    rows = Suggestion.objects.filter(annotator=annotator, code__family__unit=CodeFamily.Unit.TURN).order_by("pk")
    found: dict[Place, dict[str, str]] = {}
    for cell, turn, code, answers in rows.values_list("cell_id", "sentence__turn_id", "code__identifier", "answers"):
        place = first_of.get(turn, 0), code
        if latest.get(place) == cell:
            found[place] = answers
    return found
