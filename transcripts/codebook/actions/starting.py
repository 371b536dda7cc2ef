"""A study begins with a codebook: the built-in one, one of its own, or none yet."""

from __future__ import annotations

from django.db import transaction

from transcripts.audit_trail import trail
from transcripts.codebook.actions.files import import_codebook
from transcripts.codebook.actions.versions import publish_version, seed_codebook, start_draft
from transcripts.codebook.models import Beginning, CodeFamily
from transcripts.projects.actions import create_project, set_stance
from transcripts.projects.models import MethodStance, Project

MOVES = "moves"
MOVES_BY_RULES = "The default of every study: rules decide what a move is, so that codings of moves can be compared."


@transaction.atomic
def start_study(
    *,
    slug: str,
    name: str,
    by: trail.Actor,
    description: str = "",
    codebook: str = Beginning.BUILT_IN,
    file: tuple[str, bytes] | None = None,
    stance: str = MethodStance.Stance.REFLEXIVE,
) -> Project:
    """A new study: with the built-in codebook or that of a ``file`` (name and content) it can be coded at once.

    An empty codebook is a draft, to which codes are added before it is published. Unless another ``stance`` is chosen, the study
    is read reflexively, but for the moves of the built-in codebook, which have rules that two people can apply alike; all of
    that can be switched. Raises ``Refused`` for a name or an address that cannot be used, ``CodebookRefused`` for a file
    that cannot be a codebook; there is no study then.
    """
    project = create_project(slug=slug, name=name, by=by, description=description)
    if codebook == Beginning.FILE and file is not None:
        version, _, _ = import_codebook(project=project, data=file[1], name=file[0], by=by)
        publish_version(version=version, by=by)
    elif codebook == Beginning.EMPTY:
        start_draft(project=project, by=by)
    else:
        seed_codebook(project=project, by=by)
    set_stance(project=project, stance=stance, by=by)
    has_moves = CodeFamily.objects.filter(version__project=project, identifier=MOVES).exists()
    if has_moves and stance == MethodStance.Stance.REFLEXIVE:
        set_stance(project=project, family=MOVES, stance=MethodStance.Stance.CODEBOOK, reason=MOVES_BY_RULES, by=by)
    return project
