"""An annotator's labels of sentences and of whole turns as arrays, transferred to the current sentences after boundary edits.
Calibration, influence and comparison all use this source.

For turns, it also has the answers to the codes' own questions. Rows are read as plain tuples and lists of numbers as text, which
are all parsed at once, because a study of 50,000 sentences can have that many answers. A turn is found under its first sentence,
whichever that is now, so that boundary edits move nothing. Loads numpy; pages import this inside functions.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from auditapp.annotators.models import Annotator, Suggestion, TurnAnswer
from auditapp.annotators.pure.prompts import list_read_codes
from auditapp.annotators.queries.boundary_edits import read_edited_turns
from auditapp.batches.models import Arm
from transcripts.codebook.models import Code, CodeFamily
from transcripts.corpus.models import Sentence, Standing
from transcripts.corpus.pure.boundaries import EditedTurn, Extent

Numbers = NDArray[np.int64]

READINGS = """
SELECT r.cell_id, c.arm_id, c.input_id, r.asked, r.missing
FROM annotators_turnanswer r JOIN batches_cell c ON c.id = r.cell_id
WHERE r.annotator_id = %s AND r.outcome <> 'invalid' ORDER BY r.cell_id
"""
ARMS = """
SELECT a.id, a.task, a.settings FROM batches_arm a
WHERE a.id IN (
  SELECT c.arm_id FROM annotators_turnanswer r JOIN batches_cell c ON c.id = r.cell_id WHERE r.annotator_id = %s)
"""
OFFLINE_READINGS = """
SELECT d.id, d.run_id, d.sentences FROM annotators_offlineanswer d JOIN annotators_offlinerun r ON r.id = d.run_id
WHERE r.annotator_id = %s ORDER BY d.run_id, d.id
"""
SUGGESTIONS = """
SELECT s.:origin, s.sentence_id, s.code_id FROM annotators_suggestion s
WHERE s.annotator_id = %s AND s.:origin IS NOT NULL :critic
"""
# Of several critics' words on a suggestion the latest counts.
NOT_REVERSED = """
AND NOT EXISTS (
  SELECT 1 FROM annotators_criticanswer k
  WHERE k.suggestion_id = s.id AND k.verdict = 'rejected' AND NOT EXISTS (
    SELECT 1 FROM annotators_criticanswer n
    WHERE n.suggestion_id = s.id AND n.verdict <> '' AND n.cell_id > k.cell_id))
"""
# The sentences current at the launch of a batch whose answers do not list what they were asked about.
AS_LAUNCHED = """
SELECT r.cell_id, s.id
FROM annotators_turnanswer r JOIN batches_cell c ON c.id = r.cell_id JOIN batches_batch b ON b.id = c.batch_id
JOIN corpus_sentence s ON s.turn_id = c.input_id
LEFT JOIN corpus_boundaryedit m ON m.id = s.made_by_id LEFT JOIN corpus_boundaryedit g ON g.id = s.retired_by_id
WHERE r.annotator_id = %s AND r.outcome <> 'invalid' AND (m.id IS NULL OR m.edited_at < b.created_at)
AND (g.id IS NULL OR g.edited_at >= b.created_at)
"""


class MachineLabels(NamedTuple):
    """``sentence_ids``: ascending. ``codes``: identifiers. ``was_read`` and ``labels``: codes x sentences.

    A label is never true if the annotator did not annotate the sentence for that code. A sentence that its answer left out, or a
    code for which it has no rule or too few examples, does not count as "no".
    """

    sentence_ids: NDArray[np.int64]
    codes: tuple[str, ...]
    was_read: NDArray[np.bool_]
    labels: NDArray[np.bool_]

    def find_places(self, sentence_ids: Numbers) -> Numbers:
        """The index of each of these sentences in the arrays, -1 if the annotator did not annotate it."""
        if not len(self.sentence_ids):
            return np.full(len(sentence_ids), -1)
        places = np.minimum(np.searchsorted(self.sentence_ids, sentence_ids), len(self.sentence_ids) - 1)
        return np.where(self.sentence_ids[places] == sentence_ids, places, -1)


# All answers in the order of time: the numbers suggestions name them by, and the codes each was to look for; then, for every
# sentence that an answer speaks of, the place of the answer and the number of the sentence.
Answers = tuple[Numbers, list[tuple[str, ...]], Numbers, Numbers]


def read_machine_labels(
    annotator: Annotator, *, sentences: Collection[int] | None = None, with_critic: bool = False
) -> MachineLabels:
    """The annotator's current labels; if there are several for a sentence and code, the latest.

    ``sentences`` limits them; if not given, all current sentences that it annotated. ``with_critic`` leaves out what a critic
    rejected. Five queries, and one more in each of these cases: answers do not list what they were asked about; after boundary
    edits; for all sentences.
    """
    rows = Code.objects.filter(version=annotator.version_id).order_by("family__position", "position")
    columns = ("pk", "identifier", "family__identifier")
    codes = list(rows.filter(family__unit=CodeFamily.Unit.SENTENCE).values_list(*columns))
    is_model = annotator.kind == Annotator.Kind.MODEL
    origins, asked_for, order, read = _read_answers(annotator, codes) if is_model else _read_offline(annotator)
    turns = read_edited_turns(annotator.study_id)
    if turns:
        order, read = follow_answers(order, read, turns)
    kept = np.unique(read)
    if sentences is not None:
        kept = np.intersect1d(kept, np.fromiter(sentences, np.int64))
    else:
        kept = np.setdiff1d(kept, list_retired(turns), assume_unique=True)
        kept = np.setdiff1d(kept, _list_left_out(annotator.study_id))
    asked_codes = set(chain.from_iterable(set(asked_for)))
    known = {identifier: pk for pk, identifier, *_ in codes if identifier in asked_codes}
    latest = _find_latest(asked_for, order, read, codes=tuple(known), sentence_ids=kept)
    origin, critic = "cell_id" if is_model else "run_id", NOT_REVERSED if with_critic else ""
    suggestions, moved = (sql.replace(":origin", origin).replace(":critic", critic) for sql in (SUGGESTIONS, MOVED))

    def mark(made: Numbers) -> NDArray[np.bool_]:
        return _mark(made, origins=origins, code_ids=tuple(known.values()), sentence_ids=kept, latest=latest)

    labels = mark(_fetch(suggestions, annotator.pk, columns=3))
    if turns:
        placed, unknown = follow_suggestions(_fetch(moved, annotator.pk, columns=5), turns)
        labels |= mark(placed)
        latest[mark(unknown) & ~labels] = -1
    return MachineLabels(kept, tuple(known), latest >= 0, labels)


def _list_left_out(study_id: int) -> Numbers:
    """The sentences of interviews that do not count in the study, such as archived ones."""
    rows = Sentence.objects.filter(turn__interview__owning_study=study_id).exclude(
        turn__interview__standing=Standing.COUNTED
    )
    return np.fromiter(rows.order_by().values_list("pk", flat=True), np.int64)


def _read_answers(annotator: Annotator, codes: Sequence[Sequence[Any]]) -> Answers:
    with connection.cursor() as cursor:
        cursor.execute(ARMS, [annotator.pk])
        codes_of = {pk: _list_asked(task, _parse(settings), codes) for pk, task, settings in cursor.fetchall()}
        cursor.execute(READINGS, [annotator.pk])
        rows = cursor.fetchall()
    cells = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    order, asked = _unfold([row[3] for row in rows])
    if not np.bincount(order, minlength=len(rows)).all():
        order, asked = _add_unsaid(annotator, cells, order, asked)
    missing_order, missing = _unfold([row[4] for row in rows])
    if len(missing):
        width = int(max(asked.max(initial=0), missing.max())) + 1
        is_missing = np.isin(order * width + asked, missing_order * width + missing)
        order, asked = order[~is_missing], asked[~is_missing]
    return cells, [codes_of[row[1]] for row in rows], order, asked


def _list_asked(task: str, settings: Mapping[str, Any], codes: Iterable[Sequence[Any]]) -> tuple[str, ...]:
    """The codes that an arm asked for. Old arms did not store them: they asked for all codes of the family after which they
    are named."""
    if "codes" in settings:
        return tuple(settings["codes"])
    return tuple(identifier for _, identifier, family in codes if family == task)


def _add_unsaid(annotator: Annotator, cells: Numbers, order: Numbers, asked: Numbers) -> tuple[Numbers, Numbers]:
    """Adds the sentences of answers that do not list them, which are all sentences that their turn had then."""
    stood = _fetch(AS_LAUNCHED, annotator.pk, columns=2)
    places = np.searchsorted(cells, stood[:, 0])
    is_unsaid = np.ones(len(cells), dtype=bool)
    is_unsaid[order] = False
    wanted = is_unsaid[places]
    order, asked = np.concatenate([order, places[wanted]]), np.concatenate([asked, stood[wanted, 1]])
    in_time = np.argsort(order, kind="stable")
    return order[in_time], asked[in_time]


def _read_offline(annotator: Annotator) -> Answers:
    """A run counts as one answer, because it annotates an interview once."""
    with connection.cursor() as cursor:
        cursor.execute(OFFLINE_READINGS, [annotator.pk])
        rows = cursor.fetchall()
    runs, places = np.unique(np.fromiter((row[1] for row in rows), np.int64, len(rows)), return_inverse=True)
    order, read = _unfold([row[2] for row in rows])
    found = tuple(list_read_codes(annotator.recipe))
    return runs, [found] * len(runs), places[order], read


def _find_latest(
    asked_for: Sequence[tuple[str, ...]], order: Numbers, read: Numbers, *, codes: Sequence[str], sentence_ids: Numbers
) -> NDArray[np.int32]:
    """For each code and sentence, the number of the last answer that covers both, -1 if none does."""
    latest = np.full((len(codes), len(sentence_ids)), -1, dtype=np.int32)
    kept = np.isin(read, sentence_ids)
    order, places = order[kept], np.searchsorted(sentence_ids, read[kept])
    kinds = {asked: number for number, asked in enumerate(dict.fromkeys(asked_for))}
    kind_of = np.array([kinds[asked] for asked in asked_for], dtype=np.int64)[order]
    for asked, number in kinds.items():
        chosen = kind_of == number
        last = np.full(len(sentence_ids), -1, dtype=np.int32)
        # Of several values for one place the last one stays, and they are in the order of time.
        last[places[chosen]] = order[chosen]
        rows = [row for row, code in enumerate(codes) if code in asked]
        latest[rows] = np.maximum(latest[rows], last)
    return latest


def _mark(
    made: Numbers, *, origins: Numbers, code_ids: Sequence[int], sentence_ids: Numbers, latest: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Codes x sentences: whether a row of ``made`` (origin, sentence, code) came from the last answer about both."""
    marks = np.zeros(latest.shape, dtype=bool)
    by_number = np.argsort(np.array(code_ids, dtype=np.int64))
    ids = np.array(code_ids, dtype=np.int64)[by_number]
    is_known = np.isin(made[:, 0], origins) & np.isin(made[:, 1], sentence_ids)
    made = made[is_known & np.isin(made[:, 2], ids)]
    answer = np.searchsorted(origins, made[:, 0])
    place, row = np.searchsorted(sentence_ids, made[:, 1]), by_number[np.searchsorted(ids, made[:, 2])]
    is_latest = latest[row, place] == answer
    marks[row[is_latest], place[is_latest]] = True
    return marks


def _unfold(lists: Sequence[Any]) -> tuple[Numbers, Numbers]:
    """Lists of numbers, as JSON or parsed, joined into one row: for each number, the index of its list, and the number."""
    if lists and isinstance(lists[0], str):
        found: list[list[int]] = json.loads(f"[{','.join(lists)}]")
    else:
        found = list(lists)
    lengths = np.fromiter(map(len, found), np.int64, len(found))
    numbers = np.fromiter(chain.from_iterable(found), np.int64, int(lengths.sum()))
    return np.repeat(np.arange(len(found)), lengths), numbers


def _parse(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(value) if isinstance(value, str) else value
    return found


def _fetch(sql: str, number: int, *, columns: int) -> Numbers:
    with connection.cursor() as cursor:
        cursor.execute(sql, [number])
        found = np.fromiter(chain.from_iterable(cursor.fetchall()), dtype=np.int64)
    return found.reshape(-1, columns)


Turns = Mapping[int, EditedTurn]

# Suggestions for sentences that were retired since; `:origin` and `:critic` as above.
MOVED = """
SELECT s.:origin, s.sentence_id, s.code_id, COALESCE(s.quote_start, -1), COALESCE(s.quote_end, -1)
FROM annotators_suggestion s JOIN corpus_sentence g ON g.id = s.sentence_id AND g.retired_by_id IS NOT NULL
WHERE s.annotator_id = %s AND s.:origin IS NOT NULL :critic
"""


def list_retired(turns: Turns) -> Numbers:
    """The retired sentences of these turns, ascending."""
    gone = [pk for turn in turns.values() for pk, each in turn.sentences.items() if each.retired_by is not None]
    return np.array(sorted(gone), dtype=np.int64)


def follow_answers(order: Numbers, sentences: Numbers, turns: Turns) -> tuple[Numbers, Numbers]:
    """Which answer covers which sentence, including sentences made by boundary edits since then; in the order of answers.

    An answer covers a sentence if every word of the sentence was in sentences that the answer named.
    """
    turn_of = {pk: turn for turn in turns.values() for pk in turn.sentences}
    concerned = np.isin(sentences, np.fromiter(turn_of, np.int64, len(turn_of)))
    answered_in: dict[tuple[int, EditedTurn], set[int]] = {}
    for answer, pk in zip(order[concerned].tolist(), sentences[concerned].tolist(), strict=True):
        answered_in.setdefault((answer, turn_of[pk]), set()).add(pk)
    covered: dict[tuple[EditedTurn, frozenset[int]], list[int]] = {}
    more: list[tuple[int, int]] = []
    for (answer, turn), answered in answered_in.items():
        # The answers about a turn, one for each family or code, mostly cover the same sentences.
        key = turn, frozenset(answered)
        if key not in covered:
            covered[key] = [each.pk for each in turn.made if turn.is_covered(each.pk, answered)]
        more += [(answer, pk) for pk in covered[key] if pk not in answered]
    if not more:
        return order, sentences
    added = np.array(more, dtype=np.int64)
    order, sentences = np.concatenate([order, added[:, 0]]), np.concatenate([sentences, added[:, 1]])
    in_time = np.argsort(order, kind="stable")
    return order[in_time], sentences[in_time]


def follow_suggestions(moved: Numbers, turns: Turns) -> tuple[Numbers, Numbers]:
    """The rows of ``MOVED`` as origin, current sentence and code: where each suggestion belongs now, and where nothing is
    known.

    A suggestion belongs to the sentence that contains all of its words. For the other sentences with words of its old sentence,
    the answer has no label of that code, because it is not known what the answer would have been for that part alone.
    """
    turn_of = {pk: turn for turn in turns.values() for pk in turn.sentences}
    placed: list[tuple[int, int, int]] = []
    unknown: list[tuple[int, int, int]] = []
    for origin, sentence, code, first, last in moved.tolist():
        turn = turn_of[sentence]
        whole = turn.sentences[sentence].extent
        place = turn.find_place(whole if last < 0 else Extent(first, last))
        if place is not None:
            placed.append((origin, place, code))
        unknown += [(origin, each, code) for each in turn.list_touched(whole) if each != place]
    return _as_rows(placed), _as_rows(unknown)


def _as_rows(rows: list[Any]) -> Numbers:
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


AT_A_TIME = 5_000
# Of what was said of a turn: the number of its first sentence, and the identifier of a code.
Place = tuple[int, str]


class TurnLabels(NamedTuple):
    """``labels``: as for sentences, by the first sentence of each turn. ``answers``: those of each label, by the key of the
    question."""

    labels: MachineLabels
    answers: Mapping[Place, Mapping[str, str]]


def read_turn_labels(annotator: Annotator) -> TurnLabels:
    """The annotator's current labels of turns in interviews that count; if there are several for a turn and a code, the
    latest.

    A turn that its answer left out was not annotated. Five queries, more for many thousands of turns.
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
    answers = _read_turn_answers(annotator, first_of, latest)
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


def _read_turn_answers(
    annotator: Annotator, first_of: Mapping[int, int], latest: Mapping[Place, int]
) -> dict[Place, dict[str, str]]:
    """By index, the answers given with each label that counts."""
    rows = Suggestion.objects.filter(annotator=annotator, code__family__unit=CodeFamily.Unit.TURN).order_by("pk")
    found: dict[Place, dict[str, str]] = {}
    for cell, turn, code, answers in rows.values_list("cell_id", "sentence__turn_id", "code__identifier", "answers"):
        place = first_of.get(turn, 0), code
        if latest.get(place) == cell:
            found[place] = answers
    return found
