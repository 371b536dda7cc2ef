"""Runs of annotators that need no provider: a worker does a run, one interview per transaction.

A worker claims a run for a short time and renews the claim with each interview. If a worker is killed, its claim expires and
another one continues; finished interviews are kept, and each of the others is annotated once.
"""

from __future__ import annotations

import datetime
import os
import random
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q

from auditapp.annotators.models import Annotator, OfflineAnswer, OfflineRun, Suggestion
from auditapp.annotators.pure import learning
from auditapp.annotators.pure.prompts import (
    RULES_READER,
    OfflineReader,
    Prediction,
    RulesReader,
    keep_once,
    list_read_codes,
)
from auditapp.annotators.queries.offline import (
    ACTIVE,
    find_interviews_left,
    find_proposed_once,
    find_unread,
    find_unread_ids,
    hash_set,
    list_once_per_answer,
    place_sentences,
    read_lesson,
)
from auditapp.batches.ledger.leases import name_host
from auditapp.batches.pure.stopping import stopping
from auditapp.outbound.clock import read_now
from transcripts.codebook.pure.keyword_rules import BadRule
from transcripts.corpus.consent import name_some
from transcripts.corpus.models import Interview
from transcripts.corpus.queries import list_not_learnt_from

LEASE = datetime.timedelta(seconds=30)
AT_ONCE = 1_000


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
