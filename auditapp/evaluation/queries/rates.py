"""What a corrected rate of a code over the corpus is computed from. Loads numpy; pages import this inside functions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auditapp.annotators.models import Annotator, CodeChoice, TurnAnswer, TurnArm
from auditapp.annotators.queries.machine_labels import MachineLabels, read_machine_labels
from auditapp.batches.models import Arm
from auditapp.evaluation.pure.corrected_rates import Found, Sample, Served
from auditapp.evaluation.queries.calibration import find_aside
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.blind import BlindLabels
from transcripts.studies.models import Study

Bools = NDArray[np.bool_]


def read_arms(study: Study, turn_answers: BlindLabels) -> tuple[Bools, Bools, NDArray[np.float64]]:
    """Of each sentence whether its turn was drawn, whether it is withheld, and with which probability: one query."""
    rows = TurnArm.objects.filter(turn__interview__study=study).values_list("turn_id", "arm", "probability")
    drawn = sorted(rows)
    turns = np.array([turn for turn, *_ in drawn], dtype=np.int64)
    withheld = np.array([arm == TurnArm.Arm.WITHHELD for _, arm, _ in drawn], dtype=bool)
    probability = np.array([share for *_, share in drawn], dtype=np.float64)
    size = len(turn_answers.turn_ids)
    if not len(turns):
        return np.zeros(size, dtype=bool), np.zeros(size, dtype=bool), np.zeros(size)
    places = np.minimum(np.searchsorted(turns, turn_answers.turn_ids), len(turns) - 1)
    is_drawn = turns[places] == turn_answers.turn_ids
    return is_drawn, is_drawn & withheld[places], np.where(is_drawn, probability[places], 0.0)


class Corpus:
    """The sentences of a study with people's blind readings and the arms; annotators are read once each."""

    def __init__(self, study: Study, turn_answers: BlindLabels) -> None:
        self.study = study
        self.turn_answers = turn_answers
        self.is_drawn, self.is_withheld, self.probability = read_arms(study, turn_answers)
        self._machines: dict[tuple[int, bool], MachineLabels] = {}

    def read_parts(self, choice: CodeChoice, annotator: Annotator) -> dict[str, Any]:
        """What the rate of the code is based on, by the annotator that was chosen for it: what was ``found`` and the
        ``sample``.

        ``labelled_in``: the interviews whose labels it is based on. ``set_aside``: sentences whose codes the annotator had
        been shown, in neither part. ``n_labels``: of the labelled sentences, each person's.
        """
        codes = Code.objects.filter(version=annotator.version_id, identifier=choice.code_identifier)
        code = codes.select_related("family").first()
        machine = self._read_machine(annotator, with_critic=choice.with_critic)
        was_read, said_yes = _place_machine(machine, choice.code_identifier, self.turn_answers)
        family, decided, people = self._read_people(choice.code_identifier)
        aside = find_aside(annotator, code, self.turn_answers.sentence_ids)
        population = self.turn_answers.is_answer & self.is_drawn & ~aside
        is_read = population & was_read
        withheld = is_read & self.is_withheld
        interviews = self.turn_answers.interview_ids
        met = np.unique(interviews[is_read])
        unfinished = np.unique(interviews[population & self.is_withheld & was_read & ~decided.any(axis=0)])
        inside = np.isin(interviews, np.setdiff1d(met, unfinished))
        labelled, other = withheld & inside, is_read & inside & ~self.is_withheld
        sample, n_labels = self._sample(labelled, other, said_yes, decided, people)
        turns = self.turn_answers.turn_ids
        found = Found(
            withheld_turns=len(np.unique(turns[withheld])),
            with_probability=len(np.unique(turns[withheld & (self.probability > 0)])),
            interviews=len(np.setdiff1d(met, unfinished)),
            all_interviews=len(met),
            labelled=int(labelled.sum()),
            labelled_turns=len(np.unique(turns[labelled])),
            positives=int((labelled & (said_yes | (people & decided).any(axis=0))).sum()),
            read=int((is_read & inside).sum()),
            asked=int((population & inside).sum()),
            hash=annotator.hash,
            ever_read=int(was_read.sum()),
            served=_find_served(annotator, choice.code_identifier, turns[labelled], turns[other]),
        )
        return {
            "choice": choice,
            "code": code,
            "family": family,
            "found": found,
            "sample": sample,
            "labelled_in": set(np.unique(interviews[labelled]).tolist()),
            "set_aside": int((aside & self.turn_answers.is_answer & inside).sum()),
            "n_labels": n_labels,
        }

    def _read_machine(self, annotator: Annotator, *, with_critic: bool) -> MachineLabels:
        key = annotator.pk, with_critic
        if key not in self._machines:
            self._machines[key] = read_machine_labels(annotator, with_critic=with_critic)
        return self._machines[key]

    def _read_people(self, identifier: str) -> tuple[str, Bools, Bools]:
        """The family of a code now, who decided about it where, and who applied it."""
        family = next(
            (
                used.family
                for used in self.turn_answers.codes.values()
                if used.identifier == identifier and not used.is_split
            ),
            "",
        )
        table = self.turn_answers.arrange(family, CodeFamily.Unit.SENTENCE, [identifier])
        return family, table.decided, table.labels[0]

    def _sample(
        self, labelled: Bools, other: Bools, said_yes: Bools, decided: Bools, people: Bools
    ) -> tuple[Sample, int]:
        """If several people coded a sentence, the share of them who applied the code is used."""
        counts, yes = decided[:, labelled].sum(axis=0), (people & decided)[:, labelled].sum(axis=0)
        machine, turns = said_yes[labelled], self.turn_answers.turn_ids
        probability = self.probability
        sample = Sample(
            people=yes / counts if len(counts) else np.zeros(0),
            machine=machine.astype(np.float64),
            turns=turns[labelled],
            weights=1 / np.maximum(probability[labelled], np.finfo(float).tiny),
            other_machine=said_yes[other].astype(np.float64),
            other_turns=turns[other],
            other_weights=1 / np.maximum(1 - probability[other], np.finfo(float).tiny),
        )
        return sample, int(counts.sum())


def _find_served(
    annotator: Annotator, code: str, labelled: NDArray[np.int64], others: NDArray[np.int64]
) -> tuple[Served, ...]:
    """Which models answered about the turns of both parts; none if the annotator asks no model."""
    if annotator.kind != Annotator.Kind.MODEL:
        return ()
    by_turn = read_served_models(annotator, code)
    parts = [
        Counter(name for turn in set(part.tolist()) for name in by_turn.get(turn, ())) for part in (labelled, others)
    ]
    labelled_by, others_by = parts
    return tuple((name, labelled_by[name], others_by[name]) for name in sorted(set().union(*parts)))


def _place_machine(machine: MachineLabels, identifier: str, turn_answers: BlindLabels) -> tuple[Bools, Bools]:
    """Of each sentence of the study: whether the annotator labelled it for a code, and whether it applied the code."""
    size = len(turn_answers.sentence_ids)
    was_read, said_yes = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    if identifier in machine.codes:
        at, places = machine.codes.index(identifier), machine.find_places(turn_answers.sentence_ids)
        here = np.flatnonzero(places >= 0)
        was_read[here], said_yes[here] = machine.was_read[at, places[here]], machine.labels[at, places[here]]
    return was_read, said_yes


# By turn the names of those who answered; "" where the provider named none.
ServedModels = dict[int, set[str]]


def read_served_models(annotator: Annotator, code: str) -> ServedModels:
    """For each turn annotated for this code, who gave the answers that may count: the last whole one and what
    came after it. Two queries."""
    turn_answers = TurnAnswer.objects.filter(annotator=annotator).exclude(outcome=TurnAnswer.Outcome.INVALID)
    columns = ("cell__arm_id", "cell__input_id", "missing", "cell__result__attempt__served_model")
    rows = list(turn_answers.order_by("pk").values_list(*columns))
    asking = _find_asking({arm for arm, *_ in rows}, code)
    found: ServedModels = defaultdict(set)
    for arm, turn, missing, served in rows:
        if arm in asking:
            if not missing:
                found[turn].clear()
            found[turn].add(served or "")
    return dict(found)


def _find_asking(arms: Collection[int], code: str) -> set[int]:
    """The arms that asked for the code; one of before codes were listed asked for all of its family, so it counts."""
    rows = Arm.objects.filter(pk__in=arms).values_list("pk", "settings")
    return {pk for pk, settings in rows if code in settings.get("codes", [code])}
