import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from transcripts.accounts.models import ApiToken, User
from transcripts.accounts.queries import find_token


def ask(*arguments):
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_create_token_prints_a_token_that_works(owner):
    answer = ask("user", "create-token", "owner", "--name", "nightly")
    assert set(answer) == {"username", "token", "expires_at", "scopes"}
    assert answer["username"] == "owner"
    token = find_token(answer["token"])
    assert token is not None
    assert (token.user, token.name) == (owner, "nightly")
    # What tokens could do before there were scopes: none of it costs money.
    assert token.scopes == answer["scopes"] == ["read", "code", "manage"]


def test_create_token_gives_the_scopes_that_are_named_and_no_others(owner):
    answer = ask("user", "create-token", "owner", "--scope", "launch", "--scope", "read")
    assert answer["scopes"] == ["read", "launch"]
    with pytest.raises(CommandError, match="everything"):
        call_command("user", "create-token", "owner", "--scope", "everything")


def test_create_token_of_nobody_says_how_to_make_somebody(db):
    with pytest.raises(CommandError, match=r"There is no user named ada\. Create one: manage\.py user create ada"):
        call_command("user", "create-token", "ada")
    assert not ApiToken.objects.exists()


def test_sign_in_link_prints_an_address_that_signs_in(client, owner):
    url = ask("user", "sign-in", "owner")["url"]
    assert url.startswith("http://127.0.0.1:8000/sign-in/")
    assert client.post(url.removeprefix("http://127.0.0.1:8000")).status_code == 302
    assert client.session["_auth_user_id"] == str(owner.pk)


def test_sign_in_link_without_a_name_is_for_the_first_owner_of_the_site(client, owner):
    with pytest.raises(CommandError, match="This site has no owner yet"):
        call_command("user", "sign-in")
    first, _ = (User.objects.create(username=name, is_superuser=True) for name in ("first", "second"))
    client.post(ask("user", "sign-in")["url"].removeprefix("http://127.0.0.1:8000"))
    assert client.session["_auth_user_id"] == str(first.pk)


def test_sign_in_link_of_nobody_is_refused(db):
    with pytest.raises(CommandError, match="There is no user named ada"):
        call_command("user", "sign-in", "ada")


def test_sign_in_link_of_a_closed_account_is_refused(owner):
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="closed"):
        call_command("user", "sign-in", "owner")
