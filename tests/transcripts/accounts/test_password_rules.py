"""A password is taken as it was typed: any characters, any length that makes sense, nothing cut off."""

import re

import pytest
from django.contrib.auth.password_validation import get_default_password_validators

PAGE = "/account/password/"
LONG = " Ünten am Fluß\u3000liegt ein Boot, und niemand rudert. " + "x" * 80 + " "


@pytest.mark.parametrize("password", [LONG, "nur kleine buchstaben", "918273645546372819"])
def test_any_characters_are_taken_up_to_a_great_length(newcomer, client_of, password):
    client = client_of(newcomer)
    assert client.post(PAGE, {"new_password1": password, "new_password2": password}).status_code == 302
    newcomer.refresh_from_db()
    assert newcomer.check_password(password)


def test_nothing_is_cut_off_or_changed(newcomer, client_of):
    client_of(newcomer).post(PAGE, {"new_password1": LONG, "new_password2": LONG})
    newcomer.refresh_from_db()
    for other in (LONG.strip(), LONG.lower(), LONG[:72], LONG[:-1], LONG + " "):
        assert not newcomer.check_password(other)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/accounts/login/", PAGE])
def test_what_is_typed_is_masked_and_may_be_filled_in_by_a_password_manager(newcomer, client_of, client, path):
    page = (client_of(newcomer) if path == PAGE else client).get(path).content.decode()
    fields = re.findall(r'<input[^>]*name="[a-z_]*password\d?"[^>]*>', page)
    assert fields
    for field in fields:
        assert 'type="password"' in field
        assert 'autocomplete="off"' not in field
        assert "maxlength" not in field


def test_no_rule_asks_for_kinds_of_characters_or_for_a_change_after_a_while():
    rules = {type(rule).__name__ for rule in get_default_password_validators()}
    assert {"MinimumLengthValidator", "CommonPasswordValidator"} <= rules
    assert not [name for name in rules if re.search(r"Numeric|Upper|Lower|Symbol|Expir|History", name)]
