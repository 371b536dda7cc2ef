import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from transcripts.accounts.models import User
from transcripts.audit_trail import trail
from transcripts.studies.actions import create_study
from transcripts.studies.models import Membership


def ask(*arguments):
    out = StringIO()
    call_command("user", "create", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_created_user_has_her_role_and_a_link_that_signs_her_in(client, study):
    answer = ask("ada", "--role", "coder", "--study", "culture")
    assert set(answer) == {"username", "role", "study", "sign_in_url"}
    assert (answer["username"], answer["role"], answer["study"]) == ("ada", "coder", "culture")
    assert Membership.objects.get(user__username="ada").role == "coder"
    client.post(answer["sign_in_url"].removeprefix("http://127.0.0.1:8000"))
    assert client.get("/studies/culture/").status_code == 200
    assert not User.objects.get(username="ada").is_superuser


def test_site_owner_needs_no_study(client, study):
    answer = ask("root", "--site-owner")
    assert (answer["role"], answer["study"]) == (None, None)
    client.post(answer["sign_in_url"].removeprefix("http://127.0.0.1:8000"))
    assert client.get("/studies/culture/").status_code == 200


def test_somebody_who_has_an_account_gets_a_role_in_a_further_study(study, owner):
    other = create_study(slug="other", name="Other", by=trail.SYSTEM)
    answer = ask("Owner", "--role", "coder", "--study", "other")
    assert answer == {"username": "owner", "role": "coder", "study": "other", "sign_in_url": None}
    assert Membership.objects.get(study=other, user=owner).role == "coder"
    User.objects.filter(pk=owner.pk).update(is_active=False)
    create_study(slug="third", name="Third", by=trail.SYSTEM)
    with pytest.raises(CommandError, match="The account owner is closed"):
        ask("owner", "--role", "coder", "--study", "third")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ada", "--role", "coder"], "Give --role and --study together"),
        (["ada", "--study", "culture"], "Give --role and --study together"),
        (
            ["ada", "--role", "coder", "--study", "nowhere"],
            "There is no study 'nowhere'. There are: culture. Create one with",
        ),
        (["ada", "--role", "admin", "--study", "culture"], "invalid choice"),
        (["owner", "--role", "coder", "--study", "culture"], "owner is a member of culture already."),
        (["owner"], "There is already a user named owner."),
        (["two words"], "cannot be used as a user name"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_and_leaves_nothing(study, arguments, words):
    with pytest.raises(CommandError, match=words) as refused:
        call_command("user", "create", *arguments)
    assert "\n" not in str(refused.value)
    assert list(User.objects.values_list("username", flat=True)) == ["owner"]
