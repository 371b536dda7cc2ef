"""Rows of the human half, streamed: a study of a million codings leaves in constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import F, QuerySet
from django.db.models.functions import Substr

from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.trail import project_stream
from transcripts.codebook.models import Code
from transcripts.codebook.queries import current_version
from transcripts.coding.models import Coding, Decision, Memo
from transcripts.corpus.models import Interview
from transcripts.exchange.registry import Scope

CHUNK = 5_000

CODEBOOK = {
    "code_id": "identifier",
    "family": "family__identifier",
    "family_name": "family__name",
    "name": "name",
    "definition": "definition",
    "machine_definition": "machine_definition",
    "include": "include",
    "exclude": "exclude",
    "key": "key",
    "group": "group",
    "unit": "family__unit",
    "aliases": "aliases",
    "source": "source",
    "version": "version__number",
}

CODINGS = {
    "project": "sentence__turn__interview__project__slug",
    "interview": "sentence__turn__interview__external_id",
    "model": "sentence__turn__interview__model_label",
    "turn": "sentence__turn__position",
    "role": "sentence__turn__role",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "start": "sentence__start",
    "end": "sentence__end",
    "text": "quoted",
    "code_id": "code__identifier",
    "code": "code__name",
    "family": "code__family__identifier",
    "codebook_version": "code__version__number",
    "level": "level",
    "enactment": "enactment",
    "note": "note",
    "coder": "coder__username",
    "layer": "layer",
    "created": "created_at",
    "withdrawn": "withdrawn_at",
    "coding_id": "pk",
}

DECISIONS = {
    "project": "sentence__turn__interview__project__slug",
    "interview": "sentence__turn__interview__external_id",
    "turn": "sentence__turn__position",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "none_applies": "none_applies",
    "coder": "coder__username",
    "layer": "layer",
    "created": "created_at",
    "withdrawn": "withdrawn_at",
}

INTERVIEWS = {
    "interview": "external_id",
    "title": "title",
    "model": "model_label",
    "vendor": "vendor",
    "surface": "surface",
    "period": "period",
    "interviewer": "interviewer",
    "tier": "tier",
    "inclusion": "inclusion",
    "inclusion_reason": "inclusion_reason",
    "opening_prompt": "opening_prompt",
    "language": "language",
    "questions": "questions",
    "author_words": "author_words",
    "model_words": "model_words",
    "sentences": "sentence_count",
    "file": "imported_file__name",
    "file_sha256": "imported_file__sha256",
    "segmenter": "segmenter",
}

MEMOS = {
    "project": "project__slug",
    "interview": "interview__external_id",
    "sentence_id": "sentence_id",
    "sentence": "sentence__position",
    "text": "text",
    "author": "author__username",
    "created": "created_at",
    "withdrawn": "withdrawn_at",
}

AUDIT = {
    "sequence": "sequence",
    "at": "at",
    "actor_id": "actor_id",
    "actor": "actor_name",
    "action": "action",
    "target": "target",
    "details": "details",
    "previous_hash": "previous_hash",
    "hash": "hash",
}


def read_codebook(scope: Scope) -> Iterator[Sequence[object]]:
    """The codes of the current codebook version."""
    version = current_version(scope.project)
    codes = Code.objects.filter(version=version).order_by("family__position", "position")
    return codes.values_list(*CODEBOOK.values()).iterator(chunk_size=CHUNK)


def read_codings(scope: Scope) -> Iterator[Sequence[object]]:
    """Every coding, withdrawn ones included. The text is cut by the database, in code points."""
    codings = Coding.objects.filter(sentence__turn__interview__project=scope.project)
    if scope.only is not None:
        codings = codings.filter(coder=scope.only)
    length = F("sentence__end") - F("sentence__start")
    quoted = Substr("sentence__turn__text", F("sentence__start") + 1, length)
    rows = codings.annotate(quoted=quoted).order_by("pk").values_list(*CODINGS.values())
    return rows.iterator(chunk_size=CHUNK)


def read_decisions(scope: Scope) -> Iterator[Sequence[object]]:
    """Every "read; nothing more here", with whether no code applied."""
    decisions = Decision.objects.filter(sentence__turn__interview__project=scope.project)
    if scope.only is not None:
        decisions = decisions.filter(coder=scope.only)
    return decisions.order_by("pk").values_list(*DECISIONS.values()).iterator(chunk_size=CHUNK)


def read_interviews(scope: Scope) -> Iterator[Sequence[object]]:
    """The interviews with what is known of them, without their text."""
    rows: QuerySet[Interview, tuple[object, ...]] = (
        Interview.objects.filter(project=scope.project).order_by("pk").values_list(*INTERVIEWS.values())
    )
    return rows.iterator(chunk_size=CHUNK)


def read_memos(scope: Scope) -> Iterator[Sequence[object]]:
    """Memos, former texts included."""
    memos = Memo.objects.filter(project=scope.project)
    if scope.only is not None:
        memos = memos.filter(author=scope.only)
    return memos.order_by("pk").values_list(*MEMOS.values()).iterator(chunk_size=CHUNK)


def read_audit(scope: Scope) -> Iterator[Sequence[object]]:
    """The study's audit events in order, with the hashes that chain them."""
    events = AuditEvent.objects.filter(stream=project_stream(scope.project.pk)).order_by("sequence")
    return events.values_list(*AUDIT.values()).iterator(chunk_size=CHUNK)
