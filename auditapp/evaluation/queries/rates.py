"""What a rectified rate of a code over the corpus is computed from. Loads numpy; pages import this inside functions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from auditapp.annotators.models import Annotator, CodeChoice, CriticReading, Reading, Suggestion, TurnArm
from auditapp.annotators.queries.machine_labels import MachineLabels, map_moved, read_machine_labels
from auditapp.batches.kinds import ANSWER_SCHEMA
from auditapp.batches.models import Arm
from auditapp.evaluation.models import PositiveAudit, PositiveMark
from auditapp.evaluation.pure.rectifying import Found, Mark, Sample, Served, build_report
from auditapp.evaluation.queries.calibration import find_aside
from auditapp.llm.models import ModelVariant
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.blind import BlindReadings
from transcripts.statistics.intervals import wilson_interval
from transcripts.studies.models import Project

Bools = NDArray[np.bool_]


def read_arms(project: Project, readings: BlindReadings) -> tuple[Bools, Bools, NDArray[np.float64]]:
    """Of each sentence whether its turn was drawn, whether it is withheld, and with which probability: one query."""
    rows = TurnArm.objects.filter(turn__interview__project=project).values_list("turn_id", "arm", "probability")
    drawn = sorted(rows)
    turns = np.array([turn for turn, *_ in drawn], dtype=np.int64)
    withheld = np.array([arm == TurnArm.Arm.WITHHELD for _, arm, _ in drawn], dtype=bool)
    probability = np.array([share for *_, share in drawn], dtype=np.float64)
    size = len(readings.turn_ids)
    if not len(turns):
        return np.zeros(size, dtype=bool), np.zeros(size, dtype=bool), np.zeros(size)
    places = np.minimum(np.searchsorted(turns, readings.turn_ids), len(turns) - 1)
    is_drawn = turns[places] == readings.turn_ids
    return is_drawn, is_drawn & withheld[places], np.where(is_drawn, probability[places], 0.0)


class Corpus:
    """The sentences of a study with people's blind readings and the arms; annotators are read once each."""

    def __init__(self, project: Project, readings: BlindReadings) -> None:
        self.project = project
        self.readings = readings
        self.is_drawn, self.is_withheld, self.probability = read_arms(project, readings)
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
        was_read, said_yes = _place_machine(machine, choice.code_identifier, self.readings)
        family, decided, people = self._read_people(choice.code_identifier)
        aside = find_aside(annotator, code, self.readings.sentence_ids)
        population = self.readings.is_answer & self.is_drawn & ~aside
        is_read = population & was_read
        withheld = is_read & self.is_withheld
        interviews = self.readings.interview_ids
        met = np.unique(interviews[is_read])
        unfinished = np.unique(interviews[population & self.is_withheld & was_read & ~decided.any(axis=0)])
        inside = np.isin(interviews, np.setdiff1d(met, unfinished))
        labelled, other = withheld & inside, is_read & inside & ~self.is_withheld
        sample, n_labels = self._sample(labelled, other, said_yes, decided, people)
        turns = self.readings.turn_ids
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
            "set_aside": int((aside & self.readings.is_answer & inside).sum()),
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
                for used in self.readings.codes.values()
                if used.identifier == identifier and not used.is_split
            ),
            "",
        )
        table = self.readings.arrange(family, CodeFamily.Unit.SENTENCE, [identifier])
        return family, table.decided, table.labels[0]

    def _sample(
        self, labelled: Bools, other: Bools, said_yes: Bools, decided: Bools, people: Bools
    ) -> tuple[Sample, int]:
        """If several people coded a sentence, the share of them who applied the code is used."""
        counts, yes = decided[:, labelled].sum(axis=0), (people & decided)[:, labelled].sum(axis=0)
        machine, turns = said_yes[labelled], self.readings.turn_ids
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


def _place_machine(machine: MachineLabels, identifier: str, readings: BlindReadings) -> tuple[Bools, Bools]:
    """Of each sentence of the study: whether the annotator labelled it for a code, and whether it applied the code."""
    size = len(readings.sentence_ids)
    was_read, said_yes = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    if identifier in machine.codes:
        at, places = machine.codes.index(identifier), machine.find_places(readings.sentence_ids)
        here = np.flatnonzero(places >= 0)
        was_read[here], said_yes[here] = machine.was_read[at, places[here]], machine.labels[at, places[here]]
    return was_read, said_yes


# By turn the names of those who answered; "" where the provider named none.
ServedModels = dict[int, set[str]]


def read_served_models(annotator: Annotator, code: str) -> ServedModels:
    """For each turn annotated for this code, who gave the answers that may count: the last whole one and what
    came after it. Two queries."""
    readings = Reading.objects.filter(annotator=annotator).exclude(outcome=Reading.Outcome.INVALID)
    columns = ("cell__arm_id", "cell__input_id", "missing", "cell__result__attempt__served_model")
    rows = list(readings.order_by("pk").values_list(*columns))
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


MAX_AT_ONCE = 5_000
REVERSED, UPHELD = CriticReading.Verdict.REVERSED, CriticReading.Verdict.UPHELD
SCHEMA_PATH = f"cell__arm__settings__{ANSWER_SCHEMA}"


class Positive(NamedTuple):
    """An active suggestion, with its current place. ``code`` is an identifier."""

    suggestion: int
    sentence: int
    turn: int
    interview: int
    code: str


def list_positives(
    annotator: Annotator, *, codes: Collection[str] | None = None, with_critic: bool = False
) -> list[Positive]:
    """Of each sentence and code that the annotator's latest reading says yes to, the latest suggestion, in its order.

    ``with_critic`` leaves out what a critic reversed.
    """
    # Loads numpy.
    from auditapp.annotators.queries.machine_labels import read_machine_labels

    said = read_machine_labels(annotator, with_critic=with_critic)
    current = {
        (code, int(sentence))
        for code, row in zip(said.codes, said.labels, strict=True)
        if codes is None or code in codes
        for sentence in said.sentence_ids[row]
    }
    rows = Suggestion.objects.filter(annotator=annotator).order_by("pk")
    columns = ("pk", "sentence_id", "sentence__turn_id", "sentence__turn__interview_id", "code__identifier")
    latest: dict[tuple[str, int], Positive] = {}
    moved = map_moved(rows)
    for row in rows.values_list(*columns).iterator(chunk_size=5_000):
        found = Positive(*row)
        found = found._replace(sentence=moved.get(found.suggestion, found.sentence) or found.sentence)
        if (found.code, found.sentence) in current:
            latest[found.code, found.sentence] = found
    return sorted(latest.values())


def list_suggested_codes(annotators: QuerySet[Annotator]) -> list[tuple[str, str]]:
    """The identifiers and names of the codes that these annotators ever suggested, in the codebook's order."""
    rows = Code.objects.filter(suggestions__annotator__in=annotators).order_by("family__position", "position", "pk")
    found: dict[str, str] = {}
    for identifier, name in rows.values_list("identifier", "name").distinct():
        found.setdefault(identifier, name)
    return list(found.items())


def map_items(audit: PositiveAudit) -> dict[int, str]:
    """The code of each item of the sample, code by code in the order of the codebook."""
    rows = audit.items.order_by("suggestion__code__family__position", "suggestion__code__position", "position")
    return dict(rows.values_list("pk", "suggestion__code__identifier"))


def list_active_marks(audit: PositiveAudit) -> list[Mark]:
    """The latest mark of each reviewer and item."""
    rows = PositiveMark.objects.filter(item__audit=audit).active().order_by("pk")
    return [Mark(*row) for row in rows.values_list("item", "reviewer__username", "verdict")]


def read_report(audit: PositiveAudit) -> dict[str, Any]:
    """The results of an audit; ``second_thoughts`` are corrections, ``late`` first marks made after opening the results."""
    marks = PositiveMark.objects.filter(item__audit=audit).order_by("pk")
    first = marks.filter(number=1)
    blind_first = [Mark(*row) for row in first.blind().values_list("item", "reviewer__username", "verdict")]
    populations = dict(audit.items.values_list("suggestion__code__identifier", "population").order_by("pk"))
    return {
        **build_report(map_items(audit), list_active_marks(audit), blind_first, populations),
        "second_thoughts": marks.filter(number__gt=1).count(),
        "late": first.filter(after_opening=True).count(),
    }


def list_interviews(audit: PositiveAudit) -> set[int]:
    """The interviews of the sample."""
    return set(audit.items.values_list("suggestion__sentence__turn__interview_id", flat=True))


def find_verdicts(suggestion_ids: Collection[int]) -> dict[int, CriticReading]:
    """By suggestion: the latest reading that came to a verdict, with its critic."""
    wanted = sorted(suggestion_ids)
    found: dict[int, CriticReading] = {}
    for first in range(0, len(wanted), MAX_AT_ONCE):
        rows = CriticReading.objects.filter(suggestion__in=wanted[first : first + MAX_AT_ONCE]).exclude(verdict="")
        found |= {row.suggestion_id: row for row in rows.select_related("cell__arm__variant").order_by("cell_id")}
    return found


def list_read(annotator: Annotator, critic: ModelVariant, answer_schema: str = "") -> set[int]:
    """The suggestions of the annotator on which this critic has come to a verdict, its answers held to a schema of this form,
    or to none."""
    rows = CriticReading.objects.filter(suggestion__annotator=annotator, cell__arm__variant=critic).exclude(verdict="")
    held = {SCHEMA_PATH: answer_schema} if answer_schema else {f"{SCHEMA_PATH}__isnull": True}
    return set(rows.filter(**held).values_list("suggestion_id", flat=True))


def list_criticised(project: Project) -> list[Annotator]:
    """The annotators of which a critic has read something."""
    read = CriticReading.objects.filter(suggestion__annotator__project=project).values("suggestion__annotator")
    return list(Annotator.objects.filter(pk__in=read).select_related("variant__account", "version").order_by("pk"))


def find_tested_interviews(annotator: Annotator) -> set[int]:
    """The interviews in which a critic has read something of the annotator's."""
    rows = CriticReading.objects.filter(suggestion__annotator=annotator)
    return set(rows.values_list("suggestion__sentence__turn__interview_id", flat=True))


def count_reversals(
    annotator: Annotator, *, seen: Collection[int] | None = None
) -> list[tuple[ModelVariant, list[dict[str, Any]]]]:
    """Each critic of the annotator, with its reversals by code; critics are kept apart, also the same model with its answers
    held to a schema (``held_to_schema``) and without. ``seen``: in these interviews.

    ``n`` counts suggestions with a usable verdict, of which the latest counts: ``reversed`` or ``upheld``.
    """
    ends: dict[tuple[int, bool], dict[int, tuple[str, str]]] = {}
    columns = ("cell__arm__variant_id", SCHEMA_PATH, "suggestion_id", "suggestion__code__identifier", "verdict")
    rows = _limit(CriticReading.objects.filter(suggestion__annotator=annotator), seen).order_by("cell_id")
    for critic, form, suggestion, code, verdict in rows.values_list(*columns).iterator(chunk_size=MAX_AT_ONCE):
        own = ends.setdefault((critic, bool(form)), {})
        # An answer of no use takes nothing from the one before it.
        if verdict or suggestion not in own:
            own[suggestion] = (code, verdict)
    variants = ModelVariant.objects.select_related("account").in_bulk([critic for critic, _ in ends])
    codes = list(Code.objects.filter(version=annotator.version_id).order_by("family__position", "position"))
    found = []
    for (key, is_held), own in ends.items():
        critic = copy(variants[key])
        critic.held_to_schema = is_held
        found.append((critic, _count(codes, Counter(own.values()))))
    return found


def _count(codes: list[Code], ends: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    rows = []
    for code in codes:
        taken, upheld = ends[code.identifier, REVERSED], ends[code.identifier, UPHELD]
        unusable, n = ends[code.identifier, ""], taken + upheld
        if n or unusable:
            counts = {"code": code, "n": n, "reversed": taken, "upheld": upheld, "unusable": unusable}
            rows.append({**counts, "rate": taken / n if n else None, "interval": wilson_interval(taken, n)})
    return rows


def list_readings(
    annotator: Annotator, *, code: str, verdict: str, seen: Collection[int] | None = None
) -> list[CriticReading]:
    """The readings behind a count, latest last: of one code, with one verdict, each suggestion once per critic."""
    every = CriticReading.objects.filter(suggestion__annotator=annotator, suggestion__code__identifier=code)
    rows = _limit(every, seen)
    latest: dict[tuple[int, bool, int], CriticReading] = {}
    related = ("cell__arm__variant__account", "suggestion__sentence__turn__interview", "suggestion__code")
    for row in rows.exclude(verdict="").select_related(*related).order_by("cell_id"):
        arm = row.cell.arm
        latest[arm.variant_id, bool(arm.settings.get(ANSWER_SCHEMA)), row.suggestion_id] = row
    return [row for row in latest.values() if row.verdict == verdict]


def _limit(rows: QuerySet[CriticReading], seen: Collection[int] | None) -> QuerySet[CriticReading]:
    if seen is None:
        return rows
    return rows.filter(suggestion__sentence__turn__interview__in=sorted(seen))
