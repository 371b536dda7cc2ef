import pytest

from transcripts.accounts.passwords import is_pattern


@pytest.mark.parametrize(
    "password",
    [
        "passwordpassword",
        "PasswordPassword",
        "passwordpassword1",
        "abcabcabcabc",
        "hellohellohello!!",
        "aaaaaaaaaaaaaaab",
        "111122223333",
        "123456789012",
        "098765432109",
        "abcdefghijklmn",
        "qwertyuiopasdf",
        "lkjhgfdsapoiuytrewq",
        "1qaz2wsx3edc",
        "Password2026!",
        "!!!letmein!!!!",
        "qwertzuiop2026",
        "Auditapp2026!",
        "codebookcodebook",
        "Interviews!2026",
    ],
)
def test_patterns_are_recognised(password):
    assert is_pattern(password)


@pytest.mark.parametrize(
    "password",
    [
        "four words picked by nobody",
        "correct horse battery",
        "T7#kkq.pL0zz",
        "1a2837465!@#",
        "Zürich im Regen 1987",
        "passwords are a nuisance",
        "日本語のながいことば",
    ],
)
def test_other_passwords_are_not(password):
    assert not is_pattern(password)


def test_a_password_of_a_megabyte_takes_no_time():
    """The patterns themselves would take days for it, and stop everybody's requests."""
    assert not is_pattern("correct horse" + "1" * 1_000_000 + "a")
    assert is_pattern("1" * 1_000_000)
