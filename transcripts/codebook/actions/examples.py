"""Sentences that show what a code means: pinned ones of the study, and invented ones."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from transcripts.audit_trail import trail
from transcripts.codebook.actions.storing import WrongInput, hold_code, hold_draft, record_event
from transcripts.codebook.actions.versions import start_draft
from transcripts.codebook.models import Code, CodebookVersion, CodeExample
from transcripts.codebook.pure.checking import Problem
from transcripts.codebook.queries import find_open_draft
from transcripts.corpus.models import Sentence
from transcripts.projects.models import Project
from transcripts.refusals import Refused

MAX_EXAMPLES = 30
MAX_NOTE_LENGTH = 500
MAX_WORDS_LENGTH = 2_000


@transaction.atomic
def pin_example(
    *, version: CodebookVersion, code: Code, sentence: Sentence, kind: str, by: trail.Actor, note: str = ""
) -> CodeExample:
    """Pin a current sentence of the study to a code of a draft, as one that belongs, does not belong, or anchors.

    Raises ``WrongInput``, ``CodeIsGone`` or ``DraftIsClosed``.
    """
    hold_draft(version)
    code, note = hold_code(code, None), " ".join(note.split())
    _check_sentence(version, code, sentence)
    example = _store(version, code, CodeExample(sentence=sentence, kind=kind, note=note), by)
    record_event(
        "codebook.example.pinned",
        version=version,
        target=code,
        by=by,
        identifier=code.identifier,
        sentence=sentence.pk,
        kind=kind,
    )
    return example


@transaction.atomic
def add_invented_example(
    *, version: CodebookVersion, code: Code, words: str, kind: str, by: trail.Actor, note: str = ""
) -> CodeExample:
    """Give a code of a draft an example that was invented for the codebook. Raises as ``pin_example`` does."""
    hold_draft(version)
    code, words, note = hold_code(code, None), " ".join(words.split()), " ".join(note.split())
    found = ""
    if not words:
        found = "Write the sentence that you invented."
    elif len(words) > MAX_WORDS_LENGTH:
        found = f"An invented example may have {MAX_WORDS_LENGTH:,} characters; this one has {len(words):,}."
    elif code.examples.filter(words=words).exists():
        found = f"{code.name} has this example already."
    if found:
        raise WrongInput([Problem("words", code.identifier, found)])
    example = _store(version, code, CodeExample(words=words, kind=kind, note=note), by)
    record_event(
        "codebook.example.invented",
        version=version,
        target=code,
        by=by,
        identifier=code.identifier,
        example=example.pk,
        kind=kind,
    )
    return example


def _store(version: CodebookVersion, code: Code, example: CodeExample, by: trail.Actor) -> CodeExample:
    if code.version_id != version.pk:
        raise Refused(f"{code.name} is not a code of {version}.")
    if code.examples.count() >= MAX_EXAMPLES:
        found = f"{code.name} has {MAX_EXAMPLES} examples, the maximum. Remove one first."
        raise WrongInput([Problem("sentence" if example.sentence_id else "words", code.identifier, found)])
    if example.kind not in CodeExample.Kind.values:
        raise WrongInput([Problem("kind", code.identifier, "Choose what the sentence shows about the code.")])
    if len(example.note) > MAX_NOTE_LENGTH:
        found = f"A note may have {MAX_NOTE_LENGTH} characters; this one has {len(example.note):,}."
        raise WrongInput([Problem("note", code.identifier, found)])
    example.code, example.added_at, example.added_by_name = code, timezone.now(), by.get_username()
    example.save(force_insert=True)
    return example


def _check_sentence(version: CodebookVersion, code: Code, sentence: Sentence) -> None:
    found = ""
    if sentence.turn.interview.project_id != version.project_id:
        found = "This sentence is not part of this study."
    elif sentence.retired_by_id is not None:
        found = f"The boundaries of sentence {sentence.label} were edited. Pin one of the sentences that replaced it."
    elif (pinned := code.examples.filter(sentence=sentence).first()) is not None:
        found = f"Sentence {sentence.label} is pinned to {code.name} already ({pinned.get_kind_display().lower()})."
    if found:
        raise WrongInput([Problem("sentence", code.identifier, found)])


@transaction.atomic
def unpin_example(*, example: CodeExample, by: trail.Actor) -> None:
    """Take an example, pinned or invented, off a code of a draft. Raises ``DraftIsClosed``."""
    code = example.code
    hold_draft(code.version)
    which = {"sentence": example.sentence_id} if example.sentence_id else {"example": example.pk}
    CodeExample.objects.filter(pk=example.pk).delete()
    record_event(
        "codebook.example.unpinned", version=code.version, target=code, by=by, identifier=code.identifier, **which
    )


@transaction.atomic
def repin_example(*, example: CodeExample, sentence: Sentence, by: trail.Actor) -> CodeExample:
    """Pin another sentence in place of one whose boundaries were edited. Raises as ``pin_example`` does."""
    code = example.code
    unpin_example(example=example, by=by)
    return pin_example(version=code.version, code=code, sentence=sentence, kind=example.kind, note=example.note, by=by)


@transaction.atomic
def pin_in_open_draft(
    *, project: Project, identifier: str, sentence: Sentence, kind: str, by: trail.Actor, note: str = ""
) -> CodeExample:
    """Pin a sentence to a code of the open draft, which is begun where there is none. Raises as ``pin_example`` does."""
    draft = find_open_draft(project) or start_draft(project=project, by=by)
    code = draft.codes.filter(identifier=identifier).first()
    if code is None:
        raise WrongInput([Problem("code", identifier, f"This code is not in the draft {draft}. Choose another.")])
    return pin_example(version=draft, code=code, sentence=sentence, kind=kind, note=note, by=by)
