"""Codes that somebody found missing at the desk."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.codebook import queries
from transcripts.codebook.actions.codes import add_code
from transcripts.codebook.actions.storing import WrongInput, lock
from transcripts.codebook.actions.versions import publish_version, start_draft
from transcripts.codebook.models import CodebookVersion, CodeProposal
from transcripts.codebook.pure.checking import MAX_NAME_LENGTH, Problem, clean_name, clean_text
from transcripts.codebook.pure.editing import is_in_words
from transcripts.corpus.models import Sentence
from transcripts.formats.codebook_rules import CodeContent
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.ui.typed_text import MAX_TEXT

State = CodeProposal.State


@transaction.atomic
def propose_code(
    *,
    project: Project,
    name: str,
    family_identifier: str,
    idempotency_key: UUID,
    by: User,
    definition: str = "",
    sentence: Sentence | None = None,
) -> CodeProposal:
    """Store that somebody would have a code; a request that comes again finds what it stored.

    A name in the words of its sentence is in vivo. Raises ``WrongInput``, ``Refused`` for an idempotency key that came
    with something else before.
    """
    lock(project)
    name, definition = clean_name(name), clean_text(definition)
    stored = CodeProposal.objects.filter(proposed_by=by, idempotency_key=idempotency_key).first()
    if stored is not None:
        if (stored.project_id, stored.name, stored.definition) != (project.pk, name, definition):
            raise Refused("This form was already sent with other content. Open it again and send it once more.")
        return stored
    _check_proposal(project, name, definition, family_identifier, sentence)
    proposal = CodeProposal.objects.create(
        project=project,
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
    project: Project, name: str, definition: str, family_identifier: str, sentence: Sentence | None
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
    if family_identifier not in dict(list_families(project)):
        problems.append(Problem("family", "", "Choose one of the families of the codebook."))
    if sentence is not None and sentence.turn.interview.project_id != project.pk:
        problems.append(Problem("sentence", "", "This sentence is not part of this study."))
    if problems:
        raise WrongInput(problems)


def list_families(project: Project) -> list[tuple[str, str]]:
    """The families a code can be proposed for: those of the open draft, or of the current version."""
    version = queries.find_open_draft(project) or queries.current_version(project)
    return queries.list_family_choices(version) if version else []


@transaction.atomic
def accept_proposal(
    *, proposal: CodeProposal, by: User, answer: str = "", publish: bool = False, family_identifier: str = ""
) -> CodebookVersion:
    """Add the proposed code to the open draft, which is begun where there is none; gives the version it is in.

    With ``publish`` the draft is published at once, which is refused while one with other changes is open. Raises
    ``Refused``.
    """
    lock(proposal.project)
    proposal = _hold_open(proposal)
    draft = queries.find_open_draft(proposal.project)
    if publish and draft is not None:
        raise Refused(
            f"{draft} is a draft with other changes, which would be published too. Add the code to the draft instead."
        )
    version = draft or start_draft(project=proposal.project, by=by)
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
    project: Project,
    name: str,
    family_identifier: str,
    idempotency_key: UUID,
    by: User,
    definition: str = "",
    sentence: Sentence | None = None,
    publish: bool = True,
) -> CodeProposal:
    """Propose a code and accept it oneself: into the open draft, or with ``publish`` into use.

    A request that comes again finds what it stored. Raises as ``propose_code`` and ``accept_proposal`` do.
    """
    proposal = propose_code(
        project=project,
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
    """Tell the person who proposed a code why it is not taken. Raises ``WrongInput`` without a reason."""
    lock(proposal.project)
    proposal = _hold_open(proposal)
    answer = clean_text(answer)
    if not answer:
        raise WrongInput(
            [Problem("answer", "", "Say why the proposal is declined; the person who made it will read it.")]
        )
    _answer(proposal, State.DECLINED, answer=answer, by=by)
    _record("codebook.proposal.declined", proposal, by)


def _hold_open(proposal: CodeProposal) -> CodeProposal:
    current = CodeProposal.objects.select_related("project", "proposed_by").get(pk=proposal.pk)
    if current.state != State.OPEN:
        raise Refused(f"This proposal was {current.get_state_display().lower()} by somebody in the meantime.")
    return current


def _answer(proposal: CodeProposal, state: CodeProposal.State, *, answer: str, by: User) -> None:
    if len(answer) > MAX_TEXT:
        raise WrongInput([Problem("answer", "", f"An answer may have {MAX_TEXT:,} characters.")])
    proposal.state, proposal.answer = state, answer
    proposal.answered_at, proposal.answered_by = timezone.now(), by
    proposal.save(update_fields=["state", "answer", "answered_at", "answered_by", "code"])


def _record(action: str, proposal: CodeProposal, by: trail.Actor, **details: object) -> None:
    trail.record(action, target=proposal, by=by, details={"family": proposal.family_identifier, **details})
