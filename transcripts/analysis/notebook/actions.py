"""Writing memos outside the desk, on any subject. Each change adds a row; earlier versions are kept."""

from __future__ import annotations

from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.analysis.notebook.queries import Place
from transcripts.audit_trail import trail
from transcripts.audit_trail.trail import row_changed
from transcripts.coding import actions as desk
from transcripts.coding.actions.checks import replace_once
from transcripts.coding.models import Memo
from transcripts.refusals import Refused, WrongInput
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_TEXT, check_text

OF_THE_DESK = frozenset({Memo.Subject.SENTENCE, Memo.Subject.INTERVIEW})


class MemoChanged(Refused):
    """The same memo was changed in another window; ``current`` is its active version, if it has one.

    ``memo`` is the version to show: the active one, or the one that was withdrawn.
    """

    def __init__(self, current: Memo | None, *, memo: Memo | None = None) -> None:
        done = "This memo was changed in another window" if current else "This memo was withdrawn in another window"
        super().__init__(f"{done}. Your changes in this window were not stored; both versions are on this page.")
        self.current, self.memo = current, current or memo


@transaction.atomic
def write_memo(*, study: Study, place: Place, text: str, kind: str, by: User, idempotency_key: UUID) -> Memo:
    """Write a new memo on ``place``. If it is sent twice with one ``idempotency_key``, it is stored once.

    A person has one memo per sentence and per interview, so ``MemoChanged`` is raised if there is one already, or if this
    ``idempotency_key`` was used with other content. Raises ``WrongInput``, ``WrongPlace`` or ``UsedForAnother`` too.
    """
    text = _check(text, kind)
    stored = Memo.objects.filter(author=by, idempotency_key=idempotency_key).first()
    if stored is not None:
        return _check_same(stored, place, text=text, kind=kind)
    if place.interview is None:
        memo = Memo(
            study=study,
            subject=place.subject,
            subject_key=place.key,
            thread=uuid4(),
            kind=kind,
            author=by,
            text=text,
            idempotency_key=idempotency_key,
            created_at=timezone.now(),
        )
        return _store(memo, before=None)
    if (own := find_own(place, by)) is not None:
        raise MemoChanged(own)
    return _write_at_desk(study, place, text=text, kind=kind, by=by, idempotency_key=idempotency_key)


@transaction.atomic
def revise_memo(*, memo: Memo, text: str, kind: str, by: User, idempotency_key: UUID) -> Memo:
    """Change one's own memo; ``memo`` is the version the new text is based on.

    Raises ``MemoChanged`` when that version is no longer active, ``NotYours``, ``WrongInput``, ``WrongPlace`` or
    ``UsedForAnother``.
    """
    text = _check(text, kind)
    _check_author(memo, by)
    related = Memo.objects.select_related("interview", "sentence__turn", "study")
    # Locked first, so that a form sent twice at once finds what the other request stored.
    current = related.select_for_update(of=("self",)).get(pk=memo.pk)
    stored = Memo.objects.filter(author=by, idempotency_key=idempotency_key).first()
    if stored is not None:
        return _check_same(stored, Place.of(memo), text=text, kind=kind)
    if current.withdrawn_at is not None:
        raise MemoChanged(find_current(current))
    if (current.text, current.kind) == (text, kind):
        return current
    if current.subject in OF_THE_DESK:
        place = Place.of(current)
        return _write_at_desk(current.study, place, text=text, kind=kind, by=by, idempotency_key=idempotency_key)
    changed = Memo(
        study_id=current.study_id,
        subject=current.subject,
        subject_key=current.subject_key,
        thread=current.thread,
        kind=kind,
        author=by,
        text=text,
        revision=current.revision + 1,
        idempotency_key=idempotency_key,
        created_at=timezone.now(),
    )
    return _store(changed, before=current)


@transaction.atomic
def withdraw_memo(*, memo: Memo, by: User) -> None:
    """Withdraw one's own memo; its row stays. Raises ``NotYours``, or ``MemoChanged`` when there is a newer version."""
    _check_author(memo, by)
    ended = max(timezone.now(), memo.created_at)
    if not Memo.objects.active().filter(pk=memo.pk).update(withdrawn_at=ended):
        if (current := find_current(memo)) is not None:
            raise MemoChanged(current)
        return
    trail.record(
        "memo.withdrawn",
        target=memo,
        by=by,
        details={"subject": memo.subject, "kind": memo.kind, "revision": memo.revision},
        rows=[row_changed(Memo, memo.pk, withdrawn_at=ended)],
    )


def find_current(memo: Memo) -> Memo | None:
    """The active version of a memo, given any of its versions."""
    versions = list_versions(memo)
    return versions[0] if versions and versions[0].withdrawn_at is None else None


def list_versions(memo: Memo) -> list[Memo]:
    """Every version of a memo that has a text, newest first."""
    versions = Memo.objects.filter(study=memo.study_id, author=memo.author_id, subject=memo.subject)
    if memo.thread is not None:
        versions = versions.filter(thread=memo.thread)
    else:
        versions = versions.filter(interview=memo.interview_id, sentence=memo.sentence_id)
    return list(versions.exclude(text="").select_related("author").order_by("-pk"))


def find_own(place: Place, author: User) -> Memo | None:
    """A person's one memo on a sentence or an interview."""
    memos = Memo.objects.active().filter(author=author, subject=place.subject)
    return memos.filter(interview=place.interview, sentence=place.sentence).first()


def _write_at_desk(study: Study, place: Place, *, text: str, kind: str, by: User, idempotency_key: UUID) -> Memo:
    """Use the desk's own action, so that there is only one way to write a memo on a sentence."""
    if place.interview is None:
        raise desk.WrongPlace("At the desk you can write a memo only on a sentence or an interview.")
    return desk.write_memo(
        study=study,
        interview=place.interview,
        sentence=place.sentence,
        text=text,
        kind=kind,
        by=by,
        idempotency_key=idempotency_key,
    )


def _check(text: str, kind: str) -> str:
    needed = "Write something first. To remove a memo, withdraw it."
    text = check_text(text, field="text", max_length=MAX_TEXT, needed=needed)
    if kind not in Memo.Kind.values:
        raise WrongInput(f"There is no kind of memo {kind!r}: choose {', '.join(Memo.Kind.values)}.", field="kind")
    return text


def _check_author(memo: Memo, by: User) -> None:
    if memo.author_id != by.pk:
        raise desk.NotYours("Another person wrote this memo. You can change and withdraw only your own.")


def _check_same(stored: Memo, place: Place, *, text: str, kind: str) -> Memo:
    """Return what an earlier request stored. The same form sent again with another text is a conflict."""
    if Place.of(stored) != place:
        raise desk.UsedForAnother(
            "This request has the same idempotency key as an earlier request. Reload the page and try again."
        )
    if (stored.text, stored.kind) != (text, kind):
        raise MemoChanged(find_current(stored), memo=stored)
    return stored


def _store(memo: Memo, *, before: Memo | None) -> Memo:
    """Insert a memo, which supersedes the version ``before``."""
    rows = replace_once(memo, before.pk if before else None, withdrawn_at=memo.created_at)
    if rows is None:
        stored = Memo.objects.get(author=memo.author, idempotency_key=memo.idempotency_key)
        return _check_same(stored, Place.of(memo), text=memo.text, kind=memo.kind)
    trail.record(
        "memo.written",
        target=memo,
        by=memo.author,
        details={
            "subject": memo.subject,
            "key": memo.subject_key,
            "kind": memo.kind,
            "revision": memo.revision,
            "characters": len(memo.text),
            **({"replaces": before.pk} if before else {}),
        },
        rows=rows,
    )
    return memo
