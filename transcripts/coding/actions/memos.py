"""A person's memos at the desk: one on each sentence and one on the interview."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.coding.actions.checks import NotOpen, WrongPlace, check_same, find_stored, find_winner, replace_once
from transcripts.coding.models import Memo
from transcripts.corpus.consent import NO_CODING
from transcripts.corpus.models import Consent, Interview, Sentence
from transcripts.corpus.queries import list_consenting
from transcripts.refusals import WrongInput
from transcripts.studies.models import Project
from transcripts.ui.typed_text import MAX_TEXT, check_text


@transaction.atomic
def write_memo(
    *,
    project: Project,
    interview: Interview,
    sentence: Sentence | None,
    text: str,
    by: User,
    idempotency_key: UUID,
    kind: str = "",
) -> Memo:
    """Write the one memo ``by`` keeps on a sentence, or on the interview; an empty text withdraws it.

    The earlier text stays as a superseded row; without a ``kind`` the memo keeps the one it had. Open also where coding
    is closed, unless the interview's consent says so: then a memo can only be withdrawn. Raises ``WrongPlace``,
    ``WrongInput``, ``NotOpen`` or ``UsedForAnother``.
    """
    text = check_text(text, field="text", max_length=MAX_TEXT)
    if kind and kind not in Memo.Kind.values:
        raise WrongInput(f"There is no kind of memo {kind!r}: choose {', '.join(Memo.Kind.values)}.", field="kind")
    if interview.project_id != project.pk or (sentence and sentence.turn.interview_id != interview.pk):
        raise WrongPlace("This memo belongs to a sentence or interview that is not part of this study.")
    if (stored := find_stored(Memo, by, idempotency_key, on=sentence)) is not None:
        return check_same(stored, interview_id=interview.pk, sentence_id=sentence.pk if sentence else None)
    before = _lock_active(interview, sentence, by)
    kind = kind or (before.kind if before else Memo.Kind.READING)
    if before is not None and (before.text, before.kind) == (text, kind):
        return before
    if text and not list_consenting([interview.pk], Consent.Scope.CODING):
        raise NotOpen(NO_CODING)
    now = timezone.now()
    memo = Memo(
        project=project,
        kind=kind,
        subject=_name_subject(sentence),
        interview=interview,
        sentence=sentence,
        author=by,
        text=text,
        revision=before.revision + 1 if before else 1,
        idempotency_key=idempotency_key,
        created_at=now,
        withdrawn_at=None if text else now,
    )
    return _store(memo, before=before)


def _name_subject(sentence: Sentence | None) -> Memo.Subject:
    return Memo.Subject.SENTENCE if sentence else Memo.Subject.INTERVIEW


def _lock_active(interview: Interview, sentence: Sentence | None, by: User) -> Memo | None:
    """The memo that she keeps there now, held until it is superseded."""
    kept = Memo.objects.filter(subject=_name_subject(sentence), interview=interview, sentence=sentence, author=by)
    return kept.select_for_update().filter(withdrawn_at__isnull=True).first()


def _store(memo: Memo, *, before: Memo | None) -> Memo:
    """Insert ``memo`` in the place of the one it supersedes."""
    ended = max(memo.created_at, before.created_at) if before else None
    rows = replace_once(memo, before.pk if before else None, withdrawn_at=ended)
    if rows is None:
        return find_winner(memo, interview=memo.interview, sentence=memo.sentence, author=memo.author)
    trail.record(
        "coding.memo.written",
        target=memo,
        by=memo.author,
        details={
            "interview": memo.interview_id,
            "sentence": memo.sentence_id,
            "kind": memo.kind,
            "characters": len(memo.text),
            **({"replaces": before.pk} if before else {}),
        },
        rows=rows,
    )
    return memo
