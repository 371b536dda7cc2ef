"""An annotator's labels and people's blind ones on the same sentences: what calibration, and the corrected rate of a code over the
corpus, are computed from. Also how it answered the codes' own questions, with people's blind answers: for case features, the
status.

Blind labels alone, read where all of the study reads them. Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditapp.annotators.models import Annotator, CodeChoice, TurnAnswer, TurnArm
from auditapp.annotators.pure.prompts import list_taught
from auditapp.annotators.queries.boundary_edits import add_edited
from auditapp.annotators.queries.machine_labels import MachineLabels, read_machine_labels, read_turn_labels
from auditapp.annotators.withholding import list_all_withheld
from auditapp.batches.models import Arm
from auditapp.evaluation.models import Disagreement
from auditapp.evaluation.pure.calibration import AnswerTable, CodeLabels, tabulate_answers
from auditapp.evaluation.pure.corrected_rates import Found, Sample, Served
from transcripts.codebook.models import Code, CodeExample, CodeFamily
from transcripts.codebook.queries import current_version
from transcripts.coding.blind import BlindLabels, BlindTable, read_blind
from transcripts.coding.models import Blinding, Coding
from transcripts.studies.models import Study

Bools = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class ComparedCode(NamedTuple):
    """A code that annotator and codebook share. ``changed_in``: the version that gave it another meaning since, or 0.

    Labels of turns stand at their first sentences, and nowhere else.
    """

    code: Code
    family: str
    changed_in: int
    labels: CodeLabels
    set_aside: dict[str, int]


@dataclass
class Compared:
    """All that is compared. Units are the sentences of the study, ``coders`` the numbers of persons.

    ``with_critic``: without what a critic rejected. ``only_withheld``: on withheld turns alone.
    ``uncompared``: names of codes the annotator reads for that no codebook has any more under that identifier.
    ``interviews``: those in which a person decided blind about a sentence the annotator has, seen or not; ``blinded`` are
    those of them that the viewer would have to unblind first.
    """

    annotator: Annotator
    with_critic: bool
    only_withheld: bool
    sentence_ids: Numbers
    turn_ids: Numbers
    interview_ids: Numbers
    coders: tuple[int, ...]
    codes: list[ComparedCode] = field(default_factory=list)
    uncompared: list[str] = field(default_factory=list)
    interviews: set[int] = field(default_factory=set)
    blinded: set[int] = field(default_factory=set)

    @property
    def opened(self) -> int:
        return len(self.interviews) - len(self.blinded)

    @property
    def is_hidden(self) -> bool:
        """Whether there is something to see and nothing of it is unblinded."""
        return bool(self.blinded) and not self.opened

    def find(self, identifier: str) -> ComparedCode | None:
        """The code with this identifier."""
        return next((each for each in self.codes if each.code.identifier == identifier), None)

    def count_labels(self) -> tuple[int, int]:
        """Labels of people that are compared for some code, each counted once a family, and the sentences they are on."""
        by_family: dict[str, Bools] = {}
        for each in self.codes:
            counts = each.labels.counts
            by_family[each.family] = by_family[each.family] | counts if each.family in by_family else counts
        labels = sum(int(counts.sum()) for counts in by_family.values())
        is_labelled = np.zeros(len(self.sentence_ids), dtype=bool)
        for counts in by_family.values():
            is_labelled |= counts.any(axis=0)
        return labels, int(is_labelled.sum())


def read_compared(
    annotator: Annotator,
    *,
    with_critic: bool = False,
    only_withheld: bool = False,
    seen: Collection[int] | None = None,
    turn_answers: BlindLabels | None = None,
    with_alternatives: bool = False,
) -> Compared:
    """What of an annotator's turn answers meets blind labels, in the interviews ``seen`` or in all. About fourteen queries.

    ``readings`` saves reading people's labels again. ``with_alternatives`` compares legitimate alternatives too: to list
    and sort them, never to count them as errors. Reads annotator.study.
    """
    turn_answers = read_blind(annotator.study) if turn_answers is None else turn_answers
    found = Compared(
        annotator,
        with_critic,
        only_withheld,
        turn_answers.sentence_ids,
        turn_answers.turn_ids,
        turn_answers.interview_ids,
        coders=tuple(turn_answers.coders),
    )
    comparison = _Comparison(found, turn_answers, seen, with_alternatives=with_alternatives)
    family_now = {used.identifier: used.family for used in turn_answers.codes.values() if not used.is_split}
    families: dict[str, list[Code]] = {}
    for code in _list_codes(annotator):
        is_asked = code.identifier in comparison.find_machine(code).codes
        if is_asked and code.identifier in family_now:
            families.setdefault(family_now[code.identifier], []).append(code)
        elif is_asked:
            found.uncompared.append(code.name)
    for family, codes in families.items():
        unit = codes[0].family.unit
        table = turn_answers.arrange(family, unit, [code.identifier for code in codes])
        if unit == CodeFamily.Unit.TURN:
            table = _spread_turns(table, turn_answers)
        found.codes += [comparison.compare(code, family, table) for code in codes]
    found.interviews = set(np.unique(turn_answers.interview_ids[comparison.is_met]).tolist())
    return found


class _Comparison:
    """One annotator and the people, and what is not compared and why."""

    def __init__(
        self, compared: Compared, turn_answers: BlindLabels, seen: Collection[int] | None, *, with_alternatives: bool
    ) -> None:
        annotator = compared.annotator
        self.machine = read_machine_labels(annotator, with_critic=compared.with_critic)
        self._ids = turn_answers.sentence_ids
        self._turns = read_turn_labels(annotator).labels
        self._changed = _find_changed(annotator)
        self._examples = _find_examples(annotator) if annotator.kind == Annotator.Kind.MODEL else {}
        self._taught = _find_taught(annotator) if annotator.kind == Annotator.Kind.LEARNT else []
        self._alternatives = {} if with_alternatives else _find_alternatives(annotator)
        self.is_met = np.zeros(len(self._ids), dtype=bool)
        self._is_seen = np.ones(len(self._ids), dtype=bool)
        if seen is not None:
            self._is_seen = np.isin(turn_answers.interview_ids, list(seen))
        self._is_inside = np.ones(len(self._ids), dtype=bool)
        if compared.only_withheld:
            self._is_inside = np.isin(turn_answers.turn_ids, list(list_all_withheld(annotator.study)))

    def find_machine(self, code: Code) -> MachineLabels:
        """The machine's labels of the unit of this code."""
        return self._turns if code.family.unit == CodeFamily.Unit.TURN else self.machine

    def compare(self, code: Code, family: str, table: BlindTable) -> ComparedCode:
        """One code of a family's table, with the machine's row."""
        machine = self.find_machine(code)
        row, at = table.codes.index(code.identifier), machine.codes.index(code.identifier)
        places = machine.find_places(self._ids)
        here = np.flatnonzero(places >= 0)
        was_read, said_yes = np.zeros(len(self._ids), dtype=bool), np.zeros(len(self._ids), dtype=bool)
        was_read[here] = machine.was_read[at, places[here]]
        said_yes[here] = machine.labels[at, places[here]]
        counts = table.decided & was_read & self._is_inside
        self.is_met |= counts.any(axis=0)
        counts &= self._is_seen
        number = {}
        for reason, sentences in self._list_aside(code).items():
            number[reason] = int(counts[:, sentences].sum())
            counts[:, sentences] = False
        labels = CodeLabels(code.identifier, said_yes, table.labels[row], counts)
        return ComparedCode(code, family, self._changed.get(code.identifier, 0), labels, number)

    def _list_aside(self, code: Code) -> dict[str, Numbers]:
        """For each reason the places of the sentences that are set aside for a code; the first reason counts."""
        named = {
            "examples": self._examples.get(code.family_id, []),
            "taught": self._taught,
            "alternatives": self._alternatives.get(code.identifier, []),
        }
        return {reason: np.flatnonzero(np.isin(self._ids, ids)) for reason, ids in named.items()}


def _spread_turns(table: BlindTable, turn_answers: BlindLabels) -> BlindTable:
    """A table of turns over all sentences: each turn at its first, the others decided by nobody."""
    place_of = {int(pk): place for place, pk in enumerate(turn_answers.sentence_ids.tolist())}
    at = np.array([place_of[pk] for pk in table.sentence_ids.tolist()], dtype=np.int64)
    size = len(table.coders), len(turn_answers.sentence_ids)
    decided, labels = np.zeros(size, dtype=bool), np.zeros((len(table.codes), *size), dtype=bool)
    decided[:, at], labels[:, :, at] = table.decided, table.labels
    return table._replace(
        unit_ids=turn_answers.sentence_ids,
        sentence_ids=turn_answers.sentence_ids,
        turn_ids=turn_answers.turn_ids,
        interview_ids=turn_answers.interview_ids,
        decided=decided,
        labels=labels,
    )


def find_aside(annotator: Annotator, code: Code | None, sentence_ids: Numbers) -> Bools:
    """For each code, the sentences whose label the annotator had seen: examples in its prompt, or its training data."""
    if annotator.kind == Annotator.Kind.MODEL and code is not None:
        return np.isin(sentence_ids, _find_examples(annotator).get(code.family_id, []))
    if annotator.kind == Annotator.Kind.LEARNT:
        return np.isin(sentence_ids, _find_taught(annotator))
    return np.zeros(len(sentence_ids), dtype=bool)


def find_listable(compared: Compared, viewer: int, *, may_code: bool) -> dict[str, Bools]:
    """By code, which sentences may be shown one by one with what the machine said of it.

    People who may code see a sentence of a withheld turn only after their own blind decision on it for the family of the
    code, so that nobody sees a suggestion there before deciding.
    """
    if not may_code:
        everything = np.ones(len(compared.sentence_ids), dtype=bool)
        return {each.code.identifier: everything for each in compared.codes}
    listable = ~np.isin(compared.turn_ids, list(list_all_withheld(compared.annotator.study)))
    own = compared.coders.index(viewer) if viewer in compared.coders else None
    return {
        each.code.identifier: listable if own is None else listable | each.labels.counts[own] for each in compared.codes
    }


def list_cell(compared: Compared, identifier: str, cell: str) -> Numbers:
    """The places of the sentences of one count of a code; of a sentence several read, where one of them falls in."""
    found = compared.find(identifier)
    if found is None:
        return np.empty(0, dtype=np.int64)
    labels = found.labels
    says_yes = {"tp": True, "fn": True, "fp": False, "tn": False}.get(cell)
    machine_yes = {"tp": True, "fp": True, "fn": False, "tn": False}.get(cell)
    chosen = labels.counts.any(axis=0)
    if says_yes is not None:
        agreeing = labels.people if says_yes else ~labels.people
        chosen = (agreeing & labels.counts).any(axis=0) & (labels.machine == machine_yes)
    return np.flatnonzero(chosen)


# The place of a sentence, a code about which the machine and some person differ there, and how many persons applied it and
# how many did not.
Difference = tuple[int, ComparedCode, int, int]


def list_differences(compared: Compared, identifiers: Collection[str] = ()) -> list[Difference]:
    """Where machine and people differ, in the order of the text, then of the codes."""
    found: list[Difference] = []
    for each in compared.codes:
        if identifiers and each.code.identifier not in identifiers:
            continue
        labels = each.labels
        yes = (labels.people & labels.counts).sum(axis=0)
        no = labels.counts.sum(axis=0) - yes
        found += [
            (place, each, int(yes[place]), int(no[place]))
            for place in np.flatnonzero(np.where(labels.machine, no > 0, yes > 0)).tolist()
        ]
    return sorted(found, key=lambda difference: difference[0])


def _list_codes(annotator: Annotator) -> list[Code]:
    """Codes of families coded by sentence or by turn, as in the annotator's prompt."""
    codes = Code.objects.filter(version=annotator.version_id).exclude(family__unit=CodeFamily.Unit.INTERVIEW)
    return list(codes.select_related("family", "version").order_by("family__position", "position"))


def _find_changed(annotator: Annotator) -> dict[str, int]:
    """Codes that mean something else since a version after the annotator's own."""
    version = current_version(annotator.study)
    codes = Code.objects.filter(version=version, meaning_version__gt=annotator.version.number)
    return dict(codes.values_list("identifier", "meaning_version"))


def _find_taught(annotator: Annotator) -> list[int]:
    """Sentences of its training data, and those that hold their words after boundary edits."""
    return list(add_edited(annotator.study, list_taught(annotator.recipe)))


def _find_examples(annotator: Annotator) -> dict[int, list[int]]:
    """Sentences used as examples in a model's prompt, by the family it is asked about; those that hold their
    words after boundary edits are among them."""
    found: dict[int, list[int]] = {}
    rows = CodeExample.objects.filter(
        code__version=annotator.version_id, code__family__unit=CodeFamily.Unit.SENTENCE, sentence__isnull=False
    )
    for family, sentence in rows.values_list("code__family", "sentence"):
        found.setdefault(family, []).append(sentence)
    return {family: list(add_edited(annotator.study, sentences)) for family, sentences in found.items()}


def _find_alternatives(annotator: Annotator) -> dict[str, list[int]]:
    """Sentences where both readings are legitimate, by code: nobody's error. Those that hold their words since breaks were
    corrected are among them."""
    rows = Disagreement.objects.filter(
        annotator=annotator, superseded_by__isnull=True, category=Disagreement.Category.ALTERNATIVE
    )
    found: dict[str, list[int]] = {}
    for code, sentence in rows.values_list("code_identifier", "sentence"):
        found.setdefault(code, []).append(sentence)
    return {code: list(add_edited(annotator.study, sentences)) for code, sentences in found.items()}


class AskedQuestion(NamedTuple):
    """A question that codes of a family ask alike, and the answers to it."""

    key: str
    label: str
    table: AnswerTable


def read_answer_tables(compared: Compared, family: str) -> list[AskedQuestion]:
    """The questions with fixed choices of the codes of a family for turns, each with the table of answers on the labels that
    machine and person both applied, over all codes that ask it alike. Empty for families of sentences. Six queries."""
    codes = [each for each in compared.codes if each.family == family and each.code.family.unit == CodeFamily.Unit.TURN]
    asking: dict[tuple[str, str, tuple[str, ...]], list[ComparedCode]] = {}
    for each in codes:
        for question in each.code.attributes:
            if question["kind"] == "choice":
                asked = question["key"], question["label"], tuple(question["choices"])
                asking.setdefault(asked, []).append(each)
    if not asking:
        return []
    machine = read_turn_labels(compared.annotator).answers
    people = _read_people(compared, codes)
    return [
        AskedQuestion(
            key,
            label,
            tabulate_answers(
                choices,
                (
                    (
                        machine.get((sentence, code), {}).get(key, ""),
                        people.get((coder, sentence, code), {}).get(key, ""),
                    )
                    for each in own
                    for coder, sentence, code in _list_shared(compared, each)
                ),
            ),
        )
        for (key, label, choices), own in asking.items()
    ]


def _list_shared(compared: Compared, each: ComparedCode) -> list[tuple[int, int, str]]:
    """Coder, first sentence of the turn, and code of each label that both applied."""
    rows, places = np.nonzero(each.labels.people & each.labels.counts & each.labels.machine)
    return [
        (compared.coders[row], int(compared.sentence_ids[place]), each.code.identifier)
        for row, place in zip(rows.tolist(), places.tolist(), strict=True)
    ]


def _read_people(compared: Compared, codes: list[ComparedCode]) -> dict[tuple[int, int, str], dict[str, str]]:
    """By coder, sentence and code, the answers of her last blind coding."""
    identifiers = {each.code.identifier for each in codes}
    rows = Coding.objects.filter(
        code__version__study=compared.annotator.study_id, code__identifier__in=identifiers, blinding=Blinding.BLIND
    ).order_by("pk")
    columns = ("coder_id", "sentence_id", "code__identifier", "attributes")
    return {(coder, sentence, code): given for coder, sentence, code, given in rows.values_list(*columns)}


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
    """The arms that asked for the code. An arm that lists no codes asked for its whole family, so it counts."""
    rows = Arm.objects.filter(pk__in=arms).values_list("pk", "settings")
    return {pk for pk, settings in rows if code in settings.get("codes", [code])}
