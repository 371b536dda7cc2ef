"""Who may do what in a study: the whole policy on one page. The sentences are shown to users."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Permission(StrEnum):
    """Something a member of a study may be allowed to do."""

    VIEW = "view"
    CODE = "code"
    IMPORT = "import"
    EDIT_CODEBOOK = "edit_codebook"
    SEE_ALL_CODINGS = "see_all_codings"
    EXPORT = "export"
    RUN_BATCHES = "run_batches"
    EDIT_BOUNDARIES = "edit_boundaries"
    ASSIGN = "assign"
    SET_METHOD = "set_method"
    ADJUDICATE = "adjudicate"
    WRITE_THEMES = "write_themes"
    MANAGE_MEMBERS = "manage_members"


@dataclass(frozen=True)
class Role:
    """A named set of permissions with a sentence that says what it is for."""

    key: str
    name: str
    sentence: str
    permissions: frozenset[Permission]


READER = Role(
    key="reader",
    name="Reader",
    sentence=(
        "Reads interviews, codebook, results and all codings, and checks figures against their records. Cannot change anything. If "
        "you become a coder later, your codings are marked as made after seeing others' labels."
    ),
    permissions=frozenset({Permission.VIEW, Permission.SEE_ALL_CODINGS, Permission.EXPORT}),
)
CODER = Role(
    key="coder",
    name="Coder",
    sentence="Codes interviews and sees only her own codings. Sees a machine's suggestions after her own decision.",
    permissions=frozenset({Permission.VIEW, Permission.CODE, Permission.EXPORT}),
)
LEAD = Role(
    key="lead",
    name="Lead",
    sentence=(
        "Runs the study: imports texts, edits the codebook, launches batches, and codes. Can unblind every interview; what "
        "she codes there afterwards counts as assisted."
    ),
    permissions=frozenset(Permission) - {Permission.MANAGE_MEMBERS},
)
OWNER = Role(
    key="owner",
    name="Owner",
    sentence="Does everything a lead does, and manages the members of the study.",
    permissions=frozenset(Permission),
)

ROLES: dict[str, Role] = {role.key: role for role in (OWNER, LEAD, CODER, READER)}
ROLE_CHOICES = [(role.key, role.name) for role in ROLES.values()]
