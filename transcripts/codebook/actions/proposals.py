"""Actions on proposals for missing codes, and on sentences that show what a code means."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook import queries
from transcripts.codebook.actions.codes import add_code
from transcripts.codebook.actions.storing import WrongInput, hold_code, hold_draft, lock, record_event
from transcripts.codebook.actions.versions import publish_version, start_draft
from transcripts.codebook.models import Code, CodebookVersion, CodeExample, CodeProposal
from transcripts.codebook.pure.checking import MAX_NAME_LENGTH, Problem, clean_name, clean_text
from transcripts.codebook.pure.editing import is_in_words
from transcripts.codebook.queries import find_open_draft
from transcripts.corpus.models import Sentence
from transcripts.formats.codebook_rules import CodeContent
from transcripts.refusals import Refused
from transcripts.studies.models import Study
from transcripts.ui.typed_text import MAX_TEXT

State = CodeProposal.State
MAX_EXAMPLES = 30
MAX_NOTE_LENGTH = 500
MAX_WORDS_LENGTH = 2_000


@transaction.atomic
def propose_code(
    *,
    study: Study,
    name: str,
    family_identifier: str,
    idempotency_key: UUID,
    by: User,
    definition: str = "",
    sentence: Sentence | None = None,
) -> CodeProposal:
    """Store the proposal of a code; a repeated request finds what it stored.

    A name in the words of its sentence is in vivo. Raises ``WrongInput``, ``Refused`` for an idempotency key that was used for
    something else.
    """
    lock(study)
    name, definition = clean_name(name), clean_text(definition)
    stored = CodeProposal.objects.filter(proposed_by=by, idempotency_key=idempotency_key).first()
    if stored is not None:
        if (stored.study_id, stored.name, stored.definition) != (study.pk, name, definition):
            raise Refused("This form was already sent with other content. Open it again and send it once more.")
        return stored
    _check_proposal(study, name, definition, family_identifier, sentence)
    proposal = CodeProposal.objects.create(
        study=study,
        name=name,
        definition=definition,
        family_identifier=family_identifier,
        sentence=sentence,
        is_in_vivo=sentence is not None and is_in_words(name, sentence.read_text()),
        proposed_by=by,
        proposed_at=timezone.now(),
        idempotency_key=idempotency_key,
    )
    _record("codebook.proposal.made", proposal, by, sentence=sentence.pk if sentence else None)
    return proposal


def _check_proposal(
    study: Study, name: str, definition: str, family_identifier: str, sentence: Sentence | None
) -> None:
    problems = []
    if not name:
        problems.append(Problem("name", "", "A code needs a name."))
    elif len(name) > MAX_NAME_LENGTH:
        found = f"this one has {len(name):,}"
        problems.append(Problem("name", "", f"A name may have {MAX_NAME_LENGTH} characters; {found}."))
    if len(definition) > MAX_TEXT:
        found = f"this one has {len(definition):,}"
        problems.append(Problem("definition", "", f"A definition may have {MAX_TEXT:,} characters; {found}."))
    if family_identifier not in dict(list_families(study)):
        problems.append(Problem("family", "", "Choose one of the families of the codebook."))
    if sentence is not None and sentence.turn.interview.study_id != study.pk:
        problems.append(Problem("sentence", "", "This sentence is not part of this study."))
    if problems:
        raise WrongInput(problems)


def list_families(study: Study) -> list[tuple[str, str]]:
    """The families for which a code can be proposed: those of the open draft, or of the current version."""
    version = queries.find_open_draft(study) or queries.current_version(study)
    return queries.list_family_choices(version) if version else []


@transaction.atomic
def accept_proposal(
    *, proposal: CodeProposal, by: User, answer: str = "", publish: bool = False, family_identifier: str = ""
) -> CodebookVersion:
    """Add the proposed code to the open draft, which is started if there is none; returns the version that contains it.

    With ``publish`` the draft is published at once, which is refused if it has other changes. Raises ``Refused``.
    """
    lock(proposal.study)
    proposal = _hold_open(proposal)
    draft = queries.find_open_draft(proposal.study)
    if publish and draft is not None:
        raise Refused(
            f"{draft} is a draft with other changes, which would be published too. Add the code to the draft instead."
        )
    version = draft or start_draft(study=proposal.study, by=by)
    family = family_identifier or proposal.family_identifier
    if not version.families.filter(identifier=family).exists():
        raise WrongInput([Problem("family", "", f"The family {family} is no longer in {version}. Choose another.")])
    given = CodeContent(
        identifier="",
        family=family,
        name=proposal.name,
        definition=proposal.definition,
        source="In vivo" if proposal.is_in_vivo else "Proposed at the desk",
    )
    proposal.code = add_code(version=version, given=given, by=by)
    _answer(proposal, State.ACCEPTED, answer=clean_text(answer), by=by)
    if publish:
        publish_version(version=version, by=by)
    _record("codebook.proposal.accepted", proposal, by, version=version.number, code=proposal.code.identifier)
    return version


@transaction.atomic
def use_at_once(
    *,
    study: Study,
    name: str,
    family_identifier: str,
    idempotency_key: UUID,
    by: User,
    definition: str = "",
    sentence: Sentence | None = None,
    publish: bool = True,
) -> CodeProposal:
    """Propose a code and accept it oneself: into the open draft, or with ``publish`` into use.

    A repeated request finds what it stored. Raises as ``propose_code`` and ``accept_proposal`` do.
    """
    proposal = propose_code(
        study=study,
        name=name,
        family_identifier=family_identifier,
        idempotency_key=idempotency_key,
        by=by,
        definition=definition,
        sentence=sentence,
    )
    if proposal.state == State.OPEN:
        accept_proposal(proposal=proposal, by=by, publish=publish)
        proposal.refresh_from_db()
    return proposal


@transaction.atomic
def decline_proposal(*, proposal: CodeProposal, by: User, answer: str) -> None:
    """Decline a proposed code and tell its author why. Raises ``WrongInput`` without a reason."""
    lock(proposal.study)
    proposal = _hold_open(proposal)
    answer = clean_text(answer)
    if not answer:
        raise WrongInput(
            [Problem("answer", "", "Say why the proposal is declined; the person who made it will read it.")]
        )
    _answer(proposal, State.DECLINED, answer=answer, by=by)
    _record("codebook.proposal.declined", proposal, by)


def _hold_open(proposal: CodeProposal) -> CodeProposal:
    current = CodeProposal.objects.select_related("study", "proposed_by").get(pk=proposal.pk)
    if current.state != State.OPEN:
        raise Refused(f"This proposal was {current.get_state_display().lower()} by another person in the meantime.")
    return current


def _answer(proposal: CodeProposal, state: CodeProposal.State, *, answer: str, by: User) -> None:
    if len(answer) > MAX_TEXT:
        raise WrongInput([Problem("answer", "", f"An answer may have {MAX_TEXT:,} characters.")])
    proposal.state, proposal.answer = state, answer
    proposal.answered_at, proposal.answered_by = timezone.now(), by
    proposal.save(update_fields=["state", "answer", "answered_at", "answered_by", "code"])


def _record(action: str, proposal: CodeProposal, by: trail.Actor, **details: object) -> None:
    trail.record(action, target=proposal, by=by, details={"family": proposal.family_identifier, **details})


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
    record_event("codebook.example.pinned", code, by, sentence=sentence.pk, kind=kind)
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
    record_event("codebook.example.invented", code, by, example=example.pk, kind=kind)
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
    if sentence.turn.interview.study_id != version.study_id:
        found = "This sentence is not part of this study."
    elif sentence.retired_by_id is not None:
        found = f"The boundaries of sentence {sentence.label} were edited. Pin one of the sentences that replaced it."
    elif (pinned := code.examples.filter(sentence=sentence).first()) is not None:
        found = f"Sentence {sentence.label} is pinned to {code.name} already ({pinned.get_kind_display().lower()})."
    if found:
        raise WrongInput([Problem("sentence", code.identifier, found)])


@transaction.atomic
def unpin_example(*, example: CodeExample, by: trail.Actor) -> None:
    """Remove a pinned or invented example from a code of a draft. Raises ``DraftIsClosed``."""
    code = example.code
    hold_draft(code.version)
    which = {"sentence": example.sentence_id} if example.sentence_id else {"example": example.pk}
    CodeExample.objects.filter(pk=example.pk).delete()
    record_event("codebook.example.unpinned", code, by, **which)


@transaction.atomic
def repin_example(*, example: CodeExample, sentence: Sentence, by: trail.Actor) -> CodeExample:
    """Pin another sentence in place of one whose boundaries were edited. Raises as ``pin_example`` does."""
    code = example.code
    unpin_example(example=example, by=by)
    return pin_example(version=code.version, code=code, sentence=sentence, kind=example.kind, note=example.note, by=by)


@transaction.atomic
def pin_in_open_draft(
    *, study: Study, identifier: str, sentence: Sentence, kind: str, by: trail.Actor, note: str = ""
) -> CodeExample:
    """Pin a sentence to a code of the open draft, which is started if there is none. Raises as ``pin_example`` does."""
    draft = find_open_draft(study) or start_draft(study=study, by=by)
    code = draft.codes.filter(identifier=identifier).first()
    if code is None:
        raise WrongInput([Problem("code", identifier, f"This code is not in the draft {draft}. Choose another.")])
    return pin_example(version=draft, code=code, sentence=sentence, kind=kind, note=note, by=by)
