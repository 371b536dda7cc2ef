import pytest

from auditapp.api import authentication
from tests.auditapp.api.conftest import Program
from transcripts.accounts.actions import create_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch, settings):
    """The time of the throttle, which a test moves on; four requests a minute are allowed."""
    settings.API_REQUESTS_PER_MINUTE = 4
    now = [1_000.0]
    monkeypatch.setattr(authentication, "clock", lambda: now[0])
    monkeypatch.setattr(authentication, "_whole_again_at", {})
    return now


def ask(program, times):
    return [program.get("studies/").status for _ in range(times)]


def test_a_token_beyond_its_limit_is_told_how_long_to_wait(coder, program_of, clock):
    program = program_of(coder)
    assert ask(program, 4) == [200] * 4
    answer = program.get("studies/")
    assert answer.status == 429
    assert answer.error["code"] == "too_many_requests"
    assert answer.headers["Retry-After"] == "15"
    clock[0] += 15
    assert ask(program, 2) == [200, 429]
    clock[0] += 60
    assert ask(program, 5) == [200] * 4 + [429]


def test_a_refused_request_uses_up_nothing(coder, program_of, clock):
    program = program_of(coder)
    assert ask(program, 100).count(200) == 4
    clock[0] += 15
    assert ask(program, 1) == [200]


def test_tokens_have_limits_of_their_own_and_an_account_has_twice_as_much(coder, second_coder, program_of, clock):
    programs = [program_of(coder) for _ in range(3)]
    assert [ask(program, 5).count(200) for program in programs] == [4, 4, 0]
    assert ask(program_of(second_coder), 1) == [200], "somebody else is not slowed down"


def test_what_was_used_long_ago_takes_no_memory(coder, program_of, clock, monkeypatch):
    monkeypatch.setattr(authentication, "MAX_KEYS", 3)
    for _ in range(3):
        program_of(coder).get("studies/")
        clock[0] += 120
    assert len(authentication._whole_again_at) <= 3


def test_requests_without_a_token_are_refused_as_such(clock):
    assert ask(Program(), 6) == [401] * 6


def test_counting_asks_the_database_nothing(coder, clock):
    token, _ = create_token(user=coder, name="test", by=coder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.backends.utils.CursorWrapper.execute", None)
        assert authentication.take({("token", token.secret_hash): 1}) == 0.0
