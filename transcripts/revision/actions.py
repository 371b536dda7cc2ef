"""Actions on codings and anchors after changes of meaning in the codebook.

Codings whose code has changed in meaning are migrated, which can be undone, or reviewed by their coder. Anchors are chosen, and
coded under each version of the codebook.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import RowChange, row_changed, row_made
from transcripts.codebook.models import Code, CodebookVersion, CodeFamily
from transcripts.coding.actions import CODEABLE_CHANNELS, add_coding, decide_sentence, withdraw_coding
from transcripts.coding.actions.links import carry_links, make_recoded_key, read_links, recode_ends
from transcripts.coding.models import Coding, Link
from transcripts.coding.queries import read_active_labels
from transcripts.coding.values import CodingValues
from transcripts.corpus.consent import explain_missing, list_without
from transcripts.corpus.models import Consent, Sentence
from transcripts.refusals import Refused
from transcripts.revision import queries
from transcripts.revision.models import AnchorReading, AnchorSentence
from transcripts.studies.models import Study


@transaction.atomic
def migrate_merged(*, study: Study, version: CodebookVersion, by: trail.Actor) -> int:
    """Migrate everybody's codings with codes that ``version`` merged into the resulting code; returns the number.

    Each gets a new row with the same person, blinding and values, and is withdrawn; if the person's sentence already has the
    resulting code, only the old row is withdrawn. Repeating it migrates nothing twice. Codings that a coder removes in the
    meantime stay removed. Raises ``Refused`` for a draft.
    """
    if version.status != CodebookVersion.Status.PUBLISHED:
        raise Refused(f"{version} is a draft. Publish it first, then migrate the codings of merged codes.")
    Study.objects.select_for_update().get(pk=study.pk)
    merged = queries.list_merged(version)
    targets = {code.identifier: code for code in queries.find_codes(version, merged.values())}
    by_target: dict[str, list[Coding]] = defaultdict(list)
    waiting = queries.list_codings_to_migrate(version, [old for old, new in merged.items() if new in targets])
    for coding in _hold(waiting):
        by_target[merged[coding.code.identifier]].append(coding)
    count = sum(
        _migrate(study, version, targets[identifier], codings, by=by) for identifier, codings in by_target.items()
    )
    named = {old: targets[new] for old, new in merged.items() if new in targets}
    links = [link for link in _read_links_to(study, named) if link.withdrawn_at is None]
    _recode(study, version, [(link, named[_name(link)]) for link in links], by=by)
    return count


def _migrate(study: Study, version: CodebookVersion, code: Code, codings: list[Coding], *, by: trail.Actor) -> int:
    now = timezone.now()
    active = Coding.objects.filter(code__version__study=study, code__identifier=code.identifier)
    taken = {_find_place(coding): coding for coding in active.filter(withdrawn_at__isnull=True)}
    new, first_of = [], {}
    for coding in codings:
        place = _find_place(coding)
        if place in taken:
            continue
        first_of[coding.pk] = _copy(
            coding, code, idempotency_key=_make_idempotency_key("carry", version, coding), now=now
        )
        taken[place] = first_of[coding.pk]
        new.append(first_of[coding.pk])
    reason = _find_reason(code, version)
    for coding in codings:
        coding.withdrawn_at = max(now, coding.created_at)
        coding.withdrawal_reason = reason
    # The old rows are withdrawn before the new ones are stored, and point to them afterwards.
    Coding.objects.bulk_update(codings, ["withdrawn_at", "withdrawal_reason"], batch_size=500)
    Coding.objects.bulk_create(new, batch_size=500)
    for coding in codings:
        coding.superseded_by = first_of.get(coding.pk)
    Coding.objects.bulk_update(codings, ["superseded_by"], batch_size=500)
    rows = [row_made(coding) for coding in new]
    rows += [
        row_changed(
            Coding,
            coding.pk,
            withdrawn_at=coding.withdrawn_at,
            withdrawal_reason=reason,
            superseded_by=coding.superseded_by_id,
        )
        for coding in codings
    ]
    rows += carry_links([(coding.pk, taken[_find_place(coding)]) for coding in codings], at=now)
    _record_migration("revision.carried", study, version, code, codings, rows=rows, by=by)
    return len(codings)


@transaction.atomic
def undo_migration(*, study: Study, version: CodebookVersion, by: trail.Actor) -> int:
    """Undo ``migrate_merged``: the codings get their former codes back, as new rows; returns the number.

    If a coder has changed or removed a migrated coding, her decision counts. Repeating it changes nothing.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    merged = queries.list_merged(version)
    _recode_back(study, version, merged, by=by)
    return sum(_take_back(study, version, code, by=by) for code in queries.find_codes(version, merged.values()))


def _take_back(study: Study, version: CodebookVersion, code: Code, *, by: trail.Actor) -> int:
    now = timezone.now()
    migrated = Coding.objects.filter(code__version__study=study, withdrawal_reason=_find_reason(code, version))
    old = list(_hold(migrated.filter(sentence__retired_by__isnull=True).order_by("pk")))
    numbers = {_make_idempotency_key("back", version, each): each for each in old}
    done = set(Coding.objects.filter(idempotency_key__in=list(numbers)).values_list("idempotency_key", flat=True))
    moved = list(Coding.objects.filter(migrated_from__in=[each.pk for each in old], code=code).select_for_update())
    reason = f"migration to {code.identifier} was undone"
    # Rows that an earlier undo withdrew are not the coder's decision: they may have been migrated again since.
    changed = {_find_place(each) for each in moved if each.withdrawn_at and each.withdrawal_reason != reason}
    active = [each for each in moved if each.withdrawn_at is None]
    for coding in active:
        coding.withdrawn_at = max(now, coding.created_at)
        coding.withdrawal_reason = reason
    Coding.objects.bulk_update(active, ["withdrawn_at", "withdrawal_reason"], batch_size=500)
    back = [each for number, each in numbers.items() if number not in done and _find_place(each) not in changed]
    copies = [
        _copy(each, each.code, idempotency_key=_make_idempotency_key("back", version, each), now=now) for each in back
    ]
    Coding.objects.bulk_create(copies, batch_size=500)
    went_to = {coding.migrated_from_id: coding.pk for coding in active}
    links = carry_links(
        [(went_to[old.pk], copy) for old, copy in zip(back, copies, strict=True) if old.pk in went_to], at=now
    )
    if back or active:
        rows = [row_made(coding) for coding in copies]
        rows += [
            row_changed(Coding, coding.pk, withdrawn_at=coding.withdrawn_at, withdrawal_reason=reason)
            for coding in active
        ]
        rows += links
        _record_migration("revision.carrying.taken_back", study, version, code, back, rows=rows, by=by)
    return len(back)


def _read_links_to(study: Study, identifiers: Iterable[str]) -> list[Link]:
    """The links of active codings that name one of these codes, in any version of the study's codebook."""
    of_study = Q(coding__withdrawn_at__isnull=True, code__version__study=study)
    return list(read_links(of_study & Q(code__identifier__in=list(identifiers))))


def _name(link: Link) -> str:
    return link.code.identifier if link.code else ""


def _recode_back(study: Study, version: CodebookVersion, merged: Mapping[str, str], *, by: trail.Actor) -> None:
    """Make links that name the resulting code name the former one again, if nobody has changed them since."""
    targets = {code.identifier: code for code in queries.find_codes(version, merged.values())}
    former = [link for link in _read_links_to(study, merged) if link.withdrawn_at and merged[_name(link)] in targets]
    codes = {make_recoded_key(link, targets[merged[_name(link)]]): link.code for link in former}
    links = read_links(Q(idempotency_key__in=list(codes), withdrawn_at__isnull=True))
    _recode(study, version, [(link, code) for link in links if (code := codes[link.idempotency_key])], by=by)


def _recode(study: Study, version: CodebookVersion, pairs: Sequence[tuple[Link, Code]], *, by: trail.Actor) -> None:
    rows = recode_ends(pairs, at=timezone.now())
    if rows:
        trail.record("revision.links.recoded", target=version, by=by, details={"count": len(pairs)}, rows=rows)


def _hold(codings: QuerySet[Coding]) -> QuerySet[Coding]:
    """The codings, locked together with their sentences, so that nobody splits or merges these in the meantime."""
    related = codings.select_related("code__family", "code__version", "sentence")
    return related.select_for_update(of=("self", "sentence"), no_key=True)


def _find_place(coding: Coding) -> tuple[int, int, str]:
    """The place at which at most one coding with a code is active."""
    return coding.sentence_id, coding.coder_id, coding.blinding


def _copy(coding: Coding, code: Code, *, idempotency_key: UUID, now: datetime) -> Coding:
    """A copy of a coding with ``code``, as a new row that names the original."""
    return Coding(
        sentence_id=coding.sentence_id,
        code=code,
        coder_id=coding.coder_id,
        blinding=coding.blinding,
        **CodingValues.from_coding(coding).adapt_to(code).to_columns(),
        range_id=coding.range_id,
        migrated_from=coding,
        idempotency_key=idempotency_key,
        created_at=now,
    )


def _make_idempotency_key(act: str, version: CodebookVersion, coding: Coding) -> UUID:
    """A deterministic key for the same act on the same coding, so that nothing is migrated twice."""
    return uuid5(NAMESPACE_OID, f"{act}:{version.pk}:{coding.pk}")


def _find_reason(code: Code, version: CodebookVersion) -> str:
    """The reason why a row was withdrawn. It is stored, and undoing finds the rows by it, so the words must not change."""
    return f"migrated to {code.identifier} by codebook {version}"


def _record_migration(
    action: str,
    study: Study,
    version: CodebookVersion,
    code: Code,
    codings: Sequence[Coding],
    *,
    rows: Sequence[RowChange],
    by: trail.Actor,
) -> None:
    trail.record(
        action,
        target=version,
        by=by,
        details={"code": code.pk, "count": len(codings), "codings": [coding.pk for coding in codings]},
        rows=rows,
    )


@transaction.atomic
def keep_coding(
    *,
    study: Study,
    coding: Coding,
    version: CodebookVersion,
    by: User,
    idempotency_key: UUID,
    enactment: str = "",
) -> Coding:
    """Confirm a coding under what its code means in ``version``: a new row with the same values supersedes it.

    ``enactment``: for a coding without one.

    Raises ``Refused`` if the code is no longer in ``version``, and what ``add_coding`` raises.
    """
    codes = queries.find_codes(version, [coding.code.identifier])
    if not codes:
        raise Refused(f"{coding.code.name} is no longer in {version}. Choose codes to replace it, or remove it.")
    return _put_again(
        study, coding, codes[0], by=by, idempotency_key=idempotency_key, version=version, enactment=enactment
    )


@transaction.atomic
def move_coding(
    *,
    study: Study,
    coding: Coding,
    codes: Sequence[Code],
    version: CodebookVersion,
    by: User,
    idempotency_key: UUID,
    enactment: str = "",
) -> list[Coding]:
    """Replace a coding by other codes of ``version``, each with the same values; the old row is withdrawn.

    ``enactment``: for moves, if the old row has none.

    Raises ``Refused`` without codes or for codes of another version, and what ``add_coding`` raises.
    """
    if not codes:
        raise Refused("Choose at least one code to replace it, or remove the coding.")
    if any(code.version_id != version.pk for code in codes):
        raise Refused(f"Choose codes of {version}, the version people code with.")
    if any(code.identifier == coding.code.identifier for code in codes):
        raise Refused(f"{coding.code.name} cannot replace itself. Keep it instead.")
    added = [
        _put_again(
            study,
            coding,
            code,
            by=by,
            idempotency_key=uuid5(idempotency_key, code.identifier),
            version=version,
            enactment=enactment,
        )
        for code in codes
    ]
    withdraw_coding(study=study, coding=coding, by=by, reason=_make_reason(version))
    first = added[0]
    if not hasattr(first, "supersedes"):
        superseded = Coding.objects.filter(pk=coding.pk, superseded_by__isnull=True).update(superseded_by=first)
        if superseded:
            trail.record(
                "coding.superseded",
                target=coding,
                by=by,
                stream=trail.study_stream(study.pk),
                details={"by": first.pk},
                rows=[row_changed(Coding, coding.pk, superseded_by=first.pk)],
            )
    return added


@transaction.atomic
def drop_coding(*, study: Study, coding: Coding, version: CodebookVersion, by: User, idempotency_key: UUID) -> None:
    """Remove a coding because it is not correct under ``version``.

    A decided sentence stays decided: if this was its last code, the person's decision is now that none applies. Raises what
    ``withdraw_coding`` and ``decide_sentence`` raise.
    """
    leaves_none = read_active_labels(coding.sentence_id, by.pk).is_last_word(coding.pk)
    withdraw_coding(study=study, coding=coding, by=by, reason=_make_reason(version))
    if leaves_none:
        decide_sentence(study=study, sentence=coding.sentence, by=by, idempotency_key=idempotency_key)


def _put_again(
    study: Study,
    coding: Coding,
    code: Code,
    *,
    by: User,
    idempotency_key: UUID,
    version: CodebookVersion,
    enactment: str,
) -> Coding:
    values = CodingValues.from_coding(coding)
    return add_coding(
        study=study,
        sentence=coding.sentence,
        code=code,
        by=by,
        idempotency_key=idempotency_key,
        values=values._replace(enactment=values.enactment or enactment).adapt_to(code),
        reason=_make_reason(version),
    )


def _make_reason(version: CodebookVersion) -> str:
    return f"re-reviewed with codebook {version}"


MAX_ANCHORS = 200


@transaction.atomic
def add_anchor(*, study: Study, sentence: Sentence, by: User) -> AnchorSentence:
    """Make a sentence an anchor; an existing anchor is left as it is. Raises ``Refused``."""
    _hold_study(study)
    if sentence.turn.interview.study_id != study.pk or sentence.retired_by_id is not None:
        raise Refused("This sentence is not one of this study, or its boundaries were edited later.")
    if sentence.turn.channel not in CODEABLE_CHANNELS:
        raise Refused("This is a tool result, which is shown but not coded.")
    _check_consent(sentence)
    return _add_anchors(study, [sentence.pk], by=by)[0]


@transaction.atomic
def draw_anchors(*, study: Study, count: int, seed: int, by: User) -> list[AnchorSentence]:
    """Draw ``count`` sentences of models as anchors, distributed over the interviews; the same seed draws the same sentences.

    Raises ``Refused`` if there are too few.
    """
    _hold_study(study)
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


def _hold_study(study: Study) -> None:
    Study.objects.select_for_update().get(pk=study.pk)


def _add_anchors(study: Study, sentence_ids: list[int], *, by: User, seed: int | None = None) -> list[AnchorSentence]:
    """Add sentences that are not anchors yet. The caller has locked the study, so that none is added twice."""
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
    """Remove a sentence from the anchors; its readings stay. Repeating it changes nothing."""
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
    """Store which codes of ``version`` a person applies to an anchor; no codes mean that none applies.

    There is one reading for each version: a second one is refused, because only the first was made without seeing others. A
    replay finds the stored row. Raises ``Refused``.
    """
    is_gone = anchor.removed_at is not None or anchor.sentence.retired_by_id is not None
    if anchor.study_id != study.pk or is_gone:
        raise Refused("This sentence is no longer an anchor of this study.")
    if (stored := _find_stored_reading(anchor, by, idempotency_key)) is not None:
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
        if (stored := _find_stored_reading(anchor, by, idempotency_key)) is not None:
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
    """Check that the consent of the interview does not forbid coding the anchor. Raises ``Refused``."""
    if refused := list_without([sentence.turn.interview], Consent.Scope.CODING):
        raise Refused(explain_missing(refused, Consent.Scope.CODING))


def _check_codes(version: CodebookVersion, identifiers: Sequence[str]) -> list[str]:
    """The identifiers in the order of the codebook. Raises ``Refused`` for one that is not a code of sentences."""
    codes = queries.find_codes(version, identifiers)
    unknown = set(identifiers) - {code.identifier for code in codes if code.family.unit == CodeFamily.Unit.SENTENCE}
    if unknown:
        raise Refused(f"{version} has no code {min(unknown)!r} for sentences. Reload the page.")
    return [code.identifier for code in codes]


def _find_stored_reading(anchor: AnchorSentence, by: User, idempotency_key: UUID) -> AnchorReading | None:
    """The reading that this request stored earlier."""
    return AnchorReading.objects.filter(coder=by, idempotency_key=idempotency_key, sentence=anchor.sentence_id).first()
