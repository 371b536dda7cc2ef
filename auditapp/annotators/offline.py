"""Annotators that need no provider: what they have read and have still to read, the training set of one that learns, and their
runs.

The training set is the blind codings of a study, resolved to one word per sentence and code. Of several who decided about a
sentence the majority counts, and where they are even it teaches nothing. Withheld turns are spared, for they are to say how good
the annotator is. Interviews that say no to coding, or to reuse and training, teach nothing.

A worker does a run, an interview per transaction. It claims a run for a short time and renews the claim with each interview. When
a worker is killed, its claim expires and another goes on; finished interviews are kept, and each of the others is annotated once.
"""

from __future__ import annotations

import datetime
import os
import random
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Count, Q, QuerySet

from auditapp.annotators.models import Annotator, OfflineAnswer, OfflineRun, Suggestion
from auditapp.annotators.pure import learning
from auditapp.annotators.pure.prompts import (
    RULES_READER,
    OfflineReader,
    Prediction,
    RulesReader,
    hash_content,
    keep_once,
    list_read_codes,
    read_ranges,
    write_ranges,
)
from auditapp.annotators.withholding import list_withheld_answers
from auditapp.batches.ledger.leases import name_host
from auditapp.batches.pure.stopping import stopping
from auditapp.outbound.clock import read_now
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.codebook.pure.keyword_rules import BadRule
from transcripts.codebook.queries import SENTENCE_TEXT
from transcripts.coding.models import Blinding, Coding, Decision
from transcripts.corpus.consent import name_some
from transcripts.corpus.models import Interview, Sentence, Turn
from transcripts.corpus.queries import list_not_learnt_from
from transcripts.statistics.figures import round_percent
from transcripts.studies.models import Study

if TYPE_CHECKING:
    from auditapp.annotators.pure.learning import Bools, Lesson
    from transcripts.coding.blind import BlindLabels


# SQLite takes a limited number of parameters in one query.
MAX_AT_ONCE = 5_000
ACTIVE = (OfflineRun.State.PLANNED, OfflineRun.State.RUNNING)
LEASE = datetime.timedelta(seconds=30)
AT_ONCE = 1_000


def list_readable(interview_ids: Collection[int] | None, study: Study) -> QuerySet[Sentence]:
    """The current sentences of the models in a study, in all or some interviews."""
    sentences = Sentence.objects.current().filter(
        turn__interview__study=study,
        turn__role=Turn.Role.MODEL,
        turn__channel=Turn.Channel.UTTERANCE,
    )
    return sentences if interview_ids is None else sentences.filter(turn__interview__in=interview_ids)


def find_unread(annotator: Annotator, interview_id: int) -> list[tuple[int, int, int, str]]:
    """Key, turn, start in the turn and words of each sentence of an interview that this annotator has not annotated yet, in
    order."""
    read = _find_read(annotator, interview_id)
    rows = list_readable([interview_id], annotator.study).annotate(text=SENTENCE_TEXT)
    ordered = rows.order_by("turn__position", "start").values_list("pk", "turn_id", "start", "text")
    return [row for row in ordered if row[0] not in read]


def find_unread_ids(annotator: Annotator, interview_id: int) -> set[int]:
    """The numbers of those sentences, without their words."""
    current = list_readable([interview_id], annotator.study).order_by()
    return set(current.values_list("pk", flat=True)) - _find_read(annotator, interview_id)


def find_proposed_once(annotator: Annotator, interview_id: int) -> set[tuple[int, str]]:
    """The turns of an interview for which it has suggested a code that is applied once per answer, with the code."""
    proposed = Suggestion.objects.filter(
        annotator=annotator, sentence__turn__interview=interview_id, code__family__once_per_answer=True
    )
    return set(proposed.order_by().values_list("sentence__turn_id", "code__identifier"))


def list_once_per_answer(version: CodebookVersion) -> frozenset[str]:
    """The codes that are applied to at most one sentence of an answer."""
    codes = Code.objects.filter(version=version, family__once_per_answer=True)
    return frozenset(codes.values_list("identifier", flat=True))


def _find_read(annotator: Annotator, interview_id: int) -> set[int]:
    turn_answers = OfflineAnswer.objects.filter(run__annotator=annotator, interview=interview_id)
    return {number for numbers in turn_answers.values_list("sentences", flat=True) for number in numbers}


def list_interviews_to_read(annotator: Annotator, interview_ids: Collection[int] | None) -> list[int]:
    """Those of all or of these interviews in which it has something to annotate. Two queries, whatever their number."""
    read: dict[int, set[int]] = defaultdict(set)
    done = OfflineAnswer.objects.filter(run__annotator=annotator)
    for interview, numbers in done.values_list("interview_id", "sentences"):
        read[interview].update(numbers)
    rows = list_readable(interview_ids, annotator.study).order_by("turn__interview_id", "pk")
    left: dict[int, None] = {}
    for interview, pk in rows.values_list("turn__interview_id", "pk").iterator(chunk_size=5_000):
        if interview not in left and pk not in read[interview]:
            left[interview] = None
    return list(left)


def find_interviews_left(run: OfflineRun) -> list[int]:
    """The interviews of a run that have not been annotated yet, in order."""
    left = run.interviews.filter(study__isnull=False).exclude(offline_answers__run=run)
    return list(left.order_by("pk").values_list("pk", flat=True))


def read_run_progress(run: OfflineRun) -> dict[str, int]:
    """The number of interviews, how many of them are done, and how many sentences and suggestions these have. Two queries."""
    turn_answers = list(run.turn_answers.values_list("sentences", "accepted"))
    interviews, done = run.interviews.filter(study__isnull=False).count(), len(turn_answers)
    # An interview may have been archived after it was read.
    interviews = max(interviews, done)
    return {
        "interviews": interviews,
        "done": done,
        "percent": round_percent(done, interviews, of_nothing=100),
        "sentences": sum(len(numbers) for numbers, _ in turn_answers),
        "suggestions": sum(accepted for _, accepted in turn_answers),
    }


def count_by_code(run: OfflineRun) -> dict[str, int]:
    """Suggestions of a run by the identifier of the code."""
    rows = run.suggestions.order_by().values_list("code__identifier").annotate(Count("pk"))
    return dict(rows)


def find_idle_runs(now: datetime.datetime) -> list[int]:
    """Runs that no worker is doing, because they have not begun or were released."""
    free = Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)
    return list(OfflineRun.objects.filter(free, state__in=ACTIVE).values_list("pk", flat=True))


def list_runs(study: Study) -> QuerySet[OfflineRun]:
    """The runs of a study, the latest first."""
    runs = OfflineRun.objects.filter(annotator__study=study).select_related("annotator__version")
    return runs.defer("annotator__recipe").order_by("-pk")


def list_rules(version: CodebookVersion) -> dict[str, list[str]]:
    """The keyword rules of the codes that are applied to sentences, in the order of the codebook; codes without are left out."""
    codes = Code.objects.filter(version=version, family__unit=CodeFamily.Unit.SENTENCE, is_category=False)
    rows = codes.order_by("family__position", "position").values_list("identifier", "keyword_rules")
    return {identifier: list(lines) for identifier, lines in rows if lines}


def read_training_set(study: Study, version: CodebookVersion, *, minimum: int) -> dict[str, Any]:
    """The current examples, and their numbers for each code of the version, in its order: the parts ``set``, ``taught`` and
    ``codes`` of a recipe (see ``pure/prompts.py``)."""
    import numpy as np

    from auditapp.annotators.pure.learning import count_examples
    from transcripts.coding.blind import read_blind

    read = read_blind(study)
    withheld = list_withheld_answers(study)
    refused = list_not_learnt_from(read.interview_ids.tolist())
    is_refused = np.isin(read.interview_ids, np.fromiter(refused, dtype=np.int64, count=len(refused)))
    is_spared = np.isin(read.turn_ids, np.fromiter(withheld, dtype=np.int64, count=len(withheld)))
    families, outcomes, spared = {}, {}, np.zeros(len(read.sentence_ids), dtype=bool)
    left_out = np.zeros(len(read.sentence_ids), dtype=bool)
    for family in _list_families(version):
        codes = [code.identifier for code in family.codes.all()]
        is_decided, has_code, is_tied = _resolve(read, family.identifier, codes)
        left_out |= is_decided & is_refused
        is_decided = is_decided & ~is_refused
        spared |= is_decided & is_spared
        taught = is_decided & ~is_spared
        written: dict[str, Any] = {}
        for code, yes, tied in zip(codes, has_code, is_tied, strict=True):
            rows = np.flatnonzero(taught & ~tied)
            outcomes[code] = count_examples(rows, yes[rows], read.interview_ids, minimum=minimum)
            ids = read.sentence_ids
            written[code] = {"yes": _write(ids[taught & yes]), "tied": _write(ids[taught & tied])}
        if taught.any():
            families[family.identifier] = {"decided": _write(read.sentence_ids[taught]), "codes": written}
    placed = place_sentences(families)
    return {
        "set": {"hash": hash_set(families, placed), "families": families},
        "taught": {
            "sentences": len(placed),
            "interviews": len({interview for interview, _ in placed.values()}),
            "spared": int(spared.sum()),
            **({"refused": int(left_out.sum())} if left_out.any() else {}),
        },
        "codes": outcomes,
    }


def _resolve(read: BlindLabels, family: str, codes: list[str]) -> tuple[Bools, Bools, Bools]:
    """Which sentences were decided for a family; and, for codes x sentences, whether the majority applied the code and whether
    there was a tie.

    Covers only the model's sentences, which are all that an annotator is asked to annotate.
    """
    table = read.arrange(family, CodeFamily.Unit.SENTENCE, codes)
    deciders = table.decided.sum(axis=0) * read.is_answer
    yes = table.labels.sum(axis=1) * read.is_answer
    return deciders > 0, 2 * yes > deciders, (2 * yes == deciders) & (deciders > 0)


def _list_families(version: CodebookVersion) -> list[CodeFamily]:
    families = version.families.filter(unit=CodeFamily.Unit.SENTENCE).prefetch_related("codes")
    return list(families.order_by("position"))


def place_sentences(families: Mapping[str, Any]) -> dict[int, tuple[int, str]]:
    """The sentences that a set names, with the interview of each and the hash of its text."""
    numbers = {number for family in families.values() for number in read_ranges(family["decided"])}
    columns = ("pk", "turn__interview_id", "text_hash")
    return {pk: (interview, text_hash) for pk, interview, text_hash in _fetch(numbers, columns)}


def hash_set(families: Mapping[str, Any], placed: Mapping[int, tuple[int, str]]) -> str:
    """SHA-256 of the decisions and the words that they are about."""
    return hash_content([families, [[pk, text_hash] for pk, (_, text_hash) in sorted(placed.items())]])


def read_lesson(families: Mapping[str, Any]) -> Lesson:
    """The examples of a set, with their texts. Retired sentences still exist, and are used as before."""
    import numpy as np

    from auditapp.annotators.pure.learning import Lesson

    numbers = {number for family in families.values() for number in read_ranges(family["decided"])}
    rows = sorted(_fetch(numbers, ("pk", "turn__interview_id", "text")))
    place_of = {pk: place for place, (pk, *_) in enumerate(rows)}
    codes = {}
    for family in families.values():
        decided = read_ranges(family["decided"])
        for code, written in family["codes"].items():
            yes, tied = set(read_ranges(written["yes"])), set(read_ranges(written["tied"]))
            taught = [number for number in decided if number not in tied]
            places = np.array([place_of[number] for number in taught], dtype=np.int64)
            codes[code] = places, np.array([number in yes for number in taught], dtype=bool)
    texts = [text for *_, text in rows]
    return Lesson(texts, np.array([interview for _, interview, _ in rows], dtype=np.int64), codes)


def _fetch(numbers: Collection[int], columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    ordered, found = sorted(numbers), list[tuple[Any, ...]]()
    for first in range(0, len(ordered), MAX_AT_ONCE):
        rows = Sentence.objects.filter(pk__in=ordered[first : first + MAX_AT_ONCE])
        if "text" in columns:
            rows = rows.annotate(text=SENTENCE_TEXT)
        found += rows.order_by().values_list(*columns)
    return found


def _write(numbers: Iterable[Any]) -> str:
    return write_ranges(int(number) for number in numbers)


def list_coded_interviews(study: Study) -> list[int]:
    """The interviews in which anybody has coded or decided anything blind."""
    place = "sentence__turn__interview"
    found: set[int] = set()
    for rows in (Coding.objects.filter(blinding=Blinding.BLIND), Decision.objects.filter(blinding=Blinding.BLIND)):
        mine = rows.filter(**{f"{place}__study": study}).order_by()
        found.update(mine.values_list(place, flat=True).distinct())
    return sorted(found)


class Lost(Exception):
    """The run was cancelled, or another worker has it."""


class CannotRead(Exception):
    """The annotator cannot be rebuilt from its recipe; the sentence says why."""


def run_offline(run_id: int) -> None:
    """Do the rest of a run, unless another worker has it. May be called twice without harm."""
    who = f"{name_host()[:30]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    if not _claim(run_id, who):
        return
    run = OfflineRun.objects.select_related("annotator__study", "annotator__version").get(pk=run_id)
    try:
        reader = make_reader(run.annotator, heartbeat=lambda done, total: _tell(run_id, who, done, total))
        codes = dict(run.annotator.version.codes.values_list("identifier", "pk"))
        for interview_id in find_interviews_left(run):
            if stopping.is_set():
                OfflineRun.objects.filter(pk=run_id, claimed_by=who).update(claimed_by="", claimed_until=None)
                return
            if not _read_interview(run, who, interview_id, reader, codes):
                return
    except Lost:
        return
    except (CannotRead, learning.NothingToLearn) as error:
        _end(run_id, who, OfflineRun.State.FAILED, str(error))
    except (OperationalError, InterfaceError):
        # Passes: the claim lapses, and the run goes on. Any other error would come back for ever.
        raise
    except Exception as error:
        _end(
            run_id,
            who,
            OfflineRun.State.FAILED,
            f"The run stopped because of an unexpected error ({type(error).__name__}).",
        )
        raise
    else:
        _end(run_id, who, OfflineRun.State.DONE, "")


def name_reader(kind: str) -> str:
    """The current version of the reader for a kind of annotators. It determines their labels, so recipes name it."""
    return RULES_READER if kind == Annotator.Kind.RULES else learning.name_reader()


def make_reader(annotator: Annotator, *, heartbeat: learning.Heartbeat = lambda _done, _total: None) -> OfflineReader:
    """The reader that an annotator's recipe describes. When it is learnt for the first time, it is tested, and the recipe
    records the result. Raises ``CannotRead`` and ``NothingToLearn``."""
    recipe = annotator.recipe
    try:
        reader_now = name_reader(annotator.kind)
    except learning.LearningNotInstalled as error:
        raise CannotRead(str(error)) from error
    if recipe.get("reader") != reader_now:
        raise CannotRead(
            "This annotator was made with another version of the program or of scikit-learn and would give different labels now. "
            "Launch it again. That creates a new annotator."
        )
    if annotator.kind == Annotator.Kind.RULES:
        try:
            return RulesReader(recipe["rules"])
        except BadRule as error:
            raise CannotRead(f"A rule of the codebook is not valid. {error}") from error
    families = recipe["set"]["families"]
    placed = place_sentences(families)
    if refused := list_not_learnt_from(interview for interview, _ in placed.values()):
        named = name_some(list(Interview.objects.filter(pk__in=refused).order_by("pk")))
        raise CannotRead(
            f"This annotator learnt from {named}, and consent to coding or to reuse and training has been refused since. Launch "
            "the learning again. That creates another annotator, which does not learn from there."
        )
    if hash_set(families, placed) != recipe["set"]["hash"]:
        raise CannotRead(
            "The codings this annotator learnt from have changed, so it cannot be made again. Launch the learning again. That "
            "creates another annotator from the current codings."
        )
    lesson = read_lesson(families)
    heartbeat(0, len(lesson.codes))
    if "judged_with" in recipe:
        thresholds = {code: recipe["codes"][code]["threshold"] for code in list_read_codes(recipe)}
        reader = learning.fit(lesson, thresholds, heartbeat=heartbeat)
    else:
        reader, outcomes = learning.learn(lesson, minimum=recipe["minimum"], seed=recipe["seed"], heartbeat=heartbeat)
        _keep_outcomes(annotator, outcomes)
    if not reader.codes:
        raise learning.NothingToLearn(
            "No code was learnt well enough to suggest anything. The table gives the reason for each code."
        )
    return reader


@transaction.atomic
def _keep_outcomes(annotator: Annotator, outcomes: Mapping[str, Any]) -> None:
    import sklearn

    kept = Annotator.objects.select_for_update().get(pk=annotator.pk)
    if "judged_with" not in kept.recipe:
        kept.recipe |= {"codes": outcomes, "judged_with": f"scikit-learn {sklearn.__version__}"}
        kept.save(update_fields=["recipe"])
    annotator.recipe = kept.recipe


def _claim(run_id: int, who: str) -> bool:
    now = read_now()
    free = Q(claimed_until__isnull=True) | Q(claimed_until__lt=now)
    runs = OfflineRun.objects.filter(free, pk=run_id, state__in=ACTIVE)
    return bool(runs.update(state=OfflineRun.State.RUNNING, claimed_by=who, claimed_until=now + LEASE))


def _renew(run_id: int, who: str) -> bool:
    """Renew the claim on the run; ``False`` if the run was cancelled or another worker has it."""
    runs = OfflineRun.objects.filter(pk=run_id, claimed_by=who, state=OfflineRun.State.RUNNING)
    return bool(runs.update(claimed_until=read_now() + LEASE))


def _tell(run_id: int, who: str, done: int, total: int) -> None:
    """Record the progress of learning, and renew the claim on the run. Raises ``Lost``."""
    runs = OfflineRun.objects.filter(pk=run_id, claimed_by=who, state=OfflineRun.State.RUNNING)
    if not runs.update(claimed_until=read_now() + LEASE, learnt_steps=done, learning_steps=total):
        raise Lost


def _end(run_id: int, who: str, state: str, problem: str) -> None:
    runs = OfflineRun.objects.filter(pk=run_id, claimed_by=who, state=OfflineRun.State.RUNNING)
    runs.update(state=state, problem=problem, claimed_by="", claimed_until=None, ended_at=read_now())


def _read_interview(
    run: OfflineRun, who: str, interview_id: int, reader: OfflineReader, codes: Mapping[str, int]
) -> bool:
    """Annotate one interview and store the suggestions; ``False`` if this worker no longer has the run."""
    sentences = find_unread(run.annotator, interview_id)
    predictions = reader.read([text for _, _, _, text in sentences])
    with transaction.atomic():
        # Two runs of one annotator take turns, so that neither reads what the other just read.
        Annotator.objects.select_for_update().only("pk").get(pk=run.annotator_id)
        if not _renew(run.pk, who):
            return False
        ids = find_unread_ids(run.annotator, interview_id)
        left = [(each, found) for each, found in zip(sentences, predictions, strict=True) if each[0] in ids]
        kept = keep_once(
            [found for _, found in left],
            [turn for (_, turn, _, _), _ in left],
            once=list_once_per_answer(run.annotator.version),
            taken=find_proposed_once(run.annotator, interview_id),
        )
        rows = [
            suggestion
            for ((pk, _, start, _), _), found in zip(left, kept, strict=True)
            for suggestion in _write_suggestions(run, pk, start, found, codes)
        ]
        Suggestion.objects.bulk_create(rows, batch_size=AT_ONCE)
        OfflineAnswer.objects.create(
            run=run,
            interview_id=interview_id,
            sentences=[pk for (pk, _, _, _), _ in left],
            accepted=len(rows),
            read_at=read_now(),
        )
    return True


def _write_suggestions(
    run: OfflineRun, sentence: int, start: int, predictions: Sequence[Prediction], codes: Mapping[str, int]
) -> list[Suggestion]:
    """The suggestions for a sentence in a shuffled order, which is the same whenever this annotator annotates it."""
    places = list(range(len(predictions)))
    if len(predictions) > 1:
        random.Random(f"{run.annotator.hash} {sentence}").shuffle(places)  # noqa: S311 - an order, not a secret
    return [
        Suggestion(
            annotator_id=run.annotator_id,
            run_id=run.pk,
            sentence_id=sentence,
            code_id=codes[prediction.code],
            rationale=prediction.rationale,
            quote_start=None if prediction.start is None else start + prediction.start,
            quote_end=None if prediction.end is None else start + prediction.end,
            score=prediction.score,
            place=place,
        )
        for prediction, place in zip(predictions, places, strict=True)
        if prediction.code in codes
    ]
