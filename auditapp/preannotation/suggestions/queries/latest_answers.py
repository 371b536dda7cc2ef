"""Which annotators read a sentence, for which codes, and which were asked and said nothing of it.

Of several answers of one annotator about a sentence and a code the latest holds (as in machine_labels.py, which tells
the same of a whole study in arrays). After a boundary edit a sentence counts as annotated where all its words were.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from auditapp.batches.models import Arm, Cell
from auditapp.preannotation.models import KIND, Annotator, OfflineReading
from auditapp.preannotation.suggestions.pure.placing import EditedTurn
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Sentence
from transcripts.projects.models import Project

# Where a suggestion came from: "cell" and the key of a cell, or "run" and the key of a run.
Origin = tuple[str, int]


class Reach(IntEnum):
    """How much of a sentence an answer covered. ``WHOLE``: all its words, within boundaries that were edited since."""

    NOTHING = 0
    PART = 1
    WHOLE = 2
    ITSELF = 3


@dataclass
class LatestAnswers:
    """What one annotator was asked about a sentence, and its latest answers: ``asked`` and ``latest`` by the identifier of a code.

    ``latest``: the answer that holds; of a code that is asked and not there it said nothing. ``partly``: the last that
    covered a part of the sentence as it is now. ``edited_since``: codes whose answer is about earlier boundaries.
    ``rejected``: by answer, the codes of proposals for the sentence that could not be used; ``None`` of one without a code.
    ``families``: the name of the family of each code.
    """

    annotator: Annotator
    families: dict[str, str]
    asked: set[str] = field(default_factory=set)
    latest: dict[str, Origin] = field(default_factory=dict)
    partly: dict[str, Origin] = field(default_factory=dict)
    edited_since: set[str] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    rejected: dict[Origin, list[str | None]] = field(default_factory=dict)

    def find_origin(self, code: str) -> Origin | None:
        """The answer whose suggestions are shown: the last about the whole sentence, or else the last about a part."""
        return self.latest.get(code) or self.partly.get(code)

    def count_unusable(self, codes: Collection[str]) -> int:
        """How many proposals for the sentence could not be used, among those about ``codes`` in the answers that hold."""
        origins = {self.latest[code] for code in codes if code in self.latest}
        named = [code for origin in origins for code in self.rejected.get(origin, ())]
        return sum(code is None or code in codes for code in named)

    def add(self, codes_asked: Collection[str], origin: Origin, reach: Reach) -> None:
        """Take an answer that comes after those before."""
        if reach == Reach.PART:
            self.partly |= dict.fromkeys(codes_asked, origin)
            self.edited_since |= set(codes_asked) - self.latest.keys()
        elif reach:
            self.latest |= dict.fromkeys(codes_asked, origin)
            self.edited_since = (
                self.edited_since - set(codes_asked) if reach == Reach.ITSELF else self.edited_since | set(codes_asked)
            )


# Of a code in an annotator's codebook version: identifier, identifier and name of its family, whether it has rules.
CodeRow = tuple[str, str, str, bool]


def read_latest_answers(
    project: Project, sentence: Sentence, turn: EditedTurn | None = None, *, of_turn: bool = True
) -> list[LatestAnswers]:
    """Everything annotators were asked about the sentence, by annotator. ``turn``: its turn, where boundaries were edited.
    ``of_turn``: also what they were asked about its whole turn, which stands at the first sentence of it.

    Four queries, and only rows that concern its turn or interview, however many batches and annotators the study has.
    """
    cells = _read_cells(project, sentence)
    found = OfflineReading.objects.filter(interview=sentence.turn.interview_id, run__annotator__project=project)
    readings = list(found.select_related("run").order_by("run_id", "pk"))
    named = {pk for pk, _ in cells} | {reading.run.annotator_id for reading in readings}
    annotators = Annotator.objects.filter(project=project, pk__in=named).select_related("variant__account", "version")
    found_for = {each.pk: LatestAnswers(each, {}) for each in annotators.order_by("pk")}
    codes = _read_codes({each.annotator.version_id for each in found_for.values()})
    for each in found_for.values():
        each.families |= {code: name for code, _, name, _ in codes[each.annotator.version_id]}
    for pk, cell in cells:
        each = found_for[pk]
        if cell.arm.settings.get("turns_of") and not of_turn:
            continue
        asked = _list_asked(cell.arm, codes[each.annotator.version_id])
        each.asked.update(asked)
        if reach := _find_reach(cell, sentence, turn):
            each.add(asked, ("cell", cell.pk), reach)
            each.flags.update(cell.reading.flags)
            # An answer that was left out leaves its code, which is kept.
            about = [
                item
                for item in cell.reading.rejected
                if item.get("sentence") == sentence.pk and not item.get("question")
            ]
            each.rejected["cell", cell.pk] = [item.get("code") for item in about]
    for reading in readings:
        each = found_for[reading.run.annotator_id]
        if reach := _measure_reach(reading.sentences, sentence, turn):
            asked = _list_found(each.annotator, codes[each.annotator.version_id])
            each.asked.update(asked)
            each.add(asked, ("run", reading.run_id), reach)
    return [each for each in found_for.values() if each.asked]


def _read_codes(versions: Collection[int]) -> dict[int, list[CodeRow]]:
    """The codes that are applied to sentences and turns, by codebook version."""
    found: dict[int, list[CodeRow]] = defaultdict(list)
    codes = Code.objects.filter(version__in=versions).exclude(family__unit=CodeFamily.Unit.INTERVIEW).order_by("pk")
    columns = ("version", "identifier", "family__identifier", "family__name", "family__unit", "keyword_rules")
    for version, identifier, family, name, unit, rules in codes.values_list(*columns):
        # Rules are read sentence by sentence.
        found[version].append((identifier, family, name, bool(rules) and unit == CodeFamily.Unit.SENTENCE))
    return found


def is_turn_asked(project: Project, turn_id: int) -> bool:
    """Whether any annotator was asked about the turn as a whole. One query."""
    about = Cell.objects.filter(arm__batch__project=project, arm__batch__kind=KIND, input_id=turn_id)
    return about.filter(arm__settings__turns_of__isnull=False).exists()


def _read_cells(project: Project, sentence: Sentence) -> list[tuple[int, Cell]]:
    """The cells that ask about the turn, in the order of time, each with the number of its annotator."""
    about = Cell.objects.filter(arm__batch__project=project, arm__batch__kind=KIND, input_id=sentence.turn_id)
    # Not the instructions: every arm has its own, of many kilobytes.
    cells = about.select_related("arm__batch", "reading").defer("arm__system_prompt").order_by("pk")
    found = []
    for cell in cells:
        annotator = _find_annotator(cell.arm, cell)
        if annotator and not cell.arm.settings.get("condition"):
            cell.batch = cell.arm.batch
            found.append((annotator, cell))
    return found


def _find_annotator(arm: Arm, cell: Cell) -> int:
    """Arms of before that was kept are known by their answers, or where a batch has one annotator."""
    named: Any = arm.settings.get("annotator")
    if named is None and hasattr(cell, "reading"):
        named = cell.reading.annotator_id
    if named is None and len(arm.batch.parameters.get("annotators", [])) == 1:
        named = arm.batch.parameters["annotators"][0]
    return named or 0


def _list_asked(arm: Arm, codes: Iterable[CodeRow]) -> list[str]:
    if "codes" in arm.settings:
        return list(arm.settings["codes"])
    return [code for code, family, *_ in codes if family == arm.task]


def _find_reach(cell: Cell, sentence: Sentence, turn: EditedTurn | None) -> Reach:
    """How much of the sentence the answer tells of; one without a list was asked about all its turn then had."""
    reading = getattr(cell, "reading", None)
    if reading is None or reading.outcome == reading.Outcome.INVALID:
        return Reach.NOTHING
    if cell.arm.settings.get("turns_of"):
        return Reach.ITSELF if set(reading.asked) - set(reading.missing) else Reach.NOTHING
    if reading.asked:
        return _measure_reach(set(reading.asked) - set(reading.missing), sentence, turn)
    return (
        Reach.ITSELF if sentence.made_by is None or sentence.made_by.edited_at < cell.batch.created_at else Reach.WHOLE
    )


def _measure_reach(answered: Collection[int], sentence: Sentence, turn: EditedTurn | None) -> Reach:
    if sentence.pk in answered:
        return Reach.ITSELF
    if turn is None or not turn.is_met(sentence.pk, answered):
        return Reach.NOTHING
    return Reach.WHOLE if turn.is_covered(sentence.pk, answered) else Reach.PART


def _list_found(annotator: Annotator, codes: Iterable[CodeRow]) -> list[str]:
    """The codes an annotator that needs no key can find at all."""
    if annotator.kind == Annotator.Kind.RULES:
        return [code for code, _, _, has_rules in codes if has_rules]
    learnt = annotator.recipe.get("codes", {})
    return [code for code, *_ in codes if learnt.get(code, {}).get("threshold") is not None]
