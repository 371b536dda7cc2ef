"""Writing case sheets, pairs and normative stances, and scoring threads under a stance."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import RowChange, row_changed, row_made
from transcripts.coding.actions import NotOpen, NotYours, WrongPlace
from transcripts.coding.actions.checks import check_readable, check_same, choose_blinding
from transcripts.coding.models import MAX_NOTE_LENGTH, Coding
from transcripts.coding.queries import find_interview, read_seen
from transcripts.corpus.models import Interview, Turn
from transcripts.corpus.queries import explain_retired, hold_sentence
from transcripts.negotiation.models import CaseSheet, NormativeStance, Pair, Score, ScoreEvidence
from transcripts.negotiation.pure.records import CRITERIA, MAX_VALUE
from transcripts.negotiation.queries.cases import is_feature, list_features, read_beginning
from transcripts.negotiation.queries.scores import Evidence, follow, join, read_followed
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_REASON, check_reason, check_text

MAX_INTENT = 100
Listed = Sequence[Mapping[str, str]]


@transaction.atomic
def write_case_sheet(
    *,
    study: Study,
    interview: Interview,
    relevant: Listed,
    irrelevant: Listed,
    intents: Mapping[str, str] | None = None,
    reason: str = "",
    by: trail.Actor,
    based_on: int | None = None,
) -> CaseSheet:
    """Write the case sheet of a thread, or its next number, which needs a ``reason``.

    ``relevant`` and ``irrelevant``: [{"feature": identifier, "reason": why}]. ``intents``: what the interviewer meant her turns
    to be, by their positions as text; if they are not given, those of the previous number are kept. Both lists may be empty if
    there are intents. ``based_on``: the latest number that ``by`` saw, 0 for none. Raises ``Refused``.
    """
    # One that is excluded is of the study all the same.
    if interview.owning_study_id != study.pk:
        raise WrongInput("This interview is not part of this study.", field="interview")
    sheet = CaseSheet(interview=interview, reason=check_reason(reason))
    latest = sheet.find_latest(based_on)
    sheet.relevant, sheet.irrelevant = _check_features(study, relevant, irrelevant)
    sheet.intents = _check_intents(interview, intents) if intents is not None else latest.intents if latest else {}
    if not (sheet.relevant or sheet.irrelevant or sheet.intents):
        raise WrongInput("List at least one feature as relevant or irrelevant.", field="relevant")
    return sheet.store_after(latest, by=by)


def _check_features(study: Study, *lists: Listed) -> list[list[dict[str, str]]]:
    known = list_features(study)
    checked: list[list[dict[str, str]]] = []
    seen: dict[str, str] = {}
    for field, listed in zip(("relevant", "irrelevant"), lists, strict=True):
        rows = []
        for each in listed:
            feature = each.get("feature", "").strip()
            if feature not in known:
                there_are = f"This study has {', '.join(known)}." if known else "This study has no features to choose."
                raise WrongInput(f"There is no feature “{feature[:100]}”. {there_are}", field=field)
            if feature in seen:
                twice = "twice" if seen[feature] == field else "as relevant and as irrelevant"
                raise WrongInput(f"{known[feature]} is listed {twice}. List it once.", field=field)
            seen[feature] = field
            needed = f"Say why {known[feature]} is {field}."
            why = check_text(each.get("reason", ""), field=field, max_length=MAX_REASON, needed=needed)
            rows.append({"feature": feature, "reason": why})
        # In the order of the codebook, so that the same lists are stored alike.
        order = list(known)
        checked.append(sorted(rows, key=lambda row: order.index(row["feature"])))
    return checked


def _check_intents(interview: Interview, intents: Mapping[str, str]) -> dict[str, str]:
    asked = interview.turns.filter(role=Turn.Role.INTERVIEWER).order_by("position")
    positions = [str(position) for position in asked.values_list("position", flat=True)]
    checked = {}
    for position, kind in intents.items():
        if position not in positions:
            raise WrongInput(
                f"Turn {position[:20]} is not one of the interviewer’s turns: {', '.join(positions) or 'there are none'}.",
                field="intents",
            )
        needed = f"Choose an intent for turn {position}, or leave the turn out."
        checked[position] = check_text(kind, field="intents", max_length=MAX_INTENT, needed=needed)
    return {position: checked[position] for position in positions if position in checked}


MAX_NAME = 100
MAX_DIFFERS = 500
# A name is a part of addresses.
NAME = re.compile(r"\w[\w.-]*(?: [\w.-]+)*")


def pair_threads(
    *,
    study: Study,
    name: str,
    a: Interview,
    b: Interview,
    differs: str,
    expect: str,
    reason: str = "",
    by: trail.Actor,
    based_on: int | None = None,
) -> Pair:
    """Pair two threads under a name. If a pair already has this name, the new pair replaces it and needs a ``reason``.

    ``expect``: "change" or "no_change". ``based_on``: the latest number of the name that ``by`` saw, 0 for a new name.
    Raises ``Refused``.
    """
    name = _check_name(name)
    _check_threads(study, a, b)
    differs = check_text(differs, field="differs", max_length=MAX_DIFFERS, needed="Say how the two threads differ.")
    if expect not in Pair.Expect.values:
        raise WrongInput(
            f"Say whether the difference should change what the model does: {' or '.join(Pair.Expect.values)}.",
            field="expect",
        )
    reason = check_reason(reason)
    pair = Pair(study=study, name=name, a=a, b=b, differs=differs, expect=expect, reason=reason)
    return pair.write(by=by, based_on=based_on)


def _check_name(name: str) -> str:
    name = check_text(name, field="name", max_length=MAX_NAME, needed="Give the pair a name.")
    if not NAME.fullmatch(name):
        raise WrongInput(
            "The name of a pair begins with a letter or digit and may contain letters, digits, single spaces and - _ .",
            field="name",
        )
    return name


def _check_threads(study: Study, a: Interview, b: Interview) -> None:
    for field, thread in (("a", a), ("b", b)):
        if thread.study_id != study.pk:
            raise WrongInput("This thread is not part of this study. Choose one of its threads.", field=field)
    if a.pk == b.pk:
        raise WrongInput("A pair needs two different threads; this is the same one twice.", field="b")


@transaction.atomic
def withdraw_pair(*, pair: Pair, by: User) -> None:
    """Withdraw a pair; its rows are kept. Raises ``Refused`` if it no longer counts."""
    own = Pair.objects.select_for_update(no_key=True).get(pk=pair.pk)
    if own.withdrawn_at is not None:
        raise Refused(f"The pair “{own.name}” has already been withdrawn or replaced. Reload the list of pairs.")
    own.withdrawn_at = timezone.now()
    own.save(update_fields=["withdrawn_at"])
    pair.withdrawn_at = own.withdrawn_at
    trail.record("pair.withdrawn", target=own, by=by, details=own.describe())


def write_stance(*, stance: NormativeStance, by: User, based_on: int = 0) -> NormativeStance:
    """Store a new normative stance, or the next number of an existing one.

    ``based_on``: the latest number that ``by`` saw, 0 for a new name. The next number needs a reason, and wording that differs
    from the latest. Scores stay with the number under which they were given. Raises ``Refused``.
    """
    for name in ("name", *stance.wording):
        field: Any = NormativeStance._meta.get_field(name)
        needed = "" if field.blank else field.error_messages["blank"]
        text = check_text(getattr(stance, name), field=name, max_length=field.max_length, needed=needed)
        setattr(stance, name, text)
    stance.name = " ".join(stance.name.split())
    if "/" in stance.name:
        raise WrongInput(
            "The name cannot contain a slash, because a slash separates the name from its number: care/1. Leave it out.",
            field="name",
        )
    stance.reason = check_reason(stance.reason)
    stance.sha256 = stance.hash_wording()
    return stance.write(by=by, based_on=based_on)


__all__ = ["Evidence", "put_score", "restore_score", "withdraw_score"]

Criterion = Score.Criterion
CHALLENGES = "challenges"
"""The family of codes of an interviewer's challenge."""
MAX_EVIDENCE = 50


@transaction.atomic
def put_score(
    *,
    study: Study,
    stance: NormativeStance,
    interview: Interview,
    criterion: str,
    value: int | None,
    by: User,
    idempotency_key: UUID,
    evidence: Sequence[Evidence] = (),
    note: str = "",
    turn: Turn | None = None,
    feature: str = "",
) -> Score:
    """Score a thread on ``criterion`` from 0 to 3, or determine something in it (1 yes, 0 no). Returns the active row.

    Without a ``value``, the score is "not applicable" or "unclear" and needs a ``note``; with a value, it needs ``evidence``:
    sentences of the thread, or of the thread from which it continues, up to that turn. The determination "warranted" is about
    one of the person's own entries (a coding of ``feature`` on ``turn``) and must not rest on anything that comes after it;
    "updated" is about a ``turn`` of the interviewer that she coded as a challenge. Giving the same score with the same evidence
    again changes nothing; a different one supersedes it. Evidence of the previous score is kept even if its sentence has been
    split or merged since. Raises ``WrongPlace``, ``WrongInput``, ``NotOpen`` or ``UsedForAnother``.
    """
    if stance.study_id != study.pk:
        raise WrongPlace("This normative stance is not part of this study.")
    place = {"stance": stance, "interview": interview, "criterion": criterion, "turn": turn, "feature": feature}
    # One score at a time under a stance: the constraints leave room for one per person and place.
    NormativeStance.objects.select_for_update(no_key=True).get(pk=stance.pk)
    stored = Score.objects.filter(coder=by, idempotency_key=idempotency_key).first()
    if stored is not None:
        return check_same(stored, **place)
    _check_open(study, interview, by)
    note = check_text(note, field="note", max_length=MAX_NOTE_LENGTH)
    _check_place(interview, criterion, turn, feature, by)
    _check_value(criterion, value, note=note, evidence=evidence)
    if len({each.sentence.pk for each in evidence}) < len(evidence):
        raise WrongInput("A sentence is named twice. Name each sentence once.", field="evidence")
    before = Score.objects.active().filter(coder=by, **place).first()
    evidence = _follow_kept(evidence, before)
    _check_evidence(interview, evidence, by, until=turn if criterion == Criterion.WARRANTED else None)
    if before is not None and _says_the_same(before, value, note, evidence):
        return before
    given = {"value": value, "note": note, "coder": by, "idempotency_key": idempotency_key}
    return _store({**place, **given}, evidence, before=before, by=by)


def _says_the_same(before: Score, value: int | None, note: str, evidence: Sequence[Evidence]) -> bool:
    rows = before.evidence.values_list("sentence", "quote_start", "quote_end")
    return (before.value, before.note) == (value, note) and set(rows) == {_key(each) for each in evidence}


def _store(cells: Mapping[str, Any], evidence: Sequence[Evidence], *, before: Score | None, by: User) -> Score:
    """Store a score, given by its columns, that supersedes the one ``before``, and record it."""
    now = timezone.now()
    if before is not None:
        Score.objects.filter(pk=before.pk).update(withdrawn_at=now)
    blinding = choose_blinding(read_seen(cells["interview"].pk, by.pk))
    score = Score.objects.create(**cells, blinding=blinding, created_at=now)
    rows = [row_made(score), *_store_evidence(score, evidence)]
    if before is not None:
        Score.objects.filter(pk=before.pk).update(superseded_by=score)
        rows.append(row_changed(Score, before.pk, withdrawn_at=now, superseded_by=score.pk))
    trail.record(
        "negotiation.score.changed" if before else "negotiation.score.added",
        target=score,
        by=by,
        stream=trail.study_stream(score.stance.study_id),
        details=_describe(score) | ({"replaces": before.pk} if before else {}),
        rows=rows,
    )
    return score


@transaction.atomic
def withdraw_score(*, study: Study, score: Score, by: User) -> None:
    """Withdraw one's own score; its row and its evidence stay. A score that has already been withdrawn is left as it is.

    Raises ``WrongPlace``, ``NotYours`` or ``NotOpen``.
    """
    _check_own(study, score, by)
    _check_open(study, score.interview, by)
    now = timezone.now()
    if not Score.objects.active().filter(pk=score.pk).update(withdrawn_at=now):
        return
    trail.record(
        "negotiation.score.withdrawn",
        target=score,
        by=by,
        stream=trail.study_stream(study.pk),
        details=_describe(score),
        rows=[row_changed(Score, score.pk, withdrawn_at=now)],
    )


@transaction.atomic
def restore_score(*, study: Study, score: Score, by: User, idempotency_key: UUID) -> Score:
    """Give one of one's own earlier scores again, with its evidence, for undo and redo. Returns the active row.

    The row is new, and blind or assisted as of now. If a sentence of the evidence has been split or merged since, the evidence
    is placed where its words are now. Raises ``NotYours`` and what ``put_score`` raises.
    """
    _check_own(study, score, by)
    evidence = score.evidence.select_related("sentence__turn__interview").order_by("pk")
    return put_score(
        study=study,
        stance=score.stance,
        interview=score.interview,
        criterion=score.criterion,
        value=score.value,
        note=score.note,
        turn=score.turn,
        feature=score.feature,
        evidence=read_followed(evidence),
        by=by,
        idempotency_key=idempotency_key,
    )


def _check_open(study: Study, interview: Interview, by: User) -> None:
    """Check that the thread belongs to the study and that she may code it now."""
    found = find_interview(study, interview.pk, by.pk)
    if found is None:
        raise WrongPlace("This interview is not part of this study.")
    if sentence := found[2].sentence:
        raise NotOpen(sentence.replace("your codings of it", "your codings and scores of it"))


def _check_own(study: Study, score: Score, by: User) -> None:
    if score.interview.study_id != study.pk:
        raise WrongPlace("This score is not part of this study.")
    if score.coder_id != by.pk:
        raise NotYours("This score belongs to another person. You can change only your own scores.")


def _check_place(interview: Interview, criterion: str, turn: Turn | None, feature: str, by: User) -> None:
    """Check that the criterion exists, and that the turn and the feature fit it."""
    if criterion not in Criterion.values:
        raise WrongInput(
            f"There is no criterion {criterion!r}. Choose {', '.join(Criterion.values)}.", field="criterion"
        )
    if criterion in CRITERIA:
        if turn is not None or feature:
            raise WrongInput(
                "This criterion applies to the whole thread. Leave out the turn and the feature.", field="turn"
            )
        return
    if turn is None or turn.interview_id != interview.pk:
        raise WrongInput("A determination applies to one turn of this thread. Name the turn.", field="turn")
    own = Coding.objects.active().filter(sentence__turn=turn, coder=by)
    if criterion == Criterion.WARRANTED:
        if not own.filter(is_feature("code"), code__identifier=feature).exists():
            raise WrongInput(
                f"You have no entry for this feature in turn {turn.position}. Code the feature there first.",
                field="feature",
            )
        return
    if feature:
        raise WrongInput(
            "An update is judged for a challenge, not for a feature. Leave the feature out.", field="feature"
        )
    if turn.role != Turn.Role.INTERVIEWER or not own.filter(code__family__identifier=CHALLENGES).exists():
        raise WrongInput(
            f"You have not coded turn {turn.position} as a challenge of the interviewer. Code the challenge there first.",
            field="turn",
        )


def _check_value(criterion: str, value: int | None, *, note: str, evidence: Sequence[Evidence]) -> None:
    is_graded = criterion in CRITERIA
    if value is None:
        if not note:
            what = "it does not apply" if is_graded else "it is unclear"
            raise WrongInput(f"Say in a note why {what}.", field="note")
        return
    if is_graded and value not in range(MAX_VALUE + 1):
        raise WrongInput(f"A score is 0, 1, 2, 3 or not applicable; {value} is none of these.", field="value")
    if not is_graded and value not in {0, 1}:
        raise WrongInput(f"A determination is yes (1), no (0) or unclear; {value} is none of these.", field="value")
    if not evidence:
        raise WrongInput("A score needs evidence. Name at least one sentence.", field="evidence")


def _check_evidence(interview: Interview, evidence: Sequence[Evidence], by: User, *, until: Turn | None) -> None:
    """Check that each sentence is current and in the thread or in what precedes it; with ``until``, not after that turn."""
    if len(evidence) > MAX_EVIDENCE:
        raise WrongInput(
            f"This score names {len(evidence)} sentences; the limit is {MAX_EVIDENCE}. Name only those that decide it.",
            field="evidence",
        )
    if any(each.sentence.turn.interview.study_id != interview.study_id for each in evidence):
        # Nothing is said about another study.
        raise WrongInput("There is no such sentence. Reload the page.", field="evidence")
    check_readable([each.sentence.turn for each in evidence], by, field="evidence")
    ends: Mapping[int, int] | None = None
    for sentence, quote in sorted(evidence, key=lambda each: each.sentence.pk):
        turn = sentence.turn
        if turn.interview_id != interview.pk:
            ends = read_beginning(interview) if ends is None else ends
            if turn.interview_id not in ends:
                raise WrongInput(
                    f"Sentence {sentence.label} is from another thread. Choose evidence from this thread, or from the thread that "
                    "it branches from.",
                    field="evidence",
                )
            if turn.position > ends[turn.interview_id]:
                raise WrongInput(
                    f"Sentence {sentence.label} of the other thread comes after the turn where this thread branches. Name an "
                    "earlier one.",
                    field="evidence",
                )
        elif until is not None and turn.position > until.position:
            raise WrongInput(
                f"Sentence {sentence.label} comes after turn {until.position}. Evidence for an entry cannot come after its turn.",
                field="evidence",
            )
        if quote is not None and not sentence.start <= quote[0] < quote[1] <= sentence.end:
            raise WrongInput(
                f"The quote must lie within sentence {sentence.label}, from {sentence.start:,} to {sentence.end:,} in the "
                "turn's text.",
                field="evidence",
            )
        if not hold_sentence(sentence.pk):
            raise WrongInput(explain_retired(sentence.pk) or "There is no such sentence.", field="evidence")


def _store_evidence(score: Score, evidence: Sequence[Evidence]) -> list[RowChange]:
    rows = []
    for sentence, quote in evidence:
        start, end = quote or (None, None)
        rows.append(
            row_made(ScoreEvidence.objects.create(score=score, sentence=sentence, quote_start=start, quote_end=end))
        )
    return rows


def _follow_kept(evidence: Sequence[Evidence], before: Score | None) -> list[Evidence]:
    """Place the evidence of the previous score where its words are now."""
    retired = before.evidence.filter(sentence__retired_by__isnull=False) if before else ScoreEvidence.objects.none()
    was = {row.sentence_id: row.sentence for row in retired.select_related("sentence__turn__interview")}
    return join(
        follow(Evidence(was[each.sentence.pk], each.quote)) if each.sentence.pk in was else each for each in evidence
    )


def _key(evidence: Evidence) -> tuple[int, int | None, int | None]:
    start, end = evidence.quote or (None, None)
    return evidence.sentence.pk, start, end


def _describe(score: Score) -> dict[str, object]:
    """The details of the event. People who have yet to judge the thread may read the history, so the details name neither the
    value nor the entry; the rows have both.
    """
    return {
        "stance": score.stance_id,
        "interview": score.interview_id,
        "criterion": score.criterion,
        "blinding": score.blinding,
    }
