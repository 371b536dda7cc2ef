"""Re-review of one's own codings, once their code means something else or is gone."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid5

from django.db import transaction

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.audit_trail.rows import row_changed
from transcripts.codebook.models import Code, CodebookVersion
from transcripts.coding.actions import add_coding, decide_sentence, withdraw_coding
from transcripts.coding.models import Coding
from transcripts.coding.queries import read_active_labels
from transcripts.coding.values import CodingValues
from transcripts.projects.models import Project
from transcripts.refusals import Refused
from transcripts.revision import queries


@transaction.atomic
def keep_coding(
    *,
    project: Project,
    coding: Coding,
    version: CodebookVersion,
    by: User,
    idempotency_key: UUID,
    enactment: str = "",
) -> Coding:
    """Say that a coding holds under what its code means in ``version``: a new row with the same values supersedes it.

    ``enactment``: of a coding that states none.

    Raises ``Refused`` where the code is not in ``version`` any more, and what ``add_coding`` raises.
    """
    codes = queries.find_codes(version, [coding.code.identifier])
    if not codes:
        raise Refused(f"{coding.code.name} is no longer in {version}. Choose codes to replace it, or remove it.")
    return _put_again(
        project, coding, codes[0], by=by, idempotency_key=idempotency_key, version=version, enactment=enactment
    )


@transaction.atomic
def move_coding(
    *,
    project: Project,
    coding: Coding,
    codes: Sequence[Code],
    version: CodebookVersion,
    by: User,
    idempotency_key: UUID,
    enactment: str = "",
) -> list[Coding]:
    """Replace a coding by other codes of ``version``, each with the same values; the old row is withdrawn.

    ``enactment``: of moves, where the old row states none.

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
            project,
            coding,
            code,
            by=by,
            idempotency_key=uuid5(idempotency_key, code.identifier),
            version=version,
            enactment=enactment,
        )
        for code in codes
    ]
    withdraw_coding(project=project, coding=coding, by=by, reason=_make_reason(version))
    first = added[0]
    if not hasattr(first, "supersedes"):
        superseded = Coding.objects.filter(pk=coding.pk, superseded_by__isnull=True).update(superseded_by=first)
        if superseded:
            trail.record(
                "coding.superseded",
                target=coding,
                by=by,
                stream=trail.project_stream(project.pk),
                details={"by": first.pk},
                rows=[row_changed(Coding, coding.pk, superseded_by=first.pk)],
            )
    return added


@transaction.atomic
def drop_coding(*, project: Project, coding: Coding, version: CodebookVersion, by: User, idempotency_key: UUID) -> None:
    """Take a coding off because it does not hold under ``version``.

    A decided sentence stays decided: when this was its last code, the same person's word is now that none applies.
    Raises what ``withdraw_coding`` and ``decide_sentence`` raise.
    """
    leaves_none = read_active_labels(coding.sentence_id, by.pk).is_last_word(coding.pk)
    withdraw_coding(project=project, coding=coding, by=by, reason=_make_reason(version))
    if leaves_none:
        decide_sentence(project=project, sentence=coding.sentence, by=by, idempotency_key=idempotency_key)


def _put_again(
    project: Project,
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
        project=project,
        sentence=coding.sentence,
        code=code,
        by=by,
        idempotency_key=idempotency_key,
        values=values._replace(enactment=values.enactment or enactment).adapt_to(code),
        reason=_make_reason(version),
    )


def _make_reason(version: CodebookVersion) -> str:
    return f"re-reviewed with codebook {version}"
