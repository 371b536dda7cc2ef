"""The log: one line for each message, with a time that everybody can compare."""

import logging
import re

import pytest

from auditapp.settings import LOGGING
from auditapp.site.log_lines import Line


def write(message, *, failure=None):
    how = LOGGING["formatters"]["line"]
    info = (type(failure), failure, failure.__traceback__) if failure else None
    record = logging.LogRecord("room", logging.WARNING, __file__, 1, "said: %s", (message,), info)
    return Line(fmt=how["format"], style=how["style"]).format(record)


@pytest.mark.parametrize("typed", ["a\nb", "a\r\nb", "a\x0bb", "a\x85b", "a\u2028b", "\x1b[2Ja", "a\x00b", "a\x9b2Jb"])
def test_nothing_that_was_typed_begins_a_line_or_steers_a_terminal(typed):
    line = write(typed)
    assert len(line.splitlines()) == 1
    assert all(character.isprintable() for character in line)
    assert "said: " in line


def test_no_link_that_signs_somebody_in_is_logged():
    for path in ("/sign-in/hunter2/", "https://a.example/sign-in/hunter2", "'/sign-in/hunter2/?next=x'"):
        line = write(f"Forbidden (CSRF cookie not set.): {path}", failure=LookupError(path))
        assert "hunter2" not in line
        assert line.count("/sign-in/...") == 2
    assert write("Not Found: /sign-in/").endswith("/sign-in/")


def test_letters_of_every_script_stay():
    assert write("Zoë 日本 🙂").endswith("said: Zoë 日本 🙂")


def test_a_line_says_when_how_serious_and_which_part_of_the_program():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z WARNING room said: x", write("x"))


def test_the_time_is_utc_whatever_the_zone_of_the_site(monkeypatch):
    record = logging.LogRecord("room", logging.WARNING, __file__, 1, "x", (), None)
    record.created, record.msecs = 0.0, 0.0
    assert Line().formatTime(record) == "1970-01-01T00:00:00.000Z"


def test_a_traceback_keeps_its_lines():
    assert len(write("x", failure=RuntimeError("broken")).splitlines()) == 2


def test_everything_goes_to_standard_error_and_nowhere_else():
    assert {name: each["class"] for name, each in LOGGING["handlers"].items()} == {"stderr": "logging.StreamHandler"}
    assert LOGGING["handlers"]["stderr"]["filters"] == ["no_keys"]
