"""How far seeing an annotator's suggestions moves coders, counted coder by coder.

The unit is one coder's reading of one sentence for one code family: which of the family's codes she applied, over those
codes the annotator read the sentence for. Counted are units that the coder decided blind, in turns that were drawn.

Shown against withheld is counted as drawn: every such unit of a turn that may show suggestions, whether or not she
opened them (else her choice of what to open would pass for their influence), against every one of a withheld turn. On
the former her final label counts, on the latter her blind one. A label that equals the annotator's, code by code,
agrees. Turns drawn with certainty, under a share of nothing or of all, are in neither arm: nothing was drawn for them to
be compared with. Before and after is counted over units at which she looked at all the annotator now proposes there.

To a coder herself the arms are counted only in interviews that are settled: closed to her, or opened by her. Elsewhere
one decision more, or one label changed, would show by the count what a machine said of a sentence it is not shown on,
while she could still change a label that counts as blind.

Her final label is the active one, or the one active when she unblinded the interview, for what she
changed after that is not the machine's doing. Drafts are left out, and codes that were merged or split since the
annotator's version.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connection
from django.db.models import Q

from auditapp.annotators.models import Annotator, Suggestion, TurnArm
from auditapp.annotators.queries.boundary_edits import follow_looks
from auditapp.suggestions.models import Showing
from transcripts.blinding.viewers import read_unblindings
from transcripts.codebook.models import Code, CodeFamily
from transcripts.coding.models import Coding
from transcripts.coding.queries import Closure
from transcripts.rounds.queries import CLOSURE, CLOSURE_PARAMETERS, find_shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from auditapp.annotators.queries.machine_labels import MachineLabels
    from auditapp.evaluation.pure.influence import Draws, TurnTable
    from transcripts.coding.blind import BlindLabels

Codes = frozenset[str]


class Unit(NamedTuple):
    """A reading that a coder looked again at: her blind label, her final one, and the annotator's."""

    coder: int
    sentence: int
    family: str
    blind: Codes
    final: Codes
    machine: Codes

    @property
    def changed_to(self) -> bool:
        return self.blind != self.machine and self.final == self.machine

    @property
    def changed_away(self) -> bool:
        return self.blind == self.machine and self.final != self.machine

    @property
    def kept_own(self) -> bool:
        return self.machine not in {self.blind, self.final}


# By coder and sentence, when she first looked there; and the codes of the annotator's that she was shown.
FirstLooks = dict[tuple[int, int], datetime.datetime]
ShownCodes = dict[tuple[int, int], set[str]]


def _was_shown_all(shown: ShownCodes, unit: Unit) -> bool:
    """Whether the coder of a unit was shown all that the annotator now suggests there."""
    codes = shown.get((unit.coder, unit.sentence))
    return codes is not None and unit.machine <= codes


class _Family(NamedTuple):
    """One family: which of its codes are compared, and what the annotator and the coders said, sentence by sentence."""

    identifier: str
    codes: tuple[str, ...]
    sentences: NDArray[np.int64]
    interviews: NDArray[np.int64]
    turns: NDArray[np.int64]
    arms: NDArray[np.int8]
    is_random: NDArray[np.bool_]
    was_read: NDArray[np.bool_]
    machine: NDArray[np.bool_]
    coders: tuple[int, ...]
    decided: NDArray[np.bool_]
    blind: NDArray[np.bool_]

    def list_codes(self, labels: NDArray[np.bool_], place: int) -> Codes:
        """Those of the compared codes that the sentence at ``place`` has by ``labels``."""
        applied = labels[:, place] & self.was_read[:, place]
        return frozenset(code for code, has in zip(self.codes, applied, strict=True) if has)

    def limit(self, codes: Iterable[str], place: int) -> Codes:
        """Those of ``codes`` that are compared at the sentence at ``place``."""
        read = {code for code, was in zip(self.codes, self.was_read[:, place], strict=True) if was}
        return frozenset(read & set(codes))


SHOWN, WITHHELD = 1, 2


def count_influence(annotator: Annotator, *, viewer: int | None = None) -> dict[str, Any]:
    """All counts of one annotator; the ``viewer``'s own as she may see them. Some sixteen queries; reads annotator.study.

    ``tables``: turn by turn, by coder and family. ``looked``: the units that were counted before and after.
    ``unsettled``: units of the viewer's that are in neither of her arms. ``undrawn``: turns the annotator annotated for
    which no arm was drawn, as in studies older than withholding; they are in no figure. ``certain``: turns drawn with a
    probability of 0 or 1, which are in neither arm. ``draws``: how turns were drawn.
    """
    import numpy as np

    from auditapp.annotators.queries.machine_labels import read_machine_labels
    from transcripts.coding.blind import read_blind

    labels = read_machine_labels(annotator)
    turn_answers = read_blind(annotator.study)
    first_looks, shown = _read_looks(annotator)
    finals = _read_finals(annotator, first_looks, turn_answers)
    tables: dict[int, dict[str, TurnTable]] = defaultdict(dict)
    looked: list[Unit] = []
    settled = [] if viewer is None else sorted(find_settled(annotator.study_id, viewer))
    draws = _read_draws(annotator)
    (arms, is_random), unsettled = _place_arms(draws, turn_answers), 0
    for family in _arrange(annotator, labels, turn_answers, arms, is_random):
        units = {(unit.coder, unit.sentence): unit for unit in _find_looked(family, first_looks, finals)}
        for row, coder in enumerate(family.coders):
            is_settled = (
                np.isin(family.interviews, settled) if coder == viewer else np.ones(len(family.sentences), bool)
            )
            unsettled += int((family.decided[row] & family.is_random & ~is_settled).sum())
            table = _count(family, row, units, shown, is_settled & family.is_random)
            if len(table.turns):
                tables[coder][family.identifier] = table
        looked += [unit for unit in units.values() if _was_shown_all(shown, unit)]
    is_read = (labels.find_places(turn_answers.sentence_ids) >= 0) & turn_answers.is_answer
    undrawn = len(np.unique(turn_answers.turn_ids[is_read & (arms == 0)]))
    certain = len(np.unique(turn_answers.turn_ids[is_read & (arms > 0) & ~is_random]))
    return {
        "tables": dict(tables),
        "looked": looked,
        "unsettled": unsettled,
        "undrawn": undrawn,
        "certain": certain,
        "draws": draws,
    }


def find_settled(study_id: int, coder: int) -> set[int]:
    """The interviews in which nothing she learns can move a label of hers that counts as blind. What she finished herself
    is among them once her figures with it were opened, for until then she can take that back. Two queries."""
    sql = f"""
    SELECT i.id FROM corpus_interview i
    WHERE i.study_id = %s AND (
      {CLOSURE} NOT IN (%s, %s)
      OR EXISTS (
        SELECT 1 FROM coding_unblinding o
        WHERE o.interview_id = i.id AND o.user_id = %s AND o."where" <> 'condition'))
    """  # noqa: S608 (both parts are ours)
    with connection.cursor() as cursor:
        movable = (Closure.OPEN.value, Closure.INTERVIEW_COMPLETED.value)
        cursor.execute(sql, [study_id, *[coder] * CLOSURE_PARAMETERS, *movable, coder])
        return {pk for (pk,) in cursor.fetchall()} | find_shown(study_id, coder)


def name_families(annotator: Annotator) -> dict[str, str]:
    """The families of sentences of the annotator's version, by identifier, in their order."""
    families = CodeFamily.objects.filter(version=annotator.version_id, unit=CodeFamily.Unit.SENTENCE)
    return dict(families.order_by("position").values_list("identifier", "name"))


def list_read_by(annotators: Iterable[Annotator]) -> list[Annotator]:
    """Those of the annotators that have read something, the latest first. One query each way of reading."""
    found = sorted(annotators, key=lambda each: -each.pk)
    pks = [each.pk for each in found]
    read = set(Annotator.objects.filter(pk__in=pks, turn_answers__isnull=False).values_list("pk", flat=True))
    read |= set(Annotator.objects.filter(pk__in=pks, runs__turn_answers__isnull=False).values_list("pk", flat=True))
    return [each for each in found if each.pk in read]


def _arrange(
    annotator: Annotator,
    labels: MachineLabels,
    turn_answers: BlindLabels,
    arms: NDArray[np.int8],
    is_random: NDArray[np.bool_],
) -> Iterator[_Family]:
    """The families the annotator reads, each with its sentences that it read and that were drawn."""
    import numpy as np

    if not len(labels.sentence_ids):
        return
    families: dict[str, list[str]] = defaultdict(list)
    for pk in Code.objects.filter(version=annotator.version_id).order_by("position").values_list("pk", flat=True):
        code = turn_answers.codes[pk]
        if code.identifier in labels.codes and code.unit == CodeFamily.Unit.SENTENCE and not code.is_split:
            families[code.family].append(code.identifier)
    places = labels.find_places(turn_answers.sentence_ids)
    for identifier, found in families.items():
        # What another code of the version went into cannot be compared: its label would stand for both.
        codes = tuple(code for code, times in Counter(found).items() if times == 1)
        rows = [labels.codes.index(code) for code in codes]
        read = labels.was_read[rows][:, places] & (places >= 0)
        chosen = np.flatnonzero((arms > 0) & read.any(axis=0))
        table = turn_answers.arrange(identifier, CodeFamily.Unit.SENTENCE, codes)
        yield _Family(
            identifier=identifier,
            codes=codes,
            sentences=turn_answers.sentence_ids[chosen],
            interviews=turn_answers.interview_ids[chosen],
            turns=turn_answers.turn_ids[chosen],
            arms=arms[chosen],
            is_random=is_random[chosen],
            was_read=read[:, chosen],
            machine=(labels.labels[rows][:, places] & read)[:, chosen],
            coders=table.coders,
            decided=table.decided[:, chosen],
            blind=table.labels[:, :, chosen],
        )


def _read_draws(annotator: Annotator) -> Draws:
    """How every turn of the study that was drawn was drawn: one query."""
    import numpy as np

    from auditapp.evaluation.pure.influence import Draws

    rows = TurnArm.objects.filter(turn__interview__study=annotator.study_id).order_by("turn_id")
    drawn = list(rows.values_list("turn_id", "turn__interview_id", "plan_id", "arm", "probability"))
    strata: dict[tuple[int, int], int] = {}
    return Draws(
        np.array([turn for turn, *_ in drawn], dtype=np.int64),
        np.array([strata.setdefault(row[1:3], len(strata)) for row in drawn], dtype=np.int64),
        np.array([arm == TurnArm.Arm.WITHHELD for *_, arm, _ in drawn], dtype=bool),
        np.array([probability for *_, probability in drawn], dtype=np.float64),
    )


def _place_arms(draws: Draws, turn_answers: BlindLabels) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Of each sentence the arm of its turn, nought where it was not drawn, and whether it was drawn at random: with a
    probability of neither 0 nor 1."""
    import numpy as np

    size = len(turn_answers.turn_ids)
    if not len(draws.turns):
        return np.zeros(size, dtype=np.int8), np.zeros(size, dtype=bool)
    places = np.minimum(np.searchsorted(draws.turns, turn_answers.turn_ids), len(draws.turns) - 1)
    is_drawn = draws.turns[places] == turn_answers.turn_ids
    arms = np.where(draws.is_withheld[places], WITHHELD, SHOWN) * is_drawn
    is_random = (draws.probability > 0) & (draws.probability < 1)
    return arms.astype(np.int8), is_drawn & is_random[places]


def _read_looks(annotator: Annotator) -> tuple[FirstLooks, ShownCodes]:
    """Every look in the study at suggestions that were shown after the own decision.

    Codes are of looks since the annotator was made: one before that showed nothing of it, not even that it suggests
    nothing.
    """
    showings = Showing.objects.filter(
        sentence__turn__interview__study=annotator.study_id, arm=TurnArm.Arm.SHOWN, is_draft=False
    )
    rows = list(showings.order_by("pk").values_list("coder_id", "sentence_id", "suggestions", "shown_at"))
    made = dict(Suggestion.objects.filter(annotator=annotator).values_list("pk", "code__identifier"))
    first: FirstLooks = {}
    shown: ShownCodes = defaultdict(set)
    for coder, sentence, suggestions, at in follow_looks(annotator.study_id, rows):
        first.setdefault((coder, sentence), at)
        if at >= annotator.created_at:
            shown[coder, sentence] |= {made[pk] for pk in suggestions if pk in made}
    return first, shown


def _read_finals(
    annotator: Annotator, first_looks: FirstLooks, turn_answers: BlindLabels
) -> Mapping[tuple[int, int], set[str]]:
    """By coder and sentence that she looked at: the codes active there, as far as colleagues did not influence them.

    Looks after she had opened colleagues' codings are taken out of ``first_looks``.
    """
    opened = read_unblindings(annotator.study)
    interview_of = dict(zip(turn_answers.sentence_ids.tolist(), turn_answers.interview_ids.tolist(), strict=True))
    for coder, sentence in list(first_looks):
        at = opened.get((coder, interview_of.get(sentence, 0)))
        if at is not None and first_looks[coder, sentence] >= at:
            del first_looks[coder, sentence]
    finals: dict[tuple[int, int], set[str]] = {key: set() for key in first_looks}
    seen = Showing.objects.filter(sentence__turn__interview__study=annotator.study_id).values("sentence")
    columns = ("coder_id", "sentence_id", "code_id", "created_at", "withdrawn_at")
    edited_since = Q(sentence__turn__interview__study=annotator.study_id, sentence__made_by__isnull=False)
    codings = Coding.objects.filter(Q(sentence__in=seen) | edited_since).values_list(*columns)
    for coder, sentence, code, created, withdrawn in codings:
        until = opened.get((coder, interview_of.get(sentence, 0)))
        is_active = withdrawn is None if until is None else created <= until and (not withdrawn or withdrawn > until)
        if is_active and (coder, sentence) in finals:
            finals[coder, sentence].add(turn_answers.codes[code].identifier)
    return finals


def _find_looked(
    family: _Family, first_looks: FirstLooks, finals: Mapping[tuple[int, int], set[str]]
) -> Iterator[Unit]:
    """The units of a family at which their coder looked at suggestions."""
    place_of = {sentence: place for place, sentence in enumerate(family.sentences.tolist())}
    row_of = {coder: row for row, coder in enumerate(family.coders)}
    for coder, sentence in first_looks:
        place, row = place_of.get(sentence), row_of.get(coder)
        if place is None or row is None or family.arms[place] != SHOWN or not family.decided[row, place]:
            continue
        yield Unit(
            coder=coder,
            sentence=sentence,
            family=family.identifier,
            blind=family.list_codes(family.blind[:, row], place),
            final=family.limit(finals[coder, sentence], place),
            machine=family.list_codes(family.machine, place),
        )


def _count(
    family: _Family,
    row: int,
    units: Mapping[tuple[int, int], Unit],
    shown_codes: ShownCodes,
    counted: NDArray[np.bool_],
) -> TurnTable:
    """The counts of one coder in one family, turn by turn; of the arms those sentences that are ``counted``."""
    import numpy as np

    from auditapp.evaluation.pure.influence import make_table

    differs = ((family.blind[:, row] != family.machine) & family.was_read).any(axis=0)
    decided, coder = family.decided[row], family.coders[row]
    shown, withheld = (decided & counted & (family.arms == arm) for arm in (SHOWN, WITHHELD))
    nothing = np.zeros(len(differs), dtype=bool)
    counts = np.stack([shown & ~differs, shown, withheld & ~differs, withheld, *[nothing] * 4], axis=1).astype(np.int64)
    own = [unit for unit in units.values() if unit.coder == coder]
    place_of = {sentence: place for place, sentence in enumerate(family.sentences.tolist())} if own else {}
    for unit in own:
        at = place_of[unit.sentence]
        if counted[at]:
            # Where she looked, her final label counts instead of the blind one.
            counts[at, 0] += (unit.final == unit.machine) - (unit.blind == unit.machine)
        if _was_shown_all(shown_codes, unit):
            agreed = unit.blind == unit.machine
            counts[at, 4:] += (not agreed, unit.changed_to, agreed, unit.changed_away)
    return make_table(family.turns, counts)
