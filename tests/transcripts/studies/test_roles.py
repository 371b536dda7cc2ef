"""The policy, as a table that has to be changed on purpose."""

import pytest

from transcripts.studies.roles import CODER, LEAD, OWNER, READER, ROLES, Permission

EXPECTED = {
    #                         owner  lead  coder  reader
    Permission.VIEW: "yes yes yes yes",
    Permission.CODE: "yes yes yes no",
    Permission.IMPORT: "yes yes no no",
    Permission.EDIT_CODEBOOK: "yes yes no no",
    Permission.SEE_ALL_CODINGS: "yes yes no yes",
    Permission.EXPORT: "yes yes yes yes",
    Permission.RUN_BATCHES: "yes yes no no",
    Permission.EDIT_BOUNDARIES: "yes yes no no",
    Permission.ASSIGN: "yes yes no no",
    Permission.SET_METHOD: "yes yes no no",
    Permission.ADJUDICATE: "yes yes no no",
    Permission.WRITE_THEMES: "yes yes no no",
    Permission.MANAGE_MEMBERS: "yes no no no",
}


@pytest.mark.parametrize("permission", Permission)
def test_who_may_do_what(permission):
    granted = ["yes" if permission in role.permissions else "no" for role in (OWNER, LEAD, CODER, READER)]
    assert granted == EXPECTED[permission].split()


def test_whoever_gives_roles_holds_every_permission_so_nobody_grants_above_herself():
    givers = [role for role in ROLES.values() if Permission.MANAGE_MEMBERS in role.permissions]
    assert [role.permissions for role in givers] == [frozenset(Permission)]


@pytest.mark.parametrize("role", ROLES.values(), ids=lambda role: role.key)
def test_every_role_has_a_sentence_users_can_read(role):
    assert role.sentence.endswith(".")
    assert role.name == role.name.capitalize()
