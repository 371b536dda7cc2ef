"""The anchors: choosing them, and reading them under each version of the codebook."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook.models import CodebookVersion, CodeFamily
from transcripts.coding.actions import CODEABLE_CHANNELS
from transcripts.corpus.consent import explain_missing, list_without
from transcripts.corpus.models import Consent, Sentence
from transcripts.refusals import Refused
from transcripts.revision import queries
from transcripts.revision.models import AnchorReading, AnchorSentence
from transcripts.studies.models import Study

MAX_ANCHORS = 200


@transaction.atomic
def add_anchor(*, study: Study, sentence: Sentence, by: User) -> AnchorSentence:
    """Put a sentence among the anchors; one that is there is left as it is. Raises ``Refused``."""
    _hold(study)
    if sentence.turn.interview.study_id != study.pk or sentence.retired_by_id is not None:
        raise Refused("This sentence is not one of this study, or its boundaries were edited later.")
    if sentence.turn.channel not in CODEABLE_CHANNELS:
        raise Refused("This is a tool result, which is shown but not coded.")
    _check_consent(sentence)
    return _add_anchors(study, [sentence.pk], by=by)[0]


@transaction.atomic
def draw_anchors(*, study: Study, count: int, seed: int, by: User) -> list[AnchorSentence]:
    """Draw ``count`` sentences of models as anchors, spread over the interviews in turn; the same seed draws the same.

    Raises ``Refused`` for a count that is not there.
    """
    _hold(study)
    candidates = queries.list_candidates(study)
    if not 1 <= count <= min(MAX_ANCHORS, len(candidates)):
        most = min(MAX_ANCHORS, len(candidates))
        raise Refused(
            f"{count} anchors cannot be drawn. Choose between 1 and {most}, the number of sentences not drawn yet."
        )
    chance = random.Random(seed)  # noqa: S311  # repeatable, not secret
    by_interview: dict[int, list[int]] = defaultdict(list)
    for interview_id, sentence_id in candidates:
        by_interview[interview_id].append(sentence_id)
    piles = [chance.sample(pile, len(pile)) for pile in by_interview.values()]
    chance.shuffle(piles)
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += [pile.pop() for pile in piles if pile]
    return _add_anchors(study, drawn[:count], by=by, seed=seed)


def _hold(study: Study) -> None:
    Study.objects.select_for_update().get(pk=study.pk)


def _add_anchors(study: Study, sentence_ids: list[int], *, by: User, seed: int | None = None) -> list[AnchorSentence]:
    """Add those that are no anchors yet. The study is held by the caller, so that two at once add none twice."""
    anchors = {
        anchor.sentence_id: anchor
        for anchor in AnchorSentence.objects.filter(study=study, sentence__in=sentence_ids, removed_at__isnull=True)
    }
    now = timezone.now()
    missing = [pk for pk in sentence_ids if pk not in anchors]
    made = AnchorSentence.objects.bulk_create(
        AnchorSentence(study=study, sentence_id=pk, added_at=now, added_by_name=by.get_username()) for pk in missing
    )
    if made:
        trail.record(
            "revision.anchors.added",
            target=made[0],
            by=by,
            details={"sentences": missing, **({} if seed is None else {"seed": seed})},
        )
    anchors |= {anchor.sentence_id: anchor for anchor in made}
    return [anchors[pk] for pk in sentence_ids]


@transaction.atomic
def remove_anchor(*, study: Study, anchor: AnchorSentence, by: User) -> None:
    """Take a sentence out of the anchors; its readings stay. Repeating it changes nothing."""
    removed = AnchorSentence.objects.filter(study=study, pk=anchor.pk, removed_at__isnull=True)
    if removed.update(removed_at=timezone.now()):
        trail.record("revision.anchor.removed", target=anchor, by=by, details={"sentence": anchor.sentence_id})


@transaction.atomic
def read_anchor(
    *,
    study: Study,
    anchor: AnchorSentence,
    version: CodebookVersion,
    identifiers: Sequence[str],
    by: User,
    idempotency_key: UUID,
) -> AnchorReading:
    """Store which codes of ``version`` a person reads in an anchor; no codes say that none applies.

    One reading stands for each version: a second one is refused, for the first is what was read without sight of
    others. A replay finds the stored row. Raises ``Refused``.
    """
    is_gone = anchor.removed_at is not None or anchor.sentence.retired_by_id is not None
    if anchor.study_id != study.pk or is_gone:
        raise Refused("This sentence is no longer an anchor of this study.")
    if (stored := _find_stored(anchor, by, idempotency_key)) is not None:
        return stored
    _check_consent(anchor.sentence)
    codes = _check_codes(version, identifiers)
    reading = AnchorReading(
        version=version,
        sentence_id=anchor.sentence_id,
        coder=by,
        codes=codes,
        idempotency_key=idempotency_key,
        read_at=timezone.now(),
    )
    try:
        with transaction.atomic():
            reading.save(force_insert=True)
    except IntegrityError as error:
        if (stored := _find_stored(anchor, by, idempotency_key)) is not None:
            return stored
        raise Refused(f"You have already coded this anchor with {version}. The first reading counts.") from error
    trail.record(
        "revision.anchor.read",
        target=reading,
        by=by,
        stream=trail.study_stream(study.pk),
        details={"sentence": anchor.sentence_id, "version": version.number, "codes": len(codes)},
    )
    return reading


def _check_consent(sentence: Sentence) -> None:
    """Anchors are coded, so the consent of the interview must not forbid it. Raises ``Refused``."""
    if refused := list_without([sentence.turn.interview], Consent.Scope.CODING):
        raise Refused(explain_missing(refused, Consent.Scope.CODING))


def _check_codes(version: CodebookVersion, identifiers: Sequence[str]) -> list[str]:
    """The identifiers in the order of the codebook. Raises ``Refused`` for one that is no code of sentences."""
    codes = queries.find_codes(version, identifiers)
    unknown = set(identifiers) - {code.identifier for code in codes if code.family.unit == CodeFamily.Unit.SENTENCE}
    if unknown:
        raise Refused(f"{version} has no code {min(unknown)!r} for sentences. Reload the page.")
    return [code.identifier for code in codes]


def _find_stored(anchor: AnchorSentence, by: User, idempotency_key: UUID) -> AnchorReading | None:
    """What an earlier sending of this reading stored."""
    return AnchorReading.objects.filter(coder=by, idempotency_key=idempotency_key, sentence=anchor.sentence_id).first()
